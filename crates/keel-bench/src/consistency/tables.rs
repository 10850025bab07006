//! The tables, and what must be so in every snapshot of them, whatever runs beside.

use crate::fleet::number;
use anyhow::{Result, anyhow};
use keel_workload::Connection;

/// Accounts there are at first; some are split and joined later.
pub(super) const ACCOUNTS: i64 = 3_000;
/// What they hold together.
pub(super) const TOTAL: i64 = ACCOUNTS * 100;
pub(super) const BRANCHES: i64 = 40;
/// Keys of the tables whose rows come and go.
pub(super) const SLOTS: i64 = 2_000;
/// Rows that lie in one of two tables, and are moved between them as a whole.
pub(super) const MOVED: i64 = 500;
/// Rows of a partitioned table and of the one that its partitions are switched to, together.
const PARTED: i64 = 400;
/// Indexes that have all accounts, with what they give a balance by.
const WHOLE: [(&str, &str); 4] = [
    ("by_branch", "balance"),
    ("by_rest", "balance"),
    ("by_doubled", "doubled / 2"),
    ("by_balance", "balance"),
];

/// Makes them.
///
/// # Errors
/// What the server says.
pub(super) fn make(session: &mut dyn Connection, database: &str) -> Result<()> {
    let slots = "k int NOT NULL PRIMARY KEY, owner int NOT NULL, v int NOT NULL";
    let batches = [
        format!("ALTER DATABASE [{database}] SET ALLOW_SNAPSHOT_ISOLATION ON; ALTER DATABASE [{database}] SET TARGET_RECOVERY_TIME = 1 SECONDS"),
        "EXEC sp_configure 'show advanced options', 1; RECONFIGURE; EXEC sp_configure 'cost threshold for parallelism', 0; RECONFIGURE".into(),
        format!(
            "CREATE TABLE dbo.branches (branch int NOT NULL PRIMARY KEY, n int NOT NULL, total bigint NOT NULL); \
             INSERT dbo.branches SELECT value, 0, 0 FROM GENERATE_SERIES(0, {})",
            BRANCHES - 1
        ),
        "CREATE TABLE dbo.accounts (id int NOT NULL IDENTITY PRIMARY KEY, branch int NOT NULL REFERENCES dbo.branches, code bigint NOT NULL UNIQUE, \
         balance int NOT NULL, flag tinyint NOT NULL, note varchar(max) NULL, doubled AS balance * 2, rest AS balance % 7 PERSISTED, INDEX by_branch \
         (branch) INCLUDE (balance), INDEX flagged (balance DESC) WHERE flag = 1, INDEX by_rest (rest) INCLUDE (balance), INDEX by_doubled (doubled), \
         INDEX by_balance (balance DESC, id))"
            .into(),
        "CREATE TRIGGER dbo.keep_branches ON dbo.accounts AFTER INSERT, UPDATE, DELETE AS BEGIN SET NOCOUNT ON; UPDATE b SET n = b.n + d.n, total = b.total + \
         d.total FROM dbo.branches b JOIN (SELECT branch, SUM(n) AS n, SUM(balance) AS total FROM (SELECT branch, 1 AS n, balance FROM inserted UNION \
         ALL SELECT branch, -1, -balance FROM deleted) c GROUP BY branch) d ON d.branch = b.branch END"
            .into(),
        "CREATE TABLE dbo.entries (id int NOT NULL IDENTITY PRIMARY KEY, account int NOT NULL REFERENCES dbo.accounts ON DELETE CASCADE, n int NOT \
         NULL, INDEX by_account (account))"
            .into(),
        "CREATE VIEW dbo.of_branches WITH SCHEMABINDING AS SELECT branch, COUNT_BIG(*) AS n, SUM(balance) AS total FROM dbo.accounts GROUP BY branch"
            .into(),
        "CREATE UNIQUE CLUSTERED INDEX of_branches_branch ON dbo.of_branches (branch)".into(),
        format!(
            "INSERT dbo.accounts (branch, code, balance, flag, note) SELECT value % {BRANCHES}, value, 100, value % 2, IIF(value % 50 = 0, \
             REPLICATE(CONVERT(varchar(max), 'x'), 9000), 'n') FROM GENERATE_SERIES(1, {ACCOUNTS}); INSERT dbo.entries (account, n) SELECT id, 1 FROM \
             dbo.accounts"
        ),
        format!("CREATE TABLE dbo.slots0 ({slots}, filler varchar(max) NULL, INDEX by_owner (owner, k), INDEX by_v (v) INCLUDE (k, owner))"),
        "CREATE TABLE dbo.slots1 (k int NOT NULL, owner int NOT NULL, v int NOT NULL, filler varchar(200) NULL, INDEX by_k (k))".into(),
        format!(
            "CREATE TABLE dbo.slots2 ({slots}, since datetime2 GENERATED ALWAYS AS ROW START, until_ datetime2 GENERATED ALWAYS AS ROW END, PERIOD FOR \
             SYSTEM_TIME (since, until_)) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.slots2_before))"
        ),
        format!("CREATE TABLE dbo.here (k int NOT NULL PRIMARY KEY); CREATE TABLE dbo.there (k int NOT NULL PRIMARY KEY); INSERT dbo.here SELECT value FROM GENERATE_SERIES(1, {MOVED})"),
        "CREATE PARTITION FUNCTION hundreds (int) AS RANGE RIGHT FOR VALUES (100, 200, 300); CREATE PARTITION SCHEME hundreds AS PARTITION hundreds ALL \
         TO ([PRIMARY])"
            .into(),
        format!(
            "CREATE TABLE dbo.parts (k int NOT NULL PRIMARY KEY, v int NOT NULL, INDEX by_v (v) INCLUDE (k)) ON hundreds (k); CREATE TABLE dbo.stage (k int \
             NOT NULL PRIMARY KEY CHECK (k >= 100 AND k < 200), v int NOT NULL, INDEX by_v (v) INCLUDE (k)); INSERT dbo.parts SELECT value, value % 7 FROM \
             GENERATE_SERIES(0, {})",
            PARTED - 1
        ),
    ];
    batches.iter().try_for_each(|batch| session.execute(batch).map_err(|e| anyhow!("{e}: {batch}")))
}

