//! The product's errors that this layer raises: number, severity, state and text, one function each.

use keel_types::SqlError;

type E = Box<SqlError>;

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident($($arg:ident),*) = $number:literal, $severity:literal, $state:literal, $text:literal;)*) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name($($arg: impl std::fmt::Display),*) -> E {
                SqlError::new($number, $severity, $state, format!($text))
            }
        )*

        /// Number, severity and text of each, arguments in braces.
        pub static RAISED: &[(i32, u8, &str)] = &[$(($number, $severity, $text)),*];
    };
}
pub(crate) use errors as error_functions;

errors! {
    /// A table-valued parameter with other columns than its type.
    table_parameter_columns(sent, required) = 500, 16, 1, "Trying to pass a table-valued parameter with {sent} column(s) where the corresponding user-defined table type requires {required} column(s).";
    /// A table-valued parameter that does not say READONLY.
    table_parameter_not_read_only(name) = 352, 15, 1, "The table-valued parameter \"{name}\" must be declared with the READONLY option.";
    /// READONLY on a parameter of another kind.
    read_only_without_table(name) = 346, 15, 1, "The parameter \"{name}\" can not be declared READONLY since it is not a table-valued parameter.";
    /// Unknown table, view or other rowset.
    invalid_object_name(name) = 208, 16, 1, "Invalid object name '{name}'.";
    /// An empty name of an application lock. The argument of these is the procedure or function.
    application_lock_resource(caller) = 1224, 16, 1, "An invalid application lock resource was passed to {caller}.";
    /// A mode that application locks do not have.
    application_lock_mode(caller) = 1225, 16, 1, "An invalid application lock mode was passed to {caller}.";
    /// Neither Transaction nor Session.
    application_lock_owner(caller) = 1226, 16, 1, "An invalid application lock owner was passed to {caller}.";
    /// Less than -1.
    application_lock_timeout(caller) = 1227, 16, 1, "An invalid application lock time-out was passed to {caller}.";
    /// A principal that is not there, or not one of the caller's.
    application_lock_principal(caller) = 1230, 16, 1, "An invalid database principal was passed to {caller}.";
    /// sp_releaseapplock of what is not held.
    application_lock_not_held(principal, resource) = 1223, 16, 1, "Cannot release the application lock (Database Principal: '{principal}', Resource: '{resource}') because it is not currently held.";
    /// A lock of the transaction where there is none.
    needs_user_transaction() = 3918, 16, 1, "The statement or function must be executed in the context of a user transaction.";
    /// ALTER COLUMN of one that its kind forbids.
    column_not_alterable(name, kind) = 4928, 16, 1, "Cannot alter column '{name}' because it is '{kind}'.";
    /// DROP MASKED of a column without a mask.
    column_not_masked(name) = 16_007, 16, 0, "The column '{name}' does not have a data masking function.";
    /// A permission that an object of this kind cannot have.
    permission_not_compatible(permission) = 4606, 16, 1, "Granted or revoked privilege {permission} is not compatible with object.";
    /// Unknown procedure.
    no_procedure(name) = 2812, 16, 62, "Could not find stored procedure '{name}'.";
    /// DBCC of a table that is not there.
    dbcc_no_object(name) = 2501, 16, 45, "Cannot find a table or object with the name \"{name}\". Check the system catalog.";
    /// CREATE STATISTICS under a name that is taken.
    statistics_exist(table, name) = 1927, 16, 1, "There are already statistics on table '{table}' named '{name}'.";
    /// An XML index of a column of another type.
    xml_collection_used(collection, object) = 6328, 16, 1, "Specified collection '{collection}' cannot be dropped because it is used by object '{object}'.";
    /// 6353
    builtin_xml_schemata() = 6353, 16, 1, "Serialization of built-in schemata is not supported.";
    /// 6312
    no_xml_namespace(namespace, collection) = 6312, 16, 1, "Could not find schema components with target namespace '{namespace}' in collection '{collection}'.";
    /// 6339
    builtin_xml_collection(collection) = 6339, 16, 1, "Specified collection '{collection}' cannot be modified because it is SQL Server built-in XML Schema Collection.";
    /// 6347
    no_xml_collection_to_alter(collection) = 6347, 16, 1, "Specified collection '{collection}' cannot be altered because it does not exist or you do not have permission.";
    /// 6348
    xml_collection_exists(collection) = 6348, 16, 1, "Specified collection '{collection}' cannot be created because it already exists or you do not have permission.";
    /// 6352
    xml_collection_parameter() = 6352, 16, 1, "Invalid parameter specified. XML Schema Collections can only be created from a string literal, or from a variable typed as a string or untyped XML.";
    /// 6361
    xml_collection_null() = 6361, 16, 1, "Invalid null parameter specified. XML Schema Collections can only be created from a non-null value.";
    /// 458
    typed_xml_of_other_database(table, column, collection, database) = 458, 16, 1, "Cannot create the SELECT INTO target table \"{table}\" because the xml column \"{column}\" is typed with a schema collection \"{collection}\" from database \"{database}\". Xml columns cannot refer to schemata across databases.";
    /// 6330
    not_xml_column(column, table) = 6330, 16, 1, "Column '{column}' on table '{table}' is not of type XML, which is required to create an XML index on it.";
    /// A second primary XML index of a column.
    second_primary_xml(index, column, table) = 6331, 16, 1, "Primary XML Index '{index}' already exists on column '{column}' on table '{table}', and multiple Primary XML Indexes per column are not allowed.";
    /// An XML index of a table without a clustered primary key.
    no_key_for_xml_index(table) = 6332, 16, 201, "Table '{table}' needs to have a clustered primary key with less than 16 columns in it in order to create a primary XML index on it.";
    /// A secondary XML index that names no primary one.
    secondary_xml_without_using(index) = 6343, 16, 1, "Cannot create secondary xml index '{index}' without a USING XML INDEX clause.";
    /// A secondary XML index of a primary one that is not there.
    no_primary_xml(index, table, column) = 6344, 16, 1, "The primary xml index '{index}' does not exist on table '{table}' column '{column}'.";
    /// A spatial index of a column of another type.
    not_spatial_column(column, table) = 12_002, 16, 1, "The requested spatial index on column '{column}' of table '{table}' could not be created because the column type is not geometry or geography. Specify a column name that refers to a column with a geometry or geography data type.";
    /// A spatial index of a table without a clustered primary key.
    no_key_for_spatial_index(table) = 12_008, 16, 1, "Table '{table}' does not have a clustered primary key as required by the spatial index. Make sure that the primary key column exists on the table before creating a spatial index.";
    /// A tessellation scheme of the other spatial type, or of none.
    wrong_tessellation(scheme) = 12_003, 16, 1, "Could not find spatial tessellation scheme '{scheme}'. Specify a valid tessellation scheme name in your USING clause.";
    /// An option of a spatial index that is not of its form.
    bad_index_parameter(near) = 12_005, 16, 1, "Incorrect parameters were passed to the CREATE spatial index statement near '{near}'. Validate the statement against the index-creation syntax.";
    /// A spatial index of a geometry without its bounds.
    no_bounding_box() = 12_007, 16, 1, "The CREATE spatial index statement is missing the required parameter 'BOUNDING_BOX'. Validate the statement against the index-creation syntax.";
    /// A key column whose type has no order, or values too long for one.
    column_not_for_key(column, table) = 1919, 16, 1, "Column '{column}' in table '{table}' is of a type that is invalid for use as a key column in an index.";
    /// A column twice in an index, in its key or beside it.
    index_column_twice(column) = 1909, 16, 1, "Cannot use duplicate column names in index. Column name '{column}' listed more than once.";
    /// The same column twice in CREATE STATISTICS.
    duplicate_in_statistics(column) = 1909, 16, 1, "Cannot use duplicate column names in statistics. Column name '{column}' listed more than once.";
    /// A column of a large type in CREATE STATISTICS.
    column_not_for_statistics(column, table) = 1919, 16, 1, "Column '{column}' in table '{table}' is of a type that is invalid for use as a key column in an index or statistics.";
    /// DROP STATISTICS of an index.
    statistics_of_index(name) = 3739, 11, 1, "Cannot DROP the index '{name}' because it is not a statistics collection.";
    /// A second columnstore index.
    second_columnstore() = 35339, 16, 1, "Multiple columnstore indexes are not supported.";
    /// Statistics of what is neither statistics nor index nor column.
    no_statistics(name) = 2767, 16, 1, "Could not locate statistics '{name}' in the system catalogs.";
    /// sp_changedbowner to a login that has a user in the database.
    owner_is_user() = 15110, 16, 1, "The proposed new database owner is already a user or aliased in the database.";
    /// A database that could not be opened.
    inaccessible(name) = 945, 14, 2, "Database '{name}' cannot be opened due to inaccessible files or insufficient memory or disk space.  See the SQL Server errorlog for details.";
    /// Unknown database in USE.
    no_database(name) = 911, 16, 1, "Database '{name}' does not exist. Make sure that the name is entered correctly.";
    /// Login's database cannot be opened.
    cannot_open_database(name) = 4060, 11, 1, "Cannot open database \"{name}\" requested by the login. The login failed.";
    /// ALTER DATABASE of one that is read between two parts of its restore.
    warm_standby(database) = 5063, 16, 1, "Database '{database}' is in warm standby. A warm-standby database is read-only.";
    /// SET OFFLINE.
    offline(name) = 942, 14, 4, "Database '{name}' cannot be opened because it is offline.";
    /// A copy that takes nothing but log.
    restoring(name) = 927, 14, 2, "Database '{name}' cannot be opened. It is in the middle of a restore.";
    /// CREATE over an existing object.
    object_exists(name) = 2714, 16, 6, "There is already an object named '{name}' in the database.";
    /// DROP of what is not there.
    cannot_drop_missing(kind, name) = 3701, 11, 5, "Cannot drop the {kind} '{name}', because it does not exist or you do not have permission.";
    /// A login is to recover a session whose state is none of this server's.
    bad_recovery_data() = 17832, 20, 18, "The login packet used to open the connection is structurally invalid; the connection has been closed. Please contact the vendor of the client library.";
    /// CONTAINMENT = PARTIAL where users of databases may not log in.
    contained_authentication_off(verb) = 12824, 16, 1, "The sp_configure value 'contained database authentication' must be set to 1 in order to {verb} a contained database.  You may need to use RECONFIGURE to set the value_in_use.";
    /// CONTAINMENT = NONE while there are users with a password.
    contained_users_left() = 12809, 16, 1, "You must remove all users with password before setting the containment property to NONE.";
    /// A user with a password elsewhere.
    user_with_password() = 33233, 16, 1, "You can only create a user with a password in a contained database.";
    /// DROP SCHEMA of one that every database has.
    cannot_alter_user(name) = 15150, 16, 1, "Cannot alter the user '{name}'.";
    /// DROP SCHEMA of one that every database has.
    cannot_drop_schema(name) = 15150, 16, 1, "Cannot drop the schema '{name}'.";
    /// DROP of the wrong kind.
    wrong_drop_kind(statement, name, other, proper) = 3705, 16, 1, "Cannot use {statement} with '{name}' because '{name}' is a {other}. Use {proper}.";
    /// DROP TABLE referenced by a foreign key.
    referenced_by_foreign_key(name) = 3726, 16, 1, "Could not drop object '{name}' because it is referenced by a FOREIGN KEY constraint.";
    /// CREATE DATABASE over an existing one.
    database_exists(name) = 1801, 16, 3, "Database '{name}' already exists. Choose a different database name.";
    /// DROP DATABASE in use.
    database_in_use(name) = 3702, 16, 4, "Cannot drop database \"{name}\" because it is currently in use.";
    /// A database in single-user mode.
    one_user_only(name) = 924, 14, 1, "Database '{name}' is already open and can only have one user at a time.";
    /// ALTER DATABASE, behind another error.
    alter_database_failed() = 5069, 16, 1, "ALTER DATABASE statement failed.";
    /// DROP of a system database.
    cannot_drop_system(name) = 3708, 16, 4, "Cannot drop the database '{name}' because it is a system database.";
    /// Undeclared variable.
    undeclared_variable(name) = 137, 15, 2, "Must declare the scalar variable \"{name}\".";
    /// REFERENCES of a temporary table.
    foreign_key_skipped(name) = 1766, 10, 0,
        "Skipping FOREIGN KEY constraint \"{name}\" definition for temporary table. FOREIGN KEY constraints are not enforced on local or global temporary tables.";
    /// Undeclared table variable.
    undeclared_table_variable(name) = 1087, 15, 2, "Must declare the table variable \"{name}\".";
    /// Duplicate DECLARE.
    variable_declared(name) = 134, 15, 2, "The variable name '{name}' has already been declared. Variable names must be unique within a query batch or stored procedure.";
    /// GOTO without label.
    no_label(name) = 133, 15, 1, "A GOTO statement references the label '{name}' but the label has not been declared.";
    /// Label twice.
    label_declared(name) = 132, 15, 1, "The label '{name}' has already been declared. Label names must be unique within a query batch or stored procedure.";
    /// BREAK outside WHILE.
    break_outside() = 135, 15, 1, "Cannot use a BREAK statement outside the scope of a WHILE statement.";
    /// CONTINUE outside WHILE.
    continue_outside() = 136, 15, 1, "Cannot use a CONTINUE statement outside the scope of a WHILE statement.";
    /// RETURN value in a batch.
    return_value_in_batch() = 178, 15, 1, "A RETURN statement with a return value cannot be used in this context.";
    /// THROW without parameters outside CATCH.
    throw_outside_catch() = 10704, 15, 1, "To rethrow an error, a THROW statement must be used inside a CATCH block. Insert the THROW statement inside a CATCH block, or add error parameters to the THROW statement.";
    /// THROW number out of range.
    throw_number(number) = 35100, 16, 10, "Error number {number} in the THROW statement is outside the valid range. Specify an error number in the valid range of 50000 to 2147483647.";
    /// A second BEGIN TRANSACTION … WITH MARK.
    marked_already() = 3920, 16, 1, "WITH MARK option only applies to the first BEGIN TRAN WITH MARK statement. The option is ignored.";
    /// COMMIT without BEGIN.
    commit_without_begin() = 3902, 16, 1, "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.";
    /// ROLLBACK without BEGIN.
    rollback_without_begin() = 3903, 16, 1, "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.";
    /// ROLLBACK of an unknown name.
    no_such_transaction(name) = 6401, 16, 1, "Cannot roll back {name}. No transaction or savepoint of that name was found.";
    /// SAVE without a transaction.
    save_without_transaction() = 628, 16, 0, "Cannot issue SAVE TRANSACTION when there is no active transaction.";
    /// Write in a doomed transaction.
    transaction_doomed() = 3930, 16, 1, "The current transaction cannot be committed and cannot support operations that write to the log file. Roll back the transaction.";
    /// Savepoint in a doomed transaction.
    doomed_savepoint() = 3931, 16, 1, "The current transaction cannot be committed and cannot be rolled back to a savepoint. Roll back the entire transaction.";
    /// ROLLBACK in a trigger.
    ended_in_trigger() = 3609, 16, 1, "The transaction ended in the trigger. The batch has been aborted.";
    /// A trigger ended with a doomed transaction.
    error_in_trigger() = 3616, 16, 1, "An error was raised during trigger execution. The batch has been aborted and the user transaction, if any, has been rolled back.";
    /// Batch ended with a doomed transaction.
    doomed_at_end() = 3998, 16, 1, "Uncommittable transaction is detected at the end of the batch. The transaction is rolled back.";
    /// Transaction count mismatch at the end of EXECUTE.
    count_mismatch(before, after) = 266, 16, 2, "Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. Previous count = {before}, current count = {after}.";
    /// ROLLBACK inside INSERT EXEC.
    rollback_in_insert_exec() = 3915, 16, 0, "Cannot use the ROLLBACK statement within an INSERT-EXEC statement.";
    /// Nested INSERT EXEC.
    nested_insert_exec() = 8164, 16, 1, "An INSERT EXEC statement cannot be nested.";
    /// Wrong column count in INSERT EXEC.
    insert_exec_columns() = 213, 16, 7, "Column name or number of supplied values does not match table definition.";
    /// Too many nested calls.
    nesting_level() = 217, 16, 1, "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32).";
    /// Procedure called without a parameter.
    parameter_missing(procedure, parameter) = 201, 16, 4, "Procedure or function '{procedure}' expects parameter '{parameter}', which was not supplied.";
    /// Procedure called with an unknown parameter.
    no_such_parameter(parameter, procedure) = 8145, 16, 2, "{parameter} is not a parameter for procedure {procedure}.";
    /// Too many arguments.
    too_many_arguments(procedure) = 8144, 16, 2, "Procedure or function {procedure} has too many arguments specified.";
    /// Named before positional.
    positional_after_named(position) = 119, 15, 1, "Must pass parameter number {position} and subsequent parameters as '@name = value'. After the form '@name = value' has been used, all subsequent parameters must be passed in the form '@name = value'.";
    /// OUTPUT for a parameter that is not.
    not_output(parameter) = 8162, 16, 2, "The formal parameter \"{parameter}\" was not declared as an OUTPUT parameter, but the actual parameter passed in requested output.";
    /// Parameter supplied twice.
    parameter_twice(parameter) = 8143, 16, 1, "Parameter '{parameter}' was supplied multiple times.";
    /// Unknown prepared handle.
    no_prepared(handle) = 8179, 16, 2, "Could not find prepared statement with handle {handle}.";
    /// Behind what is wrong with a text.
    not_prepared() = 8180, 16, 1, "Statement(s) could not be prepared.";
    /// Documents for OPENXML take too much.
    no_memory_for_xml() = 6624, 16, 1, "XML document could not be created because server memory is low. Use sp_xml_removedocument to release XML documents.";
    /// Unknown handle of a document for OPENXML.
    no_xml_document() = 6607, 16, 3, "sp_xml_removedocument: The value supplied for parameter number 1 is invalid.";
    /// Lock time-out.
    lock_timeout() = 1222, 16, 51, "Lock request time out period exceeded.";
    /// Deadlock victim.
    deadlock(spid) = 1205, 13, 51, "Transaction (Process ID {spid}) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.";
    /// Snapshot write conflict.
    snapshot_conflict(table, database) = 3960, 16, 2, "Snapshot isolation transaction aborted due to update conflict. You cannot use snapshot isolation to access table '{table}' directly or indirectly in database '{database}' to update, delete, or insert the row that has been modified or deleted by another transaction. Retry the transaction or change the isolation level for the update/delete statement.";
    /// SNAPSHOT not allowed.
    snapshot_not_allowed(database) = 3952, 16, 1, "Snapshot isolation transaction failed accessing database '{database}' because snapshot isolation is not allowed in this database. Use ALTER DATABASE to allow snapshot isolation.";
    /// Write to a read-only database.
    database_read_only(database) = 3906, 16, 1, "Failed to update database \"{database}\" because the database is read-only.";
    /// Computed from a computed column.
    computed_of_computed(column, table) = 1759, 16, 0, "Computed column '{column}' in table '{table}' is not allowed to be used in another computed-column definition.";
    /// Two CHECK or DEFAULT constraints declared with one column.
    second_column_constraint(kind, column, table) = 8148, 16, 0, "More than one column {kind} constraint specified for column '{column}', table '{table}'.";
    /// PRIMARY KEY and UNIQUE declared with one column.
    primary_and_unique(column, table) = 8151, 16, 0, "Both a PRIMARY KEY and UNIQUE constraint have been defined for column '{column}', table '{table}'. Only one is allowed.";
    /// The CHECK of a column that names another.
    check_names_another(column, table) = 8141, 16, 0, "Column CHECK constraint for column '{column}', table '{table}' references another column.";
    /// A second rowversion.
    second_rowversion(table, column) = 2738, 16, 2, "A table can only have one timestamp column. Because table '{table}' already has one, the column '{column}' cannot be added.";
    /// A query where an expression stands alone.
    no_subqueries() = 1046, 15, 1, "Subqueries are not allowed in this context. Only scalar expressions are allowed.";
    /// PERSISTED of what changes by itself.
    persisted_not_deterministic(column, table) = 4936, 16, 1, "Computed column '{column}' in table '{table}' cannot be persisted because the column is non-deterministic.";
    /// An index over what changes by itself.
    key_not_deterministic(column, table) = 2729, 16, 1, "Column '{column}' in table '{table}' cannot be used in an index or statistics or as a partition key because it is non-deterministic.";
    /// IDENTITY(1, 0)
    identity_increment(column) = 2753, 16, 2, "Identity column '{column}' contains invalid INCREMENT.";
    /// A variable where none may be.
    variables_in(statement) = 112, 15, 4, "Variables are not allowed in the {statement} statement.";
    /// SET NULL of columns that may not be NULL.
    set_null_of_required(key) = 1761, 16, 0, "Cannot create the foreign key \"{key}\" with the SET NULL referential action, because one or more referencing columns are not nullable.";
    /// Columns of fixed length that take more than a page has.
    row_too_large(table, size, overhead) = 1701, 16, 1, "Creating or altering table '{table}' failed because the minimum row size would be {size}, including {overhead} bytes of internal overhead. This exceeds the maximum allowable table row size of 8060 bytes.";
    /// FILLFACTOR out of its range.
    no_fill_factor(given) = 129, 15, 1, "Fillfactor {given} is not a valid percentage; fillfactor must be between 1 and 100.";
    /// REORGANIZE of an index with ALLOW_PAGE_LOCKS = OFF.
    pages_are_not_locked(index, table) = 2552, 16, 1, "The index \"{index}\" (partition 1) on table \"{table}\" cannot be reorganized because page level locking is disabled.";
    /// IGNORE_DUP_KEY of an index that is not unique.
    ignored_duplicates_of_all() = 1916, 16, 4, "CREATE INDEX options nonunique and ignore_dup_key are mutually exclusive.";
    /// A view's column without a name.
    view_column_unnamed(position) = 4511, 16, 1, "Create View or Function failed because no column name was specified for column {position}.";
    /// An inline function's column without a name.
    function_column_unnamed(position) = 4514, 16, 1, "CREATE FUNCTION failed because a column name is not specified for column {position}.";
    /// A column of a view or function that is there twice.
    module_column_twice(column, module) = 4506, 16, 1, "Column names in each view or function must be unique. Column name '{column}' in view or function '{module}' is specified more than once.";
    /// A view of a temporary table.
    module_of_temporary() = 4508, 16, 1, "Views or functions are not allowed on temporary tables. Table names that begin with '#' denote temporary tables.";
    /// A function that runs past its end.
    no_return_at_end() = 455, 16, 2, "The last statement included within a function must be a return statement.";
    /// A SELECT in a function that returns rows.
    select_in_function() = 444, 16, 2, "Select statements included within a function cannot return data to a client.";
    /// RETURN without a value in a scalar function.
    return_without_value() = 1075, 15, 1, "RETURN statements in scalar valued functions must include an argument.";
    /// A second ROWGUIDCOL.
    second_rowguid() = 8196, 16, 1, "Duplicate column specified as ROWGUIDCOL.";
    /// Column given twice.
    duplicate_column(table, column) = 2705, 16, 3, "Column names in each table must be unique. Column name '{column}' in table '{table}' is specified more than once.";
    /// Second primary key.
    second_primary_key(table) = 1779, 16, 0, "Table '{table}' already has a primary key defined on it.";
    /// Second primary key inside CREATE TABLE.
    two_primary_keys(table) = 8110, 16, 0, "Cannot add multiple PRIMARY KEY constraints to table '{table}'.";
    /// Primary key on a nullable column.
    nullable_primary_key(table) = 8111, 16, 1, "Cannot define PRIMARY KEY constraint on nullable column in table '{table}'.";
    /// Constraint could not be created; follows another error.
    constraint_not_created() = 1750, 16, 1, "Could not create constraint or index. See previous errors.";
    /// A CHECK over a column that the table does not have.
    constraint_column_missing(name) = 1759, 16, 0, "Invalid column '{name}' is specified in a constraint or computed-column definition.";
    /// A column in a DEFAULT.
    name_not_permitted(name) = 128, 15, 1, "The name \"{name}\" is not permitted in this context. Valid expressions are constants, constant expressions, and (in some contexts) variables. Column names are not permitted.";
    /// ALTER TABLE … ADD or DROP INDEX of a table that is none; the words for both come with it.
    memory_optimized_only(word) = 10785, 16, 1, "The operation 'ALTER TABLE {word} INDEX' is supported only with memory optimized tables.";
    /// ALTER TABLE … DROP INDEX of an index that is not there.
    no_index_to_drop(index) = 3701, 16, 21, "Cannot drop the index '{index}', because it does not exist or you do not have permission.";
    /// DURABILITY of a table that is none.
    durability_of_memory(option) = 10779, 15, 1, "The durability option '{option}' is supported only with memory optimized tables.";
    /// Constraint could not be dropped; follows another error.
    constraint_not_dropped() = 3727, 16, 0, "Could not drop constraint. See previous errors.";
    /// A label of a column that is longer than 128 characters.
    text_too_long(start) = 103, 15, 4, "The identifier that starts with '{start}' is too long. Maximum length is 128.";
    /// Unknown column of a constraint or index.
    no_column_in_table(column) = 1911, 16, 1, "Column name '{column}' does not exist in the target table or view.";
    /// Index exists.
    index_exists(table, index) = 1913, 16, 1, "The operation failed because an index or statistics with name '{index}' already exists on table '{table}'.";
    /// ALTER INDEX … SET (IGNORE_DUP_KEY) of a constraint.
    option_of_constraint(index) = 1979, 16, 1, "Cannot use index option ignore_dup_key to alter index '{index}' as it enforces a primary or unique constraint.";
    /// Said of each index that goes with the clustered one.
    index_disabled_too(index, kind, table) = 3750, 10, 1, "Warning: Index '{index}' on {kind} '{table}' was disabled as a result of disabling the clustered index on the {kind}.";
    /// Said of each indexed view that goes with the clustered index of a table.
    view_index_disabled_too(index, view, table, disabled) = 1998, 10, 1, "Warning: Clustered index '{index}' on view '{view}' referencing table '{table}' was disabled as a result of disabling the index '{disabled}'.";
    /// Said of each foreign key that goes with the index it rests on.
    foreign_key_disabled_too(key, table, referenced, index) = 1992, 10, 1, "Warning: Foreign key '{key}' on table '{table}' referencing table '{referenced}' was disabled as a result of disabling the index '{index}'.";
    /// Two constraints of a new table that say CLUSTERED.
    two_clustered_constraints(table) = 8112, 16, 0, "Cannot add more than one clustered index for constraints on table '{table}'.";
    /// Second clustered index.
    second_clustered(table, index) = 1902, 16, 3, "Cannot create more than one clustered index on table '{table}'. Drop the existing clustered index '{index}' before creating another.";
    /// Index of a view exists.
    view_index_exists(view, index) = 1913, 16, 1, "The operation failed because an index or statistics with name '{index}' already exists on view '{view}'.";
    /// Second clustered index of a view.
    second_clustered_of_view(view, index) = 1902, 16, 3, "Cannot create more than one clustered index on view '{view}'. Drop the existing clustered index '{index}' before creating another.";
    /// Index on a view that is not WITH SCHEMABINDING.
    view_not_schema_bound(view) = 1939, 16, 1, "Cannot create index on view '{view}' because the view is not schema bound.";
    /// First index on a view that is not clustered.
    view_without_clustered(view) = 1940, 16, 1, "Cannot create index on view '{view}'. It does not have a unique clustered index.";
    /// Clustered index on a view that is not unique.
    view_clustered_not_unique(view) = 1941, 16, 1, "Cannot create nonunique clustered index on view '{view}' because only unique clustered indexes are allowed. Consider creating unique clustered index instead.";
    /// IGNORE_DUP_KEY of an index on a view.
    view_ignores_duplicates() = 1990, 16, 1, "Cannot define an index on a view with ignore_dup_key index option. Remove ignore_dup_key option and verify that view definition does not allow duplicates, or do not index view.";
    /// A clustered index on a view ONLINE.
    view_online() = 1967, 16, 1, "Cannot create a new clustered index on a view online.";
    /// WHERE of an index on a view.
    view_index_filtered(index, view) = 10610, 16, 1, "Filtered index '{index}' cannot be created on object '{view}' because it is not a user table. Filtered indexes are only supported on tables. If you are trying to create a filtered index on a view, consider creating an indexed view with the filter expression incorporated in the view definition.";
    /// Columnstore index on a view.
    columnstore_on_view() = 35305, 15, 1, "The statement failed because a columnstore index cannot be created on a view. Consider creating a columnstore index on the base table or creating an index without the COLUMNSTORE keyword on the view.";
    /// Index on a view over a table with a security policy.
    indexed_view_guarded(view, table) = 33266, 16, 1, "The index on the view '{view}' cannot be created because the view is referencing table '{table}' that is referenced by a security policy.";
    /// Security policy on a table of an indexed view.
    policy_under_indexed_view(policy, table, view) = 33265, 16, 1, "The security policy '{policy}' cannot have a predicate on table '{table}' because this table is referenced by the indexed view '{view}'.";
    /// Index on what is not there.
    no_table_for_index(table) = 1088, 16, 12, "Cannot find the object \"{table}\" because it does not exist or you do not have permissions.";
    /// Duplicate key during CREATE UNIQUE INDEX.
    duplicate_in_index(table, index, key) = 1505, 16, 1, "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name '{table}' and the index name '{index}'. The duplicate key value is ({key}).";
    /// No such constraint.
    not_a_constraint(name) = 3728, 16, 1, "'{name}' is not a constraint.";
    /// DROP INDEX that backs a constraint.
    index_of_constraint(index, kind) = 3723, 16, 4, "An explicit DROP INDEX is not allowed on index '{index}'. It is being used for {kind} constraint enforcement.";
    /// ALTER TABLE on what is not there.
    cannot_find_object(name) = 4902, 16, 1, "Cannot find the object \"{name}\" because it does not exist or you do not have permissions.";
    /// ALTER TABLE names an unknown column.
    alter_unknown_column(statement, column, table) = 4924, 16, 1, "{statement} failed because column '{column}' does not exist in table '{table}'.";
    /// ALTER TABLE ADD without default.
    add_not_null(column, table) = 4901, 16, 1, "ALTER TABLE only allows columns to be added that can contain nulls, or have a DEFAULT definition specified, or the column being added is an identity or timestamp column, or alternatively if none of the previous conditions are satisfied the table must be empty to allow addition of this column. Column '{column}' cannot be added to non-empty table '{table}' because it does not satisfy these conditions.";
    /// An object depends on the column.
    column_dependency(kind, name, column) = 5074, 16, 1, "The {kind} '{name}' is dependent on column '{column}'.";
    /// A period column that is no datetime2.
    generated_type(column) = 13501, 16, 1, "Temporal generated always column '{column}' has invalid data type.";
    /// Two starts (the first of each pair), two ends.
    two_row_starts() = 13502, 16, 1, "System-versioned table cannot have more than one 'GENERATED ALWAYS AS ROW START' column.";
    /// Two ends.
    two_row_ends() = 13503, 16, 1, "System-versioned table cannot have more than one 'GENERATED ALWAYS AS ROW END' column.";
    /// A period without a column for its start.
    no_row_start() = 13504, 16, 1, "Temporal 'GENERATED ALWAYS AS ROW START' column definition missing.";
    /// A period without a column for its end.
    no_row_end() = 13505, 16, 1, "Temporal 'GENERATED ALWAYS AS ROW END' column definition missing.";
    /// A period that names another column as its start.
    other_row_start() = 13506, 16, 1, "System-versioned table SYSTEM_TIME period definition start column name not matching 'GENERATED ALWAYS AS ROW START' column name.";
    /// A period that names another column as its end.
    other_row_end() = 13507, 16, 1, "System-versioned table SYSTEM_TIME period definition end column name not matching 'GENERATED ALWAYS AS ROW END' column name.";
    /// Two periods.
    two_periods() = 13508, 16, 1, "System-versioned table cannot have more than one SYSTEM_TIME period definition.";
    /// GENERATED ALWAYS without a period.
    generated_without_period() = 13509, 16, 1, "Cannot create generated always column when SYSTEM_TIME period is not defined.";
    /// SYSTEM_VERSIONING without a period.
    versioned_without_period() = 13510, 16, 1, "Cannot set SYSTEM_VERSIONING to ON when SYSTEM_TIME period is not defined.";
    /// A history table that is no table.
    not_a_history(name) = 13511, 16, 1, "Specified object '{name}' cannot be used as history table.";
    /// Another table's history.
    history_in_use(name) = 13514, 16, 1, "History table '{name}' is already in use.";
    /// A history table with something that history cannot have.
    history_with_keys(name) = 13515, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{name}' has custom unique keys defined. Consider dropping all unique keys and trying again.";
    /// The same: foreign keys.
    history_with_foreign_keys(name) = 13516, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{name}' has foreign keys defined. Consider dropping all foreign keys and trying again.";
    /// The same: constraints.
    history_with_constraints(name) = 13517, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{name}' has table or column constraints defined. Consider dropping all table and column constraints and trying again.";
    /// The same: IDENTITY.
    history_with_identity(name) = 13518, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{name}' has IDENTITY column specification. Consider dropping all IDENTITY column specifications and trying again.";
    /// The same: computed columns.
    history_with_computed(name) = 13519, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{name}' has computed column specification. Consider dropping all computed column specifications and trying again.";
    /// A history table of another shape.
    history_columns(table, columns, history, past) = 13523, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because table '{table}' has {columns} columns and table '{history}' has {past} columns.";
    /// The same: names.
    history_column_name(past, at, history, column, table) = 13524, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because column '{past}' at ordinal {at} in history table '{history}' has a different name than the column '{column}' at the same ordinal in table '{table}'.";
    /// The same: types.
    history_column_type(column, past, history, ty, table) = 13525, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because column '{column}' has data type {past} in history table '{history}' which is different from corresponding column type {ty} in table '{table}'.";
    /// COLLATE of a column that is no text.
    collate_on_other_type(ty) = 447, 16, 0, "Expression type {ty} is invalid for COLLATE clause.";
    /// A collation without a code page, of `char` or `varchar`.
    collation_of_national_types(name) = 459, 16, 1, "Collation '{name}' is supported on Unicode data types only and cannot be applied to char, varchar or text data types.";
    /// The same, of a database.
    collation_of_no_database(name) = 453, 16, 1, "Collation '{name}' is supported on Unicode data types only and cannot be set at the database or server level.";
    /// The same: collations.
    history_column_collation(column, table, history) = 13526, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because column '{column}' does not have the same collation in tables '{table}' and '{history}'.";
    /// The same: a period column that may be NULL.
    history_period_nullable(column, history, table) = 13530, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because system column '{column}' in history table '{history}' corresponds to a period column in table '{table}' and cannot be nullable.";
    /// The same: nullability.
    history_column_nullable(column, table, history) = 13531, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because column '{column}' does not have the same nullability attribute in tables '{table}' and '{history}'.";
    /// HISTORY_TABLE without a schema.
    history_name_parts(name) = 13539, 15, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{name}' is not specified in two-part name format.";
    /// Rows of a history table that cannot be.
    history_ends_before(name) = 13541, 16, 0, "Setting SYSTEM_VERSIONING to ON failed because history table '{name}' contains invalid records with end of period set before start.";
    /// ADD PERIOD over rows of the future.
    period_starts_later(name) = 13542, 16, 0, "ADD PERIOD FOR SYSTEM_TIME on table '{name}' failed because there are open records with start of period set to a value in the future.";
    /// Rows of a history table that end later than now.
    history_ends_later(name) = 13543, 16, 0, "Setting SYSTEM_VERSIONING to ON failed because history table '{name}' contains invalid records with end of period set to a value in the future.";
    /// TRUNCATE of a system-versioned table or its history.
    versioned_truncated(name) = 13545, 16, 1, "Truncate failed on table '{name}' because it is not a supported operation on system-versioned tables.";
    /// ALTER TABLE ALTER COLUMN of a history table.
    history_column_altered(column, name) = 13548, 16, 1, "Cannot alter column '{column}' on table '{name}' because it is not a supported operation on system-versioned temporal or ledger tables.";
    /// ALTER TABLE ADD of a history table.
    history_column_added(name) = 13550, 16, 1, "Add column operation failed on table '{name}' because it is not a supported operation on system-versioned temporal tables.";
    /// ALTER TABLE DROP COLUMN of a history table.
    history_column_dropped(name) = 13551, 16, 1, "Drop column operation failed on table '{name}' because it is not a supported operation on system-versioned temporal tables.";
    /// DROP of a system-versioned table or its history.
    versioned_dropped(name) = 13552, 16, 1, "Drop table operation failed on table '{name}' because it is not a supported operation on system-versioned temporal tables.";
    /// SYSTEM_VERSIONING without a primary key.
    versioned_without_key(name) = 13553, 16, 1, "System versioned temporal table '{name}' must have primary key defined.";
    /// A history table that is system-versioned itself.
    versioned_in_use(name) = 13566, 16, 1, "Temporal table '{name}' is already in use.";
    /// SYSTEM_VERSIONING of a temporary table.
    versioned_in_tempdb(name) = 13568, 16, 1, "System-versioned temporal table '{name}' cannot be created in a 'tempdb' database.";
    /// A history table with triggers.
    history_with_triggers(name) = 13520, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because history table '{name}' has triggers defined. Consider dropping all triggers and trying again.";
    /// A trigger of a history table, or one INSTEAD OF changes of a system-versioned table.
    versioned_trigger(name) = 13569, 16, 1, "Cannot create a trigger on a system-versioned temporal table '{name}'.";
    /// A period in a table variable.
    period_in_table_variable() = 13572, 16, 1, "Creating table variables containing PERIOD is not allowed.";
    /// Rows of a history table that were true at the same time.
    history_overlaps(name) = 13573, 16, 0, "Setting SYSTEM_VERSIONING to ON failed because history table '{name}' contains overlapping records.";
    /// A history table with a period.
    history_with_period(name) = 13574, 16, 1, "Setting SYSTEM_VERSIONING to ON failed because temporal history table '{name}' contains SYSTEM_TIME period.";
    /// ADD PERIOD over rows that have ended.
    period_ends_early(name) = 13575, 16, 0, "ADD PERIOD FOR SYSTEM_TIME failed because table '{name}' contains records where end of period is not equal to MAX datetime.";
    /// A period column that may be NULL.
    period_nullable(column) = 13587, 16, 1, "Period column '{column}' in a system-versioned temporal table cannot be nullable.";
    /// SYSTEM_VERSIONING = OFF where it is not on.
    not_versioned(name) = 13591, 16, 1, "SYSTEM_VERSIONING is not turned ON for table '{name}'.";
    /// DROP PERIOD where there is none.
    no_period(name) = 13592, 16, 1, "SYSTEM_TIME period is not defined on table '{name}'.";
    /// DROP PERIOD of a system-versioned table.
    period_in_use(name) = 13593, 16, 1, "Cannot drop SYSTEM_TIME period on table '{name}' because it is used by system-versioning. Consider setting SYSTEM_VERSIONING to OFF and trying again.";
    /// SYSTEM_VERSIONING = ON with another history table than the one in use.
    other_history(history, name) = 13595, 16, 1, "Temporal history table name '{history}' is not correct for current table '{name}'.";
    /// SYSTEM_VERSIONING = ON where it is.
    already_versioned(name) = 13596, 16, 1, "SYSTEM_VERSIONING is already turned ON for table '{name}'.";
    /// ALTER COLUMN of a period column.
    period_column_altered(column) = 13599, 16, 1, "Period column '{column}' in a system-versioned temporal table cannot be altered.";
    /// Adding an identity column to a system-versioned table.
    versioned_identity(history) = 13704, 16, 1, "System-versioned table schema modification failed because history table '{history}' has IDENTITY column specification. Consider dropping all IDENTITY column specifications and trying again.";
    /// Adding a computed column to a system-versioned table.
    versioned_computed() = 13724, 16, 1, "System-versioned table schema modification failed because adding computed column while system-versioning is ON is not supported.";
    /// HISTORY_RETENTION_PERIOD of nothing.
    retention_count(count) = 13743, 16, 1, "{count} is not a valid value for system versioning history retention period.";
    /// HISTORY_RETENTION_PERIOD in another unit.
    retention_unit(unit) = 13744, 15, 1, "'{unit}' is not a valid history retention period unit for system versioning.";
    /// ALTER TABLE on a column with dependents.
    alter_dependents(statement, column) = 4922, 16, 9, "{statement} {column} failed because one or more objects access this column.";
    /// Dropping the last column.
    last_column(table) = 4923, 16, 1, "ALTER TABLE DROP COLUMN failed because '{table}' has only one data column. A table must have at least one data column.";
    /// TRUNCATE of a referenced table.
    truncate_referenced(table) = 4712, 16, 1, "Cannot truncate table '{table}' because it is being referenced by a FOREIGN KEY constraint.";
    /// TRUNCATE of what is not there.
    cannot_truncate(table) = 4701, 16, 1, "Cannot find the object \"{table}\" because it does not exist or you do not have permissions.";
    /// Unknown schema.
    no_schema(name) = 2760, 16, 1, "The specified schema name \"{name}\" either does not exist or you do not have permission to use it.";
    /// DROP or ALTER of what a bound module refers to, of a schema with objects.
    referenced_by_object(what, name, object) = 3729, 16, 1, "Cannot {what} '{name}' because it is being referenced by object '{object}'.";
    /// A name in a module WITH SCHEMABINDING that has not two parts.
    cannot_bind_name(kind, module, name) = 4512, 16, 3, "Cannot schema bind {kind} '{module}' because name '{name}' is invalid for schema binding. Names must be in two-part format and an object cannot reference itself.";
    /// A module WITH SCHEMABINDING that refers to one without.
    not_schema_bound(kind, module, name) = 4513, 16, 2, "Cannot schema bind {kind} '{module}'. '{name}' is not schema bound.";
    /// A star in a module WITH SCHEMABINDING.
    star_in_bound() = 1054, 15, 6, "Syntax '*' is not allowed in schema-bound objects.";
    /// sp_rename of what others depend on.
    enforced_dependencies(name) = 15336, 16, 1, "Object '{name}' cannot be renamed because the object participates in enforced dependencies.";
    /// ALTER SCHEMA into a schema that has one of this name.
    name_taken_in_schema(name) = 15530, 16, 1, "The object with name \"{name}\" already exists.";
    /// ALTER SCHEMA of what a schema-bound object or a policy names.
    cannot_transfer_bound() = 15348, 16, 1, "Cannot transfer a schemabound object.";
    /// Type still used.
    type_in_use(name, object) = 3732, 16, 1, "Cannot drop type '{name}' because it is being referenced by object '{object}'. There may be other objects that reference this type.";
    /// Type exists.
    type_exists(name) = 219, 16, 1, "The type '{name}' already exists, or you do not have permission to create it.";
    /// Unknown type of a column, parameter or variable.
    no_type(number, name) = 2715, 16, 6, "Column, parameter, or variable #{number}: Cannot find data type {name}.";
    /// A text column's length.
    column_too_long(size, column) = 131, 15, 2, "The size ({size}) given to the column '{column}' exceeds the maximum allowed for any data type (8000).";
    /// A decimal column's scale.
    column_scale(scale, column, precision) = 183, 15, 1, "The scale ({scale}) for column '{column}' must be within the range 0 to {precision}.";
    /// Statement not allowed in a transaction.
    not_in_transaction(statement) = 226, 16, 6, "{statement} statement not allowed within multi-statement transaction.";
    /// ALTER DATABASE in a transaction.
    not_in_user_transaction(statement) = 574, 16, 0, "{statement} cannot be used inside a user transaction.";
    /// Foreign key without matching key.
    no_candidate_key(table, foreign_key) = 1776, 16, 0, "There are no primary or candidate keys in the referenced table '{table}' that match the referencing column list in the foreign key '{foreign_key}'.";
    /// Statistics of an unknown table.
    table_does_not_exist(table) = 2706, 11, 6, "Table '{table}' does not exist.";
    /// Foreign key to an unknown table.
    foreign_key_no_table(foreign_key, table) = 1767, 16, 0, "Foreign key '{foreign_key}' references invalid table '{table}'.";
    /// Foreign key to an unknown column.
    foreign_key_no_column(foreign_key, column, table) = 1770, 16, 0, "Foreign key '{foreign_key}' references invalid column '{column}' in referenced table '{table}'.";
    /// Foreign key from an unknown column.
    foreign_key_own_column(foreign_key, column, table) = 1769, 16, 1, "Foreign key '{foreign_key}' references invalid column '{column}' in referencing table '{table}'.";
    /// The types of a foreign key's columns differ.
    foreign_key_types(referenced, referencing, foreign_key) = 1778, 16, 0, "Column '{referenced}' is not the same data type as referencing column '{referencing}' in foreign key '{foreign_key}'.";
    /// Their lengths, precisions or scales differ.
    foreign_key_lengths(referenced, referencing, foreign_key) = 1753, 16, 0, "Column '{referenced}' is not the same length or scale as referencing column '{referencing}' in foreign key '{foreign_key}'. Columns participating in a foreign key relationship must be defined with the same length and scale.";
    /// Their collations differ.
    foreign_key_collations(referenced, referencing, foreign_key) = 1757, 16, 0, "Column '{referenced}' is not of same collation as referencing column '{referencing}' in foreign key '{foreign_key}'.";
    /// Existing rows violate a new constraint.
    constraint_violated(statement, kind, name, database, table, column) = 547, 16, 0, "The {statement} statement conflicted with the {kind} constraint \"{name}\". The conflict occurred in database \"{database}\", table \"{table}\"{column}.";
    /// Two identity columns.
    two_identities(table) = 2744, 16, 2, "Multiple identity columns specified for table '{table}'. Only one identity column per table is allowed.";
    /// GOTO from outside a TRY or CATCH block into it.
    goto_into_try() = 1026, 15, 1, "GOTO cannot be used to jump into a TRY or CATCH scope.";
    /// CREATE SEQUENCE … INCREMENT BY 0.
    sequence_increment(name) = 11700, 16, 1, "The increment for sequence object '{name}' cannot be zero.";
    /// A sequence of text or fractions.
    sequence_type(name) = 11702, 16, 2, "The sequence object '{name}' must be of data type int, bigint, smallint, tinyint, or decimal or numeric with a scale of 0, or any user-defined data type that is based on one of the above integer data types.";
    /// A number that a sequence's type does not hold.
    sequence_argument(argument) = 11708, 16, 1, "An invalid value was specified for argument '{argument}' for the given data type.";
    /// START WITH out of the bounds.
    sequence_start(name) = 11703, 16, 1, "The start value for sequence object '{name}' must be between the minimum and maximum value of the sequence object.";
    /// MINVALUE not below MAXVALUE.
    sequence_bounds(name) = 11705, 16, 1, "The minimum value for sequence object '{name}' must be less than its maximum value.";
    /// A primary key on what is computed and may be NULL.
    nullable_computed_key(column, table) = 1711, 16, 1, "Cannot define PRIMARY KEY constraint on column '{column}' in table '{table}'. The computed column has to be persisted and not nullable.";
    /// sp_helptext of what has none.
    no_text(name) = 15197, 16, 1, "There is no text for object '{name}'.";
    /// A trigger on a temporary table.
    trigger_of_temporary() = 167, 15, 1, "Cannot create trigger on a temporary object.";
    /// ALTER of a procedure, function, view or trigger that is not there.
    no_module_to_alter(name) = 208, 16, 6, "Invalid object name '{name}'.";
    /// EXECUTE AS OWNER of a trigger of a database or the server.
    no_owner_of_trigger() = 1083, 15, 1, "OWNER is not a valid option for EXECUTE AS in the context of server and database level triggers.";
    /// A trigger on what is not there.
    no_trigger_target(name) = 8197, 16, 4, "The object '{name}' does not exist or is invalid for this operation.";
    /// A trigger on what is no table or view, or AFTER something happened to a view.
    not_a_trigger_target(name) = 8197, 16, 6, "The object '{name}' does not exist or is invalid for this operation.";
    /// A trigger on something that does not happen.
    no_event(name) = 1084, 15, 1, "'{name}' is an invalid event type.";
    /// ENABLE or DISABLE TRIGGER of one that is not there.
    no_such_trigger(name) = 1088, 16, 119, "Cannot find the object \"{name}\" because it does not exist or you do not have permissions.";
    /// A trigger of a database or the server in a schema.
    trigger_schema_prefix() = 1094, 15, 1, "Cannot specify a schema name as a prefix to the trigger name for database and server level triggers.";
    /// A trigger on something that happens elsewhere.
    event_not_here() = 1098, 15, 1, "The specified event type(s) is/are not valid on the specified target object.";
    /// A trigger that the session may not make, change or drop.
    cannot_define_trigger(verb, name) = 2104, 14, 1, "Cannot {verb} the trigger '{name}', because you do not have permission.";
    /// ALTER of a trigger that belongs to something else.
    trigger_of_another(trigger, target) = 2110, 15, 1, "Cannot alter trigger '{trigger}' on '{target}' because this trigger does not belong to this object. Specify the correct trigger name or the correct target object name.";
    /// ALTER TABLE … TRIGGER of one that is not there.
    no_trigger_of_table(trigger, table) = 4920, 16, 0, "ALTER TABLE failed because trigger '{trigger}' on table '{table}' does not exist.";
    /// EXECUTE AS of a login that is not there.
    no_login_of_trigger(name) = 15151, 16, 1, "Cannot execute as the login '{name}', because it does not exist or you do not have permission.";
    /// A second trigger that shall be the first or the last.
    order_taken(order, event) = 15130, 16, 1, "There already exists a '{order}' trigger for '{event}'.";
    /// The order of triggers for something that this one does not fire on.
    not_a_trigger_for(trigger, event) = 15125, 16, 1, "Trigger '{trigger}' is not a trigger for '{event}'.";
    /// The order of what is alone.
    instead_of_order(trigger) = 15133, 16, 1, "INSTEAD OF trigger '{trigger}' cannot be associated with an order.";
    /// What a procedure was asked about is not there.
    could_not_find_object(name) = 15165, 16, 1, "Could not find object '{name}' or you do not have permission.";
    /// An argument that a procedure does not know.
    invalid_procedure_option(procedure) = 15600, 15, 1, "An invalid parameter or option was specified for procedure '{procedure}'.";
    /// A login that a trigger has refused.
    logon_failed_by_trigger(login) = 17892, 14, 1, "Logon failed for login '{login}' due to trigger execution.";
    /// Two INSTEAD OF triggers for one event.
    second_instead_of(verb, trigger, kind, table, event) = 2111, 16, 1, "Cannot {verb} trigger '{trigger}' on {kind} '{table}' because an INSTEAD OF {event} trigger already exists on this object.";
    /// DEFAULT of an identity column.
    default_on_identity(table, column) = 1754, 16, 0, "Defaults cannot be created on columns with an IDENTITY attribute. Table '{table}', column '{column}'.";
    /// IDENTITY () in SELECT INTO beside a column that is one already.
    second_identity(table, column) = 8108, 16, 1, "Cannot add identity column, using the SELECT INTO statement, to table '{table}', which already has column '{column}' that inherits the identity property.";
    /// Identity of a wrong type.
    identity_type(column) = 2749, 16, 2, "Identity column '{column}' must be of data type int, bigint, smallint, tinyint, or decimal or numeric with a scale of 0, unencrypted, and constrained to be nonnullable.";
    /// SET IDENTITY_INSERT of a table without such a column.
    no_identity_to_set(table) = 8106, 16, 1, "Table '{table}' does not have the identity property. Cannot perform SET operation.";
    /// IDENTITY_INSERT already on for another table.
    identity_insert_on(table, database, schema, wanted) = 8107, 16, 1, "IDENTITY_INSERT is already ON for table '{database}.{schema}.{table}'. Cannot perform SET operation for table '{wanted}'.";
    /// No such object for a procedure or function.
    object_missing(name, database) = 15009, 16, 1, "The object '{name}' does not exist in database '{database}' or is invalid for this operation.";
    /// RAISERROR message number unknown.
    no_user_message(number, severity) = 18054, 16, 1, "Error {number}, severity {severity}, state 1 was raised, but no message with that error number was found in sys.messages. If error is larger than 50000, make sure the user-defined message is added using sp_addmessage.";
    /// RAISERROR severity needs WITH LOG.
    severity_needs_log() = 2754, 16, 1, "Error severity levels greater than 18 can only be specified by members of the sysadmin role, using the WITH LOG option.";
    /// RAISERROR WITH LOG is not for everybody.
    log_needs_permission() = 2778, 16, 1, "Only System Administrator can specify WITH LOG option for RAISERROR command.";
    /// RAISERROR of severity 20 or more ends the session.
    session_raised(session, number, severity) = 2745, 16, 2, "Process ID {session} has raised user error {number}, severity {severity}. SQL Server is terminating this process.";
    /// RAISERROR substitution of a wrong type.
    raiserror_parameter(position) = 2786, 16, 1, "The data type of substitution parameter {position} does not match the expected type of the format specification.";
    /// Cursor already there.
    cursor_exists(name) = 16915, 16, 1, "A cursor with the name '{name}' already exists.";
    /// Unknown cursor.
    no_cursor(name) = 16916, 16, 1, "A cursor with the name '{name}' does not exist.";
    /// Cursor not open.
    cursor_not_open() = 16917, 16, 1, "Cursor is not open.";
    /// Cursor open already.
    cursor_open() = 16905, 16, 1, "The cursor is already open.";
    /// FETCH direction on a forward-only cursor.
    fetch_forward_only(direction) = 16911, 16, 1, "fetch: The fetch type {direction} cannot be used with forward only cursors.";
    /// FETCH ABSOLUTE of a dynamic cursor.
    fetch_dynamic(direction) = 16925, 16, 1, "The fetch type {direction} cannot be used with dynamic cursors.";
    /// OPEN or FETCH when the query's columns are others than they were when the cursor was declared.
    cursor_schema_changed() = 16943, 16, 4, "Could not complete cursor operation because the table schema changed after the cursor was declared.";
    /// FETCH INTO with the wrong number of variables.
    fetch_variables() = 16924, 16, 1, "Cursorfetch: The number of variables declared in the INTO list must match that of selected columns.";
    /// Cursor variable without a cursor.
    cursor_unallocated(name) = 16950, 16, 2, "The variable '{name}' does not currently have a cursor allocated to it.";
    /// Positioned update on nothing.
    cursor_no_row() = 16931, 16, 1, "There are no rows in the current fetch buffer.";
    /// Positioned update through a read-only cursor.
    cursor_read_only() = 16929, 16, 1, "The cursor is READ ONLY.";
    /// A cursor number that stands for no cursor.
    cursor_handle(procedure, handle) = 16909, 16, 1, "{procedure}: The cursor identifier value provided ({handle}) is not valid.";
    /// A parameter of the cursor procedures out of its range.
    cursor_parameter(procedure, parameter) = 16902, 16, 12, "{procedure}: The value of the parameter '{parameter}' is invalid.";
    /// Cursor procedure with too few parameters.
    cursor_parameters(procedure) = 16903, 16, 41, "{procedure} procedure called with incorrect number of parameters.";
    /// sp_cursor: ABSOLUTE alone.
    cursor_absolute() = 16904, 16, 1, "sp_cursor: optype: You can only specify ABSOLUTE in conjunction with DELETE or UPDATE.";
    /// sp_cursorfetch direction on a forward-only cursor.
    api_fetch_forward_only(direction) = 16911, 16, 1, "sp_cursorfetch: The fetch type {direction} cannot be used with forward only cursors.";
    /// sp_cursor on a row that was not fetched.
    cursor_not_in_buffer() = 16930, 16, 1, "The requested row is not in the fetch buffer.";
    /// Positioned change of a row that another has changed.
    cursor_optimistic() = 16934, 16, 1, "Optimistic concurrency check failed. The row was modified outside of this cursor.";
    /// The statement of a cursor is no query.
    cursor_statement(procedure) = 16938, 16, 1, "{procedure}: The statement parameter can only be a batch or a stored procedure with a single select, without FOR BROWSE, COMPUTE BY, or variable assignments.";
    /// Positioned change of a row that is gone.
    cursor_row_gone() = 16947, 16, 1, "No rows were updated or deleted.";
    /// Not a cursor: information.
    cursor_direct() = 16954, 10, 1, "Executing SQL directly; no cursor.";
    /// None of the kinds of cursor that the client accepts.
    cursor_not_acceptable() = 16955, 16, 2, "Could not create an acceptable cursor.";
    /// The type of an undeclared parameter cannot be told.
    undeducible_parameter(name) = 11502, 16, 1, "The type for parameter '{name}' cannot be deduced in this context.";
    /// An undeclared parameter stands twice.
    undeclared_twice(name) = 11508, 16, 1, "The undeclared parameter '{name}' is used more than once in the batch being analyzed.";
    /// Metadata of dynamic SQL in a procedure.
    undescribed_dynamic_in(statement, procedure) = 11513, 16, 1, "The metadata could not be determined because statement '{statement}' in procedure '{procedure}' contains dynamic SQL.  Consider using the WITH RESULT SETS clause to explicitly describe the result set.";
    /// Metadata of dynamic SQL.
    undescribed_dynamic(statement) = 11514, 16, 1, "The metadata could not be determined because statement '{statement}' contains dynamic SQL.  Consider using the WITH RESULT SETS clause to explicitly describe the result set.";
    /// Metadata of a statement over a temporary table in a procedure.
    undescribed_temporary_in(statement, procedure) = 11525, 16, 1, "The metadata could not be determined because statement '{statement}' in procedure '{procedure}' uses a temp table.";
    /// Metadata of a statement over a temporary table.
    undescribed_temporary(statement) = 11526, 16, 1, "The metadata could not be determined because statement '{statement}' uses a temp table.";
    /// No permission on an object.
    permission_denied(permission, object, database, schema) = 229, 14, 5, "The {permission} permission was denied on the object '{object}', database '{database}', schema '{schema}'.";
    /// No permission on a column.
    column_permission_denied(permission, column, object, database, schema) = 230, 14, 1, "The {permission} permission was denied on the column '{column}' of the object '{object}', database '{database}', schema '{schema}'.";
    /// Columns of what has none.
    columns_for_entity() = 1020, 15, 1, "Sub-entity lists (such as column or security expressions) cannot be specified for entity-level permissions.";
    /// Columns given twice.
    columns_after_object() = 1019, 15, 1, "Invalid column list after object name in GRANT/REVOKE statement.";
    /// No permission in a database.
    database_permission_denied(permission, database) = 262, 14, 1, "{permission} permission denied in database '{database}'.";
    /// SET SHOWPLAN with other statements.
    showplan_in_company() = 1067, 15, 2, "The SET SHOWPLAN statements must be the only statements in the batch.";
    /// No permission on the instance.
    server_permission_denied(permission) = 300, 14, 1, "{permission} permission was denied on object 'server', database 'master'.";
    /// The same, behind what names the permission.
    not_permitted() = 297, 16, 1, "The user does not have permission to perform this action.";
    /// No user for the login.
    no_access(login, database) = 916, 14, 1, "The server principal \"{login}\" is not able to access the database \"{database}\" under the current security context.";
    /// A principal that cannot be altered.
    cannot_alter_principal(verb, kind, name) = 15151, 16, 1, "Cannot {verb} the {kind} '{name}', because it does not exist or you do not have permission.";
    /// CREATE LOGIN of a name that is taken.
    server_principal_exists(name) = 15025, 16, 1, "The server principal '{name}' already exists.";
    /// A principal that is there already.
    principal_exists(name) = 15023, 16, 1, "User, group, or role '{name}' already exists in the current database.";
    /// A login that is not there.
    not_a_login(name) = 15007, 16, 1, "'{name}' is not a valid login or you do not have permission.";
    /// A login with a user of another name.
    login_has_user() = 15063, 16, 1, "The login already has an account under a different user name.";
    /// A special principal.
    special_principal(name) = 15405, 16, 1, "Cannot use the special principal '{name}'.";
    /// EXECUTE AS USER of nobody.
    cannot_execute_as_user(name) = 15517, 16, 1, "Cannot execute as the database principal because the principal \"{name}\" does not exist, this type of principal cannot be impersonated, or you do not have permission.";
    /// EXECUTE AS … WITH COOKIE in a module, which goes back by itself.
    cookie_in_module() = 15590, 16, 1, "Can only use the 'No Revert' or 'Cookie' options with the 'Execute As' statement at the adhoc or at the 'sp_executesql' level.";
    /// sp_setapprole of nobody, or with another password.
    no_application_role(name) = 15161, 16, 1, "Cannot set application role '{name}' because it does not exist or the password is incorrect.";
    /// sp_setapprole in a procedure.
    application_role_in_module() = 15422, 16, 1, "Application roles can only be activated at the ad hoc level.";
    /// sp_unsetapprole without the cookie of the last sp_setapprole.
    no_application_role_set() = 15592, 16, 1, "Cannot unset application role because none was set or the cookie is invalid.";
    /// REVERT without the cookie, or with another.
    cannot_revert() = 15591, 16, 1, "The current security context cannot be reverted using this statement. A cookie may or may not be needed with 'Revert' statement depending on how the context was set with 'Execute As' statement.";
    /// EXECUTE AS LOGIN of nobody.
    cannot_execute_as_login(name) = 15406, 16, 1, "Cannot execute as the server principal because the principal \"{name}\" does not exist, this type of principal cannot be impersonated, or you do not have permission.";
    /// A role with members cannot go.
    role_has_members() = 15144, 16, 1, "The role has members. It must be empty before it can be dropped.";
    /// A user that modules run as cannot go.
    principal_runs_modules() = 15136, 16, 1, "The database principal is set as the execution context of one or more procedures, functions, or event notifications and cannot be dropped.";
    /// A login that a trigger of the server runs as cannot go.
    login_runs_triggers() = 15186, 16, 1, "The server principal is set as the execution context of a trigger or event notification and cannot be dropped.";
    /// A principal that owns a schema cannot go.
    principal_owns_schema() = 15138, 16, 1, "The database principal owns a schema in the database, and cannot be dropped.";
    /// GRANT to those who need none.
    grant_to_special() = 4617, 16, 1, "Cannot grant, deny or revoke permissions to or from special roles.";
    /// GRANT to oneself or dbo.
    grant_to_owner() = 15403, 16, 1, "Cannot grant, deny, or revoke permissions to sa, dbo, entity owner, information_schema, sys, or yourself.";
    /// A permission that the class does not have.
    permission_class() = 102, 15, 1, "Incorrect permission for the class of securable.";
    /// GRANT by somebody who may not.
    grantor_without_permission() = 4613, 16, 1, "Grantor does not have GRANT permission.";
    /// ALTER DATABASE.
    cannot_alter_database(name) = 5011, 14, 9, "User does not have permission to alter database '{name}', the database does not exist, or the database is not in a state that allows access checks.";
    /// KILL.
    cannot_kill() = 6102, 14, 1, "User does not have permission to use the KILL statement.";
    /// DBCC.
    cannot_dbcc_object(user, command, object) = 2557, 14, 5, "User '{user}' does not have permission to run DBCC {command} for object '{object}'.";
    /// DBCC without its permission.
    cannot_dbcc(user, command) = 2571, 14, 3, "User '{user}' does not have permission to run DBCC {command}.";
    /// Cancelled statement.
    cancelled() = 3617, 16, 1, "The query was cancelled.";
    /// Unknown SET language and the like.
    unknown_option(name) = 195, 15, 5, "'{name}' is not a recognized SET option.";
    /// sp_configure: unknown option.
    no_configuration(name) = 15123, 16, 1, "The configuration option '{name}' does not exist, or it may be an advanced option.";
    /// sp_configure: out of range.
    configuration_range(value, name) = 15129, 16, 1, "'{value}' is not a valid value for configuration option '{name}'.";
    /// Kill of what is not there.
    no_process(id) = 6106, 16, 2, "Process ID {id} is not an active process ID.";
    /// Kill of oneself.
    kill_self() = 6104, 16, 1, "Cannot use KILL to kill your own process.";
    /// Session killed.
    killed() = 596, 21, 1, "Cannot continue the execution because the session is in the kill state.";
    /// Multi-part name with an unknown server.
    too_many_prefixes(name, most) = 117, 15, 1, "The object name '{name}' contains more than the maximum number of prefixes. The maximum is {most}.";
    /// A server that is not linked.
    no_linked_server(name) = 7202, 11, 2, "Could not find server '{name}' in sys.servers. Verify that the correct server name was specified. If necessary, execute the stored procedure sp_addlinkedserver to add the server to sys.servers.";
    /// Something of T-SQL that is not built yet.
    not_supported(what) = 40517, 16, 1, "{what} is not supported in this version of Evenkeel.";
    /// The database's log or files refuse work.
    database_unavailable(name, detail) = 9001, 21, 4, "The log for database '{name}' is not available. {detail}";
    /// Corruption found in data.
    corruption(detail) = 824, 24, 2, "Evenkeel detected a logical consistency-based I/O error: {detail}. This is a severe system-level error condition that threatens database integrity and must be corrected immediately.";
    /// Memory is out.
    out_of_memory() = 701, 17, 123, "There is insufficient system memory in resource pool 'default' to run this query.";
    /// Log is full.
    log_full(name) = 9002, 17, 2, "The transaction log for database '{name}' is full due to 'ACTIVE_TRANSACTION'.";
    /// Unique key violated by existing definitions of catalog metadata.
    catalog_corrupt(detail) = 211, 23, 51, "Possible schema corruption. Run DBCC CHECKCATALOG. {detail}";
    /// SET LANGUAGE with a name that no language has.
    no_language(name) = 2740, 16, 1, "SET LANGUAGE failed because '{name}' is not an official language name or a language alias on this SQL Server.";
    /// SET DATEFORMAT
    date_order(name) = 2741, 16, 1, "SET DATEFORMAT date order '{name}' is invalid.";
    /// SET LANGUAGE
    language_changed(name) = 5703, 0, 1, "Changed language setting to {name}.";
    /// CREATE LOGIN, ALTER LOGIN, sp_defaultlanguage
    unknown_language(name) = 15033, 16, 1, "'{name}' is not a valid official language name.";
    /// WITH RESULT SETS: more came than are wanted.
    more_result_sets(wanted) = 11535, 16, 1, "EXECUTE statement failed because its WITH RESULT SETS clause specified {wanted} result set(s), and the statement tried to send more result sets than this.";
    /// WITH RESULT SETS: fewer came.
    fewer_result_sets(wanted, sent) = 11536, 16, 1, "EXECUTE statement failed because its WITH RESULT SETS clause specified {wanted} result set(s), but the statement only sent {sent} result set(s) at run time.";
    /// WITH RESULT SETS: other columns came.
    result_set_columns(wanted, number, sent) = 11537, 16, 1, "EXECUTE statement failed because its WITH RESULT SETS clause specified {wanted} column(s) for result set number {number}, but the statement sent {sent} column(s) at run time.";
    /// WITH RESULT SETS: types that do not convert.
    result_set_type(wanted, column, number, sent) = 11538, 16, 1, "EXECUTE statement failed because its WITH RESULT SETS clause specified type '{wanted}' for column #{column} in result set #{number}, and the corresponding type sent at run time was '{sent}'; there is no conversion between the two types.";
    /// WITH RESULT SETS: NULL in a column without.
    result_set_null(column, number) = 11553, 16, 1, "EXECUTE statement failed because its WITH RESULT SETS clause specified a non-nullable type for column #{column} in result set #{number}, and the corresponding value sent at run time was null.";
    /// INSERT … OUTPUT … EXEC
    output_of_insert_exec() = 483, 16, 1, "The OUTPUT clause cannot be used in an INSERT...EXEC statement.";
    /// `disallow results from triggers`
    results_from_trigger() = 524, 16, 1, "A trigger returned a resultset and the server option 'disallow results from triggers' is true.";
    /// RECONFIGURE
    memory_bounds(least, most) = 5831, 16, 1, "Minimum server memory value ({least}) must be less than or equal to the maximum value ({most}).";
    /// CREATE LOGIN, ALTER LOGIN: DEFAULT_DATABASE
    no_default_database(name) = 15010, 16, 1, "The database '{name}' does not exist. Supply a valid database name. To see available databases, use sys.databases.";
    /// `PASSWORD = 0x… HASHED` of no known form.
    bad_parameter(name) = 15021, 16, 1, "Invalid value given for parameter {name}. Specify a valid parameter value.";
    /// A name with a backslash of what is no account of a domain.
    invalid_name(name) = 15006, 16, 1, "'{name}' is not a valid name because it contains invalid characters.";
    /// A password for a login whose domain says who it is.
    not_for_login(parameter, kind) = 15080, 16, 1, "Cannot use parameter {parameter} for a {kind} login.";
    /// A login of one account is not given to another.
    another_account() = 15098, 16, 1, "The name change cannot be performed because the SID of the new name does not match the old SID of the principal.";
    /// An account or group that its domain's directory has not.
    no_windows_account(name) = 15401, 11, 1, "Windows NT user or group '{name}' not found. Check the name again.";
    /// The directory does not answer; why is in the error log.
    windows_unanswered(name) = 15404, 16, 19, "Could not obtain information about Windows NT group/user '{name}', error code 0x54b.";
    /// CREATE LOGIN … FROM WINDOWS of what is not `DOMAIN\user`.
    not_a_windows_name(name) = 15407, 11, 1, "'{name}' is not a valid Windows NT name. Give the complete name: <domain\\username>.";
    /// ALTER USER … WITH LOGIN across the two kinds.
    another_kind_of_login() = 33017, 16, 1, "Cannot remap a user of one type to a login of a different type. For example, a SQL user must be mapped to a SQL login; it cannot be remapped to a Windows login.";
    /// ALTER USER … WITH LOGIN of the user of a certificate or key.
    cannot_remap() = 33016, 16, 1, "The user cannot be remapped to a login. Remapping can only be done for users that were mapped to Windows or SQL logins.";
    /// `sp_send_dbmail`: a query of somebody who is nobody outside of a database.
    no_mail_query(user) = 14631, 16, 1, "The current user ('{user}') either does not have permission to access the database specified in the parameter @execute_query_database or cannot impersonate the user specified in the parameter @execute_query_as. Only members of the sysadmin fixed server role and members of the db_owner fixed database role can impersonate another user.";
    /// CREATE LOGIN: SID
    bad_sid() = 15419, 16, 1, "Supplied parameter sid should be binary(16).";
    /// CREATE LOGIN: SID
    sid_in_use() = 15433, 16, 1, "Supplied parameter sid is in use.";
    /// SET with a value that the option does not take.
    option_of_set(name, value) = 1004, 15, 1, "Invalid value '{value}' for SET option {name}.";
    /// Metadata changed under a snapshot transaction.
    snapshot_metadata(database) = 3961, 16, 1, "Snapshot isolation transaction failed in database '{database}' because the object accessed by the statement has been modified by a DDL statement in another concurrent transaction since the start of this transaction. It is disallowed because the metadata is not versioned. A concurrent update to metadata can lead to inconsistency if mixed with snapshot isolation.";
    /// ON names a partition scheme that there is not, or a filegroup that is none.
    invalid_data_space(kind, name) = 1921, 16, 1, "Invalid {kind} '{name}' specified.";
    /// ON scheme(column).
    no_column_in_target(name) = 1911, 16, 1, "Column name '{name}' does not exist in the target table or view.";
    /// A unique index over several partitions could not be checked in one.
    partition_column_not_in_key(column, index) = 1908, 16, 1, "Column '{column}' is partitioning column of the index '{index}'. Partition columns for a unique index must be a subset of the index key.";
    /// ON scheme(a, b).
    partition_column_count(function, count) = 2726, 16, 1, "Partition function '{function}' uses {count} columns which does not match with the number of partition columns used to partition the table or index.";
    /// CREATE PARTITION FUNCTION pf (int, int).
    partition_parameters() = 7703, 16, 1, "Can not create RANGE partition function with multiple parameter types.";
    /// CREATE PARTITION FUNCTION pf (text).
    partition_type(name) = 7704, 16, 1, "The type '{name}' is not valid for this operation.";
    /// A boundary value of another kind.
    partition_value_type(ordinal) = 7705, 16, 1, "Could not implicitly convert range values type specified at ordinal {ordinal} to partition function parameter type.";
    /// DROP PARTITION FUNCTION.
    partition_function_in_use(name) = 7706, 16, 1, "Partition function '{name}' is being used by one or more partition schemes.";
    /// Fewer filegroups than partitions.
    partition_filegroups(function, scheme) = 7707, 16, 1, "The associated partition function '{function}' generates more partitions than there are file groups mentioned in the scheme '{scheme}'.";
    /// CREATE PARTITION FUNCTION.
    partition_values_equal(first, second) = 7708, 16, 1, "Duplicate range boundary values are not allowed in partition function boundary values list. Partition boundary values at ordinal {first} and {second} are equal.";
    /// CREATE PARTITION FUNCTION, information.
    partition_values_unsorted(name) = 7709, 10, 1, "Warning: Range value list for partition function '{name}' is not sorted by value. Mapping of partitions to filegroups during CREATE PARTITION SCHEME will use the sorted boundary values if the function '{name}' is referenced in CREATE PARTITION SCHEME.";
    /// ALTER PARTITION SCHEME, information.
    no_next_used(scheme) = 7710, 10, 1, "Warning: The partition scheme '{scheme}' does not have any next used filegroup. Partition scheme has not been changed.";
    /// CREATE PARTITION SCHEME, information.
    next_used(scheme, filegroup) = 7712, 10, 1, "Partition scheme '{scheme}' has been created successfully. '{filegroup}' is marked as the next used filegroup in partition scheme '{scheme}'.";
    /// CREATE PARTITION SCHEME, information.
    filegroups_ignored(count) = 7713, 10, 1, "{count} filegroups specified after the next used filegroup are ignored.";
    /// SPLIT RANGE ().
    partition_value_missing() = 7714, 16, 1, "Partition range value is missing.";
    /// MERGE RANGE.
    partition_value_unknown() = 7715, 16, 1, "The specified partition range value could not be found.";
    /// DROP PARTITION SCHEME.
    partition_scheme_in_use(name) = 7717, 16, 1, "The partition scheme \"{name}\" is currently being used to partition one or more tables.";
    /// More than 15,000.
    too_many_partitions(most) = 7719, 16, 1, "CREATE/ALTER partition function failed as only a maximum of {most} partitions can be created.";
    /// A boundary value that is too long.
    partition_value_truncated(ordinal) = 7720, 16, 1, "Data truncated when converting range values to the partition function parameter type. The range value at ordinal {ordinal} requires data truncation.";
    /// SPLIT RANGE at a boundary.
    partition_value_known(ordinal) = 7721, 16, 1, "Duplicate range boundary values are not allowed in partition function boundary values list. The boundary value being added is already present at ordinal {ordinal} of the boundary value list.";
    /// A number that is none of the table's partitions.
    no_such_partition(number, kind, name, count) = 7722, 16, 2, "Invalid partition number {number} specified for {kind} '{name}', partition number can range from 1 to {count}.";
    /// ALL TO (a, b).
    one_filegroup_for_all() = 7723, 16, 1, "Only a single filegroup can be specified while creating partition scheme using option ALL to specify all the filegroups.";
    /// A computed column.
    partition_column_computed(column, table) = 7724, 16, 1, "Computed column cannot be used as a partition key if it is not persisted. Partition key column '{column}' in table '{table}' is not persisted.";
    /// The column is of another type than the function's parameter.
    partition_column_type(column, ty, function, wanted) = 7726, 16, 1, "Partition column '{column}' has data type {ty} which is different from the partition function '{function}' parameter data type {wanted}.";
    /// The column is of another collation than the function's parameter.
    partition_column_collation(column, function) = 7727, 16, 1, "Collation of partition column '{column}' does not match collation of corresponding parameter in partition function '{function}'.";
    /// PARTITIONS (3 TO 1).
    partition_range_backwards(first, last) = 7728, 16, 1, "Invalid partition range: {first} TO {last}. Lower bound must not be greater than upper bound.";
    /// A partition of a table that has none.
    not_partitioned(statement, kind, name) = 7729, 16, 1, "Cannot specify partition number in the {statement} statement as the {kind} '{name}' is not partitioned.";
    /// TRUNCATE TABLE … WITH (PARTITIONS (…)).
    truncate_unaligned(index, table, function) = 3756, 16, 1, "TRUNCATE TABLE statement failed. Index '{index}' is not partitioned, but table '{table}' uses partition function '{function}'. Index and table must use an equivalent partition function.";
    /// ALTER TABLE … SWITCH of a partitioned table.
    switch_unaligned(table, index) = 7733, 16, 4, "'ALTER TABLE SWITCH' statement failed. The table '{table}' is partitioned while index '{index}' is not partitioned.";
    /// ALTER TABLE … SWITCH of a partitioned table.
    switch_without_partition(table) = 4911, 16, 2, "Cannot specify a partitioned table without partition number in ALTER TABLE SWITCH statement. The table '{table}' is partitioned.";
    /// ALTER TABLE … SWITCH PARTITION 99.
    no_switched_partition(number, table) = 4950, 16, 1, "ALTER TABLE SWITCH statement failed because partition number {number} does not exist in table '{table}'.";
    /// ALTER INDEX … REBUILD PARTITION = 99.
    no_altered_partition(what, number, kind, name) = 7730, 16, 1, "Alter {what} statement failed because partition number {number} does not exist in {kind} '{name}'.";
    /// ALTER INDEX … REBUILD PARTITION = 1 of one that is not partitioned.
    altered_not_partitioned(what, kind, name) = 7735, 16, 1, "Cannot specify partition number in alter {what} statement to rebuild or reorganize a partition of {kind} '{name}' as {kind} is not partitioned.";
    /// Only members of sysadmin may.
    no_permission(what) = 15247, 16, 1, "User does not have permission to perform this action. {what}";
}

/// 3621: follows the error of a data change that is undone while its batch goes on.
#[must_use]
pub fn statement_terminated(line: u32, procedure: Option<&str>) -> E {
    let mut message = SqlError::new(3621, 0, 0, "The statement has been terminated.");
    message.line = line;
    message.procedure = procedure.map(str::to_owned);
    message
}

/// Error 443: a function's statement that acts beyond it.
#[must_use]
pub fn side_effect(what: impl std::fmt::Display, state: u8) -> E {
    let text = format!("Invalid use of a side-effecting operator '{what}' within a function.");
    SqlError::new(443, 16, state, text)
}

/// An error about a type (2716, 2750) that says of which column, parameter or variable it is, from 1.
#[must_use]
pub fn numbered(mut e: E, number: impl std::fmt::Display) -> E {
    if matches!(e.number, 2716 | 2750) {
        e.message = e.message.replacen("#1:", &format!("#{number}:"), 1);
    }
    e
}

/// Sets line and procedure where they are not yet known.
#[must_use]
pub fn located(mut error: E, line: u32, procedure: Option<&str>) -> E {
    if error.line == 0 {
        error.line = line;
        if error.procedure.is_none() {
            error.procedure = procedure.map(str::to_owned);
        }
    }
    error
}
