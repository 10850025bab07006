//! Scripts: lines into batches, with the commands and variables of SQLCMD mode.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::connection::{Connection, Target};
use super::print::Printer;

/// Files that `:R` may nest.
const DEPTH_MAX: usize = 32;

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Continue,
    Exit(u8),
}

/// Inside what the end of a line was: GO is a separator only outside of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Nothing,
    /// A block comment, and how deep.
    Comment(u32),
    /// A string or quoted name, by its closing character.
    Quoted(char),
}

/// A script being run.
pub struct Script {
    connection: Connection,
    printer: Printer,
    variables: HashMap<String, String>,
    batch: String,
    lines: usize,
    inside: Inside,
    depth: usize,
    failed: bool,
    /// `-b` or `:ON ERROR EXIT`.
    pub exit_on_error: bool,
    /// Lowest severity that is an error.
    pub error_severity: u8,
    /// Whether `$(variables)` are replaced.
    pub substitute: bool,
    /// Whether batches are shown before they are sent.
    pub echo: bool,
}

impl Script {
    /// On an open connection.
    pub fn new(connection: Connection, printer: Printer, variables: HashMap<String, String>) -> Script {
        Script {
            connection,
            printer,
            variables,
            batch: String::new(),
            lines: 0,
            inside: Inside::Nothing,
            depth: 0,
            failed: false,
            exit_on_error: false,
            error_severity: 11,
            substitute: true,
            echo: false,
        }
    }

    /// Number of the line to be entered, from 1 in each batch.
    pub fn next_line_number(&self) -> usize {
        self.lines + 1
    }

    /// Drops the batch being entered.
    pub fn reset(&mut self) {
        self.batch.clear();
        self.lines = 0;
        self.inside = Inside::Nothing;
    }

    /// The exit status of a script that came to its end.
    pub fn finish(&mut self) -> u8 {
        // Output that cannot be written has nowhere to be reported.
        let _ = self.printer.flush();
        u8::from(self.exit_on_error && self.failed)
    }

    /// Runs several lines; what is left at the end is a batch.
    pub fn text(&mut self, text: &str) -> Result<Flow> {
        for line in lines(text) {
            if let Flow::Exit(code) = self.line(line)? {
                return Ok(Flow::Exit(code));
            }
        }
        self.go(1)
    }

