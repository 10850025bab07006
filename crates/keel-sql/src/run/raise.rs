//! PRINT, RAISERROR, THROW; what the error log hears of.

use super::{Frame, Halt, Runner};
use crate::agent::board::Event;
use crate::convert;
use crate::errors;
use crate::program::{Program, RaisErrorOp, Unit};
use crate::views::messages;
use keel_types::error::Result;
use keel_types::{SqlError, Value};
use std::sync::Arc;

/// Errors from this severity on end the session.
const FATAL: u8 = 20;
/// From this severity on an error concerns more than the session that met it.
const GRAVE: u8 = 19;
/// And these: no memory, no log.
const LOGGED: [i32; 2] = [701, 9002];
/// Messages from this number on are raised by users.
const FIRST_USER_MESSAGE: i32 = 50_000;
/// Bytes of the longest text of PRINT.
const PRINT_MAX: usize = 8000;
/// Longest text of RAISERROR.
const MESSAGE_MAX: usize = 2047;

impl Runner<'_> {
    pub(super) fn print(&mut self, program: &Arc<Program>, frame: &mut Frame, unit: &Unit) -> Result<()> {
        self.info.begin_statement();
        let (value, ty) = self.eval_typed(program, frame, unit)?;
        let most = if ty.is_national() { PRINT_MAX / 2 } else { PRINT_MAX };
        let text = match &value {
            Value::Str(text) => text.chars().take(most).collect(),
            value => convert::display_typed(value, ty),
        };
        // PRINT NULL prints a blank.
        let text = if text.is_empty() { " ".to_owned() } else { text };
        let mut message = SqlError::new(0, 0, 1, text);
        message.line = self.line_of(program, unit);
        message.procedure = program.identity.name.as_deref().map(str::to_owned);
        self.report(&message);
        self.succeed_plainly();
        Ok(())
    }

    fn line_of(&self, _program: &Program, unit: &Unit) -> u32 {
        match &unit.source {
            crate::program::UnitSource::Expr(e, _) | crate::program::UnitSource::Condition(e) => e.span.line,
            crate::program::UnitSource::Statement(s) => s.span.line,
        }
    }

    pub(super) fn raise_error(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        r: &RaisErrorOp,
    ) -> std::result::Result<(), Halt> {
        self.info.begin_statement();
        let message = self.eval(program, frame, &r.message)?;
        let severity = integer(&self.eval(program, frame, &r.severity)?);
        let state = integer(&self.eval(program, frame, &r.state)?);
        let mut args = Vec::with_capacity(r.args.len());
        for arg in &r.args {
            args.push(self.eval(program, frame, arg)?);
        }
        let known = match &message {
            Value::Int(n) => {
                let language = self.info.options.borrow().dates.language;
                messages::find(&self.info.engine, *n as i32, language)
            }
            _ => None,
        };
        // Less than none is the message's own.
        let own = known.as_ref().filter(|_| severity < 0).map(|m| m.0);
        let severity = own.unwrap_or(severity.clamp(0, 25) as u8);
        if severity > 18 && !r.log {
            return Err(errors::severity_needs_log().into());
        }
        if r.log && !self.info.unrestricted.get() && !self.info.may_on_server("ALTER TRACE") {
            return Err(errors::log_needs_permission().into());
        }
        let (number, template) = match &message {
            Value::Int(n) => match known {
                Some((_, template)) => (*n as i32, template),
                None => return Err(errors::no_user_message(*n, severity).into()),
            },
            other => (50000, convert::display(other).into()),
        };
        let text = template.fill(&args)?;
        let state = if state < 0 { 1 } else { state.min(255) as u8 };
        let mut e = SqlError::new(number, severity, state, text);
        e.line = self.line_of(program, &r.message);
        e.procedure = program.identity.name.as_deref().map(str::to_owned);
        if r.log || self.info.engine.messages.is_logged(e.number) {
            let log = &self.info.engine.options().log;
            log.write(&format!("Error: {}, Severity: {}, State: {}.", e.number, e.severity, e.state));
            log.write(&e.message);
            self.tell_alerts(&e);
        }
        if severity >= FATAL {
            self.report(&errors::session_raised(self.info.shared.id, number, severity));
        }
        if severity > 10 {
            return Err(Halt::Raised(e));
        }
        self.report(&e);
        if r.no_wait {
            self.sink.flush();
        }
        self.succeed_plainly();
        if r.set_error {
            self.info.error.set(e.number);
        }
        Ok(())
    }

    /// What concerns more than the session that met it stands in the error log, and alerts hear of it.
    /// Says whether it was.
    pub(super) fn log_grave(&self, e: &SqlError) -> bool {
        // What RAISERROR raises is logged where it is raised, if it is to be.
        let raised = e.number >= FIRST_USER_MESSAGE;
        let wanted = || LOGGED.contains(&e.number) || self.info.engine.messages.is_logged(e.number);
        if raised || e.severity < GRAVE && !wanted() {
            return false;
        }
        self.info.engine.options().log.write(&format!(
            "Error: {}, Severity: {}, State: {}. {}",
            e.number, e.severity, e.state, e.message
        ));
        self.tell_alerts(e);
        true
    }

    fn tell_alerts(&self, e: &SqlError) {
        let event = || Event {
            number: e.number,
            severity: e.severity,
            database: self.info.shown(&self.info.current_database()).1.to_string(),
            text: e.message.clone(),
        };
        self.info.engine.agent().note_event(event);
        if let (Some(_), Some(msdb)) = (self.info.context(), self.info.find_database("msdb")) {
            msdb.agent().note_event(event);
        }
    }

    pub(super) fn throw(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        new: Option<&(Unit, Unit, Unit)>,
    ) -> std::result::Result<(), Halt> {
        self.info.begin_statement();
        let Some((number, message, state)) = new else {
            let caught = self.info.caught.borrow().last().cloned();
            return match caught {
                Some(e) => Err(Halt::Raised(Box::new((*e).clone()))),
                None => Err(errors::throw_outside_catch().into()),
            };
        };
        let number = integer(&self.eval(program, frame, number)?);
        let line = self.line_of(program, message);
        let message = self.eval(program, frame, message)?;
        let state = integer(&self.eval(program, frame, state)?);
        if !(50000..=i64::from(i32::MAX)).contains(&number) {
            return Err(errors::throw_number(number).into());
        }
        let text: String = convert::display(&message).chars().take(MESSAGE_MAX + 1).collect();
        let mut e = SqlError::new(number as i32, 16, state.clamp(0, 255) as u8, text);
        e.line = line;
        e.procedure = program.identity.name.as_deref().map(str::to_owned);
        Err(Halt::Raised(e))
    }
}

