//! Tables and their access paths, in both dialects.

use crate::Dialect;

/// A table.
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns in order, as rows have them.
    pub columns: &'static [&'static str],
    /// The text that makes it.
    create: &'static str,
    /// What [`super::load::Tally`] adds up: an expression that is a whole number.
    pub summed: &'static str,
}

/// All tables; who is referred to comes first.
pub const TABLES: [Table; 8] = [
    Table {
        name: "region",
        columns: &["r_regionkey", "r_name", "r_comment"],
        create: "CREATE TABLE region (r_regionkey int NOT NULL PRIMARY KEY, r_name char(25) NOT NULL, r_comment varchar(152))",
        summed: "r_regionkey",
    },
    Table {
        name: "nation",
        columns: &["n_nationkey", "n_name", "n_regionkey", "n_comment"],
        create: "CREATE TABLE nation (n_nationkey int NOT NULL PRIMARY KEY, n_name char(25) NOT NULL, n_regionkey int NOT NULL, \
                 n_comment varchar(152))",
        summed: "n_regionkey",
    },
    Table {
        name: "supplier",
        columns: &["s_suppkey", "s_name", "s_address", "s_nationkey", "s_phone", "s_acctbal", "s_comment"],
        create: "CREATE TABLE supplier (s_suppkey int NOT NULL PRIMARY KEY, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL, \
                 s_nationkey int NOT NULL, s_phone char(15) NOT NULL, s_acctbal decimal(15,2) NOT NULL, s_comment varchar(101) NOT NULL)",
        summed: "s_acctbal * 100",
    },
    Table {
        name: "customer",
        columns: &[
            "c_custkey",
            "c_name",
            "c_address",
            "c_nationkey",
            "c_phone",
            "c_acctbal",
            "c_mktsegment",
            "c_comment",
        ],
        create: "CREATE TABLE customer (c_custkey int NOT NULL PRIMARY KEY, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL, \
                 c_nationkey int NOT NULL, c_phone char(15) NOT NULL, c_acctbal decimal(15,2) NOT NULL, c_mktsegment char(10) NOT NULL, \
                 c_comment varchar(117) NOT NULL)",
        summed: "c_acctbal * 100",
    },
    Table {
        name: "part",
        columns: &[
            "p_partkey",
            "p_name",
            "p_mfgr",
            "p_brand",
            "p_type",
            "p_size",
            "p_container",
            "p_retailprice",
            "p_comment",
        ],
        create: "CREATE TABLE part (p_partkey int NOT NULL PRIMARY KEY, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL, \
                 p_brand char(10) NOT NULL, p_type varchar(25) NOT NULL, p_size int NOT NULL, p_container char(10) NOT NULL, \
                 p_retailprice decimal(15,2) NOT NULL, p_comment varchar(23) NOT NULL)",
        summed: "p_retailprice * 100",
    },
    Table {
        name: "partsupp",
        columns: &["ps_partkey", "ps_suppkey", "ps_availqty", "ps_supplycost", "ps_comment"],
        create: "CREATE TABLE partsupp (ps_partkey int NOT NULL, ps_suppkey int NOT NULL, ps_availqty int NOT NULL, \
                 ps_supplycost decimal(15,2) NOT NULL, ps_comment varchar(199) NOT NULL, PRIMARY KEY (ps_partkey, ps_suppkey))",
        summed: "ps_supplycost * 100",
    },
    Table {
        name: "orders",
        columns: &[
            "o_orderkey",
            "o_custkey",
            "o_orderstatus",
            "o_totalprice",
            "o_orderdate",
            "o_orderpriority",
            "o_clerk",
            "o_shippriority",
            "o_comment",
        ],
        create: "CREATE TABLE orders (o_orderkey int NOT NULL PRIMARY KEY, o_custkey int NOT NULL, o_orderstatus char(1) NOT NULL, \
                 o_totalprice decimal(15,2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL, \
                 o_clerk char(15) NOT NULL, o_shippriority int NOT NULL, o_comment varchar(79) NOT NULL)",
        summed: "o_totalprice * 100",
    },
    Table {
        name: "lineitem",
        columns: &[
            "l_orderkey",
            "l_partkey",
            "l_suppkey",
            "l_linenumber",
            "l_quantity",
            "l_extendedprice",
            "l_discount",
            "l_tax",
            "l_returnflag",
            "l_linestatus",
            "l_shipdate",
            "l_commitdate",
            "l_receiptdate",
            "l_shipinstruct",
            "l_shipmode",
            "l_comment",
        ],
        create: "CREATE TABLE lineitem (l_orderkey int NOT NULL, l_partkey int NOT NULL, l_suppkey int NOT NULL, l_linenumber int NOT NULL, \
                 l_quantity decimal(15,2) NOT NULL, l_extendedprice decimal(15,2) NOT NULL, l_discount decimal(15,2) NOT NULL, \
                 l_tax decimal(15,2) NOT NULL, l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL, l_shipdate date NOT NULL, \
                 l_commitdate date NOT NULL, l_receiptdate date NOT NULL, l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL, \
                 l_comment varchar(44) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber))",
        summed: "l_extendedprice * 100",
    },
];

