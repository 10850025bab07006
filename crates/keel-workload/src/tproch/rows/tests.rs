//! The specification's rules, looked for in the rows.

use super::*;
use std::collections::{HashMap, HashSet};

const SCALE: Scale = Scale { factor: 0.05 };
const SEED: u64 = 3;

fn int(cell: &Cell) -> i64 {
    match cell {
        Cell::Int(n) | Cell::Decimal(n, _) => *n,
        Cell::Date(day) => i64::from(*day),
        other => panic!("{other:?} is no number"),
    }
}

fn word(cell: &Cell) -> &str {
    match cell {
        Cell::Text(text) => text,
        other => panic!("{other:?} is no text"),
    }
}

fn orders() -> impl Iterator<Item = Order> {
    (1..=SCALE.orders() / 10).map(|number| order(SCALE, SEED, number, 0))
}

#[test]
fn a_row_depends_on_seed_table_and_key_alone() {
    assert_eq!(customer(SEED, 77), customer(SEED, 77));
    assert_ne!(customer(SEED, 77)[1..], customer(SEED, 78)[1..]);
    assert_ne!(customer(SEED, 77), customer(SEED + 1, 77));
    assert_eq!(order(SCALE, SEED, 9, 0).lines, order(SCALE, SEED, 9, 0).lines);
    assert_ne!(
        order(SCALE, SEED, 9, 0).lines,
        order(SCALE, SEED, 9, 1).lines,
        "a refresh's orders are others"
    );
}

#[test]
fn a_part_has_four_suppliers_at_every_scale() {
    for factor in [0.001, 0.01, 0.02, 0.024, 0.05, 0.1, 1.0] {
        let scale = Scale { factor };
        for part in (1..=scale.parts()).step_by(7) {
            let four: HashSet<i64> = (0..4).map(|nth| supplier_of(scale, part, nth)).collect();
            assert!(
                four.len() == 4 && four.iter().all(|s| (1..=scale.suppliers()).contains(s)),
                "part {part} at {factor}: {four:?}"
            );
        }
    }
    // The specification's formula, where it holds.
    let (one, s) = (Scale { factor: 1.0 }, 10_000);
    assert_eq!(supplier_of(one, 123_456, 3), (123_456 + 3 * (s / 4 + 123_455 / s)) % s + 1);
}

#[test]
fn an_order_and_its_lines_agree() {
    let mut counts = [0; 7];
    for order in orders() {
        counts[order.lines.len() - 1] += 1;
        let ordered = int(&order.row[4]);
        assert!((i64::from(FIRST_DAY)..=i64::from(LAST_DAY - DAYS_BEFORE_END)).contains(&ordered));
        assert_ne!(int(&order.row[1]) % 3, 0, "a third of the customers have none");
        let (mut open, mut total) = (0, 0);
        for (line, number) in order.lines.iter().zip(1..) {
            assert_eq!((&line[0], int(&line[3])), (&order.row[0], number));
            let [part, supplier] = [&line[1], &line[2]].map(int);
            assert!((0..4).any(|nth| supplier_of(SCALE, part, nth) == supplier));
            let [quantity, extended, discount, tax] = [&line[4], &line[5], &line[6], &line[7]].map(int);
            assert_eq!(extended, quantity / 100 * retail_price(part));
            total += extended * (100 - discount) / 100 * (100 + tax) / 100;
            let [shipped, committed, received] = [&line[10], &line[11], &line[12]].map(int);
            assert!((1..=121).contains(&(shipped - ordered)) && (30..=90).contains(&(committed - ordered)));
            assert!((1..=30).contains(&(received - shipped)) && received <= i64::from(LAST_DAY));
            let (returned, status) = (word(&line[8]), word(&line[9]));
            assert_eq!(returned == "N", received > i64::from(CURRENT_DAY));
            assert_eq!(status == "O", shipped > i64::from(CURRENT_DAY));
            open += usize::from(status == "O");
        }
        assert_eq!((int(&order.row[3]), order.total), (total, total));
        let status = if open == 0 {
            "F"
        } else if open == order.lines.len() {
            "O"
        } else {
            "P"
        };
        assert_eq!(word(&order.row[2]), status);
    }
    let all: i32 = counts.iter().sum();
    assert!(counts.iter().all(|n| (f64::from(*n) / f64::from(all) - 1.0 / 7.0).abs() < 0.02), "{counts:?}");
}

#[test]
fn keys_of_orders_are_eight_of_each_32() {
    let keys: Vec<i64> = (1..=17).map(|number| order_key(number, 0)).collect();
    assert_eq!(keys, [1, 2, 3, 4, 5, 6, 7, 8, 33, 34, 35, 36, 37, 38, 39, 40, 65]);
    assert_eq!((order_key(1, 1), order_key(9, 1)), (9, 41));
}

#[test]
fn prices_are_the_specifications() {
    assert_eq!([1, 10, 1_000, 200_000].map(retail_price), [90_100, 91_001, 90_100, 110_000]);
}

#[test]
fn columns_are_spread_evenly_over_their_words() {
    let mut seen: HashMap<(usize, String), u32> = HashMap::new();
    let parts = 9_200;
    for key in 1..=parts {
        let row = part(SEED, key);
        let first = word(&row[1]).split(' ').next().unwrap().to_owned();
        let names: HashSet<&str> = word(&row[1]).split(' ').collect();
        assert_eq!(names.len(), 5, "five different words");
        assert_eq!(word(&row[3])[6..7], word(&row[2])[13..], "a brand is of its manufacturer");
        for (column, value) in [(1, first), (3, word(&row[3]).into()), (4, word(&row[4]).into())] {
            *seen.entry((column, value)).or_default() += 1;
        }
    }
    for (column, words) in [(1, 92), (3, 25), (4, 150)] {
        let counts: Vec<u32> = seen.iter().filter(|((c, _), _)| *c == column).map(|(_, n)| *n).collect();
        assert_eq!(counts.len(), words, "column {column}");
        let mean = parts as f64 / words as f64;
        assert!(
            counts.iter().all(|n| (f64::from(*n) / mean - 1.0).abs() < 0.6),
            "column {column}: {counts:?}"
        );
    }
}

#[test]
fn what_queries_look_for_in_comments_is_there_about_as_often_as_it_should() {
    let has = |text: &str, first: &str, then: &str| {
        text.find(first).is_some_and(|at| text[at + first.len()..].contains(then))
    };
    let comments: Vec<String> = orders().map(|order| word(&order.row[8]).to_owned()).collect();
    let found = comments.iter().filter(|comment| has(comment, "special", "requests")).count();
    let share = found as f64 / comments.len() as f64;
    assert!((0.004..0.03).contains(&share), "{share}");
    let two = Scale { factor: 0.4 };
    let complaints = (1..=two.suppliers())
        .filter(|key| has(word(&supplier(two, SEED, *key)[6]), "Customer", "Complaints"))
        .count();
    assert_eq!(complaints, 2, "five of ten thousand suppliers");
}

#[test]
fn lengths_fit_their_columns() {
    for key in 1..=500 {
        let lengths = |row: Vec<Cell>, most: &[usize]| {
            let texts =
                row.iter().filter_map(|cell| if let Cell::Text(t) = cell { Some(t.len()) } else { None });
            assert!(texts.zip(most).all(|(length, most)| length <= *most));
        };
        lengths(supplier(SCALE, SEED, key), &[25, 40, 15, 101]);
        lengths(customer(SEED, key), &[25, 40, 15, 10, 117]);
        lengths(part(SEED, key), &[55, 25, 10, 25, 10, 23]);
    }
}
