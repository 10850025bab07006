//! AUTO, of XML and JSON: elements and arrays nest as the select list first names their tables.
//!
//! Each table in FROM whose columns are selected is a level, in the order in which the select list comes to them; a
//! column that belongs to no table is part of the level reached so far. A row repeats no level above its last that
//! writes the same as in the row before.

use super::{Binder, Selected, unpack};
use keel_parser::ast;

/// One level: the element or array of a table.
#[derive(Clone, Debug)]
pub struct Level {
    /// The table's exposed name, as FROM spells it.
    pub name: String,
    /// Positions of its columns in the select list.
    pub columns: Vec<usize>,
}

/// The brackets of a nested text.
pub trait Brackets {
    /// Opens the element of a level with its own content.
    fn open(&self, out: &mut String, level: usize, own: &str);
    /// Writes a whole element, nothing being inside it.
    fn leaf(&self, out: &mut String, level: usize, own: &str);
    /// Opens the place for the elements of `level` inside its parent's element.
    fn begin(&self, out: &mut String, level: usize, parent_is_empty: bool);
    /// Ends what [`Brackets::begin`] opened.
    fn end(&self, out: &mut String);
    /// Separates two elements of one level.
    fn between(&self, out: &mut String);
    /// Closes the element of a level.
    fn close(&self, out: &mut String, level: usize);
}

/// FOR JSON's brackets; names as JSON strings.
pub struct Json<'a> {
    /// Name of each level.
    pub names: &'a [String],
}

impl Brackets for Json<'_> {
    fn open(&self, out: &mut String, _: usize, own: &str) {
        out.push('{');
        out.push_str(own);
    }
    fn leaf(&self, out: &mut String, level: usize, own: &str) {
        self.open(out, level, own);
        out.push('}');
    }
    fn begin(&self, out: &mut String, level: usize, parent_is_empty: bool) {
        if !parent_is_empty {
            out.push(',');
        }
        out.push_str(&self.names[level]);
        out.push_str(":[");
    }
    fn end(&self, out: &mut String) {
        out.push(']');
    }
    fn between(&self, out: &mut String) {
        out.push(',');
    }
    fn close(&self, out: &mut String, _: usize) {
        out.push('}');
    }
}

/// Writes all rows, each packed as the content of its `depth` levels.
#[must_use]
pub fn write(rows: &str, depth: usize, brackets: &dyn Brackets) -> String {
    let texts = unpack(rows);
    let last = depth.saturating_sub(1);
    let mut out = String::new();
    let mut previous: Option<&[Option<&str>]> = None;
    for row in texts.chunks_exact(depth.max(1)) {
        let from = match previous {
            Some(p) => {
                let same = p.iter().zip(row).take_while(|(a, b)| a == b).count().min(last);
                close(&mut out, same, last, brackets);
                brackets.between(&mut out);
                same
            }
            None => 0,
        };
        for level in from..depth {
            let own = row[level].unwrap_or_default();
            if level > from {
                brackets.begin(&mut out, level, row[level - 1].unwrap_or_default().is_empty());
            }
            if level == last {
                brackets.leaf(&mut out, level, own);
            } else {
                brackets.open(&mut out, level, own);
            }
        }
        previous = Some(row);
    }
    close(&mut out, 0, last, brackets);
    out
}

/// Closes the levels down to `from`, whose element is closed too; that of the last level is already.
fn close(out: &mut String, from: usize, last: usize, brackets: &dyn Brackets) {
    for level in (from..last).rev() {
        brackets.end(out);
        brackets.close(out, level);
    }
}

impl Binder<'_> {
    /// The levels of a query; one at least.
    pub(super) fn auto_levels(&self, selected: &Selected) -> Vec<Level> {
        let mut levels: Vec<(Option<usize>, Level)> = Vec::new();
        let mut deepest = 0;
        for (at, column) in selected.query.columns.iter().enumerate() {
            let owner = self.owner(selected, column.slot);
            let known = levels.iter().position(|(o, _)| *o == owner);
            let level = match (owner, known) {
                (None, _) if levels.is_empty() => {
                    levels.push((None, Level { name: String::new(), columns: Vec::new() }));
                    0
                }
                (None, _) => deepest,
                (Some(_), Some(level)) => level,
                // What came before the first table belongs to it.
                (Some(table), None) if levels.len() == 1 && levels[0].0.is_none() => {
                    levels[0].0 = owner;
                    levels[0].1.name = selected.names[table].clone();
                    0
                }
                (Some(table), None) => {
                    levels.push((owner, Level { name: selected.names[table].clone(), columns: Vec::new() }));
                    levels.len() - 1
                }
            };
            deepest = deepest.max(level);
            levels[level].1.columns.push(at);
        }
        if let Some((None, level)) = levels.first_mut() {
            level.name = selected.names.first().cloned().unwrap_or_default();
        }
        levels.into_iter().map(|(_, level)| level).collect()
    }

    /// Position of the source a result's slot is a column of.
    fn owner(&self, selected: &Selected, slot: crate::expr::Slot) -> Option<usize> {
        let direct = selected.sources.iter().position(|s| s.columns.iter().any(|c| c.slot == slot));
        let table = self.slots[slot as usize].origin.map(|(get, _)| get);
        direct.or_else(|| selected.sources.iter().position(|s| s.get.is_some() && s.get == table))
    }
}

/// Exposed names of FROM as they are written: `Sales.Orders` when the schema is and no alias.
pub fn written_names(from: &[ast::TableSource], exposed: &mut [String]) {
    for source in from {
        match &source.kind {
            ast::TableSourceKind::Named { name, alias: None, .. } => {
                if let Some(schema) = &name.schema
                    && let Some(e) = exposed.iter_mut().find(|e| super::super::same_name(e, &name.name.text))
                {
                    *e = format!("{}.{}", schema.as_str(), name.name.as_str());
                }
            }
            ast::TableSourceKind::Join { left, right, .. } => {
                written_names(std::slice::from_ref(left), exposed);
                written_names(std::slice::from_ref(right), exposed);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pack;
    use super::*;

    #[test]
    fn equal_parents_are_written_once() {
        let names = vec!["\"a\"".to_owned(), "\"b\"".to_owned()];
        let row = |a: &str, b: &str| pack([Some(a.to_owned()), Some(b.to_owned())].into_iter());
        let rows = [row("1", "x"), row("1", "y"), row("2", "y"), row("2", "y")].concat();
        assert_eq!(write(&rows, 2, &Json { names: &names }), r#"{1,"b":[{x},{y}]},{2,"b":[{y},{y}]}"#);
    }
}
