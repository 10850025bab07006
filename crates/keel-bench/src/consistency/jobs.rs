//! What is done to the accounts, and how they are looked at.

use super::DATABASE;
use super::clients::{Crew, Job, Worker};
use super::tables::{ACCOUNTS, BRANCHES, TOTAL, invariants};
use crate::fleet::number;
use anyhow::Error;
use keel_workload::{CallError, Cell};

type Done = Result<(), CallError>;

/// Who changes the accounts, with a name and how many of each for one client.
pub(super) const WRITERS: [(&str, Job); 8] = [
    ("transfers", transfer),
    ("transfers", transfer),
    ("moves between branches", move_branch),
    ("replacements", replace),
    ("splits and joins", split),
    ("merges", merge),
    ("changes of all accounts", change_all),
    ("cursors", walk),
];

/// Who gets in their way; one of each.
pub(super) const DISTURBERS: [(&str, Job); 5] = [
    ("checkpoints", checkpoint),
    ("schema changes", reshape),
    ("sessions killed", kill),
    ("tables switched or emptied", switch),
    ("log backups", back_up),
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

fn call_error(error: Error) -> CallError {
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
    let begin = w.begin("READ COMMITTED");
    let sql = match w.below(3) {
        0 => {
            "IF EXISTS (SELECT * FROM dbo.here) BEGIN TRUNCATE TABLE dbo.there; ALTER TABLE dbo.here SWITCH TO dbo.there END ELSE ALTER TABLE dbo.there SWITCH TO dbo.here"
        }
        1 => {
            "TRUNCATE TABLE dbo.there; TRUNCATE TABLE dbo.here; INSERT dbo.here SELECT value FROM GENERATE_SERIES(1, 500)"
        }
        _ => {
            "DELETE dbo.there; DELETE dbo.here; INSERT dbo.there WITH (TABLOCK) SELECT value FROM GENERATE_SERIES(1, 500)"
        }
    };
    let end = w.end();
    w.session.execute(&format!("{begin}{sql}; {end}"))?;
    let rows = number(
        w.session,
        "SELECT COUNT(*) FROM (SELECT k FROM dbo.here UNION ALL SELECT k FROM dbo.there) a",
    )
    .map_err(call_error)?;
    if rows != Some(500) {
        crew.violation(&format!("{rows:?} rows of 500 after {sql}; {end}"));
    }
    Ok(())
}

/// The next backup of the log; the chain is restored in the end.
fn back_up(crew: &Crew<'_>, w: &mut Worker<'_>) -> Done {
    std::thread::sleep(std::time::Duration::from_millis(w.dice.u64(300..1500)));
    w.session.execute(&format!("BACKUP LOG [{DATABASE}] TO DISK = N'{}'", crew.log_backups.display()))
}
