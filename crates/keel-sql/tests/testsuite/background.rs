//! What the host does or tells beside requests: removing old versions of rows, conversations of a connection.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, server, well};
use keel_sql::{Session, SessionOptions};
use std::sync::Arc;

/// A table of `database` with versions of long ago, more of them than one transaction removes, and of an hour ago.
fn price(session: &mut Session, database: &str) {
    well(session, &format!("CREATE DATABASE {database}"));
    well(
        session,
        &format!(
            "USE {database}
             CREATE TABLE old (id int NOT NULL, since datetime2 NOT NULL, until datetime2 NOT NULL)
             INSERT old SELECT value, '2001-01-01', '2001-02-01' FROM GENERATE_SERIES(1, 10001)
             INSERT old VALUES (1, '2001-02-01', DATEADD(HOUR, -1, SYSUTCDATETIME()))
             CREATE TABLE price (id int NOT NULL PRIMARY KEY, since datetime2 GENERATED ALWAYS AS ROW START NOT NULL,
               until datetime2 GENERATED ALWAYS AS ROW END NOT NULL, PERIOD FOR SYSTEM_TIME (since, until))
             ALTER TABLE price SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.old, DATA_CONSISTENCY_CHECK = OFF,
               HISTORY_RETENTION_PERIOD = 1 DAY))"
        ),
    );
}

#[test]
fn old_versions_go_where_the_database_is_written_and_wants_it() {
    let engine = server();
    let mut session = connect(&engine);
    for database in ["limited", "kept", "frozen"] {
        price(&mut session, database);
    }
    well(&mut session, "USE master; ALTER DATABASE kept SET TEMPORAL_HISTORY_RETENTION OFF");
    well(&mut session, "ALTER DATABASE frozen SET READ_ONLY");
    let count = |session: &mut Session, database: &str| {
        let text = well(session, &format!("SELECT COUNT(*) AS n FROM {database}.dbo.old"));
        text.lines().nth(2).unwrap().trim().parse::<u32>().unwrap()
    };
    keel_sql::history_cleanup::clean(&engine, &|| true).unwrap();
    assert_eq!(count(&mut session, "limited"), 10_002, "the instance is stopping");
    keel_sql::history_cleanup::clean(&engine, &|| false).unwrap();
    assert_eq!(count(&mut session, "limited"), 1);
    assert_eq!(count(&mut session, "kept"), 10_002);
    assert_eq!(count(&mut session, "frozen"), 10_002);
}

#[test]
fn conversations_of_a_connection_have_it_as_their_parent() {
    let engine = server();
    let options = SessionOptions { login: "sa".to_owned(), sysadmin: true, ..SessionOptions::default() };
    let traffic = Arc::clone(&options.traffic);
    let mut session = engine.session(options).unwrap();
    traffic.note_conversations([0, 1].into_iter());
    let shown = well(
        &mut session,
        "SELECT c.net_transport, p.net_transport AS parent, COUNT(DISTINCT c.connection_id) AS n FROM sys.dm_exec_connections c
           LEFT JOIN sys.dm_exec_connections p ON p.connection_id = c.parent_connection_id
         WHERE c.session_id = @@SPID GROUP BY c.net_transport, p.net_transport ORDER BY 1",
    );
    let rows: Vec<String> = shown.lines().skip(2).take(2).map(|l| l.replace(' ', "")).collect();
    assert_eq!(rows, ["Session|TCP|2", "TCP|NULL|1"]);
}

#[test]
fn global_temporary_tables_go_with_the_session_that_made_them() {
    let engine = server();
    let mut other = connect(&engine);
    let left = |session: &mut Session| {
        let said = well(session, "SELECT COUNT(*) AS n FROM tempdb.sys.tables WHERE name LIKE '##%'");
        said.lines().nth(2).unwrap().trim().to_owned()
    };
    let mut maker = connect(&engine);
    well(
        &mut maker,
        "CREATE TABLE ##a (a int); SELECT 1 AS b INTO ##b; CREATE TABLE ##dropped (a int); DROP TABLE ##dropped",
    );
    well(&mut maker, "BEGIN TRAN; CREATE TABLE ##undone (a int)");
    well(&mut other, "INSERT ##a VALUES (1); BEGIN TRAN; SELECT * FROM ##a");
    drop(maker);
    assert_eq!(left(&mut other), "0");
    well(&mut other, "COMMIT; CREATE TABLE ##a (c int)");
    other.reset(false, &mut Sink::default());
    assert_eq!(left(&mut other), "0");
}
