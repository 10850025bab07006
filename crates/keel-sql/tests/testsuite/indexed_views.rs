//! Indexed views against their queries: after every statement of random changes, after rollbacks, and after several sessions
//! have changed the same groups at the same time.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, server};
use keel_base::TreeId;
use keel_node::{Direction, Isolation};
use keel_sql::Session;
use std::ops::Bound;
use std::sync::Arc;

/// Tables that refer to each other, and views over one, two and three of them.
const SCHEMA: &str = "
create table dbo.x (grp int not null primary key, label varchar(10) not null)
insert dbo.x values (0, 'none'), (1, 'one'), (2, 'two'), (3, 'three'), (4, 'four')
create table dbo.p (id int not null primary key, grp int not null, name varchar(10) null, index ix_grp (grp))
create table dbo.c (id int not null primary key, pid int null references dbo.p (id) on delete cascade on update cascade,
    amount int not null, tag varchar(4) null, q decimal(9,2) not null default 1.5, index ix_pid (pid))
create table dbo.log (id int not null, amount int not null)
GO
create view dbo.few with schemabinding as select id, grp, name from dbo.p where grp < 3
GO
create unique clustered index cx on dbo.few (id)
create index ix on dbo.few (grp) include (name)
GO
create view dbo.pairs with schemabinding as select c.id, p.id as pid, p.name, c.amount from dbo.c join dbo.p on p.id = c.pid where c.amount > 2
GO
create unique clustered index cx on dbo.pairs (id)
create unique index ux on dbo.pairs (pid, id)
create index ix on dbo.pairs (name, amount)
GO
create view dbo.sums with schemabinding as
  select p.grp, count_big(*) as n, sum(c.amount) as total, sum(c.q) as q from dbo.c join dbo.p on p.id = c.pid group by p.grp
GO
create unique clustered index cx on dbo.sums (grp)
create index ix on dbo.sums (total)
GO
create view dbo.tags with schemabinding as select tag, count_big(*) as n, count_big(pid) as pids, sum(q * 2) as q from dbo.c group by tag
GO
create unique clustered index cx on dbo.tags (tag)
GO
create view dbo.all3 with schemabinding as
  select c.id, x.label, upper(p.name) as name from dbo.c inner join dbo.p on p.id = c.pid inner join dbo.x on x.grp = p.grp where x.label <> 'one'
GO
create unique clustered index cx on dbo.all3 (id, label)
GO
create view dbo.once with schemabinding as select amount, id from dbo.c where tag = 'u'
GO
create unique clustered index cx on dbo.once (amount)
GO
create view dbo.logged with schemabinding as select id, count_big(*) as n, sum(amount) as total from dbo.log group by id
GO
create unique clustered index cx on dbo.logged (id)
GO
create trigger dbo.log_c on dbo.c after update as
  declare @n int
  select @n = count(*) from (select id, label from dbo.all3 with (noexpand) except select id, label from dbo.all3) as d option (expand views)
  if @n > 0 throw 50001, 'a trigger sees what was', 1
";

const VIEWS: [(&str, &[&str]); 7] = [
    ("few", &["ix"]),
    ("pairs", &["ux", "ix"]),
    ("sums", &["ix"]),
    ("tags", &[]),
    ("all3", &[]),
    ("once", &[]),
    ("logged", &[]),
];

fn execute(session: &mut Session, sql: &str) -> String {
    let mut sink = Sink::default();
    session.execute_batch(sql, &mut sink);
    sink.0.finish()
}

fn run(session: &mut Session, sql: &str) -> String {
    let said = execute(session, sql);
    assert!(!said.contains("Msg "), "{sql}: {said}");
    said
}

fn value(session: &mut Session, sql: &str) -> String {
    run(session, sql).lines().nth(2).unwrap().trim().to_owned()
}

fn prepare(session: &mut Session) {
    for batch in SCHEMA.split("GO\n") {
        run(session, batch);
    }
}

