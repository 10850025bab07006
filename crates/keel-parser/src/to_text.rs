//! Expressions as text, the way the product stores defaults, checks, computed columns and filters.
//!
//! Names in brackets, numbers in parentheses, built-ins and CASE in lower case, AND/OR in upper case; CAST becomes
//! CONVERT, BETWEEN two comparisons, IN a disjunction with the last value first. Parentheses where precedence needs them, and
//! around the left one of two operators that bind alike: `([a]+[b])+[c]`. `parse_expr` of the result gives an expression of the
//! same meaning.

use crate::ast::{
    BinaryOp, ColumnRef, CompareOp, Expr, ExprKind, FunctionCall, Ident, Literal, LogicalOp, ObjectName,
    OdbcLiteralKind, TrimSide, TypeArg, TypeName, UnaryOp,
};
use std::fmt::Write as _;

/// The text as stored for a constraint: within one pair of parentheses.
#[must_use]
pub fn stored_text(expr: &Expr) -> String {
    format!("({})", to_text(expr))
}

/// The text of an expression.
#[must_use]
pub fn to_text(expr: &Expr) -> String {
    let mut writer = Writer { out: String::new() };
    writer.expr(expr, 0);
    writer.out
}

/// The text of a type, its name in brackets: `[decimal](10,2)`.
#[must_use]
pub fn type_text(ty: &TypeName) -> String {
    let mut writer = Writer { out: String::new() };
    writer.type_name(ty);
    writer.out
}

/// A name in brackets, closing brackets doubled.
#[must_use]
pub fn quote_name(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// A string literal, quotes doubled.
#[must_use]
pub fn quote_string(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const PREDICATE: u8 = 4;
const ADDITIVE: u8 = 5;
const MULTIPLICATIVE: u8 = 6;
/// A sign takes a whole product, so as an operand it needs parentheses everywhere.
const SIGN: u8 = 5;
const PRIMARY: u8 = 8;

fn strength(kind: &ExprKind) -> u8 {
    match kind {
        ExprKind::Logical { op: LogicalOp::Or, .. } => OR,
        ExprKind::Logical { .. } | ExprKind::Between { negated: false, .. } => AND,
        ExprKind::InList { list, negated: false, .. } if list.len() > 1 => OR,
        ExprKind::Not(_)
        | ExprKind::Between { .. }
        | ExprKind::InList { negated: true, .. }
        | ExprKind::Like { negated: true, .. } => NOT,
        ExprKind::Compare { .. }
        | ExprKind::InList { .. }
        | ExprKind::Quantified { .. }
        | ExprKind::IsNull { .. }
        | ExprKind::IsDistinctFrom { .. }
        | ExprKind::Like { .. }
        | ExprKind::InQuery { .. } => PREDICATE,
        ExprKind::Binary { op, .. } => op_strength(*op),
        ExprKind::Unary { op, operand } => match (op, &operand.kind) {
            // Written with its own parentheses: `(-1)`.
            (UnaryOp::Minus, ExprKind::Literal(l)) if is_number(l) => PRIMARY,
            (UnaryOp::Plus, operand) => strength(operand),
            _ => SIGN,
        },
        _ => PRIMARY,
    }
}

fn op_strength(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => MULTIPLICATIVE,
        _ => ADDITIVE,
    }
}

fn is_number(literal: &Literal) -> bool {
    matches!(literal, Literal::Int(_) | Literal::Numeric { .. } | Literal::Float(_) | Literal::Money(_))
}

/// The spelling of an operator.
#[must_use]
pub fn binary_op_text(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulo => "%",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::Concat => "||",
    }
}

/// The spelling of a comparison.
#[must_use]
pub fn compare_op_text(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "=",
        CompareOp::NotEqual => "<>",
        CompareOp::Less => "<",
        CompareOp::LessOrEqual => "<=",
        CompareOp::Greater => ">",
        CompareOp::GreaterOrEqual => ">=",
    }
}

/// Other names of types, and the ones that are stored.
const SYNONYMS: [(&str, &str); 4] =
    [("dec", "decimal"), ("rowversion", "timestamp"), ("integer", "int"), ("character", "char")];

struct Writer {
    out: String,
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn ident(&mut self, ident: &Ident) {
        self.out.push_str(&quote_name(&ident.text));
    }

