//! `hierarchyid`: positions in a tree that sort depth first.
//!
//! A value is kept, compared, indexed and sent as its ordpath bytes (the submodule `ordpath`): comparing bytes walks the tree. A
//! [`Path`] is what the methods look at: one list of labels per level, of several where a node was put between others
//! (`/1/2.1/`). Source: the product's reference of the type's methods, and MS-SSCLRT for the bytes.

mod ordpath;

use crate::error::{Result, SqlError};
use crate::raise::clr_error;
use std::fmt;

/// Most bytes of a value.
pub const MAX_BYTES: usize = 892;

/// A position: the labels of every level from the root, none of them empty.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Path(Vec<Vec<i64>>);

impl Path {
    /// The root, `/`.
    #[must_use]
    pub fn root() -> Path {
        Path::default()
    }

    /// Reads `/1/2.1/`. Error 6522 with 24001 for anything else.
    pub fn parse(text: &str) -> Result<Path> {
        let levels = text.strip_prefix('/').and_then(|rest| match rest {
            "" => Some(Vec::new()),
            rest => rest.strip_suffix('/')?.split('/').map(labels).collect(),
        });
        levels.map(Path).filter(|p| p.bytes().is_some()).ok_or_else(|| {
            let m = format!(
                "24001: SqlHierarchyId.Parse failed because the input string '{text}' is not a valid string representation of a SqlHierarchyId node."
            );
            failed(&m, "Parse(SqlString input)")
        })
    }

    /// Reads the bytes of a value. Error 6522 with 24000 when no path has these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Path> {
        ordpath::decode(bytes).map(Path).filter(|p| p.bytes().as_deref() == Some(bytes)).ok_or_else(|| {
            failed(
                "24000: SqlHierarchyId operation failed because HierarchyId object was constructed from an invalid binary string.",
                "Read(BinaryReader r)",
            )
        })
    }

    /// The bytes of this position; `None` when a label or the whole is too large.
    #[must_use]
    pub fn bytes(&self) -> Option<Vec<u8>> {
        ordpath::encode(&self.0).filter(|b| b.len() <= MAX_BYTES)
    }

    /// Number of levels below the root.
    #[must_use]
    pub fn level(&self) -> i64 {
        self.0.len() as i64
    }

    /// The node `n` levels up; `None` above the root. Error 6522 with 24011 for a negative number.
    pub fn ancestor(&self, n: i64) -> Result<Option<Path>> {
        let up = usize::try_from(n).map_err(|_| {
            failed(
                "24011: SqlHierarchyId.GetAncestor failed because 'n' was negative.",
                "GetAncestor(Int32 n)",
            )
        })?;
        Ok(self.0.len().checked_sub(up).map(|left| Path(self.0[..left].to_vec())))
    }

    /// Whether it is `other` or below it.
    #[must_use]
    pub fn is_descendant_of(&self, other: &Path) -> bool {
        self.0.starts_with(&other.0)
    }

    /// A child between two children, either of which may be left open. Errors 6522 with 24008 (not a child), 24009 (wrong order).
    pub fn descendant(&self, low: Option<&Path>, high: Option<&Path>) -> Result<Path> {
        let low = self.child_labels(low, "child1")?;
        let high = self.child_labels(high, "child2")?;
        let labels = match (low, high) {
            (None, None) => vec![1],
            (Some(low), None) => stepped(low, 1),
            (None, Some(high)) => stepped(high, -1),
            (Some(low), Some(high)) if low < high => between(low, high),
            (Some(low), Some(high)) => {
                let (low, high) = (self.with(low.to_vec()), self.with(high.to_vec()));
                let m = format!(
                    "24009: SqlHierarchyId.GetDescendant failed because 'child1' must be less than 'child2'.  'child1' was '{low}' and 'child2' was '{high}'."
                );
                return Err(failed(&m, GET_DESCENDANT));
            }
        };
        Ok(self.with(labels))
    }

    /// The same position below another root. Error 6522 with 24012 when it is not below the old one.
    pub fn reparented(&self, old: &Path, new: &Path) -> Result<Path> {
        let Some(below) = self.0.strip_prefix(old.0.as_slice()) else {
            return Err(failed(
                &format!(
                    "24012: SqlHierarchyId.GetReparentedValue failed because 'oldRoot' was not an ancestor node of 'this'.  'oldRoot' was '{old}', and 'this' was '{self}'."
                ),
                "GetReparentedValue(SqlHierarchyId oldRoot, SqlHierarchyId newRoot)",
            ));
        };
        Ok(Path([&new.0, below].concat()))
    }

    fn with(&self, labels: Vec<i64>) -> Path {
        let mut levels = self.0.clone();
        levels.push(labels);
        Path(levels)
    }

    /// The last labels of a child of this node.
    fn child_labels<'a>(&self, child: Option<&'a Path>, name: &str) -> Result<Option<&'a [i64]>> {
        let Some(child) = child else { return Ok(None) };
        match child.0.split_last() {
            Some((labels, parent)) if parent == self.0 => Ok(Some(labels)),
            _ => {
                let m = format!(
                    "24008: SqlHierarchyId.GetDescendant failed because '{name}' must be a child of 'this'.  '{name}' was '{child}' and 'this' was '{self}'."
                );
                Err(failed(&m, GET_DESCENDANT))
            }
        }
    }
}