/// What gives 0 in every snapshot, with what it would mean if it did not.
pub(super) fn invariants() -> Vec<(String, String)> {
    let accounts = |what: &str, rest: &str| format!("(SELECT {what} FROM dbo.accounts WITH ({rest})");
    let none = |parts: [String; 2]| format!("SELECT CONVERT(bigint, ABS({}) + ABS({}))", parts[0], parts[1]);
    let mut all = vec![(
        "the sum of all accounts is not what it was".to_owned(),
        format!("SELECT SUM(CONVERT(bigint, balance)) - {TOTAL} FROM dbo.accounts WITH (INDEX(1))"),
    )];
    for (index, balance) in WHOLE {
        let counts = format!(
            "{}) - {})",
            accounts("COUNT_BIG(*)", "INDEX(1)"),
            accounts("COUNT_BIG(*)", &format!("INDEX({index})"))
        );
        let sum = accounts(&format!("SUM(CONVERT(bigint, {balance}))"), &format!("INDEX({index})"));
        all.push((
            format!("the accounts in {index} are not those of the table"),
            none([counts, format!("{sum}) - {TOTAL}")]),
        ));
    }
    let flagged = |what: &str| {
        let of = |index: &str| format!("ISNULL({} WHERE flag = 1), 0)", accounts(what, index));
        format!("{} - {}", of("INDEX(flagged)"), of("INDEX(1)"))
    };
    let kept = |table: &str| {
        let counts =
            format!("(SELECT COUNT_BIG(*) FROM dbo.accounts WITH (INDEX(1))) - (SELECT SUM(n) FROM {table})");
        none([counts, format!("(SELECT SUM(total) FROM {table}) - {TOTAL}")])
    };
    let ends = |order: &str| {
        format!(
            "(SELECT SUM(a.balance) FROM (SELECT TOP (100000000) balance FROM dbo.accounts ORDER BY id {order}) a) - {TOTAL}"
        )
    };
    let more = [
        ("the accounts in a filtered index are not those of the table", none([flagged("COUNT_BIG(*)"), flagged("SUM(CONVERT(bigint, balance))")])),
        ("what a trigger keeps differs from the accounts", kept("dbo.branches")),
        ("the indexed view differs from the accounts", kept("dbo.of_branches WITH (NOEXPAND)")),
        ("the accounts forwards or backwards are not all", none([ends("ASC"), ends("DESC")])),
        ("an account found by a scan is not found by a seek", "SELECT COUNT(*) FROM dbo.accounts a WITH (INDEX(by_balance)) WHERE NOT EXISTS (SELECT * FROM dbo.accounts b WITH (FORCESEEK) WHERE b.code = a.code AND b.id = a.id AND b.balance = a.balance)".into()),
        ("a code is there twice", "SELECT COUNT(*) - COUNT(DISTINCT code) FROM dbo.accounts WITH (INDEX(1))".into()),
        ("rows of partitions and of what is switched out are not all", format!("SELECT (SELECT COUNT(*) FROM dbo.parts WITH (INDEX(1))) + (SELECT COUNT(*) FROM dbo.stage WITH (INDEX(1))) - {PARTED}")),
        ("the rows of partitions in an index are not those of the table", format!("SELECT (SELECT COUNT(*) + SUM(k) FROM dbo.parts WITH (INDEX(by_v))) + (SELECT COUNT(*) + ISNULL(SUM(k), 0) FROM dbo.stage WITH (INDEX(by_v))) - {PARTED} - {}", PARTED * (PARTED - 1) / 2)),
        ("an entry has no account", "SELECT COUNT(*) FROM dbo.entries e WHERE NOT EXISTS (SELECT * FROM dbo.accounts a WHERE a.id = e.account)".into()),
        ("the entries by account are not those of the table", "SELECT (SELECT COUNT(*) FROM dbo.entries WITH (INDEX(1))) - (SELECT COUNT(*) FROM dbo.entries WITH (INDEX(by_account)))".into()),
    ];
    all.extend(more.map(|(what, sql)| (what.to_owned(), sql)));
    all
}

