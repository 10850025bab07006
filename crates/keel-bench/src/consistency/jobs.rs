//! What is done to the accounts, and how they are looked at.

use super::DATABASE;
use super::clients::{Crew, Job, Worker};
use super::tables::{ACCOUNTS, BRANCHES, MOVED, TOTAL, invariants};
use crate::fleet::number;
use anyhow::Error;
use keel_workload::{CallError, Cell};

type Done = Result<(), CallError>;

/// Who changes the accounts, with a name and how many of each for one client.
pub(super) const WRITERS: [(&str, Job); 9] = [
    ("transfers", transfer),
    ("transfers", transfer),
    ("moves between branches", move_branch),
    ("replacements", replace),
    ("splits and joins", split),
    ("merges", merge),
    ("changes of all accounts", change_all),
    ("cursors", walk),
    ("changes of partitioned rows", change_parts),
];

/// Who gets in their way; one of each.
pub(super) const DISTURBERS: [(&str, Job); 8] = [
    ("checkpoints", checkpoint),
    ("schema changes", reshape),
    ("sessions killed", kill),
    ("tables switched or emptied", switch),
    ("tables of another database switched or emptied", super::ways::switch_beside),
    ("partitions switched, split or merged", switch_part),
    ("log backups", super::backups::back_up_log),
    ("full and differential backups", super::backups::back_up),
];

fn transfer(_: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    let level = w.pick(&["READ COMMITTED", "READ COMMITTED", "SNAPSHOT", "SERIALIZABLE", "REPEATABLE READ"]);
    let (a, b, x) = (1 + w.below(ACCOUNTS), 1 + w.below(ACCOUNTS), w.below(20));
    let undone = "SAVE TRANSACTION s; UPDATE dbo.accounts SET balance += 1000, branch = (branch + 1) % 40 WHERE id IN (@a, @b); DELETE dbo.accounts \
                  WHERE id = @a; ROLLBACK TRANSACTION s; ";
    let undone = if w.below(3) == 0 { undone } else { "" };
    let note = match w.below(8) {
        0 => format!(
            "UPDATE dbo.accounts SET note = REPLICATE(CONVERT(varchar(max), 'y'), {}) WHERE id = @b; ",
            w.below(20_000)
        ),
        1 => "UPDATE dbo.accounts SET flag = 1 - flag WHERE id = @a; ".into(),
        _ => String::new(),
    };
    let (begin, end) = (w.begin(level), w.end());
    w.session.execute(&format!(
        "{begin}DECLARE @a int = {a}, @b int = {b}; IF EXISTS (SELECT * FROM dbo.accounts WHERE id = @a) AND EXISTS (SELECT * FROM dbo.accounts WHERE id \
         = @b) BEGIN UPDATE dbo.accounts SET balance -= {x} WHERE id = @a; IF @@ROWCOUNT = 1 UPDATE dbo.accounts SET balance += {x} WHERE id = @b; IF \
         @@ROWCOUNT <> 1 THROW 50001, N'gone', 1 END; {undone}{note}{end}"
    ))
}

fn move_branch(_: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    let (from, by) = (1 + w.below(ACCOUNTS), 1 + w.below(BRANCHES - 1));
    let to = from + [1, 5, 50, 300][w.dice.usize(0..4)];
    let (begin, end) = (w.begin("READ COMMITTED"), w.end());
    w.session.execute(&format!("{begin}UPDATE dbo.accounts SET branch = (branch + {by}) % {BRANCHES} WHERE id BETWEEN {from} AND {to}; {end}"))
}

/// The same accounts under other keys; what hung on them goes by cascade.
fn replace(_: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    let level = w.pick(&["READ COMMITTED", "SERIALIZABLE"]);
    let (from, more) = (1 + w.below(ACCOUNTS * 2), [0, 0, 3, 40][w.dice.usize(0..4)]);
    let (begin, end) = (w.begin(level), w.end());
    w.session.execute(&format!(
        "{begin}DECLARE @gone TABLE (branch int, code bigint, balance int, flag tinyint, note varchar(max)); DELETE dbo.accounts OUTPUT deleted.branch, \
         deleted.code, deleted.balance, deleted.flag, deleted.note INTO @gone WHERE id BETWEEN {from} AND {}; INSERT dbo.accounts (branch, code, balance, \
         flag, note) SELECT branch, code, balance, 1 - flag, note FROM @gone; INSERT dbo.entries (account, n) SELECT a.id, 2 FROM dbo.accounts a JOIN \
         @gone g ON g.code = a.code; {end}",
        from + more
    ))
}