fn integer(value: &Value) -> i64 {
    match value {
        Value::Int(n) => *n,
        Value::Bit(b) => i64::from(*b),
        _ => 0,
    }
}

/// A message with places for arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// `%[flags][width][.precision][{h|l}]type` with d, i, o, s, u, x, X.
    pub text: String,
    /// The us_english text of one in another language, which has `%1!` where the first place of this goes.
    pub first: Option<String>,
}

impl From<String> for Template {
    fn from(text: String) -> Template {
        Template { text, first: None }
    }
}

impl Template {
    /// The message with its arguments.
    pub fn fill(&self, args: &[Value]) -> Result<String> {
        let mut places = Vec::new();
        if let Some(first) = &self.first {
            fill(first, args, &[], &mut |piece| places.extend(piece.err()))?;
        }
        let mut out = String::with_capacity(self.text.len());
        fill(&self.text, args, &places, &mut |piece| match piece {
            Ok(c) => out.push(c),
            Err(filled) => out.push_str(&filled),
        })?;
        if out.chars().count() > MESSAGE_MAX {
            out = out.chars().take(MESSAGE_MAX - 3).chain("...".chars()).collect();
        }
        Ok(out)
    }
}

/// Goes through a text: its characters, and what its places are filled with as errors. A place with a number is one of `numbered`.
fn fill(
    text: &str,
    args: &[Value],
    numbered: &[String],
    put: &mut dyn FnMut(std::result::Result<char, String>),
) -> Result<()> {
    let mut chars = text.chars().peekable();
    let mut next = 0;
    while let Some(c) = chars.next() {
        if c != '%' {
            put(Ok(c));
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            put(Ok('%'));
            continue;
        }
        if let Some(filled) = by_number(&mut chars, numbered) {
            put(Err(filled));
            continue;
        }
        let take = |next: &mut usize| {
            *next += 1;
            args.get(*next - 1).cloned().unwrap_or(Value::Null)
        };
        let place = Place::parse(&mut chars, &mut || take(&mut next));
        let value = args.get(next).cloned();
        next += 1;
        put(Err(match value {
            Some(value) => place.render(&value, next)?,
            None => "(null)".to_owned(),
        }));
    }
    Ok(())
}

/// Takes `1!` for the first of `numbered`, if such a place is next.
fn by_number(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, numbered: &[String]) -> Option<String> {
    if numbered.is_empty() {
        return None;
    }
    let mut ahead = chars.clone();
    let mut n = 0usize;
    while let Some(digit) = ahead.peek().and_then(|c| c.to_digit(10)) {
        n = n.saturating_mul(10).saturating_add(digit as usize);
        ahead.next();
    }
    let filled = numbered.get(n.checked_sub(1)?)?;
    (ahead.next() == Some('!')).then(|| {
        *chars = ahead;
        filled.clone()
    })
}

