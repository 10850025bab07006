//! How far a checkpoint says it is.

use super::*;

/// More than a checkpoint takes at once.
const MANY: u32 = 1000;

fn put_many(store: &Store, set: &mut WriteSet, tree: TreeId, first: u32) {
    let one = row(1, 1);
    (first..first + MANY).for_each(|n| store.put(set, tree, &n.to_be_bytes(), &one).unwrap());
}

/// Adds rows behind the others of a tree while it is gone through, and notes what is said of that.
struct Growing<'s> {
    store: &'s Store,
    said: parking_lot::Mutex<Vec<(u64, u64)>>,
}

impl Throttle for Growing<'_> {
    fn pace(&self, _bytes: u64) -> bool {
        true
    }
    fn gone_through(&self, keys: u64, of: u64) {
        let mut said = self.said.lock();
        said.push((keys, of));
        let lsn = 100 + said.len() as u64;
        if lsn <= 110 {
            let mut set = WriteSet::new(TxnId(lsn));
            put_many(self.store, &mut set, TREE, MANY * said.len() as u32);
            commit(self.store, set, lsn);
        }
    }
}

#[test]
fn rows_that_come_while_a_checkpoint_runs_do_not_pass_for_work_it_has_done() {
    let (store, _) = new_store();
    let mut set = WriteSet::new(TxnId(10));
    put_many(&store, &mut set, TREE, 0);
    put_many(&store, &mut set, TreeId(8), 0);
    commit(&store, set, 20);
    let growing = Growing { store: &store, said: parking_lot::Mutex::default() };
    let options = CheckpointOptions { throttle: &growing, ..CheckpointOptions::default() };
    store.begin_checkpoint().run(&options).unwrap();
    let said = growing.said.into_inner();
    let all = said[0].1;
    assert!(said.iter().all(|(done, of)| done <= of && *of == all), "{said:?}");
    assert!(said.contains(&(all / 2, all)) && said.last() == Some(&(all, all)), "{said:?}");
}

/// Notes what was said when each tree's last key had been gone through.
struct Told(parking_lot::Mutex<Vec<(u64, u64)>>);

impl Throttle for Told {
    fn pace(&self, _bytes: u64) -> bool {
        true
    }
    fn gone_through(&self, done: u64, of: u64) {
        self.0.lock().push((done, of));
    }
}

#[test]
fn keys_that_take_a_page_each_are_more_work_than_keys_side_by_side() {
    let (store, _) = new_store();
    let large = RowBuilder::build(&[Some(&[1]), Some(&[1; 3000]), None]);
    let fill = |lsn: u64, step: u32| {
        let mut set = WriteSet::new(TxnId(lsn));
        let keys = (0..4 * MANY).step_by(step as usize);
        keys.for_each(|n| store.put(&mut set, TREE, &n.to_be_bytes(), &large).unwrap());
        put_many(&store, &mut set, TreeId(8), 0);
        commit(&store, set, lsn);
    };
    // Share of the work when half of the keys were through.
    let half = || {
        let told = Told(parking_lot::Mutex::default());
        let options = CheckpointOptions { throttle: &told, ..CheckpointOptions::default() };
        store.begin_checkpoint().run(&options).unwrap();
        let said = told.0.into_inner();
        let (done, of) = said[said.len() / 2 - 1];
        done as f64 / of as f64
    };
    fill(20, 1);
    half();
    // As many keys in both now, those of the first on pages of their own.
    fill(30, 4);
    let share = half();
    assert!(share > 0.6 && share < 1.0, "{share}");
}
