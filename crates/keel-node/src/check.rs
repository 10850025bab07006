//! Checking a database: every page of the base tree, every row in it, every block and group of the log that a recovery
//! would read. Others may go on working meanwhile.

use crate::database::Database;
use crate::error::DbError;
use keel_log::LogError;
use keel_redo::record::Group;
use keel_redo::{LogSource, RedoError, Source};
use keel_store::base::CheckReport;
use std::ops::ControlFlow;

/// What [`Database::check`] looked at and what it found wrong.
#[derive(Clone, Debug, Default)]
pub struct DbCheck {
    /// Pages of the base tree, and what is wrong with them.
    pub base: CheckReport,
    /// Rows of the base tree that cannot be read, by tree id; at most [`FINDINGS_MAX`].
    pub rows: Vec<u32>,
    /// Bytes of log read.
    pub log_bytes: u64,
    /// Groups in them.
    pub log_groups: u64,
    /// What is wrong with the log.
    pub log: Option<String>,
}

/// Unreadable rows that are listed.
pub const FINDINGS_MAX: usize = 1000;

impl DbCheck {
    /// What is wrong, one sentence each.
    pub fn problems(&self) -> Vec<String> {
        let pages =
            self.base.findings.iter().map(|f| format!("page {} of the data file: {}", f.page, f.reason));
        let rows = self.rows.iter().map(|tree| format!("a row of index {tree} cannot be read"));
        let log = self.log.iter().map(|what| format!("log: {what}"));
        pages.chain(rows).chain(log).collect()
    }

    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.base.findings_total == 0 && self.rows.is_empty() && self.log.is_none()
    }
}

impl Database {
    /// Reads everything that is on disk and says what is wrong with it.
    pub fn check(&self) -> Result<DbCheck, DbError> {
        let mut found = DbCheck::default();
        let mut rows = Vec::new();
        let mut visit = |key: &[u8], row: &[u8]| {
            if !keel_store::row::validate(row) && rows.len() < FINDINGS_MAX {
                let tree = key.first_chunk::<4>().copied().map_or(0, u32::from_be_bytes);
                rows.push(tree);
            }
            ControlFlow::Continue(())
        };
        found.base = self.store().base().check(&mut visit, &mut |_, _| ())?;
        found.rows = rows;
        self.check_log(&mut found)?;
        Ok(found)
    }

    fn check_log(&self, found: &mut DbCheck) -> Result<(), DbError> {
        let Some(log) = self.log() else { return Ok(()) };
        let mut source = match LogSource::new(log, self.positions().redo_start) {
            Ok(source) => source,
            Err(LogError::Truncated { .. }) => return Ok(()),
            Err(error) => {
                found.log = Some(error.to_string());
                return Ok(());
            }
        };
        loop {
            let chunk = match source.next() {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(()),
                // A checkpoint has made this log superfluous meanwhile.
                Err(RedoError::Log(LogError::Truncated { .. })) => return Ok(()),
                Err(error) => {
                    found.log = Some(error.to_string());
                    return Ok(());
                }
            };
            let mut at = 0;
            while at < chunk.bytes.len() {
                let group = Group::decode(&chunk.bytes[at..]);
                let whole = group.filter(|g| g.for_each_of(0, 1, |_, _| Ok::<(), ()>(())).is_some());
                let Some(group) = whole else {
                    let lsn = chunk.first_lsn.advance(at as u64);
                    found.log = Some(format!("no valid record at log position {lsn}"));
                    return Ok(());
                };
                at += group.bytes.len();
                found.log_groups += 1;
            }
            found.log_bytes += chunk.bytes.len() as u64;
        }
    }
}
