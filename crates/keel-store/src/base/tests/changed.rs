//! What changed since a generation, against maps: laid over what there was then, it makes what there is now.

use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};

use super::model::{apply, changes, merge};
use super::*;

/// What there was at a generation. Rows that were touched afterwards are not to be relied on.
struct Then {
    generation: u64,
    rows: Model,
}

impl Then {
    /// A later change may have come and gone before anybody looked: the row may be there, another, or none.
    fn touch(&mut self, key: &[u8], rng: &mut Dice) {
        match rng.below(3) {
            0 => drop(self.rows.remove(key)),
            1 => drop(self.rows.insert(key.to_vec(), b"of no account".to_vec())),
            _ => {}
        }
    }

    /// The rows of a root, made of what changed since then and what there was.
    fn brought_up_to(&self, root: &Arc<BaseRoot>) -> Model {
        let mut rows = self.rows.clone();
        let mut changed = root.changed_since(self.generation);
        while let Some(range) = changed.next_range().expect("walks") {
            let upper = range.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let bounds = (Bound::Included(&range.lower[..]), upper);
            let gone: Vec<_> = rows.range::<[u8], _>(bounds).map(|(key, _)| key.clone()).collect();
            let old: Model =
                gone.iter().map(|key| (key.clone(), rows.remove(key).expect("was there"))).collect();
            let mut cursor = root.scan(bounds.0, bounds.1, Direction::Forward).large_after(self.generation);
            while cursor.advance().expect("scans") {
                let row = if cursor.is_old() { old[cursor.key()].clone() } else { cursor.row().to_vec() };
                rows.insert(cursor.key().to_vec(), row);
            }
        }
        rows
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn what_changed_makes_what_there_is_of_what_there_was(seed in any::<u64>()) {
        let mut rng = Dice(seed);
        let (disk, cache) = (TestDisk::new(), PageCache::new(16 << 20));
        let mut tree = create(&disk, &cache);
        let (mut model, mut thens): (Model, Vec<Then>) = (Model::new(), Vec::new());
        let spread = [50, 2_000, 20_000][rng.below(3) as usize];
        for round in 1..=14u64 {
            match rng.below(10) {
                0 | 1 => {
                    let id = 1 + rng.below(4) as u32;
                    tree.drop_tree(keel_base::TreeId(id), &MergeOptions::at(Lsn(round))).expect("drops");
                    model.retain(|key, _| !key.starts_with(&id.to_be_bytes()));
                    let key = [&id.to_be_bytes()[..], b"a row of the tree that went"].concat();
                    thens.iter_mut().for_each(|then| then.touch(&key, &mut rng));
                }
                2 => {
                    // A stretch of keys, so that leaves and what is above them go.
                    let from = rng.below(model.len() as u64 + 1) as usize;
                    let count = rng.below(model.len() as u64 + 1) as usize;
                    let gone: BTreeMap<_, _> =
                        model.keys().skip(from).take(count).map(|key| (key.clone(), None)).collect();
                    apply(&mut model, &gone);
                    merge(&tree, &gone, round, 1 << 30).expect("merges");
                }
                _ => {
                    let most = [1, 20, 500, 4_000][rng.below(4) as usize];
                    let count = 1 + rng.below(most);
                    let changes = changes(&mut rng, count, spread);
                    apply(&mut model, &changes);
                    merge(&tree, &changes, round, [1, 100_000, 1 << 30][rng.below(3) as usize]).expect("merges");
                    for key in changes.keys() {
                        thens.iter_mut().for_each(|then| then.touch(key, &mut rng));
                    }
                }
            }
            if rng.below(5) == 0 {
                drop(tree);
                tree = open(&disk, &cache).expect("opens");
            }
            assert_sound(&tree);
            let root = tree.root();
            prop_assert!(rows(&root).expect("scans") == model);
            for then in &thens {
                prop_assert!(then.brought_up_to(&root) == model);
            }
            prop_assert_eq!(root.pages_since(root.generation()).expect("counts"), 0);
            if rng.below(2) == 0 {
                thens.push(Then { generation: root.generation(), rows: model.clone() });
            }
        }
        let nothing = Then { generation: 0, rows: Model::new() };
        prop_assert!(nothing.brought_up_to(&tree.root()) == model);
    }
}

#[test]
fn few_changes_of_many_rows_are_few_ranges() {
    let (disk, cache) = (TestDisk::new(), PageCache::new(64 << 20));
    let tree = create(&disk, &cache);
    let row = &[7u8; 150][..];
    tree.merge((0..200_000).map(|n| (numbered(n), Change::Put(row))), &MergeOptions::at(Lsn(1)))
        .expect("merges");
    let then = tree.generation();
    let all = tree.root().pages_since(0).expect("counts");
    assert!(all.abs_diff(tree.root().stats().used_pages) < 20, "{all}");
    let some = [50_000, 50_001, 120_000].map(|n| (numbered(n), Change::Put(&b"new"[..])));
    tree.merge(some, &MergeOptions::at(Lsn(2))).expect("merges");
    let root = tree.root();
    let mut changed = root.changed_since(then);
    let mut ranges = Vec::new();
    while let Some(range) = changed.next_range().expect("walks") {
        let upper = range.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        ranges.push(root.approximate_count(Bound::Included(&range.lower), upper).expect("counts"));
    }
    assert!(ranges.len() == 3 && ranges.iter().sum::<u64>() < 200, "{ranges:?}");
    assert!(root.pages_since(then).expect("counts") < 10);
}
