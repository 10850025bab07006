//! Calls written as T-SQL would have them, with the results of the product.

use super::*;
use crate::cast::{explicit, to_text};
use crate::datetime::Civil;
use crate::testing::{all_types, value_of};
use crate::ty::parse::{TypeArg, TypeSite, parse_type};
use proptest::prelude::*;

/// 2026-11-21 20:30:45.1234567 UTC, one hour ahead locally.
struct TestCtx;

impl FnCtx for TestCtx {
    fn now_utc(&self) -> i64 {
        let c =
            Civil { year: 2026, month: 11, day: 21, hour: 20, minute: 30, second: 45, fraction: 1_234_567 };
        c.ticks().unwrap()
    }
    fn now_local(&self) -> i64 {
        self.now_utc() + crate::datetime::TICKS_PER_HOUR
    }
    fn rand(&self, seed: Option<i64>) -> f64 {
        RandState::seeded(seed.unwrap_or(0)).next_number()
    }
}

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

/// Reads an argument: `NULL`, `12`, `1.5`, `'text'`, `N'text'`, `1e0`, `word`, or any of them `::type`.
fn argument(text: &str) -> (SqlType, Value) {
    let text = text.trim();
    if let Some((value, name)) = text.rsplit_once("::") {
        let (from, value) = argument(value);
        let to = ty(name);
        return (to, explicit(from, to).unwrap().apply(&value).unwrap());
    }
    let string = |s: &str, national: bool| {
        let s = s.strip_suffix('\'').unwrap().replace("''", "'");
        let n = Length::Limited(s.chars().count().max(1) as u16);
        (if national { SqlType::NVarChar(n) } else { SqlType::VarChar(n) }, Value::str(s))
    };
    if text == "NULL" {
        (SqlType::Null, Value::Null)
    } else if let Some(s) = text.strip_prefix("N'") {
        string(s, true)
    } else if let Some(s) = text.strip_prefix('\'') {
        string(s, false)
    } else if let Some(hex) = text.strip_prefix("0x") {
        let bytes: Vec<u8> =
            (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect();
        (SqlType::VarBinary(Length::Limited(bytes.len().max(1) as u16)), Value::bytes(bytes))
    } else if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        (SqlType::VarChar(Length::Limited(30)), Value::str(text))
    } else if text.contains('e') {
        (SqlType::Float, Value::Float(text.parse().unwrap()))
    } else if text.contains('.') {
        let d = crate::Decimal::parse(text).unwrap();
        let digits = text.bytes().filter(u8::is_ascii_digit).count() as u8;
        (SqlType::Numeric { precision: digits, scale: d.scale }, Value::Decimal(d))
    } else {
        (SqlType::Int, Value::Int(text.parse().unwrap()))
    }
}

/// Splits at commas outside quotes and parentheses.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0, false);
    for c in text.chars() {
        quoted ^= c == '\'';
        depth += i32::from(c == '(') - i32::from(c == ')');
        if c == ',' && depth == 0 && !quoted {
            parts.push(String::new());
        } else {
            parts.last_mut().unwrap().push(c);
        }
    }
    parts
}

fn call(text: &str) -> Result<(Value, SqlType)> {
    let (name, rest) = text.split_once('(').unwrap();
    let inner = rest.strip_suffix(')').unwrap();
    let values: Vec<_> =
        if inner.is_empty() { vec![] } else { split(inner).iter().map(|a| argument(a)).collect() };
    let args: Vec<Arg<'_>> = values.iter().map(|(ty, v)| Arg { ty: *ty, constant: Some(v) }).collect();
    let def = lookup(name).unwrap_or_else(|| panic!("no function {name}"));
    let resolved = def.resolve(&args, Collation::default())?;
    let types: Vec<SqlType> = values.iter().map(|v| v.0).collect();
    let casts = resolved.casts(&types)?;
    let converted = values
        .iter()
        .zip(casts)
        .map(|((_, v), c)| c.map_or(Ok(v.clone()), |c| c.apply(v)))
        .collect::<Result<Vec<_>>>()?;
    Ok((resolved.eval(&TestCtx, &converted)?, resolved.result))
}

/// Runs one call; NULL prints as NULL, an error as its number.
fn shown(text: &str) -> String {
    match call(text) {
        Ok((Value::Null, _)) => "NULL".to_owned(),
        Ok((Value::Bytes(b), ty)) => to_text(&Value::Bytes(b), ty, 1).unwrap().to_string(),
        Ok((v, ty)) => to_text(&v, ty, -1).unwrap().to_string(),
        Err(e) => e.number.to_string(),
    }
}

