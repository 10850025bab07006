//! The initial population, in parts that loaders take one by one, and what it adds up to.

use super::schema::TABLES;
use super::{Scale, rows, schema};
use crate::{CallError, Cell, Connection};
use std::ops::RangeInclusive;

/// Keys of a part: small enough that several loaders end at about the same time, large enough to be loaded as one.
const PART_KEYS: i64 = 25_000;

/// What a table holds: its number of rows, and the sum that [`schema::Table::summed`] names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Rows.
    pub rows: i64,
    /// See there.
    pub sum: i64,
}

/// What all tables hold, in the order of [`TABLES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally(pub [Sum; TABLES.len()]);

impl Tally {
    /// Adds rows of a table, by its place in [`TABLES`].
    pub fn add(&mut self, table: usize, of: Sum) {
        self.0[table].rows += of.rows;
        self.0[table].sum += of.sum;
    }

    /// Takes rows away again.
    pub fn remove(&mut self, table: usize, of: Sum) {
        self.add(table, Sum { rows: -of.rows, sum: -of.sum });
    }

    /// Rows of all tables.
    #[must_use]
    pub fn rows(&self) -> i64 {
        self.0.iter().map(|sum| sum.rows).sum()
    }
}

/// Places in [`TABLES`].
pub(super) const ORDERS: usize = 6;
/// See [`ORDERS`].
pub(super) const LINEITEM: usize = 7;
const _: () = assert!(TABLES.len() == LINEITEM + 1);

/// Rows of one table.
#[derive(Clone, Debug)]
pub struct Part {
    /// The table's place in [`TABLES`].
    pub table: usize,
    /// Keys, or numbers of orders.
    pub keys: RangeInclusive<i64>,
}

/// Creates the tables. Loading comes next ([`load`]), then [`finish`].
///
/// # Errors
/// What the server says.
pub fn create(connection: &mut dyn Connection) -> Result<(), CallError> {
    schema::tables(connection.dialect()).iter().try_for_each(|sql| connection.execute(sql))
}

/// Makes indexes, foreign keys and statistics once the rows are in; tells `each` what comes.
///
/// # Errors
/// What the server says.
pub fn finish(connection: &mut dyn Connection, mut each: impl FnMut(&str)) -> Result<(), CallError> {
    schema::indexes(connection.dialect()).iter().try_for_each(|sql| {
        each(sql);
        connection.execute(sql)
    })
}

/// All the parts of a population; the largest table comes first and the smallest last, so that loaders end together.
#[must_use]
pub fn parts(scale: Scale) -> Vec<Part> {
    let mut out = Vec::new();
    for table in (0..TABLES.len()).rev() {
        let keys = match TABLES[table].name {
            "supplier" => scale.suppliers(),
            "customer" => scale.customers(),
            "part" | "partsupp" => scale.parts(),
            "orders" | "lineitem" => scale.orders(),
            // One call gives all of them.
            _ => 1,
        };
        let firsts = (1..=keys).step_by(PART_KEYS as usize);
        out.extend(
            firsts.map(|first| Part { table, keys: first..=keys.min(first.saturating_add(PART_KEYS - 1)) }),
        );
    }
    out
}

