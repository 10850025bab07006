//! The scalar variables of a program: a slot each, found by name. A driver's batch has up to 2,100 of them.

use super::{Slot, VariableDef};
use crate::catalog::fold;
use smol_str::SmolStr;
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

/// Variables in the order of their slots. They are added and never taken away.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    defs: Vec<VariableDef>,
    by_name: HashMap<SmolStr, Slot>,
}

impl Variables {
    /// Gives the next slot to a variable.
    pub fn push(&mut self, def: VariableDef) -> Slot {
        let slot = self.defs.len() as Slot;
        self.by_name.entry(def.name.clone()).or_insert(slot);
        self.defs.push(def);
        slot
    }

    /// The slot of a name, in any case.
    #[must_use]
    pub fn slot(&self, name: &str) -> Option<Slot> {
        self.by_name.get(&fold(name)).copied()
    }
}

impl FromIterator<VariableDef> for Variables {
    fn from_iter<I: IntoIterator<Item = VariableDef>>(defs: I) -> Variables {
        let mut all = Variables::default();
        for def in defs {
            all.push(def);
        }
        all
    }
}

impl Deref for Variables {
    type Target = [VariableDef];

    fn deref(&self) -> &[VariableDef] {
        &self.defs
    }
}

/// For types; names stay what they are.
impl DerefMut for Variables {
    fn deref_mut(&mut self) -> &mut [VariableDef] {
        &mut self.defs
    }
}
