//! What the resource governor refuses.

use keel_types::SqlError;

type E = Box<SqlError>;

use crate::errors::error_functions as errors;

errors! {
    /// ALTER RESOURCE GOVERNOR by who may not.
    no_permission() = 10902, 16, 1, "User does not have permission to alter the resource governor configuration.";
    /// A classifier that is not there.
    no_classifier(name) = 10903, 16, 1, "User-defined function '{name}' does not exist in master database, or the user does not have permission to access it.";
    /// A classifier in a schema that is not there.
    no_classifier_schema(name) = 10904, 16, 1, "The specified schema name '{name}' for classifier user-defined function either does not exist, or the user does not have permission to use it.";
    /// RECONFIGURE while sessions are in groups that would go or move.
    sessions_in_groups() = 10905, 16, 1, "Resource governor configuration failed. There are active sessions in workload groups being dropped or moved to different resource pools. Disconnect all active sessions in the affected workload groups and try again.";
    /// A function that cannot classify.
    not_a_classifier(schema, name) = 10907, 16, 1, "The object '{schema}'.'{name}' is not a valid resource governor classifier user-defined function. A valid classifier user-defined function must be schema-bound, return sysname, and have no parameters.";
    /// A minimum above its maximum.
    greater(attribute, value, other, limit) = 10908, 16, 1, "Attribute '{attribute}' with value of {value} is greater than attribute '{other}' with value of {limit}.";
    /// A cap below the minimum.
    less(attribute, value, other, limit) = 10909, 16, 1, "Attribute '{attribute}' with value of {value} is less than attribute '{other}' with value of {limit}.";
    /// One pool more than there may be.
    too_many_pools(limit) = 10910, 16, 1, "The resource pool cannot be created. The maximum number of resource pools cannot exceed current limit of {limit} including predefined resource pools.";
    /// All minima together above what there is.
    minima_exceed(attribute, value) = 10911, 16, 1, "The operation could not be completed. The specified '{attribute}' value, {value}, causes the sum of minimums on all resource pools to exceed 100 percent. Reduce the value or modify other resource pools so that the sum is less than 100.";
    /// A pool that is not there.
    no_pool(name) = 10912, 16, 1, "Requested operation cannot be performed because the resource pool '{name}' does not exist.";
    /// DROP of what is always there.
    predefined_dropped(kind) = 10913, 16, 1, "The operation could not be completed. Dropping predefined {kind} is not allowed.";
    /// A group in the internal pool.
    in_internal_pool(verb, name) = 10914, 16, 1, "Users are not allowed to {verb} the workload group '{name}' in the 'internal' resource pool.";
    /// A name like that of a temporary object.
    temporary_name(kind, name) = 10915, 16, 1, "The name of the {kind} '{name}' cannot begin with # of ##.";
    /// ALTER of the internal ones.
    predefined_altered(name, kind) = 10916, 16, 1, "The operation could not be completed. Altering '{name}' {kind} is not allowed.";
    /// DROP of a pool that has groups.
    pool_has_groups(name, group) = 10917, 16, 1, "Cannot drop resource pool '{name}' because it contains workload group '{group}'. Drop or remove all workload groups using this resource pool before dropping it.";
    /// ALTER WORKLOAD GROUP that alters nothing.
    nothing_altered() = 10918, 16, 1, "ALTER WORKLOAD GROUP failed. Either a 'WITH' or 'USING' clause must be specified.";
    /// A name that is taken.
    exists(kind, name) = 10919, 16, 1, "Cannot create {kind} '{name}' because it already exists.";
    /// DROP or ALTER of the classifier.
    is_classifier(verb, name) = 10921, 16, 1, "Cannot {verb} user-defined function '{name}'. It is being used as a resource governor classifier.";
    /// The default group in another pool.
    default_group_moved() = 10922, 16, 1, "The 'default' workload group cannot be moved out of 'default' resource pool.";
    /// A number that an option does not take.
    bad_option(option, statement) = 153, 15, 1, "Invalid usage of the option {option} in the {statement} statement.";
    /// A scheduler or node that there is not.
    no_such_scheduler(what, number) = 5833, 16, 2, "The affinity mask specified does not fit this server: it has no {what} {number}.";
    /// A request has used more processor time than its group allows, and trace flag 2422 is on.
    cpu_time_exceeded(group) = 10961, 16, 1, "The request has been ended because it has used more processor time than REQUEST_MAX_CPU_TIME_SEC of workload group '{group}' allows.";
}
