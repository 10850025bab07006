//! Backups taken while everything changes, and what comes of them when they are restored: to their end, or to a moment at which all
//! stood still.

use super::clients::{Crew, Worker, locked, number_of};
use super::{DATABASE, tables};
use crate::fleet::{number, text};
use anyhow::{Context, Result};
use keel_workload::{CallError, Connection};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// What is in a log's backup was there before the database's backup was taken.
const TOO_EARLY: u32 = 4326;
/// A differential backup of another base: its base was taken, but nobody heard of it.
const OTHER_BASE: u32 = 3136;
/// What a database is that is restored.
const ONLINE: i64 = 0;

/// Those that there are.
pub(super) struct Backups {
    dir: PathBuf,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Full and differential ones, in the order in which they were taken.
    databases: Vec<Backup>,
    /// Moments at which all stood still.
    past: Vec<Moment>,
    /// File names given out.
    names: usize,
}

#[derive(Clone)]
struct Backup {
    path: String,
    differential: bool,
    /// So many moments had passed.
    moments: usize,
}

/// A moment at which all stood still.
#[derive(Clone)]
pub(super) struct Moment {
    /// As FOR SYSTEM_TIME counts.
    pub(super) utc: String,
    /// As STOPAT counts.
    local: String,
    /// What was in the system-versioned table.
    pub(super) rows: String,
}

impl Backups {
    pub(super) fn new(dir: PathBuf) -> Backups {
        Backups { dir, known: Mutex::default() }
    }

    fn log(&self) -> String {
        self.dir.join("log.bak").display().to_string()
    }

    /// Takes one of the database.
    pub(super) fn take(&self, session: &mut dyn Connection, differential: bool) -> Result<(), CallError> {
        let mut known = locked(&self.known);
        known.names += 1;
        let path = self.dir.join(format!("{}.bak", known.names)).display().to_string();
        drop(known);
        let with = if differential { "CHECKSUM, DIFFERENTIAL" } else { "CHECKSUM" };
        session.execute(&format!("BACKUP DATABASE [{DATABASE}] TO DISK = N'{path}' WITH {with}"))?;
        let mut known = locked(&self.known);
        let moments = known.past.len();
        known.databases.push(Backup { path, differential, moments });
        Ok(())
    }

    /// Notes that all stand still now, and what was so at such moments before.
    pub(super) fn note(&self, session: &mut dyn Connection) -> Result<Vec<Moment>> {
        let moment = |zone: &str| format!("SELECT CONVERT(varchar(40), {zone})");
        let (utc, local) =
            (text(session, &moment("SYSUTCDATETIME()"))?, text(session, &moment("SYSDATETIME()"))?);
        let rows = text(session, &rows(&format!("FOR SYSTEM_TIME AS OF '{utc}'")))?;
        let past = &mut locked(&self.known).past;
        let before = past.clone();
        past.push(Moment { utc, local, rows });
        Ok(before)
    }

    /// Restores a full backup, maybe a differential one, and the log to its end or to such a moment, under another name, and looks at what
    /// comes of it.
    pub(super) fn restore(
        &self,
        session: &mut dyn Connection,
        dice: &mut fastrand::Rng,
    ) -> Result<Vec<String>> {
        let log = self.log();
        session.execute(&format!("BACKUP LOG [{DATABASE}] TO DISK = N'{log}'"))?;
        let (chain, until) = self.choose(dice)?;
        for backup in &chain {
            let sql = format!(
                "RESTORE DATABASE restored FROM DISK = N'{}' WITH NORECOVERY, CHECKSUM, REPLACE",
                backup.path
            );
            unless(OTHER_BASE, session.execute(&sql))?;
        }
        let logs = session.query(&format!("RESTORE HEADERONLY FROM DISK = N'{log}'"))?.len();
        let end = if until.is_some() { "RECOVERY" } else { "NORECOVERY" };
        let stop = until.as_ref().map_or(String::new(), |moment| format!(", STOPAT = '{}'", moment.local));
        let mut online = false;
        for file in 1..=logs {
            let sql = format!("RESTORE LOG restored FROM DISK = N'{log}' WITH FILE = {file}, {end}{stop}");
            unless(TOO_EARLY, session.execute(&sql))?;
            let state = "SELECT CONVERT(int, state) FROM sys.databases WHERE name = N'restored'";
            online = number(session, state)? == Some(ONLINE);
            if online {
                break;
            }
        }
        if !online {
            // The log's end, or no commit after the last of the moments.
            session.execute("RESTORE DATABASE restored WITH RECOVERY")?;
        }
        session.execute("USE restored")?;
        let mut broken = tables::at_rest(session)?;
        if let Some(then) = &until {
            let now = text(session, &rows(""))?;
            if now != then.rows {
                broken.push(format!("slots2 is {now}, and was {}", then.rows));
            }
        }
        session.execute(&format!("USE [{DATABASE}]; DROP DATABASE restored"))?;
        let what: Vec<&str> = chain.iter().map(|b| &*b.path).collect();
        Ok(broken.into_iter().map(|broken| format!("restored from {what:?}{stop}: {broken}")).collect())
    }

    /// What is restored, and to which moment; `None` to the end.
    fn choose(&self, dice: &mut fastrand::Rng) -> Result<(Vec<Backup>, Option<Moment>)> {
        let known = locked(&self.known);
        let at = if dice.bool() { known.past.len() } else { dice.usize(0..known.past.len().max(1)) };
        let before = |backup: &&Backup| backup.moments <= at;
        let full: Vec<usize> = (0..known.databases.len())
            .filter(|i| !known.databases[*i].differential && before(&&known.databases[*i]))
            .collect();
        let full = *dice.choice(&full).context("a full backup")?;
        let mut chain = vec![known.databases[full].clone()];
        let own = known.databases[full + 1..].iter().take_while(|backup| backup.differential).filter(before);
        let own: Vec<&Backup> = own.collect();
        if dice.bool()
            && let Some(backup) = dice.choice(&own)
        {
            chain.push((*backup).clone());
        }
        Ok((chain, known.past.get(at).cloned()))
    }
}

/// The next backup of the log.
pub(super) fn back_up_log(crew: &Crew<'_>, w: &mut Worker<'_>) -> Result<(), CallError> {
    std::thread::sleep(Duration::from_millis(w.dice.u64(300..1500)));
    w.session.execute(&format!("BACKUP LOG [{DATABASE}] TO DISK = N'{}'", crew.backups.log()))
}

/// A full backup, or a differential one.
pub(super) fn back_up(crew: &Crew<'_>, w: &mut Worker<'_>) -> Result<(), CallError> {
    std::thread::sleep(Duration::from_millis(w.dice.u64(500..3000)));
    let differential = w.dice.bool();
    crew.backups.take(w.session, differential)
}

/// Number and checksum of a system-versioned table's rows.
pub(super) fn rows(of: &str) -> String {
    format!("SELECT CONCAT(COUNT(*), ' rows, ', SUM(CONVERT(bigint, k) * 1000003 + v)) FROM dbo.slots2 {of}")
}

/// An error of this number is none.
fn unless(number: u32, done: Result<(), CallError>) -> Result<(), CallError> {
    match done {
        Err(CallError::Retry(text) | CallError::Refused(text)) if number_of(&text) == Some(number) => Ok(()),
        done => done,
    }
}
