//! `keel repository`: making a directory in which backups share what they have in common, and looking after it.
//!
//! Works on the directory itself; no server need be running, and those that are go on.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use indicatif::{DecimalBytes, HumanCount, ProgressBar, ProgressStyle};
use keel_base::env::Env;
use keel_repository::{Access, Repository as Directory};

use crate::login::finish;

/// Keep backups in a directory that stores equal parts once.
///
/// A backup to any path below the directory (BACKUP DATABASE … TO DISK = '/backups/shop.bak') is then stored without what other
/// backups in it have already, and restored from that path as ever.
#[derive(Args)]
pub struct Repository {
    #[command(subcommand)]
    command: RepositoryCommand,
}

#[derive(Subcommand)]
enum RepositoryCommand {
    /// Make a directory a repository; backups that lie in it stay as they are
    Init(Place),
    /// Show what is in it, and what it takes
    Status(Place),
    /// Read everything and check it; fails when something is damaged
    Verify(Place),
    /// Remove what no backup needs any more, once its file was removed
    ///
    /// Backups can be made and restored meanwhile, but for a moment at the end. Run it as the user that the servers run as.
    Prune(Place),
}

#[derive(Args)]
struct Place {
    /// The directory
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

impl Repository {
    /// See the type.
    pub fn run(self) -> ExitCode {
        finish(match self.command {
            RepositoryCommand::Init(place) => place.init(),
            RepositoryCommand::Status(place) => place.status(),
            RepositoryCommand::Verify(place) => place.verify(),
            RepositoryCommand::Prune(place) => place.prune(),
        })
    }
}

/// A bar of bytes that are done, where somebody looks.
fn bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) =
        ProgressStyle::with_template("{bar:40} {percent:>3} %  {decimal_bytes_per_sec}  {eta} left")
    {
        bar.set_style(style);
    }
    bar
}

fn show(bar: &ProgressBar) -> impl FnMut(u64, u64) -> std::io::Result<()> + '_ {
    |done, all| {
        bar.set_length(all);
        bar.set_position(done);
        Ok(())
    }
}

impl Place {
    fn open(&self) -> Result<std::sync::Arc<Directory>> {
        Ok(Directory::open(&Env::real(), &self.dir, Access::Shared, true)?)
    }

    fn init(&self) -> Result<()> {
        // As the server sees it, whose paths are absolute.
        let dir = std::path::absolute(&self.dir)?;
        Directory::create(&Env::real(), &dir)?;
        println!(
            "{} is a repository: backups to files below it share what they have in common.",
            dir.display()
        );
        Ok(())
    }

    fn status(&self) -> Result<()> {
        let figures = self.open()?.figures()?;
        let count = |n| HumanCount(n).to_string();
        let bytes = |n| DecimalBytes(n).to_string();
        let mut lines = vec![
            ("files", count(figures.files)),
            ("bytes in them", bytes(figures.bytes)),
            (
                "of which different",
                format!("{} in {} chunks", bytes(figures.chunk_bytes), count(figures.chunks)),
            ),
            ("stored", format!("{} in {} packs", bytes(figures.stored), count(figures.packs))),
            ("of which unused", format!("{} (keel repository prune)", bytes(figures.unused))),
        ];
        if figures.stored > 0 {
            lines.push(("one byte for", format!("{:.1}", figures.bytes as f64 / figures.stored as f64)));
        }
        if figures.others > 0 {
            lines.push(("other files", count(figures.others)));
        }
        for (name, value) in lines {
            println!("{name:<20}{value}");
        }
        Ok(())
    }

    fn verify(&self) -> Result<()> {
        let repository = self.open()?;
        let bar = bar();
        let damage = repository.verify(&mut show(&bar));
        bar.finish_and_clear();
        let damage = damage?;
        for (path, what) in damage.packs.iter().chain(&damage.files) {
            println!("{}: {what}", path.display());
        }
        if damage.packs.is_empty() && damage.files.is_empty() {
            println!("{} is whole.", self.dir.display());
            return Ok(());
        }
        if damage.files.is_empty() {
            bail!("{} has damage, but all files can be read", self.dir.display());
        }
        bail!("{} files of {} cannot be read whole", damage.files.len(), self.dir.display())
    }

    fn prune(&self) -> Result<()> {
        let bar = bar();
        let mut waiting =
            || bar.suspend(|| eprintln!("Waiting for backups that are being written or read to end."));
        let pruned = Directory::prune(&Env::real(), &self.dir, &mut waiting, &mut show(&bar));
        bar.finish_and_clear();
        let pruned = pruned.context("nothing that a backup needs was removed")?;
        println!(
            "{} freed: {} packs removed, {} written.",
            DecimalBytes(pruned.freed),
            HumanCount(pruned.packs),
            HumanCount(pruned.written)
        );
        Ok(())
    }
}
