//! The binder's and executor's errors, one constructor each, with the product's number, level, state and text.

use keel_types::SqlError;

/// A boxed error, as `keel_types::error::Result` carries it.
pub type Error = Box<SqlError>;
/// Result of binding and execution.
pub type Result<T> = std::result::Result<T, Error>;

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) = ($number:expr, $severity:expr, $state:expr, $($fmt:tt)*);)*) => {
        $($(#[$doc])* #[must_use] pub fn $name($($arg: $ty),*) -> Error { SqlError::new($number, $severity, $state, format!($($fmt)*)) })*
    };
}

errors! {
    /// 102
    syntax_near(what: &str) = (102, 15, 1, "Incorrect syntax near '{what}'.");
    /// 16002
    mask_unknown(column: &str) = (16002, 16, 0, "Invalid data masking function in column '{column}'.");
    /// 16003
    mask_type(column: &str, function: &str) = (16003, 16, 0, "The data type of column '{column}' does not support data masking function '{function}'.");
    /// 16004
    mask_parameters(function: &str, column: &str) = (16004, 16, 0, "Incorrect number of parameters for data masking function '{function}' for column '{column}'.");
    /// 16005
    mask_argument(function: &str, column: &str) = (16005, 16, 0, "Invalid argument for data masking function '{function}' for column '{column}'.");
    /// 16006
    mask_format(function: &str, column: &str) = (16006, 16, 0, "Invalid data masking format for function '{function}' in column '{column}'.");
    /// 33504
    blocked(object: &str) = (33504, 16, 1, "The attempted operation failed because the target object '{object}' has a block predicate that conflicts with this operation. If the operation is performed on a view, the block predicate might be enforced on the underlying table. Modify the operation to target only the rows that are allowed by the block predicate.");
    /// 33512
    predicate_unbound(object: &str) = (33512, 16, 1, "Binding for the non-schema bound security predicate on object '{object}' failed with one or more errors, indicating the schema of the predicate function has changed. Update or drop the affected security predicates.");
    /// 104
    order_by_in_set_operation() = (104, 16, 1, "ORDER BY items must appear in the select list if the statement contains a UNION, INTERSECT or EXCEPT operator.");
    /// 107
    bad_star_prefix(prefix: &str) = (107, 15, 1, "The column prefix '{prefix}' does not match with a table name or alias name used in the query.");
    /// 7202
    no_linked_server(name: &str) = (7202, 11, 2, "Could not find server '{name}' in sys.servers. Verify that the correct server name was specified. If necessary, execute the stored procedure sp_addlinkedserver to add the server to sys.servers.");
    /// 4122
    remote_function() = (4122, 16, 1, "Remote table-valued function calls are not allowed.");
    /// 7403
    no_provider(name: &str) = (7403, 16, 1, "The OLE DB provider \"{name}\" has not been registered.");
    /// 108
    order_position_out_of_range(position: i64) = (108, 16, 1, "The ORDER BY position number {position} is out of range of the number of items in the select list.");
    /// 109
    insert_more_columns_than_values() = (109, 15, 1, "There are more columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement.");
    /// 110
    insert_fewer_columns_than_values() = (110, 15, 1, "There are fewer columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement.");
    /// 116
    subquery_one_column() = (116, 16, 1, "Only one expression can be specified in the select list when the subquery is not introduced with EXISTS.");
    /// 120
    insert_select_fewer() = (120, 15, 1, "The select list for the INSERT statement contains fewer items than the insert list. The number of SELECT values must match the number of INSERT columns.");
    /// 121
    insert_select_more() = (121, 15, 1, "The select list for the INSERT statement contains more items than the insert list. The number of SELECT values must match the number of INSERT columns.");
    /// 130
    aggregate_over_aggregate() = (130, 16, 1, "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.");
    /// 137
    undeclared_variable(name: &str) = (137, 15, 2, "Must declare the scalar variable \"{name}\".");
    /// 1087
    undeclared_table_variable(name: &str) = (1087, 15, 2, "Must declare the table variable \"{name}\".");
    /// 141
    mixed_assignment() = (141, 15, 1, "A SELECT statement that assigns a value to a variable must not be combined with data-retrieval operations.");
    /// 144
    aggregate_in_group_by() = (144, 15, 1, "Cannot use an aggregate or a subquery in an expression used for the group by list of a GROUP BY clause.");
    /// 145
    order_by_with_distinct() = (145, 15, 1, "ORDER BY items must appear in the select list if SELECT DISTINCT is specified.");
    /// 147
    aggregate_in_where() = (147, 15, 1, "An aggregate may not appear in the WHERE clause unless it is in a subquery contained in a HAVING clause or a select list, and the column being aggregated is an outer reference.");
    /// 157
    aggregate_in_set() = (157, 15, 1, "An aggregate may not appear in the set list of an UPDATE statement.");
    /// 158
    aggregate_in_output() = (158, 15, 1, "An aggregate may not appear in the OUTPUT clause.");
    /// 174
    argument_count(function: &str, count: usize) = (174, 15, 1, "The {function} function requires {count} argument(s).");
    /// 177
    identity_without_into() = (177, 15, 1, "The IDENTITY function can only be used when the SELECT statement has an INTO clause.");
    /// 195
    unknown_function(name: &str) = (195, 15, 10, "'{name}' is not a recognized built-in function name.");
    /// 205
    set_operation_columns() = (205, 16, 1, "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number of expressions in their target lists.");
    /// 206
    operand_clash(left: &str, right: &str) = (206, 16, 2, "Operand type clash: {left} is incompatible with {right}");
    /// 10700
    read_only_table_parameter(name: &str) = (10700, 16, 1, "The table-valued parameter \"{name}\" is READONLY and cannot be modified.");
    /// 207
    invalid_column(name: &str) = (207, 16, 1, "Invalid column name '{name}'.");
    /// MERGE t USING t
    merge_of_one_name() = (5318, 16, 1, "In a MERGE statement, the source and target cannot have the same name or alias. Use different aliases for the source and target to ensure that they have unique names in the MERGE statement.");
    /// 5313
    synonym_of_nothing(name: &str) = (5313, 16, 1, "Synonym '{name}' refers to an invalid object.");
    /// 208
    invalid_object(name: &str) = (208, 16, 1, "Invalid object name '{name}'.");
    /// 209
    ambiguous_column(name: &str) = (209, 16, 1, "Ambiguous column name '{name}'.");
    /// 213
    insert_column_count() = (213, 16, 1, "Column name or number of supplied values does not match table definition.");
    /// 230
    no_such_user_function(name: &str) = (4121, 16, 1, "Cannot find either column \"{name}\" or the user-defined function or aggregate \"{name}\", or the name is ambiguous.");
    /// 4117
    ntile_not_positive() = (4117, 16, 1, "The function 'ntile' takes only a positive int or bigint expression as its input.");
    /// 13544
    not_system_versioned(table: &str) = (13544, 16, 1, "Temporal FOR SYSTEM_TIME clause can only be used with system-versioned tables. '{table}' is not a system-versioned table.");
    /// 13535
    transaction_before_period(table: &str) = (13535, 16, 0, "Data modification failed on system-versioned table '{table}' because transaction time was earlier than period start time for affected records.");
    /// 13536
    generated_inserted(table: &str) = (13536, 16, 1, "Cannot insert an explicit value into a GENERATED ALWAYS column in table '{table}'. Use INSERT with a column list to exclude the GENERATED ALWAYS column, or insert a DEFAULT into GENERATED ALWAYS column.");
    /// 13537
    generated_updated(table: &str) = (13537, 16, 1, "Cannot update GENERATED ALWAYS columns in table '{table}'.");
    /// 13559
    history_inserted(table: &str) = (13559, 16, 1, "Cannot insert rows in a temporal history table '{table}'.");
    /// 13560
    history_deleted(table: &str) = (13560, 16, 1, "Cannot delete rows from a temporal history table '{table}'.");
    /// 13561
    history_updated(table: &str) = (13561, 16, 1, "Cannot update rows in a temporal history table '{table}'.");
    /// 13562
    history_merged(table: &str) = (13562, 16, 1, "Cannot perform MERGE operation on temporal history table '{table}'.");
    /// 13590
    system_time_twice(table: &str) = (13590, 16, 1, "Temporal FOR SYSTEM_TIME clause can only be set once per temporal table. '{table}' has more than one temporal FOR SYSTEM_TIME clause.");
    /// 8730
    negative_offset() = (8730, 16, 1, "Offset parameter for Lag and Lead functions cannot be a negative value.");
    /// 264
    column_set_twice(name: &str) = (264, 16, 1, "The column name '{name}' is specified more than once in the SET clause or column list of an INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to make sure that a column is updated only once. If this statement updates or inserts columns into a view, column aliasing can conceal the duplication in your code.");
    /// 271
    computed_column_modified(name: &str) = (271, 16, 1, "The column \"{name}\" cannot be modified because it is either a computed column or is the result of a UNION operator.");
    /// 272
    timestamp_updated() = (272, 16, 1, "Cannot update a timestamp column.");
    /// 273
    timestamp_inserted() = (273, 16, 1, "Cannot insert an explicit value into a timestamp column. Use INSERT with a column list to exclude the timestamp column, or insert a DEFAULT into the timestamp column.");
    /// 306
    incomparable_text() = (306, 16, 2, "The text, ntext, and image data types cannot be compared or sorted, except when using IS NULL or LIKE operator.");
    /// 7601
    not_full_text_indexed(table: &str) = (7601, 16, 3, "Cannot use a CONTAINS or FREETEXT predicate on table or indexed view '{table}' because it is not full-text indexed.");
    /// 7601 of a predicate or function
    not_full_text_indexed_at(what: &str, table: &str) = (7601, 16, 2, "Cannot use a {what} predicate on table or indexed view '{table}' because it is not full-text indexed.");
    /// 7615
    search_of_all() = (7615, 16, 1, "A CONTAINS or FREETEXT predicate can only operate on one table or indexed view. Qualify the use of * with a table or indexed view name.");
    /// 7617
    search_without_table() = (7617, 16, 1, "Query does not reference the full-text indexed table or indexed view, or user does not have permission to perform this action.");
    /// 7626
    top_by_rank(n: i64) = (7626, 15, 1, "The top_n_by_rank argument ('{n}') must be greater than or equal to zero.");
    /// 7630
    search_syntax(near: &str, condition: &str) = (7630, 15, 3, "Syntax error near '{near}' in the full-text search condition '{condition}'.");
    /// 7632
    search_weight() = (7632, 15, 1, "The value of the Weight argument must be between 0.0 and 1.0.");
    /// 7645
    empty_search() = (7645, 15, 2, "Null or empty full-text predicate.");
    /// 7646
    search_of_two(one: &str, other: &str) = (7646, 16, 1, "Fulltext predicate references columns from two different tables or indexed views '{one}' and '{other}' which is not allowed.");
    /// 7677
    column_not_searched(column: &str) = (7677, 16, 1, "Column \"{column}\" is not full-text indexed.");
    /// 7678
    language_alias(name: &str) = (7678, 16, 1, "The following string is not defined as a language alias in syslanguages: {name}.");
    /// 7696
    locale() = (7696, 16, 1, "Invalid locale ID was specified. Please verify that the locale ID is correct and corresponding language resource has been installed.");
    /// 9927
    noise_words() = (9927, 10, 1, "Informational: The full-text search condition contained noise word(s).");
    /// 30009: the number is ours.
    search_type(ty: keel_types::SqlType) = (30009, 16, 1, "The argument data type '{ty}' specified for the full-text query is not valid. Allowed data types are char, varchar, nchar, nvarchar.");
    /// 491
    bulk_without_alias() = (491, 16, 1, "A correlation name must be specified for the bulk rowset in the from clause.");
    /// 6314
    no_xml_collection(name: &str) = (6314, 16, 1, "Collection specified does not exist in metadata : '{name}'");
    /// 305
    incomparable_xml() = (305, 16, 1, "The XML data type cannot be compared or sorted, except when using the IS NULL operator.");
    /// 249
    incomparable_type(name: &str, clause: &str) = (249, 16, 1, "The type \"{name}\" is not comparable. It cannot be used in the {clause} clause.");
    /// 421
    incomparable_distinct(name: &str) = (421, 16, 1, "The {name} data type cannot be selected as DISTINCT because it is not comparable.");
    /// 5335
    incomparable_set_operation(name: &str) = (5335, 16, 1, "The data type {name} cannot be used as an operand to the UNION, INTERSECT or EXCEPT operators because it is not comparable.");
    /// 319
    values_columns_differ() = (10709, 16, 1, "The number of columns for each row in a table value constructor must be the same.");
    /// 239
    duplicate_cte(name: &str) = (239, 16, 1, "Duplicate common table expression name '{name}' was specified.");
    /// 247
    anchor_behind_recursion(name: &str) = (247, 16, 1, "An anchor member was found in the recursive part of recursive query \"{name}\".");
    /// 253
    recursive_references(name: &str) = (253, 16, 1, "Recursive member of a common table expression '{name}' has multiple recursive references.");
    /// 460
    recursive_distinct(name: &str) = (460, 16, 1, "DISTINCT operator is not allowed in the recursive part of a recursive common table expression '{name}'.");
    /// 461
    recursive_top(name: &str) = (461, 16, 1, "The TOP or OFFSET operator is not allowed in the recursive part of a recursive common table expression '{name}'.");
    /// 462
    recursive_outer_join(name: &str) = (462, 16, 1, "Outer join is not allowed in the recursive part of a recursive common table expression '{name}'.");
    /// 467
    recursive_groups(name: &str) = (467, 16, 1, "GROUP BY, HAVING, or aggregate functions are not allowed in the recursive part of a recursive common table expression '{name}'.");
    /// 252
    recursive_cte_no_anchor(name: &str) = (252, 16, 1, "Recursive common table expression '{name}' does not contain a top-level UNION ALL operator.");
    /// 240
    recursive_type_mismatch(column: &str, name: &str) = (240, 16, 1, "Types don't match between the anchor and the recursive part in column \"{column}\" of recursive query \"{name}\".");
    /// 402
    incompatible_operands(left: &str, right: &str, op: &str) = (402, 16, 1, "The data types {left} and {right} are incompatible in the {op} operator.");
    /// 404
    column_not_in_output(name: &str) = (404, 16, 1, "The column reference \"{name}\" is not allowed because it refers to a base table that is not being modified in this statement.");
    /// 412
    having_column(name: &str) = (8121, 16, 1, "Column '{name}' is invalid in the HAVING clause because it is not contained in either an aggregate function or the GROUP BY clause.");
    /// 512
    subquery_many_rows() = (512, 16, 1, "Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, <= , >, >= or when the subquery is used as an expression.");
    /// 513
    rule_conflict(database: &str, table: &str, column: &str) = (513, 16, 0, "A column insert or update conflicts with a rule imposed by a previous CREATE RULE statement. The statement was terminated. The conflict occurred in database '{database}', table '{table}', column '{column}'.");
    /// 515
    null_not_allowed(column: &str, table: &str, verb: &str) = (515, 16, 2, "Cannot insert the value NULL into column '{column}', table '{table}'; column does not allow nulls. {verb} fails.");
    /// 530
    max_recursion(limit: u32) = (530, 16, 1, "The statement terminated. The maximum recursion {limit} has been exhausted before statement completion.");
    /// 544
    identity_insert_off(table: &str) = (544, 16, 1, "Cannot insert explicit value for identity column in table '{table}' when IDENTITY_INSERT is set to OFF.");
    /// 545
    identity_value_missing(table: &str) = (545, 16, 1, "Explicit value must be specified for identity column in table '{table}' either when IDENTITY_INSERT is set to ON or when a replication user is inserting into a NOT FOR REPLICATION identity column.");
    /// 547
    constraint_conflict(statement: &str, kind: &str, constraint: &str, database: &str, table: &str, column: &str) = (547, 16, 0, "The {statement} statement conflicted with the {kind} constraint \"{constraint}\". The conflict occurred in database \"{database}\", table \"{table}\"{column}.");
    /// 8101
    identity_needs_column_list(table: &str) = (8101, 16, 1, "An explicit value for the identity column in table '{table}' can only be specified when a column list is used and IDENTITY_INSERT is ON.");
    /// 8102
    identity_updated(column: &str) = (8102, 16, 1, "Cannot update identity column '{column}'.");
    /// 701
    out_of_memory() = (701, 17, 123, "There is insufficient system memory in resource pool 'default' to run this query.");
    /// 1011
    same_correlation_name(name: &str) = (1011, 16, 1, "The correlation name '{name}' is specified multiple times in a FROM clause.");
    /// 1012
    alias_exposed(alias: &str) = (1012, 16, 1, "The correlation name '{alias}' has the same exposed name as table '{alias}'.");
    /// 1013
    same_exposed_name(left: &str, right: &str) = (1013, 16, 1, "The objects \"{left}\" and \"{right}\" in the FROM clause have the same exposed names. Use correlation names to distinguish them.");
    /// 1014
    top_not_valid() = (1014, 15, 1, "A TOP or FETCH clause contains an invalid value.");
    /// 1060
    top_not_integer() = (1060, 15, 1, "The number of rows provided for a TOP or FETCH clauses row count parameter must be an integer.");
    /// 10741
    top_with_offset() = (10741, 15, 2, "A TOP can not be used in the same query or sub-query as a OFFSET.");
    /// 1008
    order_by_variable(position: usize) = (1008, 16, 1, "The SELECT item identified by the ORDER BY number {position} contains a variable as part of the expression identifying a column position. Variables are only allowed when ordering by an expression referencing a column name.");
    /// 408
    order_by_constant(position: usize) = (408, 16, 1, "A constant expression was encountered in the ORDER BY list, position {position}.");
    /// 5308
    window_order_by_position() = (5308, 15, 1, "Windowed functions, aggregates and NEXT VALUE FOR functions do not support integer indices as ORDER BY clause expressions.");
    /// 5309
    window_order_by_constant() = (5309, 15, 1, "Windowed functions, aggregates and NEXT VALUE FOR functions do not support constants as ORDER BY clause expressions.");
    /// 5362
    window_undefined(name: &str) = (5362, 15, 3, "Window '{name}' is undefined.");
    /// 5365
    window_cycle() = (5365, 15, 1, "Cyclic window references are not permitted.");
    /// 16211
    window_name_twice() = (16211, 15, 1, "Cannot repeat window name in the WINDOW clause.");
    /// 8727
    percentile_out_of_range() = (8727, 16, 1, "Input parameter of percentile function is outside of range [0, 1].");
    /// 127
    top_negative() = (127, 15, 1, "A TOP N or FETCH rowcount value may not be negative.");
    /// 1033
    order_by_in_derived() = (1033, 15, 1, "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, and common table expressions, unless TOP, OFFSET or FOR XML is also specified.");
    /// 1062
    with_ties_needs_order() = (1062, 15, 1, "The TOP N WITH TIES clause is not allowed without a corresponding ORDER BY clause.");
    /// 10742
    offset_negative() = (10742, 15, 1, "The offset specified in a OFFSET clause may not be negative.");
    /// 10717
    nested_without_output() = (10717, 15, 1, "A nested INSERT, UPDATE, DELETE, or MERGE statement must have an OUTPUT clause.");
    /// 10718
    clause_beside_nested(clause: &str) = (10718, 15, 1, "The {clause} clause is not allowed when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.");
    /// 10719
    nested_hints() = (10719, 15, 1, "Query hints are not allowed in nested INSERT, UPDATE, DELETE, or MERGE statements.");
    /// 10721
    nested_output_into() = (10721, 15, 1, "An OUTPUT INTO clause is not allowed in a nested INSERT, UPDATE, DELETE, or MERGE statement.");
    /// 10722
    nested_current_of() = (10722, 15, 1, "The WHERE CURRENT OF clause is not allowed in a nested INSERT, UPDATE, DELETE, or MERGE statement.");
    /// 10723
    distinct_beside_nested() = (10723, 15, 1, "The DISTINCT keyword is not allowed when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.");
    /// 10728
    nested_in_join() = (10728, 15, 1, "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed on either side of a JOIN or APPLY operator.");
    /// 10729
    nested_in_pivot() = (10729, 15, 1, "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed as the table source of a PIVOT or UNPIVOT operator.");
    /// 10730
    nested_elsewhere() = (10730, 15, 1, "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed in a SELECT statement that is not the immediate source of rows for an INSERT statement.");
    /// 10731
    nested_in_change() = (10731, 15, 1, "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed in the FROM clause of an UPDATE or DELETE statement.");
    /// 10732
    nested_in_nested() = (10732, 15, 1, "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed inside another nested INSERT, UPDATE, DELETE, or MERGE statement.");
    /// 10733
    nested_in_set() = (10733, 15, 1, "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed on either side of a UNION, INTERSECT, or EXCEPT operator.");
    /// 10734
    nested_in_using() = (10734, 16, 1, "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed in the USING clause of a MERGE statement.");
    /// 354
    nested_into_view(name: &str) = (354, 15, 1, "The target '{name}' of the INSERT statement cannot be a view or common table expression when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.");
    /// 355
    nested_into_triggers(name: &str) = (355, 15, 1, "The target table '{name}' of the INSERT statement cannot have any enabled triggers when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.");
    /// 356
    nested_into_key(name: &str, key: &str) = (356, 15, 1, "The target table '{name}' of the INSERT statement cannot be on either side of a (primary key, foreign key) relationship when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement. Found reference constraint '{key}'.");
    /// 10743
    offset_not_integer() = (10743, 15, 1, "The number of rows provided for a OFFSET clause must be an integer.");
    /// 10744
    fetch_not_positive() = (10744, 15, 1, "The number of rows provided for a FETCH clause must be greater then zero.");
    /// 2601
    duplicate_index_key(table: &str, index: &str, key: &str) = (2601, 14, 1, "Cannot insert duplicate key row in object '{table}' with unique index '{index}'. The duplicate key value is {key}.");
    /// 2627
    duplicate_constraint_key(kind: &str, constraint: &str, table: &str, key: &str) = (2627, 14, 1, "Violation of {kind} constraint '{constraint}'. Cannot insert duplicate key in object '{table}'. The duplicate key value is {key}.");
    /// 2628
    string_truncated(table: &str, column: &str, value: &str) = (2628, 16, 1, "String or binary data would be truncated in table '{table}', column '{column}'. Truncated value: '{value}'.");
    /// 3604
    duplicate_ignored() = (3604, 10, 1, "Duplicate key was ignored.");
    /// 3980
    cancelled() = (3617, 0, 1, "The operation was cancelled by the user.");
    /// 5243: stored data are damaged where they were thought to be whole.
    inconsistent(what: &str) = (5243, 22, 1, "An inconsistency was detected during an internal operation: {what}. Please contact technical support.");
    /// 3624
    assertion_failed(what: impl std::fmt::Display) = (3624, 20, 1, "A system assertion check has failed: {what}");
    /// 3624: a helper has panicked.
    helper_lost() = (3624, 20, 1, "A system assertion check has failed: a thread that helped the statement has ended without a word.");
    /// 4101
    aggregate_outer_only() = (4101, 15, 1, "Aggregates on the right side of an APPLY cannot reference columns from the left side.");
    /// 4104
    multi_part(name: &str) = (4104, 16, 1, "The multi-part identifier \"{name}\" could not be bound.");
    /// 4108
    window_not_allowed() = (4108, 15, 1, "Windowed functions can only appear in the SELECT or ORDER BY clauses.");
    /// 4127
    coalesce_of_nulls() = (4127, 16, 1, "At least one of the arguments to COALESCE must be an expression that is not the NULL constant.");
    /// 13618
    json_column_type() = (13618, 16, 1, "AS JSON option can be specified only for column of nvarchar(max) type in WITH clause.");
    /// 4151
    null_if_of_null() = (4151, 16, 1, "The type of the first argument to NULLIF cannot be the NULL constant because the type of the first argument has to be known.");
    /// 10758
    window_without_order(function: &str) = (10758, 15, 1, "The function '{function}' may not have ORDER BY in OVER clause.");
    /// 10753
    over_missing(function: &str) = (10753, 15, 3, "The function '{function}' must have an OVER clause.");
    /// 1023
    no_date_part(function: &str) = (1023, 15, 1, "Invalid parameter 1 specified for {function}.");
    /// 10754
    within_group_missing(function: &str) = (10754, 15, 1, "The function '{function}' must have a WITHIN GROUP clause.");
    /// 8160
    grouping_without_groups() = (8160, 15, 1, "A GROUPING or GROUPING_ID function can only be specified when there is a GROUP BY clause.");
    /// 8733
    separator_varies() = (8733, 16, 1, "Separator parameter for STRING_AGG must be a string literal or variable.");
    /// 9829
    string_agg_too_long() = (9829, 16, 1, "STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to avoid result truncation.");
    /// 4112
    over_order_missing(function: &str) = (4112, 15, 1, "The function '{function}' must have an OVER clause with ORDER BY.");
    /// 4113
    not_windowed(function: &str) = (4113, 15, 1, "The function '{function}' is not a valid windowing function, and cannot be used with the OVER clause.");
    /// 8114
    conversion_failed(from: &str, to: &str) = (8114, 16, 5, "Error converting data type {from} to {to}.");
    /// 8117
    aggregate_type(ty: &str, op: &str) = (8117, 16, 1, "Operand data type {ty} is invalid for {op} operator.");
    /// 8120
    not_in_group_by(column: &str) = (8120, 16, 1, "Column '{column}' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.");
    /// 8127
    order_by_not_in_group_by(column: &str) = (8127, 16, 1, "Column \"{column}\" is invalid in the ORDER BY clause because it is not contained in either an aggregate function or the GROUP BY clause.");
    /// 8133
    case_all_null() = (8133, 16, 1, "At least one of the result expressions in a CASE specification must be an expression other than the NULL constant.");
    /// 8155
    derived_column_unnamed(position: usize, table: &str) = (8155, 16, 2, "No column name was specified for column {position} of '{table}'.");
    /// 8156
    derived_column_twice(column: &str, table: &str) = (8156, 16, 1, "The column '{column}' was specified multiple times for '{table}'.");
    /// 8158
    more_columns_than_list(table: &str) = (8158, 16, 1, "'{table}' has more columns than were specified in the column list.");
    /// 8159
    fewer_columns_than_list(table: &str) = (8159, 16, 1, "'{table}' has fewer columns than were specified in the column list.");
    /// 313
    too_few_arguments(function: &str, state: u8) = (313, 16, state, "An insufficient number of arguments were supplied for the procedure or function {function}.");
    /// 8144
    too_many_arguments(function: &str, state: u8) = (8144, 16, state, "Procedure or function {function} has too many arguments specified.");
    /// 307
    hinted_index_id_missing(id: i32, table: &str) = (307, 16, 1, "Index ID {id} on table '{table}' (specified in the FROM clause) does not exist.");
    /// 308
    hinted_index_missing(name: &str, table: &str) = (308, 16, 1, "Index '{name}' on table '{table}' (specified in the FROM clause) does not exist.");
    /// 447
    not_collatable(ty: &str) = (447, 16, 1, "Expression type {ty} is invalid for COLLATE clause.");
    /// 4199
    argument_value(value: i64, argument: usize, function: &str) = (4199, 16, 1, "Argument value {value} is invalid for argument {argument} of {function} function.");
    /// 5373
    series_types() = (5373, 16, 1, "All the input parameters should be of the same type. Supported types are tinyint, smallint, int, bigint, decimal and numeric.");
    /// 8748
    ordinal_not_constant() = (8748, 16, 1, "The enable_ordinal argument for string_split only supports constant values (not variables or columns).");
    /// 8167
    unpivot_types(column: &str) = (8167, 16, 1, "The type of column \"{column}\" conflicts with the type of other columns specified in the UNPIVOT list.");
    /// 362
    no_seek_column(column: &str, table: &str, index: &str) = (362, 16, 1, "The query processor could not produce a query plan because the name '{column}' in the FORCESEEK hint on table or view '{table}' did not match the key column names of the index '{index}'.");
    /// 363
    too_many_seek_columns(table: &str, index: &str) = (363, 16, 1, "The query processor could not produce a query plan because the FORCESEEK hint on table or view '{table}' specified more seek columns than the number of key columns in index '{index}'.");
    /// 8622
    no_plan() = (8622, 16, 1, "Query processor could not produce a query plan because of the hints defined in this query. Resubmit the query without specifying any hints and without using SET FORCEPLAN.");
    /// 8723
    hinted_table_missing(name: &str) = (8723, 16, 1, "Cannot execute query. Object '{name}' is specified in the TABLE HINT clause, but is not used in the query or does not match the alias specified in the query. Table references in the TABLE HINT clause must match the WITH clause.");
    /// 10715
    unknown_use_hint(name: &str) = (10715, 15, 1, "'{name}' is not a valid hint.");
    /// 8655
    index_disabled(index: &str, table: &str) = (8655, 16, 1, "The query processor is unable to produce a plan because the index '{index}' on table or view '{table}' is disabled.");
    /// 315
    hinted_index_disabled(index: &str, table: &str) = (315, 16, 1, "Index \"{index}\" on table \"{table}\" (specified in the FROM clause) is disabled or resides in a filegroup which is not online.");
    /// 334
    output_beside_triggers(table: &str) = (334, 16, 1, "The target table '{table}' of the DML statement cannot have any enabled triggers if the statement contains an OUTPUT clause without INTO clause.");
    /// 10710, 10711
    merge_action(number: i32, action: &str, clause: &str) = (number, 15, 1, "An action of type '{action}' is not allowed in the '{clause}' clause of a MERGE statement.");
    /// 10714
    merge_action_twice(action: &str, clause: &str) = (10714, 15, 1, "An action of type '{action}' cannot appear more than once in a '{clause}' clause of a MERGE statement.");
    /// 5324
    merge_unreachable(clause: &str) = (5324, 15, 1, "In a MERGE statement, a '{clause}' clause with a search condition cannot appear after a '{clause}' clause with no search condition.");
    /// 8672
    merge_twice() = (8672, 16, 1, "The MERGE statement attempted to UPDATE or DELETE the same row more than once. This happens when a target row matches more than one source row. A MERGE statement cannot UPDATE/DELETE the same row of the target table multiple times. Refine the ON clause to ensure a target row matches at most one source row, or use the GROUP BY clause to group the source rows.");
    /// 1105
    work_files_full() = (1105, 17, 2, "Could not allocate space for object '<temporary system object>' in database 'tempdb' because the 'PRIMARY' filegroup is full. Create disk space by deleting unneeded files, dropping objects in the filegroup, adding additional files to the filegroup, or setting autogrowth on for existing files in the filegroup.");
    /// 823
    work_file_failed(what: &str) = (823, 24, 2, "The operating system returned an error to SQL Server during work in tempdb: {what}");
    /// 550
    check_option() = (550, 16, 1, "The attempted insert or update failed because the target view either specifies WITH CHECK OPTION or spans a view that specifies WITH CHECK OPTION and one or more rows resulting from the operation did not qualify under the CHECK OPTION constraint.");
    /// 4403
    view_of_groups(view: &str) = (4403, 16, 1, "Cannot update the view or function '{view}' because it contains aggregates, or a DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator.");
    /// 4426
    view_of_union(view: &str) = (4426, 16, 1, "View '{view}' is not updatable because the definition contains a UNION operator.");
    /// 4405
    view_not_updatable_multiple(view: &str) = (4405, 16, 1, "View or function '{view}' is not updatable because the modification affects multiple base tables.");
    /// 4406
    view_not_updatable(view: &str) = (4406, 16, 1, "Update or insert of view or function '{view}' failed because it contains a derived or constant field.");
    /// 1934
    wrong_set_options(statement: &str, options: &str) = (1934, 16, 1, "{statement} failed because the following SET options have incorrect settings: '{options}'. Verify that SET options are correct for use with indexed views and/or indexes on computed columns and/or filtered indexes and/or query notifications and/or XML data type methods and/or spatial index operations.");
    /// 8171
    invalid_hint(hint: &str, object: &str) = (8171, 16, 2, "Hint '{hint}' on object '{object}' is invalid.");
    /// 270
    not_modifiable(object: &str) = (270, 16, 1, "Object '{object}' cannot be modified.");
    /// 8646
    index_entry_missing(index: i32, table: &str, database: &str) = (8646, 21, 1, "Unable to find index entry in index ID {index}, of table '{table}', in database '{database}'. The indicated index is corrupt or there is a problem with the current update plan. Run DBCC CHECKDB or DBCC CHECKTABLE. If the problem persists, contact product support.");
    /// 40510 family: accepted syntax that this version does not execute
    not_supported(what: &str) = (40517, 16, 1, "Keyword or statement option '{what}' is not supported in this version of Evenkeel.");
    /// 33299
    encryption_mismatch(names: &str, scheme: &str, expected: &str) = (33299, 16, 2, "Encryption scheme mismatch for columns/variables {names}. The encryption scheme for the columns/variables is {scheme} and the expression near line '0' expects it to be {expected} (or weaker).");
    /// 451
    column_without_collation(left: &str, right: &str, op: &str, column: usize) = (451, 16, 1, "Cannot resolve collation conflict between \"{left}\" and \"{right}\" in {op} operator occurring in SELECT statement column {column}.");
    /// 468
    collation_conflict(left: &str, right: &str, op: &str) = (468, 16, 9, "Cannot resolve the collation conflict between \"{left}\" and \"{right}\" in the {op} operation.");
    /// 4145
    non_boolean(near: &str) = (4145, 15, 1, "An expression of non-boolean type specified in a context where a condition is expected, near '{near}'.");
    /// 1205
    deadlock(session: u32) = (1205, 13, 51, "Transaction (Process ID {session}) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.");
    /// 1222
    lock_timeout() = (1222, 16, 51, "Lock request time out period exceeded.");
    /// 3960
    snapshot_conflict(table: &str, database: &str) = (3960, 16, 3, "Snapshot isolation transaction aborted due to update conflict. You cannot use snapshot isolation to access table '{table}' directly or indirectly in database '{database}' to update, delete, or insert the row that has been modified or deleted by another transaction. Retry the transaction or change the isolation level for the update/delete statement.");
    /// 22103
    changetable_version_arguments() = (22103, 16, 1, "The arguments supplied are not valid for the VERSION option of the CHANGETABLE function.");
    /// 22104
    changetable_alias() = (22104, 16, 1, "A table returned by the CHANGETABLE function must be aliased.");
    /// 22105
    not_tracked(table: &str) = (22105, 16, 1, "Change tracking is not enabled on table '{table}'.");
    /// 22107
    changetable_object(name: &str) = (22107, 16, 1, "Object '{name}' is of a data type that is not supported by the CHANGETABLE function. The object must be a user-defined table.");
    /// 22108
    change_context_of_select() = (22108, 16, 1, "The CHANGE_TRACKING_CONTEXT WITH clause cannot be used with a SELECT statement.");
    /// 22109
    change_context_type() = (22109, 16, 1, "The \"context\" argument for the CHANGE_TRACKING_CONTEXT WITH clause must be of type varbinary data type with a maximum length of 128.");
    /// 22110
    changetable_column_count(table: &str) = (22110, 16, 1, "The number of columns specified in the CHANGETABLE(VERSION ...) function does not match the number of primary key columns for table '{table}'.");
    /// 22111
    changetable_column(column: &str, table: &str) = (22111, 16, 1, "The column '{column}' specified in the CHANGETABLE(VERSION ...) function is not part of the primary key for table '{table}'.");
    /// 22112
    changetable_column_twice(column: &str) = (22112, 16, 1, "Each primary key column must be specified once in the CHANGETABLE(VERSION ...) function. The column '{column}' is specified more than once.");
    /// 8134
    divide_by_zero() = (8134, 16, 1, "Divide by zero error encountered.");
}

/// Error 701 of a statement whose resource pool, if it is in one, has no more memory for it.
#[cold]
#[must_use]
pub fn out_of_pool(share: Option<&crate::memory::MemoryShare>) -> Error {
    let mut e = out_of_memory();
    if let Some(share) = share {
        share.pool.note_out_of_memory();
        e.message = e.message.replace("'default'", &format!("'{}'", share.pool.name));
    }
    e
}

/// 8153, the warning some aggregates leave behind.
#[must_use]
pub fn null_eliminated() -> Error {
    SqlError::new(8153, 0, 1, "Warning: Null value is eliminated by an aggregate or other SET operation.")
}

/// What stands for an error of arithmetic in a session that goes on with NULL; `None` for other errors.
#[must_use]
pub fn arithmetic_warning(error: i32) -> Option<Error> {
    let (number, text) = match error {
        220 | 232 | 8115 => (3606, "Arithmetic overflow occurred."),
        8134 => (3607, "Division by zero occurred."),
        3623 => (3622, "Warning: An invalid floating point operation occurred."),
        _ => return None,
    };
    Some(SqlError::new(number, 0, 1, text))
}

/// The error as it is told where rows or values are kept from the reader: what a value was, and of what type, stays unsaid.
#[must_use]
pub fn without_values(mut e: Error) -> Error {
    let text = match e.number {
        220 => "Arithmetic overflow error for data type ******, value = ******.",
        232 => "Arithmetic overflow error for type ******, value = ******.",
        245 => "Conversion failed when converting the ****** value '******' to data type ******.",
        248 => "The conversion of the ****** value '******' overflowed an int column.",
        2628 => {
            "String or binary data would be truncated in table '******', column '******'. Truncated value: '******'."
        }
        _ => return e,
    };
    text.clone_into(&mut e.message);
    e
}
