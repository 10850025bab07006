//! Indexes over more rows than a statement may hold in memory.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, open_with};
use keel_base::env::sim::SimDisk;
use keel_sql::{Engine, Session};
use std::sync::Arc;

/// Of which a statement gets a sixteenth, 8 MB.
const MEMORY: usize = 128 << 20;

fn run(s: &mut Session, sql: &str) -> String {
    let mut sink = Sink::default();
    s.execute_batch(sql, &mut sink);
    sink.0.finish()
}

/// 40,000 rows of 300 bytes, in an order of `k` that is not that of `id`; `u` is unique.
fn filled() -> (Arc<Engine>, Session) {
    let engine = open_with(&SimDisk::new(), MEMORY);
    let mut s = connect(&engine);
    let rows = "create table t (id int not null constraint p primary key, k int not null, u int not null, pad char(300) not null);
        with n as (select 0 as i union all select i + 1 from n where i < 199)
        insert t select a.i * 200 + b.i, (a.i * 200 + b.i) * 7919 % 40000, a.i * 200 + b.i, replicate('row ', 75)
        from n a cross join n b option (maxrecursion 0)";
    assert_eq!(run(&mut s, rows), "(40000 rows affected)\n");
    (engine, s)
}

fn rows_of(s: &mut Session, sql: &str) -> Vec<String> {
    let text = run(s, sql);
    assert!(!text.contains("Msg"), "{text}");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn what_memory_does_not_hold_is_sorted_in_files() {
    let (engine, mut s) = filled();
    let by_k = "select id, k from t where k between 17000 and 17400 order by k";
    let expected = rows_of(&mut s, by_k);
    assert!(expected.len() > 400);
    let before = engine.work_space().spilled_bytes();
    assert_eq!(run(&mut s, "checkpoint; create index i on t (k) include (pad)"), "");
    assert!(engine.work_space().spilled_bytes() > before);
    assert_eq!(rows_of(&mut s, &by_k.replace("from t", "from t with (index(i))")), expected);
    assert_eq!(
        run(
            &mut s,
            "checkpoint; alter table t drop constraint p; checkpoint; create unique clustered index c on t (k)"
        ),
        ""
    );
    assert_eq!(rows_of(&mut s, by_k), expected);
    let checked = run(&mut s, "dbcc checktable('t')");
    assert!(checked.contains("40000 rows") && !checked.contains("consistency errors"), "{checked}");
    assert_eq!(engine.work_space().used_bytes(), 0);
}

#[test]
fn equal_keys_are_found_wherever_they_were_sorted() {
    let (engine, mut s) = filled();
    run(&mut s, "update t set u = 31 where id = 39000");
    let refused = run(&mut s, "create unique index i on t (u) include (pad)");
    assert!(refused.contains("Msg 1505") && refused.contains("(31)."), "{refused}");
    let refused = run(&mut s, "begin tran; create unique clustered index c on t (u)");
    assert!(refused.contains("Msg"), "{refused}");
    run(&mut s, "if @@trancount > 0 rollback");
    assert_eq!(rows_of(&mut s, "select count(*) as n from t where pad like 'row%'")[2].trim(), "40000");
    assert_eq!(engine.work_space().used_bytes(), 0);
}
