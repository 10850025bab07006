//! What a measurement runs against: servers started for the occasion, or one that runs already.

use super::{Run, scratch, split};
use crate::report::Report;
use crate::target::{Server, version};
use crate::tds::{Address, Keel};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use keel_workload::Connection;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A server started here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Evenkeel: `keel serve`
    Keel,
    /// PostgreSQL, from the system's packages (only in builds with the feature `postgres`)
    Postgres,
}

/// See the module.
#[derive(Args, Serialize)]
pub struct Target {
    /// Start this and run against it; given twice, the two are run in turn and compared [default: keel]
    #[arg(long = "on", value_enum)]
    on: Vec<Kind>,
    /// Run against a SQL Server or Evenkeel that runs already: host, host,port or host:port
    #[arg(short = 'S', long, value_name = "HOST,PORT")]
    server: Option<String>,
    /// Login there
    #[arg(short = 'U', long, value_name = "LOGIN", default_value = "sa")]
    user: String,
    /// Password there; better given in SQLCMDPASSWORD
    #[arg(
        short = 'P',
        long,
        env = "SQLCMDPASSWORD",
        hide_env_values = true,
        default_value = "",
        hide_default_value = true
    )]
    #[serde(skip)]
    password: String,
    /// Database there; made when missing, its tables of earlier runs are replaced [default: tpcc; of tpch tproch]
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
    /// Runs of each, in turn
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Encrypt TDS connections; without it only the login is, as those to PostgreSQL are in the clear
    #[arg(long)]
    encrypt: bool,
    /// More options for `keel serve`, separated by spaces
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, default_value = "")]
    serve_options: String,
}

/// One of the servers to run against.
#[derive(Clone, Copy)]
pub enum One {
    /// Started here.
    Started(Kind),
    /// The one that was named.
    Named,
}

/// A server to run against; one that was started here ends when this is dropped, and its files go.
pub struct Opened {
    /// The server.
    pub server: Box<dyn Server>,
    // After the server.
    _data: Data,
}

/// A directory that goes with this.
struct Data(PathBuf);

impl Drop for Data {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server that runs already.
struct Named {
    address: Address,
    name: String,
}

impl Server for Named {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn connect(&self) -> Result<Box<dyn Connection + Send>> {
        self.address.connect()
    }

    fn database(&self, name: &str) -> Result<Box<dyn Server + Send>> {
        let address = Address { database: name.into(), ..self.address.clone() };
        address.create_if_missing()?;
        Ok(Box::new(Named { address, name: self.name.clone() }))
    }
}

impl Target {
    /// Options for `keel serve`.
    pub fn options(&self) -> Vec<&str> {
        split(&self.serve_options)
    }

    /// Whether PostgreSQL is one of the targets.
    pub fn has_postgres(&self) -> bool {
        self.on.contains(&Kind::Postgres)
    }

    /// The name of the database, `default` unless another was given.
    pub fn database_or(&mut self, default: &str) -> String {
        self.database.get_or_insert_with(|| default.to_owned()).clone()
    }

    /// The names of so many databases: that of [`Target::database_or`], and the same with a number behind.
    pub fn databases_or(&mut self, default: &str, count: u32) -> Vec<String> {
        let first = self.database_or(default);
        (1..=count).map(|n| if n == 1 { first.clone() } else { format!("{first}{n}") }).collect()
    }

    /// Everything to run against, in the order of a round.
    pub fn all(&self) -> Vec<One> {
        let on = if self.on.is_empty() && self.server.is_none() { &[Kind::Keel][..] } else { &self.on };
        let started = on.iter().map(|kind| One::Started(*kind));
        started.chain(self.server.iter().map(|_| One::Named)).collect()
    }

    /// Starts it, or looks at the one that runs, and hands it to `measure`; notes its version in the report.
    ///
    /// # Errors
    /// When it does not start or is not there; those of `measure`.
    pub fn with<T>(
        &self,
        run: &Run<'_>,
        one: One,
        report: &mut Report,
        measure: impl FnOnce(&dyn Server, &mut Report) -> Result<T>,
    ) -> Result<T> {
        let opened = self.start(run, one, report)?;
        measure(&*opened.server, report)
    }

    /// Starts it, or looks at the one that runs; notes its version in the report.
    ///
    /// # Errors
    /// When it does not start or is not there.
    pub fn start(&self, run: &Run<'_>, one: One, report: &mut Report) -> Result<Opened> {
        let data = Data(scratch("keel"));
        let server = self.open(run, one, &data.0)?;
        report.versions.insert(server.name(), version(&*server)?);
        Ok(Opened { server, _data: data })
    }

    fn open(&self, run: &Run<'_>, one: One, data: &Path) -> Result<Box<dyn Server>> {
        match one {
            One::Started(Kind::Keel) => {
                run.progress.say("starting Evenkeel");
                let mut keel = Keel::start(run.keel, data, &split(&self.serve_options))?;
                keel.encrypt(self.encrypt);
                if let Some(name) = &self.database {
                    keel.use_database(name);
                }
                keel.address().create_database()?;
                Ok(Box::new(keel))
            }
            One::Started(Kind::Postgres) => {
                run.progress.say("starting PostgreSQL");
                postgres()
            }
            One::Named => {
                let Some(server) = &self.server else { bail!("no server was named") };
                run.progress.say(&format!("connecting to {server}"));
                self.named(server)
            }
        }
    }

    fn named(&self, server: &str) -> Result<Box<dyn Server>> {
        let mut address = server.replace(',', ":");
        if !address.contains(':') {
            address += ":1433";
        }
        let address = Address {
            address,
            user: self.user.clone(),
            password: self.password.clone(),
            database: self.database.clone().unwrap_or_else(|| "tpcc".into()),
            encrypt: self.encrypt,
            read_only: false,
        };
        address.create_if_missing()?;
        let product = if version(&address)?.contains("Evenkeel") { "Evenkeel" } else { "SQL Server" };
        Ok(Box::new(Named { name: format!("{product} at {server}"), address }))
    }
}

/// Of two targets, the first's figures over the second's, round by round: those that `goals` names, with the goal that stands
/// there.
pub fn add_ratios(report: &mut Report, goals: &[(&str, Option<f64>)]) {
    let mut targets: Vec<String> = Vec::new();
    for figure in &report.figures {
        if !targets.contains(&figure.target) {
            targets.push(figure.target.clone());
        }
    }
    let [first, second] = &targets[..] else { return };
    let both = format!("{first} / {second}");
    for (name, goal) in goals {
        let of = |target: &String| {
            let figures = report.figures.iter().filter(|f| f.name == *name && f.target == *target);
            figures.cloned().collect::<Vec<_>>()
        };
        let (ours, others) = (of(first), of(second));
        for a in ours {
            let Some(b) = others.iter().find(|b| b.case == a.case) else { continue };
            let ratios: Vec<f64> = a.samples.iter().zip(&b.samples).map(|(a, b)| a / b).collect();
            report.figure(name, &both, &a.case, "", a.better, &ratios).goal = *goal;
        }
    }
}

#[cfg(feature = "postgres")]
fn postgres() -> Result<Box<dyn Server>> {
    Ok(Box::new(crate::pg::Cluster::start(&scratch("postgres"))?))
}

#[cfg(not(feature = "postgres"))]
fn postgres() -> Result<Box<dyn Server>> {
    bail!("built without PostgreSQL: cargo build --release -p keel --features postgres")
}
