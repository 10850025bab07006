//! The product's errors about event sessions.

use crate::errors::error_functions;
use keel_types::SqlError;

type E = Box<SqlError>;

error_functions! {
    /// A target that cannot begin.
    not_initialized(kind, name, why) = 25602, 17, 22, "The {kind}, \"{name}\", encountered a configuration error during initialization. Object cannot be added to the event session. {why}";
    /// An event, action or target of no known name.
    unknown_object(kind, name) = 25623, 16, 1, "The {kind} name, \"{name}\", is invalid, or the object could not be found";
    /// An event or target that the session has already.
    already_there(kind, name) = 25625, 16, 1, "The {kind}, \"{name}\", already exists in the event session. Object cannot be added to the event session.";
    /// Twice in one statement.
    twice(kind, name) = 25626, 16, 1, "The {kind}, \"{name}\", was specified multiple times.";
    /// SET of an attribute that the event or target does not have.
    no_attribute(kind, name, attribute) = 25629, 16, 1, "For {kind}, \"{name}\", the customizable attribute, \"{attribute}\", does not exist.";
    /// A comparator with a value of another type.
    mismatching_types(kind, name) = 25630, 16, 1, "The predicate expression bound to {kind} ,\"{name}\", has mismatching types.";
    /// A name that is taken.
    exists(name) = 25631, 16, 1, "The event session, \"{name}\", already exists.  Choose a unique name for the event session.";
    /// A value that an attribute cannot have.
    invalid_parameter(kind, name, parameter, why) = 25641, 16, 0, "For {kind}, \"{name}\", the parameter \"{parameter}\" passed is invalid. {why}";
    /// What has to be set is not.
    mandatory(kind, name) = 25642, 16, 1, "Mandatory customizable attributes are missing for {kind}, \"{name}\".";
    /// SET of the same attribute twice.
    attribute_twice(kind, name, attribute) = 25650, 16, 1, "For {kind}, \"{name}\" the customizable attribute, \"{attribute}\", was specified multiple times.";
    /// A value of another type.
    attribute_type(kind, name, attribute, ty) = 25651, 16, 1, "For {kind}, \"{name}\", the value specified for customizable attribute, \"{attribute}\", did not match the expected type, \"{ty}\".";
    /// DROP EVENT or DROP TARGET of what is not there.
    not_in_session(kind, name) = 25653, 16, 1, "The {kind}, \"{name}\", does not exist in the event session. Object cannot be dropped from the event session.";
    /// Two options of one name.
    option_twice(name) = 25702, 16, 1, "The event session option, \"{name}\", is set more than once. Remove the duplicate session option and re-issue the statement.";
    /// A value that an option cannot have, or no such option.
    option_value(name) = 25703, 16, 1, "The event session option, \"{name}\", has an invalid value. Correct the value and re-issue the statement.";
    /// STATE = STOP of one that does not run.
    already_stopped() = 25704, 16, 1, "The event session has already been stopped.";
    /// STATE = START of one that runs.
    already_started() = 25705, 16, 1, "The event session has already been started.";
    /// A column, source or comparator of no known name.
    not_found(kind, name) = 25706, 16, 8, "The {kind}, \"{name}\", could not be found.";
    /// WITH options of a session that runs.
    option_while_running(name) = 25707, 16, 1, "Event session option \"{name}\" cannot be changed while the session is running. Stop the event session before changing this session option.";
    /// A value that is no constant of its type.
    predicate_value(name, source) = 25713, 16, 23, "The value specified for event, \"{name}\", predicate source, \"{source}\", is invalid.";
    /// An operator that the type does not have.
    predicate_operator(event, operator, ty, source) = 25715, 16, 1, "The predicate on event \"{event}\" is invalid. Operator '{operator}' is not defined for type \"{ty}\", predicate source: \"{source}\".";
    /// A file that cannot be read.
    cannot_read(why, file) = 25717, 16, 1, "The operating system returned error {why} while reading from the file '{file}'.";
    /// No file of that name, or none of this form.
    no_file(name) = 25718, 16, 3, "The log file name \"{name}\" is invalid. Verify that the file exists and that the SQL Server service account has access to it.";
    /// One of two parameters that belong together.
    file_and_offset() = 25719, 16, 1, "Initial file name and initial offset must be specified as a pair. Please correct the parameters and retry your query.";
    /// An event session of a database.
    of_database() = 40517, 16, 1, "CREATE EVENT SESSION … ON DATABASE is not supported in this version of Evenkeel.";
}

/// ALTER or DROP of a session that is not there, or not for the caller.
pub fn no_session(verb: &str, name: &str) -> E {
    let text = format!(
        "Cannot {verb} the event session '{name}', because it does not exist or you do not have permission."
    );
    SqlError::new(15_151, 16, 1, text)
}

/// CREATE without ALTER ANY EVENT SESSION.
pub fn no_permission() -> E {
    SqlError::new(15_247, 16, 1, "User does not have permission to perform this action.")
}
