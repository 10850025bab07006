//! Columns, parameters and types as the catalog procedures of drivers describe them.
//!
//! [`Odbc`] says what a type is in ODBC's terms; the three `spt_…_view`s are what `sp_columns`, `sp_sproc_columns`,
//! `sp_special_columns` and `sp_datatype_info` select from, each in the version the driver asks for.

use super::{
    BIG, BIT, Column, INT, NAME, NULL, SMALL, SystemView, TEXT, TINY, ViewContext, bit, facts, int, text,
};
use keel_query::catalog::{Catalog as _, ColumnDef, ModuleKind};
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

const REMARKS: SqlType = SqlType::VarChar(Length::Limited(254));
const YES_NO: SqlType = SqlType::VarChar(Length::Limited(254));

/// The columns that describe a type, in every view here.
const COLUMN: &[Column] = &[
    ("OBJECT_ID", INT),
    ("TABLE_OWNER", NAME),
    ("TABLE_NAME", NAME),
    ("COLUMN_NAME", NAME),
    ("DATA_TYPE", SMALL),
    ("DATA_TYPE_2", SMALL),
    ("TYPE_NAME", NAME),
    ("PRECISION", INT),
    ("LENGTH", INT),
    ("SCALE", SMALL),
    ("RADIX", SMALL),
    ("NULLABLE", SMALL),
    ("REMARKS", REMARKS),
    ("COLUMN_DEF", SqlType::NVarChar(Length::Limited(4000))),
    ("SQL_DATA_TYPE", SMALL),
    ("SQL_DATETIME_SUB", SMALL),
    ("CHAR_OCTET_LENGTH", INT),
    ("ORDINAL_POSITION", INT),
    ("IS_NULLABLE", YES_NO),
    ("SS_IS_COMPUTED", SMALL),
    ("SS_IS_IDENTITY", SMALL),
    ("SS_DATA_TYPE", TINY),
    ("COLUMN_TYPE", SMALL),
];

const TYPE: &[Column] = &[
    ("TYPE_NAME", NAME),
    ("DATA_TYPE", SMALL),
    ("DATA_TYPE_2", SMALL),
    ("PRECISION", INT),
    ("LITERAL_PREFIX", SqlType::VarChar(Length::Limited(32))),
    ("LITERAL_SUFFIX", SqlType::VarChar(Length::Limited(32))),
    ("CREATE_PARAMS", SqlType::VarChar(Length::Limited(32))),
    ("NULLABLE", SMALL),
    ("CASE_SENSITIVE", SMALL),
    ("SEARCHABLE", SMALL),
    ("UNSIGNED_ATTRIBUTE", SMALL),
    ("MONEY", SMALL),
    ("AUTO_INCREMENT", SMALL),
    ("LOCAL_TYPE_NAME", NAME),
    ("MINIMUM_SCALE", SMALL),
    ("MAXIMUM_SCALE", SMALL),
    ("SQL_DATA_TYPE", SMALL),
    ("SQL_DATETIME_SUB", SMALL),
    ("NUM_PREC_RADIX", INT),
    ("INTERVAL_PRECISION", SMALL),
    ("USERTYPE", SMALL),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "spt_columns_odbc_view", columns: COLUMN, rows: columns },
    SystemView {
        schema: "sys",
        name: "spt_table_type_columns_odbc_view",
        columns: COLUMN,
        rows: table_type_columns,
    },
    SystemView { schema: "sys", name: "spt_parameters_odbc_view", columns: COLUMN, rows: parameters },
    SystemView { schema: "sys", name: "spt_datatype_info_view", columns: TYPE, rows: types },
    SystemView {
        schema: "sys",
        name: "spt_index_space_view",
        columns: &[
            ("object_id", INT),
            ("index_id", INT),
            ("name", NAME),
            ("rows", BIG),
            ("reserved_kb", BIG),
            ("data_kb", BIG),
            ("is_base", BIT),
            ("definition", TEXT),
        ],
        rows: space,
    },
];

