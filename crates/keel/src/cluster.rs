//! `keel cluster`: looking at a cluster, measuring what it stands on, and the few things an operator does to it by hand.
//!
//! Clients like the rest: everything here is T-SQL that anybody could send (`sys.dm_keel_cluster`, `sys.dm_keel_failovers`,
//! `sys.sp_keel_…`).

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};

use crate::groups::endpoint;
use crate::login::{Login, finish, literal};

/// Look after a cluster of instances.
#[derive(Args)]
pub struct Cluster {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Subcommand)]
enum ClusterCommand {
    Status(Status),
    Validate(Validate),
    Failover(Failover),
    AddNode(AddNode),
    RemoveNode(RemoveNode),
    Witness(Witness),
}

/// Show members, votes, groups, what a failover would cost, and the last failovers.
#[derive(Args)]
struct Status {
    #[command(flatten)]
    login: Login,
}

/// Measure every member's disk and the way between any two of them.
///
/// Takes a few seconds and disturbs little. The report is also kept as log/cluster_validation in the data directory of the
/// instance that was asked. Fails when something would make failovers unreliable.
#[derive(Args)]
struct Validate {
    #[command(flatten)]
    login: Login,
}

/// Make another replica the primary of a group.
#[derive(Args)]
struct Failover {
    /// Name of the group
    group: String,
    #[command(flatten)]
    login: Login,
    /// Server name of the replica that is to lead [default: the instance connected to]
    #[arg(long, value_name = "NAME", conflicts_with = "force_quorum")]
    to: Option<String>,
    /// Even if commits are lost: the other copies are then suspended until they are resumed
    #[arg(long)]
    force: bool,
    /// Go on at the instance connected to although most votes are gone for good; implies --force
    #[arg(long)]
    force_quorum: bool,
    /// Do not ask before something may be lost
    #[arg(long)]
    yes: bool,
}

/// Make another running instance a member.
#[derive(Args)]
struct AddNode {
    #[command(flatten)]
    login: Login,
    /// The new member, as clients reach it (like -S)
    #[arg(long, value_name = "SERVER")]
    node: String,
    /// Where the members reach its endpoint
    #[arg(long, value_name = "HOST:PORT")]
    endpoint: String,
}

/// Remove a member for good; it need not be there.
#[derive(Args)]
struct RemoveNode {
    /// Server name of the member
    name: String,
    #[command(flatten)]
    login: Login,
}

/// Print the command that starts a witness for this cluster.
#[derive(Args)]
struct Witness {
    #[command(flatten)]
    login: Login,
    /// Where the members will reach the witness
    #[arg(
        long,
        value_name = "HOST:PORT",
        required_unless_present = "directory",
        conflicts_with = "directory"
    )]
    at: Option<String>,
    /// Instead of a process: a directory on storage that all members share
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

impl Cluster {
    /// See the type.
    pub fn run(self) -> ExitCode {
        finish(match self.command {
            ClusterCommand::Status(c) => c.status(),
            ClusterCommand::Validate(c) => c.validate(),
            ClusterCommand::Failover(c) => c.fail_over(),
            ClusterCommand::AddNode(c) => c.add(),
            ClusterCommand::RemoveNode(c) => c.remove(),
            ClusterCommand::Witness(c) => c.witness(),
        })
    }
}

/// So many times, a tenth of a second apart, is looked whether a new member is connected.
const LOOKS_MAX: u32 = 50;

/// Rows as columns of even width; the last one is not filled up.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |i: usize| {
        let cells = rows.iter().filter_map(|r| r.get(i)).map(|c| c.chars().count());
        cells.chain([head[i].chars().count()]).max().unwrap_or(0)
    };
    let mut text = String::new();
    let mut line = |cells: Vec<&str>| {
        let padded: Vec<String> = cells
            .iter()
            .enumerate()
            .map(|(i, cell)| format!("{cell:<0$}", width(i.min(head.len() - 1))))
            .collect();
        text.push_str(padded.join("  ").trim_end());
        text.push('\n');
    };
    line(head.to_vec());
    rows.iter().for_each(|row| line(row.iter().map(String::as_str).collect()));
    text
}

/// What the instance connected to has to say of members that do not run what it runs. One from before members told what they run says
/// nothing: that is no reason for a command to fail.
fn warn_of_versions(login: &Login) {
    match login.rows("SELECT product_warning FROM sys.dm_keel_cluster WHERE product_warning IS NOT NULL") {
        Ok(rows) => rows.iter().flatten().for_each(|warning| println!("Warning: {warning}.")),
        Err(error) => println!("Warning: what the members run is not known: {error:#}"),
    }
}

