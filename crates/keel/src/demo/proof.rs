//! The proof: the clients' ledgers against every copy, and what the group wrote down of its failover.

use anyhow::{Context, Result, bail};
use keel_bench::tds::Address;
use keel_bench::tpcc::Settings;
use keel_workload::tpcc::check;
use keel_workload::tpcc::run::Ledger;
use keel_workload::{Cell, Connection};

use super::DATABASE;
use super::cluster::Cluster;
use super::show::Show;

/// Looks for everything acknowledged on every copy, each at least as new as the primary is now.
///
/// # Errors
/// When something is missing, doubled or torn.
pub fn prove(
    show: &Show,
    cluster: &Cluster,
    leader: usize,
    ledgers: &[Ledger],
    settings: Settings,
) -> Result<()> {
    let orders: usize = ledgers.iter().map(|ledger| ledger.orders.len()).sum();
    let payments: i64 = ledgers.iter().flat_map(|ledger| &ledger.payments).sum();
    let doubt: u64 = ledgers.iter().map(|ledger| ledger.orders_in_doubt).sum();
    show.say(&format!(
        "the clients were told of {orders} orders and payments of {}.{:02}; orders whose end they did not hear: {doubt}",
        payments / 100,
        payments % 100
    ));
    let addresses = cluster.addresses();
    let mut newest = addresses[leader].session(DATABASE)?;
    let rows = newest.query("SELECT CAST(sys.fn_keel_commit_lsn() AS varchar(30))")?;
    let Some(Cell::Text(lsn)) = rows.first().and_then(|row| row.first()) else {
        bail!("the primary gave no position")
    };
    for (number, address) in addresses.iter().enumerate() {
        let name = cluster.name(number);
        let working = show.working(&format!("checking {name}"));
        let mut session = address.session(DATABASE).with_context(|| format!("a session on {name}"))?;
        if number != leader {
            wait_for(&mut session, lsn).with_context(|| format!("{name} did not come up to the primary"))?;
        }
        let mut broken = check::consistency(&mut session)?;
        broken.extend(check::ledger(&mut session, ledgers, settings.scale.customers)?);
        if let Some(first) = broken.first() {
            bail!("{name}: {first} ({} findings)", broken.len());
        }
        working.done(&format!("{name}: all of it is there, nothing else, and TPROC-C's conditions hold"));
    }
    Ok(())
}

fn wait_for(session: &mut dyn Connection, lsn: &str) -> Result<()> {
    let rows = session.query(&format!(
        "DECLARE @late int; EXEC @late = sys.sp_keel_wait_for_lsn @lsn = {lsn}, @timeout_ms = 30000; SELECT @late"
    ))?;
    match rows.first().map(Vec::as_slice) {
        Some([Cell::Int(0)]) => Ok(()),
        other => bail!("waiting ended with {other:?}"),
    }
}

/// Prints the newest failover as the group recorded it.
pub fn timeline(show: &Show, leader: &Address) {
    let Ok(mut session) = leader.session("master") else { return };
    let Ok(rows) = session.query(
        "SELECT TOP 1 CAST(summary AS varchar(2000)) FROM sys.dm_keel_failovers ORDER BY began_utc DESC",
    ) else {
        return;
    };
    if let Some([Cell::Text(report)]) = rows.first().map(Vec::as_slice) {
        show.say(report);
    }
}