/// A type in ODBC's terms.
struct Odbc {
    /// ODBC 3 type code.
    code: i64,
    /// What a driver that asked for ODBC 2 gets.
    code_2: i64,
    precision: i64,
    length: i64,
    scale: Option<i64>,
    radix: Option<i64>,
    /// `SQL_DATETIME_SUB`
    datetime: Option<i64>,
    octets: Option<i64>,
}

fn describe(ty: SqlType) -> Odbc {
    use SqlType as T;
    let f = facts(ty);
    let bytes = i64::from(f.max_length);
    let sized = i64::from(f.characters.unwrap_or(0)).max(0);
    let number = |code, precision: i64, length, scale, radix| Odbc {
        code,
        code_2: code,
        precision,
        length,
        scale,
        radix,
        datetime: None,
        octets: None,
    };
    let string = |code, unit: i64| Odbc {
        octets: Some(sized * unit),
        ..number(code, sized, sized * unit, None, None)
    };
    let large = |code, precision, octets| Odbc {
        octets: Some(octets),
        ..number(code, precision, octets, None, None)
    };
    let moment = |code, code_2, base: i64, length, scale: u8, sub| {
        let precision = base + if scale > 0 { i64::from(scale) + 1 } else { 0 };
        Odbc { code_2, datetime: sub, ..number(code, precision, length, Some(scale.into()), None) }
    };
    match ty {
        T::Bit => number(-7, 1, 1, None, None),
        T::TinyInt => number(-6, 3, 1, Some(0), Some(10)),
        T::SmallInt => number(5, 5, 2, Some(0), Some(10)),
        T::Int | T::Null => number(4, 10, 4, Some(0), Some(10)),
        T::BigInt => number(-5, 19, 8, Some(0), Some(10)),
        T::Decimal { precision, scale } => {
            number(3, precision.into(), i64::from(precision) + 2, Some(scale.into()), Some(10))
        }
        T::Numeric { precision, scale } => {
            number(2, precision.into(), i64::from(precision) + 2, Some(scale.into()), Some(10))
        }
        T::Money => number(3, 19, 21, Some(4), Some(10)),
        T::SmallMoney => number(3, 10, 12, Some(4), Some(10)),
        T::Real => number(7, 24, 4, None, Some(2)),
        T::Float => number(6, 53, 8, None, Some(2)),
        T::Date => Odbc { scale: None, ..moment(91, -9, 10, 6, 0, Some(1)) },
        T::Time(s) => moment(-154, -9, 8, 12, s, Some(0)),
        T::DateTime => moment(93, 11, 19, 16, 3, Some(3)),
        T::SmallDateTime => moment(93, 11, 16, 16, 0, Some(3)),
        T::DateTime2(s) => moment(93, -9, 19, 16, s, Some(3)),
        T::DateTimeOffset(s) => moment(-155, -9, 26, 20, s, Some(0)),
        T::Char(_) => string(1, 1),
        T::VarChar(_) => string(12, 1),
        T::NChar(_) => string(-8, 2),
        T::NVarChar(_) => string(-9, 2),
        T::Text => large(-1, i64::from(i32::MAX), i64::from(i32::MAX)),
        T::NText => large(-10, 1_073_741_823, 2_147_483_646),
        T::Binary(_) => string(-2, 1),
        T::VarBinary(_) => string(-3, 1),
        T::Image => large(-4, i64::from(i32::MAX), i64::from(i32::MAX)),
        T::UniqueIdentifier => number(-11, 36, bytes, None, None),
        T::RowVersion => Odbc { octets: Some(8), ..number(-2, 8, 8, None, None) },
        T::SqlVariant => number(-150, 8000, 8000, Some(0), Some(10)),
        T::Xml | T::TypedXml(_) => large(-152, 0, 0),
        T::HierarchyId => large(-151, 892, 892),
        T::Geometry | T::Geography => large(-151, 0, 0),
        T::Encrypted(e) => describe(e.scheme().plain),
    }
}

