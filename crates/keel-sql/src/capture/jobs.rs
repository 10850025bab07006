//! The two jobs: telling, and the clean-up. Their settings are the database's; what the product calls a job is a thread of the server here.

use super::enable::{captured_only, owner_only};
use super::error;
use crate::engine::DatabaseEntry;
use crate::procs::{Outcome, number, ok, string};
use crate::run::{Argument, Runner};
use keel_base::TreeId;
use keel_types::SqlError;
use keel_types::error::Result;
use serde::{Deserialize, Serialize};

/// Longest retention, minutes: a hundred years.
const RETENTION_MAX: i64 = 52_594_800;
/// Seconds of a day.
const DAY: i64 = 86_400;

/// Change data capture of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureSettings {
    /// Which transaction has which number.
    pub order: TreeId,
    /// Without it nothing is told.
    pub capture: Option<CaptureJob>,
    /// Without it nothing is cleaned up.
    pub cleanup: Option<CleanupJob>,
}

/// Settings of the capture job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureJob {
    /// Transactions that are told together.
    pub maxtrans: i64,
    /// Kept and shown: it goes on until nothing waits.
    pub maxscans: i64,
    /// Whether it goes on after what waits when it is started.
    pub continuous: bool,
    /// Seconds. Kept and shown: commits ring.
    pub pollinginterval: i64,
}

impl Default for CaptureJob {
    fn default() -> Self {
        CaptureJob { maxtrans: 500, maxscans: 10, continuous: true, pollinginterval: 5 }
    }
}

/// Settings of the clean-up job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CleanupJob {
    /// Minutes for which changes are kept.
    pub retention: i64,
    /// Rows that are deleted in one statement.
    pub threshold: i64,
}

impl Default for CleanupJob {
    fn default() -> Self {
        CleanupJob { retention: 4320, threshold: 5000 }
    }
}

/// The id of a database's job, in place of one that the agent would give it.
pub(crate) fn job_id(entry: &DatabaseEntry, cleanup: bool) -> [u8; 16] {
    let mut id = *b"\0\0\0\0keel-cdc-job";
    id[..4].copy_from_slice(&entry.id.0.to_le_bytes());
    id[15] = b'0' + u8::from(cleanup);
    id
}

/// Which job a caller means: error 22992.
fn is_cleanup(kind: &str) -> Result<bool> {
    match kind.to_ascii_lowercase().as_str() {
        "capture" => Ok(false),
        "cleanup" => Ok(true),
        _ => Err(error(
            22992,
            format!(
                "The specified @job_type, {kind}, is not supported. The value specified for the parameter @job_type must be N'capture' to indicate a capture job, or N'cleanup' to indicate a cleanup job."
            ),
        )),
    }
}

fn no_job(kind: &str) -> Box<SqlError> {
    error(
        22997,
        format!(
            "The Change Data Capture '{kind}' job does not exist in the system table 'msdb.dbo.cdc_jobs'. Use the stored procedure 'sys.sp_cdc_add_job' to add the Change Data Capture job."
        ),
    )
}

/// What a caller wants other than it is.
struct Wanted {
    maxtrans: Option<i64>,
    maxscans: Option<i64>,
    continuous: Option<i64>,
    pollinginterval: Option<i64>,
    retention: Option<i64>,
    threshold: Option<i64>,
}

impl Wanted {
    /// Errors 22850, 22970, 22990, 22991, 22994 to 22996 and 22998.
    fn check(&self, cleanup: bool) -> Result<()> {
        let of_capture = [self.maxtrans, self.maxscans, self.continuous, self.pollinginterval];
        let wrong = |n: Option<i64>, least: i64, most: i64| n.is_some_and(|n| n < least || n > most);
        let (number, text) = if cleanup && of_capture.iter().any(Option::is_some) {
            (
                22996,
                "When adding or modifying the CDC cleanup job, @pollinginterval, @maxtrans, @maxscans, and @continuous may not be assigned non-null values.",
            )
        } else if !cleanup && self.retention.is_some() {
            (
                22995,
                "A value for the parameter @retention cannot be specified when the job type is 'capture'. Specify NULL for the parameter, or omit the parameter from the statement.",
            )
        } else if wrong(self.maxtrans, 1, i64::MAX) {
            (22991, "The value specified for the parameter @maxtrans must be greater than 0.")
        } else if wrong(self.maxscans, 1, i64::MAX) {
            (
                22970,
                "The value for parameter @maxscans specified for the Change Data Capture job must be greater than 0.",
            )
        } else if wrong(self.continuous, 0, 1) {
            (22998, "The value specified for the parameter @continuous must be 0 or 1.")
        } else if wrong(self.pollinginterval, 0, DAY - 1) {
            (
                22990,
                "The value specified for the parameter @pollinginterval must be greater than or equal to 0 and less than 24 hours(Max: 86399 seconds). Specify a polling interval (in seconds) that is less than 24 hours (86,400 seconds).",
            )
        } else if wrong(self.retention, 1, RETENTION_MAX) {
            (
                22994,
                "The retention value specified for the Change Data Capture cleanup process must be greater than 0 and less than or equal to 52594800. When creating or modifying the cleanup job, specify a retention value (in minutes) that is within that range. If this error is encountered when executing the sys.sp_cdc_cleanup_change_table stored procedure, reset the retention value associated with the job to a non-negative value less than 52594800 by using the sp_cdc_change_job stored procedure.",
            )
        } else if wrong(self.threshold, 1, i64::MAX) {
            (
                22850,
                "The threshold value specified for the Change Data Capture cleanup process must be greater than 0. When creating or modifying the cleanup job, specify a positive threshold value. If this error is encountered when executing the sys.sp_cdc_cleanup_change_table stored procedure, reset the threshold value associated with the job to a non-negative value by using the sp_cdc_change_job stored procedure.",
            )
        } else {
            return Ok(());
        };
        Err(error(number, text.to_owned()))
    }