    fn object(&mut self, name: &ObjectName) {
        let mut shown = false;
        for part in [&name.server, &name.database, &name.schema] {
            if let Some(part) = part {
                self.ident(part);
            }
            if part.is_some() || shown {
                shown = true;
                self.put(".");
            }
        }
        self.ident(&name.name);
    }

    fn type_name(&mut self, ty: &TypeName) {
        let synonym = SYNONYMS.iter().find(|(name, _)| ty.name.is_simple() && ty.name.name.is(name));
        match synonym {
            Some((_, name)) => self.put(&quote_name(name)),
            None => self.object(&ty.name),
        }
        if ty.args.is_empty() {
            return;
        }
        self.put("(");
        for (i, arg) in ty.args.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            match arg {
                TypeArg::Number(n) => {
                    let _ = write!(self.out, "{n}");
                }
                TypeArg::Max => self.put("max"),
                TypeArg::Collection { document, name } => {
                    self.put(if *document { "DOCUMENT " } else { "CONTENT " });
                    self.object(name);
                }
            }
        }
        self.put(")");
    }

    /// Writes with parentheses if the expression binds weaker than `min`.
    fn expr(&mut self, expr: &Expr, min: u8) {
        let parentheses = strength(&expr.kind) < min;
        if parentheses {
            self.put("(");
        }
        self.kind(&expr.kind);
        if parentheses {
            self.put(")");
        }
    }

    fn list(&mut self, exprs: &[Expr]) {
        for (i, expr) in exprs.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            self.expr(expr, 0);
        }
    }

    fn call(&mut self, name: &str, args: &[&Expr]) {
        self.put(name);
        self.put("(");
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            self.expr(arg, 0);
        }
        self.put(")");
    }

    fn kind(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Default => self.put("DEFAULT"),
            ExprKind::Variable(name) => self.put(name),
            ExprKind::GlobalVariable(name) => self.put(&name.to_lowercase()),
            ExprKind::Column(column) => {
                if let Some(qualifier) = &column.qualifier {
                    self.object(qualifier);
                    self.put(".");
                }
                self.ident(&column.name);
            }
            ExprKind::Pseudo { qualifier, name } => {
                if let Some(qualifier) = qualifier {
                    self.object(qualifier);
                    self.put(".");
                }
                self.put(&name.to_lowercase());
            }
            ExprKind::Unary { op, operand } => self.unary(*op, operand),
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right),
            ExprKind::Collate { operand, collation } => {
                self.expr(operand, PRIMARY);
                self.put(" collate ");
                self.put(&collation.text);
            }
            ExprKind::AtTimeZone { operand, zone } => {
                self.expr(operand, PRIMARY);
                self.put(" at time zone ");
                self.expr(zone, PRIMARY);
            }
            ExprKind::Logical { .. }
            | ExprKind::Not(_)
            | ExprKind::Compare { .. }
            | ExprKind::IsNull { .. }
            | ExprKind::IsDistinctFrom { .. }
            | ExprKind::Between { .. }
            | ExprKind::Like { .. }
            | ExprKind::InList { .. }
            | ExprKind::ColumnUpdated(_)
            | ExprKind::RegexpLike(_)
            | ExprKind::FullText { .. } => self.condition(kind),
            _ => self.function_like(kind),
        }
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.put("NULL"),
            Literal::String { value, national } => {
                if *national {
                    self.put("N");
                }
                self.put(&quote_string(value));
            }
            Literal::Binary(bytes) => {
                self.put("0x");
                for byte in bytes.iter() {
                    let _ = write!(self.out, "{byte:02X}");
                }
            }
            number => {
                let text = format!("({})", number_text(number));
                self.put(&text);
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) {
        if let (UnaryOp::Minus, ExprKind::Literal(literal)) = (op, &operand.kind)
            && is_number(literal)
        {
            let number = number_text(literal);
            // The least int, whose number without the sign is none.
            let number = if number == "2147483648." { "2147483648" } else { &number };
            let text = format!("(-{number})");
            return self.put(&text);
        }
        match op {
            UnaryOp::Plus => self.kind(&operand.kind),
            // A sign takes a product, which is a primary's parentheses away from being one.
            UnaryOp::Minus => {
                self.put(" -");
                self.expr(operand, PRIMARY);
            }
            UnaryOp::BitNot => {
                self.put("~");
                self.expr(operand, PRIMARY);
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) {
        let own = op_strength(op);
        // A sign on the left would take the operator's right side with it, one on the right a product.
        let signed = |e: &Expr| matches!(e.kind, ExprKind::Unary { op: UnaryOp::Minus, .. });
        self.expr(left, if signed(left) { PRIMARY } else { own + 1 });
        self.put(binary_op_text(op));
        let right_min = if signed(right) { PRIMARY } else { own + 1 };
        self.expr(right, right_min);
    }

    fn condition(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Logical { op, terms } => {
                let (word, own) = if *op == LogicalOp::Or { (" OR ", OR) } else { (" AND ", AND) };
                for (i, term) in terms.iter().enumerate() {
                    if i > 0 {
                        self.put(word);
                    }
                    self.expr(term, if i > 0 { own + 1 } else { own });
                }
            }
            ExprKind::Not(operand) => {
                self.put("NOT ");
                self.expr(operand, NOT);
            }
            ExprKind::Compare { op, left, right } => {
                self.expr(left, ADDITIVE);
                self.put(compare_op_text(*op));
                self.expr(right, ADDITIVE);
            }
            ExprKind::IsNull { operand, negated } => {
                self.expr(operand, ADDITIVE);
                self.put(if *negated { " IS NOT NULL" } else { " IS NULL" });
            }
            ExprKind::IsDistinctFrom { left, right, negated } => {
                self.expr(left, ADDITIVE);
                self.put(if *negated { " IS NOT DISTINCT FROM " } else { " IS DISTINCT FROM " });
                self.expr(right, ADDITIVE);
            }
            ExprKind::Between { operand, low, high, negated } => self.between(operand, low, high, *negated),
            ExprKind::Like { operand, pattern, escape, negated } => {
                self.put(if *negated { "NOT " } else { "" });
                self.expr(operand, ADDITIVE);
                self.put(" like ");
                self.expr(pattern, ADDITIVE);
                if let Some(escape) = escape {
                    self.put(" escape ");
                    self.expr(escape, ADDITIVE);
                }
            }
            ExprKind::InList { operand, list, negated } => self.in_list(operand, list, *negated),
            ExprKind::ColumnUpdated(column) => {
                self.put("update(");
                self.ident(column);
                self.put(")");
            }
            ExprKind::RegexpLike(args) => {
                self.put("regexp_like(");
                for (i, arg) in args.iter().enumerate() {
                    self.put(if i > 0 { "," } else { "" });
                    self.expr(arg, 0);
                }
                self.put(")");
            }
            ExprKind::FullText { contains, columns, table, search, language } => {
                self.put(if *contains { "contains(" } else { "freetext(" });
                if let Some(table) = table {
                    self.ident(&table.name);
                    self.put(".*");
                } else if columns.is_empty() {
                    self.put("*");
                } else {
                    self.put("(");
                    for (i, column) in columns.iter().enumerate() {
                        if i > 0 {
                            self.put(",");
                        }
                        self.ident(&column.name);
                    }
                    self.put(")");
                }
                self.put(",");
                self.expr(search, 0);
                if let Some(language) = language {
                    self.put(",language ");
                    self.expr(language, 0);
                }
                self.put(")");
            }
            _ => {}
        }
    }

    fn between(&mut self, operand: &Expr, low: &Expr, high: &Expr, negated: bool) {
        if negated {
            self.put("NOT (");
        }
        self.expr(operand, ADDITIVE);
        self.put(">=");
        self.expr(low, ADDITIVE);
        self.put(" AND ");
        self.expr(operand, ADDITIVE);
        self.put("<=");
        self.expr(high, ADDITIVE);
        if negated {
            self.put(")");
        }
    }

    fn in_list(&mut self, operand: &Expr, list: &[Expr], negated: bool) {
        if negated {
            self.put("NOT (");
        }
        for (i, item) in list.iter().rev().enumerate() {
            if i > 0 {
                self.put(" OR ");
            }
            self.expr(operand, ADDITIVE);
            self.put("=");
            self.expr(item, ADDITIVE);
        }
        if negated {
            self.put(")");
        }
    }

    fn function_like(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Case { operand, whens, otherwise } => {
                self.case(operand.as_deref(), whens, otherwise.as_deref())
            }
            ExprKind::Iif { condition, then, otherwise } => {
                let whens = [((**condition).clone(), (**then).clone())];
                self.case(None, &whens, Some(otherwise));
            }
            ExprKind::Coalesce(args) => {
                self.put("coalesce(");
                self.list(args);
                self.put(")");
            }
            ExprKind::NullIf(left, right) => self.call("nullif", &[left, right]),
            ExprKind::Cast { operand, ty, is_try: true }
            | ExprKind::Convert { operand, ty, style: None, is_try: true } => {
                self.put("TRY_CAST(");
                self.expr(operand, 0);
                self.put(" AS ");
                self.type_name(ty);
                self.put(")");
            }
            ExprKind::Cast { operand, ty, is_try } => self.convert(ty, operand, None, *is_try),
            ExprKind::Convert { ty, operand, style, is_try } => {
                self.convert(ty, operand, style.as_deref(), *is_try)
            }
            ExprKind::Parse { operand, ty, culture, is_try } => {
                self.put(if *is_try { "try_parse(" } else { "parse(" });
                self.expr(operand, 0);
                self.put(" as ");
                self.type_name(ty);
                if let Some(culture) = culture {
                    self.put(" using ");
                    self.expr(culture, 0);
                }
                self.put(")");
            }
            ExprKind::Trim { side, chars, operand } => {
                self.put(match side {
                    TrimSide::Leading => "trim(LEADING ",
                    TrimSide::Trailing => "trim(TRAILING ",
                    TrimSide::Both => "trim(",
                });
                if let Some(chars) = chars {
                    self.expr(chars, 0);
                    self.put(" FROM ");
                }
                self.expr(operand, 0);
                self.put(")");
            }
            ExprKind::Function(call) => self.function(call),
            ExprKind::StaticMethod { ty, method, args } => {
                self.object(ty);
                self.put("::");
                self.put(&method.text);
                if let Some(args) = args {
                    self.put("(");
                    self.list(args);
                    self.put(")");
                }
            }
            ExprKind::Property { target, name } => {
                self.expr(target, PRIMARY);
                self.put(".");
                self.ident(name);
            }
            ExprKind::Method { target, method, args } | ExprKind::Mutated { target, method, args } => {
                self.expr(target, PRIMARY);
                self.put(".");
                self.ident(method);
                self.put("(");
                self.list(args);
                self.put(")");
            }
            ExprKind::NextValueFor { sequence, .. } => {
                self.put("NEXT VALUE FOR ");
                self.object(sequence);
            }
            ExprKind::OdbcLiteral { kind, text } => {
                let word = match kind {
                    OdbcLiteralKind::Date => "d",
                    OdbcLiteralKind::Time => "t",
                    OdbcLiteralKind::Timestamp => "ts",
                    OdbcLiteralKind::Guid => "guid",
                };
                let _ = write!(self.out, "{{{word} {}}}", quote_string(text));
            }
            // Queries are not stored as text of an expression; what stands here is never parsed again.
            _ => self.put("(subquery)"),
        }
    }

    fn case(&mut self, operand: Option<&Expr>, whens: &[(Expr, Expr)], otherwise: Option<&Expr>) {
        self.put("case");
        if let Some(operand) = operand {
            self.put(" ");
            self.expr(operand, 0);
        }
        for (when, then) in whens {
            self.put(" when ");
            self.expr(when, 0);
            self.put(" then ");
            self.expr(then, 0);
        }
        match otherwise {
            Some(otherwise) => {
                self.put(" else ");
                self.expr(otherwise, 0);
                self.put(" end");
            }
            None => self.put("  end"),
        }
    }

    fn convert(&mut self, ty: &TypeName, operand: &Expr, style: Option<&Expr>, is_try: bool) {
        self.put(if is_try { "TRY_CONVERT(" } else { "CONVERT(" });
        self.type_name(ty);
        self.put(",");
        self.expr(operand, 0);
        if let Some(style) = style {
            self.put(",");
            self.expr(style, 0);
        }
        self.put(")");
    }

    fn function(&mut self, call: &FunctionCall) {
        if call.odbc {
            self.put("{fn ");
        }
        let own = call.name.is_simple() && !call.name.name.quoted;
        let name = if own { call.name.name.text.to_lowercase() } else { String::new() };
        match (name.as_str(), call.niladic) {
            ("current_timestamp", true) => self.put("getdate()"),
            ("user" | "current_user" | "session_user", true) => self.put("user_name()"),
            ("system_user", true) => self.put("suser_sname()"),
            ("year" | "month" | "day", false) if !call.odbc => {
                self.put("datepart(");
                self.put(&name);
                self.put(",");
                self.list(&call.args);
                self.put(")");
            }
            (_, niladic) => {
                if own {
                    self.put(&name);
                } else {
                    self.object(&call.name);
                }
                if !niladic {
                    self.arguments(call, &name);
                }
            }
        }
        if call.odbc {
            self.put("}");
        }
    }

    fn arguments(&mut self, call: &FunctionCall, name: &str) {
        self.put("(");
        if call.star {
            self.put("*");
        }
        if call.distinct {
            self.put("distinct ");
        }
        let part = call.args.first().filter(|_| OF_DATE_PARTS.contains(&name)).and_then(date_part);
        match part {
            Some(part) => {
                self.put(&part);
                self.put(if call.args.len() > 1 { "," } else { "" });
                self.list(&call.args[1..]);
            }
            None if name.starts_with("json_object") => self.pairs(&call.args),
            None => self.list(&call.args),
        }
        match call.null_on_null {
            Some(true) => self.put(" null on null"),
            Some(false) => self.put(" absent on null"),
            None => {}
        }
        self.put(")");
    }

    /// `'key':value` of JSON_OBJECT and JSON_OBJECTAGG.
    fn pairs(&mut self, args: &[Expr]) {
        for (n, pair) in args.chunks(2).enumerate() {
            self.put(if n > 0 { "," } else { "" });
            self.list(&pair[..1]);
            self.put(":");
            self.list(&pair[1..]);
        }
    }
}

