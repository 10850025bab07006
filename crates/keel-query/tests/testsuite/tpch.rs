//! The 22 queries of TPC-H in the product's dialect, on a small random database: they run, and give the same rows
//! whichever rewrites are switched off.
#![allow(clippy::unwrap_used)]

use crate::common::Session;
use keel_query::plan::rewrite::Pass;

const TABLES: &str = "
CREATE TABLE region (r_regionkey int NOT NULL PRIMARY KEY, r_name char(25) NULL, r_comment varchar(152) NULL);
CREATE TABLE nation (n_nationkey int NOT NULL PRIMARY KEY, n_name char(25) NULL, n_regionkey int NULL, n_comment varchar(152) NULL);
CREATE TABLE part (p_partkey int NOT NULL PRIMARY KEY, p_type varchar(25) NULL, p_size int NULL, p_brand char(10) NULL, p_name varchar(55) NULL, p_container char(10) NULL, p_mfgr char(25) NULL, p_retailprice money NULL, p_comment varchar(23) NULL);
CREATE TABLE supplier (s_suppkey int NOT NULL PRIMARY KEY, s_nationkey int NULL, s_comment varchar(102) NULL, s_name char(25) NULL, s_address varchar(40) NULL, s_phone char(15) NULL, s_acctbal money NULL);
CREATE TABLE partsupp (ps_partkey int NOT NULL, ps_suppkey int NOT NULL, ps_supplycost money NOT NULL, ps_availqty int NULL, ps_comment varchar(199) NULL, PRIMARY KEY (ps_partkey, ps_suppkey));
CREATE TABLE customer (c_custkey int NOT NULL PRIMARY KEY, c_mktsegment char(10) NULL, c_nationkey int NULL, c_name varchar(25) NULL, c_address varchar(40) NULL, c_phone char(15) NULL, c_acctbal money NULL, c_comment varchar(118) NULL);
CREATE TABLE orders (o_orderdate date NULL, o_orderkey int NOT NULL, o_custkey int NOT NULL, o_orderpriority char(15) NULL, o_shippriority int NULL, o_clerk char(15) NULL, o_orderstatus char(1) NULL, o_totalprice money NULL, o_comment varchar(79) NULL, PRIMARY KEY (o_orderkey));
CREATE TABLE lineitem (l_shipdate date NULL, l_orderkey int NOT NULL, l_discount money NOT NULL, l_extendedprice money NOT NULL, l_suppkey int NOT NULL, l_quantity int NOT NULL, l_returnflag char(1) NULL, l_partkey int NOT NULL, l_linestatus char(1) NULL, l_tax money NOT NULL, l_commitdate date NULL, l_receiptdate date NULL, l_shipmode char(10) NULL, l_linenumber int NOT NULL, l_shipinstruct char(25) NULL, l_comment varchar(44) NULL, PRIMARY KEY (l_orderkey, l_linenumber));
CREATE INDEX o_custkey_ind ON orders (o_custkey, o_orderkey);
";

struct Rng(u64);

impl Rng {
    fn next(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.next(list.len() as u64) as usize]
    }
    fn date(&mut self) -> String {
        format!("199{}-{:02}-{:02}", 2 + self.next(7), 1 + self.next(12), 1 + self.next(28))
    }
}

