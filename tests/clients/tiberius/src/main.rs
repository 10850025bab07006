//! tiberius.

use anyhow::{Context, Result, bail, ensure};
use std::env::var;
use std::time::{Duration, Instant};
use tiberius::{AuthMethod, Client, Config, EncryptionLevel, Query};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

type Connection = Client<Compat<TcpStream>>;

async fn connect(encryption: EncryptionLevel, password: &str) -> Result<Connection> {
    let mut config = Config::new();
    config.host(var("KEEL_HOST")?);
    config.port(var("KEEL_PORT")?.parse()?);
    config.database(var("KEEL_DATABASE")?);
    config.authentication(AuthMethod::sql_server("sa", password));
    config.encryption(encryption);
    config.trust_cert();
    let socket = TcpStream::connect(config.get_addr()).await?;
    socket.set_nodelay(true)?;
    Ok(Client::connect(config, socket.compat_write()).await?)
}

async fn usual() -> Result<Connection> {
    connect(EncryptionLevel::Required, &var("KEEL_PASSWORD")?).await
}

async fn logins() -> Result<()> {
    for encryption in [EncryptionLevel::Required, EncryptionLevel::Off, EncryptionLevel::NotSupported] {
        let mut c = connect(encryption, &var("KEEL_PASSWORD")?).await.with_context(|| format!("{encryption:?}"))?;
        let row = c.simple_query("SELECT DB_NAME()").await?.into_row().await?.context("a row")?;
        ensure!(row.get::<&str, _>(0) == Some(&var("KEEL_DATABASE")?[..]));
    }
    Ok(())
}

async fn wrong_password() -> Result<()> {
    match connect(EncryptionLevel::Required, "wrong").await {
        Ok(_) => bail!("logged in"),
        Err(e) => match e.downcast_ref::<tiberius::error::Error>().and_then(|e| e.code()) {
            Some(18456) => Ok(()),
            other => bail!("{other:?}: {e}"),
        },
    }
}

async fn parameters() -> Result<()> {
    let mut c = usual().await?;
    for i in 0..100i32 {
        let mut query = Query::new("SELECT @P1 + 1, @P2, @P3, @P4, @P5");
        query.bind(i);
        query.bind("漢字 text");
        query.bind(1.5f64);
        query.bind(Option::<i32>::None);
        query.bind(&[1u8, 2, 3][..]);
        let row = query.query(&mut c).await?.into_row().await?.context("a row")?;
        ensure!(row.get::<i32, _>(0) == Some(i + 1));
        ensure!(row.get::<&str, _>(1) == Some("漢字 text"));
        ensure!(row.get::<f64, _>(2) == Some(1.5));
        ensure!(row.get::<i32, _>(3).is_none());
        ensure!(row.get::<&[u8], _>(4) == Some(&[1u8, 2, 3][..]));
    }
    Ok(())
}

async fn transactions() -> Result<()> {
    let mut c = usual().await?;
    c.simple_query("CREATE TABLE #t (a int)").await?.into_results().await?;
    c.simple_query("BEGIN TRANSACTION; INSERT #t VALUES (1)").await?.into_results().await?;
    c.simple_query("ROLLBACK").await?.into_results().await?;
    let row = c.simple_query("SELECT COUNT(*) FROM #t").await?.into_row().await?.context("a row")?;
    ensure!(row.get::<i32, _>(0) == Some(0));
    Ok(())
}

async fn errors() -> Result<()> {
    let mut c = usual().await?;
    let failed = async { c.simple_query("SELECT 1;\n\nSELECT * FROM nowhere").await?.into_results().await }.await;
    match failed {
        Err(tiberius::error::Error::Server(e)) => {
            ensure!((e.code(), e.class(), e.line()) == (208, 16, 3), "{e:?}");
        }
        other => bail!("{other:?}"),
    }
    Ok(())
}

async fn bulk() -> Result<()> {
    let mut c = usual().await?;
    c.simple_query("CREATE TABLE bulk_tiberius (a int NOT NULL, b nvarchar(30) NULL)").await?.into_results().await?;
    let mut request = c.bulk_insert("bulk_tiberius").await?;
    for i in 0..100_000i32 {
        use tiberius::IntoRow;
        let text: Option<String> = (i % 7 != 0).then(|| format!("row {i}"));
        request.send((i, text).into_row()).await?;
    }
    ensure!(request.finalize().await?.total() == 100_000);
    let row = c.simple_query("SELECT COUNT(b) FROM bulk_tiberius").await?.into_row().await?.context("a row")?;
    ensure!(row.get::<i32, _>(0) == Some(85_714));
    c.simple_query("DROP TABLE bulk_tiberius").await?.into_results().await?;
    Ok(())
}

async fn disconnect_while_running() -> Result<()> {
    let mut c = usual().await?;
    // The driver has no cancel: a client that goes away must not leave its statement running.
    let started = Instant::now();
    let waited = tokio::time::timeout(Duration::from_millis(300), async {
        c.simple_query("WAITFOR DELAY '00:10:00'").await?.into_results().await
    })
    .await;
    ensure!(waited.is_err() && started.elapsed() < Duration::from_secs(300));
    drop(c);
    usual().await.map(|_| ())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut failed = false;
    let mut report = |name: &str, outcome: Result<()>| match outcome {
        Ok(()) => println!("ok     tiberius {name}"),
        Err(e) => {
            failed = true;
            println!("FAILED tiberius {name}\n{e:?}");
        }
    };
    report("logins", logins().await);
    report("wrong password", wrong_password().await);
    report("parameters", parameters().await);
    report("transactions", transactions().await);
    report("errors", errors().await);
    report("bulk", bulk().await);
    report("disconnect while running", disconnect_while_running().await);
    if failed {
        std::process::exit(1);
    }
}
