//! NEXT VALUE FOR: where it may stand, and which of them get the same number.
//!
//! All that name a sequence in one row get one value. Rows are told apart by a number given to each select list and each
//! row of VALUES when it is bound; within it every NEXT VALUE FOR has a place. The session, which owns sequences, keeps
//! the value until a place asks again: then another row has begun.

use super::Binder;
use super::expr::Clause;
use crate::errors::Result;
use crate::expr::Expr;
use keel_parser::ast;
use keel_types::SqlError;

impl Binder<'_> {
    pub(super) fn next_value(&mut self, sequence: &ast::ObjectName, clause: Clause) -> Result<Expr> {
        if matches!(
            clause,
            Clause::Where | Clause::GroupBy | Clause::Having | Clause::OrderBy | Clause::Output
        ) {
            let m = "NEXT VALUE FOR function is not allowed in the TOP, OVER, OUTPUT, ON, WHERE, GROUP BY, HAVING, or ORDER BY clauses.";
            return Err(SqlError::new(11720, 15, 1, m));
        }
        // The session finds the sequence by its quoted name.
        let parts = [&sequence.database, &sequence.schema].into_iter().flatten();
        let quoted: Vec<String> = parts
            .chain(std::iter::once(&sequence.name))
            .map(|p| format!("[{}]", p.text.replace(']', "]]")))
            .collect();
        let quoted = quoted.join(".");
        let ty = self.scope.sequence_type(&quoted);
        if !self.in_a_module() {
            self.scope.note_sequence(&quoted);
        }
        let name = self.literal(&ast::Literal::String { value: quoted.into(), national: true });
        let place = self.next_values;
        self.next_values += 1;
        let args = vec![name, Expr::int(self.row as i64), Expr::int(i64::from(place))];
        let call = self.session_call("NEXT VALUE FOR", args)?;
        Ok(Expr { ty: ty.unwrap_or(call.ty), ..call })
    }

    /// Binds what has branches, of which not all are evaluated: error 11741 when a sequence is in one.
    pub(super) fn without_next_value(
        &mut self,
        bind: impl FnOnce(&mut Self) -> Result<Expr>,
    ) -> Result<Expr> {
        let before = self.next_values;
        let bound = bind(self)?;
        self.no_next_value_since(before)?;
        Ok(bound)
    }

    pub(super) fn no_next_value_since(&self, before: u32) -> Result<()> {
        if self.next_values == before {
            return Ok(());
        }
        let m = "The NEXT VALUE FOR function cannot be used within CASE, CHOOSE, COALESCE, IIF, ISNULL and NULLIF.";
        Err(SqlError::new(11741, 15, 1, m))
    }
}