impl Status {
    fn status(&self) -> Result<()> {
        let cluster = self.login.rows(
            "SELECT TOP 1 cluster_name, generation, quorum_state_desc, votes, votes_heard, votes_needed, \
             ISNULL(leader, N'nobody') FROM sys.dm_keel_cluster",
        )?;
        let Some([name, generation, quorum, votes, heard, needed, leader]) =
            cluster.first().map(Vec::as_slice)
        else {
            bail!("{} is not a member of a cluster", self.login.server);
        };
        println!("Cluster {name}, generation {generation}: {quorum}");
        println!(
            "{heard} of {votes} votes are heard, {needed} are needed; {leader} takes the decisions down.\n"
        );
        let members = |version: &str| {
            self.login.rows(&format!(
                "SELECT member_name, CASE member_type_desc WHEN N'CLUSTER_NODE' THEN N'node' ELSE N'witness' END,
                CASE is_up WHEN 1 THEN N'up' ELSE N'DOWN' END, CASE has_vote WHEN 1 THEN N'vote' ELSE N'-' END,
                CASE WHEN is_local = 1 THEN N'here' WHEN round_trip_us IS NULL THEN N'-'
                    ELSE CONCAT(round_trip_us, N' us') END, {version}, endpoint_url
                 FROM sys.dm_keel_cluster"
            ))
        };
        // The instance may be from before members told what they run.
        let members = members("ISNULL(product_version, N'-')").or_else(|_| members("N'-'"))?;
        let head = ["member", "kind", "state", "vote", "round trip", "version", "endpoint"];
        println!("{}", table(&head, &members));
        warn_of_versions(&self.login);
        let groups = self.login.rows(
            "SELECT g.name, ISNULL(s.primary_replica, N'nobody'), s.synchronization_health_desc
             FROM sys.availability_groups AS g JOIN sys.dm_hadr_availability_group_states AS s ON s.group_id = g.group_id",
        )?;
        if !groups.is_empty() {
            println!("{}", table(&["group", "primary", "health"], &groups));
        }
        let estimates = self.login.rows(
            "SELECT group_name, database_name, replica_server_name, CASE is_automatic WHEN 1 THEN N'by itself' ELSE N'by hand' END,
                ISNULL(CONCAT(estimated_rto_ms, N' ms'), N'-'), CONCAT(estimated_rpo_bytes, N' bytes')
             FROM sys.dm_keel_failover_estimates",
        )?;
        if !estimates.is_empty() {
            println!("If this primary were lost now:");
            let head = ["group", "database", "replica", "takes over", "away for", "would lose"];
            println!("{}", table(&head, &estimates));
        }
        let failovers = self.login.rows(
            "SELECT TOP 10 CONVERT(nvarchar(30), began_utc, 121), summary FROM sys.dm_keel_failovers ORDER BY began_utc DESC",
        )?;
        if !failovers.is_empty() {
            println!("{}", table(&["failovers here (UTC)", ""], &failovers));
        }
        Ok(())
    }
}

impl Validate {
    fn validate(&self) -> Result<()> {
        let found = self.login.rows("EXEC sys.sp_keel_validate_cluster")?;
        let cell = |row: &[String], at: usize| match row.get(at).map(String::as_str) {
            None | Some("NULL") => String::new(),
            Some(text) => text.to_owned(),
        };
        let rows: Vec<Vec<String>> = found
            .iter()
            .map(|row| [7, 0, 1, 2, 3, 4, 5, 6, 8].into_iter().map(|at| cell(row, at)).collect())
            .collect();
        let head = ["verdict", "member", "check", "to", "samples", "p50 us", "p99 us", "max us", "meaning"];
        println!("{}", table(&head, &rows));
        if let Some(file) = found.first().map(|row| cell(row, 9)).filter(|file| !file.is_empty()) {
            println!("The report is kept in {file}.");
        }
        match rows.iter().filter(|row| row[0] == "FAILED").count() {
            0 => Ok(()),
            n => bail!("{n} checks have failed"),
        }
    }
}

const LOSS: &str = "Commits that the new primary does not hold are lost. The other copies are suspended until ALTER DATABASE ... SET \
HADR RESUME is given on each: that gives up what only they hold.";
const FORCED: &str = "Only do this when the other members are gone for good, or surely stopped. What they have agreed on since they \
were last heard here is given up, and members that come back take this instance's word for everything.";

