//! `JSON_OBJECT` and `JSON_ARRAY`, and the aggregates `JSON_OBJECTAGG` and `JSON_ARRAYAGG`, which are a `STRING_AGG` of members.

use super::Binder;
use super::expr::ExprCx;
use super::for_clause::Column;
use super::for_clause::json::{json_string, json_value};
use super::rel::{AggFunc, Aggregate};
use crate::errors::{self, Result};
use crate::expr::Expr;
use crate::expr::builtin::own;
use keel_parser::ast;
use keel_types::{Length, SqlType, Value, cast};

const TEXT: SqlType = SqlType::NVarChar(Length::Max);

impl Binder<'_> {
    /// `JSON_OBJECT('key': value, … [NULL|ABSENT ON NULL])`, `JSON_ARRAY(value, …)`. Without a clause an object keeps NULLs
    /// and an array leaves them out.
    pub fn json_constructor(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let object = name == "JSON_OBJECT";
        if object && !call.args.len().is_multiple_of(2) {
            return Err(errors::syntax_near(")"));
        }
        let nulls = call.null_on_null.unwrap_or(object);
        let args = call.args.iter().map(|a| self.value(a, cx)).collect::<Result<Vec<_>>>()?;
        self.refuse_encrypted(&args)?;
        let columns = self.json_columns(&args);
        let mut e = own(name, TEXT, args, move |v| {
            if object { object_text(&columns, v, nulls) } else { Ok(array_text(&columns, v, nulls)) }
        });
        e.nullable = false;
        Ok(e)
    }

    /// `JSON_OBJECTAGG(key: value [NULL|ABSENT ON NULL])`, `JSON_ARRAYAGG(value [ORDER BY …] [NULL|ABSENT ON NULL])`, with the
    /// constructors' defaults. Of no rows they are empty. Errors 174 and those of aggregates.
    pub fn json_aggregate(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        check_call(name, call)?;
        let (args, order) = self.aggregate_arguments(call, cx)?;
        if args.iter().any(Expr::has_subquery) {
            return Err(errors::aggregate_over_aggregate());
        }
        let object = name == "JSON_OBJECTAGG";
        let nulls = call.null_on_null.unwrap_or(object);
        self.refuse_encrypted(&args)?;
        let columns = self.json_columns(&args);
        let item = own(name, TEXT, args, move |v| {
            let text = match (columns.as_slice(), v) {
                ([key, column], [k, v]) => member((k, key.ty), v, column, nulls)?,
                ([column], [v]) => (nulls || !v.is_null()).then(|| json_value(v, column)),
                _ => None,
            };
            Ok(text.map_or(Value::Null, Value::str))
        });
        let slot = self.typed_slot("", TEXT, true);
        let separator = Some(self.literal(&ast::Literal::String { value: ",".into(), national: true }));
        let (func, arg, ty) = (AggFunc::StringAgg, Some(item), TEXT);
        let aggregate = Aggregate { slot, func, arg, separator, order, distinct: false, ty };
        let members = self.collected(aggregate, cx)?;
        let (open, close) = if object { ('{', '}') } else { ('[', ']') };
        let mut e = own(name, TEXT, vec![members], move |v| {
            Ok(Value::str(format!("{open}{}{close}", v[0].as_str().unwrap_or_default())))
        });
        e.nullable = false;
        Ok(e)
    }

    /// How values of these expressions are written.
    fn json_columns(&self, args: &[Expr]) -> Vec<Column> {
        args.iter().map(|e| Column { name: String::new(), ty: e.ty, raw: self.is_json(e) }).collect()
    }
}

/// Whether a JSON aggregate has the arguments it takes: 174 and 102.
fn check_call(name: &str, call: &ast::FunctionCall) -> Result<()> {
    let wanted = if name == "JSON_OBJECTAGG" { 2 } else { 1 };
    if call.args.len() != wanted {
        return Err(errors::argument_count(&name.to_ascii_lowercase(), wanted));
    }
    if call.distinct { Err(errors::syntax_near("DISTINCT")) } else { Ok(()) }
}

/// `"key":value`, or NULL where the member is left out. Error 13640.
fn member(key: (&Value, SqlType), value: &Value, column: &Column, nulls: bool) -> Result<Option<String>> {
    let (key, ty) = key;
    if key.is_null() {
        let m = "The key of a JSON object cannot be NULL.";
        return Err(keel_types::SqlError::new(13_640, 16, 1, m));
    }
    if !nulls && value.is_null() {
        return Ok(None);
    }
    Ok(Some(format!("{}:{}", json_string(&cast::to_text(key, ty, 0)?), json_value(value, column))))
}

fn object_text(columns: &[Column], values: &[Value], nulls: bool) -> Result<Value> {
    let mut members = Vec::new();
    for (c, pair) in columns.chunks(2).zip(values.chunks(2)) {
        let ([key_column, column], [key, value]) = (c, pair) else { continue };
        members.extend(member((key, key_column.ty), value, column, nulls)?);
    }
    Ok(Value::str(format!("{{{}}}", members.join(","))))
}

fn array_text(columns: &[Column], values: &[Value], nulls: bool) -> Value {
    let pairs = columns.iter().zip(values).filter(|(_, v)| nulls || !v.is_null());
    let items: Vec<String> = pairs.map(|(c, v)| json_value(v, c)).collect();
    Value::str(format!("[{}]", items.join(",")))
}