/// `SS_DATA_TYPE`: the type code of the old client library.
fn old_code(ty: SqlType, nullable: bool) -> i64 {
    use SqlType as T;
    let either = |null, not_null| if nullable { null } else { not_null };
    match ty {
        T::Bit => 50,
        T::TinyInt => either(38, 48),
        T::SmallInt => either(38, 52),
        T::Int | T::Null => either(38, 56),
        T::BigInt => either(108, 63),
        T::Decimal { .. } => 106,
        T::Numeric { .. } => 108,
        T::Money => either(110, 60),
        T::SmallMoney => either(110, 122),
        T::Real => either(109, 59),
        T::Float => either(109, 62),
        T::DateTime => either(111, 61),
        T::SmallDateTime => either(111, 58),
        T::Char(_) | T::NChar(_) => either(39, 47),
        T::VarChar(_) | T::NVarChar(_) | T::SqlVariant => 39,
        T::Text | T::NText => 35,
        T::Binary(_) | T::RowVersion => either(37, 45),
        T::VarBinary(_) | T::UniqueIdentifier => 37,
        T::Image => 34,
        T::HierarchyId | T::Geometry | T::Geography => 23,
        T::Date | T::Time(_) | T::DateTime2(_) | T::DateTimeOffset(_) | T::Xml | T::TypedXml(_) => 0,
        T::Encrypted(e) => old_code(e.scheme().plain, nullable),
    }
}

fn optional(n: Option<i64>) -> Value {
    n.map_or(NULL, int)
}

/// What a row is about, beside its type.
struct Subject<'a> {
    id: i32,
    owner: &'a str,
    table: &'a str,
    name: &'a str,
    type_name: String,
    nullable: bool,
    default: Option<&'a str>,
    ordinal: i64,
    computed: bool,
    identity: bool,
    /// `COLUMN_TYPE`: 1 input, 2 input and output, 5 return value.
    direction: i64,
}

fn row(s: &Subject<'_>, ty: SqlType) -> Vec<Value> {
    let o = describe(ty);
    let mut row = vec![int(s.id), text(s.owner), text(s.table), text(s.name), int(o.code), int(o.code_2)];
    row.extend([
        text(s.type_name.as_str()),
        int(o.precision),
        int(o.length),
        optional(o.scale),
        optional(o.radix),
    ]);
    row.extend([int(i64::from(s.nullable)), NULL, s.default.map_or(NULL, text)]);
    row.extend([int(if o.datetime.is_some_and(|sub| sub > 0) { 9 } else { o.code }), optional(o.datetime)]);
    row.extend([optional(o.octets), int(s.ordinal), text(if s.nullable { "YES" } else { "NO" })]);
    row.extend([int(i64::from(s.computed)), int(i64::from(s.identity)), int(old_code(ty, s.nullable))]);
    row.push(int(s.direction));
    row
}

/// The type that a column was declared with.
fn type_name(cx: &ViewContext<'_>, c: &ColumnDef) -> String {
    let alias = c.alias.and_then(|id| cx.picture.type_by_id(id));
    let name = alias.map_or_else(|| c.ty.plain().name(), |t| &t.name);
    match (c.identity.is_some(), c.ty) {
        (false, _) => name.to_owned(),
        (true, SqlType::Decimal { .. } | SqlType::Numeric { .. }) => format!("{name}() identity"),
        (true, _) => format!("{name} identity"),
    }
}

/// A table's, view's or table type's columns.
fn add_columns(
    cx: &ViewContext<'_>,
    (id, schema_id): (i32, i32),
    table: &str,
    columns: &[ColumnDef],
    rows: &mut Rows,
) {
    let owner = cx.picture.schema_name(schema_id).unwrap_or_default();
    rows.extend(columns.iter().enumerate().map(|(i, c)| {
        let subject = Subject {
            id,
            owner: &owner,
            table,
            name: &c.name,
            type_name: type_name(cx, c),
            nullable: c.nullable,
            default: c.default.as_ref().map(|d| d.text.as_str()),
            ordinal: i as i64 + 1,
            computed: c.computed.is_some(),
            identity: c.identity.is_some(),
            direction: 0,
        };
        row(&subject, c.ty)
    }));
}

