//! `keel witness`.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use keel_server::witness;

use crate::login::finish;
use crate::signals::Signals;

/// Run a witness: a vote in a cluster and nothing else.
///
/// It lets two instances decide which of them goes on when they lose each other. It keeps no data but its own identity and
/// what it has voted for, needs a few megabytes of memory, and should run on a third machine. It prints one line on standard
/// output when it listens, and stops on SIGTERM or Ctrl-C.
#[derive(Args)]
pub struct Witness {
    /// Directory of its identity and its vote; made when missing
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT")]
    listen: SocketAddr,
    /// Where the members reach it [default: what it listens on]
    #[arg(long, value_name = "HOST:PORT")]
    advertise: Option<String>,
    /// Its name in the cluster
    #[arg(long, value_name = "NAME", default_value = "WITNESS")]
    name: String,
    /// A token of a member (keel cluster witness, keel init); not needed again once it is a member
    #[arg(long, value_name = "TOKEN")]
    join: Option<String>,
    /// Keep messages off standard error; the error log has them
    #[arg(long)]
    quiet: bool,
}

impl Witness {
    /// Runs until told to stop.
    pub fn run(self) -> ExitCode {
        finish(self.witness())
    }

    fn witness(self) -> Result<()> {
        // Before any thread is made, so that all of them leave the signals to this one.
        let signals = Signals::block();
        let witness = witness::Witness::start(&witness::WitnessConfig {
            data: self.data,
            listen: self.listen,
            advertise: self.advertise,
            name: self.name,
            join: self.join,
            log_to_stderr: !self.quiet,
        })?;
        println!("keel: the witness listens on {}", witness.address());
        // Whoever started us may have closed its end; the witness runs on.
        let _ = std::io::stdout().flush();
        signals.wait();
        std::thread::spawn(move || {
            signals.wait();
            std::process::exit(1);
        });
        witness.stop();
        Ok(())
    }
}
