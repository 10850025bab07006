//! The product's errors about query notifications.

use crate::errors::error_functions;
use keel_types::SqlError;

type E = Box<SqlError>;

error_functions! {
    /// What the client says of it is too long.
    message_invalid() = 9202, 16, 1, "The query notification subscription message is invalid.";
    /// A timeout that is none.
    timeout_invalid() = 9204, 16, 1, "The query notification subscription timeout is invalid. The allowed range is 1 through 2147483647.";
    /// SUBSCRIBE QUERY NOTIFICATIONS is missing.
    may_not_subscribe(user, database) = 9205, 16, 1, "User \"{user}\" does not have permission to request query notification subscriptions on database \"{database}\".";
    /// KILL of what is not there.
    not_there(id) = 9206, 16, 1, "The query notification subscription \"{id}\" cannot be deleted because it does not exist or it has already been fired.";
    /// Options that are too long.
    options_too_long(length, most) = 9225, 16, 1, "The notification options identifier string has {length} characters. The maximum allowed length is {most} characters.";
    /// A quote that does not end.
    unmatched_quote() = 9227, 16, 1, "Unmatched quote in notification options identifier string.";
    /// Nothing where an option's name should be.
    name_expected() = 9228, 16, 1, "Name expected in notification options identifier option.";
    /// An option that is none.
    unknown_option(name) = 9229, 16, 1, "Unknown option name '{name}' present in notification options identifier. The following are valid option names: 'Service', 'Broker Instance', 'Local Database'. Option names cannot be quoted.";
    /// An option twice.
    option_twice(name) = 9230, 16, 1, "Option '{name}' was specified multiple times in the notification options identifier.";
    /// No = behind a name.
    equal_expected(found) = 9231, 16, 1, "An equal (=) character was expected after the option name. Found '{found}' instead.";
    /// No ; behind a value.
    semicolon_expected(found) = 9232, 16, 1, "A semicolon (;) must be use to separate options in a notification options identifier. String '{found}' was found following an option.";
    /// No service.
    service_missing() = 9233, 16, 1, "The option 'Service' must be specified in the notification options identifier.";
    /// A broker and a database.
    both_places() = 9234, 16, 1, "The options 'Broker Instance' and 'Local Database' were both specified in the notification options identifier.";
    /// An option without a value.
    value_missing(name) = 9235, 16, 1, "Value missing for option '{name}' in notification options identifier.";
    /// A database that is not there.
    not_a_database(name) = 9236, 16, 1, "Database {name} is not a valid local database.";
}
