//! What a client's transaction does, grown from its number, and [`Model`]: what the rows must be after a run of them.
//!
//! A transaction reads before it writes, so its outcome depends on all that came before. The same steps are taken on a real
//! database ([`crate::real`]) and on the model, in commit order: if a row was read at the wrong age, lost, or came back, the
//! two differ.
//!
//! ```text
//! LEDGER   one row for each commit, under its number
//! HOT      a few rows of counters that most transactions change, a column at a time
//! SIDE     rows that come, change and go
//! BULK     many rows, or a wide one, of one transaction: more than a block of the log holds
//! CATALOG  one row for each tree that was made and not dropped
//! ```

use keel_base::TreeId;
use keel_base::env::sim::SplitMix;
use keel_node::CATALOG_TREE;
use keel_store::row::{RowBuilder, column};
use std::collections::BTreeMap;

pub(crate) const LEDGER: TreeId = TreeId(10);
const HOT: TreeId = TreeId(11);
const SIDE: TreeId = TreeId(12);
const BULK: TreeId = TreeId(13);
/// The tree that transaction n makes is this plus n: ids are never used again.
const MADE: u32 = 1000;

/// The row that who makes or drops trees locks; it is never there.
pub(crate) const CATALOG_LOCK: (TreeId, &[u8]) = (CATALOG_TREE, &[0]);

