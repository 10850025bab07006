//! The short way to an availability group: `keel init`, `keel join`, `keel group create`.
//!
//! Three commands for running instances, and no certificate copied by hand: a join token carries trust. They are clients:
//! each sends T-SQL that anybody could send (`sys.sp_keel_invite`, `sys.sp_keel_join`, `sys.dm_keel_members`).

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};

use crate::login::{Login, bracketed, finish, literal};

/// Prepare an instance for groups and print a join token.
///
/// Starts the endpoint if there is none, and makes the instance the first member of a cluster. The token makes every instance that uses it within the next hours trusted by this
/// one, and by the others that used it.
#[derive(Args)]
pub struct Init {
    #[command(flatten)]
    login: Login,
    /// Where the other instances reach this one's endpoint
    #[arg(long, value_name = "HOST:PORT")]
    endpoint: String,
    /// Hours that the token is good for
    #[arg(long, default_value_t = 24)]
    hours: u32,
}

/// Make an instance a member of the cluster behind a join token.
///
/// The instance and the members of the cluster trust each other from then on.
#[derive(Args)]
pub struct Join {
    /// What `keel init` printed
    token: String,
    #[command(flatten)]
    login: Login,
    /// Where the other instances reach this one's endpoint
    #[arg(long, value_name = "HOST:PORT")]
    endpoint: String,
}

/// Make availability groups.
#[derive(Args)]
pub struct Group {
    #[command(subcommand)]
    command: GroupCommand,
}

#[derive(Subcommand)]
enum GroupCommand {
    Create(Create),
}

/// Make a group of all instances that trust each other; the one connected to becomes the primary.
#[derive(Args)]
struct Create {
    /// Name of the group
    name: String,
    #[command(flatten)]
    login: Login,
    /// A database to put into it; may be repeated
    #[arg(long, value_name = "NAME")]
    database: Vec<String>,
    /// With a master and an msdb of its own: logins and jobs go with the group (a contained availability group)
    #[arg(long)]
    contained: bool,
    /// Another instance, as clients reach it (like -S); repeated for each
    #[arg(long, value_name = "SERVER")]
    member: Vec<String>,
    /// Seconds to wait for the copies to be synchronized; they go on without being waited for
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u32,
}

/// The endpoint, if there is none, and its URL.
pub fn endpoint(address: &str) -> Result<(String, String)> {
    let (_, port) = address.rsplit_once(':').context("--endpoint takes HOST:PORT")?;
    let port: u16 = port.parse().context("--endpoint takes HOST:PORT")?;
    let batch = format!(
        "SET NOCOUNT ON;\nIF NOT EXISTS (SELECT 1 FROM sys.database_mirroring_endpoints)\n    EXEC(N'CREATE ENDPOINT \
         Hadr_endpoint STATE = STARTED AS TCP (LISTENER_PORT = {port}) FOR DATABASE_MIRRORING (ROLE = ALL)');\n"
    );
    Ok((batch, format!("TCP://{address}")))
}

impl Init {
    /// See the type.
    pub fn run(self) -> ExitCode {
        finish(self.init())
    }

    fn init(&self) -> Result<()> {
        let (batch, url) = endpoint(&self.endpoint)?;
        let invite = format!("EXEC sys.sp_keel_invite @url = {}, @hours = {};", literal(&url), self.hours);
        self.login.send(&self.login.server, &(batch + &invite))
    }
}

impl Join {
    /// See the type.
    pub fn run(self) -> ExitCode {
        finish(self.join())
    }

    fn join(&self) -> Result<()> {
        let (batch, url) = endpoint(&self.endpoint)?;
        let join = format!(
            "EXEC sys.sp_keel_join @token = {}, @url = {};
IF @@ERROR <> 0 RETURN;
DECLARE @others nvarchar(max) = (SELECT STRING_AGG(server_name, N', ') WITHIN GROUP (ORDER BY server_name)
    FROM sys.dm_keel_members WHERE server_name <> @@SERVERNAME);
PRINT CONCAT(@@SERVERNAME, N' knows and trusts ', @others, N'.');",
            literal(self.token.trim()),
            literal(&url)
        );
        self.login.send(&self.login.server, &(batch + &join))
    }
}

impl Group {
    /// See the type.
    pub fn run(self) -> ExitCode {
        let GroupCommand::Create(create) = self.command;
        finish(create.create())
    }
}