/// Compares every view with its query, and its other indexes with its clustered one.
fn check(session: &mut Session, after: &str) {
    for (view, indexes) in VIEWS {
        for (more, less) in [(" with (noexpand)", ""), ("", " with (noexpand)")] {
            let sql = format!(
                "select count(*) from (select * from dbo.{view}{more} except select * from dbo.{view}{less}) as d option (expand views)"
            );
            assert_eq!(value(session, &sql), "0", "{view}{more} is not {view}{less} after {after}");
        }
        for index in indexes {
            for (a, b) in [("cx", *index), (*index, "cx")] {
                let sql = format!(
                    "select count(*) from (select * from dbo.{view} with (noexpand, index({a})) except select * from dbo.{view} with (noexpand, index({b}))) as d"
                );
                assert_eq!(value(session, &sql), "0", "{view}: {a} is not {b} after {after}");
            }
        }
    }
}

/// Small numbers that a seed decides.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }
}

fn parent(r: &mut Chance) -> String {
    let name = r.pick(&["'a'", "'A'", "'b'", "'bb'", "null"]);
    format!("({}, {}, {name})", r.below(12), r.below(6))
}

fn child(r: &mut Chance) -> String {
    let pid = if r.below(4) == 0 { "null".to_owned() } else { r.below(12).to_string() };
    let tag = r.pick(&["'t'", "'T'", "'u'", "null", "''"]);
    format!("({}, {pid}, {}, {tag}, {}.25)", r.below(30), r.below(8), r.below(5))
}

fn statement(r: &mut Chance) -> String {
    let (a, b) = (r.below(12), r.below(12));
    match r.below(18) {
        0 => format!("insert dbo.p values {}", parent(r)),
        1 => format!("insert dbo.p values {}, {}", parent(r), parent(r)),
        2..=4 => format!("insert dbo.c values {}", child(r)),
        5 => format!("insert dbo.c values {}, {}, {}", child(r), child(r), child(r)),
        6 => format!("insert dbo.c select id + 30, pid, amount, null, q from dbo.c where id < {a}"),
        7 => format!("insert dbo.c select id + 40, pid, amount, 'v', 2 from dbo.pairs as v cross apply (select 1.0 as q) as o where v.id < {a}"),
        8 => format!("update dbo.p set id = id + 1 where id >= {a}"),
        9 => format!("update dbo.p set grp = (grp + 1) % 5, name = 'c' where id between {a} and {b}"),
        10 => format!("update dbo.c set amount = amount + 1 where id >= {a}"),
        11 => format!("update dbo.c set id = id + 1, tag = case when id % 3 = 0 then 'u' else tag end where id >= {a}"),
        12 => format!("update top (3) dbo.c set pid = {a}, q = q / nullif({b}, 3) output inserted.id, inserted.amount into dbo.log"),
        13 => format!("delete dbo.p where id = {a}"),
        14 => format!("delete dbo.c output deleted.id, deleted.amount into dbo.log where id % 12 = {a}"),
        15 => format!(
            "merge dbo.c as t using (values {}, {}) as s (id, pid, amount, tag, q) on t.id = s.id
             when matched and s.amount = 1 then delete when matched then update set amount = s.amount, pid = s.pid
             when not matched then insert (id, pid, amount, tag, q) values (s.id, s.pid, s.amount, s.tag, s.q);",
            child(r),
            child(r)
        ),
        16 => format!("update dbo.x set label = substring(label + 'one', {}, 3) where grp = {}", r.below(3) + 1, r.below(5)),
        _ => format!("update v set name = 'z' from dbo.pairs as v where id = {a}; update dbo.pairs set amount = 5 where id = {b}"),
    }
}

