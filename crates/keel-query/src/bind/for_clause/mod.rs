//! FOR JSON and FOR XML: the query's rows become one text.
//!
//! Each row is written by one function over all columns, the rows are joined by an aggregate in their order, and the
//! result is wrapped. So a FOR clause is an ordinary tree and works in subqueries too. Where what a row writes depends
//! on the row before (AUTO nests equal parents, EXPLICIT keeps elements open), the row function only packs its texts
//! (`pack`) and the wrapper writes them all.
//!
//! | module | writes |
//! | --- | --- |
//! | [`json`] | values and objects of FOR JSON |
//! | [`xml`] | values, names and the elements of RAW and PATH |
//! | [`auto`] | the levels of AUTO, for both |
//! | [`explicit`] | FOR XML EXPLICIT's universal table |
//!
//! Deliberately absent: inline schemas (XMLSCHEMA, XMLDATA) are refused by the parser.

pub mod auto;
pub mod explicit;
pub mod json;
pub mod xml;

use super::rel::{AggFunc, Aggregate, Rel, SubqueryUse};
use super::select::Selected;
use super::{Binder, BoundQuery, OutputColumn};
use crate::errors::Result;
use crate::expr::builtin::own;
use crate::expr::{Expr, ExprKind, Slot};
use keel_parser::ast;
use keel_types::{Length, SqlError, SqlType, Value, cast};
use std::sync::Arc;

/// The product's column name of FOR JSON results.
const JSON_COLUMN: &str = "JSON_F52E2B61-18A1-11d1-B105-00805F49916B";
/// And of FOR XML results.
const XML_COLUMN: &str = "XML_F52E2B61-18A1-11d1-B105-00805F49916B";
const TEXT: SqlType = SqlType::NVarChar(Length::Max);

/// A column to be written.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name, which may hold a path.
    pub name: String,
    /// Type of its values.
    pub ty: SqlType,
    /// Already JSON or XML (a nested FOR).
    pub raw: bool,
}

/// Makes the result of all rows' texts.
type Finish = Arc<dyn Fn(&str) -> Result<String> + Send + Sync>;

/// What rows become: a text per row, what stands between them, and what is made of them all.
pub(super) struct Writing {
    row: Expr,
    separator: &'static str,
    finish: Finish,
    /// Name of the result's column.
    name: &'static str,
    /// Name of its slot, by which an outer FOR clause knows it.
    slot_name: &'static str,
    ty: SqlType,
}

impl Binder<'_> {
    /// Turns a query into the one row that its FOR clause makes; a statement (not `nested`) without rows gives none.
    pub(super) fn for_clause(
        &mut self,
        selected: Selected,
        clause: &ast::ForClause,
        nested: bool,
    ) -> Result<BoundQuery> {
        if !matches!(clause, ast::ForClause::Browse) {
            let written = selected.query.columns.iter().map(|c| self.read(c.slot));
            self.refuse_encrypted(&written.collect::<Vec<_>>())?;
        }
        let writing = match clause {
            ast::ForClause::Browse => return Ok(selected.query),
            ast::ForClause::Json(clause) => self.for_json(&selected, clause)?,
            ast::ForClause::Xml(clause) => self.for_xml(&selected, clause)?,
        };
        let mut bound = self.joined(selected.query.rel, writing);
        if !nested {
            let empty = Expr::condition(ExprKind::IsNull(Box::new(self.read(bound.columns[0].slot))));
            bound.rel = bound.rel.filter(vec![empty.not()]);
        }
        Ok(bound)
    }

    /// The columns of a query as they are to be written; `raw` tells which are written as they are.
    fn columns_to_write(&self, bound: &BoundQuery, raw: impl Fn(&Expr) -> bool) -> (Vec<Column>, Vec<Expr>) {
        let columns = bound.columns.iter().map(|c| {
            let defined = definition(&bound.rel, c.slot);
            Column {
                name: c.name.clone(),
                ty: self.slots[c.slot as usize].ty,
                raw: defined.is_some_and(&raw),
            }
        });
        (columns.collect(), bound.columns.iter().map(|c| self.read(c.slot)).collect())
    }

    /// Whether an expression is JSON already.
    pub(super) fn is_json(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Subquery(s) => match &s.usage {
                SubqueryUse::Scalar(inner) => self.slots[*inner as usize].name == JSON_COLUMN,
                _ => false,
            },
            ExprKind::Builtin(b, _) => {
                matches!(
                    &*b.name,
                    "JSON_QUERY"
                        | "JSON_OBJECT"
                        | "JSON_ARRAY"
                        | "JSON_OBJECTAGG"
                        | "JSON_ARRAYAGG"
                        | "JSON_MODIFY"
                        | "JSON_MODIFY JSON"
                )
            }
            _ => false,
        }
    }

    fn joined(&mut self, rel: Rel, w: Writing) -> BoundQuery {
        let text = self.typed_slot("", TEXT, true);
        let separator = self.literal(&ast::Literal::String { value: w.separator.into(), national: true });
        let aggregate = Aggregate {
            slot: text,
            func: AggFunc::StringAgg,
            arg: Some(w.row),
            separator: Some(separator),
            order: Vec::new(),
            distinct: false,
            ty: TEXT,
        };
        let rel = Rel::Aggregate {
            input: Box::new(rel),
            groups: Vec::new(),
            sets: None,
            grouping_id: None,
            aggs: vec![aggregate],
            scalar: true,
        };
        let finish = w.finish;
        let wrapped = own("FOR", w.ty, vec![self.read(text)], move |v| {
            Ok(match &v[0] {
                Value::Str(s) => Value::Str(finish(s)?.into()),
                _ => Value::Null,
            })
        });
        let slot = self.typed_slot(w.slot_name, w.ty, true);
        let rel = rel.project(vec![(slot, wrapped)]);
        BoundQuery { rel, columns: vec![OutputColumn { name: w.name.to_owned(), slot }] }
    }
}