fn check_all(cases: &[(&str, &str)]) {
    for (text, expect) in cases {
        assert_eq!(shown(text), *expect, "{text}");
    }
}

#[test]
fn strings() {
    check_all(&[
        ("LEN('abc  ')", "3"),
        ("LEN(N'é ')", "1"),
        ("LEN(12345)", "5"),
        ("LEN(NULL)", "NULL"),
        ("LEN(0x2020)", "0"),
        ("LEN(0x0001)", "2"),
        ("DATALENGTH('abc  ')", "5"),
        ("DATALENGTH(N'abc')", "6"),
        ("DATALENGTH(12)", "4"),
        ("SUBSTRING('abcdef', 2, 3)", "bcd"),
        ("SUBSTRING('abcdef', 0, 3)", "ab"),
        ("SUBSTRING('abcdef', -5, 3)", ""),
        ("SUBSTRING('abcdef', 5, 30)", "ef"),
        ("SUBSTRING('abcdef', 5, -1)", "537"),
        ("SUBSTRING(0x010203, 2, 1)", "0x02"),
        ("LEFT('abc', 2)", "ab"),
        ("LEFT('abc', -2)", "536"),
        ("RIGHT('abc', -2)", "536"),
        ("STUFF(0x010203, 2, 1, 0xAABB)", "0x01AABB03"),
        ("ISNUMERIC('\\')", "1"),
        ("EOMONTH('2026-02-05'::date, NULL)", "2026-02-28"),
        ("RIGHT('abc', 2)", "bc"),
        ("RIGHT('abc', 20)", "abc"),
        ("CHARINDEX('B', 'abcb')", "2"),
        ("CHARINDEX('b', 'abcb', 3)", "4"),
        ("CHARINDEX('x', 'abc')", "0"),
        ("CHARINDEX('', 'abc')", "0"),
        ("PATINDEX('%[0-9]%', 'ab1c2')", "3"),
        ("PATINDEX('%x%', 'abc')", "0"),
        ("REPLACE('aBcb', 'b', 'xx')", "axxcxx"),
        ("REPLACE('abc', '', 'x')", "abc"),
        ("REPLACE('abc', NULL, 'x')", "NULL"),
        ("STUFF('abcdef', 2, 3, 'xy')", "axyef"),
        ("STUFF('abcdef', 2, 3, NULL)", "aef"),
        ("STUFF('abcdef', 7, 3, 'x')", "NULL"),
        ("STUFF('abcdef', 0, 3, 'x')", "NULL"),
        ("REPLICATE('ab', 3)", "ababab"),
        ("REPLICATE('ab', -1)", "NULL"),
        ("REVERSE('abc')", "cba"),
        ("UPPER('aébß')", "AÉBß"),
        ("LOWER(N'AÉΣ')", "aéσ"),
        ("LTRIM('  a ')", "a "),
        ("RTRIM('  a ')", "  a"),
        ("TRIM('  a ')", "a"),
        ("TRIM('xyaxy', 'yx')", "a"),
        ("SPACE(3)", "   "),
        ("STR(123.45)", "       123"),
        ("STR(123.45, 6, 1)", " 123.5"),
        ("STR(123.45, 2, 2)", "**"),
        ("CHAR(65)", "A"),
        ("CHAR(256)", "NULL"),
        ("CHAR(128)", "€"),
        ("NCHAR(960)", "π"),
        ("ASCII('A')", "65"),
        ("ASCII('')", "NULL"),
        ("UNICODE(N'π')", "960"),
        ("QUOTENAME('a]b')", "[a]]b]"),
        ("QUOTENAME('ab', '\"')", "\"ab\""),
        ("QUOTENAME('ab', '!')", "NULL"),
        ("CONCAT('a', NULL, 1)", "a1"),
        ("CONCAT_WS('-', 'a', NULL, 1)", "a-1"),
        ("STRING_ESCAPE('a\"/b', 'json')", "a\\\"\\/b"),
        ("TRANSLATE('2*[3+4]', '[]', '()')", "2*(3+4)"),
        ("TRANSLATE('a', 'ab', 'x')", "9828"),
        ("SOUNDEX('Smith')", "S530"),
        ("SOUNDEX('Smythe')", "S530"),
        ("SOUNDEX('Ashcraft')", "A261"),
        ("DIFFERENCE('Smith', 'Smythe')", "4"),
        ("PARSENAME('a.[b.c].d', 2)", "b.c"),
        ("PARSENAME('a.b', 3)", "NULL"),
        ("LEFT('abc')", "174"),
    ]);
}

