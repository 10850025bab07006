//! What a session answered, as text.
//!
//! ```text
//! > select a, b from t          the batch
//! a | b                         a result set: names, rule, rows
//! --+-----
//! 1 | NULL
//! (1 row)
//! (3 rows affected)             a count without a result set
//! Msg 208, Level 16, State 1, Line 1: Invalid object name 'u'.
//! hello                         PRINT and other messages of severity 0
//! ```

use std::fmt::Write as _;

/// Collects the answer of one batch.
#[derive(Debug, Default)]
pub struct Transcript {
    text: String,
    table: Option<Table>,
    /// Information that came amid a table's rows; shown behind it.
    held: Vec<String>,
}

#[derive(Debug)]
struct Table {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// What a backup or a restore took, which no transcript can say.
const TIMED: i32 = 3014;
/// What says where in the log something is, which each word in the catalog moves.
const PLACED: [i32; 2] = [4305, 4326];

fn without_numbers(text: &str) -> String {
    let is_number = |word: &str| word.trim_end_matches(',').parse::<u64>().is_ok();
    let words = text.split(' ').map(|word| if is_number(word) { "…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// A message of the server.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// Number; 0 for PRINT.
    pub number: i32,
    /// Severity.
    pub severity: u8,
    /// State.
    pub state: u8,
    /// Line, from 1.
    pub line: u32,
    /// Procedure it came from.
    pub procedure: Option<&'a str>,
    /// Text.
    pub text: &'a str,
}

impl Transcript {
    /// A result set begins.
    pub fn columns(&mut self, names: impl IntoIterator<Item = String>) {
        self.end_table(None);
        self.table = Some(Table { names: names.into_iter().collect(), rows: Vec::new() });
    }

    /// A row of it, values as text.
    pub fn row(&mut self, values: impl IntoIterator<Item = String>) {
        if let Some(table) = &mut self.table {
            table.rows.push(values.into_iter().collect());
        }
    }

    /// A statement is complete.
    pub fn done(&mut self, count: Option<u64>) {
        if self.table.is_some() {
            return self.end_table(count);
        }
        match count {
            Some(1) => self.line("(1 row affected)"),
            Some(n) => self.line(&format!("({n} rows affected)")),
            None => {}
        }
    }

    /// Whether rows are being shown.
    #[must_use]
    pub fn in_table(&self) -> bool {
        self.table.is_some()
    }

    /// An error or information.
    pub fn message(&mut self, message: &Message<'_>) {
        if message.severity > 10 {
            self.end_table(None);
        }
        let text = Self::message_text(message);
        if self.table.is_some() {
            self.held.push(text);
        } else {
            self.line(&text);
        }
    }

    /// Information of severity 0 is its text, everything else has a header.
    fn message_text(message: &Message<'_>) -> String {
        if message.number == TIMED {
            let untimed = message.text.split(" in ").next().unwrap_or_default();
            return format!("{untimed}.");
        }
        if message.severity == 0 {
            return message.text.to_owned();
        }
        let procedure = message.procedure.map(|p| format!(", Procedure {p}")).unwrap_or_default();
        let Message { number, severity, state, line, .. } = message;
        let text = if PLACED.contains(number) { without_numbers(message.text) } else { message.text.into() };
        format!("Msg {number}, Level {severity}, State {state}{procedure}, Line {line}: {text}")
    }

    /// Any other line.
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn end_table(&mut self, count: Option<u64>) {
        let Some(table) = self.table.take() else { return };
        let columns = table.names.len();
        let width = |c: usize| {
            let cells = table.rows.iter().filter_map(|r| r.get(c)).map(|v| v.chars().count());
            cells.chain([table.names[c].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let format_row = |cells: &[String]| -> String {
            let cells = cells.iter().zip(&widths).map(|(v, w)| padded(v, *w));
            cells.collect::<Vec<_>>().join(" | ").trim_end().to_owned()
        };
        self.line(&format_row(&table.names));
        self.line(&widths.iter().map(|w| "-".repeat(*w)).collect::<Vec<_>>().join("-+-"));
        for row in &table.rows {
            self.line(&format_row(row));
        }
        let shown = table.rows.len() as u64;
        let rows = if shown == 1 { "row" } else { "rows" };
        let mut last = format!("({shown} {rows})");
        if let Some(count) = count.filter(|c| *c != shown) {
            let _ = write!(last, " (count {count})");
        }
        self.line(&last);
        for text in std::mem::take(&mut self.held) {
            self.line(&text);
        }
    }

    /// The text so far.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.end_table(None);
        self.text
    }
}

/// A cell of a table. The formatter's own widths end at 65,535 characters.
fn padded(cell: &str, width: usize) -> String {
    let mut text = cell.to_owned();
    text.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count())));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_counts_and_messages() {
        let mut t = Transcript::default();
        t.columns(["a".into(), String::new()]);
        t.row(["1".into(), "NULL".into()]);
        t.done(Some(1));
        t.done(Some(3));
        t.message(&Message { number: 0, severity: 0, state: 1, line: 1, procedure: None, text: "hello" });
        t.message(&Message {
            number: 208,
            severity: 16,
            state: 1,
            line: 2,
            procedure: Some("p"),
            text: "Bad.",
        });
        let expect = "a |\n--+-----\n1 | NULL\n(1 row)\n(3 rows affected)\nhello\n\
                      Msg 208, Level 16, State 1, Procedure p, Line 2: Bad.\n";
        assert_eq!(t.finish(), expect);
    }

    #[test]
    fn a_cell_of_any_length() {
        let mut t = Transcript::default();
        t.columns(["a".into(), "b".into()]);
        t.row(["x".repeat(70_000), "1".into()]);
        t.row(["y".into(), "2".into()]);
        t.done(Some(2));
        let text = t.finish();
        assert!(
            text.lines().all(|l| l.len() == 70_004 || l == "(2 rows)"),
            "rows are as wide as the longest cell"
        );
    }
}
