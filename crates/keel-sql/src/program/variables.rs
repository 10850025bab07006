//! Variables a text uses without declaring them (errors 137 and 1087).
//!
//! Queries are bound when they first run, but a text that names an unknown variable anywhere must not run at all. So the
//! variables of its queries and expressions are looked up, token by token, when the text becomes a program. Arguments
//! of EXECUTE are left out: a name before `=` there belongs to the procedure that is called.

use super::Program;
use crate::errors;
use keel_parser::lexer::{Tok, tokenize};
use keel_types::error::Result;

/// One place where a variable stands.
struct Use {
    start: u32,
    end: u32,
    line: u32,
    /// It stands where a table would.
    table: bool,
}

/// The variables of a text, in its order.
pub struct VariableUses {
    uses: Vec<Use>,
}

impl VariableUses {
    /// Finds them. A text that is not valid has none: the parser has said why.
    #[must_use]
    pub fn of(text: &str, quoted_identifier: bool) -> VariableUses {
        let mut uses = Vec::new();
        if !text.contains('@') {
            return VariableUses { uses };
        }
        let tokens = tokenize(text, quoted_identifier).unwrap_or_default();
        let mut table = false;
        for t in &tokens {
            let word = text.get(t.start as usize..t.end as usize).unwrap_or_default();
            if t.tok == Tok::Variable {
                uses.push(Use { start: t.start, end: t.end, line: t.line, table });
            }
            table = ["FROM", "JOIN", "INTO", "UPDATE", "DELETE", "MERGE", "USING", "APPLY"]
                .iter()
                .any(|k| word.eq_ignore_ascii_case(k));
        }
        VariableUses { uses }
    }

    /// Looks up those between two positions of the program's text.
    pub fn check(&self, program: &Program, start: u32, end: u32) -> Result<()> {
        let first = self.uses.partition_point(|u| u.start < start);
        for u in self.uses[first..].iter().take_while(|u| u.start < end) {
            let name = &program.text[u.start as usize..u.end as usize];
            if program.variable(name).is_some()
                || program.table(name).is_some()
                || program.cursors.contains(&crate::catalog::fold(name))
            {
                continue;
            }
            let error = if u.table {
                errors::undeclared_table_variable(name)
            } else {
                errors::undeclared_variable(name)
            };
            return Err(errors::located(error, u.line, None));
        }
        Ok(())
    }
}
