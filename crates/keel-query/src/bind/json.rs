//! `JSON_OBJECT` and `JSON_ARRAY`.

use super::Binder;
use super::expr::ExprCx;
use super::for_clause::Column;
use super::for_clause::json::{json_string, json_value};
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
        let columns: Vec<Column> =
            args.iter().map(|e| Column { name: String::new(), ty: e.ty, raw: self.is_json(e) }).collect();
        let mut e = own(name, TEXT, args, move |v| {
            if object { object_text(&columns, v, nulls) } else { Ok(array_text(&columns, v, nulls)) }
        });
        e.nullable = false;
        Ok(e)
    }
}

fn object_text(columns: &[Column], values: &[Value], nulls: bool) -> Result<Value> {
    let mut members = Vec::new();
    for (c, pair) in columns.chunks(2).zip(values.chunks(2)) {
        let ([key_column, column], [key, value]) = (c, pair) else { continue };
        if key.is_null() {
            let m = "The key of a JSON object cannot be NULL.";
            return Err(keel_types::SqlError::new(13_640, 16, 1, m));
        }
        if nulls || !value.is_null() {
            let key = cast::to_text(key, key_column.ty, 0)?;
            members.push(format!("{}:{}", json_string(&key), json_value(value, column)));
        }
    }
    Ok(Value::str(format!("{{{}}}", members.join(","))))
}

fn array_text(columns: &[Column], values: &[Value], nulls: bool) -> Value {
    let pairs = columns.iter().zip(values).filter(|(_, v)| nulls || !v.is_null());
    let items: Vec<String> = pairs.map(|(c, v)| json_value(v, c)).collect();
    Value::str(format!("[{}]", items.join(",")))
}