/// Rows as a transaction sees and changes them.
pub(crate) trait Rows {
    type Error;
    /// The newest row, locked.
    fn get(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>, Self::Error>;
    /// The row is `new` now; it was `old`.
    fn put(&mut self, tree: TreeId, key: &[u8], old: Option<&[u8]>, new: &[u8]) -> Result<(), Self::Error>;
    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<(), Self::Error>;
    /// The lowest key, newest state.
    fn first_key(&mut self, tree: TreeId) -> Result<Option<Vec<u8>>, Self::Error>;
    /// A row of a tree that nobody else can know yet.
    fn fill(&mut self, tree: TreeId, key: &[u8], row: &[u8]) -> Result<(), Self::Error>;
    fn drop_tree(&mut self, tree: TreeId) -> Result<(), Self::Error>;
    /// Does it and takes it back.
    fn undone(&mut self, what: impl FnOnce(&mut Self) -> Result<(), Self::Error>) -> Result<(), Self::Error>;
}

fn row(columns: [&[u8]; 3]) -> Vec<u8> {
    RowBuilder::build(&columns.map(Some))
}

/// All that transaction `number` does.
pub(crate) fn perform<R: Rows>(number: u64, rows: &mut R) -> Result<(), R::Error> {
    let mut dice = SplitMix(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let filling = if dice.below(20) == 0 { dice.below(9000) } else { dice.below(200) };
    let early = dice.coin();
    if early {
        post(number, filling, rows)?;
    }
    for _ in 0..dice.below(4) {
        step(number, &mut dice, rows)?;
    }
    if !early {
        post(number, filling, rows)?;
    }
    Ok(())
}

fn post<R: Rows>(number: u64, filling: u64, rows: &mut R) -> Result<(), R::Error> {
    let filling = vec![0xAB; filling as usize];
    rows.put(LEDGER, &number.to_be_bytes(), None, &row([&number.to_le_bytes(), &filling, b""]))
}

fn step<R: Rows>(number: u64, dice: &mut SplitMix, rows: &mut R) -> Result<(), R::Error> {
    match dice.below(40) {
        0..=15 => bump(dice, rows),
        16..=22 => change(number, dice, rows),
        23..=28 => {
            let key = [dice.below(12) as u8];
            if rows.get(SIDE, &key)?.is_some() { rows.delete(SIDE, &key) } else { Ok(()) }
        }
        29 | 30 => make_tree(number, dice, rows),
        31 | 32 => drop_tree(rows),
        33 => many(number, dice, rows),
        34 => {
            let wide = vec![number as u8; 61_000 + dice.below(20_000) as usize];
            put(BULK, &[0xFF], &row([b"wide", &wide, b""]), rows)
        }
        _ => {
            let mut undone = SplitMix(dice.next());
            rows.undone(|rows| {
                bump(&mut undone, rows)?;
                change(number, &mut undone, rows)?;
                if undone.below(3) == 0 { many(number, &mut undone, rows) } else { Ok(()) }
            })
        }
    }
}

fn put<R: Rows>(tree: TreeId, key: &[u8], new: &[u8], rows: &mut R) -> Result<(), R::Error> {
    let old = rows.get(tree, key)?;
    rows.put(tree, key, old.as_deref(), new)
}

/// One of three counters of a hot row goes up.
fn bump<R: Rows>(dice: &mut SplitMix, rows: &mut R) -> Result<(), R::Error> {
    let key = [dice.below(4) as u8];
    let which = dice.below(3) as usize;
    let old = rows.get(HOT, &key)?;
    let count = |at: usize| {
        let bytes = old.as_deref().and_then(|old| column(old, at)?.first_chunk::<8>().copied());
        u64::from_le_bytes(bytes.unwrap_or_default()) + u64::from(at == which)
    };
    let new = row([&count(0).to_le_bytes(), &count(1).to_le_bytes(), &count(2).to_le_bytes()]);
    rows.put(HOT, &key, old.as_deref(), &new)
}

fn change<R: Rows>(number: u64, dice: &mut SplitMix, rows: &mut R) -> Result<(), R::Error> {
    let filling = vec![dice.next() as u8; dice.below(300) as usize];
    let key = [dice.below(12) as u8];
    let old = rows.get(SIDE, &key)?;
    // It keeps what the one before it left: a patch, where the row is there.
    let kept = old.as_deref().and_then(|old| column(old, 1)).map_or_else(Vec::new, <[u8]>::to_vec);
    let new = row([&number.to_le_bytes(), &kept, &filling]);
    let new = if dice.below(3) == 0 { row([&number.to_le_bytes(), &filling, b""]) } else { new };
    rows.put(SIDE, &key, old.as_deref(), &new)
}

fn many<R: Rows>(number: u64, dice: &mut SplitMix, rows: &mut R) -> Result<(), R::Error> {
    let count = 20 + dice.below(150);
    let filling = vec![number as u8; 100 + dice.below(400) as usize];
    (0..count).try_for_each(|n| put(BULK, &(n as u16).to_be_bytes(), &row([b"many", &filling, b""]), rows))
}

fn make_tree<R: Rows>(number: u64, dice: &mut SplitMix, rows: &mut R) -> Result<(), R::Error> {
    lock_catalog(rows)?;
    let tree = TreeId(MADE + number as u32);
    let key = tree.0.to_be_bytes();
    if rows.get(CATALOG_TREE, &key)?.is_some() {
        // A transaction makes one tree.
        return Ok(());
    }
    rows.put(CATALOG_TREE, &key, None, &row([&number.to_le_bytes(), b"", b""]))?;
    (0..dice.below(20)).try_for_each(|n| rows.fill(tree, &n.to_be_bytes(), &row([&key, b"made", b""])))
}

/// Who makes or drops trees does it alone.
fn lock_catalog<R: Rows>(rows: &mut R) -> Result<(), R::Error> {
    let (tree, key) = CATALOG_LOCK;
    rows.get(tree, key).map(drop)
}

fn drop_tree<R: Rows>(rows: &mut R) -> Result<(), R::Error> {
    lock_catalog(rows)?;
    let Some(key) = rows.first_key(CATALOG_TREE)? else { return Ok(()) };
    if rows.get(CATALOG_TREE, &key)?.is_none() {
        return Ok(());
    }
    rows.delete(CATALOG_TREE, &key)?;
    let tree = key.first_chunk::<4>().copied().map_or(0, u32::from_be_bytes);
    rows.drop_tree(TreeId(tree))
}

/// The rows after a run of transactions.
#[derive(Default)]
pub(crate) struct Model {
    done: Vec<u64>,
    trees: Trees,
}

/// Rows by key, by tree.
pub(crate) type Trees = BTreeMap<u32, BTreeMap<Vec<u8>, Vec<u8>>>;

impl Model {
    /// All rows after these transactions. It goes on from those of the last call where it can.
    pub(crate) fn after(&mut self, numbers: &[u64]) -> &Trees {
        if !numbers.starts_with(&self.done) {
            *self = Model::default();
        }
        for number in &numbers[self.done.len()..] {
            let Ok(()) = perform(*number, self);
        }
        self.done = numbers.to_vec();
        &self.trees
    }
}

impl Rows for Model {
    type Error = std::convert::Infallible;

    fn get(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<Vec<u8>>, Self::Error> {
        Ok(self.trees.get(&tree.0).and_then(|rows| rows.get(key)).cloned())
    }

    fn put(&mut self, tree: TreeId, key: &[u8], _: Option<&[u8]>, new: &[u8]) -> Result<(), Self::Error> {
        self.trees.entry(tree.0).or_default().insert(key.to_vec(), new.to_vec());
        Ok(())
    }

    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<(), Self::Error> {
        if let Some(rows) = self.trees.get_mut(&tree.0) {
            rows.remove(key);
        }
        Ok(())
    }

    fn first_key(&mut self, tree: TreeId) -> Result<Option<Vec<u8>>, Self::Error> {
        Ok(self.trees.get(&tree.0).and_then(|rows| rows.keys().next()).cloned())
    }

    fn fill(&mut self, tree: TreeId, key: &[u8], row: &[u8]) -> Result<(), Self::Error> {
        self.put(tree, key, None, row)
    }

    fn drop_tree(&mut self, tree: TreeId) -> Result<(), Self::Error> {
        self.trees.remove(&tree.0);
        Ok(())
    }

    fn undone(&mut self, _: impl FnOnce(&mut Self) -> Result<(), Self::Error>) -> Result<(), Self::Error> {
        Ok(())
    }
}
