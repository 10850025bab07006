//! Deep nesting is refused, never fatal.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use keel_parser::{ParseOptions, parse_batch};

#[test]
fn deep_nesting_is_refused_within_the_stack_of_a_session() {
    let deep = [
        format!("select {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("select 1 where {}1=1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("select {}1", "- ".repeat(100_000)),
        format!("select {}1", "~".repeat(100_000)),
        format!("select 1 where {} 1=1", "not ".repeat(100_000)),
        format!("select {}", "1+".repeat(100_000) + "1"),
        format!("select * from {}t{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("select * from {}select 1 a{}", "(".repeat(100_000), ") x".repeat(100_000)),
        format!("{} select 1 {}", "begin ".repeat(100_000), "end ".repeat(100_000)),
        format!("{} select 1", "if 1=1 ".repeat(100_000)),
        format!("select 1 {}", "if 1=1 select 1 else ".repeat(100_000)),
        format!("select {} 1 {}", "case when 1=1 then ".repeat(100_000), " end".repeat(100_000)),
        format!("select {}1{}", "f(".repeat(100_000), ")".repeat(100_000)),
        format!("select 1 where {} 1=1 {}", "exists (select 1 where ".repeat(100_000), ")".repeat(100_000)),
        format!("select 1 {}", "union select 1 union all select 1 ".repeat(100_000)),
        format!("select * from t {}", "cross join t ".repeat(100_000)),
        format!("select * from t {}", ", t ".repeat(100_000)),
        format!("select a {}", "at time zone b ".repeat(100_000)),
        format!("select * from {}", "a join ".repeat(100_000)),
        format!("backup database d to disk='x' with a = {}", "(b = ".repeat(100_000)),
        format!("{}select 1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("create table t (a int default {}1{})", "(".repeat(100_000), ")".repeat(100_000)),
    ];
    let run = move || {
        for text in &deep {
            let error = parse_batch(text, ParseOptions::default()).expect_err(&text[..40]);
            assert_eq!(error.number, 191, "{}", &text[..40]);
        }
    };
    std::thread::Builder::new().stack_size(8 << 20).spawn(run).unwrap().join().unwrap();
}
