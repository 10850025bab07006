//! What variables have while a statement is compiled.

use super::Scope;
use keel_types::Value;

/// Trace flag: nothing is planned for the values of parameters.
const NO_SNIFFING: i32 = 4136;

impl<'a> Scope<'a> {
    /// The same, where the program's variables have these values.
    pub(crate) fn with_values(self, values: &'a [Value]) -> Scope<'a> {
        Scope { values, ..self }
    }

    /// Whether plans are made for the values of parameters: PARAMETER_SNIFFING of the database, and trace flag 4136 turns it off.
    fn sniffs(&self) -> bool {
        let entry = self.info.current_database();
        let picture = entry.picture();
        crate::scoped::sniffs_parameters(picture.settings(), entry.is_copy())
            && !self.info.engine.trace_flags().contains(&NO_SNIFFING)
    }

    /// The value of a variable that plans may be made for: of a parameter, or with `any` of any variable.
    pub(super) fn known_value(&self, index: usize, any: bool) -> Option<Value> {
        let parameter = || self.program.is_some_and(|p| index < p.parameters.len()) && self.sniffs();
        let value = self.values.get(index)?;
        (any || parameter()).then(|| value.clone())
    }
}