fn columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in super::columns::tables(cx) {
        add_columns(cx, (t.object_id, t.schema_id), &t.name, &t.columns, &mut rows);
    }
    for (id, columns) in super::modules::view_columns(cx) {
        if let Some(m) = cx.picture.modules().find(|m| m.object_id == id) {
            add_columns(cx, (id, m.schema_id), &m.name, &columns, &mut rows);
        }
    }
    rows
}

fn table_type_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in cx.picture.types() {
        if let Some(table) = &t.table {
            add_columns(cx, (table.object_id, t.schema_id), &t.name, &table.columns, &mut rows);
        }
    }
    rows
}

fn parameters(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for m in cx.picture.modules().filter(|m| !matches!(m.kind, ModuleKind::View | ModuleKind::Trigger)) {
        let Some(program) = super::modules::program(cx, m) else { continue };
        let owner = cx.picture.schema_name(m.schema_id).unwrap_or_default();
        let subject = |name, ordinal, direction, ty: SqlType| Subject {
            id: m.object_id,
            owner: &owner,
            table: &m.name,
            name,
            type_name: ty.plain().name().to_owned(),
            nullable: direction != 5,
            default: None,
            ordinal,
            computed: false,
            identity: false,
            direction,
        };
        let returns = program.returns.unwrap_or(SqlType::Int);
        rows.push(row(&subject("@RETURN_VALUE", 0, 5, returns), returns));
        for (i, p) in program.parameters.iter().enumerate() {
            let direction = if p.output { 2 } else { 1 };
            rows.push(row(&subject(&p.name, i as i64 + 1, direction, p.ty), p.ty));
        }
    }
    rows
}

/// What `sp_datatype_info` says of a type beside [`describe`]: quotes, parameters, and whether it compares.
fn types(_: &ViewContext<'_>) -> Rows {
    use SqlType as T;
    let max = Length::Limited(8000);
    let all = [
        (T::Bit, "", ""),
        (T::TinyInt, "", ""),
        (T::SmallInt, "", ""),
        (T::Int, "", ""),
        (T::BigInt, "", ""),
        (T::Decimal { precision: 38, scale: 38 }, "", "precision,scale"),
        (T::Numeric { precision: 38, scale: 38 }, "", "precision,scale"),
        (T::Money, "$", ""),
        (T::SmallMoney, "$", ""),
        (T::Real, "", ""),
        (T::Float, "", ""),
        (T::Date, "'", ""),
        (T::Time(7), "'", "scale"),
        (T::DateTime, "'", ""),
        (T::SmallDateTime, "'", ""),
        (T::DateTime2(7), "'", "scale"),
        (T::DateTimeOffset(7), "'", "scale"),
        (T::Char(8000), "'", "length"),
        (T::VarChar(max), "'", "max length"),
        (T::NChar(4000), "N'", "length"),
        (T::NVarChar(Length::Limited(4000)), "N'", "max length"),
        (T::Text, "'", ""),
        (T::NText, "N'", ""),
        (T::Binary(8000), "0x", "length"),
        (T::VarBinary(max), "0x", "max length"),
        (T::Image, "0x", ""),
        (T::UniqueIdentifier, "'", ""),
        (T::RowVersion, "0x", ""),
        (T::SqlVariant, "", ""),
        (T::Xml, "N'", ""),
    ];
    let mut rows: Rows =
        all.into_iter().map(|(ty, prefix, parameters)| type_row(ty, prefix, parameters)).collect();
    rows.extend([T::TinyInt, T::SmallInt, T::Int, T::BigInt].map(|ty| identity_row(ty, "identity", "")));
    let exact = [T::Decimal { precision: 38, scale: 0 }, T::Numeric { precision: 38, scale: 0 }];
    rows.extend(exact.map(|ty| identity_row(ty, "() identity", "precision")));
    rows.push(sysname_row());
    rows.sort_by_key(|r| (r[1].as_int(), r[0].as_str().map(str::to_owned)));
    rows
}