#[test]
fn dates() {
    check_all(&[
        ("GETDATE()", "Nov 21 2026  9:30PM"),
        ("SYSUTCDATETIME()", "2026-11-21 20:30:45.1234567"),
        ("SYSDATETIMEOFFSET()", "2026-11-21 21:30:45.1234567 +01:00"),
        ("DATEADD(day, 1, '2026-01-31'::date)", "2026-02-01"),
        ("DATEADD(mm, 1, '2026-01-31'::date)", "2026-02-28"),
        ("DATEADD(yy, -1, '2024-02-29'::date)", "2023-02-28"),
        ("DATEADD(hour, 25, '2026-01-31'::datetime2(0))", "2026-02-01 01:00:00"),
        ("DATEADD(hour, 1, '2026-01-31'::date)", "9810"),
        ("DATEADD(hour, 2, '23:00'::time(0))", "01:00:00"),
        ("DATEADD(month, 2, '23:00'::time(0))", "9810"),
        ("DATEADD(year, 9000, '2026-01-31'::date)", "517"),
        ("DATEADD(day, 1, '2026-01-31')", "Feb  1 2026 12:00AM"),
        ("DATEADD(fortnight, 1, '2026-01-31')", "155"),
        ("DATEDIFF(day, '2026-01-31', '2026-02-01')", "1"),
        ("DATEDIFF(month, '2026-01-31', '2026-02-01')", "1"),
        ("DATEDIFF(year, '2026-12-31', '2027-01-01')", "1"),
        ("DATEDIFF(week, '2026-11-21', '2026-11-22')", "1"),
        ("DATEDIFF(hour, '2026-01-01 00:59', '2026-01-01 01:00')", "1"),
        ("DATEDIFF(second, '1900-01-01', '2026-01-01')", "535"),
        ("DATEDIFF_BIG(second, '1900-01-01', '2026-01-01')", "3976214400"),
        ("DATEDIFF(nanosecond, '2026-01-01 10:00', '2026-01-01 10:00:01.5')", "1500000000"),
        ("DATEDIFF(nanosecond, '2026-01-01 10:00', '2026-01-01 10:00:02.15')", "535"),
        ("DATEDIFF_BIG(nanosecond, '2026-01-02', '2026-01-01')", "-86400000000000"),
        ("DATEPART(weekday, '2026-11-21')", "7"),
        ("DATEPART(week, '2026-11-21')", "47"),
        ("DATEPART(iso_week, '2026-11-21')", "47"),
        ("DATEPART(dayofyear, '2026-11-21')", "325"),
        ("DATEPART(millisecond, '2026-11-21 10:11:12.997'::datetime)", "997"),
        ("DATEPART(nanosecond, '2026-11-21 10:11:12.1234567'::datetime2)", "123456700"),
        ("DATEPART(hour, '2026-11-21'::date)", "9810"),
        ("DATEPART(tz, '2026-11-21 10:00 +02:00'::datetimeoffset)", "120"),
        ("DATENAME(month, '2026-11-21')", "November"),
        ("DATENAME(weekday, '2026-11-21')", "Saturday"),
        ("DATENAME(year, '2026-11-21')", "2026"),
        ("YEAR('2026-11-21')", "2026"),
        ("MONTH('2026-11-21'::datetime)", "11"),
        ("DAY(0)", "1"),
        ("EOMONTH('2026-02-03')", "2026-02-28"),
        ("EOMONTH('2026-01-31', 1)", "2026-02-28"),
        ("ISDATE('2026-02-30')", "0"),
        ("ISDATE('20260228')", "1"),
        ("ISDATE(NULL)", "0"),
        ("DATEFROMPARTS(2026, 2, 3)", "2026-02-03"),
        ("DATEFROMPARTS(2026, 2, 30)", "289"),
        ("DATETIMEFROMPARTS(2026, 2, 3, 4, 5, 6, 7)", "Feb  3 2026  4:05AM"),
        ("DATETIME2FROMPARTS(2026, 2, 3, 4, 5, 6, 7, 3)", "2026-02-03 04:05:06.007"),
        ("TIMEFROMPARTS(4, 5, 6, 7, 2)", "04:05:06.07"),
        ("DATETIMEOFFSETFROMPARTS(2026, 2, 3, 4, 5, 6, 0, 2, 30, 0)", "2026-02-03 04:05:06 +02:30"),
        (
            "SWITCHOFFSET('2026-02-03 04:05 +00:00'::datetimeoffset(0), '-05:00')",
            "2026-02-02 23:05:00 -05:00",
        ),
        ("TODATETIMEOFFSET('2026-02-03 04:05'::datetime2(0), 60)", "2026-02-03 04:05:00 +01:00"),
        ("DATETRUNC(month, '2026-02-03'::date)", "2026-02-01"),
        ("DATETRUNC(week, '2026-11-21'::date)", "2026-11-15"),
        ("DATE_BUCKET(week, 2, '2026-11-21'::date)", "2026-11-16"),
    ]);
}

