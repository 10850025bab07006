//! The product's errors of distributed transactions, and of killing them.

use crate::errors::error_functions;
use keel_types::SqlError;

type E = Box<SqlError>;

error_functions! {
    /// KILL of a distributed transaction that is not there.
    no_uow(uow) = 6110, 16, 1, "The distributed transaction with UOW {uow} does not exist.";
    /// KILL of one that a session is just committing.
    uow_in_use(uow) = 6114, 16, 1, "Distributed transaction with UOW {uow} is being used by another user. KILL command failed.";
    /// KILL of a prepared one without WITH.
    uow_prepared(uow) = 6113, 16, 1, "The distributed transaction associated with UOW {uow} is in PREPARE state. Use KILL UOW WITH COMMIT/ROLLBACK syntax to kill the transaction instead.";
    /// KILL … WITH COMMIT or ROLLBACK of one that is not prepared.
    uow_not_prepared(uow) = 6118, 16, 1, "The distributed transaction associated with UOW {uow} is not in PREPARED state. Use KILL UOW to kill the transaction instead.";
    /// KILL of one that a session works in.
    uow_has_session(uow) = 6117, 16, 1, "There is a connection associated with the distributed transaction with UOW {uow}. First, kill the connection using KILL SPID syntax.";
    /// KILL inside a transaction.
    kill_in_transaction() = 6115, 16, 1, "KILL command cannot be used inside user transactions.";
    /// KILL … WITH STATUSONLY of what does not roll back.
    no_rollback_of_process(id) = 6120, 16, 1, "Status report cannot be obtained. Rollback operation for Process ID {id} is not in progress.";
    /// The same of a distributed transaction.
    no_rollback_of_uow(uow) = 6121, 16, 1, "Status report cannot be obtained. Rollback operation for UOW {uow} is not in progress.";
    /// A branch that a session works in already.
    context_in_use() = 3910, 16, 2, "Transaction context in use by another session.";
    /// The connection is to work in a transaction that is not there.
    bad_cookie() = 8504, 20, 1, "The import buffer for this transaction is not valid.";
    /// It cannot begin to work in it.
    enlist_failed(why) = 8510, 16, 1, "Enlist operation failed: {why}. SQL Server could not register with Microsoft Distributed Transaction Coordinator (MS DTC) as a resource manager for this transaction. The transaction may have been stopped by the client or the resource manager.";
    /// COMMIT in a transaction that somebody else decides about.
    commit_by_client() = 8519, 16, 1, "Current MS DTC transaction must be committed by remote client.";
    /// PREPARE of a transaction that cannot wait for its decision.
    prepare_with_changes(database) = 8523, 16, 1, "PREPARE of MS DTC transaction failed: the transaction has changed tables of database '{database}' whose changes are tracked or captured, and is rolled back.";
    /// A session whose distributed transaction is over.
    distributed_completed() = 8525, 16, 1, "Distributed transaction completed. Either enlist this session in a new transaction or the NULL transaction.";
}
