//! The product's errors about audits.

use crate::errors::error_functions;
use keel_types::SqlError;

type E = Box<SqlError>;

error_functions! {
    /// A word that is none here.
    syntax_near(near) = 102, 15, 1, "Incorrect syntax near '{near}'.";
    /// MAXSIZE below 2 MB.
    size_too_small() = 33070, 16, 1, "The specified maximum size limit for the audit log file is less than the minimum value allowed. The maximum size limit must be at least 2 MB.";
    /// ALTER or DROP of what is on.
    must_be_disabled(what) = 33071, 16, 1, "This command requires {what} to be disabled. Disable the {what} and rerun this command.";
    /// FILEPATH that is none.
    bad_path() = 33072, 16, 1, "The audit log file path is invalid.";
    /// An audit that is not there, or not for the caller.
    not_found(what, name) = 33073, 16, 1, "Cannot find {what} '{name}' or you do not have the required permissions.";
    /// Statements about the server outside of master.
    only_in_master(verb, what) = 33074, 16, 1, "Cannot {verb} a {what} from a user database. This operation must be performed in the master database.";
    /// MAXSIZE that no file system has.
    size_too_large() = 33076, 16, 1, "The specified maximum size limit is greater than the maximum value allowed. The maximum size limit must be less than 16777215 TB.";
    /// RESERVE_DISK_SPACE without MAXSIZE.
    reserve_of_unlimited() = 33077, 16, 1, "RESERVE_DISK_SPACE cannot be specified when setting MAXSIZE = UNLIMITED. Either reduce MAXSIZE or do not specify RESERVE_DISK_SPACE.";
    /// Files that cannot be read.
    cannot_read(pattern) = 33201, 17, 1, "An error occurred in reading from the audit file or file-pattern: '{pattern}'. The SQL service account may not have Read permission on the files, or the pattern may be returning one or more corrupt files.";
    /// A record that is lost.
    cannot_write(file) = 33202, 17, 1, "SQL Server Audit could not write to file '{file}'.";
    /// A file that cannot be made.
    cannot_create(file) = 33206, 17, 1, "SQL Server Audit failed to create the audit file '{file}'. Make sure that the disk is not full and that the SQL Server service account has the required permissions to create and write to the file.";
    /// What stops the server.
    stopped(name) = 33219, 10, 1, "The server was stopped because SQL Server Audit '{name}' is configured to shut down on failure. To troubleshoot this issue, use the -m flag (Single User Mode) to bypass Audit-generated shutdowns when the server is starting.";
    /// Actions of the server in a database.
    server_actions_in_master() = 33220, 16, 1, "Audit actions at the server scope can only be granted when the current database is master.";
    /// An object of another database.
    other_database() = 33221, 16, 1, "You can only create audit actions on objects in the current database.";
    /// An audit that does not start or stop.
    failed_to(name, verb) = 33222, 10, 1, "Audit '{name}' failed to {verb} . For more information, see the SQL Server error log. You can also query sys.dm_os_ring_buffers where ring_buffer_type = 'RING_BUFFER_XE_LOG'.";
    /// STATE together with another option.
    state_alone() = 33223, 16, 1, "ALTER SERVER AUDIT requires the STATE option to be specified without using any other options.";
    /// No such files.
    no_files() = 33224, 16, 1, "The specified pattern did not return any files or does not represent a valid file share. Verify the pattern parameter and rerun the command.";
    /// No such place in the files.
    no_place() = 33225, 16, 1, "The specified values for initial_file_name and audit_record_offset do not represent a valid location within the audit file set. Verify the file name and offset location, and then rerun the command.";
    /// A torn tail.
    skipping(file, offset) = 33226, 10, 1, "The fn_get_audit_file function is skipping records from '{file}' at offset {offset}.";
    /// QUEUE_DELAY from 1 to 999.
    bad_queue_delay() = 33227, 16, 1, "The specified value for QUEUE_DELAY is not valid. Specify either 0 or 1000 and higher.";
    /// ON_FAILURE = SHUTDOWN without SHUTDOWN.
    may_not_shut_down() = 33228, 16, 1, "You cannot configure SQL Server Audit to shutdown the server because you do not have the permission to shut down the server. Contact your system administrator.";
    /// A specification that is on.
    specification_enabled() = 33229, 16, 1, "Changes to an audit specification must be done while the audit specification is disabled.";
    /// A second one for the audit.
    specification_exists(audit) = 33230, 16, 1, "An audit specification for audit '{audit}' already exists.";
    /// ON of another class.
    bad_class() = 33231, 16, 1, "You can only specify securable classes DATABASE, SCHEMA, or OBJECT in AUDIT SPECIFICATION statements.";
    /// Both options.
    files_or_rollover() = 33238, 16, 1, "MAX_FILES and MAX_ROLLOVER_FILES options cannot be specified toghether.";
    /// ON_FAILURE = FAIL_OPERATION.
    operation_failed() = 33239, 16, 1, "An error occurred while auditing this operation. Fix the error in the audit and then retry this operation.";
}

/// A name that is taken.
pub fn exists(what: &str, name: &str) -> E {
    SqlError::new(15_530, 16, 1, format!("The {what} with name \"{name}\" already exists."))
}

/// ALTER or DROP of what is not there, or not for the caller.
pub fn no_such(verb: &str, what: &str, name: &str) -> E {
    let text = format!(
        "Cannot {verb} the {what} '{name}', because it does not exist or you do not have permission."
    );
    SqlError::new(15_151, 16, 1, text)
}

/// CREATE without the permission.
pub fn no_permission() -> E {
    SqlError::new(15_247, 16, 1, "User does not have permission to perform this action.")
}
