//! What single-row statements cost, printed; run by hand: `cargo test -p keel-query --test cost -- --ignored --nocapture`.
#![allow(clippy::unwrap_used)]
mod common;

use common::Session;
use keel_parser::ast::StatementKind as K;
use keel_query::{Dml, NoRows, Plan, compile_dml, compile_select};
use keel_types::Value;

fn plan(s: &Session, sql: &str) -> Plan {
    let batch = keel_parser::parse_batch(sql, keel_parser::ParseOptions::default()).unwrap();
    match &batch.statements[0].kind {
        K::Select(x) => compile_select(s, x).unwrap(),
        K::Insert(x) => compile_dml(s, Dml::Insert(x)).unwrap(),
        K::Update(x) => compile_dml(s, Dml::Update(x)).unwrap(),
        K::Delete(x) => compile_dml(s, Dml::Delete(x)).unwrap(),
        _ => unreachable!(),
    }
}

#[test]
#[ignore = "measures; nothing to assert"]
fn point_statements() {
    const N: i64 = 30_000;
    let s = Session::new();
    s.ok(
        "CREATE TABLE t (w int NOT NULL, d int NOT NULL, id int NOT NULL, name varchar(30), qty int, ytd decimal(10,2), data varchar(200), PRIMARY KEY (w, d, id));
         DECLARE @w int = 1, @d int = 2, @id int = 0, @q int, @n varchar(30);",
    );
    let id = s.vars.borrow().len() - 3;
    let statements = [
        (
            "insert",
            "INSERT t (w, d, id, name, qty, ytd, data) VALUES (@w, @d, @id, 'name', @id, 1.5, 'some data that is a bit longer than the rest of it')",
        ),
        ("select", "SELECT @q = qty, @n = name FROM t WHERE w = @w AND d = @d AND id = @id"),
        ("update", "UPDATE t SET qty = qty + 1, ytd = ytd + 2.5 WHERE w = @w AND d = @d AND id = @id"),
        ("range 10", "SELECT @q = SUM(qty) FROM t WHERE w = @w AND d = @d AND id >= @id AND id < @id + 10"),
        ("delete", "DELETE t WHERE w = @w AND d = @d AND id = @id"),
    ];
    for (name, sql) in statements {
        let plan = plan(&s, sql);
        s.with_ctx(|ctx| {
            let start = std::time::Instant::now();
            for i in 0..N {
                ctx.vars[id] = Value::Int(i);
                plan.run(ctx, &mut NoRows)?;
            }
            println!("{name}: {:.2} us", start.elapsed().as_secs_f64() * 1e6 / N as f64);
            Ok(())
        })
        .unwrap();
    }
}