/// Drops and creates all tables with their primary keys.
#[must_use]
pub fn tables(dialect: Dialect) -> Vec<String> {
    let mut out: Vec<String> =
        TABLES.iter().rev().map(|table| format!("DROP TABLE IF EXISTS {}", table.name)).collect();
    if dialect == Dialect::TransactSql {
        // Queries do not wait for refreshes, as they do not in the other dialect.
        out.insert(0, "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON".into());
    }
    out.extend(TABLES.iter().map(|table| table.create.to_owned()));
    out
}

/// What comes after the rows: indexes on foreign keys and on the dates of orders, foreign keys, statistics.
#[must_use]
pub fn indexes(dialect: Dialect) -> Vec<String> {
    let mut out: Vec<String> = INDEXES.iter().chain(&REFERENCES).map(ToString::to_string).collect();
    out.extend(TABLES.iter().map(|table| match dialect {
        Dialect::TransactSql => format!("UPDATE STATISTICS {}", table.name),
        Dialect::Postgres => format!("ANALYZE {}", table.name),
    }));
    out
}

const INDEXES: [&str; 4] = [
    "CREATE INDEX orders_customer ON orders (o_custkey)",
    "CREATE INDEX orders_date ON orders (o_orderdate)",
    "CREATE INDEX lineitem_part ON lineitem (l_partkey, l_suppkey)",
    "CREATE INDEX partsupp_supplier ON partsupp (ps_suppkey)",
];

const REFERENCES: [&str; 8] = [
    "ALTER TABLE nation ADD CONSTRAINT nation_region FOREIGN KEY (n_regionkey) REFERENCES region (r_regionkey)",
    "ALTER TABLE supplier ADD CONSTRAINT supplier_nation FOREIGN KEY (s_nationkey) REFERENCES nation (n_nationkey)",
    "ALTER TABLE customer ADD CONSTRAINT customer_nation FOREIGN KEY (c_nationkey) REFERENCES nation (n_nationkey)",
    "ALTER TABLE partsupp ADD CONSTRAINT partsupp_part_key FOREIGN KEY (ps_partkey) REFERENCES part (p_partkey)",
    "ALTER TABLE partsupp ADD CONSTRAINT partsupp_supplier_key FOREIGN KEY (ps_suppkey) REFERENCES supplier (s_suppkey)",
    "ALTER TABLE orders ADD CONSTRAINT orders_customer_key FOREIGN KEY (o_custkey) REFERENCES customer (c_custkey)",
    "ALTER TABLE lineitem ADD CONSTRAINT lineitem_order_key FOREIGN KEY (l_orderkey) REFERENCES orders (o_orderkey)",
    "ALTER TABLE lineitem ADD CONSTRAINT lineitem_partsupp_key FOREIGN KEY (l_partkey, l_suppkey) \
     REFERENCES partsupp (ps_partkey, ps_suppkey)",
];