    /// Runs a file.
    pub fn file(&mut self, path: &Path) -> Result<Flow> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            bail!(":R nests too deeply");
        }
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let text = match bytes.strip_prefix(&[0xFF, 0xFE]) {
            Some(utf16) => keel_tds::text::from_utf16le(utf16),
            None => String::from_utf8_lossy(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes))
                .into_owned(),
        };
        let top = self.depth == 1;
        let mut flow = Flow::Continue;
        for line in lines(&text) {
            flow = self.line(line)?;
            if flow != Flow::Continue {
                break;
            }
        }
        self.depth -= 1;
        // A file inside another one adds to its batch.
        if top && flow == Flow::Continue { self.go(1) } else { Ok(flow) }
    }

    /// One line.
    pub fn line(&mut self, line: &str) -> Result<Flow> {
        if self.inside == Inside::Nothing {
            if let Some(count) = go_count(line) {
                return self.go(count?);
            }
            let trimmed = line.trim();
            if let Some(command) = trimmed.strip_prefix(':') {
                return self.command(command);
            }
            if trimmed.starts_with("!!") {
                bail!("operating system commands (!!) are disabled");
            }
            let word = trimmed.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("");
            if trimmed.eq_ignore_ascii_case("quit") || word.eq_ignore_ascii_case("exit") {
                return self.command(trimmed);
            }
        }
        let line = self.replace_variables(line)?;
        self.inside = scan(self.inside, &line);
        self.batch.push_str(&line);
        self.batch.push('\n');
        self.lines += 1;
        Ok(Flow::Continue)
    }

    /// Sends the batch `count` times.
    pub fn go(&mut self, count: u32) -> Result<Flow> {
        let batch = std::mem::take(&mut self.batch);
        self.reset();
        if batch.trim().is_empty() {
            return Ok(Flow::Continue);
        }
        if self.echo {
            self.printer.note(batch.trim_end())?;
        }
        for _ in 0..count {
            let outcome = self.connection.batch(&batch, &mut self.printer)?;
            self.printer.flush()?;
            if outcome.severity >= self.error_severity {
                self.failed = true;
                if self.exit_on_error {
                    return Ok(Flow::Exit(1));
                }
            }
        }
        Ok(Flow::Continue)
    }

    fn command(&mut self, command: &str) -> Result<Flow> {
        let command = self.replace_variables(command.trim())?;
        let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((&command, ""));
        let rest = rest.trim();
        let lower = word.to_ascii_lowercase();
        match lower.as_str() {
            "quit" | "exit" if rest.is_empty() => return Ok(Flow::Exit(self.finish())),
            word if word.starts_with("exit(") || (word == "exit" && rest.starts_with('(')) => {
                return self.exit_with_query(&command);
            }
            "connect" => self.connect(rest)?,
            "r" => return self.file(&PathBuf::from(unquote(rest))),
            "setvar" => {
                let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                if value.trim().is_empty() {
                    self.variables.remove(&name.to_uppercase());
                } else {
                    self.variables.insert(name.to_uppercase(), unquote(value.trim()).to_owned());
                }
            }
            "listvar" => {
                let mut all: Vec<_> = self.variables.iter().map(|(k, v)| format!("{k} = \"{v}\"")).collect();
                all.sort();
                self.printer.note(&all.join("\n"))?;
            }
            "on" => match rest.to_ascii_lowercase().split_whitespace().collect::<Vec<_>>()[..] {
                ["error", "exit"] => self.exit_on_error = true,
                ["error", "ignore"] => self.exit_on_error = false,
                _ => bail!(":ON takes ERROR EXIT or ERROR IGNORE"),
            },
            "out" => self.printer.redirect(Path::new(unquote(rest)))?,
            "error" => self.printer.redirect_errors(Path::new(unquote(rest)))?,
            "list" => self.printer.note(self.batch.trim_end())?,
            "reset" => self.reset(),
            "help" => self.printer.note(HELP)?,
            "xml" | "perftrace" | "serverlist" | "ed" => bail!(":{word} is not supported"),
            _ => bail!("unknown command :{word} (:HELP lists them)"),
        }
        Ok(Flow::Continue)
    }

    /// `:EXIT(query)`: what is in the batch runs, then the query, whose first value is the exit status.
    fn exit_with_query(&mut self, command: &str) -> Result<Flow> {
        let open = command.find('(').context("EXIT takes a query in parentheses")?;
        let query =
            command[open + 1..].trim_end().strip_suffix(')').context("EXIT takes a query in parentheses")?;
        if let Flow::Exit(code) = self.go(1)? {
            return Ok(Flow::Exit(code));
        }
        if query.trim().is_empty() {
            return Ok(Flow::Exit(self.finish()));
        }
        let outcome = self.connection.batch(query, &mut self.printer)?;
        self.printer.flush()?;
        // The operating system keeps eight bits.
        Ok(Flow::Exit(outcome.first_value.map_or(1, |v| v.to_le_bytes()[0])))
    }

    fn connect(&mut self, rest: &str) -> Result<()> {
        let mut target = Target { database: String::new(), ..self.connection.target.clone() };
        let mut words = rest.split_whitespace();
        target.server = words.next().context(":CONNECT takes a server")?.to_owned();
        // That is what the last one is called.
        target.server_spn = String::new();
        while let Some(option) = words.next() {
            let value = words.next().with_context(|| format!("{option} takes a value"))?;
            match option {
                "-U" => (target.user, target.trusted) = (value.to_owned(), false),
                "-P" => target.password = value.to_owned(),
                "-l" => target.login_timeout = value.parse().context("-l takes seconds")?,
                _ => bail!(":CONNECT does not know {option}"),
            }
        }
        self.connection = Connection::open(target)?;
        self.printer.note(&format!("Connected to {}.", self.connection.target.server))
    }

    /// Variables of the script, then of the environment.
    fn replace_variables(&self, line: &str) -> Result<String> {
        if !self.substitute || !line.contains("$(") {
            return Ok(line.to_owned());
        }
        let mut out = String::new();
        let mut rest = line;
        while let Some(at) = rest.find("$(") {
            out.push_str(&rest[..at]);
            let after = &rest[at + 2..];
            let Some(end) = after.find(')') else {
                out.push_str(&rest[at..]);
                return Ok(out);
            };
            let name = &after[..end];
            let value =
                self.variables.get(&name.to_uppercase()).cloned().or_else(|| std::env::var(name).ok());
            out.push_str(&value.with_context(|| format!("'{name}' scripting variable not defined."))?);
            rest = &after[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }
}

const HELP: &str = "\
GO [count]                 send the batch
:CONNECT server [-U login] [-P password] [-l seconds]
:R file                    read lines from a file
:SETVAR name \"value\"       set a variable, used as $(name); without value removes it
:LISTVAR                   show variables
:ON ERROR EXIT | IGNORE    what to do after an error
:OUT file, :ERROR file     where results and errors go (a file, stdout or stderr)
:LIST, :RESET              show or drop the batch being entered
:QUIT, :EXIT, :EXIT(query) leave; with the first value of a query as exit status";

fn unquote(s: &str) -> &str {
    s.strip_prefix('"').and_then(|s| s.strip_suffix('"')).unwrap_or(s)
}

/// The lines of a file as they are: what ends a line with `\r\n` keeps its `\r`, and procedures that look for it in their own
/// text find it.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line))
}

