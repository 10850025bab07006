//! `keel keeper`: the process beside an instance. Started by `keel serve` only.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use clap::Args;
use keel_server::keeper::{self, Launch};

use crate::login::finish;

/// Let the clients of a server go when it stands still; started by `keel serve`.
#[derive(Args)]
#[command(hide = true)]
pub struct Keeper {
    /// The server's name, to be seen in lists of processes
    name: String,
}

/// What starts one for an instance: this very program, also when its file has been replaced meanwhile. Signals to the instance's process
/// group are not meant for it.
pub fn launch(name: String) -> Launch {
    Box::new(move || {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("keel").arg("keeper").arg(&name).process_group(0);
        command
    })
}

impl Keeper {
    /// Until the server has gone.
    pub fn run(self) -> ExitCode {
        finish(io::stdin().as_fd().try_clone_to_owned().map_err(Into::into).and_then(keeper::run))
    }
}