const GET_DESCENDANT: &str = "GetDescendant(SqlHierarchyId child1, SqlHierarchyId child2)";

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("/")?;
        for labels in &self.0 {
            for (i, label) in labels.iter().enumerate() {
                write!(f, "{}{label}", if i == 0 { "" } else { "." })?;
            }
            f.write_str("/")?;
        }
        Ok(())
    }
}

fn labels(level: &str) -> Option<Vec<i64>> {
    level.split('.').map(|label| label.parse().ok().filter(|_| !label.starts_with('+'))).collect()
}

fn stepped(labels: &[i64], by: i64) -> Vec<i64> {
    let mut labels = labels.to_vec();
    if let Some(last) = labels.last_mut() {
        *last += by;
    }
    labels
}

/// Labels between two lists of which the first sorts first; a list sorts before every longer one that begins with it.
fn between(low: &[i64], high: &[i64]) -> Vec<i64> {
    let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    let mut found = low[..same].to_vec();
    match low.get(same) {
        None => found.push(high[same] - 1),
        Some(label) if label + 1 < high[same] => found.push(label + 1),
        Some(label) => {
            found.push(*label);
            found.push(low.get(same + 1).map_or(1, |next| next + 1));
        }
    }
    found
}

fn failed(message: &str, method: &str) -> Box<SqlError> {
    let site = format!("Microsoft.SqlServer.Types.SqlHierarchyId.{method}");
    clr_error("hierarchyid", 2, "Microsoft.SqlServer.Types.HierarchyIdException", message, &site)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(text: &str) -> Path {
        Path::parse(text).unwrap()
    }

    /// Bytes that SQL Server's own documentation and sample databases show.
    #[test]
    fn bytes_of_the_product() {
        for (text, bytes) in [
            ("/", &[][..]),
            ("/1/", &[0x58]),
            ("/2/", &[0x68]),
            ("/1/1/", &[0x5A, 0xC0]),
            ("/1/2/", &[0x5B, 0x40]),
            ("/1/1/3/", &[0x5A, 0xDE]),
            ("/4/", &[0x84]),
        ] {
            assert_eq!(path(text).bytes().unwrap(), bytes, "{text}");
            assert_eq!(Path::from_bytes(bytes).unwrap().to_string(), text);
        }
        for bytes in [&[0x59][..], &[0x00], &[0x58, 0x00], &[0xFF, 0xFF]] {
            assert_eq!(Path::from_bytes(bytes).unwrap_err().number, 6522, "{bytes:x?}");
        }
    }

    #[test]
    fn texts_that_are_no_paths() {
        for text in ["", "1/", "/1", "//", "/a/", "/1./", "/ 1/", "/+1/", "/281479271683152/"] {
            assert_eq!(Path::parse(text).unwrap_err().number, 6522, "{text}");
        }
    }

    #[test]
    fn children_between() {
        let check = |low: &str, high: &str, expect: &str| {
            let (low, high) = (path(low), path(high));
            let parent = low.ancestor(1).unwrap().unwrap();
            assert_eq!(parent.descendant(Some(&low), Some(&high)).unwrap().to_string(), expect);
        };
        check("/9/1/", "/9/3/", "/9/2/");
        check("/9/1.1/", "/9/2/", "/9/1.2/");
        check("/1/1/", "/1/1.1/", "/1/1.0/");
        check("/-1/", "/0/", "/-1.1/");
        check("/42/1/33.1/1.5/", "/42/1/33.1/1.6/", "/42/1/33.1/1.5.1/");
    }

    fn any_label() -> impl Strategy<Value = i64> {
        prop_oneof![-10i64..20, -5_000i64..6_000, -281_479_271_682_000i64..281_479_271_683_000]
    }

    fn any_level() -> impl Strategy<Value = Vec<i64>> {
        prop::collection::vec(any_label(), 1..3)
    }

    fn any_path() -> impl Strategy<Value = Path> {
        prop::collection::vec(any_level(), 0..5).prop_map(Path)
    }

    proptest! {
        #[test]
        fn text_and_bytes_give_the_path_back(p in any_path()) {
            prop_assert_eq!(&Path::from_bytes(&p.bytes().unwrap()).unwrap(), &p);
            prop_assert_eq!(&path(&p.to_string()), &p);
        }

        #[test]
        fn bytes_sort_as_the_tree_is_walked(a in any_path(), b in any_path()) {
            prop_assert_eq!(a.bytes().unwrap().cmp(&b.bytes().unwrap()), a.0.cmp(&b.0));
        }

        #[test]
        fn a_child_is_between(parent in any_path(), a in any_level(), b in any_level()) {
            prop_assume!(a != b);
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            let (low, high) = (parent.with(low), parent.with(high));
            let found = parent.descendant(Some(&low), Some(&high)).unwrap();
            prop_assert!(low.bytes() < found.bytes() && found.bytes() < high.bytes());
        }

        #[test]
        fn any_bytes_are_a_path_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(p) = Path::from_bytes(&bytes) {
                prop_assert_eq!(p.bytes().unwrap(), bytes);
            }
        }
    }
}
