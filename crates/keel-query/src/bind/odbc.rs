//! The functions of `{fn …}`: those of ODBC's grammar that Transact-SQL has by another name, or not at all. Outside the braces nobody
//! knows them.

use super::Binder;
use super::expr::{ExprCx, bare_word};
use super::merge_types::cast_to;
use crate::errors::{self, Result};
use crate::expr::builtin::own;
use crate::expr::{ArithOp, Coercibility, Expr, ExprKind};
use keel_parser::ast;
use keel_types::functions::DatePart;
use keel_types::{Length, SqlType, Value, cast};

/// What takes the same arguments by another name.
fn renamed(name: &str) -> Option<&'static str> {
    Some(match name {
        "UCASE" => "UPPER",
        "LCASE" => "LOWER",
        "LENGTH" => "LEN",
        "LOCATE" | "POSITION" => "CHARINDEX",
        "REPEAT" => "REPLICATE",
        "INSERT" => "STUFF",
        "IFNULL" => "ISNULL",
        "DAYOFMONTH" => "DAY",
        "NOW" => "GETDATE",
        "OCTET_LENGTH" => "DATALENGTH",
        "DATABASE" => "DB_NAME",
        "USER" => "USER_NAME",
        _ => return None,
    })
}

/// What is a part of a date, or the name of one.
fn date_part(name: &str) -> Option<(&'static str, DatePart)> {
    Some(match name {
        "DAYNAME" => ("DATENAME", DatePart::Weekday),
        "MONTHNAME" => ("DATENAME", DatePart::Month),
        "DAYOFWEEK" => ("DATEPART", DatePart::Weekday),
        "DAYOFYEAR" => ("DATEPART", DatePart::DayOfYear),
        "HOUR" => ("DATEPART", DatePart::Hour),
        "MINUTE" => ("DATEPART", DatePart::Minute),
        "SECOND" => ("DATEPART", DatePart::Second),
        "QUARTER" => ("DATEPART", DatePart::Quarter),
        "WEEK" => ("DATEPART", DatePart::Week),
        _ => return None,
    })
}

/// The date part of an interval, `SQL_TSI_DAY`.
fn interval(word: &str) -> Option<DatePart> {
    let upper = word.to_ascii_uppercase();
    let part = upper.strip_prefix("SQL_TSI_")?;
    DatePart::by_name(if part == "FRAC_SECOND" { "NANOSECOND" } else { part })
}

/// The type of a name that CONVERT takes, `SQL_INTEGER`.
fn converted(word: &str) -> Option<SqlType> {
    Some(match word.to_ascii_uppercase().strip_prefix("SQL_")? {
        "BIGINT" => SqlType::BigInt,
        "INTEGER" => SqlType::Int,
        "SMALLINT" => SqlType::SmallInt,
        "TINYINT" => SqlType::TinyInt,
        "BIT" => SqlType::Bit,
        "DECIMAL" | "NUMERIC" => SqlType::Decimal { precision: 18, scale: 0 },
        "REAL" => SqlType::Real,
        "FLOAT" | "DOUBLE" => SqlType::Float,
        "CHAR" => SqlType::Char(30),
        "VARCHAR" | "LONGVARCHAR" => SqlType::VarChar(Length::Limited(30)),
        "WCHAR" => SqlType::NChar(30),
        "WVARCHAR" | "WLONGVARCHAR" => SqlType::NVarChar(Length::Limited(30)),
        "BINARY" => SqlType::Binary(30),
        "VARBINARY" | "LONGVARBINARY" => SqlType::VarBinary(Length::Limited(30)),
        "DATE" | "TYPE_DATE" => SqlType::Date,
        "TIME" | "TYPE_TIME" => SqlType::Time(7),
        "TIMESTAMP" | "TYPE_TIMESTAMP" => SqlType::DateTime,
        "GUID" => SqlType::UniqueIdentifier,
        _ => return None,
    })
}

