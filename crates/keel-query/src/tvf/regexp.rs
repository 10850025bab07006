//! REGEXP_MATCHES and REGEXP_SPLIT_TO_TABLE: one pattern's matches in a text, and what is between them. Positions count
//! characters.

use super::rows;
use crate::bind::for_clause::json::json_string;
use crate::context::ExecCtx;
use crate::errors::Result;
use crate::expr::Expr;
use crate::scope::{RowSource, VirtualColumn, VirtualTable};
use keel_types::functions::regexp::{Captures, Match, Regex, compiled};
use keel_types::{Length, SqlType, Value, raise};
use std::rc::Rc;
use std::sync::Arc;

/// Text and pattern have to be strings, the pattern not a long one: 8116.
pub(super) fn check(name: &str, args: &[Expr]) -> Result<()> {
    for (i, arg) in args.iter().enumerate() {
        let fits = match arg.ty {
            SqlType::Null => true,
            SqlType::Text | SqlType::NText | SqlType::Xml | SqlType::TypedXml(_) => false,
            ty => ty.is_string() && (i == 0 || ty.length() != Some(Length::Max)),
        };
        if !fits {
            return Err(raise::bad_argument_type(arg.ty, i + 1, name));
        }
    }
    Ok(())
}

/// The column that has parts of the text: of its type and collation.
fn column_like(name: &str, args: &[Expr]) -> VirtualColumn {
    let of = args.first();
    let ty =
        of.map(|e| e.ty).filter(|ty| *ty != SqlType::Null).unwrap_or(SqlType::VarChar(Length::Limited(8000)));
    let mut column = VirtualColumn::new(name, ty);
    column.collation = of.map(|e| e.collation).unwrap_or_default();
    column
}

/// Text and pattern of a call; `None` when an argument is NULL.
fn given(args: &[Value]) -> Result<Option<(&str, Rc<Regex>)>> {
    if args.iter().any(Value::is_null) {
        return Ok(None);
    }
    let text = |i: usize| args.get(i).and_then(Value::as_str);
    let regex = compiled(text(1).unwrap_or_default(), text(2), true)?;
    Ok(Some((text(0).unwrap_or_default(), regex)))
}

/// REGEXP_MATCHES.
pub(super) fn matches(args: &[Expr]) -> Arc<dyn VirtualTable> {
    let columns = vec![
        VirtualColumn::new("match_id", SqlType::BigInt),
        VirtualColumn::new("start_position", SqlType::Int),
        VirtualColumn::new("end_position", SqlType::Int),
        column_like("match_value", args),
        VirtualColumn::new("substring_matches", SqlType::VarChar(Length::Max)),
    ];
    Arc::new(Matches { columns })
}

struct Matches {
    columns: Vec<VirtualColumn>,
}

impl VirtualTable for Matches {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, _: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let Some((text, regex)) = given(args)? else { return Ok(rows(Vec::new())) };
        // Behind the last character there is no position: an empty match there is said to be at the last.
        let last = text.chars().count();
        let row = |(found, id): (Captures<'_>, i64)| {
            let whole = found.get(0)?;
            let start = (characters(text, whole.start()) + 1).min(last);
            let end = (start + whole.as_str().chars().count()).saturating_sub(usize::from(!whole.is_empty()));
            Some(vec![
                Value::Int(id),
                Value::Int(start as i64),
                Value::Int(end as i64),
                Value::str(whole.as_str()),
                Value::str(groups(text, &found)),
            ])
        };
        Ok(rows(regex.captures_iter(text).zip(1..).filter_map(row).collect()))
    }
    fn row_count_estimate(&self) -> u64 {
        20
    }
}

/// Characters before a byte.
fn characters(text: &str, byte: usize) -> usize {
    text[..byte].chars().count()
}

/// The groups of a match as JSON, or the whole of it when the pattern has none.
fn groups(text: &str, found: &Captures<'_>) -> String {
    let first = usize::from(found.len() > 1);
    let item = |group: Option<Match<'_>>| match group {
        Some(group) => format!(
            "{{\"value\":{},\"start\":{},\"length\":{}}}",
            json_string(group.as_str()),
            characters(text, group.start()) + 1,
            group.as_str().chars().count()
        ),
        None => "{\"value\":null,\"start\":null,\"length\":null}".to_owned(),
    };
    let items: Vec<String> = found.iter().skip(first).map(item).collect();
    format!("[{}]", items.join(","))
}

/// REGEXP_SPLIT_TO_TABLE.
pub(super) fn split(args: &[Expr]) -> Arc<dyn VirtualTable> {
    Arc::new(Split {
        columns: vec![column_like("value", args), VirtualColumn::new("ordinal", SqlType::BigInt)],
    })
}

struct Split {
    columns: Vec<VirtualColumn>,
}

impl VirtualTable for Split {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, _: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let Some((text, regex)) = given(args)? else { return Ok(rows(Vec::new())) };
        let mut parts = Vec::new();
        let mut from = 0;
        // Nothing is not a separator before the first character, nor behind the last.
        let splits = |m: &Match<'_>| !m.is_empty() || (m.start() > 0 && m.end() < text.len());
        for found in regex.find_iter(text).filter(splits) {
            parts.push(&text[from..found.start()]);
            from = found.end();
        }
        parts.push(&text[from..]);
        let row = |(part, ordinal): (&&str, i64)| vec![Value::str(*part), Value::Int(ordinal)];
        Ok(rows(parts.iter().zip(1..).map(row).collect()))
    }
    fn row_count_estimate(&self) -> u64 {
        20
    }
}