fn fill(s: &Session) {
    let r = &mut Rng(7);
    let regions = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];
    let nations = [
        "FRANCE",
        "GERMANY",
        "BRAZIL",
        "CANADA",
        "SAUDI ARABIA",
        "JAPAN",
        "CHINA",
        "INDIA",
        "EGYPT",
        "KENYA",
    ];
    for (i, n) in regions.iter().enumerate() {
        s.ok(&format!("INSERT region VALUES ({i}, '{n}', '')"));
    }
    for (i, n) in nations.iter().enumerate() {
        s.ok(&format!("INSERT nation VALUES ({i}, '{n}', {}, '')", [3, 3, 1, 1, 4, 2, 2, 2, 0, 0][i]));
    }
    let insert = |table: &str, rows: Vec<String>| {
        for chunk in rows.chunks(100) {
            s.ok(&format!("INSERT {table} VALUES {}", chunk.join(", ")));
        }
    };
    let types =
        ["ECONOMY ANODIZED STEEL", "PROMO BRUSHED BRASS", "MEDIUM POLISHED TIN", "SMALL PLATED BRASS"];
    let part = |r: &mut Rng, i: u64| {
        format!(
            "({i}, '{}', {}, 'Brand#{}', '{} thing', '{}', 'm', {}, '')",
            r.pick(&types),
            1 + r.next(50),
            r.pick(&["12", "23", "45"]),
            r.pick(&["forest", "green", "red"]),
            r.pick(&["MED BOX", "SM CASE", "LG PKG"]),
            900 + r.next(100)
        )
    };
    insert("part", (1..=60).map(|i| part(r, i)).collect());
    let supplier = |r: &mut Rng, i: u64| {
        let c = if r.next(8) == 0 { "slow Customer many Complaints" } else { "fine" };
        format!("({i}, {}, '{c}', 'Supplier{i}', 'addr', '1{i}', {})", r.next(10), r.next(10_000))
    };
    insert("supplier", (1..=15).map(|i| supplier(r, i)).collect());
    let mut ps = Vec::new();
    for p in 1..=60u64 {
        for k in 0..3u64 {
            ps.push(format!(
                "({p}, {}, {}, {}, '')",
                (p * 3 + k * 5) % 15 + 1,
                1 + r.next(1000),
                r.next(10_000)
            ));
        }
    }
    insert("partsupp", ps);
    let customer = |r: &mut Rng, i: u64| {
        let seg = r.pick(&["BUILDING", "MACHINERY"]);
        format!(
            "({i}, '{seg}', {}, 'Customer{i}', 'a', '{}-{i}', {}, 'c')",
            r.next(10),
            10 + r.next(30),
            r.next(9000) as i64 - 500
        )
    };
    insert("customer", (1..=40).map(|i| customer(r, i)).collect());
    let (mut orders, mut lines) = (Vec::new(), Vec::new());
    for o in 1..=150u64 {
        let date = r.date();
        let comment = if r.next(6) == 0 { "special packages requests" } else { "plain" };
        orders.push(format!(
            "('{date}', {o}, {}, '{}', 0, 'clerk', '{}', {}, '{comment}')",
            1 + r.next(30),
            r.pick(&["1-URGENT", "2-HIGH", "5-LOW"]),
            r.pick(&["F", "O", "P"]),
            1000 + r.next(400_000)
        ));
        for l in 1..=1 + r.next(6) {
            let p = 1 + r.next(60);
            let supp = (p * 3 + r.next(3) * 5) % 15 + 1;
            lines.push(format!(
                "('{}', {o}, 0.0{}, {}, {supp}, {}, '{}', {p}, '{}', 0.0{}, '{}', '{}', '{}', {l}, '{}', '')",
                r.date(),
                r.next(10),
                100 + r.next(90_000),
                1 + r.next(50),
                r.pick(&["R", "A", "N"]),
                r.pick(&["O", "F"]),
                r.next(8),
                r.date(),
                r.date(),
                r.pick(&["MAIL", "SHIP", "AIR", "AIR REG"]),
                r.pick(&["DELIVER IN PERSON", "NONE"])
            ));
        }
    }
    insert("orders", orders);
    insert("lineitem", lines);
}

fn queries() -> Vec<String> {
    include_str!("../scripts/tpch.sql")
        .split("\nGO\n")
        .map(|q| q.trim().to_owned())
        .filter(|q| !q.is_empty())
        .collect()
}

fn sorted(transcript: &str) -> String {
    let mut lines: Vec<&str> = transcript.lines().filter(|l| !l.starts_with("message")).collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[test]
fn rewrites_do_not_change_results() {
    let mut session = Session::new();
    session.ok(TABLES);
    fill(&session);
    let queries = queries();
    assert_eq!(queries.len(), 22);
    let mut plain = Vec::new();
    for q in &queries {
        plain.push(sorted(&session.ok(q)));
    }
    for pass in Pass::ALL {
        session.disabled = vec![pass];
        for (i, q) in queries.iter().enumerate() {
            // Without pushed predicates these two compare everything with everything.
            if pass == Pass::PushPredicates && [18, 21].contains(&(i + 1)) {
                continue;
            }
            assert_eq!(sorted(&session.ok(q)), plain[i], "Q{} without {}", i + 1, pass.name());
        }
    }
}