impl Binder<'_> {
    /// Binds a call in `{fn …}`; `None` where the function is an ordinary one.
    pub(super) fn odbc_function(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Option<Expr>> {
        if matches!(name, "TIMESTAMPADD" | "TIMESTAMPDIFF" | "EXTRACT" | "CONVERT") {
            return self.odbc_with_word(name, &call.args, cx).map(Some);
        }
        let Some(known) = self.odbc_name(name) else { return Ok(None) };
        let mut args = call.args.iter().map(|a| self.value(a, cx)).collect::<Result<Vec<_>>>()?;
        let bound = match known {
            Known::Renamed(own) => self.named_function(own, args)?,
            Known::Part(function, part) => {
                args.insert(0, self.word(part.name()));
                self.named_function(function, args)?
            }
            Known::Own => self.odbc_own(name, args)?,
        };
        Ok(Some(bound))
    }

    fn odbc_name(&self, name: &str) -> Option<Known> {
        let own = ["BIT_LENGTH", "TRUNCATE", "MOD", "CURDATE", "CURRENT_DATE", "CURTIME", "CURRENT_TIME"];
        let renamed = renamed(name).map(Known::Renamed);
        let part = || date_part(name).map(|(function, part)| Known::Part(function, part));
        renamed.or_else(part).or_else(|| own.contains(&name).then_some(Known::Own))
    }

    /// What Transact-SQL has no function for.
    fn odbc_own(&mut self, name: &str, mut args: Vec<Expr>) -> Result<Expr> {
        let wanted = match name {
            "TRUNCATE" | "MOD" => 2..=2,
            "BIT_LENGTH" => 1..=1,
            "CURRENT_TIME" => 0..=1,
            _ => 0..=0,
        };
        if !wanted.contains(&args.len()) {
            return Err(errors::argument_count(&name.to_ascii_lowercase(), *wanted.start()));
        }
        match name {
            "BIT_LENGTH" => {
                let bytes = self.named_function("DATALENGTH", args)?;
                self.binary_values(ArithOp::Mul, bytes, Expr::int(8))
            }
            "TRUNCATE" => {
                args.push(Expr::int(1));
                self.named_function("ROUND", args)
            }
            "MOD" => {
                let (divisor, number) = (args.pop(), args.pop());
                let null = Expr::null;
                self.binary_values(ArithOp::Mod, number.unwrap_or_else(null), divisor.unwrap_or_else(null))
            }
            "CURDATE" | "CURRENT_DATE" => self.now_as_text(SqlType::Date),
            _ => {
                let digits = args.first().map_or(Some(3), |a| a.as_const().and_then(Value::as_int));
                let scale = digits.and_then(|d| u8::try_from(d).ok()).filter(|d| *d <= 7);
                self.now_as_text(SqlType::Time(scale.ok_or_else(|| errors::syntax_near("CURRENT_TIME"))?))
            }
        }
    }

    /// The date or the time of day as text, as these functions have it.
    fn now_as_text(&mut self, ty: SqlType) -> Result<Expr> {
        let now = cast_to(self.named_function("SYSDATETIME", Vec::new())?, ty);
        let text = SqlType::VarChar(Length::Limited(ty.display_size().unwrap_or(30) as u16));
        Ok(own("NOW", text, vec![now], move |v| Ok(Value::Str(cast::to_text(&v[0], ty, 121)?))))
    }

    /// Calls of which one argument is a word: an interval, a part of a date, a type.
    fn odbc_with_word(&mut self, name: &str, args: &[ast::Expr], cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
        let (at, wanted) = match name {
            "CONVERT" => (1, 2),
            "EXTRACT" => (0, 2),
            _ => (0, 3),
        };
        if args.len() != wanted {
            return Err(errors::argument_count(&name.to_ascii_lowercase(), wanted));
        }
        let word = bare_word(&args[at]).ok_or_else(|| errors::syntax_near(name))?;
        let unknown = || keel_types::raise::bad_datepart(word, &name.to_ascii_lowercase());
        if name == "CONVERT" {
            let ty = converted(word).ok_or_else(|| errors::syntax_near(word))?;
            let value = self.value(&args[0], cx)?;
            return Ok(self.odbc_cast(value, ty));
        }
        let (function, part) = match name {
            "EXTRACT" => ("DATEPART", DatePart::by_name(word)),
            "TIMESTAMPADD" => ("DATEADD", interval(word)),
            _ => ("DATEDIFF", interval(word)),
        };
        let mut bound = vec![self.word(part.ok_or_else(unknown)?.name())];
        for arg in &args[1..] {
            bound.push(self.value(arg, cx)?);
        }
        self.named_function(function, bound)
    }

    fn odbc_cast(&self, input: Expr, ty: SqlType) -> Expr {
        let collation = if input.ty.is_string() { input.collation } else { self.collation() };
        let nullable = input.nullable || input.as_const().is_none();
        let cast = crate::expr::Cast { input, style: None, lenient: false, explicit: true };
        let kind = ExprKind::Cast(Box::new(cast));
        Expr { kind, ty, collation, coercibility: Coercibility::Default, nullable }
    }

    fn word(&mut self, word: &str) -> Expr {
        self.literal(&ast::Literal::String { value: word.into(), national: false })
    }
}

/// How a function of ODBC is made.
enum Known {
    Renamed(&'static str),
    Part(&'static str, DatePart),
    Own,
}
