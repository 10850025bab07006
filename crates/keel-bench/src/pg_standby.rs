//! PostgreSQL with synchronous streaming replication, set up like ours: standbys on the same machine, replication over TLS,
//! the primary on a core of its own, and a commit that returns once every standby has flushed it.

use crate::pg::{Cluster, run};
use crate::process::{family, on_core};
use crate::sync_cost::Side;
use crate::target::Server;
use anyhow::{Result, ensure};
use keel_workload::{Cell, Connection};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a standby may take to follow.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A primary and its standbys.
pub struct Replicated {
    // Standbys go first when this is dropped.
    standbys: Vec<Cluster>,
    primary: Cluster,
    dir: PathBuf,
}

impl Replicated {
    /// A primary below `dir`, on the first core.
    ///
    /// # Errors
    /// When PostgreSQL or `openssl` is not installed, or it does not start.
    pub fn start(dir: &Path) -> Result<Replicated> {
        let primary = Cluster::place(&dir.join("primary"), on_core(0))?;
        primary.init("ssl = on\nwal_level = replica\nmax_wal_senders = 8\nhot_standby = on\n")?;
        let (key, certificate) = (primary.data().join("server.key"), primary.data().join("server.crt"));
        run(Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
            .args(["-days", "2", "-subj", "/CN=localhost", "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&certificate))?;
        run(Command::new("chmod").arg("600").arg(&key))?;
        primary.own(&key)?;
        primary.own(&certificate)?;
        primary.serve()?;
        Ok(Replicated { standbys: Vec::new(), primary, dir: dir.to_path_buf() })
    }

    /// Commits wait for the flush of so many standbys.
    fn wait_for(&self, standbys: usize) -> Result<()> {
        let mut session = self.primary.connect()?;
        session.execute(&format!("ALTER SYSTEM SET synchronous_standby_names = 'FIRST {standbys} (*)'"))?;
        session.execute("SELECT pg_reload_conf()")?;
        let began = Instant::now();
        let sql = "SELECT COUNT(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        while session.query(sql)? != [[Cell::Int(standbys as i64)]] {
            ensure!(began.elapsed() < PATIENCE, "{standbys} standbys have not become synchronous");
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

impl Server for Replicated {
    fn name(&self) -> String {
        self.primary.name()
    }

    fn connect(&self) -> Result<Box<dyn Connection + Send>> {
        self.primary.connect()
    }
}

impl Side for Replicated {
    fn add_secondary(&mut self) -> Result<()> {
        let number = self.standbys.len() + 1;
        let standby = Cluster::place(&self.dir.join(format!("standby{number}")), Vec::new())?;
        let from = format!(
            "host=127.0.0.1 port={} user=postgres sslmode=require application_name=standby{number}",
            self.primary.port()
        );
        let options = ["-R", "-X", "stream", "-c", "fast"];
        run(standby.command("pg_basebackup").args(["-d", &from, "-D"]).arg(standby.data()).args(options))?;
        // Appended last, so it counts: the primary's port and synchronous standbys came along with its files.
        standby.configure("")?;
        standby.serve()?;
        self.standbys.push(standby);
        self.wait_for(number)
    }

    fn processes(&self) -> Result<Vec<Vec<u32>>> {
        let servers = std::iter::once(&self.primary).chain(&self.standbys);
        servers.map(|server| Ok(family(server.postmaster()?))).collect()
    }
}
