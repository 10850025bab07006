//! The product's errors about Service Broker, and what it says of messages that wait.

use crate::errors::error_functions;
use keel_types::SqlError;

type E = Box<SqlError>;

error_functions! {
    /// DROP of what others use.
    bound(kind, name, by) = 3716, 16, 1, "The {kind} '{name}' cannot be dropped because it is bound to one or more {by}.";
    /// One of those that every database has.
    system_object() = 9663, 16, 1, "The system object cannot be modified.";
    /// A message type twice in a contract.
    message_type_twice(name) = 8403, 16, 1, "The message type '{name}' is specified more than once. Remove the duplicate message type.";
    /// A contract twice in a service.
    contract_twice(name) = 8404, 16, 1, "The service contract '{name}' is specified more than once. Remove the duplicate service contract.";
    /// A contract that no conversation could begin by.
    nothing_by_initiator(name) = 8492, 16, 1, "The service contract '{name}' must have at least one message SENT BY INITIATOR or ANY.";
    /// ALTER SERVICE that says nothing.
    nothing_altered(name) = 8493, 16, 1, "The alter of service '{name}' must change the queue or at least one contract.";
    /// LIFETIME NULL.
    lifetime_null(from, to) = 8406, 16, 1, "The dialog lifetime can not be NULL. Specify a valid dialog lifetime value from {from} to {to}.";
    /// A timer behind the end of the conversation.
    timer_beyond_lifetime() = 8410, 16, 1, "The conversation timer cannot be set beyond the conversation's lifetime.";
    /// LIFETIME that is none.
    lifetime_range(value, from, to) = 8411, 16, 1, "The dialog lifetime value of {value} is outside the allowable range of {from} to {to}. Specify a valid dialog lifetime value.";
    /// A name of a service that is too long.
    service_name(name) = 8412, 16, 1, "The syntax of the service name '{name}' is invalid.";
    /// A broker instance that is too long.
    broker_instance(name) = 8413, 16, 1, "The syntax of the broker instance '{name}' is invalid. The specified broker instance is too long, the maximum size is 256 bytes.";
    /// Handle NULL.
    no_handle() = 8418, 16, 1, "The conversation handle is missing. Specify a conversation handle.";
    /// END … WITH ERROR, one of both NULL.
    error_incomplete() = 8419, 16, 1, "Both the error code and the description must be provided for END CONVERSATION WITH ERROR. Neither value can be NULL.";
    /// Group NULL.
    no_group() = 8420, 16, 1, "The conversation group is missing. Specify a conversation group.";
    /// TO SERVICE NULL.
    no_service_name() = 8421, 16, 1, "The service name is missing. Specify a service name.";
    /// A service that is not there.
    no_service(name) = 8423, 16, 1, "The service \"{name}\" is not found.";
    /// A contract that is not there.
    no_contract(name) = 8425, 16, 1, "The service contract '{name}' is not found.";
    /// A conversation that is not there.
    unknown_handle(handle) = 8426, 16, 1, "The conversation handle \"{handle}\" is not found.";
    /// END of one that is over.
    not_to_end(state) = 8427, 16, 1, "The conversation endpoint is not in a valid state for END CONVERSATION. The current endpoint state is '{state}'.";
    /// A message type that is not there.
    no_message_type(name) = 8428, 16, 1, "The message type \"{name}\" is not found.";
    /// SEND on one that the other end has left.
    not_to_send(state) = 8429, 16, 1, "The conversation endpoint is not in a valid state for SEND. The current endpoint state is '{state}'.";
    /// A body that is not what its type says.
    invalid_body() = 8430, 16, 1, "The message body failed the configured validation.";
    /// A type of another contract.
    not_in_contract(name) = 8431, 16, 1, "The message type '{name}' is not part of the service contract.";
    /// The initiator sends what the target may.
    sent_by_target(name) = 8432, 16, 1, "The message cannot be sent because the message type '{name}' is marked SENT BY TARGET in the contract, however this service is an Initiator.";
    /// A body NULL.
    null_body() = 8433, 16, 1, "The message body may not be NULL. A zero-length UNICODE or binary string is allowed.";
    /// The target sends what the initiator may.
    sent_by_initiator(name) = 8434, 16, 1, "The message cannot be sent because the message type '{name}' is marked SENT BY INTITIATOR in the contract, however this service is a Target.";
    /// A group that is not there.
    unknown_group(group) = 8436, 16, 1, "The conversation group \"{group}\" is not found.";
    /// MOVE of one that is over.
    not_to_move(state) = 8438, 16, 1, "The conversation endpoint is not in a valid state for MOVE CONVERSATION. The current endpoint state is '{state}'.";
    /// MOVE to a group of another service.
    wrong_group(group) = 8439, 16, 1, "The destination conversation group '{group}' is invalid.";
    /// Assignments beside columns.
    assigns_and_returns() = 8447, 16, 1, "A RECEIVE statement that assigns a value to a variable must not be combined with data retrieval operations.";
    /// Assignments and INTO.
    assigns_into() = 8450, 16, 1, "Assignments in the RECEIVE projection are not allowed in conjunction with the INTO clause.";
    /// A timer of one that is over.
    not_to_time(state) = 8458, 16, 1, "The conversation endpoint is not in a valid state for BEGIN CONVERSATION TIMER. The current endpoint state is '{state}'.";
    /// The other end is gone.
    other_end_gone() = 8462, 16, 1, "The remote conversation endpoint is either in a state where no more messages can be exchanged, or it has been dropped.";
    /// A name with a schema.
    prefixes(kind, name) = 9609, 16, 1, "The {kind} name '{name}' contains more than the maximum number of prefixes. The maximum is 0.";
    /// Related to another service's.
    other_service(name, own, by, id) = 9610, 16, 1, "The service '{name}' in the FROM SERVICE clause must match the service '{own}' referenced by {by} = '{id}'.";
    /// EXECUTE AS nobody.
    no_user(name) = 9611, 16, 1, "Cannot find the specified user '{name}'.";
    /// ACTIVATION without EXECUTE AS.
    no_activation_user(queue) = 9613, 16, 1, "The queue '{queue}' cannot be activated because the activation user is not specified.";
    /// ACTIVATION without a procedure.
    no_procedure(queue) = 9614, 16, 1, "The queue '{queue}' cannot be activated because the activation stored procedure is either not specified or is invalid.";
    /// A queue that is switched off.
    queue_disabled(queue) = 9617, 16, 1, "The service queue \"{queue}\" is currently disabled.";
    /// ACTIVATION of a function.
    not_a_procedure(name) = 9620, 16, 1, "The activation stored procedure '{name}' is invalid. Functions are not allowed.";
    /// ACTIVATION of a procedure that takes something.
    has_parameters(name) = 9653, 16, 1, "The signature of activation stored procedure '{name}' is invalid. Parameters are not allowed.";
    /// A route without what it needs.
    route_instance_alone(route) = 9662, 16, 1, "Cannot specify BROKER_INSTANCE without SERVICE_NAME in route \"{route}\".";
    /// A route to nowhere.
    route_address(what, route) = 9744, 16, 1, "The {what} of route \"{route}\" is not a valid address.";
    /// Two brokers with the same id.
    same_broker(database) = 9772, 16, 1, "The Service Broker in database \"{database}\" cannot be enabled because there is already an enabled Service Broker with the same ID.";
}

