//! Variables that grow: `SET @s += x` in a loop, or over the rows of a SELECT, appends instead of copying all that is there.
//!
//! A [`Value`] never changes and has no room to spare, so that adding to one copies it. A variable that is added to is
//! therefore kept in a buffer here, and the variable itself is *behind* (NULL) until it is *settled*: until somebody reads it.
//!
//! ```text
//!            append                 settle                    append
//!  'abc…'  ─────────► buffer 'abc…x'  ─────► variable 'abc…x'  ─────► buffer 'abc…xy'
//!                     variable behind        buffer kept              variable behind
//! ```
//!
//! Whoever owns the variables settles those that a statement reads before it runs; an expression says what it reads
//! ([`CompiledExpr::reads`](crate::CompiledExpr::reads)), for everything else all are settled. A buffer is kept for a while when its
//! variable is settled, in case it goes on growing; it is taken for the variable's only if that still has the value it was given.
//!
//! Deliberately absent: types of limited length, which are small, and operators other than `+`.

use keel_types::Value;
use smol_str::SmolStrBuilder;

/// Smaller values are copied: that is as fast.
const LENGTH_MIN: usize = 1024;
/// How many statements a buffer outlives that do not add to it.
const IDLE_MAX: u8 = 16;

/// The variables of one activation that grow.
#[derive(Debug, Default)]
pub struct Growing(Vec<Grown>);

#[derive(Debug)]
struct Grown {
    variable: usize,
    buffer: Buffer,
    /// What the variable was given; `None` while it is behind.
    settled: Option<Value>,
    /// Statements since it grew.
    idle: u8,
}

#[derive(Debug)]
enum Buffer {
    Text(String),
    Bytes(Vec<u8>),
}

impl Growing {
    /// Whether nothing grows: all variables have their values.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives all variables their values; what has not grown for a while is let go.
    pub fn settle(&mut self, vars: &mut [Value]) {
        self.0.retain_mut(|grown| {
            grown.settle(vars);
            grown.idle += 1;
            grown.idle <= IDLE_MAX
        });
    }

    /// Gives these variables their values.
    #[inline]
    pub fn settle_read(&mut self, vars: &mut [Value], reads: &[usize]) {
        self.settle_others(vars, reads, usize::MAX);
    }

    /// Gives these variables their values, but for one that is about to grow.
    #[inline]
    pub fn settle_others(&mut self, vars: &mut [Value], reads: &[usize], grows: usize) {
        for grown in &mut self.0 {
            if grown.variable != grows && reads.contains(&grown.variable) {
                grown.settle(vars);
            }
        }
    }

    /// The variable is about to get a value that has nothing to do with what it has.
    #[inline]
    pub fn forget(&mut self, variable: usize) {
        self.0.retain(|grown| grown.variable != variable);
    }

    /// Adds to a variable; `None` makes it NULL.
    pub(crate) fn append_or_null(&mut self, vars: &mut [Value], variable: usize, more: Option<&[Value]>) {
        match more {
            Some(more) => self.append(vars, variable, more),
            None => {
                self.forget(variable);
                vars[variable] = Value::Null;
            }
        }
    }

    /// Adds to a variable what is not NULL.
    pub(crate) fn append(&mut self, vars: &mut [Value], variable: usize, more: &[Value]) {
        if let Some(at) = self.0.iter().position(|grown| grown.variable == variable) {
            let grown = &mut self.0[at];
            if grown.is_current(vars) {
                grown.append(vars, more);
                return;
            }
            self.0.swap_remove(at);
        }
        let room = 2 * (length(&vars[variable]) + more.iter().map(length).sum::<usize>());
        if room < 2 * LENGTH_MIN {
            vars[variable] = joined(&vars[variable], more);
            return;
        }
        if let Some(buffer) = Buffer::with_room(&vars[variable], room) {
            let mut grown = Grown { variable, buffer, settled: None, idle: 0 };
            grown.append(vars, more);
            self.0.push(grown);
        }
    }
}

impl Grown {
    /// Whether the buffer has what the variable has.
    fn is_current(&self, vars: &[Value]) -> bool {
        match (&self.settled, &vars[self.variable]) {
            (None, _) => true,
            // The same place is the same value: it is not let go while it is held here.
            (Some(Value::Str(given)), Value::Str(now)) => std::ptr::eq(given.as_str(), now.as_str()),
            (Some(Value::Bytes(given)), Value::Bytes(now)) => std::ptr::eq(&**given, &**now),
            _ => false,
        }
    }

