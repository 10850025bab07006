//! Remote procedure calls, transaction requests and connection reset, as clients' drivers use them.

mod common;

use common::{Sink, connect, server};
use keel_sql::{RpcParam, RpcProcedure, RpcValue, Session, TransactionRequest, TvpName};
use keel_types::{Length, SqlType, Value};

fn param(name: &str, ty: SqlType, value: Value, output: bool) -> RpcParam {
    RpcParam { name: name.into(), ty, value: RpcValue::Scalar(value), output }
}

fn text(value: &str) -> RpcParam {
    param("", SqlType::NVarChar(Length::Limited(4000)), Value::str(value), false)
}

fn int(name: &str, n: i64) -> RpcParam {
    param(name, SqlType::Int, Value::Int(n), false)
}

fn batch(session: &mut Session, sql: &str) -> String {
    let mut sink = Sink::default();
    session.execute_batch(sql, &mut sink);
    sink.0.finish()
}

fn rpc(session: &mut Session, procedure: RpcProcedure<'_>, parameters: Vec<RpcParam>) -> String {
    let mut sink = Sink::default();
    session.execute_rpc(procedure, parameters, &mut sink);
    sink.0.finish()
}

#[test]
fn prepared_statements_and_outputs() {
    let engine = server();
    let mut s = connect(&engine);
    batch(
        &mut s,
        "create table t (a int primary key, b varchar(10)); insert t values (1, 'one'), (2, 'two')",
    );
    let out = rpc(
        &mut s,
        RpcProcedure::Id(10),
        vec![
            text("select b from t where a = @a; set @n = @a * 2"),
            text("@a int, @n int output"),
            int("@a", 2),
            param("@n", SqlType::Int, Value::Null, true),
        ],
    );
    assert_eq!(out, "b\n---\ntwo\n(1 row)\n@n = 4\n");
    let handle = param("", SqlType::Int, Value::Null, true);
    let out = rpc(
        &mut s,
        RpcProcedure::Id(13),
        vec![handle, text("@p int"), text("select b from t where a = @p"), int("", 1)],
    );
    assert_eq!(out, "b\n---\none\n(1 row)\n = 1\n");
    let out = rpc(&mut s, RpcProcedure::Id(12), vec![int("", 1), int("", 2)]);
    assert_eq!(out, "b\n---\ntwo\n(1 row)\n");
    assert_eq!(rpc(&mut s, RpcProcedure::Id(15), vec![int("", 1)]), "");
    let out = rpc(&mut s, RpcProcedure::Id(12), vec![int("", 1), int("", 2)]);
    assert!(out.contains("8179"), "{out}");
}

#[test]
fn procedures_by_name() {
    let engine = server();
    let mut s = connect(&engine);
    batch(
        &mut s,
        "create procedure p @a int, @b varchar(10) = 'dflt', @c int output as begin select @b as b; set @c = @a + 1; return 3 end",
    );
    let c = param("@c", SqlType::Int, Value::Null, true);
    let out = rpc(&mut s, RpcProcedure::Name("dbo.p"), vec![int("@a", 5), c.clone()]);
    assert_eq!(out, "b\n----\ndflt\n(1 row)\n(return status 3)\n@c = 6\n");
    let out = rpc(&mut s, RpcProcedure::Name("p"), vec![c]);
    assert!(out.contains("Msg 201"), "{out}");
    let out = rpc(&mut s, RpcProcedure::Name("nosuch"), vec![]);
    assert!(out.contains("Msg 2812"), "{out}");
    let out = rpc(&mut s, RpcProcedure::Name("[dbo].[p]"), vec![text("abc")]);
    assert!(out.contains("Msg"), "{out}");
}

#[test]
fn table_valued_parameters() {
    let engine = server();
    let mut s = connect(&engine);
    batch(&mut s, "create type tt as table (id int primary key, v varchar(10))");
    batch(&mut s, "create procedure p @rows tt readonly as select sum(id) as s, max(v) as m from @rows");
    let rows = vec![vec![Value::Int(1), Value::str("a")], vec![Value::Int(2), Value::str("b")]];
    let rows = RpcValue::Table { type_name: TvpName { schema: "dbo".into(), name: "tt".into() }, rows };
    let parameter = RpcParam { name: "@rows".into(), ty: SqlType::Null, value: rows, output: false };
    let out = rpc(&mut s, RpcProcedure::Name("p"), vec![parameter]);
    assert_eq!(out, "s | m\n--+--\n3 | b\n(1 row)\n");
}

#[test]
fn transactions_by_request_and_reset() {
    let engine = server();
    let mut s = connect(&engine);
    batch(&mut s, "create table t (a int)");
    let mut sink = Sink::default();
    s.transaction_request(TransactionRequest::Begin { isolation: 0, name: String::new() }, &mut sink);
    assert_ne!(s.transaction_descriptor(), 0);
    batch(&mut s, "insert t values (1)");
    s.transaction_request(TransactionRequest::Rollback { name: String::new(), begin_next: None }, &mut sink);
    assert_eq!(s.transaction_descriptor(), 0);
    assert_eq!(batch(&mut s, "select count(*) as n from t"), "n\n-\n0\n(1 row)\n");
    batch(&mut s, "create table #x (a int); begin tran; insert t values (2); set nocount on");
    s.reset(false, &mut sink);
    assert_eq!(
        batch(&mut s, "select count(*) as n, @@trancount as t from t"),
        "n | t\n--+--\n0 | 0\n(1 row)\n"
    );
    assert!(batch(&mut s, "select * from #x").contains("208"));
}

struct Rows(Vec<Vec<Value>>);

impl keel_sql::BulkSource for Rows {
    fn next(&mut self, row: &mut Vec<Value>) -> keel_types::Result<bool> {
        match self.0.pop() {
            Some(next) => {
                *row = next;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

#[test]
fn bulk_load() {
    let engine = server();
    let mut s = connect(&engine);
    batch(&mut s, "create table t (a int primary key, b varchar(10) default 'x', c int identity)");
    batch(&mut s, "insert bulk t (a int, b varchar(10))");
    assert_eq!(s.bulk_target().expect("announced").columns.len(), 2);
    let rows = (0..12_000).map(|i| vec![Value::Int(i), Value::str("row")]).collect();
    let mut sink = Sink::default();
    s.bulk_load(&mut Rows(rows), &mut sink);
    assert_eq!(sink.0.finish(), "(12000 rows affected)\n");
    assert_eq!(
        batch(&mut s, "select count(*) as n, max(a) as m, max(c) as c from t"),
        "n     | m     | c\n------+-------+------\n12000 | 11999 | 12000\n(1 row)\n"
    );
}