/// Random statements, some of them refused, in and out of transactions that end either way.
fn changed(seed: u64, statements: u32) {
    let engine = server();
    let mut session = connect(&engine);
    prepare(&mut session);
    let mut r = Chance(seed);
    for n in 0..statements {
        let sql = statement(&mut r);
        let said = execute(&mut session, &sql);
        let refused = said.lines().filter(|l| l.starts_with("Msg "));
        for line in refused {
            let known =
                ["Msg 2627,", "Msg 2601,", "Msg 547,", "Msg 515,", "Msg 8672,", "Msg 8134,", "Msg 3621,"];
            assert!(known.iter().any(|k| line.starts_with(k)), "seed {seed}, {sql}: {line}");
        }
        check(&mut session, &format!("seed {seed}, statement {n}: {sql}: {said}"));
        match r.below(8) {
            0 => drop(execute(&mut session, "if @@trancount = 0 begin transaction else save transaction s")),
            1 => drop(execute(&mut session, "if @@trancount > 0 commit")),
            2 => {
                execute(&mut session, "if @@trancount > 0 rollback");
                check(&mut session, "a rollback");
            }
            _ => {}
        }
    }
    execute(&mut session, "if @@trancount > 0 rollback");
    check(&mut session, "the end");
    let found = execute(&mut session, "dbcc checkdb with no_infomsgs");
    assert!(!found.contains("consistency errors"), "{found}");
}

#[test]
fn views_are_what_their_queries_yield_after_every_statement() {
    let rounds = std::env::var("KEEL_VIEW_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    for seed in 0..rounds {
        changed(seed, 120);
    }
}

