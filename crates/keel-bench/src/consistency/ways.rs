//! Ways in which a statement comes to tables that others switch and empty: through functions and triggers, cursors, SELECT INTO, and from another
//! database. Whichever it is, the rows that are moved as a whole are all there.

use super::clients::{Crew, Worker};
use super::jobs::{call_error, switch_in};
use super::tables::MOVED;
use crate::fleet::number;
use anyhow::{Result, anyhow};
use keel_workload::{CallError, Connection};

/// The other database. In a group only the instance has it that made it.
const BESIDE: &str = "beside";

/// How many rows are missing, or too many.
fn off(database: &str) -> String {
    format!(
        "((SELECT COUNT(*) FROM {database}dbo.here) + (SELECT COUNT(*) FROM {database}dbo.there) - {MOVED})"
    )
}

/// Makes the modules, and the other database.
///
/// # Errors
/// What the server says.
pub(super) fn make(session: &mut dyn Connection) -> Result<()> {
    let off = off("");
    let batches = [
        format!(
            "CREATE FUNCTION dbo.off_by() RETURNS int AS BEGIN DECLARE @off int; SELECT @off = {off}; RETURN @off END"
        ),
        format!(
            "CREATE FUNCTION dbo.off_rows() RETURNS @r TABLE (missing int) AS BEGIN INSERT @r SELECT {off}; RETURN END"
        ),
        format!(
            "CREATE FUNCTION dbo.off_inline() RETURNS TABLE AS RETURN SELECT {off} AS missing, dbo.off_by() AS again"
        ),
        format!("CREATE PROCEDURE dbo.tell_off AS SELECT {off}"),
        "CREATE TABLE dbo.asked (id int NOT NULL IDENTITY PRIMARY KEY, missing int NULL)".into(),
        format!(
            "CREATE TRIGGER dbo.answer ON dbo.asked AFTER INSERT AS UPDATE a SET missing = ABS({off}) + ABS(dbo.off_by()) FROM dbo.asked a JOIN inserted i ON \
             i.id = a.id"
        ),
        format!("CREATE DATABASE {BESIDE}"),
        format!("ALTER DATABASE {BESIDE} SET ALLOW_SNAPSHOT_ISOLATION ON"),
        format!(
            "CREATE TABLE {BESIDE}.dbo.here (k int NOT NULL PRIMARY KEY); CREATE TABLE {BESIDE}.dbo.there (k int NOT NULL PRIMARY KEY); INSERT \
             {BESIDE}.dbo.here SELECT value FROM GENERATE_SERIES(1, {MOVED})"
        ),
    ];
    batches.iter().try_for_each(|batch| session.execute(batch).map_err(|e| anyhow!("{e}: {batch}")))
}

/// Each gives 0.
fn ways() -> Vec<(&'static str, String)> {
    let (own, beside) = (off(""), off(&format!("{BESIDE}.")));
    let moved = "SELECT k FROM dbo.here UNION ALL SELECT k FROM dbo.there";
    let opened = |kind: &str| {
        format!(
            "DECLARE @k int, @n int = -{MOVED}; DECLARE c CURSOR LOCAL {kind} FOR {moved}; WAITFOR DELAY '00:00:00.005'; OPEN c; FETCH NEXT FROM c INTO @k; \
             WHILE @@FETCH_STATUS = 0 BEGIN SET @n += 1; FETCH NEXT FROM c INTO @k END; CLOSE c; DEALLOCATE c; SELECT @n"
        )
    };
    let read_again = |kind: &str| {
        format!(
            "DECLARE @b int, @off int, @worst int = 0; DECLARE c CURSOR LOCAL {kind} FOR SELECT branch, {own} FROM dbo.branches; OPEN c; FETCH NEXT FROM c \
             INTO @b, @off; WHILE @@FETCH_STATUS = 0 BEGIN IF @off <> 0 SET @worst = @off; FETCH NEXT FROM c INTO @b, @off END; CLOSE c; DEALLOCATE c; \
             SELECT @worst"
        )
    };
    vec![
        ("a query", format!("SELECT {own}")),
        ("a scalar function", "SELECT dbo.off_by()".into()),
        ("a function by SET", "DECLARE @off int; SET @off = dbo.off_by(); SELECT @off".into()),
        ("a table function", "SELECT missing FROM dbo.off_rows()".into()),
        ("an inline function", "SELECT ABS(missing) + ABS(again) FROM dbo.off_inline()".into()),
        ("a condition", format!("IF {own} = 0 SELECT 0 ELSE SELECT 1")),
        ("INSERT EXEC", "DECLARE @t TABLE (missing int); INSERT @t EXEC dbo.tell_off; SELECT missing FROM @t".into()),
        (
            "SELECT INTO",
            format!(
                "DROP TABLE IF EXISTS #moved; SELECT k INTO #moved FROM ({moved}) a; SELECT COUNT(*) - {MOVED} FROM #moved"
            ),
        ),
        (
            "a trigger",
            "INSERT dbo.asked DEFAULT VALUES; DECLARE @id int = SCOPE_IDENTITY(); SELECT missing FROM dbo.asked WHERE id = @id; DELETE dbo.asked WHERE id = @id"
                .into(),
        ),
        ("a static cursor", opened("STATIC")),
        ("a fast cursor", opened("FAST_FORWARD")),
        ("a keyset cursor", read_again("KEYSET")),
        ("a dynamic cursor", read_again("DYNAMIC")),
        (
            "two databases",
            format!("IF DB_ID(N'{BESIDE}') IS NULL SELECT 0 ELSE EXEC (N'SELECT ABS({own}) + ABS({beside})')"),
        ),
        ("DBCC", "DBCC CHECKTABLE (N'dbo.here') WITH NO_INFOMSGS; DBCC CHECKTABLE (N'dbo.accounts') WITH NO_INFOMSGS; SELECT 0".into()),
    ]
}

/// Looks for the moved rows in some of the ways, in a transaction or without one.
pub(super) fn ask(crew: &Crew<'_>, w: &mut Worker<'_>) -> Result<(), CallError> {
    let level = w.pick(&["READ COMMITTED", "READ COMMITTED", "SNAPSHOT", "REPEATABLE READ", "SERIALIZABLE"]);
    let begin = w.begin(level);
    let commits = w.dice.bool();
    w.session.execute(&begin)?;
    if !commits {
        w.session.execute("COMMIT")?;
    }
    let all = ways();
    for _ in 0..3 {
        let (what, sql) = &all[w.dice.usize(0..all.len())];
        match number(w.session, sql) {
            Ok(Some(0)) => {}
            Ok(by) => crew.violation(&format!("under {level} {what} is off by {by:?}")),
            Err(error) => return Err(call_error(error)),
        }
    }
    if commits { w.session.execute("COMMIT") } else { Ok(()) }
}

/// Switches and empties the tables of the other database.
pub(super) fn switch_beside(crew: &Crew<'_>, w: &mut Worker<'_>) -> Result<(), CallError> {
    std::thread::sleep(std::time::Duration::from_millis(w.dice.u64(0..20)));
    switch_in(crew, w, &format!("{BESIDE}."))
}
