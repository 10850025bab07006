//! mssql-tds, Microsoft's own client in Rust.

use anyhow::{Context, Result, bail, ensure};
use async_trait::async_trait;
use mssql_tds::connection::bulk_copy::{BulkCopy, BulkLoadRow};
use mssql_tds::connection::client_context::ClientContext;
use mssql_tds::connection::tds_client::{ResultSet, TdsClient};
use mssql_tds::connection_provider::tds_connection_provider::TdsConnectionProvider;
use mssql_tds::core::{EncryptionSetting, TdsResult};
use mssql_tds::datatypes::column_values::ColumnValues;
use mssql_tds::datatypes::sql_string::SqlString;
use mssql_tds::datatypes::sqltypes::SqlType;
use mssql_tds::error::Error;
use mssql_tds::message::bulk_load::StreamingBulkLoadWriter;
use mssql_tds::message::parameters::rpc_parameters::{RpcParameter, StatusFlags};
use mssql_tds::message::transaction_management::TransactionIsolationLevel;
use std::env::var;
use std::time::{Duration, Instant};

async fn connect(mode: EncryptionSetting, password: &str) -> Result<TdsClient> {
    let mut context = ClientContext::default();
    context.user_name = "sa".into();
    context.password = password.into();
    context.database = var("KEEL_DATABASE")?;
    if matches!(mode, EncryptionSetting::Strict) {
        context.encryption_options.server_certificate = Some(var("KEEL_CERTIFICATE")?.into());
    } else {
        context.encryption_options.trust_server_certificate = true;
    }
    context.encryption_options.mode = mode;
    let source = format!("tcp:{},{}", var("KEEL_HOST")?, var("KEEL_PORT")?);
    Ok(TdsConnectionProvider {}.create_client(context, &source, None).await?)
}

async fn usual() -> Result<TdsClient> {
    connect(EncryptionSetting::Required, &var("KEEL_PASSWORD")?).await
}

/// The first row of a batch; nothing when it returns none.
async fn row(c: &mut TdsClient, sql: &str) -> Result<Vec<ColumnValues>> {
    c.execute(sql.into(), ()).await?;
    rest(c).await
}

async fn rest(c: &mut TdsClient) -> Result<Vec<ColumnValues>> {
    let first = if c.on_rows() { c.next_row().await? } else { None };
    c.close_query().await?;
    Ok(first.unwrap_or_default())
}

fn text(v: &ColumnValues) -> String {
    match v {
        ColumnValues::String(s) => s.to_utf8_string(),
        other => format!("{other:?}"),
    }
}

fn number(e: &anyhow::Error) -> Option<u32> {
    match e.downcast_ref::<Error>()? {
        Error::SqlServerError { diagnostics } => diagnostics.errors.first().map(|e| e.number),
        _ => None,
    }
}

async fn logins() -> Result<()> {
    for mode in [EncryptionSetting::Required, EncryptionSetting::On, EncryptionSetting::PreferOff] {
        let mut c = connect(mode, &var("KEEL_PASSWORD")?).await?;
        ensure!(text(&row(&mut c, "SELECT DB_NAME()").await?[0]) == var("KEEL_DATABASE")?);
    }
    Ok(())
}

async fn strict() -> Result<()> {
    let mut c = connect(EncryptionSetting::Strict, &var("KEEL_PASSWORD")?).await?;
    ensure!(c.is_encrypted());
    ensure!(row(&mut c, "SELECT 1").await? == [ColumnValues::Int(1)]);
    Ok(())
}

async fn wrong_password() -> Result<()> {
    match connect(EncryptionSetting::Required, "wrong").await {
        Ok(_) => bail!("logged in"),
        Err(e) => ensure!(number(&e) == Some(18456), "{e}"),
    }
    Ok(())
}

async fn parameters() -> Result<()> {
    let mut c = usual().await?;
    for i in 0..100i32 {
        let parameter = |name: &str, value| RpcParameter::new(Some(name.into()), StatusFlags::NONE, value);
        let all = vec![
            parameter("@a", SqlType::Int(Some(i))),
            parameter("@b", SqlType::NVarchar(Some(SqlString::from_utf8_string("漢字 text".into())), 4000)),
            parameter("@c", SqlType::Float(Some(1.5))),
            parameter("@d", SqlType::Int(None)),
        ];
        c.execute_sp_executesql("SELECT @a + 1, @b, @c, @d".into(), all, ()).await?;
        let got = rest(&mut c).await?;
        ensure!(got[0] == ColumnValues::Int(i + 1) && got[2] == ColumnValues::Float(1.5), "{got:?}");
        ensure!(text(&got[1]) == "漢字 text" && got[3] == ColumnValues::Null, "{got:?}");
    }
    Ok(())
}