impl Failover {
    fn fail_over(&self) -> Result<()> {
        let force = self.force || self.force_quorum;
        if self.force_quorum {
            eprintln!("Warning: {FORCED}");
        }
        if force {
            eprintln!("Warning: {LOSS}");
            self.confirm()?;
        }
        let mut batch = String::new();
        if self.force_quorum {
            batch.push_str("EXEC sys.sp_keel_force_quorum;\n");
        }
        let to = self.to.as_deref().map_or_else(|| "NULL".to_owned(), literal);
        batch.push_str(&format!(
            "EXEC sys.sp_keel_failover @group = {}, @to = {to}, @force = {};\n",
            literal(&self.group),
            u8::from(force)
        ));
        let now = self.to.as_deref().map_or_else(|| "@@SERVERNAME".to_owned(), literal);
        batch.push_str(&format!(
            "IF @@ERROR = 0 PRINT CONCAT({now}, N' is the primary of ', {}, N'.');",
            literal(&self.group)
        ));
        self.login.send(&self.login.server, &batch)
    }

    /// Asks whoever sits there; without anybody there, --yes must have been given.
    fn confirm(&self) -> Result<()> {
        if self.yes {
            return Ok(());
        }
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            bail!("nothing was done: --yes is needed where nobody can be asked");
        }
        eprint!("Type the name of the group to go on: ");
        std::io::stderr().flush()?;
        let mut answer = String::new();
        stdin.lock().read_line(&mut answer)?;
        if answer.trim() != self.group {
            bail!("nothing was done");
        }
        Ok(())
    }
}

/// A join token of the instance connected to.
fn token(login: &Login) -> Result<String> {
    let url = login.rows("SELECT TOP 1 endpoint_url FROM sys.dm_keel_cluster WHERE is_local = 1")?;
    let url = url.first().and_then(|row| row.first()).filter(|url| !url.is_empty());
    let url = url
        .with_context(|| format!("{} is not a member of a cluster; keel init makes it one", login.server))?;
    let rows = login.rows(&format!("EXEC sys.sp_keel_invite @url = {}", literal(url)))?;
    rows.into_iter().flatten().next().context("no token came back")
}

impl AddNode {
    fn add(&self) -> Result<()> {
        let token = token(&self.login)?;
        let (batch, url) = endpoint(&self.endpoint)?;
        let join = format!("EXEC sys.sp_keel_join @token = {}, @url = {};", literal(&token), literal(&url));
        let done = "PRINT CONCAT(@@SERVERNAME, N' joins the cluster.');";
        self.login.send(&self.node, &format!("{batch}{join}\n{done}"))?;
        // What it runs is told once the two are connected. A member that does not come is what the status shows.
        let there =
            format!("SELECT 1 FROM sys.dm_keel_cluster WHERE endpoint_url = {} AND is_up = 1", literal(&url));
        let waited = self.login.rows(&format!(
            "DECLARE @tries int = 0;
             WHILE @tries < {LOOKS_MAX} AND NOT EXISTS ({there})
             BEGIN WAITFOR DELAY '00:00:00.1'; SET @tries += 1 END"
        ));
        match waited {
            Ok(_) => warn_of_versions(&self.login),
            // It has joined all the same.
            Err(error) => println!("Warning: whether it is connected is not known: {error:#}"),
        }
        Ok(())
    }
}

impl RemoveNode {
    fn remove(&self) -> Result<()> {
        let name = literal(&self.name);
        let batch =
            format!("EXEC sys.sp_keel_remove_node @name = {name};\nPRINT CONCAT({name}, N' is removed.');");
        self.login.send(&self.login.server, &batch)
    }
}

impl Witness {
    fn witness(&self) -> Result<()> {
        if let Some(directory) = &self.directory {
            println!(
                "Put this into the configuration of every member, and restart them one after the other:\n"
            );
            println!("    witness_directory = \"{}\"\n", directory.display());
            println!("Whichever of them holds the lock of the directory runs the witness.");
            return Ok(());
        }
        let at = self.at.as_deref().context("--at takes HOST:PORT")?;
        at.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()).context("--at takes HOST:PORT")?;
        let token = token(&self.login)?;
        let (_, port) = at.rsplit_once(':').context("--at takes HOST:PORT")?;
        println!("Run this on the machine of the witness, as a service:\n");
        println!(
            "    keel witness --data /var/lib/keel-witness --listen 0.0.0.0:{port} --advertise {at} --join {token}"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_even() {
        let rows = [vec!["NODE1".to_owned(), "up".to_owned()], vec!["W".to_owned(), "DOWN".to_owned()]];
        assert_eq!(table(&["member", "state"], &rows), "member  state\nNODE1   up\nW       DOWN\n");
        assert_eq!(table(&["member", "state"], &[]), "member  state\n");
    }
}
