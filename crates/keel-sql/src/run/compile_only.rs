//! SET NOEXEC, FMTONLY, SHOWPLAN and PARSEONLY: statements that are looked at and not carried out.
//!
//! Scripts rely on it that nothing happens: after an error a deployment sets NOEXEC, and the rest must leave the database
//! alone. What is passed over is passed over in the order in which it is written, both branches of an IF and the body of a
//! loop once, because nobody evaluates conditions. Queries and data changes are compiled, so that names are checked, plans
//! shown and result columns told; SET and USE take effect.

use super::Runner;
use crate::program::{Op, Program, SetOp};
use crate::session::options::Switches;

/// System procedures that run a text or a statement, which is then looked at by itself.
const RUNNING: [&str; 6] =
    ["sp_execute", "sp_prep", "sp_unprepare", "sp_cursor", "sp_reset_connection", "sp_describe"];

/// Whether a procedure of the system is one of those.
pub(super) fn runs_text(name: &str) -> bool {
    RUNNING.iter().any(|running| name.starts_with(running))
}

impl Runner<'_> {
    /// Whether anything is carried out.
    pub(crate) fn only_compiles(&self) -> bool {
        self.info.options.borrow().switches.any(Switches::LOOKING)
    }

    /// Whether an instruction is passed over.
    pub(super) fn passes_over(&self, op: &Op) -> bool {
        if !self.only_compiles() {
            return false;
        }
        match op {
            Op::Set(_) | Op::Use(_) | Op::Select { .. } => false,
            // A change gives no rows; the others want its plan, or to know whether it has one.
            Op::Dml { .. } => self.info.on(Switches::FMTONLY),
            Op::SelectInto(_) => !self.shows_plans(),
            Op::Call(_) | Op::ExecText { .. } => self.info.on(Switches::NOEXEC),
            _ => true,
        }
    }

    /// Whether a procedure of the system is passed over.
    pub(super) fn passes_over_procedure(&self, name: &str) -> bool {
        self.only_compiles() && !runs_text(name)
    }

    /// Whether a batch is only parsed. PARSEONLY holds for the whole batch that sets it, before any of it runs.
    pub fn only_parses(&self, program: &Program) -> bool {
        let sets = program.code.iter().filter_map(|instruction| match &instruction.op {
            Op::Set(set) => match &**set {
                SetOp::Switches { names, on } => names.iter().any(|n| n == "PARSEONLY").then_some(*on),
                _ => None,
            },
            _ => None,
        });
        if let Some(on) = sets.last() {
            self.info.change_options(|options| options.switches.set(Switches::PARSEONLY, on));
        }
        self.info.on(Switches::PARSEONLY)
    }
}