/// Functions whose first argument is a part of a date.
const OF_DATE_PARTS: [&str; 7] =
    ["datepart", "datename", "dateadd", "datediff", "datediff_big", "datetrunc", "date_bucket"];

/// Abbreviations of parts of a date, behind the name of each.
const DATE_PARTS: [&[&str]; 15] = [
    &["year", "yy", "yyyy"],
    &["quarter", "qq", "q"],
    &["month", "mm", "m"],
    &["dayofyear", "dy", "y"],
    &["day", "dd", "d"],
    &["week", "wk", "ww"],
    &["iso_week", "isowk", "isoww"],
    &["weekday", "dw", "w"],
    &["hour", "hh"],
    &["minute", "mi", "n"],
    &["second", "ss", "s"],
    &["millisecond", "ms"],
    &["microsecond", "mcs"],
    &["nanosecond", "ns"],
    &["tzoffset", "tz"],
];

/// The name of a part of a date, whatever was written for it.
fn date_part(e: &Expr) -> Option<String> {
    let ExprKind::Column(ColumnRef { qualifier: None, name }) = &e.kind else { return None };
    let written = name.text.to_lowercase();
    let known = DATE_PARTS.iter().find(|names| names.contains(&written.as_str()));
    known.map(|names| names[0].to_owned())
}