/// Loads one part; returns what it adds up to.
///
/// # Errors
/// What the server says.
pub fn load(connection: &mut dyn Connection, part: &Part, scale: Scale, seed: u64) -> Result<Sum, CallError> {
    let table = &TABLES[part.table];
    let keys = part.keys.clone();
    let mut sum = Sum::default();
    let mut rows: Box<dyn Iterator<Item = Vec<Cell>>> = match table.name {
        "region" => Box::new(rows::regions().into_iter()),
        "nation" => Box::new(rows::nations().into_iter()),
        "supplier" => Box::new(keys.map(move |key| rows::supplier(scale, seed, key))),
        "customer" => Box::new(keys.map(move |key| rows::customer(seed, key))),
        "part" => Box::new(keys.map(move |key| rows::part(seed, key))),
        "partsupp" => Box::new(keys.flat_map(move |key| rows::part_suppliers(scale, seed, key))),
        "orders" => Box::new(keys.map(move |number| rows::order(scale, seed, number, 0).row)),
        _ => Box::new(keys.flat_map(move |number| rows::order(scale, seed, number, 0).lines)),
    };
    let summed = summed_column(part.table);
    let mut counted = rows.by_ref().inspect(|row| {
        sum.rows += 1;
        sum.sum += match row.get(summed) {
            Some(Cell::Int(n) | Cell::Decimal(n, _)) => *n,
            _ => 0,
        };
    });
    let loaded = connection.bulk(table.name, table.columns, &mut counted)?;
    drop(counted);
    drop(rows);
    if loaded != sum.rows as u64 {
        let told = format!("{} has {loaded} rows more after {} were sent", table.name, sum.rows);
        return Err(CallError::Refused(told));
    }
    Ok(sum)
}

/// Which column [`schema::Table::summed`] is of.
fn summed_column(table: usize) -> usize {
    let table = &TABLES[table];
    let name = table.summed.split(' ').next().unwrap_or_default();
    table.columns.iter().position(|column| *column == name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dialect;

    /// Takes rows and looks at their form.
    struct Sink(Vec<(String, Vec<Vec<Cell>>)>);

    impl Connection for Sink {
        fn execute(&mut self, _sql: &str) -> Result<(), CallError> {
            Ok(())
        }
        fn query(&mut self, _sql: &str) -> Result<Vec<Vec<Cell>>, CallError> {
            Ok(Vec::new())
        }
        fn call(&mut self, _procedure: &str, _arguments: &[Cell]) -> Result<Option<Vec<Cell>>, CallError> {
            Ok(None)
        }
        fn prepare(&mut self, _sql: &str, _parameters: usize) -> Result<u64, CallError> {
            Ok(0)
        }
        fn run(&mut self, _handle: u64, _arguments: &[i64]) -> Result<Option<Vec<Cell>>, CallError> {
            Ok(None)
        }
        fn bulk(
            &mut self,
            table: &str,
            columns: &[&str],
            rows: &mut dyn Iterator<Item = Vec<Cell>>,
        ) -> Result<u64, CallError> {
            let rows: Vec<Vec<Cell>> = rows.collect();
            assert!(rows.iter().all(|row| row.len() == columns.len()), "{table}");
            let count = rows.len() as u64;
            self.0.push((table.to_owned(), rows));
            Ok(count)
        }
        fn dialect(&self) -> Dialect {
            Dialect::TransactSql
        }
    }

    #[test]
    fn the_parts_are_all_rows_once_whoever_loads_them() {
        let scale = Scale { factor: 0.02 };
        let mut tally = Tally::default();
        let mut sink = Sink(Vec::new());
        for part in parts(scale) {
            tally.add(part.table, load(&mut sink, &part, scale, 5).unwrap());
        }
        let rows: Vec<i64> = tally.0.iter().map(|sum| sum.rows).collect();
        assert_eq!(rows[..7], [5, 25, 200, 3_000, 4_000, 16_000, 30_000]);
        let per_order = rows[LINEITEM] as f64 / rows[ORDERS] as f64;
        assert!((3.9..4.1).contains(&per_order), "{per_order} lines in an order");
        assert_eq!(tally.rows(), rows.iter().sum::<i64>());
        // Regions of nations add up to a number that anyone can count.
        assert_eq!(tally.0[1].sum, 50);
        let mut again = Tally::default();
        for part in parts(scale).iter().rev() {
            again.add(part.table, load(&mut sink, part, scale, 5).unwrap());
        }
        assert_eq!(tally, again);
        let other = load(&mut sink, &parts(scale)[0], scale, 6).unwrap();
        assert_ne!(other, load(&mut sink, &parts(scale)[0], scale, 5).unwrap(), "another seed, other rows");
    }
}
