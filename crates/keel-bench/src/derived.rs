//! Rows from which much follows, which the server keeps by itself: an indexed view, the versions of a system-versioned table, tracked and
//! captured changes, an index of words. Whatever happens to a group, all of it agrees with the rows: at every moment and on every
//! replica what belongs to the transaction, and once the server has caught up what follows behind it.

use crate::fleet::{number, until};
use crate::ledger::{Clients, PAUSE, is_primary};
use anyhow::{Result, anyhow};
use keel_workload::{CallError, Connection};

/// Rows of the system-versioned table.
const PRICES: u64 = 10;

/// Makes the tables, in a database that is no member of a group yet or on its primary.
///
/// # Errors
/// What the server says.
pub fn make(session: &mut dyn Connection, database: &str) -> Result<()> {
    let batches = [
        format!("ALTER DATABASE {database} SET CHANGE_TRACKING = ON"),
        "CREATE TABLE dbo.events (id int IDENTITY CONSTRAINT events_id PRIMARY KEY, kind int NOT NULL, n int NOT NULL, body nvarchar(200) NOT \
         NULL); ALTER TABLE dbo.events ENABLE CHANGE_TRACKING"
            .into(),
        "CREATE VIEW dbo.kinds WITH SCHEMABINDING AS SELECT kind, COUNT_BIG(*) AS events, SUM(n) AS total FROM dbo.events GROUP BY kind".into(),
        "CREATE UNIQUE CLUSTERED INDEX kinds_kind ON dbo.kinds (kind)".into(),
        "CREATE FULLTEXT CATALOG words AS DEFAULT; CREATE FULLTEXT INDEX ON dbo.events (body) KEY INDEX events_id".into(),
        "CREATE TABLE dbo.prices (id int NOT NULL PRIMARY KEY, version int NOT NULL, since datetime2 GENERATED ALWAYS AS ROW START, until_ \
         datetime2 GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (since, until_)) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = \
         dbo.prices_before))"
            .into(),
        format!("INSERT dbo.prices (id, version) SELECT value, 1 FROM GENERATE_SERIES(1, {PRICES})"),
        "EXEC sys.sp_cdc_enable_db; EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'events', @role_name = NULL".into(),
    ];
    batches
        .iter()
        .try_for_each(|batch| session.execute(batch).map(|_| ()).map_err(|e| anyhow!("{e}: {batch}")))
}

/// Adds rows and replaces prices, in one transaction each, until the clients are told to stop.
pub fn work(clients: &Clients, database: &str) {
    let mut round = 0u64;
    clients.work(|connection| {
        round += 1;
        // Few enough that readers can go through all of them.
        std::thread::sleep(PAUSE);
        let end = if round.is_multiple_of(7) { "ROLLBACK" } else { "COMMIT" };
        let delayed = if round.is_multiple_of(5) && end == "COMMIT" { " WITH (DELAYED_DURABILITY = ON)" } else { "" };
        let answer = connection.execute(&format!(
            "SET XACT_ABORT ON; BEGIN TRANSACTION; INSERT dbo.events (kind, n, body) SELECT value % 5, {round}, CONCAT(N'common word', {round}, N' of ', \
             value) FROM GENERATE_SERIES(1, {}); UPDATE dbo.prices SET version += 1 WHERE id = 1 + {round} % {PRICES}; {end}{delayed}",
            1 + round % 4
        ));
        !matches!(answer, Err(CallError::Lost(_))) && is_primary(connection, database)
    });
}

/// What gives 0 in every snapshot of every replica, with what it would mean if it did not.
pub const SNAPSHOTS: [(&str, &str); 3] = [
    (
        "the indexed view differs from its tables",
        "SELECT COUNT(*) FROM ((SELECT kind, events, total FROM dbo.kinds WITH (NOEXPAND) EXCEPT SELECT kind, COUNT_BIG(*), SUM(n) FROM dbo.events \
         GROUP BY kind) UNION ALL (SELECT kind, COUNT_BIG(*), SUM(n) FROM dbo.events GROUP BY kind EXCEPT SELECT kind, events, total FROM dbo.kinds \
         WITH (NOEXPAND))) AS difference",
    ),
    (
        "tracked changes differ from the rows",
        "SELECT (SELECT COUNT(*) FROM CHANGETABLE(CHANGES dbo.events, 0) AS c) - (SELECT COUNT(*) FROM dbo.events)",
    ),
    (
        "versions of rows are missing",
        "SELECT (SELECT COUNT(*) FROM dbo.prices FOR SYSTEM_TIME ALL) - (SELECT SUM(version) FROM dbo.prices)",
    ),
];

/// With all writers still: lets the server catch up and compares what it has made with the rows. What differs is told to the clients.
///
/// # Errors
/// What the server says.
pub fn check(session: &mut dyn Connection, clients: &Clients) -> Result<()> {
    let rows = number(session, "SELECT COUNT(*) FROM dbo.events")?;
    let captured = "SELECT COUNT(*) FROM cdc.dbo_events_CT WHERE __$operation = 2";
    until("as many changes are told as there are rows", || Ok(number(session, captured)? == rows))?;
    session.execute("EXEC sys.sp_keel_fulltext_wait").map_err(|e| anyhow!(e))?;
    let found = number(session, "SELECT COUNT(*) FROM dbo.events WHERE CONTAINS(body, N'common')")?;
    if found != rows {
        clients.violation(format!("rows found by a word that all have: {found:?}, rows: {rows:?}"));
    }
    for (what, sql) in SNAPSHOTS {
        if number(session, sql)? != Some(0) {
            clients.violation(format!("on the primary {what}"));
        }
    }
    Ok(())
}