fn split(_: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    let (from, code, branch) = (w.below(ACCOUNTS), w.dice.i64(ACCOUNTS..1_000_000_000), w.below(BRANCHES));
    let begin = w.begin("READ COMMITTED");
    let join = w.dice.i64(ACCOUNTS..1_000_000_000);
    w.session.execute(&format!(
        "{begin}DECLARE @id int = (SELECT TOP (1) id FROM dbo.accounts WITH (UPDLOCK) WHERE id >= {from} ORDER BY id); IF @id IS NOT NULL AND NOT EXISTS \
         (SELECT * FROM dbo.accounts WITH (HOLDLOCK) WHERE code = {code}) BEGIN UPDATE dbo.accounts SET balance -= 50 WHERE id = @id; INSERT dbo.accounts \
         (branch, code, balance, flag) VALUES ({branch}, {code}, 50, 1); INSERT dbo.entries (account, n) SELECT id, 3 FROM dbo.accounts WHERE code = \
         {code} END; COMMIT"
    ))?;
    w.session.execute(&format!(
        "{begin}DECLARE @gone TABLE (balance int); DELETE TOP (1) dbo.accounts OUTPUT deleted.balance INTO @gone WHERE code > {join}; IF EXISTS (SELECT * \
         FROM @gone) BEGIN UPDATE TOP (1) dbo.accounts SET balance += (SELECT SUM(balance) FROM @gone) WHERE code <= {ACCOUNTS}; IF @@ROWCOUNT <> 1 \
         THROW 50001, N'gone', 1 END; COMMIT"
    ))
}

fn merge(_: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    let from = w.below(ACCOUNTS);
    let (begin, end) = (w.begin("READ COMMITTED"), w.end());
    w.session.execute(&format!(
        "{begin}MERGE dbo.accounts WITH (HOLDLOCK) AS t USING (SELECT id, IIF(ROW_NUMBER() OVER (ORDER BY id) % 2 = 0, 1, -1) AS d, COUNT(*) OVER () AS n \
         FROM dbo.accounts WHERE id BETWEEN {from} AND {from} + 9) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET balance += IIF(s.n % 2 = 0, s.d, 0), \
         flag = 1 - t.flag; IF (SELECT SUM(CONVERT(bigint, balance)) FROM dbo.accounts WITH (SERIALIZABLE)) = {TOTAL} {end} ELSE ROLLBACK"
    ))
}

/// Long enough to escalate its locks, and to be in everybody's way.
fn change_all(_: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    std::thread::sleep(std::time::Duration::from_millis(w.dice.u64(0..500)));
    let (begin, end) = (w.begin("READ COMMITTED"), w.pick(&["COMMIT", "ROLLBACK"]));
    w.session.execute(&format!(
        "{begin}UPDATE dbo.accounts SET flag = 1 - flag, branch = (branch + 1) % {BRANCHES}; {end}"
    ))
}

/// All accounts, row by row.
fn walk(crew: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    let kind = w.pick(&["STATIC", "KEYSET", "DYNAMIC", "FAST_FORWARD"]);
    let begin = w.begin("SNAPSHOT");
    let rows = w.session.query(&format!(
        "{begin}DECLARE @b int, @n int = 0, @sum bigint = 0; DECLARE c CURSOR LOCAL {kind} FOR SELECT balance FROM dbo.accounts; OPEN c; FETCH NEXT FROM c \
         INTO @b; WHILE @@FETCH_STATUS = 0 BEGIN SET @n += 1; SET @sum += @b; FETCH NEXT FROM c INTO @b END; CLOSE c; DEALLOCATE c; SELECT @sum - \
         {TOTAL}, CONVERT(bigint, @n - (SELECT COUNT(*) FROM dbo.accounts)); COMMIT"
    ))?;
    if rows != [[Cell::Int(0), Cell::Int(0)]] {
        crew.violation(&format!("a {kind} cursor is off by {rows:?}"));
    }
    Ok(())
}

