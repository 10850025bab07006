//! Whether two streams with the same parameters, or two servers with the same rows, gave the same answer.

use crate::Cell;

/// How far apart two fractions may be and be the same: servers keep different numbers of digits of a quotient.
const FRACTION: f64 = 2e-4;

/// What is different about two answers to one query; `None` when nothing is. The order of rows does not count: where the query
/// leaves it open, it is the server's choice.
#[must_use]
pub fn difference(one: &[Vec<Cell>], other: &[Vec<Cell>]) -> Option<String> {
    if one.len() != other.len() {
        return Some(format!("{} rows and {} rows", one.len(), other.len()));
    }
    let (one, other) = (sorted(one), sorted(other));
    let rows = one.iter().zip(&other);
    rows.filter(|(a, b)| a.len() != b.len() || !a.iter().zip(b.iter()).all(|(a, b)| same(a, b)))
        .map(|(a, b)| format!("{a:?} and {b:?}"))
        .next()
}

fn sorted(rows: &[Vec<Cell>]) -> Vec<&Vec<Cell>> {
    let mut rows: Vec<&Vec<Cell>> = rows.iter().collect();
    // Texts and whole numbers first: fractions that differ in their last digit must not put rows elsewhere.
    rows.sort_by_cached_key(|row| {
        let whole = row.iter().filter(|cell| !matches!(cell, Cell::Decimal(..)));
        let fractions = row.iter().filter(|cell| matches!(cell, Cell::Decimal(..)));
        (
            whole.map(plain).collect::<Vec<_>>(),
            fractions.map(|cell| format!("{:024.3}", value(cell).unwrap_or(0.0))).collect::<Vec<_>>(),
        )
    });
    rows
}

fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Int(n) => format!("{n:020}"),
        Cell::Text(text) => text.trim_end().to_owned(),
        other => format!("{other:?}"),
    }
}

/// A number's value.
fn value(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Int(n) => Some(*n as f64),
        Cell::Decimal(digits, scale) => Some(*digits as f64 / 10_f64.powi((*scale).into())),
        _ => None,
    }
}

fn same(a: &Cell, b: &Cell) -> bool {
    match (value(a), value(b)) {
        (Some(x), Some(y)) => (x - y).abs() <= FRACTION.max(1e-9 * x.abs().max(y.abs())),
        _ => plain(a) == plain(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_padding_and_the_last_digits_do_not_count() {
        let row = |name: &str, digits, scale| vec![Cell::Text(name.into()), Cell::Decimal(digits, scale)];
        let one = [row("PERU  ", 1_234_567, 4), row("IRAN", 5_000, 2)];
        let other = [row("IRAN", 50, 0), row("PERU", 12_345_674_999, 8)];
        assert_eq!(difference(&one, &other), None);
        let wrong = [row("IRAN", 51, 0), row("PERU", 12_345_674_999, 8)];
        assert!(difference(&one, &wrong).is_some_and(|text| text.contains("IRAN")));
        assert_eq!(difference(&one, &one[..1]), Some("2 rows and 1 rows".into()));
    }
}