/// The expression that computes a slot of a query's result, when the select list does.
fn definition(rel: &Rel, slot: Slot) -> Option<&Expr> {
    match rel {
        Rel::Project { exprs, input } => match exprs.iter().find(|(s, _)| *s == slot) {
            Some((_, e)) => Some(e),
            None => definition(input, slot),
        },
        Rel::Sort { input, .. }
        | Rel::Top { input, .. }
        | Rel::Filter { input, .. }
        | Rel::Distinct { input, .. } => definition(input, slot),
        _ => None,
    }
}

/// A value's text where JSON and XML write it alike.
fn text_of(v: &Value, ty: SqlType) -> String {
    let style = match ty {
        _ if ty.is_temporal() => 126,
        SqlType::Money | SqlType::SmallMoney | SqlType::Float => 2,
        SqlType::Real => 1,
        _ => 0,
    };
    match (v, ty) {
        (Value::Bytes(b), _) => base64(b),
        (Value::Variant(inner), _) => text_of(&inner.1, inner.0),
        (v, ty) => cast::to_text(v, ty, style).map_or_else(|_| String::new(), |s| s.to_string()),
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let n = chunk.iter().enumerate().fold(0u32, |n, (i, b)| n | u32::from(*b) << (16 - 8 * i));
        for i in 0..4 {
            let symbol = ALPHABET[(n >> (18 - 6 * i)) as usize & 63] as char;
            out.push(if i <= chunk.len() { symbol } else { '=' });
        }
    }
    out
}

/// Texts as one: each with its length in bytes before it; `-` stands for none.
fn pack(texts: impl Iterator<Item = Option<String>>) -> String {
    let mut out = String::new();
    for text in texts {
        match text {
            Some(t) => out.push_str(&format!("{}:{t}", t.len())),
            None => out.push('-'),
        }
    }
    out
}

/// The texts that [`pack`] joined.
fn unpack(mut packed: &str) -> Vec<Option<&str>> {
    let mut texts = Vec::new();
    while !packed.is_empty() {
        if let Some(rest) = packed.strip_prefix('-') {
            texts.push(None);
            packed = rest;
            continue;
        }
        let Some((length, rest)) = packed.split_once(':') else { break };
        let (text, rest) = rest.split_at(length.parse().unwrap_or(0).min(rest.len()));
        texts.push(Some(text));
        packed = rest;
    }
    texts
}

/// A precise refusal.
fn refuse<T>(number: i32, message: impl Into<String>) -> Result<T> {
    Err(SqlError::new(number, 16, 1, message.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(base64(b"Man"), "TWFu");
        assert_eq!(base64(b"Ma"), "TWE=");
        let packed = pack([Some("a-1:b".to_owned()), None, Some(String::new())].into_iter());
        assert_eq!(unpack(&packed), [Some("a-1:b"), None, Some("")]);
    }
}
