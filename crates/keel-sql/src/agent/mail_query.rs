//! The results of a query as text, for a mail: columns beside each other, as sqlcmd shows them.

use super::Office;
use super::clerk::options;
use crate::convert;
use crate::errors;
use crate::procs::{Outcome, number, string};
use crate::run::{Argument, Returned, Runner};
use crate::session::{CancelHandle, SessionOptions};
use crate::sink::{ColumnMeta, DoneInfo, EnvChange, ResultSink, SinkClosed};
use keel_store::lock::Cancel;
use keel_types::{Length, SqlType, Value};
use std::fmt::Write as _;
use std::sync::Arc;

/// Bytes of results that are kept.
const TEXT_MAX: usize = 32 << 20;
/// Characters of a value that are shown unless nothing is to be cut.
const VALUE_MAX: usize = 256;

/// How results are laid out: parameters of `sp_send_dbmail`.
#[derive(Clone, Debug)]
struct Layout {
    /// `@query_result_header`
    header: bool,
    /// `@query_result_width`: characters in a line.
    width: usize,
    /// `@query_result_separator`
    separator: String,
    /// `@query_no_truncate`
    whole: bool,
    /// `@query_result_no_padding`
    unpadded: bool,
}

/// `sp_keel_mail_query @query, @database, @header, @width, @separator, @no_truncate, @no_padding, @text OUTPUT, @failed OUTPUT`: executes a
/// query in a session of its own, as whoever calls, and gives what comes of it as text. For `sp_send_dbmail`; 229 for others.
pub(crate) fn sp_keel_mail_query(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    if !super::install::is_calling(runner.info) {
        let name = "sp_keel_mail_query";
        return Err(errors::permission_denied("EXECUTE", name, "mssqlsystemresource", "sys").into());
    }
    let layout = Layout {
        header: number(args, "header", 2) != Some(0),
        width: number(args, "width", 3)
            .and_then(|n| usize::try_from(n).ok())
            .filter(|n| *n > 0)
            .unwrap_or(256),
        separator: string(args, "separator", 4).filter(|s| !s.is_empty()).unwrap_or_else(|| " ".to_owned()),
        whole: number(args, "no_truncate", 5) == Some(1),
        unpadded: number(args, "no_padding", 6) == Some(1),
    };
    let who = runner.info.identity_now();
    let caller = runner.info.login_of(&who).filter(|_| who.user.is_none());
    let Some(caller) = caller else {
        let user = runner.info.login();
        runner.report(&errors::no_mail_query(user));
        return Ok(Returned { status: 1, ..Returned::default() });
    };
    let database = string(args, "database", 1).unwrap_or_default();
    let engine = runner.info.engine.clone();
    let office = Office::of_instance(&engine);
    let session = engine.session(SessionOptions {
        login: caller.name,
        sid: caller.sid,
        sysadmin: caller.sysadmin,
        account: who.account,
        context: runner.info.context().cloned(),
        ..options(&office, "DatabaseMail - Query", &database)
    });
    let mut results = Results::new(layout);
    match session {
        Ok(mut session) => {
            let asked = &runner.info.shared.cancel;
            let ends = Arc::new(Ends(session.cancel_handle()));
            if asked.sleep_on(Some(ends)) {
                session.execute_batch(&string(args, "query", 0).unwrap_or_default(), &mut results);
            }
            asked.sleep_on(None);
        }
        // Said as an error of the query is: it may be wanted in the mail.
        Err(e) => results.message(&e),
    }
    results.end_table();
    let failed = results.failed;
    let mut returned = Returned::default();
    returned.outputs.push((7, Value::str(results.text), SqlType::NVarChar(Length::Max)));
    returned.outputs.push((8, Value::Bit(failed), SqlType::Bit));
    Ok(returned)
}

/// Ends the query's session when whoever sends the mail is to stop.
struct Ends(CancelHandle);

impl Cancel for Ends {
    fn wake_cancelled(&self) {
        self.0.end();
    }
}

struct Results {
    layout: Layout,
    text: String,
    /// An error came.
    failed: bool,
    names: Vec<String>,
    types: Vec<SqlType>,
    rows: Vec<Vec<String>>,
    /// Bytes in them.
    held: usize,
}

impl Results {
    fn new(layout: Layout) -> Results {
        let (names, types, rows) = (Vec::new(), Vec::new(), Vec::new());
        Results { layout, text: String::new(), failed: false, names, types, rows, held: 0 }
    }

    /// Writes the table that is under way.
    fn end_table(&mut self) {
        let (names, rows) = (std::mem::take(&mut self.names), std::mem::take(&mut self.rows));
        self.held = 0;
        if names.is_empty() {
            return;
        }
        let longest = |at: usize| {
            let cells = rows.iter().map(|row| row[at].chars().count());
            cells.chain(self.layout.header.then(|| names[at].chars().count())).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..names.len()).map(longest).collect();
        if self.layout.header {
            self.line(&names, &widths);
            let rules: Vec<String> = widths.iter().map(|width| "-".repeat((*width).max(1))).collect();
            self.line(&rules, &widths);
        }
        for row in &rows {
            self.line(row, &widths);
        }
    }

    fn line(&mut self, cells: &[String], widths: &[usize]) {
        let mut line = String::new();
        for (n, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if n > 0 {
                line += &self.layout.separator;
            }
            line += cell;
            if !self.layout.unpadded {
                line.extend(std::iter::repeat_n(' ', width - cell.chars().count().min(*width)));
            }
        }
        let characters: Vec<char> = line.chars().collect();
        for part in characters.chunks(self.layout.width) {
            self.text.extend(part);
            self.text += "\r\n";
        }
    }

    fn say(&mut self, line: &str) {
        if self.text.len() < TEXT_MAX {
            self.text += line;
            self.text += "\r\n";
        }
    }
}

impl ResultSink for Results {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        self.end_table();
        self.names = columns.iter().map(|c| c.name.to_string()).collect();
        self.types = columns.iter().map(|c| c.ty).collect();
    }
    fn row(&mut self, row: &[Value]) -> std::result::Result<(), SinkClosed> {
        if self.held + self.text.len() >= TEXT_MAX {
            return Ok(());
        }
        let most = if self.layout.whole { usize::MAX } else { VALUE_MAX };
        let shown = |(value, ty): (&Value, &SqlType)| match value {
            Value::Null => "NULL".to_owned(),
            value => convert::display_typed(value, *ty).chars().take(most).collect(),
        };
        let cells: Vec<String> = row.iter().zip(&self.types).map(shown).collect();
        self.held += cells.iter().map(String::len).sum::<usize>();
        self.rows.push(cells);
        Ok(())
    }
    fn done(&mut self, done: DoneInfo) {
        let told = !self.names.is_empty();
        self.end_table();
        if let Some(count) = done.count.filter(|_| told && self.layout.header) {
            self.say("");
            self.say(&format!("({count} row{} affected)", if count == 1 { "" } else { "s" }));
        }
    }
    fn message(&mut self, message: &keel_types::SqlError) {
        let mut line = String::new();
        if message.severity > 10 {
            self.failed = true;
            let _ = write!(
                line,
                "Msg {}, Level {}, State {}, Line {}: ",
                message.number, message.severity, message.state, message.line
            );
        }
        line += &message.message;
        self.say(&line);
    }
    fn return_status(&mut self, _: i32) {}
    fn output(&mut self, _: usize, _: &str, _: &SqlType, _: &Value) {}
    fn env_change(&mut self, _: EnvChange) {}
}