fn type_row(ty: SqlType, prefix: &str, parameters: &str) -> Vec<Value> {
    let (o, f) = (describe(ty), facts(ty));
    let or_null = |s: &str| if s.is_empty() { NULL } else { text(s) };
    let suffix = if prefix.ends_with('\'') { "'" } else { "" };
    let exact = matches!(ty, SqlType::Decimal { .. } | SqlType::Numeric { .. });
    let numeric = o.radix.is_some() && !matches!(ty, SqlType::SqlVariant);
    let large =
        matches!(ty, SqlType::Text | SqlType::NText | SqlType::Image | SqlType::Xml | SqlType::TypedXml(_));
    let whole = matches!(ty, SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt);
    let money = matches!(ty, SqlType::Money | SqlType::SmallMoney);
    let searchable = if large {
        1
    } else if f.is_text {
        3
    } else {
        2
    };
    let flag = |applies: bool, yes: bool| if applies { int(i64::from(yes)) } else { NULL };
    let scale = if exact { Some((0, 38)) } else { o.scale.map(|s| (s, s)) };
    let mut row = vec![text(ty.name()), int(o.code), int(o.code_2), int(o.precision)];
    row.extend([
        or_null(prefix),
        or_null(suffix),
        or_null(parameters),
        int(i64::from(ty != SqlType::RowVersion)),
    ]);
    row.extend([int(0), int(searchable), flag(numeric, ty == SqlType::TinyInt), int(i64::from(money))]);
    row.extend([flag(numeric, false), text(ty.name())]);
    row.extend([optional(scale.map(|s| s.0)), optional(scale.map(|s| s.1))]);
    row.extend([int(if o.datetime.is_some_and(|sub| sub > 0) { 9 } else { o.code }), optional(o.datetime)]);
    row.extend([if whole || exact || money { int(10) } else { optional(o.radix) }, NULL, int(0)]);
    row
}

/// A type of identity columns.
fn identity_row(ty: SqlType, suffix: &str, parameters: &str) -> Vec<Value> {
    let mut row = type_row(ty, "", parameters);
    let blank = if suffix.starts_with('(') { "" } else { " " };
    let name = format!("{}{blank}{suffix}", ty.name());
    // NULLABLE, AUTO_INCREMENT, and the scale, which is none.
    (row[7], row[12]) = (int(0), int(1));
    (row[14], row[15]) = (int(0), int(0));
    (row[0], row[13]) = (text(name.clone()), text(name));
    row
}

/// The type of names.
fn sysname_row() -> Vec<Value> {
    const USER_TYPE: i64 = 18;
    let mut row = type_row(SqlType::SYSNAME, "N'", "");
    (row[0], row[13]) = (text("sysname"), text("sysname"));
    (row[7], row[20]) = (int(0), int(USER_TYPE));
    row
}

/// Rows and pages of every heap and index.
fn space(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    let root = cx.entry.store.store().base().root();
    for t in super::columns::stored(cx) {
        let count = cx.row_count(&t);
        for i in &t.indexes {
            let pages = cx.leaf_pages(&root, i.tree);
            let kb = (pages * keel_store::base::PAGE_SIZE as u64 / 1024) as i64;
            let base = i.kind != keel_query::catalog::IndexKind::Nonclustered;
            let mut row = vec![int(t.object_id), int(i.index_id), text(i.name.as_str()), int(count)];
            row.extend([int(kb), int(kb), bit(base), i.filter.as_deref().map_or(NULL, text)]);
            rows.push(row);
        }
    }
    rows
}