/// What is so when nobody changes anything: the invariants, each branch by itself, and what DBCC finds.
///
/// # Errors
/// What the server says to a question; what DBCC finds is in the answer.
pub(super) fn at_rest(session: &mut dyn Connection) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    let branch = "SELECT COUNT(*) FROM dbo.branches b LEFT JOIN (SELECT branch, COUNT(*) AS n, SUM(balance) AS total FROM dbo.accounts GROUP BY branch) \
                  a ON a.branch = b.branch WHERE ISNULL(a.n, 0) <> b.n OR ISNULL(a.total, 0) <> b.total";
    let moved =
        format!("SELECT (SELECT COUNT(*) FROM dbo.here) + (SELECT COUNT(*) FROM dbo.there) - {MOVED}");
    let more = [
        ("a branch differs from its accounts", branch),
        ("rows that are moved as a whole are not whole", &moved),
    ];
    for (what, sql) in invariants().into_iter().chain(more.map(|(what, sql)| (what.into(), sql.into()))) {
        let difference = number(session, &sql)?;
        if difference != Some(0) {
            broken.push(format!("at rest {what}: {difference:?}"));
        }
    }
    for dbcc in ["DBCC CHECKDB WITH NO_INFOMSGS", "DBCC CHECKCONSTRAINTS WITH ALL_CONSTRAINTS"] {
        match session.query(dbcc) {
            Ok(rows) if rows.is_empty() => {}
            Ok(rows) => broken.push(format!("{dbcc}: {rows:?}")),
            Err(error) => broken.push(format!("{dbcc}: {error}")),
        }
    }
    Ok(broken)
}
