//! Remote procedure calls, transaction requests and connection reset, as clients' drivers use them.

use crate::common::{Sink, connect, server};
use keel_sql::sink::{ColumnMeta, DoneInfo, DoneKind, EnvChange, ResultSink, SinkClosed};
use keel_sql::{
    BulkRow, BulkSource, Cell, RpcParam, RpcProcedure, RpcValue, Session, TransactionRequest, TvpName,
};
use keel_types::{Length, SqlError, SqlType, Value};
use std::sync::Arc;

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

/// A call that is prepared has the procedure's own parameters, by their names, whenever it is executed.
#[test]
fn prepared_calls_name_the_procedures_parameters() {
    let engine = server();
    let mut s = connect(&engine);
    batch(
        &mut s,
        "create procedure p @a int, @b int = 10, @c int output as begin select @a + @b as n; set @c = @a end",
    );
    let handle = param("", SqlType::Int, Value::Null, true);
    let c = param("@c", SqlType::Int, Value::Null, true);
    let first = vec![handle, text("p"), int("@a", 1), c.clone()];
    assert_eq!(rpc(&mut s, RpcProcedure::Id(14), first), "n\n--\n11\n(1 row)\n = 1\n@c = 1\n");
    let again = vec![int("", 1), c, int("@b", 5), int("@a", 2)];
    assert_eq!(rpc(&mut s, RpcProcedure::Id(12), again), "n\n-\n7\n(1 row)\n@c = 2\n");
    let wrong = rpc(&mut s, RpcProcedure::Id(12), vec![int("", 1), int("@x", 5)]);
    assert!(wrong.contains("@x is not a parameter for procedure p."), "{wrong}");
    assert_eq!(rpc(&mut s, RpcProcedure::Id(15), vec![int("", 1)]), "");
}

/// What is wrong with a text comes in one piece with what became of the call: drivers read errors up to a statement's end.
#[test]
fn what_cannot_be_prepared_is_told_before_a_statement_ends() {
    let engine = server();
    let mut s = connect(&engine);
    batch(&mut s, "create table t (a int)");
    for statement in
        ["select nosuch from t where a = @p", "select * from nosuch where 1 = @p", "select @p from"]
    {
        let handle = param("", SqlType::Int, Value::Null, true);
        let parameters = vec![handle, text("@p int"), text(statement), int("", 1)];
        let mut order = Order::default();
        s.execute_rpc(RpcProcedure::Id(13), parameters, &mut order);
        let errors = order.0.iter().position(|what| what.contains("8180"));
        let ends = order.0.iter().position(|what| what.starts_with("Proc") || what.starts_with("InProc"));
        assert!(errors.is_some() && errors < ends, "{statement}: {:?}", order.0);
        assert_eq!(order.0.len(), 3, "two errors and the end of the call: {:?}", order.0);
    }
}

#[test]
fn where_the_text_of_a_call_goes_the_session_stays() {
    let engine = server();
    let mut s = connect(&engine);
    batch(&mut s, "create database shop");
    rpc(&mut s, RpcProcedure::Id(10), vec![text("use shop")]);
    let here = "select db_name() as here";
    assert_eq!(batch(&mut s, here), "here\n----\nshop\n(1 row)\n");
    // Inside of a batch it comes back.
    let inside = "exec ('use tempdb'); exec sp_executesql N'use tempdb'; select db_name() as here";
    assert!(batch(&mut s, inside).ends_with("here\n----\nshop\n(1 row)\n"));
    assert!(rpc(&mut s, RpcProcedure::Id(10), vec![text(inside)]).ends_with("here\n----\nshop\n(1 row)\n"));
}