    fn capture(&self, job: CaptureJob) -> CaptureJob {
        CaptureJob {
            maxtrans: self.maxtrans.unwrap_or(job.maxtrans),
            maxscans: self.maxscans.unwrap_or(job.maxscans),
            continuous: self.continuous.map_or(job.continuous, |n| n != 0),
            pollinginterval: self.pollinginterval.unwrap_or(job.pollinginterval),
        }
    }

    fn cleanup(&self, job: CleanupJob) -> CleanupJob {
        CleanupJob {
            retention: self.retention.unwrap_or(job.retention),
            threshold: self.threshold.unwrap_or(job.threshold),
        }
    }
}

/// `@action, @job_type, @maxtrans, @maxscans, @continuous, @pollinginterval, @retention, @threshold`: behind `sp_cdc_add_job`,
/// `sp_cdc_change_job` and `sp_cdc_drop_job`.
pub(crate) fn sp_keel_cdc_job(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let entry = runner.info.current_database();
    captured_only(&entry)?;
    owner_only(runner)?;
    let action = string(args, "action", 0).unwrap_or_default();
    let kind = string(args, "job_type", 1).unwrap_or_default();
    let cleanup = is_cleanup(&kind)?;
    let part = |name, position| number(args, name, position);
    let wanted = Wanted {
        maxtrans: part("maxtrans", 2),
        maxscans: part("maxscans", 3),
        continuous: part("continuous", 4),
        pollinginterval: part("pollinginterval", 5),
        retention: part("retention", 6),
        threshold: part("threshold", 7),
    };
    wanted.check(cleanup)?;
    entry.change_settings(|settings| {
        let Some(capture) = &mut settings.capture else { return Err(no_job(&kind)) };
        match action.as_str() {
            "add" if cleanup => capture.cleanup = Some(wanted.cleanup(CleanupJob::default())),
            "add" => capture.capture = Some(wanted.capture(CaptureJob::default())),
            "change" if cleanup => {
                capture.cleanup = Some(wanted.cleanup(capture.cleanup.ok_or_else(|| no_job(&kind))?));
            }
            "change" => {
                capture.capture = Some(wanted.capture(capture.capture.ok_or_else(|| no_job(&kind))?));
            }
            _ if cleanup => capture.cleanup = None,
            _ => capture.capture = None,
        }
        Ok(())
    })?;
    if action == "add" {
        let text = format!("Job 'cdc.{}_{}' started successfully.", entry.name(), kind.to_ascii_lowercase());
        runner.report(&SqlError::new(22803, 0, 1, text));
        runner.info.engine.capture_bell.ring();
    }
    ok()
}

/// `@action, @job_type`: behind `sp_cdc_start_job` and `sp_cdc_stop_job`.
pub(crate) fn sp_keel_cdc_run(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let info = runner.info;
    let entry = info.current_database();
    captured_only(&entry)?;
    owner_only(runner)?;
    let start = string(args, "action", 0).as_deref() == Some("start");
    let kind = string(args, "job_type", 1).unwrap_or_default();
    let cleanup = is_cleanup(&kind)?;
    let settings = entry.picture().settings().capture;
    let there = settings.is_some_and(|s| if cleanup { s.cleanup.is_some() } else { s.capture.is_some() });
    if !there {
        return Err(no_job(&kind).into());
    }
    if cleanup {
        // It is over as soon as it has begun: there is nothing to stop.
        if start {
            super::cleanup::clean_database(&info.engine, &entry)?;
        }
        return ok();
    }
    if !start && entry.capture.is_stopped() {
        let text = format!(
            "SQLServerAgent Error: Request to stop job cdc.{}_capture (from User {}) refused because the job is not currently running.",
            entry.name(),
            info.login()
        );
        return Err(SqlError::new(22022, 16, 1, text).into());
    }
    entry.capture.set_stopped(!start);
    info.engine.capture_bell.ring();
    ok()
}
