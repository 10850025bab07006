//! `keel witness`.

use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

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

/// Begins the process anew with an allocator that gives freed memory back at once (it reads its settings when a process
/// begins): a witness has nothing to be fast for, and keeps a tenth of the memory that way. If that cannot be done it runs
/// on with more.
fn start_over_thrifty() {
    const SETTINGS: [(&str, &str); 4] = [
        ("MIMALLOC_PURGE_DELAY", "0"),
        ("MIMALLOC_ABANDONED_PAGE_PURGE", "1"),
        ("MIMALLOC_EAGER_COMMIT", "0"),
        ("MIMALLOC_ARENA_EAGER_COMMIT", "0"),
    ];
    if SETTINGS.iter().any(|(name, _)| std::env::var_os(name).is_some()) {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        let _failed = Command::new(program).args(std::env::args_os().skip(1)).envs(SETTINGS).exec();
    }
}

impl Witness {
    /// Runs until told to stop.
    pub fn run(self) -> ExitCode {
        finish(self.witness())
    }

    fn witness(self) -> Result<()> {
        start_over_thrifty();
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