impl Create {
    fn create(&self) -> Result<()> {
        let databases: Vec<String> = self.database.iter().map(|d| bracketed(d)).collect();
        let databases =
            if databases.is_empty() { String::new() } else { format!("DATABASE {} ", databases.join(", ")) };
        let head = literal(&format!(
            "CREATE AVAILABILITY GROUP {} {}FOR {databases}REPLICA ON ",
            bracketed(&self.name),
            if self.contained { "WITH (CONTAINED) " } else { "" }
        ));
        let nodes = self.member.len() + 1;
        // Who is trusted may belong to another cluster, of a distributed group; who has just joined becomes a member in a moment.
        let batch = format!(
            "SET NOCOUNT ON;
DECLARE @end datetime2 = DATEADD(second, 15, SYSUTCDATETIME());
WHILE (SELECT COUNT(*) FROM sys.dm_hadr_cluster_members WHERE member_type = 0) < {nodes} AND SYSUTCDATETIME() < @end
    WAITFOR DELAY '00:00:00.050';
DECLARE @statement nvarchar(max) = {head} + (
    SELECT STRING_AGG(CONCAT(N'N''', REPLACE(server_name, N'''', N''''''), N''' WITH (ENDPOINT_URL = N''', endpoint_url,
        N''', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = AUTOMATIC, SEEDING_MODE = AUTOMATIC, ',
        N'SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL))'), N', ') FROM sys.dm_keel_members
    WHERE server_name IN (SELECT member_name FROM sys.dm_hadr_cluster_members WHERE member_type = 0));
EXEC(@statement);"
        );
        self.login.send(&self.login.server, &batch)?;
        for member in &self.member {
            let name = bracketed(&self.name);
            self.login.send(
                member,
                &format!("ALTER AVAILABILITY GROUP {name} JOIN;\nALTER AVAILABILITY GROUP {name} GRANT CREATE ANY DATABASE;"),
            )?;
        }
        self.login.send(&self.login.server, &self.watch())
    }

    /// Shows how the copies come along until all are synchronized or the time to wait is over. A copy whose seeding fails says why at
    /// once, and one that has failed five times (some 15 s of trying again) is not waited for any longer.
    fn watch(&self) -> String {
        let name = literal(&self.name);
        let wait = self.wait;
        format!(
            "SET NOCOUNT ON;
DECLARE @id uniqueidentifier = (SELECT group_id FROM sys.availability_groups WHERE name = {name});
DECLARE @all int = (SELECT COUNT(*) FROM sys.availability_replicas WHERE group_id = @id) - 1, @done int, @before int = -1;
SET @all = @all * (SELECT COUNT(*) FROM sys.availability_databases_cluster WHERE group_id = @id);
DECLARE @end datetime2 = DATEADD(second, {wait}, SYSUTCDATETIME());
DECLARE @failures int, @failed_before int = 0, @failure nvarchar(2000);
DECLARE @made nvarchar(300) = CONCAT(N'Availability group ', {name}, N' is made; ', @@SERVERNAME, N' is its primary.');
RAISERROR(N'%s', 0, 1, @made) WITH NOWAIT;
WHILE 1 = 1
BEGIN
    SELECT @done = COUNT(*) FROM sys.dm_hadr_database_replica_states
        WHERE group_id = @id AND is_local = 0 AND synchronization_state = 2;
    IF @done <> @before AND @all > 0 RAISERROR(N'%d of %d copies are synchronized.', 0, 1, @done, @all) WITH NOWAIT;
    SET @before = @done;
    IF @done >= @all BREAK;
    SET @failures = NULL;
    SELECT TOP 1 @failures = a.number_of_attempts,
        @failure = CONCAT(r.replica_server_name, N', ', d.database_name, N': ', p.failure_message)
    FROM sys.dm_hadr_database_replica_states s
    CROSS APPLY (SELECT TOP 1 * FROM sys.dm_hadr_automatic_seeding
        WHERE ag_remote_replica_id = s.replica_id AND ag_db_id = s.group_database_id ORDER BY start_time DESC) a
    JOIN sys.availability_replicas r ON r.replica_id = s.replica_id
    JOIN sys.availability_databases_cluster d ON d.group_database_id = s.group_database_id
    JOIN sys.dm_hadr_physical_seeding_stats p ON p.local_physical_seeding_id = a.operation_id
    WHERE s.group_id = @id AND s.synchronization_state <> 2 AND a.current_state = N'FAILED'
    ORDER BY a.number_of_attempts DESC;
    IF @failed_before = 0 AND @failures > 0 RAISERROR(N'A seeding failed and is tried again. %s', 0, 1, @failure) WITH NOWAIT;
    IF @failures > 0 SET @failed_before = @failures;
    IF @failures >= 5 SET @end = SYSUTCDATETIME();
    IF SYSUTCDATETIME() >= @end
    BEGIN
        DECLARE @late nvarchar(max) = (
            SELECT STRING_AGG(CONCAT(N'  ', r.replica_server_name, N', ', d.database_name, N': ',
                s.synchronization_state_desc, N'; replica ' + h.connected_state_desc, N'; seeding ' + a.current_state,
                N' (' + p.failure_message + N')'), NCHAR(10))
            FROM sys.dm_hadr_database_replica_states s
            JOIN sys.availability_replicas r ON r.replica_id = s.replica_id
            JOIN sys.availability_databases_cluster d ON d.group_database_id = s.group_database_id
            LEFT JOIN sys.dm_hadr_availability_replica_states h ON h.replica_id = s.replica_id
            OUTER APPLY (SELECT TOP 1 current_state, operation_id FROM sys.dm_hadr_automatic_seeding
                WHERE ag_remote_replica_id = s.replica_id AND ag_db_id = s.group_database_id ORDER BY start_time DESC) a
            OUTER APPLY (SELECT TOP 1 failure_message FROM sys.dm_hadr_physical_seeding_stats
                WHERE local_physical_seeding_id = a.operation_id) p
            WHERE s.group_id = @id AND s.is_local = 0 AND s.synchronization_state <> 2);
        IF @late IS NOT NULL PRINT @late;
        RAISERROR(N'The others go on in the background; sys.dm_hadr_physical_seeding_stats shows how far.', 0, 1) WITH NOWAIT;
        BREAK;
    END;
    WAITFOR DELAY '00:00:00.100';
END;"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_host_and_a_port() {
        assert!(endpoint("node1").is_err());
        let (batch, url) = endpoint("node1:5022").expect("an address");
        assert!(batch.contains("LISTENER_PORT = 5022") && url == "TCP://node1:5022");
    }
}