    fn append(&mut self, vars: &mut [Value], more: &[Value]) {
        more.iter().for_each(|piece| self.buffer.push(piece));
        (self.settled, self.idle) = (None, 0);
        vars[self.variable] = Value::Null;
    }

    fn settle(&mut self, vars: &mut [Value]) {
        if self.settled.is_none() {
            let value = self.buffer.value();
            vars[self.variable] = value.clone();
            self.settled = Some(value);
        }
    }
}

impl Buffer {
    /// A buffer with this value in it; `None` for NULL, to which nothing can be added.
    fn with_room(value: &Value, room: usize) -> Option<Buffer> {
        let mut buffer = match value {
            Value::Str(_) => Buffer::Text(String::with_capacity(room)),
            Value::Bytes(_) => Buffer::Bytes(Vec::with_capacity(room)),
            _ => return None,
        };
        buffer.push(value);
        Some(buffer)
    }

    fn push(&mut self, piece: &Value) {
        match (self, piece) {
            (Buffer::Text(text), Value::Str(s)) => text.push_str(s),
            (Buffer::Bytes(bytes), Value::Bytes(b)) => bytes.extend_from_slice(b),
            _ => debug_assert!(false, "pieces have been converted to the type that grows"),
        }
    }

    fn value(&self) -> Value {
        match self {
            Buffer::Text(text) => Value::str(text.as_str()),
            Buffer::Bytes(bytes) => Value::bytes(bytes.as_slice()),
        }
    }
}

fn length(value: &Value) -> usize {
    match value {
        Value::Str(s) => s.len(),
        Value::Bytes(b) => b.len(),
        _ => 0,
    }
}

/// A value and what is added to it, in one copy. NULL stays NULL.
pub(crate) fn joined(value: &Value, more: &[Value]) -> Value {
    match value {
        Value::Str(first) => {
            let mut whole = SmolStrBuilder::new();
            whole.push_str(first);
            more.iter().filter_map(Value::as_str).for_each(|piece| whole.push_str(piece));
            Value::Str(whole.finish())
        }
        Value::Bytes(first) => {
            let mut whole = first.to_vec();
            more.iter().filter_map(Value::as_bytes).for_each(|piece| whole.extend_from_slice(piece));
            Value::bytes(whole)
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(n: usize) -> Value {
        Value::str("a".repeat(n))
    }

    #[test]
    fn a_variable_is_behind_until_it_is_read() {
        let (mut growing, mut vars) = (Growing::default(), [text(2000), text(2000)]);
        growing.append(&mut vars, 0, &[Value::str("b"), Value::str("c")]);
        assert!(vars[0].is_null());
        growing.settle_read(&mut vars, &[1]);
        assert!(vars[0].is_null());
        growing.settle_read(&mut vars, &[0]);
        assert_eq!(vars[0].as_str(), Some(format!("{}bc", "a".repeat(2000)).as_str()));
        growing.append(&mut vars, 0, &[Value::str("d")]);
        growing.settle(&mut vars);
        assert_eq!(vars[0].as_str(), Some(format!("{}bcd", "a".repeat(2000)).as_str()));
    }

    #[test]
    fn a_buffer_is_not_taken_for_another_value() {
        let (mut growing, mut vars) = (Growing::default(), [text(2000)]);
        growing.append(&mut vars, 0, &[Value::str("b")]);
        growing.settle(&mut vars);
        vars[0] = text(3);
        growing.append(&mut vars, 0, &[Value::str("c")]);
        growing.settle(&mut vars);
        assert_eq!(vars[0].as_str(), Some("aaac"));
        vars[0] = Value::Null;
        growing.append(&mut vars, 0, &[text(2000)]);
        assert!(vars[0].is_null() && growing.is_empty());
    }

    #[test]
    fn a_buffer_that_grows_no_more_is_let_go() {
        let (mut growing, mut vars) = (Growing::default(), [Value::bytes(vec![1; 2000])]);
        growing.append(&mut vars, 0, &[Value::bytes(vec![2])]);
        (0..=IDLE_MAX).for_each(|_| growing.settle(&mut vars));
        assert!(growing.is_empty());
        assert_eq!(vars[0].as_bytes().map(<[u8]>::len), Some(2001));
    }
}