/// Digits of a number as the product prints them.
fn number_text(literal: &Literal) -> String {
    match literal {
        Literal::Int(n) => n.to_string(),
        // What is no int is a decimal, also without a fraction.
        Literal::Numeric { mantissa, scale: 0, .. } => format!("{mantissa}."),
        Literal::Numeric { mantissa, scale, .. } => {
            let scale = usize::from(*scale);
            let digits = format!("{:0>width$}", mantissa.unsigned_abs(), width = scale + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            format!("{}{whole}.{fraction}", if *mantissa < 0 { "-" } else { "" })
        }
        Literal::Float(f) => float_text(*f),
        Literal::Money(m) => {
            let magnitude = m.unsigned_abs();
            format!("{}${}.{:04}", if *m < 0 { "-" } else { "" }, magnitude / 10_000, magnitude % 10_000)
        }
        _ => String::new(),
    }
}

/// `1.5000000000000000e+000`
fn float_text(f: f64) -> String {
    let text = format!("{f:.16e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}e{}{:03}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expect: &str) {
        let expr = crate::parse_expr(input).unwrap();
        assert_eq!(stored_text(&expr), expect, "{input}");
        let again = crate::parse_expr(expect).unwrap();
        assert_eq!(stored_text(&again), expect, "again: {input}");
    }

    #[test]
    fn as_the_product_stores_them() {
        check("0", "((0))");
        check("-1", "((-1))");
        check("1.50", "((1.50))");
        check("'it''s'", "('it''s')");
        check("N'x'", "(N'x')");
        check("GETDATE()", "(getdate())");
        check("a > 0", "([a]>(0))");
        check("a > 0 and (b < 5 or c is not null)", "([a]>(0) AND ([b]<(5) OR [c] IS NOT NULL))");
        check("a in (1, 2)", "([a]=(2) OR [a]=(1))");
        check("not a in (1, 2)", "(NOT ([a]=(2) OR [a]=(1)))");
        check("a between 1 and 2", "([a]>=(1) AND [a]<=(2))");
        check("cast(a as varchar(10))", "(CONVERT([varchar](10),[a]))");
        check("convert(char(8), d, 112)", "(CONVERT([char](8),[d],(112)))");
        check("[Order Qty] * (1 - Discount)", "([Order Qty]*((1)-[Discount]))");
        check("a like '[0-9]%'", "([a] like '[0-9]%')");
        check("case when a = 1 then 'x' else 'y' end", "(case when [a]=(1) then 'x' else 'y' end)");
        check("dbo.f(a)", "([dbo].[f]([a]))");
        check("1e5", "((1.0000000000000000e+005))");
        check("$12.5", "(($12.5000))");
        check("0xab", "(0xAB)");
        check("DATEADD(dd, -1, CURRENT_TIMESTAMP)", "(dateadd(day,(-1),getdate()))");
        check("datepart(dw, [d])", "(datepart(weekday,[d]))");
        check("YEAR(d) * 100 + month(d)", "(datepart(year,[d])*(100)+datepart(month,[d]))");
        check("[year]([d])", "([year]([d]))");
        check("USER", "(user_name())");
        check("SYSTEM_USER", "(suser_sname())");
        check("a + b + c", "(([a]+[b])+[c])");
        check("a * b / c - d", "(([a]*[b])/[c]-[d])");
        check("a - (b - c) + '%'", "(([a]-([b]-[c]))+'%')");
        check("- a + b", "(( -[a])+[b])");
        check("-a * b", "( -([a]*[b]))");
        check("+a", "([a])");
        check("-2147483648", "((-2147483648))");
        check("@@SPID", "(@@spid)");
        check("(a = 1 and b = 2) and c = 3", "([a]=(1) AND [b]=(2) AND [c]=(3))");
        check("a between 1 and 2 and c = 3", "([a]>=(1) AND [a]<=(2) AND [c]=(3))");
        check("a in (1, 2) or c = 3", "([a]=(2) OR [a]=(1) OR [c]=(3))");
        check("b not like 'x%' and a = 1", "(NOT [b] like 'x%' AND [a]=(1))");
        check("case a when 1 then 'x' end", "(case [a] when (1) then 'x'  end)");
        check("cast(a as dec(5, 2))", "(CONVERT([decimal](5,2),[a]))");
        check("cast(a as rowversion)", "(CONVERT([timestamp],[a]))");
        check("trim('x' from b)", "(trim('x' FROM [b]))");
        check("try_convert(int, s)", "(TRY_CAST([s] AS [int]))");
        check("try_convert(date, s, 112)", "(TRY_CONVERT([date],[s],(112)))");
        check("geometry::STGeomFromText('POINT(0 0)', 0)", "([geometry]::STGeomFromText('POINT(0 0)',(0)))");
    }

    #[test]
    fn parentheses_keep_the_meaning() {
        for text in [
            "a - (b - c)",
            "(a + b) * c",
            "-(a + b)",
            "(-a) * b",
            "a - -b",
            "- -a",
            "6 / -3 * 2",
            "~(a + b)",
            "-a * b",
        ] {
            let text = &text.replace('a', "[a]").replace('b', "[b]").replace('c', "[c]");
            let expr = crate::parse_expr(text).unwrap();
            let again = crate::parse_expr(&to_text(&expr)).unwrap();
            assert_eq!(expr, again, "{text} -> {}", to_text(&expr));
        }
    }
}
