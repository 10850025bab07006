//! What a procedure call costs outside the SQL side: calls against the toy server, with wall clock and processor time
//! (both sides together) per call. `cargo run --release --example round_trip`.

#[path = "../tests/toy/mod.rs"]
mod toy;

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use keel_server::password::Passwords;
use keel_server::{Config, ErrorLog, Server};
use keel_tds::client::{Client, ClientEncryption, ConnectOptions, trust_any_certificate};
use keel_tds::login::Login;
use keel_tds::request::rpc::{self, CallFlags, ParameterFlags, ProcId, Procedure};
use keel_tds::{Data, TypeInfo};

const CALLS: u32 = 50_000;

fn main() -> anyhow::Result<()> {
    let data = std::env::temp_dir().join("keel-round-trip");
    std::fs::create_dir_all(&data)?;
    let log = Arc::new(ErrorLog::start(&data.join("log"), false)?);
    let passwords = Arc::new(Passwords::new());
    let backend = Arc::new(toy::Toy::new(&passwords));
    let config = Config { data, listen: "127.0.0.1:0".into(), ..Config::default() };
    let server = Server::start(config, backend, passwords, log)?;
    for encryption in [ClientEncryption::LoginOnly, ClientEncryption::On] {
        let io = TcpStream::connect(server.addresses()[0])?;
        io.set_nodelay(true)?;
        let login = Login { user_name: "sa".into(), password: toy::PASSWORD.into(), ..Login::default() };
        let options = ConnectOptions {
            login,
            encryption,
            tls: Some(trust_any_certificate()?),
            host: "localhost".into(),
        };
        let mut client = Client::connect(io, &options)?;
        let (started, before) = (Instant::now(), processor_micros());
        for i in 0..CALLS {
            client.call(|out| {
                rpc::encode_call(out, &Procedure::Id(ProcId::Execute), CallFlags::empty());
                rpc::encode_parameter(out, "", ParameterFlags::empty(), &TypeInfo::IntN(4), &Data::Int(1));
                let key = Data::Int(i32::try_from(i).unwrap_or(0));
                rpc::encode_parameter(out, "@id", ParameterFlags::empty(), &TypeInfo::IntN(4), &key);
            })?;
            while client.next_token()?.is_some() {}
        }
        let per_call = |micros: f64| micros / f64::from(CALLS);
        let wall = started.elapsed().as_secs_f64() * 1e6;
        let after = processor_micros();
        println!(
            "{encryption:?}: {:.1} µs wall, {:.1} µs user, {:.1} µs system per call",
            per_call(wall),
            per_call(after.0 - before.0),
            per_call(after.1 - before.1)
        );
    }
    server.stop();
    Ok(())
}

/// User and system time of this process.
fn processor_micros() -> (f64, f64) {
    // SAFETY: a zeroed rusage is a valid place for getrusage to write to.
    let usage = unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    #[allow(clippy::cast_precision_loss, reason = "a report")]
    let micros = |t: libc::timeval| t.tv_sec as f64 * 1e6 + t.tv_usec as f64;
    (micros(usage.ru_utime), micros(usage.ru_stime))
}
