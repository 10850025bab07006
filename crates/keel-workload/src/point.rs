//! Point selects: one row by its primary key, through a prepared query. What a server costs when it does next to nothing.

use crate::{CallError, Cell, Connection, Dialect};
use fastrand::Rng;

/// Fills the table with `rows` rows.
///
/// # Errors
/// What the server says.
pub fn setup(connection: &mut dyn Connection, rows: i64) -> Result<(), CallError> {
    connection.execute("DROP TABLE IF EXISTS point")?;
    connection.execute("CREATE TABLE point (id int NOT NULL PRIMARY KEY, n int, label varchar(40))")?;
    let mut all = (1..=rows).map(|id| vec![Cell::Int(id), Cell::Int(id * 7 % 1000), Cell::Text(label(id))]);
    connection.bulk("point", &["id", "n", "label"], &mut all)?;
    Ok(())
}

fn label(id: i64) -> String {
    format!("the row with number {id}")
}

/// One client, with its prepared query.
pub struct Reader {
    rng: Rng,
    rows: i64,
    handle: u64,
}

impl Reader {
    /// Prepares the query on `connection`.
    ///
    /// # Errors
    /// What the server says.
    pub fn new(connection: &mut dyn Connection, rows: i64, seed: u64) -> Result<Reader, CallError> {
        let parameter = match connection.dialect() {
            Dialect::TransactSql => "@p1",
            Dialect::Postgres => "$1",
        };
        let handle = connection.prepare(&format!("SELECT n, label FROM point WHERE id = {parameter}"), 1)?;
        Ok(Reader { rng: Rng::with_seed(seed), rows, handle })
    }

    /// Reads one row and looks whether it is the right one.
    ///
    /// # Errors
    /// What the server says; a wrong row is [`CallError::Refused`].
    pub fn step(&mut self, connection: &mut dyn Connection) -> Result<(), CallError> {
        let id = self.rng.i64(1..=self.rows);
        let row = connection.run(self.handle, &[id])?;
        match row.as_deref() {
            Some([Cell::Int(n), Cell::Text(text)]) if *n == id * 7 % 1000 && *text == label(id) => Ok(()),
            other => Err(CallError::Refused(format!("row {id} is {other:?}"))),
        }
    }
}