#[test]
fn numbers() {
    check_all(&[
        ("ABS(-5)", "5"),
        ("ABS(-1.5)", "1.5"),
        ("ABS(-2147483648)", "8115"),
        ("CEILING(1.2)", "2"),
        ("CEILING(-1.2)", "-1"),
        ("FLOOR(-1.2)", "-2"),
        ("FLOOR(1.2e0)", "1"),
        ("ROUND(1.255, 2)", "1.260"),
        ("ROUND(-1.255, 2)", "-1.260"),
        ("ROUND(1.255, 2, 1)", "1.250"),
        ("ROUND(155, -1)", "160"),
        ("ROUND(155, -1, 1)", "150"),
        ("ROUND(748.58, -3)", "8115"),
        ("ROUND(2.5e0, 0)", "3"),
        ("SIGN(-1.50)", "-1.00"),
        ("POWER(2, 10)", "1024"),
        ("POWER(2, 31)", "232"),
        ("POWER(2.5, 2)", "6.3"),
        ("POWER(2e0, 0.5)", "1.41421"),
        ("SQRT(16)", "4"),
        ("SQRT(-1)", "3623"),
        ("LOG(0)", "3623"),
        ("LOG(8, 2)", "3"),
        ("LOG10(1000)", "3"),
        ("EXP(0)", "1"),
        ("PI()", "3.14159"),
        ("DEGREES(1)", "57"),
        ("RADIANS(180)", "3"),
        ("SQUARE(3)", "9"),
        ("ATN2(1, 1)", "0.785398"),
        ("RAND(1)", "0.713592"),
    ]);
}

#[test]
fn choices() {
    check_all(&[
        ("ISNULL(NULL, 5)", "5"),
        ("ISNULL('ab'::varchar(2), 'xyz')", "ab"),
        ("ISNULL(NULL, NULL)", "NULL"),
        ("CHOOSE(2, 'a', 'b')", "b"),
        ("CHOOSE(3, 'a', 'b')", "NULL"),
        ("GREATEST(1, 2.5, NULL)", "2.5"),
        ("LEAST('b', 'A')", "A"),
        ("ISNUMERIC('12.5')", "1"),
        ("ISNUMERIC('$1,000')", "1"),
        ("ISNUMERIC('1e5')", "1"),
        ("ISNUMERIC('abc')", "0"),
        ("ISNUMERIC('')", "0"),
        ("ISNUMERIC('-')", "1"),
        ("ISNUMERIC(NULL)", "0"),
        ("SQL_VARIANT_PROPERTY(5::sql_variant, 'BaseType')", "int"),
    ]);
    assert_eq!(call("ISNULL(NULL, 5)").unwrap().1, SqlType::Int);
    assert_eq!(call("CONCAT('ab', 'c')").unwrap().1.to_string(), "varchar(3)");
}