#[test]
fn whom_the_text_of_a_call_becomes_the_session_stays() {
    let engine = server();
    let mut s = connect(&engine);
    batch(&mut s, "create user someone without login");
    let call = |s: &mut Session, sql: &str| rpc(s, RpcProcedure::Id(10), vec![text(sql)]);
    call(&mut s, "execute as user = 'someone'");
    assert_eq!(batch(&mut s, "select user_name() as who"), "who\n-------\nsomeone\n(1 row)\n");
    call(&mut s, "revert");
    // In a batch it ends with the text, as in a procedure.
    let inside = "exec ('execute as user = ''someone'''); exec sp_executesql N'execute as user = ''someone'''; select user_name() as who";
    for outcome in [batch(&mut s, inside), call(&mut s, inside)] {
        assert_eq!(outcome, "who\n---\ndbo\n(1 row)\n");
    }
}

#[test]
fn scalar_functions_are_called_like_procedures() {
    let engine = server();
    let mut s = connect(&engine);
    batch(
        &mut s,
        "create function twice (@a int, @by decimal(9, 2) = 2) returns decimal(9, 2) as begin return @a * @by end",
    );
    assert_eq!(rpc(&mut s, RpcProcedure::Name("dbo.twice"), vec![int("", 21)]), "(function 42.00)\n");
    let out = batch(
        &mut s,
        "declare @r varchar(20); exec @r = dbo.twice 4, @by = 1.5; select @r as r; exec twice 1",
    );
    assert_eq!(out, "r\n----\n6.00\n(1 row)\n");
    assert!(batch(&mut s, "exec twice").contains("201"), "a parameter without a default is wanted");
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
fn output_parameters_come_back_as_what_was_sent() {
    let engine = server();
    let mut s = connect(&engine);
    batch(
        &mut s,
        "create procedure flag @on bit output, @name varchar(20) output as select @on = 1, @name = 'long enough'",
    );
    let on = param("@on", SqlType::BigInt, Value::Int(5), true);
    let name = param("@name", SqlType::NVarChar(Length::Limited(4)), Value::Null, true);
    let out = rpc(&mut s, RpcProcedure::Name("flag"), vec![on.clone(), name]);
    assert_eq!(out, "@on = 1\n@name = long\n");
    let wrong = param("@name", SqlType::Int, Value::Null, true);
    let out = rpc(&mut s, RpcProcedure::Name("flag"), vec![on, wrong]);
    assert!(out.contains("Msg 245") || out.contains("Msg 8114"), "{out}");
}

#[test]
fn every_statement_ends_with_a_token() {
    let engine = server();
    let mut s = connect(&engine);
    let looped = "declare @n int
        declare numbers cursor for select 1 union select 2
        open numbers
        fetch next from numbers into @n
        while @@fetch_status = 0 begin print @n; fetch next from numbers into @n end
        close numbers
        deallocate numbers";
    batch(&mut s, &format!("create procedure looped as {looped}"));
    let mut tokens = |sql: &str| {
        let mut sink = Order::default();
        s.execute_batch(sql, &mut sink);
        sink.0.iter().filter(|token| token.ends_with("error false")).count()
    };
    assert_eq!(tokens("print 'one'; select 100; print 'two'"), 3);
    assert_eq!(tokens(looped), 12);
    assert_eq!(tokens("exec looped"), 13, "and one of the call");
    assert_eq!(tokens("set nocount on; exec looped"), 2, "those of the procedure are not told");
}

#[test]
fn table_valued_parameters() {
    let engine = server();
    let mut s = connect(&engine);
    batch(&mut s, "create type tt as table (id int primary key, v varchar(10))");
    batch(&mut s, "create procedure p @rows tt readonly as select sum(id) as s, max(v) as m from @rows");
    let rows = vec![vec![Value::Int(1), Value::str("a")], vec![Value::Int(2), Value::str("b")]];
    let call_with = |s: &mut Session, type_name, columns: &[Option<SqlType>], rows: Vec<Vec<Value>>| {
        let value = RpcValue::Table { type_name, columns: columns.to_vec(), rows };
        rpc(
            s,
            RpcProcedure::Name("p"),
            vec![RpcParam { name: "@rows".into(), ty: SqlType::Null, value, output: false }],
        )
    };
    let call = |s: &mut Session, columns: &[Option<SqlType>], rows: Vec<Vec<Value>>| {
        call_with(s, TvpName { schema: "dbo".into(), name: "tt".into() }, columns, rows)
    };
    let columns = [Some(SqlType::Int), Some(SqlType::NVarChar(Length::Max))];
    let out = call(&mut s, &columns, rows.clone());
    assert_eq!(out, "s | m\n--+--\n3 | b\n(1 row)\n");
    // The procedure knows the type.
    assert_eq!(call_with(&mut s, TvpName::default(), &columns, rows), out);
    let out = call(&mut s, &[], vec![]);
    assert_eq!(out, "s    | m\n-----+-----\nNULL | NULL\n(1 row)\n");
    let out = call(&mut s, &[Some(SqlType::Int)], vec![]);
    assert!(out.contains("Msg 500"), "{out}");
}

#[test]
fn table_valued_parameters_are_converted_and_columns_take_their_defaults() {
    let engine = server();
    let mut s = connect(&engine);
    batch(
        &mut s,
        "create type priced as table (id int identity, price decimal(9, 2), cost money, twice as price * 2, note varchar(5) default 'none')",
    );
    batch(&mut s, "create procedure p @rows priced readonly as select * from @rows order by id");
    let text = Some(SqlType::NVarChar(Length::Max));
    let rows = vec![vec![Value::str("-5.5"), Value::Float(2.25)], vec![Value::str("7"), Value::Null]];
    let type_name = TvpName { schema: String::new(), name: "priced".into() };
    let columns = vec![None, text, Some(SqlType::Float), None, None];
    let value = RpcValue::Table { type_name, columns, rows };
    let parameter = RpcParam { name: "@rows".into(), ty: SqlType::Null, value, output: false };
    let out = rpc(&mut s, RpcProcedure::Name("p"), vec![parameter]);
    assert!(out.contains("1  | -5.50 | 2.25 | -11.00 | none"), "{out}");
    assert!(out.contains("2  | 7.00  | NULL | 14.00  | none"), "{out}");
}

/// Errors and DONEs in the order in which they are sent.
#[derive(Default)]
struct Order(Vec<String>);

impl ResultSink for Order {
    fn columns(&mut self, _: &[ColumnMeta]) {}
    fn row(&mut self, _: &[Value]) -> Result<(), SinkClosed> {
        Ok(())
    }
    fn done(&mut self, done: DoneInfo) {
        self.0.push(format!("{:?} error {}", done.kind, done.error));
    }
    fn message(&mut self, message: &SqlError) {
        self.0.push(message.number.to_string());
    }
    fn return_status(&mut self, _: i32) {}
    fn output(&mut self, _: usize, _: &str, _: &SqlType, _: &Value) {}
    fn env_change(&mut self, _: EnvChange) {}
}

/// Counts in the order in which they are sent, with whose they are.
#[derive(Default)]
struct Counts(Vec<(DoneKind, Option<u64>)>);

impl ResultSink for Counts {
    fn columns(&mut self, _: &[ColumnMeta]) {}
    fn row(&mut self, _: &[Value]) -> Result<(), SinkClosed> {
        Ok(())
    }
    fn done(&mut self, done: DoneInfo) {
        self.0.push((done.kind, done.count));
    }
    fn message(&mut self, _: &SqlError) {}
    fn return_status(&mut self, _: i32) {}
    fn output(&mut self, _: usize, _: &str, _: &SqlType, _: &Value) {}
    fn env_change(&mut self, _: EnvChange) {}
}

/// Drivers see by them that a procedure without results has had one: FreeTDS' `SQLExecute` said `SQL_NO_DATA` for output parameters.
#[test]
fn values_given_to_variables_are_counted() {
    let mut s = connect(&server());
    let mut counts = |sql: &str| {
        let mut sink = Counts::default();
        s.execute_batch(sql, &mut sink);
        sink.0
    };
    let (batch, inner) = (DoneKind::Done, DoneKind::InProc);
    assert_eq!(counts("declare @a int; set @a = 1; select @a = 2"), [(batch, Some(1))]);
    assert_eq!(counts("set nocount on; declare @a int; select @a = 2; set nocount off")[1], (batch, None));
    counts(
        "create procedure p @o int output as declare @d int = 5 set @o = 1 select @o = count(*) from sys.objects where 1 = 0",
    );
    let of_call = counts("declare @o int; exec p @o output");
    assert_eq!(of_call[..2], [(inner, Some(1)), (inner, Some(1))]);
    counts("create procedure q @o int output as set nocount on set @o = 1 select @o = 2");
    let of_call = counts("declare @o int; exec q @o output");
    assert!(of_call.iter().all(|(_, count)| count.is_none()), "{of_call:?}");
    counts(
        "create function f(@a int) returns int as begin declare @b int; set @b = @a; select @b = @b + 1; return @b end",
    );
    assert_eq!(counts("select dbo.f(1)"), [(batch, Some(1))], "a function tells nobody");
}

#[test]
fn who_is_killed_learns_it_before_the_call_is_done() {
    let engine = server();
    let mut s = connect(&engine);
    let killer = {
        let (engine, id) = (Arc::clone(&engine), s.id());
        std::thread::spawn(move || {
            let mut other = connect(&engine);
            let waits = format!(
                "while not exists (select * from sys.dm_exec_requests where session_id = {id}) \
                 waitfor delay '00:00:00.001' kill {id}"
            );
            batch(&mut other, &waits)
        })
    };
    let mut order = Order::default();
    s.execute_rpc(RpcProcedure::Id(10), vec![text("waitfor delay '01:00'")], &mut order);
    assert_eq!(killer.join().unwrap(), "");
    assert!(s.is_ended());
    // Microsoft's JDBC driver takes a call whose first DONE has no error before it for one that was done.
    assert_eq!(order.0[0], "596", "{:?}", order.0);
    assert_eq!(order.0.iter().filter(|what| *what == "596").count(), 1, "{:?}", order.0);
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

/// Rows from the last to the first, strings borrowed as from the wire.
struct Rows(Vec<SqlType>, Vec<Vec<Value>>);

impl BulkSource for Rows {
    fn types(&mut self) -> keel_types::Result<Vec<SqlType>> {
        Ok(self.0.clone())
    }
    fn next(&mut self, row: &mut dyn BulkRow) -> keel_types::Result<bool> {
        let Some(values) = self.1.pop() else { return Ok(false) };
        // Every other row comes in the plainest form there is.
        let plain = self.1.len().is_multiple_of(2);
        // The first half of a row may have to be put again when the rest comes.
        row.start();
        row.put(0, Cell::Value(Value::Int(-1)))?;
        row.start();
        for (i, v) in values.iter().enumerate() {
            row.put(
                i,
                match v {
                    Value::Null => Cell::Null,
                    Value::Int(n) if plain => Cell::Int(*n),
                    Value::Str(s) if plain && s.is_ascii() => Cell::Ascii(s.as_bytes()),
                    Value::Str(s) => Cell::Text(s),
                    Value::Bytes(b) => Cell::Binary(b),
                    v => Cell::Value(v.clone()),
                },
            )?;
        }
        Ok(true)
    }
}

const TEXT: SqlType = SqlType::VarChar(Length::Limited(8000));

/// Announces a load, sends its rows, and gives what the client is told.
fn load(s: &mut Session, announce: &str, types: &[SqlType], mut rows: Vec<Vec<Value>>) -> String {
    assert_eq!(batch(s, announce), "");
    rows.reverse();
    let mut sink = Sink::default();
    s.bulk_load(&mut Rows(types.to_vec(), rows), &mut sink);
    sink.0.finish()
}

#[test]
fn bulk_load() {
    let engine = server();
    let mut s = connect(&engine);
    batch(&mut s, "create table t (a int primary key, b varchar(10) default 'x', c int identity)");
    let rows = |range: std::ops::Range<i64>| range.map(|i| vec![Value::Int(i), Value::str("row")]).collect();
    for options in ["", " with (tablock, order (a asc), rows_per_batch = 100)"] {
        let announce = format!("insert bulk t (a int, b varchar(10)){options}");
        // More than it takes to ask for the table's lock.
        let first = if options.is_empty() { 0 } else { 20_000 };
        let said = load(&mut s, &announce, &[SqlType::Int, TEXT], rows(first..first + 12_000));
        assert_eq!(said, "(12000 rows affected)\n");
    }
    assert_eq!(
        batch(&mut s, "select count(*) as n, max(a) as m, max(c) as c, min(b) as b from t"),
        "n     | m     | c     | b\n------+-------+-------+----\n24000 | 31999 | 24000 | row\n(1 row)\n"
    );
}

#[test]
fn bulk_load_is_all_or_nothing() {
    let engine = server();
    let mut s = connect(&engine);
    batch(&mut s, "create table t (a int primary key, b varchar(3)); insert t values (3, 'old'), (5, 'old')");
    batch(&mut s, "delete t where a = 3");
    let pair = |a: i64, b: &str| vec![Value::Int(a), Value::str(b)];
    for options in ["", " with (tablock)"] {
        let announce = format!("insert bulk t (a int, b varchar(3)){options}");
        let mut load = |rows| load(&mut s, &announce, &[SqlType::BigInt, TEXT], rows);
        assert!(load(vec![pair(1, "x"), pair(5, "y")]).contains("2627"), "a row that was there");
        assert!(load(vec![pair(1, "x"), pair(1, "y")]).contains("2627"), "a row of the same load");
        assert!(load(vec![pair(1, "x"), pair(2, "long")]).contains("2628"), "a string that does not fit");
        assert!(load(vec![pair(1, "x"), pair(1 << 40, "y")]).contains("8115"), "a number that does not fit");
        assert!(load(vec![pair(1, "x"), vec![Value::Null, Value::Null]]).contains("515"), "no NULL");
        assert_eq!(batch(&mut s, "select a from t"), "a\n-\n5\n(1 row)\n");
    }
    let said = load(
        &mut s,
        "insert bulk t (a int, b varchar(3)) with (tablock)",
        &[SqlType::Int, TEXT],
        vec![pair(3, "new"), pair(4, "x  "), pair(6, "\u{20ac}")],
    );
    assert_eq!(said, "(3 rows affected)\n");
    assert_eq!(
        batch(&mut s, "select a, b + '|' as b from t"),
        "a | b\n--+-----\n3 | new|\n4 | x  |\n5 | old|\n6 | \u{20ac}|\n(4 rows)\n"
    );
}

#[test]
fn bulk_load_options() {
    let engine = server();
    let mut s = connect(&engine);
    batch(
        &mut s,
        "create table t (id int identity(10, 1), a int default 7 check (a < 100), b as a * 2, d char(3), \
         index ix_a (a) include (d))",
    );
    let announce = |options: &str| format!("insert bulk t (id int, a int, d char(3)){options}");
    let types = [SqlType::Int, SqlType::Int, TEXT];
    let row = |id: i64, a: Value| vec![Value::Int(id), a, Value::str("z")];
    let s = &mut s;
    let one = "(1 row affected)\n";
    // Values of the identity column are kept if they are sent; who wants the server's leaves the column out.
    let without = "insert bulk t (a int, d char(3))";
    assert_eq!(load(s, without, &types[1..], vec![row(0, Value::Int(6)).split_off(1)]), one);
    let load = |s: &mut Session, options: &str, rows| load(s, &announce(options), &types, rows);
    assert_eq!(load(s, "", vec![row(1, Value::Null)]), one);
    assert_eq!(load(s, " with (keep_nulls)", vec![row(2, Value::Null)]), one);
    assert_eq!(load(s, "", vec![row(30, Value::Int(5))]), one);
    assert_eq!(load(s, "", vec![row(4, Value::Int(500))]), one);
    assert!(load(s, " with (check_constraints)", vec![row(5, Value::Int(500))]).contains("547"));
    assert_eq!(
        batch(s, "select id, a, b, d + '|' as d from t order by id"),
        "id | a    | b    | d\n\
         ---+------+------+-----\n\
         1  | 7    | 14   | z  |\n\
         2  | NULL | NULL | z  |\n\
         4  | 500  | 1000 | z  |\n\
         10 | 6    | 12   | z  |\n\
         30 | 5    | 10   | z  |\n\
         (5 rows)\n"
    );
    assert_eq!(
        batch(s, "select d + '|' as d from t with (index(ix_a)) where a = 500"),
        "d\n----\nz  |\n(1 row)\n"
    );
    batch(s, "create trigger tr on t after insert as select count(*) as fired from inserted");
    assert_eq!(load(s, "", vec![row(1, Value::Int(1))]), one);
    let said = load(s, " with (fire_triggers)", vec![row(1, Value::Int(1))]);
    assert!(said.contains("fired"), "{said}");
}

#[test]
fn loads_share_a_table_that_others_cannot_touch() {
    let engine = server();
    let (mut a, mut b) = (connect(&engine), connect(&engine));
    batch(&mut a, "create table t (a int primary key)");
    let announce = "insert bulk t (a int) with (tablock)";
    let rows = |n: i64| vec![vec![Value::Int(n)]];
    batch(&mut a, "begin tran");
    batch(&mut b, "set lock_timeout 0; begin tran");
    assert_eq!(load(&mut a, announce, &[SqlType::Int], rows(1)), "(1 row affected)\n");
    assert_eq!(load(&mut b, announce, &[SqlType::Int], rows(2)), "(1 row affected)\n");
    assert!(
        load(&mut b, announce, &[SqlType::Int], rows(1)).contains("1222"),
        "the other's row is undecided"
    );
    assert!(batch(&mut connect(&engine), "set lock_timeout 0; insert t values (3)").contains("1222"));
    batch(&mut a, "rollback");
    assert_eq!(load(&mut b, announce, &[SqlType::Int], rows(1)), "(1 row affected)\n");
    batch(&mut b, "commit");
    assert_eq!(batch(&mut a, "select a from t"), "a\n-\n1\n2\n(2 rows)\n");
}

/// One row, before which another session tries something.
struct Meanwhile<'a> {
    other: &'a mut Session,
    tries: &'static str,
    said: Option<String>,
}

impl BulkSource for Meanwhile<'_> {
    fn types(&mut self) -> keel_types::Result<Vec<SqlType>> {
        Ok(vec![SqlType::Int])
    }
    fn next(&mut self, row: &mut dyn BulkRow) -> keel_types::Result<bool> {
        if self.said.is_some() {
            return Ok(false);
        }
        self.said = Some(batch(self.other, self.tries));
        row.start();
        row.put(0, Cell::Int(1))?;
        Ok(true)
    }
}

#[test]
fn what_keys_of_a_load_refer_to_stays_as_it_is() {
    let engine = server();
    let (mut a, mut b) = (connect(&engine), connect(&engine));
    batch(
        &mut a,
        "create table parent (i int primary key, k int not null); create unique index ux on parent (k)",
    );
    batch(&mut a, "insert parent values (1, 1); create table child (k int references parent (k))");
    batch(&mut a, "insert bulk child (k int) with (check_constraints)");
    // The index would be another tree, in which the load does not look.
    let tries = "set lock_timeout 0; create unique index ux on parent (k desc) with (drop_existing = on)";
    let mut source = Meanwhile { other: &mut b, tries, said: None };
    let mut sink = Sink::default();
    a.bulk_load(&mut source, &mut sink);
    assert_eq!(sink.0.finish(), "(1 row affected)\n");
    let said = source.said.unwrap_or_default();
    assert!(said.contains("1222"), "the parent is locked: {said}");
}
