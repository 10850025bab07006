//! Known results of the product, and properties that hold for all pairs of types.

use super::*;
use crate::testing::{any_type, typed_value};
use crate::ty::parse::{TypeArg, TypeSite, parse_type};
use proptest::prelude::*;

fn ty(text: &str) -> SqlType {
    let (name, rest) = text.split_once('(').unwrap_or((text, ""));
    let args: Vec<TypeArg> = rest
        .trim_end_matches(')')
        .split(',')
        .filter(|a| !a.is_empty())
        .map(|a| a.parse().map_or(TypeArg::Max, TypeArg::Number))
        .collect();
    parse_type(name, &args, TypeSite::cast(1)).unwrap()
}

/// Reads `text` as a varchar, converts it to each type in turn and prints the last in its own style.
fn chain(text: &str, types: &[&str], style: i32) -> String {
    let mut value = Value::str(text);
    let mut at = SqlType::VarChar(crate::Length::Limited(8000));
    for (i, next) in types.iter().enumerate() {
        let next = ty(next);
        let style = if i + 1 == types.len() { style } else { Cast::NO_STYLE };
        match explicit(at, next).and_then(|c| c.with_style(style).apply(&value)) {
            Ok(v) => value = v,
            Err(e) => return e.number.to_string(),
        }
        at = next;
    }
    match &value {
        Value::Bytes(b) => text::hex(b, "0x"),
        _ => to_text(&value, at, 121).unwrap().to_string(),
    }
}

#[test]
fn from_strings() {
    let check =
        |text: &str, to: &str, expect: &str| assert_eq!(chain(text, &[to], -1), expect, "'{text}' to {to}");
    check(" 42 ", "int", "42");
    check("", "int", "0");
    check("- 5", "int", "-5");
    check("1.5", "int", "245");
    check("x", "int", "245");
    check("99999999999", "int", "248");
    check("300", "tinyint", "244");
    check("x", "bigint", "8114");
    check("true", "bit", "1");
    check("yes", "bit", "245");
    check("1.255", "decimal(5,2)", "1.26");
    check("-.5", "decimal(5,2)", "-0.50");
    check("1000", "decimal(5,2)", "8115");
    check("", "decimal(5,2)", "8114");
    check("1e3", "decimal(5,2)", "8114");
    check("1e3", "float", "1000");
    check("nan", "float", "8114");
    check("$1,234.56", "money", "1234.56");
    check("-$5", "money", "-5.00");
    check("abc", "money", "235");
    check("2026-01-05 10:11:12.1234567", "datetime2(3)", "2026-01-05 10:11:12.123");
    check("2026-01-05", "datetime", "2026-01-05 00:00:00.000");
    check("2026-01-05 23:59:59.999", "datetime", "2026-01-06 00:00:00.000");
    check("2026-01-05 12:00:00.005", "datetime", "2026-01-05 12:00:00.007");
    check("2026-01-05 12:00:29.998", "smalldatetime", "2026-01-05 12:00:00.000");
    check("2026-01-05 12:00:29.999", "smalldatetime", "2026-01-05 12:01:00.000");
    check("1752-12-31", "datetime", "242");
    check("2026-02-30", "datetime", "242");
    check("2026-02-30", "date", "241");
    check("soon", "datetime", "241");
    check("soon", "smalldatetime", "295");
    check("2100-01-01", "smalldatetime", "242");
    check("6f9619ff-8b86-d011-b42d-00c04fc964ff", "uniqueidentifier", "6F9619FF-8B86-D011-B42D-00C04FC964FF");
    check("6f9619ff", "uniqueidentifier", "8169");
    check("abc", "char(5)", "abc  ");
    check("abcdef", "varchar(3)", "abc");
    check("abc", "varbinary(2)", "0x6162");
    check("abc", "binary(4)", "0x61626300");
}

