//! What the field's papers reached in the same tests, for the column beside ours. Their machines had two to four
//! sockets and flash arrays, so only ratios can be compared; absolute figures stand there for orientation.

/// A figure of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Theirs {
    /// What was measured.
    pub what: &'static str,
    /// What it gave.
    pub figure: &'static str,
    /// Where it stands.
    pub paper: &'static str,
}

const GROUPS: &str = "availability-group performance paper, 2016";
const TRANSPORT: &str = "note on the log transport, 2016";
const NOTES: &str = "high-availability field notes, 2005-2012";
const CLUSTERS: &str = "failover-cluster reference architecture, 2019";
const CONSOLIDATION: &str = "consolidation design guide, 2018";
const STEADINESS: &str = "papers on checkpoints (start-up option -k)";

const fn theirs(what: &'static str, figure: &'static str, paper: &'static str) -> Theirs {
    Theirs { what, figure, paper }
}

/// Order entry with users added step by step.
pub const STEPPED_USERS: [Theirs; 3] = [
    theirs("OLTP rate, transactions/s", "71,171", GROUPS),
    theirs("stepped test, 250 users, 40 ms think time, one database, transactions/s", "4,206", CONSOLIDATION),
    theirs("the same, six databases", "24,533", CONSOLIDATION),
];

/// Decision support in one to three databases.
pub const DECISION_SUPPORT: [Theirs; 2] = [
    theirs("TPC-H-like streams, one database, queries/h × size", "245,635", CONSOLIDATION),
    theirs("the same, three databases", "798,715", CONSOLIDATION),
];

/// Databases added step by step.
pub const CONSOLIDATED: [Theirs; 8] = [
    theirs("one database, 250 users, 40 ms think time, transactions/s", "4,206", CONSOLIDATION),
    theirs("six databases, transactions/s", "24,533", CONSOLIDATION),
    theirs("loss per database, %", "2.9", CONSOLIDATION),
    theirs("one database, batches/s", "84,527", CONSOLIDATION),
    theirs("six databases, batches/s", "493,666", CONSOLIDATION),
    theirs("data reads, ms", "under 0.75", CONSOLIDATION),
    theirs("data writes, ms", "under 0.8", CONSOLIDATION),
    theirs("log writes, ms", "under 0.6", CONSOLIDATION),
];

/// Throughput with synchronous secondaries beside stand-alone.
pub const SYNC_COST: [Theirs; 3] = [
    theirs("throughput with one synchronous secondary / stand-alone", "0.95", TRANSPORT),
    theirs("the same, encrypted", "0.90", TRANSPORT),
    theirs("hand-offs between threads for each log block", "8 (before: 15)", TRANSPORT),
];

/// Redo on a secondary under full load.
pub const REDO: [Theirs; 3] = [
    theirs("redone / received, MB/s", "51 / 213 = 0.24", GROUPS),
    theirs("queue under full load", "68 million records, growing", GROUPS),
    theirs("recovery at a failover after that", "up to 3 hours", GROUPS),
];

/// Checkpoints, throttled and not.
pub const CHECKPOINTS: [Theirs; 2] = [
    theirs("default checkpoints: slowest / mean, transactions/s", "6,891 / 53,756 = 0.13", STEADINESS),
    theirs("throttled: slowest / mean, transactions/s", "84,510 / 99,149 = 0.85", STEADINESS),
];

/// Compression of the log on its way.
pub const COMPRESSION: [Theirs; 2] = [
    theirs("bytes saved on a stock-exchange load", "73 %", NOTES),
    theirs("drain of a send queue over 10 Mb/s", "several times shorter", NOTES),
];

/// Failover as clients see it.
pub const FAILOVER: [Theirs; 4] = [
    theirs("node cut off: cluster formed again", "3 s", CLUSTERS),
    theirs("node cut off: databases recovered", "30 s", CLUSTERS),
    theirs("node cut off: clients served again", "34 s", CLUSTERS),
    theirs("planned, for a rolling upgrade", "15 s", CLUSTERS),
];

/// The column beside ours: what, ours, theirs, and where theirs stands. `ours` gives a text for each of `theirs`; empty where we
/// have nothing to put beside.
#[must_use]
pub fn beside(papers: &[Theirs], ours: &[String]) -> super::Table {
    let mut table = super::Table::new("Beside the papers", &["what", "here", "paper", "which"]).note(
        "Their machines had two to four sockets and flash arrays: ratios can be compared, absolute figures are for orientation.",
    );
    for (i, paper) in papers.iter().enumerate() {
        let ours = ours.get(i).filter(|o| !o.is_empty()).cloned().unwrap_or_else(|| "–".into());
        table.row([paper.what.to_owned(), ours, paper.figure.to_owned(), paper.paper.to_owned()]);
    }
    table
}
