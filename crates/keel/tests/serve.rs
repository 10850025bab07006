//! The binary as people run it: start, one query, a second server refused, a clean stop, and everything still there.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const KEEL: &str = env!("CARGO_BIN_EXE_keel");
const PASSWORD: &str = "Keel-Test-1";

/// Killed if the test fails before it stops it.
struct Running {
    child: Child,
    port: String,
}

impl Running {
    fn start(data: &Path) -> Running {
        Running::start_with(data, &[])
    }

    fn start_with(data: &Path, more: &[&str]) -> Running {
        let mut child = serve(data).args(more).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let port = ready.trim().rsplit(':').next().unwrap().to_owned();
        assert!(ready.starts_with("keel: ready for connections on 127.0.0.1:"), "{ready}");
        Running { child, port }
    }

    fn sql(&self, more: &[&str]) -> Output {
        self.sql_as("sa", PASSWORD, more)
    }

    fn sql_as(&self, login: &str, password: &str, more: &[&str]) -> Output {
        let server = format!("127.0.0.1,{}", self.port);
        Command::new(KEEL)
            .args(["sql", "-S", &server, "-U", login, "-P", password, "-C", "-W", "-b"])
            .args(more)
            .output()
            .unwrap()
    }

    fn stop(mut self) {
        let pid = libc::pid_t::try_from(self.child.id()).unwrap();
        // SAFETY: the process is our child and has not been waited for.
        unsafe { libc::kill(pid, libc::SIGTERM) };
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(data: &Path) -> Command {
    let mut command = Command::new(KEEL);
    command.args(["serve", "--listen", "127.0.0.1:0", "--max-server-memory", "256", "--data"]).arg(data);
    command.env("MSSQL_SA_PASSWORD", PASSWORD);
    command
}

#[test]
fn serve_query_stop_and_again() {
    let data = std::env::temp_dir().join(format!("keel-serve-{}", std::process::id()));
    let first = Running::start(&data);
    let made = first.sql(&["-Q", "CREATE TABLE t (a int); INSERT t VALUES (42)"]);
    assert!(made.status.success(), "{made:?}");
    // Values given to variables are counted on the wire, and no result.
    let assigned =
        first.sql(&["-Q", "DECLARE @a int; SELECT @a = a FROM t; INSERT t VALUES (@a); DELETE TOP (1) t"]);
    assert_eq!(String::from_utf8_lossy(&assigned.stdout).matches("rows affected").count(), 2);
    let failed = first.sql(&["-Q", "SELECT * FROM nowhere"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stdout).contains("Msg 208, Level 16, State 1"), "{failed:?}");
    let second = serve(&data).output().unwrap();
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains("in use by another server"), "{second:?}");
    first.stop();

    let again = Running::start(&data);
    let read = again.sql(&["--csv", "-h", "-1", "-Q", "SELECT a FROM t"]);
    assert_eq!(String::from_utf8_lossy(&read.stdout).trim(), "42", "{read:?}");
    again.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[test]
fn min_server_memory_is_there_from_the_start() {
    let data = std::env::temp_dir().join(format!("keel-least-{}", std::process::id()));
    let too_much = serve(&data).args(["--min-server-memory", "257"]).output().unwrap();
    assert!(!too_much.status.success());
    let told = String::from_utf8_lossy(&too_much.stderr);
    assert!(told.contains("(257 MB) must not be more than max server memory (256 MB)"), "{told}");

    // Of itself a server without databases has less than half of that.
    let server = Running::start_with(&data, &["--min-server-memory", "256"]);
    let process = procfs::process::Process::new(i32::try_from(server.child.id()).unwrap()).unwrap();
    let resident = || (process.statm().unwrap().resident * procfs::page_size()) >> 20;
    let began = Instant::now();
    while resident() < 160 {
        assert!(began.elapsed() < Duration::from_secs(120), "{} MB", resident());
        std::thread::yield_now();
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[test]
fn shutdown_stops_the_server() {
    let data = std::env::temp_dir().join(format!("keel-shutdown-{}", std::process::id()));
    for statement in ["shutdown", "shutdown with nowait"] {
        let mut server = Running::start(&data);
        // The connection may end before the reply is read.
        server.sql(&["-Q", statement]);
        assert!(server.child.wait().unwrap().success(), "{statement}");
    }
    std::fs::remove_dir_all(&data).unwrap();
}

#[test]
fn logon_triggers_refuse_logins_and_can_be_left_out() {
    let data = std::env::temp_dir().join(format!("keel-logon-{}", std::process::id()));
    let server = Running::start(&data);
    let run = |text: &str| {
        let done = server.sql(&["-Q", text]);
        assert!(done.status.success(), "{text}: {done:?}");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    };
    run("CREATE LOGIN low WITH PASSWORD = 'Low-Keel-1234'");
    run("CREATE TABLE logons (who sysname, event xml, db sysname, n int)");
    run("GRANT INSERT ON logons TO public");
    run(
        "CREATE TRIGGER watches ON ALL SERVER FOR LOGON AS INSERT master.dbo.logons VALUES (SUSER_SNAME(), EVENTDATA(), DB_NAME(), @@TRANCOUNT)",
    );
    assert_eq!(
        run("SET NOCOUNT ON; SELECT COUNT(*), MAX(db), MAX(n), MAX(event.value('(/EVENT_INSTANCE/ClientHost)[1]', 'varchar(20)')), MAX(event.value('(/EVENT_INSTANCE/SID)[1]', 'varchar(20)')) FROM logons")
            .lines()
            .last()
            .unwrap(),
        "1 master 1 127.0.0.1 AQ=="
    );
    let low = || server.sql_as("low", "Low-Keel-1234", &["-Q", "SELECT 1 AS one"]);
    assert!(low().status.success());
    for refusal in ["ROLLBACK", "THROW 50001, 'no', 1", "SELECT 1 AS one", "INSERT nowhere VALUES (1)"] {
        run(&format!("ALTER TRIGGER watches ON ALL SERVER FOR LOGON AS IF SUSER_SNAME() = 'low' {refusal}"));
        let refused = low();
        let said = String::from_utf8_lossy(&refused.stderr) + String::from_utf8_lossy(&refused.stdout);
        assert!(!refused.status.success(), "{refusal}");
        assert!(said.contains("Logon failed for login 'low' due to trigger execution."), "{refusal}: {said}");
    }
    run(
        "ALTER TRIGGER watches ON ALL SERVER FOR LOGON AS PRINT 'heard by nobody'; RAISERROR('nor this', 16, 1)",
    );
    assert!(low().status.success());
    run("ALTER TRIGGER watches ON ALL SERVER WITH EXECUTE AS 'sa' FOR LOGON AS ROLLBACK");
    assert!(!server.sql(&["-Q", "SELECT 1"]).status.success());
    server.stop();

    let open = Running::start_with(&data, &["--no-logon-triggers"]);
    let dropped = open.sql(&["-Q", "DROP TRIGGER watches ON ALL SERVER"]);
    assert!(dropped.status.success(), "{dropped:?}");
    open.stop();
    let again = Running::start(&data);
    assert!(again.sql(&["-Q", "SELECT 1"]).status.success());
    again.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[test]
fn jobs_run_after_a_restart_and_end_with_the_server() {
    let data = std::env::temp_dir().join(format!("keel-agent-{}", std::process::id()));
    let server = Running::start(&data);
    let done = server.sql(&[
        "-Q",
        "USE msdb;
         EXEC sp_add_job N'starts';
         EXEC sp_add_jobstep @job_name = N'starts', @step_name = N's', @command = N'PRINT 1';
         EXEC sp_add_jobschedule @job_name = N'starts', @name = N'with the agent', @freq_type = 64;
         EXEC sp_add_jobserver @job_name = N'starts';
         EXEC sp_add_job N'waits';
         EXEC sp_add_jobstep @job_name = N'waits', @step_name = N's', @command = N'WAITFOR DELAY ''01:00:00''';
         EXEC sp_add_jobserver @job_name = N'waits';
         EXEC sp_start_job N'waits';
         DECLARE @till datetime = DATEADD(minute, 1, GETDATE());
         WHILE NOT EXISTS (SELECT 1 FROM sys.dm_keel_agent_jobs WHERE state = 1) AND GETDATE() < @till WAITFOR DELAY '00:00:00.010'",
    ]);
    assert!(done.status.success(), "{done:?}");
    // The job is told to stop; the server does not wait for an hour.
    server.stop();

    let history = "SET NOCOUNT ON; DECLARE @till datetime = DATEADD(minute, 1, GETDATE());
         WHILE NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobhistory h JOIN msdb.dbo.sysjobs j ON j.job_id = h.job_id WHERE j.name = 'starts' AND step_id = 0)
             AND GETDATE() < @till WAITFOR DELAY '00:00:00.010';
         SELECT h.message FROM msdb.dbo.sysjobhistory h WHERE step_id = 0 ORDER BY h.instance_id";
    let again = Running::start(&data);
    let read = again.sql(&["--csv", "-h", "-1", "-Q", history]);
    let text = String::from_utf8_lossy(&read.stdout).trim().to_owned();
    assert!(text.contains("The job was stopped prior to completion by the end of the server."), "{text}");
    assert!(
        text.contains("The job succeeded.  The Job was invoked by Schedule 1 (with the agent)."),
        "{text}"
    );
    again.stop();

    let without = Running::start_with(&data, &["--no-agent"]);
    let refused = without.sql(&["-Q", "EXEC msdb.dbo.sp_start_job N'starts'"]);
    let text = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert!(text.contains("Msg 22022, Level 16") && text.contains("is not currently running"), "{text}");
    without.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

/// Text of what a command printed and complained of.
fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn users_of_a_database_log_in_to_it() {
    let data = std::env::temp_dir().join(format!("keel-contained-{}", std::process::id()));
    let server = Running::start(&data);
    let made = server.sql(&[
        "-Q",
        "EXEC sp_configure 'contained database authentication', 1; RECONFIGURE; CREATE DATABASE shop CONTAINMENT = PARTIAL;
         CREATE DATABASE other; CREATE LOGIN guard WITH PASSWORD = 'Guard-1'; EXEC('USE shop; CREATE TABLE dbo.t (a int);
         CREATE USER clerk WITH PASSWORD = ''Clerk-1''; CREATE USER guard WITH PASSWORD = ''Clerk-2''; GRANT SELECT ON dbo.t TO clerk')",
    ]);
    assert!(made.status.success(), "{}", told(&made));
    let clerk = |more: &[&str]| told(&server.sql_as("clerk", "Clerk-1", more));
    let who = clerk(&[
        "-d",
        "shop",
        "-h",
        "-1",
        "-Q",
        "SELECT USER_NAME(), SUSER_NAME(), ORIGINAL_LOGIN(), COUNT(*) FROM dbo.t",
    ]);
    assert!(who.contains("clerk clerk clerk 0"), "{who}");
    assert!(
        clerk(&["-d", "shop", "-Q", "INSERT dbo.t VALUES (1)"]).contains("229"),
        "it has what it was granted"
    );
    assert!(clerk(&["-d", "shop", "-Q", "USE other"]).contains("916"), "it is nobody elsewhere");
    assert!(clerk(&["-Q", "SELECT 1"]).contains("18456"), "it is known in its database only");
    assert!(clerk(&["-d", "other", "-Q", "SELECT 1"]).contains("18456"));
    let wrong = told(&server.sql_as("clerk", "Clerk-2", &["-d", "shop", "-Q", "SELECT 1"]));
    assert!(wrong.contains("18456"), "{wrong}");
    // Of two of one name the database's own counts there, and the login elsewhere.
    let guard = |password: &str, database: &str| {
        told(&server.sql_as("guard", password, &["-d", database, "-h", "-1", "-Q", "SELECT DB_NAME()"]))
    };
    assert!(guard("Guard-1", "shop").contains("18456") && guard("Clerk-2", "shop").contains("shop"));
    assert!(guard("Guard-1", "master").contains("master"));
    server.stop();
    let server = Running::start(&data);
    let again =
        told(&server.sql_as("clerk", "Clerk-1", &["-d", "shop", "-h", "-1", "-Q", "SELECT USER_NAME()"]));
    assert!(again.contains("clerk"), "{again}");
    server.sql(&["-Q", "EXEC sp_configure 'contained database authentication', 0; RECONFIGURE"]);
    let off = told(&server.sql_as("clerk", "Clerk-1", &["-d", "shop", "-Q", "SELECT 1"]));
    assert!(off.contains("18456"), "{off}");
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[test]
fn events_are_kept_in_files_and_sessions_start_with_the_server() {
    let data = std::env::temp_dir().join(format!("keel-events-{}", std::process::id()));
    let server = Running::start(&data);
    let made = server.sql(&[
        "-Q",
        "CREATE EVENT SESSION logins ON SERVER ADD EVENT sqlserver.login (ACTION (sqlserver.client_app_name)), ADD EVENT sqlserver.user_event,
         ADD EVENT sqlserver.error_reported (ACTION (sqlserver.server_principal_name) WHERE error_number = 18456) ADD TARGET package0.event_file (SET filename = N'logins') WITH (STARTUP_STATE = ON);
         CREATE EVENT SESSION nowhere ON SERVER ADD EVENT sqlserver.login
         ADD TARGET package0.event_file (SET filename = N'/proc/none/x.xel');
         ALTER EVENT SESSION logins ON SERVER STATE = START; EXEC sp_trace_generateevent 82, N'mark'",
    ]);
    assert!(made.status.success(), "{}", told(&made));
    let refused = told(&server.sql(&["-Q", "ALTER EVENT SESSION nowhere ON SERVER STATE = START"]));
    assert!(refused.contains("25602"), "{refused}");
    assert!(told(&server.sql_as("stranger", "x", &["-Q", "SELECT 1"])).contains("18456"));
    server.stop();
    let server = Running::start(&data);
    let seen = |query: &str| told(&server.sql(&["-h", "-1", "-Q", query]));
    let files = "SELECT COUNT(DISTINCT file_name), SUM(IIF(object_name = 'user_event', 1, 0)), MAX(CAST(event_data AS xml)
        .value('(/event/action[@name=\"client_app_name\"]/value)[1]', 'varchar(20)')) FROM sys.fn_xe_file_target_read_file('logins*.xel', NULL, NULL, NULL)";
    let kept = seen(files);
    assert!(kept.contains("2 1 keel sql"), "a file of each start, with what happened in it: {kept}");
    let failed = "SELECT CAST(event_data AS xml).value('(/event/action)[1]', 'varchar(20)') + CAST(event_data AS xml).value('(/event/data[@name=\"state\"]/value)[1]', 'varchar(5)')
        FROM sys.fn_xe_file_target_read_file('logins*.xel', NULL, NULL, NULL) WHERE object_name = 'error_reported'";
    assert!(seen(failed).contains("stranger5"), "{}", seen(failed));
    let running = seen("SELECT STRING_AGG(name, ' ') WITHIN GROUP (ORDER BY name) FROM sys.dm_xe_sessions");
    assert!(running.contains("logins system_health"), "{running}");
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[test]
fn audits_know_who_came_and_who_was_refused_also_after_a_kill() {
    let data = std::env::temp_dir().join(format!("keel-audit-{}", std::process::id()));
    let server = Running::start(&data);
    let made = server.sql(&[
        "-Q",
        "CREATE SERVER AUDIT trail TO FILE (FILEPATH = N'audit') WITH (QUEUE_DELAY = 0);
         CREATE SERVER AUDIT SPECIFICATION comings FOR SERVER AUDIT trail ADD (SUCCESSFUL_LOGIN_GROUP), ADD (FAILED_LOGIN_GROUP),
         ADD (LOGOUT_GROUP), ADD (SERVER_STATE_CHANGE_GROUP) WITH (STATE = ON);
         ALTER SERVER AUDIT trail WITH (STATE = ON)",
    ]);
    assert!(made.status.success(), "{}", told(&made));
    assert!(told(&server.sql_as("stranger", "x", &["-Q", "SELECT 1"])).contains("18456"));
    server.stop();
    let server = Running::start(&data);
    assert!(server.sql(&["-Q", "SELECT 1"]).status.success());
    drop(server);
    // What a kill in the middle of a write leaves behind.
    let directory = data.join("log").join("audit");
    let newest = std::fs::read_dir(&directory).unwrap().map(|e| e.unwrap().path()).max().unwrap();
    let mut torn = std::fs::read(&newest).unwrap();
    torn.extend_from_slice(b"500\n{\"event_time\":");
    std::fs::write(&newest, torn).unwrap();
    let server = Running::start(&data);
    let query = "SELECT action_id, COUNT(*) AS n, MAX(server_principal_name) AS who, MAX(application_name) AS app
        FROM sys.fn_get_audit_file('audit/*.sqlaudit', DEFAULT, DEFAULT) GROUP BY action_id ORDER BY action_id";
    let seen = told(&server.sql(&["-h", "-1", "-Q", query]));
    for line in ["AUSC 3", "LGIF 1 stranger keel sql", "LGIS 2 sa keel sql", "SVSD 1", "SVSR 2"] {
        let words: Vec<&str> = line.split(' ').collect();
        let found = seen.lines().any(|l| l.split_whitespace().take(words.len()).eq(words.iter().copied()));
        assert!(found, "{line}: {seen}");
    }
    assert!(seen.contains("skipping records"), "{seen}");
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}