#[test]
fn formats() {
    check_all(&[
        ("FORMAT(1234567.891, 'N')", "1,234,567.89"),
        ("FORMAT(1234567.891, 'N1')", "1,234,567.9"),
        ("FORMAT(-1234.5, 'C')", "($1,234.50)"),
        ("FORMAT(-1234.5, 'C', 'en-gb')", "-£1,234.50"),
        ("FORMAT(1234567.891, 'N', 'en-IN')", "12,34,567.89"),
        ("FORMAT(1234567, '#,##0', 'en-IN')", "12,34,567"),
        ("FORMAT(0.5, 'P', 'tr')", "%50,00"),
        ("FORMAT('2018-01-02'::date, 'yyyy/MM/dd', 'de-DE')", "2018.01.02"),
        ("FORMAT('2018-01-02 03:04'::datetime, 'H:mm', 'fi-FI')", "3.04"),
        ("FORMAT('2018-01-01'::date, 'ddd d MMM', 'fr-FR')", "lun. 1 janv."),
        ("FORMAT('2018-01-02'::date, 'D', 'pl')", "2 stycznia 2018"),
        ("FORMAT('2018-01-02'::date, 'Y', 'pl-PL')", "styczeń 2018"),
        ("FORMAT('2018-01-02'::date, 'D', 'zh-cn')", "2018年1月2日"),
        ("FORMAT('2018-01-02 15:04'::datetime, 'G', 'ko-KR')", "2018-01-02 오후 3:04:00"),
        ("FORMAT('2018-01-02'::date, 'yyyy', 'th-TH')", "2561"),
        ("FORMAT('2018-01-02'::date, 'R', 'de-DE')", "Tue, 02 Jan 2018 00:00:00 GMT"),
        ("FORMAT('2026-01-05 01:03 +02:00'::datetimeoffset, 'u')", "2026-01-04 23:03:00Z"),
        ("FORMAT(1234567, '0.00E+00')", "1.23E+06"),
        ("FORMAT(0.00099999, '0.00e-0')", "1.00e-3"),
        ("FORMAT(1234567, '##0.0E0')", "123.5E4"),
        ("FORMAT(0, '0.0E+0')", "0.0E+0"),
        ("FORMAT(0.1234567890123456e0, 'G')", "0.123456789012346"),
        ("FORMAT(123456789012345678e0, 'N0')", "123,456,789,012,346,000"),
        ("FORMAT(123456789012345678e0, 'G')", "1.23456789012346E+17"),
        ("FORMAT(0.00001e0, 'G')", "1E-05"),
        ("FORMAT(12345.678, 'G3')", "1.23E+04"),
        ("FORMAT(12.3456, 'G3')", "12.3"),
        ("FORMAT(12.50, 'G')", "12.50"),
        ("FORMAT('14:03'::time(0), 'HH')", "NULL"),
        ("FORMAT('14:03'::time(0), 'hh\\:mm tt')", "NULL"),
        ("FORMAT('14:03:09.5'::time(1), 'h\\hmm''m''ss\\.fff')", "14h03m09.500"),
        ("FORMAT(1234.5, 'C', 'de-DE')", "1.234,50 €"),
        ("FORMAT(1234.5, 'C', 'en-GB')", "£1,234.50"),
        ("FORMAT(1234.5, 'F0')", "1235"),
        ("FORMAT(0.125, 'P')", "12.50%"),
        ("FORMAT(42, 'D6')", "000042"),
        ("FORMAT(255, 'X')", "FF"),
        ("FORMAT(-1, 'x8')", "ffffffff"),
        ("FORMAT(12345.678e0, 'E2')", "1.23E+004"),
        ("FORMAT(1.5e0, 'G')", "1.5"),
        ("FORMAT(1234567, '#,##0')", "1,234,567"),
        ("FORMAT(0, '#,##0.00')", "0.00"),
        ("FORMAT(5, '000')", "005"),
        ("FORMAT(1234.5, '#,##0.##')", "1,234.5"),
        ("FORMAT(0.5, '#.#')", ".5"),
        ("FORMAT(0.256, '0.0%')", "25.6%"),
        ("FORMAT(1234567, '0,,.0')", "1.2"),
        ("FORMAT(-5, '0;(0);zero')", "(5)"),
        ("FORMAT(0, '0;(0);zero')", "zero"),
        ("FORMAT(5551234567::bigint, '(###) ###-####')", "(555) 123-4567"),
        ("FORMAT(5, '''n=''0')", "n=5"),
        (
            "FORMAT('2026-01-05 14:03:09.123'::datetime2, 'yyyy-MM-dd HH:mm:ss.fff')",
            "2026-01-05 14:03:09.123",
        ),
        ("FORMAT('2026-01-05 14:03'::datetime, 'd')", "1/5/2026"),
        ("FORMAT('2026-01-05 14:03'::datetime, 'D')", "Monday, January 5, 2026"),
        ("FORMAT('2026-01-05 14:03'::datetime, 'g')", "1/5/2026 2:03 PM"),
        ("FORMAT('2026-01-05 14:03'::datetime, 'd', 'de-DE')", "05.01.2026"),
        ("FORMAT('2026-01-05 14:03'::datetime, 'dddd, d. MMMM', 'de-DE')", "Montag, 5. Januar"),
        ("FORMAT('2026-01-05'::date, 'MMM yy')", "Jan 26"),
        ("FORMAT('2026-01-05 14:03 +02:00'::datetimeoffset, 'HH:mm zzz')", "14:03 +02:00"),
        ("FORMAT('14:03'::time(0), 'hh\\:mm')", "14:03"),
        ("FORMAT('14:03'::time(0), 'hh:mm')", "NULL"),
        ("FORMAT('2026-01-05'::date, 'd', 'xx-YY')", "9818"),
        ("FORMAT('abc', 'N')", "8116"),
    ]);
}