/// What `transmission_status` says.
pub(super) mod status {
    use std::fmt::Display;

    pub fn disabled_here() -> String {
        "The broker is disabled in the sender's database.".to_owned()
    }

    pub fn busy() -> String {
        "Target queue is busy; message(s) queued for delivery.".to_owned()
    }

    pub fn no_route() -> String {
        "No route matches the destination service name for this conversation. Create a route to the destination service name for messages in this conversation to be delivered.".to_owned()
    }

    pub fn no_service() -> String {
        "The target service name could not be found. Ensure that the service name is specified correctly and/or the routing information has been supplied.".to_owned()
    }

    pub fn no_broker() -> String {
        "Could not find the target broker in the local SQL Server instance.".to_owned()
    }

    pub fn disabled_there() -> String {
        "The Service Broker in the target database is unavailable: 'Service Broker is disabled'.".to_owned()
    }

    pub fn queue_disabled(queue: impl Display) -> String {
        format!(
            "This message could not be delivered because the destination queue has been disabled. Queue ID: {queue}."
        )
    }

    pub fn not_permitted(user: impl Display, database: impl Display, service: impl Display) -> String {
        format!(
            "This message could not be delivered because the user with ID {user} in database ID {database} does not have permission to send to the service. Service name: '{service}'."
        )
    }

    pub fn not_known(login: impl Display, database: impl Display) -> String {
        format!(
            "An exception occurred while enqueueing a message in the target queue. Error: 916, State: 3. The server principal \"{login}\" is not able to access the database \"{database}\" under the current security context."
        )
    }

    pub fn told_to_end() -> String {
        "Service Broker received an END CONVERSATION message on this conversation. Service Broker will not transmit the message; it will be held until the application ends the conversation.".to_owned()
    }
}