/// Some invariants, in a statement of its own each or in one snapshot.
pub(super) fn look(crew: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    let level = w.pick(&["READ COMMITTED", "READ COMMITTED", "SNAPSHOT", "SERIALIZABLE"]);
    let begin = w.begin(level);
    w.session.execute(&begin)?;
    let all = invariants();
    for _ in 0..3 {
        let (what, sql) = &all[w.dice.usize(0..all.len())];
        let option = w.pick(&["", " OPTION (MAXDOP 1)", " OPTION (MAXDOP 4)", " OPTION (RECOMPILE)"]);
        match number(w.session, &format!("{sql}{option}")) {
            Ok(Some(0)) => {}
            Ok(difference) => crew.violation(&format!("under {level}{option} {what}: {difference:?}")),
            Err(error) => return Err(call_error(error)),
        }
    }
    w.session.execute("COMMIT")
}

/// Rows read twice: in a transaction that keeps them, and in both directions.
pub(super) fn read_again(crew: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    let level = w.pick(&["REPEATABLE READ", "SNAPSHOT"]);
    let from = w.below(ACCOUNTS * 2);
    let begin = w.begin(level);
    let rows = |order: &str| {
        format!(
            "SELECT id, balance, branch, code FROM dbo.accounts WHERE id BETWEEN {from} AND {from} + 99 ORDER BY id {order}"
        )
    };
    let before = w.session.query(&format!("{begin}{}", rows("ASC")))?;
    let mut after = w.session.query(&rows("DESC"))?;
    after.reverse();
    // Others may be inserted between them under REPEATABLE READ.
    let there =
        before.iter().all(|row| after.contains(row)) && (level != "SNAPSHOT" || before.len() == after.len());
    if !there {
        crew.violation(&format!("under {level} rows from {from} on were {before:?}, then {after:?}"));
    }
    w.session.execute("COMMIT")
}

pub(super) fn call_error(error: Error) -> CallError {
    error.downcast().unwrap_or_else(|error| CallError::Refused(error.to_string()))
}

fn checkpoint(_: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    std::thread::sleep(std::time::Duration::from_millis(w.dice.u64(0..100)));
    w.session.execute("CHECKPOINT")
}

fn reshape(_: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    std::thread::sleep(std::time::Duration::from_millis(w.dice.u64(0..300)));
    let index = w.pick(&["by_branch", "by_rest", "by_doubled", "by_balance", "flagged"]);
    let sql = match w.below(9) {
        0 => format!("ALTER INDEX {index} ON dbo.accounts REBUILD"),
        1 => format!("ALTER INDEX {index} ON dbo.accounts REBUILD WITH (ONLINE = ON)"),
        2 => "ALTER INDEX ALL ON dbo.accounts REBUILD".into(),
        3 => "UPDATE STATISTICS dbo.accounts".into(),
        4 => "CREATE INDEX more ON dbo.accounts (flag, branch) INCLUDE (code); DROP INDEX more ON dbo.accounts".into(),
        5 => "CREATE INDEX fewer ON dbo.accounts (code DESC) WHERE branch < 5; DROP INDEX fewer ON dbo.accounts".into(),
        6 => "CREATE INDEX by_branch ON dbo.accounts (branch) INCLUDE (balance, flag) WITH (DROP_EXISTING = ON, ONLINE = ON)".into(),
        7 => "ALTER TABLE dbo.accounts ADD extra int NOT NULL CONSTRAINT seven DEFAULT 7".into(),
        _ => "ALTER TABLE dbo.accounts DROP CONSTRAINT IF EXISTS seven; ALTER TABLE dbo.accounts DROP COLUMN IF EXISTS extra".into(),
    };
    w.session.execute(&format!("SET LOCK_TIMEOUT 5000; {sql}"))
}

fn kill(_: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    std::thread::sleep(std::time::Duration::from_millis(w.dice.u64(100..1000)));
    let sql = format!(
        "SELECT session_id FROM sys.dm_exec_sessions WHERE is_user_process = 1 AND session_id <> @@SPID AND database_id = DB_ID(N'{DATABASE}')"
    );
    let sessions = w.session.query(&sql)?;
    match w.dice.choice(&sessions).map(Vec::as_slice) {
        Some([Cell::Int(id)]) => w.session.execute(&format!("KILL {id}")),
        _ => Ok(()),
    }
}

