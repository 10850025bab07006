//! A login, a resource pool and a workload group for each database: what the consolidation guide does so that no database takes
//! the processors from another.

use crate::target::Server;
use anyhow::Result;
use keel_workload::{Cell, Connection};
use std::collections::BTreeMap;
use std::time::Duration;

/// Password of the logins; the server that has them is our own and goes with this process.
const PASSWORD: &str = "Bench-mark-2026";

/// Gives each database its login, pool and group, and each pool an equal share of the processors. The database is there already.
///
/// # Errors
/// What the server says.
pub fn set_up(server: &dyn Server, databases: &[String]) -> Result<()> {
    let mut session = server.database("master")?.connect()?;
    let share = 100 / databases.len().max(1);
    for name in databases {
        session.execute(&format!("CREATE LOGIN [{name}] WITH PASSWORD = '{PASSWORD}'"))?;
        session.execute(&format!(
            "USE [{name}]; CREATE USER [{name}] FOR LOGIN [{name}]; ALTER ROLE db_owner ADD MEMBER [{name}]; USE master"
        ))?;
        session.execute(&format!("CREATE RESOURCE POOL [{name}] WITH (MIN_CPU_PERCENT = {share})"))?;
        session.execute(&format!("CREATE WORKLOAD GROUP [{name}] USING [{name}]"))?;
    }
    let cases = databases.iter().map(|name| format!("WHEN N'{name}' THEN N'{name}'")).collect::<Vec<_>>();
    session.execute(&format!(
        "CREATE FUNCTION dbo.keel_bench_pool() RETURNS sysname WITH SCHEMABINDING AS BEGIN RETURN CASE SUSER_SNAME() {} END END",
        cases.join(" ")
    ))?;
    session.execute("ALTER RESOURCE GOVERNOR WITH (CLASSIFIER_FUNCTION = dbo.keel_bench_pool)")?;
    Ok(session.execute("ALTER RESOURCE GOVERNOR RECONFIGURE")?)
}

/// The database, in sessions of its own login.
///
/// # Errors
/// When the server has no logins.
pub fn of_login(server: &dyn Server, database: &str) -> Result<Box<dyn Server + Send>> {
    server.login(database, database, PASSWORD)
}

/// Processor time that each pool has used so far.
///
/// # Errors
/// What the server says.
pub fn used(session: &mut dyn Connection) -> Result<BTreeMap<String, Duration>> {
    let rows =
        session.query("SELECT name, total_cpu_usage_ms FROM sys.dm_resource_governor_resource_pools")?;
    let used = |row: &Vec<Cell>| match &row[..] {
        [Cell::Text(name), Cell::Int(ms)] => {
            Some((name.clone(), Duration::from_millis(u64::try_from(*ms).ok()?)))
        }
        _ => None,
    };
    Ok(rows.iter().filter_map(used).collect())
}
