//! Procedures that run when the instance starts.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, open, run, well};
use keel_base::env::sim::{SimDisk, Tear};
use keel_sql::startup;

#[test]
fn what_is_marked_runs_at_the_start_and_what_is_not_does_not() {
    let disk = SimDisk::new();
    let mut session = connect(&open(&disk));
    well(&mut session, "CREATE TABLE master.dbo.starts (who sysname, spid int)");
    for name in ["marked", "other", "failing"] {
        let body = if name == "failing" { "RAISERROR('it fails', 16, 1)" } else { "SELECT 1" };
        let text = format!(
            "CREATE PROCEDURE {name} AS INSERT master.dbo.starts VALUES ('{name} ' + SUSER_SNAME(), @@SPID); {body}"
        );
        well(&mut session, &text);
    }
    well(&mut session, "CREATE PROCEDURE asks @a int AS SELECT @a");
    let refused = |session: &mut keel_sql::Session, sql: &str, number: i32| {
        let said = run(session, sql);
        assert!(said.contains(&format!("Msg {number},")), "{sql}: {said}");
    };
    refused(&mut session, "EXEC sp_procoption 'asks', 'startup', 'on'", 15399);
    refused(&mut session, "EXEC sp_procoption 'marked', 'restart', 'on'", 15600);
    refused(&mut session, "EXEC sp_procoption 'marked', 'startup', 'perhaps'", 15600);
    refused(&mut session, "EXEC sp_procoption 'nothing', 'startup', 'on'", 15165);
    well(&mut session, "CREATE DATABASE shop; USE shop");
    well(&mut session, "CREATE PROCEDURE elsewhere AS SELECT 1");
    refused(&mut session, "EXEC sp_procoption 'elsewhere', 'startup', 'on'", 15398);
    well(&mut session, "USE master");
    for name in ["marked", "other", "failing"] {
        well(
            &mut session,
            &format!(
                "EXEC sp_procoption @ProcName = '{name}', @OptionName = 'STARTUP', @OptionValue = 'true'"
            ),
        );
    }
    well(&mut session, "EXEC sp_procoption 'other', 'startup', 'off'");
    // It stays through ALTER.
    well(&mut session, "ALTER PROCEDURE marked AS INSERT master.dbo.starts VALUES ('marked again', @@SPID)");
    let shown = "SELECT name FROM sys.procedures WHERE is_auto_executed = 1 AND OBJECTPROPERTY(object_id, 'ExecIsStartup') = 1 ORDER BY name";
    let said = well(&mut session, shown);
    assert!(said.contains("failing\nmarked\n"), "{said}");
    let disk = disk.crash(Tear::LoseAll);
    let engine = open(&disk);
    startup::procedures(&engine).iter().for_each(startup::StartupProcedure::run);
    let mut session = connect(&engine);
    let said = well(&mut session, "SELECT who FROM master.dbo.starts ORDER BY who");
    assert!(
        said.contains("failing sa") && said.contains("marked again") && !said.contains("other"),
        "{said}"
    );
    // Without the option nothing is looked for; it goes with the last mark.
    well(
        &mut session,
        "EXEC sp_procoption 'marked', 'startup', 'off'; EXEC sp_procoption 'failing', 'startup', 'off'",
    );
    let said =
        well(&mut session, "SELECT value FROM sys.configurations WHERE name = 'scan for startup procs'");
    assert!(said.contains('0'), "{said}");
    assert!(startup::procedures(&open(&disk.crash(Tear::LoseAll))).is_empty());
}