/// Several sessions add to the same groups and to both sides of joins, in an isolation level.
fn together(isolation: &str) {
    const WRITERS: u64 = 4;
    const TRANSACTIONS: u64 = 60;
    let engine = server();
    let mut session = connect(&engine);
    run(&mut session, "create database d; alter database d set allow_snapshot_isolation on");
    run(&mut session, "use d");
    prepare(&mut session);
    if isolation == "snapshot" {
        // Rows that others have moved since are where they are now in the view, and where they were in its tables.
        run(&mut session, "drop trigger dbo.log_c");
    }
    run(
        &mut session,
        "insert dbo.p values (0, 0, 'a'), (1, 1, 'b'), (2, 2, 'c'), (3, 0, 'd'), (4, 1, 'e'), (5, 2, null)",
    );
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (engine, isolation) = (Arc::clone(&engine), isolation.to_owned());
            std::thread::spawn(move || {
                let mut session = connect(&engine);
                run(&mut session, &format!("use d; set transaction isolation level {isolation}"));
                let mut r = Chance(writer + 77);
                for _ in 0..TRANSACTIONS {
                    let mut sql = "begin transaction;".to_owned();
                    for _ in 0..=r.below(3) {
                        sql += &statement(&mut r);
                        sql += ";\n";
                    }
                    sql += "if @@trancount > 0 commit";
                    let said = execute(&mut session, &sql);
                    for line in said.lines().filter(|l| l.starts_with("Msg ")) {
                        let known = [
                            "Msg 2627,",
                            "Msg 2601,",
                            "Msg 547,",
                            "Msg 515,",
                            "Msg 8672,",
                            "Msg 8134,",
                            "Msg 3621,",
                            "Msg 1205,",
                            "Msg 3960,",
                        ];
                        assert!(known.iter().any(|k| line.starts_with(k)), "{isolation}, {sql}: {line}");
                    }
                    execute(&mut session, "if @@trancount > 0 rollback");
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|w| w.join().unwrap());
    check(&mut session, isolation);
}

#[test]
fn nothing_is_lost_between_sessions_at_read_committed() {
    together("read committed");
}

#[test]
fn nothing_is_lost_between_sessions_at_snapshot() {
    together("snapshot");
}

#[test]
fn nothing_is_lost_between_sessions_at_serializable() {
    together("serializable");
}

/// Sessions that have no row in common but those of the view: each adds to two groups, changes what it added, takes half of
/// it away again, in transactions that overlap.
#[test]
fn groups_add_up_whoever_adds() {
    const WRITERS: u64 = 4;
    let engine = server();
    let mut session = connect(&engine);
    prepare(&mut session);
    run(&mut session, "drop trigger dbo.log_c");
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let engine = Arc::clone(&engine);
            std::thread::spawn(move || {
                let mut session = connect(&engine);
                for n in 0..150 {
                    let id = 1000 * (writer + 1) + 2 * n;
                    // The groups in one order: nobody is a deadlock's victim.
                    let sql = format!(
                        "begin transaction; insert dbo.c values ({id}, null, 1, 't', 2.25);
                         insert dbo.c values ({id} + 1, null, 1, 'w', 1); update dbo.c set q = q + 1 where id = {id} + 1; commit;
                         begin transaction; update dbo.c set q = q + 1 where id = {id}; delete dbo.c where id = {id} + {n} % 2; {};",
                        if n % 5 == 0 { "rollback" } else { "commit" }
                    );
                    run(&mut session, &sql);
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|w| w.join().unwrap());
    check(&mut session, "all have added");
}

/// More rows than are pending at once: they are written part by part, where that changes nothing.
#[test]
fn large_statements_are_written_in_parts() {
    let engine = server();
    let mut session = connect(&engine);
    prepare(&mut session);
    run(&mut session, "drop trigger dbo.log_c; insert dbo.p values (1, 1, 'a'), (2, 2, 'b')");
    for sql in [
        "insert dbo.log select value, value % 7 from generate_series(1, 25000)",
        "insert dbo.c select value, 1 + value % 2, value % 100, 'x', 1 from generate_series(1, 25000)",
        "update dbo.c set amount = amount + 1, pid = 3 - pid",
        "update dbo.log set id = id + 1",
        "delete dbo.c where id % 5 <> 0",
        "update dbo.c set id = id + 1",
        "delete dbo.log where id > 20",
        "delete dbo.p",
    ] {
        run(&mut session, sql);
        check(&mut session, sql);
    }
    assert_eq!(value(&mut session, "select count(*) from dbo.pairs with (noexpand)"), "0");
}

/// CHECKDB finds what a view has too much or too little.
#[test]
fn checkdb_compares_views_with_their_queries() {
    let engine = server();
    let mut session = connect(&engine);
    run(&mut session, "create database d");
    run(&mut session, "use d");
    run(
        &mut session,
        "create table dbo.t (id int not null primary key, g int not null); insert dbo.t values (1, 1), (2, 2)",
    );
    run(&mut session, "create view dbo.v with schemabinding as select id, g from dbo.t");
    run(&mut session, "create unique clustered index cx on dbo.v (id)");
    let sums = run(&mut session, "exec sp_keel_checksum");
    let of_view = sums.lines().find(|l| l.starts_with("v ")).unwrap();
    let tree = TreeId(of_view.split('|').nth(2).unwrap().trim().parse().unwrap());
    let store = Arc::clone(&engine.database("d").unwrap().store);
    let mut txn = store.begin(Isolation::ReadCommitted);
    let found = {
        let mut rows = txn.scan_latest(tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward).unwrap();
        rows.next().unwrap().map(|(key, row)| (key.to_vec(), row.to_vec()))
    };
    let (key, mut row) = found.unwrap();
    *row.last_mut().unwrap() ^= 8;
    txn.update(tree, &key, &row, None).unwrap();
    txn.commit().unwrap().wait().unwrap();
    let said = execute(&mut session, "dbcc checkdb with no_infomsgs");
    for number in ["Msg 8907,", "Msg 8908,", "CHECKDB found 0 allocation errors and 2 consistency errors"] {
        assert!(said.contains(number), "{said}");
    }
    run(&mut session, "alter index cx on dbo.v disable; alter index cx on dbo.v rebuild");
    let said = execute(&mut session, "dbcc checkdb with no_infomsgs");
    assert!(!said.contains("consistency errors"), "{said}");
}