/// The count of a GO line; `None` when the line is none.
fn go_count(line: &str) -> Option<Result<u32>> {
    let code = line.split("--").next().unwrap_or(line).trim().trim_end_matches(';');
    let (word, rest) = code.split_once(char::is_whitespace).unwrap_or((code, ""));
    if !word.eq_ignore_ascii_case("go") {
        return None;
    }
    let rest = rest.trim();
    Some(if rest.is_empty() { Ok(1) } else { rest.parse().context("GO takes a count") })
}

/// Where the end of a line is, given where its start was.
fn scan(mut inside: Inside, line: &str) -> Inside {
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        inside = match (inside, c, chars.peek()) {
            (Inside::Nothing, '-', Some('-')) => return Inside::Nothing,
            (Inside::Nothing, '/', Some('*')) => {
                chars.next();
                Inside::Comment(1)
            }
            (Inside::Comment(n), '/', Some('*')) => {
                chars.next();
                Inside::Comment(n + 1)
            }
            (Inside::Comment(n), '*', Some('/')) => {
                chars.next();
                if n == 1 { Inside::Nothing } else { Inside::Comment(n - 1) }
            }
            (Inside::Nothing, '\'' | '"', _) => Inside::Quoted(c),
            (Inside::Nothing, '[', _) => Inside::Quoted(']'),
            (Inside::Quoted(end), c, _) if c == end => Inside::Nothing,
            (inside, _, _) => inside,
        };
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_lines() {
        for (line, count) in [("GO", 1), (" go ", 1), ("Go 5", 5), ("GO -- done", 1), ("GO;", 1)] {
            assert_eq!(go_count(line).unwrap().unwrap(), count, "{line}");
        }
        for line in ["GOTO x", "SELECT 1 GO", "-- GO", ""] {
            assert!(go_count(line).is_none(), "{line}");
        }
        assert!(go_count("GO x").unwrap().is_err());
    }

    #[test]
    fn lines_keep_what_ends_them() {
        let all: Vec<&str> = lines("SELECT 1\r\nGO\r\n\nSELECT 2").collect();
        assert_eq!(all, ["SELECT 1\r", "GO\r", "", "SELECT 2"]);
        assert_eq!(go_count(all[1]).unwrap().unwrap(), 1);
    }

    #[test]
    fn strings_and_comments_span_lines() {
        let check = |line: &str, expect: Inside| assert_eq!(scan(Inside::Nothing, line), expect, "{line}");
        check("SELECT 'a''b'", Inside::Nothing);
        check("SELECT 'a", Inside::Quoted('\''));
        check("/* a /* b */", Inside::Comment(1));
        check("-- 'a", Inside::Nothing);
        check("[a'b] /* */", Inside::Nothing);
        assert_eq!(scan(Inside::Quoted('\''), "b' + 'c'"), Inside::Nothing);
    }
}