async fn transactions() -> Result<()> {
    let mut c = usual().await?;
    row(&mut c, "CREATE TABLE #t (a int)").await?;
    c.begin_transaction(TransactionIsolationLevel::NoChange, None).await?;
    row(&mut c, "INSERT #t VALUES (1)").await?;
    c.rollback_transaction(None, None).await?;
    ensure!(row(&mut c, "SELECT COUNT(*) FROM #t").await? == [ColumnValues::Int(0)]);
    c.begin_transaction(TransactionIsolationLevel::ReadCommitted, None).await?;
    row(&mut c, "INSERT #t VALUES (1)").await?;
    c.commit_transaction(None, None).await?;
    ensure!(row(&mut c, "SELECT COUNT(*) FROM #t").await? == [ColumnValues::Int(1)]);
    Ok(())
}

async fn errors() -> Result<()> {
    let mut c = usual().await?;
    match c.execute("\n\nSELECT * FROM nowhere".into(), ()).await {
        Err(Error::SqlServerError { diagnostics }) => {
            let e = &diagnostics.errors[0];
            ensure!((e.number, e.class, e.line_number) == (208, 16, Some(3)), "{e:?}");
        }
        Err(e) => bail!("{e}"),
        Ok(_) => bail!("no error"),
    }
    ensure!(row(&mut c, "SELECT 1").await? == [ColumnValues::Int(1)]);
    Ok(())
}

struct Row(i32);

#[async_trait]
impl BulkLoadRow for Row {
    async fn write_to_packet(
        &self,
        writer: &mut StreamingBulkLoadWriter<'_>,
        column: &mut usize,
    ) -> TdsResult<()> {
        let text = match self.0 % 7 {
            0 => ColumnValues::Null,
            _ => ColumnValues::String(SqlString::from_utf8_string(format!("row {}", self.0))),
        };
        for value in [ColumnValues::Int(self.0), text] {
            writer.write_column_value(*column, &value).await?;
            *column += 1;
        }
        Ok(())
    }
}

async fn bulk() -> Result<()> {
    let mut c = usual().await?;
    row(&mut c, "CREATE TABLE bulk_mssql_tds (a int NOT NULL, b nvarchar(30) NULL)").await?;
    let done = BulkCopy::new(&mut c, "bulk_mssql_tds").write_to_server_zerocopy((0..100_000).map(Row)).await?;
    ensure!(done.rows_affected == 100_000);
    let got = row(&mut c, "SELECT COUNT(b), COUNT(*) FROM bulk_mssql_tds").await?;
    ensure!(got == [ColumnValues::Int(85_714), ColumnValues::Int(100_000)], "{got:?}");
    row(&mut c, "DROP TABLE bulk_mssql_tds").await?;
    Ok(())
}

async fn cancel() -> Result<()> {
    let mut c = usual().await?;
    // Results of many rows: this client gives up a connection when more than 1,024 results are on their way at its cancel.
    let endless = "SELECT 1; WHILE 1 = 1 SELECT value FROM GENERATE_SERIES(1, 1000000)";
    c.execute(endless.into(), ()).await?;
    let started = Instant::now();
    c.cancel_query(120).await?;
    ensure!(started.elapsed() < Duration::from_secs(120));
    ensure!(row(&mut c, "SELECT 1").await? == [ColumnValues::Int(1)]);
    Ok(())
}

async fn reset() -> Result<()> {
    let mut c = usual().await?;
    row(&mut c, "CREATE TABLE #gone (a int)").await?;
    c.prepare_reset_connection(false);
    let got = row(&mut c, "SELECT OBJECT_ID('tempdb..#gone')").await?;
    ensure!(got.first().context("a row")? == &ColumnValues::Null, "{got:?}");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut failed = false;
    let mut report = |name: &str, outcome: Result<()>| match outcome {
        Ok(()) => println!("ok     mssql-tds {name}"),
        Err(e) => {
            failed = true;
            println!("FAILED mssql-tds {name}\n{e:?}");
        }
    };
    report("logins", logins().await);
    report("strict", strict().await);
    report("wrong password", wrong_password().await);
    report("parameters", parameters().await);
    report("transactions", transactions().await);
    report("errors", errors().await);
    report("bulk", bulk().await);
    report("cancel", cancel().await);
    report("reset", reset().await);
    if failed {
        std::process::exit(1);
    }
}
