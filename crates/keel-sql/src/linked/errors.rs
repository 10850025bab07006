//! The product's errors of linked servers.

use crate::errors::error_functions;
use keel_types::SqlError;

type E = Box<SqlError>;

error_functions! {
    /// Neither DATA ACCESS nor RPC, which is asked for.
    not_configured(server, what) = 7411, 16, 1, "Server '{server}' is not configured for {what}.";
    /// No login for whoever asks.
    no_mapping() = 7416, 16, 1, "Access to the remote server is denied because no login-mapping exists.";
    /// A login passes on its own password only when it is the one that has logged in.
    not_trusted() = 15274, 16, 1, "Access to the remote server is denied because the current security context is not trusted.";
    /// What the provider said, before the error that comes of it.
    returned_message(provider, server, text) = 7412, 10, 1, "OLE DB provider \"{provider}\" for linked server \"{server}\" returned message \"{text}\".";
    /// There is no connection.
    cannot_initialize(provider, server) = 7303, 16, 1, "Cannot initialize the data source object of OLE DB provider \"{provider}\" for linked server \"{server}\".";
    /// The connection is lost, or the answer makes no sense.
    provider_failed(provider, server, text) = 7399, 16, 1, "The OLE DB provider \"{provider}\" for linked server \"{server}\" reported an error. {text}";
    /// A table that is not there.
    no_remote_table(provider, server, table) = 7314, 16, 1, "The OLE DB provider \"{provider}\" for linked server \"{server}\" does not contain the table \"{table}\". The table either does not exist or the current user does not have permissions on that table.";
    /// A text without columns.
    no_columns(text, provider, server) = 7357, 16, 2, "Cannot process the object \"{text}\". The OLE DB provider \"{provider}\" for linked server \"{server}\" indicates that either the object has no columns or the current user does not have permissions on that object.";
    /// A column is not what it was when the statement was compiled.
    inconsistent(provider, server, column) = 7356, 16, 1, "The OLE DB provider \"{provider}\" for linked server \"{server}\" supplied inconsistent metadata for a column. The column \"{column}\" was reported with another type at execution time than at compile time.";
    /// Types that do not travel.
    clr_columns() = 7325, 16, 1, "Objects exposing columns with CLR types are not allowed in distributed queries. Please use a pass-through query to access remote object.";
    /// A change inside a transaction that the other server cannot be part of.
    no_distributed_transaction(provider, server) = 7391, 16, 2, "The operation could not be performed because OLE DB provider \"{provider}\" for linked server \"{server}\" was unable to begin a distributed transaction.";
    /// A change inside a transaction that goes on after errors.
    no_nested_transaction(provider, server) = 7395, 16, 2, "Unable to start a nested transaction for OLE DB provider \"{provider}\" for linked server \"{server}\". A nested transaction was required because the XACT_ABORT option was set to OFF.";
    /// A prepared part of the transaction could not be had.
    distributed_cancelled() = 1206, 18, 118, "The Microsoft Distributed Transaction Coordinator (MS DTC) has cancelled the distributed transaction.";
    /// SAVE TRANSACTION.
    save_in_distributed() = 627, 16, 0, "Cannot use SAVE TRANSACTION within a distributed transaction.";
    /// Rows that cannot be told apart.
    no_unique_key(table) = 7320, 16, 2, "The remote table \"{table}\" has no unique index by which rows to be changed could be found again.";
    /// OUTPUT of a change elsewhere.
    remote_output() = 405, 16, 1, "A remote table cannot be used as a DML target in a statement which includes an OUTPUT clause or a nested DML statement.";
    /// MERGE.
    remote_merge() = 5315, 16, 1, "The target of a MERGE statement cannot be a remote table, a remote view, or a view over remote tables.";
    /// OPENROWSET and OPENDATASOURCE, when the instance does not want them.
    ad_hoc_blocked() = 15281, 16, 1, "SQL Server blocked access to STATEMENT 'OpenRowset/OpenDatasource' of component 'Ad Hoc Distributed Queries' because this component is turned off as part of the security configuration for this server. A system administrator can enable the use of 'Ad Hoc Distributed Queries' by using sp_configure. For more information about enabling 'Ad Hoc Distributed Queries', search for 'Ad Hoc Distributed Queries' in SQL Server Books Online.";
    /// A value that cannot be what the text says it is.
    bad_provider_string(what) = 7399, 16, 1, "The OLE DB provider cannot use the connection string: {what}.";
    /// No such server in a procedure.
    no_server(name) = 15015, 16, 1, "The server '{name}' does not exist. Use sp_helpserver to show available servers.";
    /// A second one of that name.
    server_exists(name) = 15028, 16, 1, "The server '{name}' already exists.";
    /// sp_dropserver without droplogins.
    server_has_logins(name) = 15190, 16, 1, "There are still remote logins or linked logins for the server '{name}'.";
    /// sp_droplinkedsrvlogin of what is not there.
    no_linked_login(remote, local, server) = 15185, 16, 1, "There is no remote user '{remote}' mapped to local user '{local}' from the remote server '{server}'.";
    /// SQL Server as the product takes the name as the address.
    no_properties_for(product) = 15428, 16, 1, "You cannot specify a provider or any properties for product '{product}'.";
    /// Another product without a provider.
    provider_for_product(product) = 15427, 16, 1, "You must specify a provider name for unknown product '{product}'.";
    /// Properties without a provider.
    provider_missing() = 15426, 16, 1, "You must specify a provider name with this set of properties.";
    /// The instance itself cannot be dropped.
    server_is_local() = 20582, 16, 1, "The local server cannot be dropped.";
    /// What changes the instance at once.
    in_transaction(procedure) = 15002, 16, 1, "The procedure '{procedure}' cannot be executed within a transaction.";
    /// EXEC … AT with more markers than arguments.
    wrong_markers(markers, arguments) = 7215, 17, 1, "Could not execute statement on remote server: it has {markers} parameter markers for {arguments} arguments.";
}
