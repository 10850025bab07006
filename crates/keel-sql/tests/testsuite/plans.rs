//! SET STATISTICS XML: what a golden script cannot show, because a document says how long its statement took. The other forms of a plan
//! are in `tests/sql/queries/plans.sql`.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, open_with};
use keel_base::env::sim::SimDisk;
use keel_sql::Session;

fn run(session: &mut Session, sql: &str) -> String {
    let mut sink = Sink::default();
    session.execute_batch(sql, &mut sink);
    sink.0.finish()
}

#[test]
fn a_statement_says_behind_its_result_what_its_operators_did() {
    let engine = open_with(&SimDisk::new(), 64 << 20);
    let mut session = connect(&engine);
    run(&mut session, "create table t (id int primary key, n int); insert t values (1, 1), (2, 2), (3, 3)");
    run(&mut session, "set statistics xml on");
    let told = run(&mut session, "select n from t where id < 3; update t set n = 0 where id = 2");
    let documents: Vec<&str> = told.lines().filter(|line| line.starts_with("<ShowPlanXML")).collect();
    assert_eq!(documents.len(), 2, "{told}");
    let rows = told.find("(2 rows)").unwrap();
    assert!(rows < told.find("<ShowPlanXML").unwrap(), "the result comes first: {told}");
    assert!(documents[0].contains("StatementType=\"SELECT\""), "{}", documents[0]);
    let counted = "ActualRows=\"2\" ActualEndOfScans=\"1\" ActualExecutions=\"1\"";
    assert!(documents[0].contains(counted), "{}", documents[0]);
    assert!(documents[1].contains("StatementType=\"UPDATE\""), "{}", documents[1]);
    assert!(documents[1].contains("PhysicalOp=\"Table Update\""), "{}", documents[1]);
    run(&mut session, "set statistics xml off");
    assert!(!run(&mut session, "select n from t").contains("ShowPlanXML"));
}

#[test]
fn a_plan_says_what_its_parameters_were_and_are() {
    let engine = open_with(&SimDisk::new(), 64 << 20);
    let mut session = connect(&engine);
    run(&mut session, "create table t (id int primary key, d date); create index by_d on t (d)");
    run(
        &mut session,
        "insert t select value, dateadd(day, value, '2024-01-01') from generate_series(1, 100)",
    );
    let ask = |days: &str| {
        format!("exec sp_executesql N'select count(*) from t where d = @d', N'@d date', '2024-01-{days}'")
    };
    run(&mut session, &ask("05"));
    run(&mut session, "set statistics xml on");
    let told = run(&mut session, &ask("07"));
    let parameter = "<ParameterList><ColumnReference Column=\"@d\" ParameterDataType=\"date\" \
                     ParameterCompiledValue=\"'2024-01-05'\" ParameterRuntimeValue=\"'2024-01-07'\"/></ParameterList>";
    assert!(told.contains(&parameter.replace('\'', "&apos;")) || told.contains(parameter), "{told}");
}
