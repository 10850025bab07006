//! What errors start: rows of `msdb.dbo.sysalerts` against errors that were logged.

use super::JobId;
use super::board::{Event, Source, Start};
use super::clerk::{Clerk, id, int, number, text};
use super::mail::{mail_operator, shown_date, shown_time};
use super::schedule::{numbers, ticks};
use crate::views::same;
use keel_types::datetime::TICKS_PER_SECOND;
use keel_types::error::Result;

/// An alert that is enabled.
#[derive(Clone, Debug)]
struct Alert {
    id: i32,
    name: String,
    /// 0: by severity.
    message: i32,
    severity: u8,
    /// Empty for every database.
    database: String,
    /// Part of the text; empty for any.
    keyword: String,
    /// None: it is counted, and starts nothing.
    job: Option<JobId>,
    /// Seconds between two answers.
    delay: i64,
    /// When it was answered last, local ticks.
    answered: Option<i64>,
    /// Operators who get mail.
    operators: Vec<i32>,
    /// What they are told besides.
    comment: String,
    /// They are told the event's text.
    tells: bool,
}

/// `notification_method` of an operator: mail. The others (pager, net send) are kept only.
const BY_MAIL: i64 = 1;
/// The same of `include_event_description`.
const IN_MAIL: i64 = 1;

impl Alert {
    fn is_for(&self, event: &Event) -> bool {
        let number = self.message == event.number || (self.message == 0 && self.severity == event.severity);
        let database = self.database.is_empty() || same(&self.database, &event.database);
        let has = |text: &str| text.to_lowercase().contains(&self.keyword.to_lowercase());
        number && database && (self.keyword.is_empty() || has(&event.text))
    }

    /// Mails its operators.
    fn tell(&self, clerk: &mut Clerk, event: &Event, now: i64, server: &str) -> Result<()> {
        let ((date, time), subject) =
            (numbers(now), format!("SQL Server Alert System: '{}' occurred on \\\\{server}", self.name));
        let body = format!(
            "DATE/TIME:\t{} {}\r\n\r\nDESCRIPTION:\t{}\r\n\r\nCOMMENT:\t{}\r\n\r\nERROR:\t{}, severity {}\r\nDATABASE:\t{}\r\n",
            shown_date(date),
            shown_time(time),
            if self.tells { event.text.as_str() } else { "(None)" },
            if self.comment.is_empty() { "(None)" } else { &self.comment },
            event.number,
            event.severity,
            if event.database.is_empty() { "(None)" } else { &event.database },
        );
        self.operators
            .iter()
            .try_for_each(|operator| mail_operator(clerk, *operator, &subject, &body).map(|_| ()))
    }

    /// The more an alert says of an event the sooner it is the one: its number, its database, its text.
    fn precision(&self) -> (bool, bool, bool) {
        (self.message != 0, !self.database.is_empty(), !self.keyword.is_empty())
    }
}

/// All of an instance.
#[derive(Debug, Default)]
pub(super) struct Alerts(Vec<Alert>);

impl Alerts {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn read(clerk: &mut Clerk) -> Result<Alerts> {
        let rows = clerk.rows(
            "select id, name, message_id, severity, database_name, event_description_keyword, job_id, delay_between_responses,
                last_response_date, last_response_time, notification_message, include_event_description
            from dbo.sysalerts where enabled = 1",
        )?;
        let told =
            clerk.rows("select alert_id, operator_id, notification_method from dbo.sysnotifications")?;
        let operators = |alert: i32| {
            let by_mail = told.iter().filter(|row| int(row, 0) == alert && number(row, 2) & BY_MAIL != 0);
            by_mail.map(|row| int(row, 1)).collect()
        };
        let alert = |row: &Vec<keel_types::Value>| Alert {
            id: int(row, 0),
            name: text(row, 1),
            message: int(row, 2),
            severity: u8::try_from(number(row, 3)).unwrap_or(0),
            database: text(row, 4),
            keyword: text(row, 5),
            job: Some(id(row, 6)).filter(|job| *job != [0; 16]),
            delay: number(row, 7),
            answered: (number(row, 8) != 0).then(|| ticks(int(row, 8), int(row, 9))),
            operators: operators(int(row, 0)),
            comment: text(row, 10),
            tells: number(row, 11) & IN_MAIL != 0,
        };
        Ok(Alerts(rows.iter().map(alert).collect()))
    }

    /// Counts an event with the alert that is for it, and tells its operators; gives the job that is to start. `server` is this
    /// instance's name.
    pub(super) fn answer(
        &mut self,
        clerk: &mut Clerk,
        event: &Event,
        now: i64,
        server: &str,
    ) -> Result<Option<Start>> {
        let fits = self.0.iter_mut().filter(|alert| alert.is_for(event));
        let Some(alert) = fits.max_by_key(|alert| alert.precision()) else { return Ok(None) };
        let rests = alert.answered.is_some_and(|at| now - at < alert.delay * TICKS_PER_SECOND);
        let job = alert.job.filter(|_| !rests);
        let (date, time) = numbers(now);
        let answered = if !rests && (job.is_some() || !alert.operators.is_empty()) {
            alert.answered = Some(now);
            format!(", last_response_date = {date}, last_response_time = {time}")
        } else {
            String::new()
        };
        clerk.run(&format!(
            "update dbo.sysalerts set occurrence_count = occurrence_count + 1, last_occurrence_date = {date},
                last_occurrence_time = {time}{answered} where id = {}",
            alert.id
        ))?;
        if !rests {
            alert.tell(clerk, event, now, server)?;
        }
        let source = Source::Alert(alert.id, alert.name.clone());
        Ok(job.map(|job| Start { job, step: None, source }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alert(id: i32, message: i32, severity: u8, database: &str, keyword: &str) -> Alert {
        Alert {
            id,
            name: format!("alert {id}"),
            message,
            severity,
            database: database.into(),
            keyword: keyword.into(),
            job: None,
            delay: 0,
            answered: None,
            operators: Vec::new(),
            comment: String::new(),
            tells: false,
        }
    }

    #[test]
    fn the_alert_that_says_most_of_an_event_is_its() {
        let all = [
            alert(1, 0, 16, "", ""),
            alert(2, 1480, 0, "", ""),
            alert(3, 1480, 0, "shop", ""),
            alert(4, 0, 16, "", "disk"),
        ];
        let best = |number, severity, database: &str, text: &str| {
            let event = Event { number, severity, database: database.into(), text: text.into() };
            all.iter().filter(|a| a.is_for(&event)).max_by_key(|a| a.precision()).map(|a| a.id)
        };
        assert_eq!(best(1480, 10, "SHOP", "is changing roles"), Some(3));
        assert_eq!(best(1480, 10, "other", "is changing roles"), Some(2));
        assert_eq!(best(50_000, 16, "", "The Disk is full"), Some(4));
        assert_eq!(best(50_000, 16, "", "something else"), Some(1));
        assert_eq!(best(50_000, 17, "", "something else"), None);
    }
}
