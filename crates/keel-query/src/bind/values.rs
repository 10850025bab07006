//! VALUES as a table.

use super::expr::{Clause, ExprCx};
use super::merge_types::unify;
use super::rel::Rel;
use super::{Binder, BoundQuery, OutputColumn, Scope};
use crate::errors::{self, Result};
use crate::expr::Expr;
use keel_parser::ast;

impl Binder<'_> {
    /// `(VALUES (…), (…)) AS t(…)`: each column takes the common type of its values.
    pub fn values_table(&mut self, rows: &[Vec<ast::Expr>], scope: &Scope<'_>) -> Result<BoundQuery> {
        let width = rows.first().map_or(0, Vec::len);
        if rows.iter().any(|r| r.len() != width) {
            return Err(errors::values_columns_differ());
        }
        let mut cx = ExprCx::new(scope, Clause::Other);
        let mut bound = Vec::with_capacity(rows.len());
        for row in rows {
            bound.push(row.iter().map(|e| self.value(e, &mut cx)).collect::<Result<Vec<_>>>()?);
        }
        self.values_of(bound, width)
    }

    /// The table of bound rows.
    pub fn values_of(&mut self, mut rows: Vec<Vec<Expr>>, width: usize) -> Result<BoundQuery> {
        let (mut slots, mut columns) = (Vec::new(), Vec::new());
        for i in 0..width {
            let column: Vec<Expr> =
                rows.iter_mut().map(|r| std::mem::replace(&mut r[i], Expr::null())).collect();
            let nullable = column.iter().any(|e| e.nullable);
            let (column, ty, collation, coercibility) = unify(column, "VALUES")?;
            for (row, e) in rows.iter_mut().zip(column) {
                row[i] = e;
            }
            let model = Expr { ty, collation, coercibility, nullable, ..Expr::null() };
            let slot = self.slot_for("", &model);
            slots.push(slot);
            columns.push(OutputColumn { name: String::new(), slot });
        }
        Ok(BoundQuery { rel: Rel::Values { rows, slots }, columns })
    }
}