#[test]
fn digests() {
    check_all(&[
        ("HASHBYTES('MD5', 'abc')", "0x900150983CD24FB0D6963F7D28E17F72"),
        ("HASHBYTES('sha1', 'abc')", "0xA9993E364706816ABA3E25717850C26C9CD0D89D"),
        (
            "HASHBYTES('SHA2_256', 'abc')",
            "0xBA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD",
        ),
        ("HASHBYTES('nonsense', 'abc')", "NULL"),
        ("CHECKSUM(5)", "5"),
        ("BINARY_CHECKSUM('abc')", "26435"),
        ("BASE64_ENCODE(0xFBEF)", "++8="),
        ("BASE64_ENCODE(0xFBEF, 1)", "--8"),
        ("BASE64_DECODE('++8=')", "0xFBEF"),
        ("BASE64_DECODE('?')", "9803"),
    ]);
    assert_eq!(shown("CHECKSUM('abc')"), shown("CHECKSUM('ABC ')"));
    assert_ne!(shown("NEWID()"), shown("NEWID()"));
    let (a, b) = (call("NEWSEQUENTIALID()").unwrap().0, call("NEWSEQUENTIALID()").unwrap().0);
    assert!(crate::compare::order(&a, &b, Collation::default()).is_lt());
}

#[test]
fn json() {
    check_all(&[
        (r#"ISJSON('{"a":1}')"#, "1"),
        ("ISJSON('5')", "0"),
        ("ISJSON('5', VALUE)", "1"),
        ("ISJSON('[1,')", "0"),
        ("ISJSON(NULL)", "NULL"),
        (r#"JSON_VALUE('{"a":{"b":[1,"x\ny"]}}', '$.a.b[0]')"#, "1"),
        (r#"JSON_VALUE('{"a":true}', '$.a')"#, "true"),
        (r#"JSON_VALUE('{"a":null}', '$.a')"#, "NULL"),
        (r#"JSON_VALUE('{"a":[]}', '$.a')"#, "NULL"),
        (r#"JSON_VALUE('{"a":[]}', 'strict $.a')"#, "13623"),
        (r#"JSON_VALUE('{"a":[]}', 'strict $.b')"#, "13608"),
        (r#"JSON_VALUE('{"a":[', '$.b')"#, "13609"),
        (r#"JSON_VALUE('{"a":1}', 'b')"#, "13607"),
        (r#"JSON_QUERY('{"a": [1, 2]}', '$.a')"#, "[1, 2]"),
        (r#"JSON_QUERY('{"a": [1, 2]}')"#, r#"{"a": [1, 2]}"#),
        (r#"JSON_QUERY('{"a": 1}', '$.a')"#, "NULL"),
        (r#"JSON_QUERY('{"a": 1}', 'strict $.a')"#, "13624"),
        (r#"JSON_PATH_EXISTS('{"a": 1}', '$.a')"#, "1"),
        (r#"JSON_MODIFY('{"a": 1}', '$.a', 'x')"#, r#"{"a": "x"}"#),
        (r#"JSON_MODIFY('{"a": 1}', '$.b', 2)"#, r#"{"a": 1,"b":2}"#),
        (r#"JSON_MODIFY('{}', '$.b', 2)"#, r#"{"b":2}"#),
        (r#"JSON_MODIFY('{"a": 1, "b": 2}', '$.a', NULL)"#, r#"{"b": 2}"#),
        (r#"JSON_MODIFY('{"a": 1, "b": 2}', '$.b', NULL)"#, r#"{"a": 1}"#),
        (r#"JSON_MODIFY('{"a": [1]}', 'append $.a', 2)"#, r#"{"a": [1,2]}"#),
    ]);
}

#[test]
fn time_zones() {
    check_all(&[
        (
            "AT TIME ZONE('2026-07-01 12:00'::datetime2(0), 'Central European Standard Time')",
            "2026-07-01 12:00:00 +02:00",
        ),
        (
            "AT TIME ZONE('2026-01-01 12:00'::datetime2(0), 'central european standard time')",
            "2026-01-01 12:00:00 +01:00",
        ),
        (
            "AT TIME ZONE('2022-03-27 02:01'::datetime2(0), 'W. Europe Standard Time')",
            "2022-03-27 03:01:00 +02:00",
        ),
        (
            "AT TIME ZONE('2022-10-30 02:00'::datetime2(0), 'W. Europe Standard Time')",
            "2022-10-30 02:00:00 +02:00",
        ),
        (
            "AT TIME ZONE('2022-10-30 03:00'::datetime2(0), 'W. Europe Standard Time')",
            "2022-10-30 03:00:00 +01:00",
        ),
        (
            "AT TIME ZONE('2026-07-01 12:00 +00:00'::datetimeoffset(0), 'Pacific Standard Time')",
            "2026-07-01 05:00:00 -07:00",
        ),
        (
            "AT TIME ZONE('2026-01-15 12:00 +00:00'::datetimeoffset(0), 'AUS Eastern Standard Time')",
            "2026-01-15 23:00:00 +11:00",
        ),
        ("AT TIME ZONE('2026-07-01 12:00'::datetime, 'UTC')", "2026-07-01 12:00:00.000 +00:00"),
        ("AT TIME ZONE('2026-07-01 12:00'::datetime, 'Mars')", "9820"),
    ]);
}

#[test]
fn names_are_unique_and_found() {
    let mut names: Vec<&str> = all().map(|f| f.name).collect();
    names.sort_unstable();
    names.windows(2).for_each(|w| assert_ne!(w[0], w[1]));
    assert!(lookup("substring").is_some());
    assert!(lookup("no_such_function_anywhere_in_this_library").is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Whatever the arguments: a value of the declared type, or an error.
    #[test]
    fn never_panics(
        def in proptest::sample::select(all().collect::<Vec<_>>()),
        args in proptest::collection::vec(
            proptest::sample::select(all_types()).prop_flat_map(|t| (Just(t), prop_oneof![1 => Just(Value::Null), 6 => value_of(t)])),
            0..5,
        ),
        small in proptest::collection::vec(-3i64..9, 5),
        part in proptest::sample::select(vec!["year", "month", "week", "day", "hour", "ms", "ns", "iso_week", "tz"]),
    ) {
        // Half of the arguments are small integers, which most functions want.
        let mut values: Vec<(SqlType, Value)> = args
            .into_iter()
            .enumerate()
            .map(|(i, a)| if small[i] % 2 == 0 { a } else { (SqlType::Int, Value::Int(small[i])) })
            .collect();
        if def.keyword_first {
            values.insert(0, (SqlType::VarChar(Length::Limited(30)), Value::str(part)));
        }
        values.resize(values.len().max(def.min_args), (SqlType::Int, Value::Int(1)));
        let args: Vec<Arg<'_>> = values.iter().map(|(ty, v)| Arg { ty: *ty, constant: Some(v) }).collect();
        let types: Vec<SqlType> = values.iter().map(|v| v.0).collect();
        if let Ok(resolved) = def.resolve(&args, Collation::default())
            && let Ok(casts) = resolved.casts(&types)
        {
            let converted: Result<Vec<Value>> = values
                .iter()
                .zip(casts)
                .map(|((_, v), c)| c.map_or(Ok(v.clone()), |c| c.apply(v)))
                .collect();
            if let Ok(converted) = converted
                && let Ok(result) = resolved.eval(&TestCtx, &converted)
                && !result.is_null()
            {
                let mut bytes = Vec::new();
                crate::column::encode(&result, &resolved.result, &mut bytes);
                let back = crate::column::decode(&bytes, &resolved.result);
                prop_assert_eq!(format!("{:?}", back), format!("{:?}", result), "{} {:?}", def.name, values);
            }
        }
    }
}