#[derive(Default)]
struct Place {
    left: bool,
    plus: bool,
    zero: bool,
    alternate: bool,
    blank: bool,
    width: usize,
    precision: Option<usize>,
    kind: char,
}

impl Place {
    fn parse(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, star: &mut dyn FnMut() -> Value) -> Place {
        let mut place = Place::default();
        while let Some(c) = chars.peek() {
            match c {
                '-' => place.left = true,
                '+' => place.plus = true,
                '0' => place.zero = true,
                '#' => place.alternate = true,
                ' ' => place.blank = true,
                _ => break,
            }
            chars.next();
        }
        place.width = number(chars, star).unwrap_or(0);
        if chars.peek() == Some(&'.') {
            chars.next();
            place.precision = Some(number(chars, star).unwrap_or(0));
        }
        while matches!(chars.peek(), Some('h' | 'l' | 'I' | '6' | '4')) {
            chars.next();
        }
        place.kind = chars.next().unwrap_or('s');
        place
    }

    fn render(&self, value: &Value, position: usize) -> Result<String> {
        let body = match (self.kind, value) {
            (_, Value::Null) => "(null)".to_owned(),
            ('d' | 'i', Value::Int(n)) => {
                let sign = if self.plus && *n >= 0 {
                    "+"
                } else if self.blank && *n >= 0 {
                    " "
                } else {
                    ""
                };
                format!("{sign}{n}")
            }
            ('u', Value::Int(n)) => format!("{}", *n as u32),
            ('o', Value::Int(n)) => format!("{}{:o}", if self.alternate { "0" } else { "" }, *n as u32),
            ('x', Value::Int(n)) => format!("{}{:x}", if self.alternate { "0x" } else { "" }, *n as u32),
            ('X', Value::Int(n)) => format!("{}{:X}", if self.alternate { "0X" } else { "" }, *n as u32),
            ('s', Value::Str(s)) => match self.precision {
                Some(p) => s.chars().take(p).collect(),
                None => s.to_string(),
            },
            _ => return Err(errors::raiserror_parameter(position)),
        };
        let missing = self.width.saturating_sub(body.chars().count());
        Ok(if self.left {
            body + &" ".repeat(missing)
        } else if self.zero && self.kind != 's' {
            "0".repeat(missing) + &body
        } else {
            " ".repeat(missing) + &body
        })
    }
}

fn number(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    star: &mut dyn FnMut() -> Value,
) -> Option<usize> {
    if chars.peek() == Some(&'*') {
        chars.next();
        return Some(integer(&star()).max(0) as usize);
    }
    let mut out = None;
    while let Some(d) = chars.peek().and_then(|c| c.to_digit(10)) {
        chars.next();
        out = Some(out.unwrap_or(0) * 10 + d as usize);
    }
    out.map(|n: usize| n.min(4000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, args: &[Value], expect: &str) {
        assert_eq!(Template::from(template.to_owned()).fill(args).expect("formats"), expect);
    }

    #[test]
    fn places() {
        check("plain 100%%", &[], "plain 100%");
        check("<%d> <%5d> <%-5d> <%05d>", &[1, 2, 3, 4].map(Value::Int), "<1> <    2> <3    > <00004>");
        check("<%s> <%.3s> <%7.3s>", &["ab", "abcdef", "abcdef"].map(Value::str), "<ab> <abc> <    abc>");
        check("%x %X %#x %o", &[255, 255, 255, 8].map(Value::Int), "ff FF 0xff 10");
        check("%*d", &[Value::Int(4), Value::Int(7)], "   7");
        check("%s %s", &[Value::str("one")], "one (null)");
        let wrong = Template::from("%d".to_owned()).fill(&[Value::str("x")]);
        assert_eq!(wrong.expect_err("wrong type").number, 2786);
    }

    #[test]
    fn texts_of_other_languages_name_places_by_number() {
        let check = |text: &str, expect: &str| {
            let first = Some("%d of %-4s| in %s, %*d%%".to_owned());
            let args = [Value::Int(7), Value::str("ab"), Value::str("c"), Value::Int(3), Value::Int(9)];
            let template = Template { text: text.to_owned(), first };
            assert_eq!(template.fill(&args).expect("formats"), expect);
        };
        check("%3!: %2!, %1! (%4!, %1!)", "c: ab  , 7 (  9, 7)");
        // Others are in order.
        check("%d %s %%", "7 ab %");
    }
}
