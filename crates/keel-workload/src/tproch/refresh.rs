//! The two refresh functions (sections 2.5 and 2.6): a thousandth of the orders is inserted, and as many are deleted, each lot in
//! transactions of a few orders with their lines.

use super::load::{LINEITEM, ORDERS, Sum, Tally};
use super::rows::{Order, order, order_key};
use super::schema::TABLES;
use super::{Scale, rows};
use crate::{CallError, Cell, Connection, Dialect};

/// Orders of a transaction.
const ORDERS_AT_ONCE: i64 = 50;

/// Pairs of refreshes that a population has orders for.
pub const PAIRS_MAX: i64 = 1_000;

/// One pair of refreshes, by number from 0: what it inserts nobody else does, nor what it deletes.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The population's.
    pub scale: Scale,
    /// The population's.
    pub seed: u64,
    /// Which one, below [`PAIRS_MAX`].
    pub number: i64,
}

/// What a refresh did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// What it adds to the tables, or takes from them.
    pub tally: Tally,
    /// Transactions that were run again because they were victims.
    pub retries: u64,
}

impl Pair {
    fn numbers(self) -> std::ops::RangeInclusive<i64> {
        let many = self.scale.refreshed();
        self.number * many + 1..=((self.number + 1) * many).min(self.scale.orders())
    }

    /// The first function: inserts new orders with their lines.
    ///
    /// # Errors
    /// What the server says.
    pub fn insert(self, connection: &mut dyn Connection) -> Result<Done, CallError> {
        let mut done = Done::default();
        for orders in self.orders(1) {
            let values = |rows: &mut dyn Iterator<Item = &Vec<Cell>>| {
                rows.map(|row| tuple(row)).collect::<Vec<_>>().join(",\n")
            };
            let sql = format!(
                "INSERT INTO orders VALUES {};\nINSERT INTO lineitem VALUES {};",
                values(&mut orders.iter().map(|order| &order.row)),
                values(&mut orders.iter().flat_map(|order| &order.lines)),
            );
            done.retries += transaction(connection, &sql)?;
            let (orders, lines) = sums(&orders);
            done.tally.add(ORDERS, orders);
            done.tally.add(LINEITEM, lines);
        }
        Ok(done)
    }

    /// The second: deletes orders of the initial population, with their lines.
    ///
    /// # Errors
    /// What the server says.
    pub fn delete(self, connection: &mut dyn Connection) -> Result<Done, CallError> {
        let mut done = Done::default();
        for orders in self.orders(0) {
            let keys = orders.iter().map(|order| match order.row[0] {
                Cell::Int(key) => key.to_string(),
                _ => String::new(),
            });
            let keys = keys.collect::<Vec<_>>().join(", ");
            let sql = format!(
                "DELETE FROM lineitem WHERE l_orderkey IN ({keys});\nDELETE FROM orders WHERE o_orderkey IN ({keys});"
            );
            done.retries += transaction(connection, &sql)?;
            let (orders, lines) = sums(&orders);
            done.tally.remove(ORDERS, orders);
            done.tally.remove(LINEITEM, lines);
        }
        Ok(done)
    }

    /// The orders of a [lot](order_key) that are of this pair, a transaction's at a time.
    fn orders(self, lot: i64) -> impl Iterator<Item = Vec<Order>> {
        let numbers = self.numbers();
        let last = *numbers.end();
        numbers.step_by(ORDERS_AT_ONCE as usize).map(move |first| {
            (first..=last.min(first + ORDERS_AT_ONCE - 1))
                .map(|number| order(self.scale, self.seed, number, lot))
                .collect()
        })
    }

    /// Keys that are there after the first function and were not before.
    #[must_use]
    pub fn inserted_keys(self) -> Vec<i64> {
        self.numbers().map(|number| order_key(number, 1)).collect()
    }
}

fn sums(orders: &[Order]) -> (Sum, Sum) {
    let (mut of_orders, mut of_lines) = (Sum::default(), Sum::default());
    for order in orders {
        of_orders.rows += 1;
        of_orders.sum += order.total;
        of_lines.rows += order.lines.len() as i64;
        of_lines.sum += order.extended;
    }
    (of_orders, of_lines)
}

/// Runs it as one transaction, again when it was a victim; says how often.
fn transaction(connection: &mut dyn Connection, sql: &str) -> Result<u64, CallError> {
    let whole = format!("BEGIN TRANSACTION;\n{sql}\nCOMMIT;");
    let undo = match connection.dialect() {
        Dialect::TransactSql => "IF @@TRANCOUNT > 0 ROLLBACK",
        Dialect::Postgres => "ROLLBACK",
    };
    let mut retries = 0;
    loop {
        match connection.execute(&whole) {
            Err(CallError::Retry(_)) => {
                retries += 1;
                connection.execute(undo)?;
            }
            other => return other.map(|()| retries),
        }
    }
}

/// A row as T-SQL and its kin write one.
fn tuple(row: &[Cell]) -> String {
    let cells = row.iter().map(|cell| match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Int(n) | Cell::Timestamp(n) => n.to_string(),
        Cell::Decimal(digits, scale) => decimal(*digits, *scale),
        Cell::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Cell::Date(day) => format!("'{}'", rows::date_of(*day)),
    });
    format!("({})", cells.collect::<Vec<_>>().join(", "))
}

/// `-12345, 2` → `-123.45`.
fn decimal(digits: i64, scale: u8) -> String {
    let unit = 10_u64.pow(u32::from(scale));
    let sign = if digits < 0 { "-" } else { "" };
    let digits = digits.unsigned_abs();
    format!("{sign}{}.{:0width$}", digits / unit, digits % unit, width = usize::from(scale))
}

const _: () = assert!(matches!(TABLES[ORDERS].name.as_bytes(), b"orders"));
const _: () = assert!(matches!(TABLES[LINEITEM].name.as_bytes(), b"lineitem"));

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_pairs_touch_the_same_order_and_new_keys_are_new() {
        let scale = Scale { factor: 0.01 };
        let loaded: HashSet<i64> = (1..=scale.orders()).map(|number| order_key(number, 0)).collect();
        assert_eq!(loaded.len() as i64, scale.orders());
        let mut inserted = HashSet::new();
        let mut deleted = HashSet::new();
        for number in 0..PAIRS_MAX {
            let pair = Pair { scale, seed: 1, number };
            for key in pair.inserted_keys() {
                assert!(inserted.insert(key) && !loaded.contains(&key), "{key}");
            }
            for number in pair.numbers() {
                assert!(deleted.insert(number) && number <= scale.orders(), "{number}");
            }
        }
        assert_eq!(inserted.len(), loaded.len(), "all pairs together replace every order once");
    }

    #[test]
    fn a_row_is_written_as_sql_has_it() {
        let row =
            [Cell::Int(7), Cell::Decimal(-1_205, 2), Cell::Text("it's".into()), Cell::Date(0), Cell::Null];
        assert_eq!(tuple(&row), "(7, -12.05, 'it''s', '1970-01-01', NULL)");
    }
}