#[test]
fn between_types() {
    let check = |text: &str, types: &[&str], expect: &str| {
        assert_eq!(chain(text, types, -1), expect, "{text} {types:?}")
    };
    check("1.9", &["float", "int"], "1");
    check("-1.9", &["decimal(5,2)", "int"], "-1");
    check("1.5", &["money", "int"], "2");
    check("300", &["int", "tinyint"], "220");
    check("3000000000", &["bigint", "int"], "8115");
    check("3e9", &["float", "int"], "232");
    check("3000000000", &["decimal(12,0)", "int"], "8115");
    check("1000", &["int", "decimal(5,2)"], "8115");
    check("12345", &["int", "varchar(3)"], "*");
    check("12345", &["int", "nvarchar(3)"], "8115");
    check("12345", &["bigint", "varchar(3)"], "8115");
    check("123.45", &["decimal(5,2)", "varchar(3)"], "8115");
    check("1234567", &["float", "varchar(30)"], "1.23457e+006");
    check("0.1", &["float", "varchar(30)"], "0.1");
    check("0.00001", &["float", "varchar(30)"], "1e-005");
    check("123456", &["float", "varchar(30)"], "123456");
    check("1234.5678", &["money", "varchar(30)"], "1234.57");
    check("1.5", &["decimal(5,2)", "datetime"], "1900-01-02 12:00:00.000");
    check("2026-01-05 12:00", &["datetime", "float"], "46025.5");
    check("2026-01-05 12:00", &["datetime", "int"], "46026");
    check("2026-01-05", &["date", "int"], "529");
    check("1", &["int", "date"], "529");
    check("1", &["int", "uniqueidentifier"], "529");
    check("2026-01-05 10:11:12", &["datetime2(0)", "time(0)"], "10:11:12");
    check("2026-01-05 10:11:12", &["datetime", "date"], "2026-01-05");
    check("10:11:12", &["time(0)", "datetime"], "1900-01-01 10:11:12.000");
    check("2026-01-05 10:11:12 +02:00", &["datetimeoffset(0)", "datetime2(0)"], "2026-01-05 10:11:12");
    check("2026-01-05 10:11", &["datetime", "varchar(30)"], "Jan  5 2026 10:11AM");
    check("2026-01-05", &["date", "varchar(7)"], "2026-01");
    check("1", &["int", "varbinary(8)"], "0x00000001");
    check("258", &["int", "varbinary(1)"], "0x02");
    check("1", &["int", "binary(8)"], "0x0000000000000001");
    check("1", &["decimal(10,2)", "varbinary(30)"], "0x0A0200016400000000000000");
    check("abc", &["varbinary(10)", "varchar(10)"], "abc");
    check("a", &["nvarchar(10)", "varbinary(10)"], "0x6100");
    check("2026-01-05 12:00", &["datetime", "binary(8)", "datetime"], "2026-01-05 12:00:00.000");
    check("6F9619FF-8B86-D011-B42D-00C04FC964FF", &["uniqueidentifier", "varchar(10)"], "8170");
    check("5", &["int", "sql_variant", "varchar(5)"], "5");
    check("abc", &["varchar(10)", "image", "varbinary(10)"], "0x616263");
    check("abc", &["nvarchar(10)", "image"], "529");
    check("1", &["int", "image"], "529");
}

#[test]
fn styles() {
    let check = |text: &str, types: &[&str], style: i32, expect: &str| {
        assert_eq!(chain(text, types, style), expect, "{text} {types:?} {style}");
    };
    check("1234567.891", &["money", "varchar(30)"], 1, "1,234,567.89");
    check("1234567.891", &["money", "varchar(30)"], 2, "1234567.8910");
    check("1234567.891", &["float", "varchar(30)"], 1, "1.2345679e+006");
    check("1234567.891", &["float", "varchar(30)"], 2, "1.234567891000000e+006");
    check("2026-01-05", &["datetime", "varchar(30)"], 103, "05/01/2026");
    check("2026-01-05", &["datetime", "varchar(30)"], 112, "20260105");
    check("05/01/2026", &["date"], 103, "2026-01-05");
    check("abc", &["varbinary(10)", "varchar(10)"], 1, "0x616263");
    check("abc", &["varbinary(10)", "varchar(10)"], 2, "616263");
    check("0x616263", &["varbinary(10)"], 1, "0x616263");
    check("616263", &["varbinary(10)"], 2, "0x616263");
    check("61626", &["varbinary(10)"], 2, "8114");
}

#[test]
fn implicit_rules() {
    let check = |from: &str, to: &str, expect: i32| {
        let got = implicit(ty(from), ty(to)).map_or_else(|e| e.number, |_| 0);
        assert_eq!(got, expect, "{from} to {to}");
    };
    check("int", "varchar(5)", 0);
    check("varchar(5)", "int", 0);
    check("int", "date", 206);
    check("varchar(5)", "varbinary(5)", 257);
    check("sql_variant", "int", 257);
    check("datetime", "int", 257);
    check("datetime", "varchar(5)", 0);
    check("varchar(5)", "datetime", 0);
}

#[test]
fn column_assignment_refuses_to_cut() {
    let to = SqlType::VarChar(crate::Length::Limited(3));
    let cast = implicit(SqlType::VarChar(crate::Length::Limited(10)), to).unwrap().for_column();
    assert_eq!(cast.apply(&Value::str("abcd")).unwrap_err().number, 8152);
    assert_eq!(cast.apply(&Value::str("abc   ")).unwrap().as_str(), Some("abc"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn never_panics_and_gives_a_value_of_the_type((from, value) in typed_value(), to in any_type(), style in -1i32..132) {
        if let Ok(cast) = explicit(from, to)
            && let Ok(result) = cast.with_style(style).apply(&value)
        {
            // What came out is of the type: storing and reading it changes nothing.
            let mut bytes = Vec::new();
            crate::column::encode(&result, &to, &mut bytes);
            prop_assert_eq!(format!("{:?}", crate::column::decode(&bytes, &to)), format!("{:?}", result), "{} {}", from, to);
        }
    }

    #[test]
    fn text_reads_back((from, value) in typed_value()) {
        let wide = SqlType::NVarChar(crate::Length::Max);
        let exact = !matches!(from.family(), Family::Float | Family::Money | Family::Binary | Family::Variant)
            && !matches!(from, SqlType::Text | SqlType::SmallDateTime);
        if !exact {
            return Ok(());
        }
        if let Ok(printed) = explicit(from, wide).unwrap().with_style(121).apply(&value)
            && let Ok(back) = explicit(wide, from).unwrap().with_style(121).apply(&printed)
            && crate::compare::order(&value, &back, crate::Collation::BIN2).is_ne()
        {
            prop_assert_eq!(format!("{:?}", back), format!("{:?}", value), "{}", from);
        }
    }
}
