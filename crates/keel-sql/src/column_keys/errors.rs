//! The product's errors about keys of columns and encrypted columns.

use crate::errors::error_functions;
use keel_types::SqlError;

type E = Box<SqlError>;

error_functions! {
    /// A key of that name is there.
    key_exists(name) = 2714, 16, 6, "There is already an object named '{name}' in the database.";
    /// ALTER … DROP VALUE of the last one.
    last_value() = 33275, 16, 1, "The encrypted value for this column encryption key cannot be dropped. Each column encryption key must have at least one encrypted value.";
    /// A type that is not encrypted.
    type_not_encrypted(column, ty) = 33280, 16, 1, "Cannot create or alter encrypted column '{column}' because data type '{ty}' is not supported for encryption.";
    /// Foreign key between columns that are encrypted otherwise.
    other_scheme(referenced, referencing, key) = 33281, 16, 1, "Column '{referenced}' has a different encryption scheme than referencing column '{referencing}' in foreign key '{key}'.";
    /// A key of a randomized column.
    randomized_key(table, column) = 33282, 16, 2, "Column '{table}.{column}' is encrypted using a randomized encryption type and is therefore not valid for use as a key column in a constraint, index, or statistics.";
    /// IDENTITY, MASKED, ROWGUIDCOL and the like.
    clause_not_encrypted(clause) = 33283, 16, 1, "'{clause}' clause is unsupported for encrypted columns.";
    /// A default.
    default_not_encrypted(table, column) = 33285, 16, 1, "Cannot set default constraint on encrypted column '{table}.{column}'. Default constraints are unsupported on encrypted columns.";
    /// A type of users.
    user_type_not_encrypted(column) = 33286, 16, 1, "Cannot encrypt column '{column}', because it is of a user-defined type.";
    /// DROP COLUMN ENCRYPTION KEY.
    key_in_use(key, table, column) = 33287, 16, 1, "Cannot drop column encryption key '{key}' because the key is referenced by column '{table}.{column}'.";
    /// A third value.
    too_many_values() = 33288, 16, 1, "The encrypted value for the column encryption key cannot be added. There can be no more than two encrypted values for each column encryption key. Drop an exisiting encrypted value before adding the new one.";
    /// Text that is compared otherwise than by its code points.
    not_bin2(column) = 33289, 16, 38, "Cannot create or alter encrypted column '{column}'. Character strings that do not use a *_BIN2 collation cannot be encrypted using deterministic encryption.";
    /// ALTER … DROP VALUE that is not there.
    no_value(master) = 33290, 16, 1, "There is no column encryption key value associated with the column master key '{master}'.";
    /// A second value of one master key.
    value_there(master) = 33291, 16, 1, "There is already a column encryption key value associated with the column master key '{master}'.";
    /// ALGORITHM
    no_algorithm(name) = 33292, 16, 1, "The encryption algorithm '{name}' is not supported. Please specify a valid encryption algorithm.";
    /// No such key, or not the caller's business.
    no_key(kind, name) = 33293, 16, 1, "Cannot find the {kind} \"{name}\" because it does not exist or you do not have permissions.";
    /// SELECT INTO another database.
    key_of_other_database(table) = 33296, 16, 1, "Cannot create table '{table}' since it references a column encryption key from a different database.";
    /// An empty value.
    empty_value(what) = 33297, 16, 1, "Cannot create {what}. The {what} cannot be empty.";
    /// DROP COLUMN MASTER KEY.
    master_key_in_use(master, key) = 33287, 16, 1, "Cannot drop column master key '{master}' because the key is referenced by column encryption key '{key}'.";
}
