//! Which jobs start now: the tables of schedules against the clock, what was asked for on the board, what alerts answer.

use super::alerts::Alerts;
use super::board::{News, Source, Start};
use super::clerk::{Clerk, guid, id, int, number, text};
use super::job::Run;
use super::schedule::{AT_START, Schedule, numbers};
use super::{Board, JobId, Office};
use keel_types::error::Result;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How often the tables are read although nobody said that they changed: who writes to them directly says nothing.
const READ_EVERY: Duration = Duration::from_secs(60);
/// Ticks in a microsecond.
const TICKS_PER_MICROSECOND: i64 = 10;

/// A schedule of a job.
struct Due {
    name: String,
    schedule: Schedule,
    next: Option<i64>,
}

/// Used by one thread of the host, which calls [`Service::turn`] over and over until the board stops.
pub struct Service {
    office: Office,
    clerk: Clerk,
    /// `session_id` of `syssessions`: this start of the agent.
    session: i64,
    due: BTreeMap<(JobId, i32), Due>,
    alerts: Alerts,
    read_at: Option<Instant>,
}

impl Service {
    /// Begins: from now on requests are taken, and jobs that start with the agent are asked for.
    ///
    /// # Errors
    /// When its tables cannot be made or read.
    pub fn start(office: &Office) -> Result<Service> {
        // Those of a group may have been made by an older version elsewhere.
        super::install::install_in(office)?;
        let mut clerk = Clerk::new(office, "SQLAgent - Generic Refresher")?;
        let session = clerk.rows(
            "set nocount on; insert dbo.syssessions (agent_start_date) values (getdate()); select convert(int, scope_identity())",
        )?;
        let session = session.first().map_or(0, |row| number(row, 0));
        let mut service = Service {
            office: office.clone(),
            clerk,
            session,
            due: BTreeMap::new(),
            alerts: Alerts::default(),
            read_at: None,
        };
        service.board().attach(true);
        service.read()?;
        let at_start = service.due.iter().filter(|(_, due)| due.schedule.freq_type == AT_START);
        for ((job, schedule), due) in at_start {
            let source = Source::Schedule(*schedule, due.name.clone());
            // It cannot run yet; with two such schedules the second has nothing to add.
            let _ = service.board().start(Start { job: *job, step: None, source });
        }
        Ok(service)
    }

    fn board(&self) -> &Board {
        self.office.board()
    }

    /// Waits until something is to be done, a minute at most, and gives the jobs that start now: each must be executed, on a
    /// thread of its own, also when what else there was to do has failed.
    pub fn turn(&mut self) -> (Vec<Run>, Result<()>) {
        let mut news = self.office.board().take(self.rest());
        let starts = std::mem::take(&mut news.starts);
        let runs = starts.into_iter().map(|start| Run::new(&self.office, self.session, start)).collect();
        (runs, self.catch_up(&news))
    }

    fn catch_up(&mut self, news: &News) -> Result<()> {
        if news.changed || self.read_at.is_none_or(|at| at.elapsed() >= READ_EVERY) {
            self.read()?;
        }
        for event in &news.events {
            if let Some(start) = self.alerts.answer(
                &mut self.clerk,
                event,
                self.office.engine().now_local(),
                &self.office.engine().options().server_name,
            )? {
                // It runs already: the alert has been counted.
                let _ = self.office.board().start(start);
            }
        }
        self.start_due()
    }

    /// Until the next schedule is due.
    fn rest(&self) -> Duration {
        let now = self.office.engine().now_local();
        let next = self.due.values().filter_map(|due| due.next).min();
        let ticks = next.map_or(i64::MAX, |next| (next - now).max(0));
        // Rounded up: a moment early would be in vain.
        let micros = u64::try_from(ticks / TICKS_PER_MICROSECOND).unwrap_or(0).saturating_add(1);
        Duration::from_micros(micros).min(READ_EVERY)
    }

    fn start_due(&mut self) -> Result<()> {
        let now = self.office.engine().now_local();
        let mut told = String::new();
        for ((job, schedule), due) in &mut self.due {
            if due.next.is_none_or(|next| next > now) {
                continue;
            }
            let source = Source::Schedule(*schedule, due.name.clone());
            // It runs still: this time is passed over.
            let _ = self.office.board().start(Start { job: *job, step: None, source });
            due.next = due.schedule.next(now);
            told += &next_run(*job, *schedule, due.next);
        }
        if told.is_empty() { Ok(()) } else { self.clerk.run(&told) }
    }

    /// Reads what is due from the tables, and writes there when.
    fn read(&mut self) -> Result<()> {
        self.alerts = Alerts::read(&mut self.clerk)?;
        self.office.board().listen(!self.alerts.is_empty());
        let rows = self.clerk.rows(
            "select x.job_id, s.schedule_id, s.name, s.freq_type, s.freq_interval, s.freq_subday_type, s.freq_subday_interval,
                s.freq_relative_interval, s.freq_recurrence_factor, s.active_start_date, s.active_end_date, s.active_start_time,
                s.active_end_time, x.next_run_date, x.next_run_time, iif(j.enabled = 1 and s.enabled = 1 and v.job_id is not null, 1, 0)
            from dbo.sysjobschedules x join dbo.sysschedules s on s.schedule_id = x.schedule_id
                join dbo.sysjobs j on j.job_id = x.job_id left join dbo.sysjobservers v on v.job_id = x.job_id",
        )?;
        let (now, mut due, mut told) = (self.office.engine().now_local(), BTreeMap::new(), String::new());
        for row in &rows {
            let (key, schedule) = ((id(row, 0), int(row, 1)), schedule_of(row));
            let known = self.due.remove(&key).filter(|known| known.schedule == schedule);
            let next = match &known {
                _ if number(row, 15) == 0 => None,
                Some(known) => known.next,
                None => schedule.next(now),
            };
            if next.map_or((0, 0), numbers) != (int(row, 13), int(row, 14)) {
                told += &next_run(key.0, key.1, next);
            }
            if number(row, 15) != 0 {
                due.insert(key, Due { name: text(row, 2), schedule, next });
            }
        }
        self.due = due;
        self.read_at = Some(Instant::now());
        if told.is_empty() { Ok(()) } else { self.clerk.run(&told) }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.board().attach(false);
    }
}

/// Columns 3 to 12 of what [`Service::read`] reads.
fn schedule_of(row: &[keel_types::Value]) -> Schedule {
    Schedule {
        freq_type: int(row, 3),
        freq_interval: int(row, 4),
        freq_subday_type: int(row, 5),
        freq_subday_interval: int(row, 6),
        freq_relative_interval: int(row, 7),
        freq_recurrence_factor: int(row, 8),
        active_start_date: int(row, 9),
        active_end_date: int(row, 10),
        active_start_time: int(row, 11),
        active_end_time: int(row, 12),
    }
}

/// The statement that writes when a schedule of a job is due.
fn next_run(job: JobId, schedule: i32, next: Option<i64>) -> String {
    let (date, time) = next.map_or((0, 0), numbers);
    format!(
        "update dbo.sysjobschedules set next_run_date = {date}, next_run_time = {time} where job_id = {} and schedule_id = {schedule};\n",
        guid(job)
    )
}