/// Rows that go from one table to another as a whole, by SWITCH, or are made anew.
fn switch(crew: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    if w.below(4) == 0 {
        let begin = w.begin("READ COMMITTED");
        return load(w, &begin);
    }
    switch_in(crew, w, "")
}

/// The same by statements, in the database whose name stands before the tables'.
pub(super) fn switch_in(crew: &Crew<'_>, w: &mut Worker<'_>, of: &str) -> Done {
    let (here, there) = (format!("{of}dbo.here"), format!("{of}dbo.there"));
    let series = format!("SELECT value FROM GENERATE_SERIES(1, {MOVED})");
    let sql = match w.below(3) {
        0 => format!(
            "IF EXISTS (SELECT * FROM {here}) BEGIN TRUNCATE TABLE {there}; ALTER TABLE {here} SWITCH TO {there} END ELSE ALTER TABLE {there} SWITCH TO {here}"
        ),
        1 => format!("TRUNCATE TABLE {there}; TRUNCATE TABLE {here}; INSERT {here} {series}"),
        _ => format!("DELETE {there}; DELETE {here}; INSERT {there} WITH (TABLOCK) {series}"),
    };
    let (begin, end) = (w.begin("READ COMMITTED"), w.end());
    w.session.execute(&format!("{begin}{sql}; {end}"))?;
    let rows = number(
        w.session,
        &format!("SELECT COUNT(*) FROM (SELECT k FROM {here} UNION ALL SELECT k FROM {there}) a"),
    )
    .map_err(call_error)?;
    if rows != Some(MOVED) {
        crew.violation(&format!("{rows:?} rows of {MOVED} after {sql}; {end}"));
    }
    Ok(())
}

/// Made anew by a bulk load.
fn load(w: &mut Worker<'_>, begin: &str) -> Done {
    w.session.execute(&format!("{begin}DELETE dbo.there; TRUNCATE TABLE dbo.here"))?;
    let end = w.end();
    w.session.bulk("there", &["k"], &mut (1..=MOVED).map(|k| vec![Cell::Int(k)]))?;
    w.session.execute(end)
}

/// Rows under other keys, in other partitions, and with other values.
fn change_parts(_: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    let level = w.pick(&["READ COMMITTED", "SNAPSHOT", "SERIALIZABLE"]);
    let (one, every, by) = (w.below(100), 1 + w.below(20), 100 * (1 + w.below(3)));
    let (begin, end) = (w.begin(level), w.end());
    w.session.execute(&format!(
        "{begin}UPDATE dbo.parts SET v = v + 1 WHERE k % {every} = 0; IF NOT EXISTS (SELECT * FROM dbo.stage WITH (HOLDLOCK)) UPDATE dbo.parts SET k = (k + \
         {by}) % 400 WHERE k % 100 = {one}; {end}"
    ))
}

/// Partitions that go to a table and come back, and others that are split and merged.
fn switch_part(_: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    std::thread::sleep(std::time::Duration::from_millis(w.dice.u64(0..200)));
    let at = [50, 150, 250, 350][w.dice.usize(0..4)];
    let split = format!(
        "IF EXISTS (SELECT * FROM sys.partition_range_values v JOIN sys.partition_functions f ON f.function_id = v.function_id WHERE f.name = N'hundreds' \
         AND v.value = {at}) ALTER PARTITION FUNCTION hundreds() MERGE RANGE ({at}) ELSE BEGIN ALTER PARTITION SCHEME hundreds NEXT USED [PRIMARY]; ALTER \
         PARTITION FUNCTION hundreds() SPLIT RANGE ({at}) END"
    );
    let sql = match w.below(4) {
        0 => &split,
        1 => {
            "DELETE TOP (1) dbo.parts OUTPUT deleted.k, deleted.v INTO dbo.stage WHERE k BETWEEN 100 AND 199; DELETE dbo.stage OUTPUT deleted.k, deleted.v INTO dbo.parts"
        }
        _ => {
            "IF EXISTS (SELECT * FROM dbo.stage) ALTER TABLE dbo.stage SWITCH TO dbo.parts PARTITION $PARTITION.hundreds(100) ELSE ALTER TABLE dbo.parts \
             SWITCH PARTITION $PARTITION.hundreds(100) TO dbo.stage"
        }
    };
    let (begin, end) = (w.begin("READ COMMITTED"), w.end());
    w.session.execute(&format!("{begin}{sql}; {end}"))
}
