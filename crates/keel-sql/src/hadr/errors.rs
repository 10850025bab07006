//! The product's errors about availability groups, endpoints and access to group databases: number, severity, state and
//! text, one function each. The server's adapter uses them too.

use crate::errors::error_functions;
use keel_types::SqlError;

type E = Box<SqlError>;

/// Number of [`unanswered`].
pub const UNANSWERED: i32 = 41149;

error_functions! {
    // Access to databases of a group.
    /// A secondary that may not be read, or does not move.
    not_accessible(database) = 976, 14, 1, "The target database, '{database}', is participating in an availability group and is currently not accessible for queries. Either data movement is suspended or the availability replica is not enabled for read access. To allow read-only access to this and other databases in the availability group, enable read access to one or more secondary availability replicas in the group.  For more information, see the ALTER AVAILABILITY GROUP statement in SQL Server Books Online.";
    /// A secondary for read-only intent, reached without it.
    read_intent_required(database) = 978, 14, 1, "The target database ('{database}') is in an availability group and is currently accessible for connections when the application intent is set to read only. For more information about application intent, see SQL Server Books Online.";
    /// Read-only intent at a primary that does not take it.
    read_intent_refused(database) = 979, 14, 1, "The target database ('{database}') is in an availability group and currently does not allow read only connections. For more information about application intent, see SQL Server Books Online.";
    /// Nowhere to route to.
    no_readable_secondary(database) = 982, 14, 1, "Unable to access the '{database}' database because no online secondary replicas are enabled for read-only access. Check the availability group configuration to verify that at least one secondary replica is configured for read-only access. Wait for an enabled replica to come online, and retry your read-only operation.";
    /// Neither primary nor secondary.
    resolving(database) = 983, 14, 1, "Unable to access availability database '{database}' because the database replica is not in the PRIMARY or SECONDARY role. Connections to an availability database is permitted only when the database replica is in the PRIMARY or SECONDARY role. Try the operation again later.";
    /// No quorum.
    no_quorum(database) = 988, 14, 1, "Unable to access database '{database}' because it lacks a quorum of nodes for high availability. Try the operation again later.";
    /// A database of a group cannot be renamed.
    rename_refused(database) = 957, 17, 1, "Database '{database}' is enabled for database mirroring or has joined an availability group. The name of the database cannot be changed.";
    /// A database of a group cannot be dropped.
    drop_refused(database) = 3752, 16, 1, "The database '{database}' is currently joined to an availability group.  Before you can drop the database, you need to remove it from the availability group.";
    /// An option that a member may not change.
    operation_refused(database) = 1468, 16, 1, "The operation cannot be performed on database \"{database}\" because it is involved in a database mirroring session or an availability group. Some operations are not allowed on a database that is participating in a database mirroring session or in an availability group.";
    /// A session's database went away under it.
    role_changed(database) = 35278, 16, 1, "Availability database '{database}', which is in the secondary role, is being restarted to resynchronize with the current primary database. This is an informational message only. No user action is required.";

    // The feature, and where statements may run.
    /// Stand-alone instance.
    feature_off() = 35221, 16, 1, "Could not process the operation. Always On Availability Groups replica manager is disabled on this instance of SQL Server. Enable Always On Availability Groups, by using the SQL Server Configuration Manager. Then, restart the SQL Server service, and retry the currently operation. For information about how to enable and disable Always On Availability Groups, see SQL Server Books Online.";
    /// Not in master.
    not_in_master() = 35208, 16, 1, "Availability-group DDL operations are permitted only when you are using the master database. Run the USE master command, and retry your availability-group DDL command.";
    /// No such group here.
    no_group(group) = 15151, 16, 1, "Cannot find the availability group '{group}', because it does not exist or you do not have permission.";
    /// The cluster has the group still.
    drop_incomplete(group) = 41108, 16, 1, "An error occurred while removing availability group '{group}'. The DROP AVAILABILITY GROUP command removed the availability group configuration from the local metadata. However, the attempt to remove this configuration from the cluster failed because no majority of its votes is heard. To remove the availability group configuration from the cluster, re-execute the command.";
    /// What was asked for may still happen.
    unanswered(group) = 41149, 16, 1, "Operation on availability group '{group}' was cancelled or timed out. It may still complete; check the state of the group.";
    /// No such group here, to whoever joins.
    no_group_to_join(group) = 41158, 16, 3, "Failed to join local availability replica to availability group '{group}'.  The operation encountered SQL Server error 47106 and has been rolled back.  Check the SQL Server error log for more details.  When the cause of the error has been resolved, retry the ALTER AVAILABILITY GROUP JOIN command.";
    /// A group of that name exists.
    group_exists(group) = 41042, 16, 1, "The availability group '{group}' already exists.  This error could be caused by a previous failed CREATE AVAILABILITY GROUP or DROP AVAILABILITY GROUP operation.  If the availability group name you specified is correct, try dropping the availability group and then retry CREATE AVAILABILITY GROUP operation.";
    /// Only on the primary.
    not_primary(group) = 41140, 16, 1, "Availability group '{group}' cannot process the ALTER AVAILABILITY GROUP command, because the local availability replica is not the primary replica.  Connect to the server instance that is currently hosting the primary replica of this availability group, and retry the ALTER AVAILABILITY GROUP command.";
    /// Only on the primary, for commands about one database.
    database_primary_only(database) = 35251, 16, 1, "This command can be run only on the primary replica. Connect to the server instance that is currently hosting the primary replica for database '{database}', and retry the command.";
    /// Only on a secondary, for commands about one database.
    database_secondary_only(database) = 35252, 16, 1, "The command can only be run on a secondary database. Connect to the correct secondary replica, and retry the command on database '{database}'.";
    /// JOIN or OFF on the primary.
    join_on_primary(database, group) = 35240, 16, 1, "Database '{database}' cannot be joined to or unjoined from availability group '{group}'. This operation is not supported on the primary replica of the availability group.";
    /// Joined already.
    already_joined(group) = 41145, 10, 1, "Cannot join database to availability group '{group}'. The database has already joined the availability group. This is an informational message. No user action is required.";
    /// The replica exists here.
    replica_exists(group) = 41106, 16, 1, "Cannot create an availability replica for availability group '{group}'.  An availability replica of the specified availability group already exists on this instance of SQL Server.  Verify that the specified availability group name is correct and unique, then retry the operation.  To remove the existing availability replica, run DROP AVAILABILITY GROUP command.";
    /// Nothing changed.
    unchanged(group) = 41185, 10, 1, "Replica option specified in ALTER AVAILABILITY GROUP '{group}' MODIFY DDL is same is cached availability group configuration.";
    /// FAILOVER where the primary is.
    already_primary(group) = 41122, 16, 1, "Cannot failover availability group '{group}' to this instance of SQL Server.  The local availability replica is already the primary replica of the availability group.  To failover this availability group to another instance of SQL Server, run the failover command on that instance of SQL Server.  If local instance of SQL Server is intended to host the primary replica of the availability group, then no action is required.";
    /// A failover runs already.
    failover_pending(group) = 41113, 16, 1, "Cannot failover availability group '{group}' to this instance of SQL Server because a failover command is already pending on the local replica of this availability group. Wait for the pending failover command to complete before issuing another command on the local replica of this availability group.";
    /// Not synchronized.
    not_ready(group) = 41142, 16, 34, "The availability replica for availability group '{group}' on this instance of SQL Server cannot become the primary replica. One or more databases are not synchronized or have not joined the availability group. If the availability replica uses the asynchronous-commit mode, consider performing a forced manual failover (with possible data loss). Otherwise, once all local secondary databases are joined and synchronized, you can perform a planned manual failover to this secondary replica (without data loss). For more information, see SQL Server Books Online.";
    /// The group is being dropped.
    being_dropped(group) = 41124, 16, 1, "Cannot perform the requested operation on availability group '{group}' because it is being dropped.";
    /// No route to the primary.
    primary_not_active() = 35250, 16, 7, "The connection to the primary replica is not active.  The command cannot be processed.";
    /// The failover did not come to an end.
    failover_failed(group) = 41104, 16, 5, "Failover of the availability group '{group}' to the local replica failed because the availability group resource did not come online due to a previous error. To identify that error, check the SQL Server error log and the Windows Server Failover Cluster logs.";

    // CREATE and ALTER AVAILABILITY GROUP.
    /// BACKUP_PRIORITY out of range.
    bad_backup_priority(server, group) = 35209, 16, 1, "The operation failed for availability replica '{server}' of availability group '{group}' because the backup priority value is outside the valid range. The valid range is between 0 and 100, inclusive. Set the backup priority to a value within this range, and retry the operation.";
    /// Unknown replica.
    no_replica(server, group) = 35210, 16, 1, "Failed to modify options for availability replica '{server}' in availability group '{group}'. The specified availability group does not contain an availability replica with specified name. Verify that availability group name and availability replica name are correct, then retry the operation.";
    /// AUTOMATIC with ASYNCHRONOUS_COMMIT.
    automatic_needs_synchronous(server) = 35211, 16, 1, "The operation is not allowed for availability replica '{server}'. The replica is configured for asynchronous-commit mode and automatic failover; automatic failover needs the synchronous-commit mode.";
    /// Too many synchronous replicas.
    too_many_synchronous(operation, most, group) = 35212, 16, 1, "The {operation} operation is not allowed by the current availability-group configuration.  This operation would exceed the maximum number of {most} synchronous-commit availability replicas in availability group '{group}'.  Change one of the existing synchronous-commit replicas to the asynchronous-commit availability mode, and retry the operation.";
    /// Too many automatic replicas.
    too_many_automatic(operation, most, group) = 35213, 16, 1, "The {operation} operation is not allowed by the current availability-group configuration.  This operation would exceed the maximum number of {most} automatic failover targets in availability group '{group}'.  Change one of the existing synchronous-commit replicas to the manual failover mode, and retry the operation.";
    /// SESSION_TIMEOUT too small.
    bad_session_timeout(operation, server) = 35214, 16, 1, "The {operation} operation failed for availability replica '{server}'.  The minimum value for session timeout is 5 seconds.  Retry the operation with a valid session-timeout value.";
    /// Too many replicas at ADD.
    too_many_replicas_add(server, group, most) = 35223, 16, 0, "Cannot add {server} availability replica(s) to availability group '{group}'.  The availability group already contains the maximum number of {most} availability replicas.  If you want to add a replica, first remove one.";
    /// FAILURE_CONDITION_LEVEL out of range.
    bad_failure_level() = 35228, 16, 1, "The attempt to set the failure condition level for the availability group failed. The specified level value is out of the valid range [1, 5]. Reenter the command specifying a valid failure condition level value.";
    /// HEALTH_CHECK_TIMEOUT out of range.
    bad_health_timeout() = 35229, 16, 1, "The attempt to set the health check timeout value for the availability group failed. The specified time-out value is out of the valid range [15000, 4294967295]. Reenter the command specifying a valid health check timeout value.";
    /// Bad server name.
    bad_server_name(server) = 35231, 16, 1, "The specified server instance name '{server}' is invalid.  Verify that the name is correct, and retry the operation.";
    /// Bad group name.
    bad_group_name(group) = 35230, 16, 1, "The specified computer name or availability group name '{group}' is invalid.  Verify that the name is correct, and retry the operation.";
    /// Bad endpoint URL.
    bad_endpoint_url(url) = 35232, 16, 1, "The specified endpoint URL '{url}' is invalid.  Reenter the command specifying the correct URL.  For information about specifying the endpoint URL for an availability replica, see SQL Server Books Online.";
    /// Too many replicas at CREATE.
    too_many_replicas(given, most) = 35233, 16, 0, "Cannot create an availability group containing {given} availability replica(s).  The maximum number of availability replicas in an availability group is {most}.  Reenter your CREATE AVAILABILITY GROUP command specifying fewer availability replicas.";
    /// Database twice.
    database_twice(database) = 35234, 16, 1, "Database name '{database}' was specified more than once.  Reenter the command, specifying each database name only once.";
    /// Server twice.
    server_twice(server) = 35235, 16, 1, "Availability replica name '{server}' was specified more than once.  Reenter the command, specifying each replica name only once.";
    /// ENDPOINT_URL missing.
    endpoint_url_missing(server) = 35236, 15, 1, "The endpoint URL was not specified for the availability replica hosted by server instance '{server}'.  Reenter the command, specifying the endpoint URL of this instance of SQL Server.";
    /// The local server is not among the replicas.
    local_server_missing() = 35237, 16, 1, "None of the specified replicas for availability group maps to the instance of SQL Server to which you are connected.  Reenter the command, specifying this server instance to host one of the replicas.  This replica will be the initial primary replica.";
    /// No such database.
    no_database(database) = 35238, 16, 1, "Database '{database}' cannot be added to availability group.  The database does not exist on this SQL Server instance.  Verify that the database name is correct and that the database exists, then retry the operation.";
    /// SUSPEND or RESUME of a stranger.
    suspend_refused(action, database) = 35239, 16, 1, "The ALTER DATABASE <database-name> SET HADR {action} statement failed on database '{database}' because the database is not participating in an availability group, or the availability group is not started. Verify that the database has joined an availability group that is online, and retry the operation.";
    /// Not joined.
    not_joined(operation, database) = 35242, 16, 16, "Cannot complete this ALTER DATABASE <database-name> SET HADR {operation} operation on database '{database}'.  The database is not joined to an availability group.  After the database has joined the availability group, retry the command.";
    /// In another group.
    in_other_group(database, group) = 35244, 16, 1, "Database '{database}' cannot be added to availability group '{group}'.  The database is currently joined to another availability group.  Verify that the database name is correct and that the database is not joined to an availability group, then retry the operation.";
    /// A system database.
    system_database(database) = 35249, 16, 1, "An attempt to add or join a system database, '{database}', to an availability group failed. Specify only user databases for this operation.";
    /// In the group already.
    database_in_group(database, group) = 35280, 16, 1, "Database '{database}' cannot be added to availability group '{group}'. The database is already joined to the specified availability group. Verify that the database name is correct and that the database is not joined to an availability group, then retry the operation.";
    /// Not in the group.
    database_not_in_group(database, group) = 35281, 16, 1, "Database '{database}' cannot be removed from availability group '{group}'. The database is not joined to the specified availability group. Verify that the database name and the availability group name are correct, then retry the operation.";
    /// Replica in the group already.
    replica_in_group(server, group) = 35282, 16, 1, "Availability replica '{server}' cannot be added to availability group '{group}'. The availability group already contains an availability replica with the specified name. Verify that the availability replica name and the availability group name are correct, then retry the operation.";
    /// Replica not in the group.
    replica_not_in_group(server, group) = 35283, 16, 1, "Availability replica '{server}' cannot be removed from availability group '{group}'. The availability group does not contain an availability replica with the specified name. Verify that the availability replica name is correct, then retry the operation.";
    /// The local replica is the primary.
    remove_local_replica(server, group) = 35284, 16, 1, "Availability replica '{server}' cannot be removed from availability group '{group}', because this replica is on the local instance of SQL Server.  If the local availability replica is a secondary replica, connect to the server instance that is currently hosting the primary replica, and re-run the command.";
    /// Join of a database that the group does not have.
    join_unknown_database(database, group) = 41132, 16, 1, "Cannot join database '{database}' to availability group '{group}'.  The specified database does not belong to the availability group.  Verify the names of the database and the availability group, and retry the command specifying the correct names.";
    /// Join of a database that is not here.
    join_missing_database(database, group) = 41148, 16, 1, "Cannot add or join database '{database}' to availability group '{group}'.  The database does not exist on the local instance of SQL Server.  Verify that the database name is correct and that the database exists, then retry the operation.";
    /// FAILOVER_MODE missing.
    failover_mode_missing(server) = 41197, 15, 1, "The FAILOVER_MODE option has not been specified for the replica '{server}'. Reenter the command, specifying a failover mode for the replica.";
    /// AVAILABILITY_MODE missing.
    availability_mode_missing(server) = 41198, 15, 1, "The AVAILABILITY_MODE option has not been specified for the replica '{server}'. Reenter the command, specifying an availability mode for the replica.";
    /// An edition's limit.
    modify_failed(server, group) = 41190, 16, 8, "Availability group '{group}' failed to process the ALTER AVAILABILITY GROUP command for availability replica '{server}'. The local availability replica is not in a state that could process the command.  Verify that the availability group is online and that the local availability replica is the primary replica, then retry the command.";

    // Eligibility of databases.
    /// Copy is not RESTORING.
    not_restoring(database) = 1464, 16, 1, "Database \"{database}\" is not in a recovering state which is required for a mirror database or secondary database. The remote database must be restored using WITH NORECOVERY.";
    /// Not FULL.
    not_full_recovery(database) = 1465, 16, 1, "Database \"{database}\" database is not in full recovery mode on each of the server instances. The full recovery model is required for a database to participate in database mirroring or in an availability group.";
    /// Read-only.
    database_is_read_only(database) = 1466, 16, 1, "Database \"{database}\" is read-only on one of the server instances which is incompatible with participating in database mirroring or in an availability group. Set the database to read-write mode, and retry the operation.";
    /// Not ONLINE.
    database_not_online(database) = 1467, 16, 1, "Database \"{database}\" database is in emergency or suspect mode on one of the partners and is incompatible with participating in database mirroring or in an availability group.";
    /// AUTO_CLOSE.
    auto_close(database) = 1469, 16, 1, "Database \"{database}\" is an auto-close database on one of the server instances which is incompatible with participating in database mirroring or in an availability group.";
    /// Log gap.
    log_gap(database) = 1478, 16, 211, "The mirror database, \"{database}\", has insufficient transaction log data to preserve the log backup chain of the principal database.  This may happen if a log backup from the principal database has not been taken or has not been restored on the mirror database.";
    /// SINGLE_USER.
    single_user(database) = 1488, 16, 1, "Database \"{database}\" is in single user mode which is incompatible with participating in database mirroring or in an availability group. Set database to multi-user mode, and retry the operation.";

    // Routing.
    /// Bad routing URL.
    bad_routing_url(url, server) = 19401, 16, 1, "The READ_ONLY_ROUTING_URL '{url}' specified for availability replica '{server}' is not valid. It does not follow the required format of 'TCP://system-address:port'. For information about the correct routing URL format, see the CREATE AVAILABILITY GROUP documentation in SQL Server Books Online.";
    /// Twice in a routing list.
    routing_twice(server, list) = 19402, 16, 1, "A duplicate availability replica '{server}' was specified in the READ_ONLY_ROUTING_LIST for availability replica '{list}'. Inspect the list of availability replicas that you specified in your command, and remove the duplicate replica name or names from the list. Then retry the command.";
    /// A stranger in a routing list.
    routing_unknown(server, list, group) = 19403, 16, 1, "The availability replica '{server}' specified in the READ_ONLY_ROUTING_LIST for availability replica '{list}' does not exist. Only availability replicas that belong to the specified availability group '{group}' can be added to this list. To get the names of availability replicas in a given availability group, select replica_server_name and name from sys.availability_replicas and sys.availability_groups. For more information, see SQL Server Books Online.";
    /// No URL to route to.
    routing_without_url(server, list) = 19404, 16, 1, "An availability replica '{server}' that is specified in the READ_ONLY_ROUTING_LIST for availability replica '{list}' does not have a value set for READ_ONLY_ROUTING_URL. Ensure a READ_ONLY_ROUTING_URL is set for each availability replica in the availability group. Specify a valid READ_ONLY_ROUTING_URL for each replica that you want to added to the READ_ONLY_ROUTING_LIST. If you are altering availability replicas of an existing availability group, you can get the names of availability replicas in a given availability group, select replica_server_name and name from sys.availability_replicas and sys.availability_groups. For more information, see SQL Server Books Online.";
    /// Bad read-write routing URL.
    bad_read_write_url(url, server) = 47120, 16, 1, "The READ_WRITE_ROUTING_URL '{url}' specified for availability replica '{server}' is not valid. It does not follow the required format of 'TCP://system-address:port'. For information about the correct routing URL format, see the CREATE AVAILABILITY GROUP documentation in SQL Server Books Online.";

    // Listeners.
    /// Bad IP address.
    bad_listener_ip(address) = 19483, 16, 1, "The format for the IP address, '{address}', is invalid. Please use a valid value for the IP address.";
    /// Bad port.
    bad_listener_port(port) = 19482, 16, 1, "The port number, {port}, that is specified is invalid. Valid port numbers range from 1 to 65535, inclusive. Select a port number in this range. If a port number is not provided, the default number 1433 will be used.";
    /// Duplicate IP address.
    listener_ip_twice(address) = 19484, 16, 1, "The specified IP Address, '{address}', is duplicated in the list of IP addresses. Each IP address included in the listener configuration must be unique. Change the statement to remove or replace the duplicated values.";
    /// Bad DNS name.
    bad_listener_name(name) = 19485, 16, 1, "The specified DNS name, '{name}', is invalid. The length of the DNS name needs to be between 1 and 63 characters, inclusive. Change the value of the DNS name to meet this requirement.";
    /// One per group.
    second_listener(group, name) = 19477, 16, 1, "The availability group '{group}' already has a listener with DNS name '{name}'. Availability groups can have only one listener. Use the existing listener, or drop the existing listener and create a new one.";
    /// PORT is what it is.
    listener_has_port(name, group, port) = 19468, 16, 1, "The listener with DNS name '{name}' for the availability group '{group}' is already listening on the TCP port {port}. Please choose a different TCP port for the listener. If there is a problem with the listener, try restarting the listener to correct the problem.";
    /// No such listener.
    no_listener(name, group) = 19469, 16, 1, "The specified listener with DNS name, '{name}', does not exist for the Availability Group '{group}'. Use an existing listener, or create a new listener.";
    /// Stored, and somebody else has the port here.
    listener_port_in_use(address, port) = 19486, 16, 1, "The configuration changes to the availability group listener were completed, but the TCP provider of the instance of SQL Server failed to listen on the specified port [{address}:{port}]. This TCP port is already in use. Reconfigure the availability group listener, specifying an available TCP port. For information about altering an availability group listener, see the \"ALTER AVAILABILITY GROUP (Transact-SQL)\" topic in SQL Server Books Online.";
    /// DHCP listeners get no further addresses.
    listener_dhcp(name) = 19460, 16, 1, "The availability group listener with DNS name '{name}' is configured to use DHCP. For listeners with this configuration, IP addresses cannot be added through SQL Server. To add IP addresses to the listener, drop the DHCP listener and create it again configured to use static IP addresses.";

    // Later features, and others' options.
    /// Seeding has no grant.
    seeding_not_granted(group) = 19506, 16, 1, "Local availability replica for availability group '{group}' has not been granted permission to create databases, but has a SEEDING_MODE of AUTOMATIC. Use ALTER AVAILABILITY GROUP ... GRANT CREATE ANY DATABASE to allow the creation of databases seeded by the primary availability replica.";
    /// RSSTC is not 0.
    synchronized_secondaries_required(group) = 19530, 16, 1, "The availability mode of a replica of availability group '{group}' cannot be set to ASYNCHRONOUS_COMMIT while REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT is not 0.";
    /// RSSTC out of range.
    bad_required_secondaries(value, most) = 15129, 16, 2, "'{value}' is not a valid value for REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT. The valid range is between 0 and {most}, the number of secondary replicas.";
    /// JOIN with the wrong type.
    cluster_type_mismatch(group) = 47100, 16, 1, "The cluster type of availability group '{group}' doesn't match its primary configuration. Verify that the specified availability group cluster type is correct, then retry the operation.";
    /// NONE: MANUAL only.
    none_needs_manual(server) = 47101, 16, 1, "The cluster type of availability group only supports MANUAL failover mode. Verify the failover mode of availability replica '{server}', then retry the operation.";
    /// EXTERNAL: EXTERNAL only.
    external_needs_external(server) = 47102, 16, 1, "The cluster type of availability group only supports EXTERNAL failover mode. Verify the failover mode of availability replica '{server}', then retry the operation.";
    /// WSFC: AUTOMATIC or MANUAL.
    wsfc_needs_automatic_or_manual(server) = 47103, 16, 1, "The cluster type of availability group only supports AUTOMATIC and MANUAL failover mode. Verify the failover mode of availability replica '{server}', then retry the operation.";
    /// EXTERNAL: the cluster fails over.
    use_cluster_tools(group) = 47104, 16, 1, "This operation cannot be performed on the availability group '{group}' because it has EXTERNAL cluster type. Use the cluster management tools to perform the operation.";
    /// The primary did not answer a JOIN.
    join_timeout(group) = 47106, 16, 3, "Cannot join availability group '{group}'. Download configuration timeout. Please check primary configuration, network connectivity and firewall setup, then retry the operation.";
    /// Configuration-only replicas have one alterable option.
    configuration_only_options(server) = 47112, 16, 1, "Replica '{server}' is a configuration only replica. Only its SESSION_TIMEOUT can be changed.";
    /// A second configuration-only replica.
    second_configuration_only(group) = 47107, 16, 1, "Availability group '{group}' can have only one configuration only replica.";
    /// The primary cannot be one.
    configuration_only_primary(server) = 47109, 16, 1, "Availability replica '{server}' cannot be the primary: it is a configuration only replica.";
    /// A configuration-only replica takes no databases.
    configuration_only_grant(group) = 47111, 16, 1, "The local replica of availability group '{group}' is a configuration only replica and cannot be granted permission to create databases.";
    /// A replica does not become one, or stop being one.
    configuration_only_fixed(server) = 47113, 16, 1, "The availability mode of replica '{server}' cannot be changed to or from CONFIGURATION_ONLY.";
    /// Only EXTERNAL has them.
    configuration_only_needs_external(server) = 47114, 16, 1, "Availability replica '{server}' cannot be configuration only: the cluster type of the availability group must be EXTERNAL or NONE.";
    /// The write lease is the external cluster's.
    write_lease_needs_external() = 47115, 16, 1, "WRITE_LEASE_VALIDITY can be used only with an availability group of cluster type EXTERNAL.";
    /// The group was made without a lease.
    external_lease_off(group) = 47116, 16, 1, "The external lease cannot be set on availability group '{group}'. External Lease updates are not enabled for this availability group.";
    /// RSSTC with a configuration-only replica.
    configuration_only_required(group) = 47108, 16, 1, "Availability group '{group}' has a configuration only replica: it must have two synchronous-commit replicas, and REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT must be 0.";
    /// NONE: no FAILOVER.
    none_supports_force(group) = 47122, 16, 1, "Cannot failover an availability replica for availability group '{group}' since it has CLUSTER_TYPE = NONE. Only force failover is supported in this version of SQL Server.";
    /// DISTRIBUTED with something else.
    distributed_conflict() = 19497, 16, 1, "Conflicting options: DISTRIBUTED cannot be combined with any other option of an availability group.";
    /// AVAILABILITY GROUP ON without it.
    distributed_unsaid() = 19498, 16, 1, "To create a distributed availability group, specify the DISTRIBUTED option.";
    /// LISTENER_URL is bad or missing.
    bad_listener_url(url) = 19499, 16, 1, "The specified listener URL '{url}' is invalid. It must be of the form 'TCP://system-address:port', with the port of the database mirroring endpoint.";
    /// Neither member is here.
    no_local_member() = 19501, 16, 1, "None of the specified availability groups exists on this instance. One of the members of a distributed availability group must be here.";
    /// It is here already.
    distributed_exists(group) = 19502, 16, 1, "Cannot create a distributed availability replica for availability group '{group}'. There is one on this instance already.";
    /// The local group takes its databases from another one.
    distributed_as_secondary(group) = 19503, 16, 1, "Cannot create a distributed availability replica for availability group '{group}'. The local availability group takes part in another distributed availability group as its secondary.";
    /// FAILOVER.
    distributed_force_only(group) = 19504, 16, 1, "Cannot fail over the distributed availability group '{group}' by FAILOVER. Use SET (ROLE = SECONDARY) on the global primary and FORCE_FAILOVER_ALLOW_DATA_LOSS on the forwarder.";
    /// One distributed group for each group.
    distributed_on_same(group) = 19507, 16, 1, "Cannot create a distributed availability replica for availability group '{group}'. The local availability group is a member of a distributed availability group already, or both members are on this instance.";
    /// MODIFY of a stranger.
    no_distributed_member(member, group) = 19508, 16, 1, "ALTER AVAILABILITY GROUP MODIFY AVAILABILITY GROUP failed. Availability group '{member}' is no member of the distributed availability group '{group}'.";
    /// The name is that of another group.
    distributed_name_taken(group) = 19509, 16, 1, "Cannot create the distributed availability group '{group}'. An availability group of the same name exists.";
    /// There is none.
    no_distributed(group) = 19510, 16, 1, "The distributed availability group '{group}' does not exist.";
    /// JOIN of a group with databases.
    distributed_not_empty(group, local) = 19511, 16, 1, "Cannot join distributed availability group '{group}'. The local availability group '{local}' contains one or more databases. Remove them, or join with an empty availability group.";
    /// MODIFY AVAILABILITY GROUP of another kind of group.
    not_distributed(group) = 19512, 16, 1, "The requested operation applies only to distributed availability groups, and '{group}' is none.";
    /// What only other groups do.
    distributed_refused(group) = 19512, 16, 2, "The requested operation is not one of a distributed availability group, and '{group}' is one. Use the availability groups that are its members.";
    /// BASIC.
    distributed_basic(group) = 19513, 16, 1, "Cannot create a distributed availability replica for availability group '{group}'. A distributed availability group cannot be built on a basic availability group.";
    /// FAILOVER_MODE.
    distributed_manual_only(member) = 35277, 16, 1, "The failover mode of availability group '{member}' cannot be automatic: a distributed availability group supports FAILOVER_MODE = MANUAL only.";
    /// CONTAINED.
    distributed_contained(group) = 47129, 16, 1, "Cannot create a distributed availability replica for availability group '{group}'. A contained availability group cannot be a member of a distributed one.";
    /// SET (ROLE = SECONDARY), and something would be lost.
    forwarder_not_ready(group) = 41142, 16, 35, "The primary role of distributed availability group '{group}' was not given up: the forwarder does not hold every database to its end. Set both members to SYNCHRONOUS_COMMIT, and repeat the command when is_failover_ready in sys.dm_hadr_database_replica_cluster_states is 1 for both.";
    /// LISTENER_URL of a replica.
    listener_url_of_replica() = 19512, 16, 3, "LISTENER_URL is an option of the members of a distributed availability group.";
    /// CONTAINED and BASIC.
    contained_basic() = 47123, 16, 1, "A contained availability group has at least three databases and cannot be a basic one.";
    /// REUSE_SYSTEM_DATABASES by itself.
    reuse_needs_contained() = 47124, 16, 1, "REUSE_SYSTEM_DATABASES and AUTOSEEDING_SYSTEM_DATABASES can be used only with CONTAINED.";
    /// They exclude each other.
    reuse_or_seed() = 47150, 16, 1, "REUSE_SYSTEM_DATABASES and AUTOSEEDING_SYSTEM_DATABASES cannot be used together.";
    /// REUSE_SYSTEM_DATABASES, and there is none.
    no_system_database(database) = 47125, 16, 1, "The contained availability group cannot be created: its system database '{database}' is not there to be used again.";
    /// A database of that name is there.
    system_database_exists(database) = 47126, 16, 1, "The contained availability group cannot be created: a database '{database}' exists already. Drop it, or use REUSE_SYSTEM_DATABASES if it is a contained system database.";
    /// REMOVE DATABASE of one.
    remove_system_database(database) = 47135, 16, 1, "The contained system database '{database}' cannot be removed from its availability group.";
    /// The names are a contained group's.
    name_of_system_database(database, group) = 47136, 16, 1, "The database '{database}' cannot be added to availability group '{group}': the name is that of a contained system database.";
    /// sp_start_job elsewhere.
    jobs_on_primary() = 47149, 16, 1, "Jobs of a contained availability group can run on its primary replica only.";
    /// Statements about the instance.
    not_in_context(statement, group) = 47143, 16, 1, "{statement} cannot be executed in the context of contained availability group '{group}'. Connect to the instance.";
    /// BASIC.
    basic_limits() = 41199, 16, 2, "A basic availability group has one database and two replicas, and its secondary replica takes no connections.";

    // Database mirroring.
    /// The mirror takes no sessions.
    mirror_not_open(database) = 954, 14, 1, "The database \"{database}\" cannot be opened. It is acting as a mirror database.";
    /// Neither the partner nor the witness is seen.
    mirroring_no_quorum(database) = 955, 14, 1, "Database {database} is enabled for Database Mirroring, but the database lacks quorum: the database cannot be opened.  Check the partner and witness connections if configured.";
    /// Not decided yet.
    mirroring_not_synchronized(database) = 956, 14, 1, "Database {database} is enabled for Database Mirroring, but has not yet synchronized with its partner.  Try the operation again later.";
    /// Something is on its way already.
    mirroring_busy() = 1404, 16, 1, "The command failed because the database mirror is busy. Reissue the command later.";
    /// A session exists.
    mirroring_exists(database) = 1405, 16, 1, "The database \"{database}\" is already enabled for database mirroring.";
    /// Two databases of one name.
    mirror_unrelated(database) = 1407, 16, 1, "The remote copy of database \"{database}\" is not related to the local copy of the database.";
    /// The mirror's log does not reach.
    mirror_not_rolled_forward(database) = 1412, 16, 1, "The remote copy of database \"{database}\" has not been rolled forward to a point in time that is encompassed in the local copy of the database log.";
    /// No session.
    mirroring_off(database) = 1416, 16, 1, "Database \"{database}\" is not configured for database mirroring.";
    /// The same at the other end.
    mirroring_off_there(database) = 1416, 16, 2, "Database \"{database}\" is not configured for database mirroring.";
    /// Nobody is at an address.
    partner_unreachable(url) = 1418, 16, 1, "The server network address \"{url}\" can not be reached or does not exist. Check the network address name and that the ports for the local and remote endpoints are operational.";
    /// FAILOVER loses nothing.
    mirror_not_caught_up(database) = 1422, 16, 1, "The mirror server instance is not caught up to the recent changes to database \"{database}\". Unable to fail over.";
    /// A witness comes to a whole session.
    witness_needs_all() = 1426, 16, 1, "To issue ALTER DATABASE SET WITNESS, all three server instances must be interconnected, and the mirror database must be caught up. When these conditions are met, reissue the command.";
    /// The witness is somebody else.
    witness_is_partner() = 1429, 16, 1, "The witness server instance name must be distinct from both of the server instances that manage the database. The ALTER DATABASE SET WITNESS command failed.";
    /// Alone.
    partner_and_witness_away(database) = 1431, 16, 1, "Neither the partner nor the witness server instance for database \"{database}\" is available. Reissue the command when at least one of the instances becomes available.";
    /// Both partners are needed.
    partners_not_connected(database) = 1447, 16, 1, "ALTER DATABASE \"{database}\" command cannot be executed until both partner server instances are up, running, and connected.  Start the partner and reissue the command.";
    /// Not an address.
    bad_partner_address() = 1449, 16, 1, "ALTER DATABASE command failed due to an invalid server connection string.";
    /// The partner is somebody else.
    partner_is_local() = 1452, 16, 1, "The partner server instance name must be distinct from the server instance that manages the database. The ALTER DATABASE SET PARTNER command failed.";
    /// Not a mirror that lost its principal.
    cannot_force_service(database) = 1455, 16, 1, "The database mirroring service cannot be forced for database \"{database}\" because the database is not in the correct state to become the principal database.";
    /// A server was to do something and did not.
    partner_not_told(server) = 1456, 16, 1, "The ALTER DATABASE command could not be sent to the remote server instance '{server}'. The database mirroring configuration was not changed. Verify that the server is connected, and try again.";
    /// The principal decides.
    principal_only(database) = 1470, 16, 1, "The alter database for this partner config values may only be initiated on the current principal server for database \"{database}\".";
    /// TIMEOUT is too long.
    mirroring_timeout_too_long(value) = 1476, 16, 1, "Database mirroring timeout value {value} exceeds the maximum value 32767.";
    /// FAILOVER needs SAFETY FULL.
    safety_not_full(database) = 1477, 16, 1, "The database mirroring safety level must be FULL to manually failover database \"{database}\".  Set safety level to FULL and retry.";
    /// No endpoint.
    mirroring_transport_off() = 1486, 16, 1, "Database Mirroring Transport is disabled in the endpoint configuration.";
    /// A mirrored database is not dropped.
    drop_mirrored(database) = 3743, 16, 1, "The database '{database}' is enabled for database mirroring. Database mirroring must be removed before you drop the database.";
    /// System databases are not mirrored.
    option_not_for_database(option, database) = 5058, 16, 1, "Option '{option}' cannot be set in database '{database}'.";

    // Join tokens.
    /// Not a token.
    bad_join_token() = 50_600, 16, 1, "This is not a join token.";
    /// It was refused, or its issuer cannot be reached.
    join_token_refused(detail) = 50_601, 16, 1, "The join token cannot be used: {detail}";
    /// After a forced quorum.
    forced_quorum(group) = 41125, 16, 1, "A planned failover of availability group '{group}' is not possible: the quorum of the cluster was forced, and its configuration may be older than what was lost with it. Run ALTER AVAILABILITY GROUP ... FORCE_FAILOVER_ALLOW_DATA_LOSS on the replica that is to become the primary.";
    /// No majority.
    no_cluster_quorum(group) = 41131, 16, 2, "Failed to bring availability group '{group}' online. The cluster has no quorum: a majority of its votes is not heard. Bring members back; when they are gone for good, sys.sp_keel_force_quorum lets this instance go on without them.";
    /// This instance is in no cluster.
    no_cluster() = 50_606, 16, 1, "This instance is not a member of a cluster. Create an availability group, or use keel init and keel join.";
    /// No such member.
    no_cluster_node(name) = 50_603, 16, 1, "'{name}' is not another member of this cluster.";
    /// An instance that was to do something cannot be told.
    no_connection_to(server) = 50_604, 16, 1, "There is no connection to '{server}'. Give the command there, or when the connection is up again.";
    /// The cluster refused a change.
    cluster_change_refused(detail) = 50_605, 16, 1, "The cluster cannot be changed: {detail}";
    /// An argument that a procedure needs.
    argument_missing(procedure, argument) = 201, 16, 4, "Procedure or function '{procedure}' expects parameter '@{argument}', which was not supplied.";

    // Endpoints and certificates.
    /// One mirroring endpoint.
    second_endpoint() = 7862, 16, 1, "An endpoint of the requested type already exists.  Only one endpoint of this type is supported.  Use ALTER ENDPOINT or DROP the existing endpoint and execute the CREATE ENDPOINT statement.";
    /// Name taken.
    endpoint_exists(name) = 15025, 16, 2, "The server principal or endpoint '{name}' already exists.";
    /// No such endpoint.
    no_endpoint(name) = 15151, 16, 2, "Cannot find the endpoint '{name}', because it does not exist or you do not have permission.";
    /// Nobody listens for groups.
    no_mirroring_endpoint() = 35204, 10, 1, "The connection between server instances cannot be made because the database mirroring endpoint does not exist or is not started. Create or start it with CREATE ENDPOINT or ALTER ENDPOINT, and retry.";
    /// Other payloads.
    endpoint_payload(kind) = 7891, 16, 1, "Creation of a {kind} endpoint is not supported. Only endpoints FOR DATABASE_MIRRORING over TCP can be created.";
    /// Bad port.
    bad_endpoint_port(port) = 7877, 16, 1, "The listener port {port} is invalid. Valid port numbers range from 1 to 65535, inclusive.";
    /// Missing port.
    endpoint_port_missing() = 7888, 16, 1, "LISTENER_PORT must be specified in the CREATE ENDPOINT statement.";
    /// A started endpoint could not listen.
    endpoint_not_listening(port, detail) = 9692, 16, 1, "The Database Mirroring endpoint cannot listen on port {port} because: {detail}";
    /// Unencrypted endpoints.
    endpoint_unencrypted() = 7894, 16, 1, "ENCRYPTION = DISABLED is not supported: connections between replicas are always encrypted with TLS 1.3.";
    /// No such certificate.
    no_certificate(name) = 15151, 16, 3, "Cannot find the certificate '{name}', because it does not exist or you do not have permission.";
    /// Still used.
    certificate_in_use(name, verb) = 15352, 16, 1, "The certificate '{name}' cannot be {verb} because one or more entities are either signed or encrypted using it.";
    /// A database encryption key is sealed with it.
    certificate_seals_key(name, verb) = 3716, 16, 1, "The certificate '{name}' cannot be {verb} because it is bound to one or more database encryption key.";
    /// A certificate without its private key.
    certificate_without_key(name) = 15556, 16, 1, "Cannot use certificate '{name}' for an endpoint, because its private key is not present.";
}
