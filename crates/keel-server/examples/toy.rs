//! The toy server of the tests on a port, to try drivers' logins against: `cargo run --example toy -- 127.0.0.1:14330`.

#[path = "../tests/toy/mod.rs"]
mod toy;

use std::sync::Arc;

use keel_server::password::Passwords;
use keel_server::{Config, ErrorLog, Server};

fn main() -> anyhow::Result<()> {
    let data = std::env::temp_dir().join("keel-toy");
    std::fs::create_dir_all(&data)?;
    let listen = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:14330".into());
    let log = Arc::new(ErrorLog::start(&data.join("log"), true)?);
    let passwords = Arc::new(Passwords::new());
    let backend = Arc::new(toy::Toy::new(&passwords));
    let server = Server::start(Config { data, listen, ..Config::default() }, backend, passwords, log)?;
    println!("{} sa {}", server.addresses()[0], toy::PASSWORD);
    loop {
        std::thread::park();
    }
}
