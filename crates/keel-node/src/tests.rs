//! Databases on a disk that misbehaves, against a model, and the isolation levels.

mod backup;
mod crash;
mod delayed;
mod differential;
mod encryption;
mod group;
mod isolation;
mod log_backup;
mod memory;
mod prepared;
mod snapshot;

use crate::{
    Database, DbError, DbOptions, Direction, Durability, Instance, InstanceOptions, Isolation, Transaction,
};
use keel_base::env::sim::{SimDisk, env};
use keel_base::{DatabaseId, TreeId};
use keel_log::LogOptions;
use keel_store::row::RowBuilder;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

const DIR: &str = "data/db5";
const TREE: TreeId = TreeId(10);

fn instance(disk: &Arc<SimDisk>, seed: u64) -> Arc<Instance> {
    let options = InstanceOptions {
        memory_bytes: 64 << 20,
        stream_bytes: 600,
        automatic_checkpoints: false,
        ..InstanceOptions::default()
    };
    Instance::new(env(disk, seed), options)
}

fn db_options() -> DbOptions {
    let log = LogOptions { segment_bytes: 1, segment_bytes_max: 1, ..LogOptions::default() };
    DbOptions { durability: Durability::Durable, log }
}

fn create(disk: &Arc<SimDisk>, seed: u64) -> Result<Arc<Database>, DbError> {
    Database::create(&instance(disk, seed), DatabaseId(5), Path::new(DIR), &db_options())
}

fn open(disk: &Arc<SimDisk>, seed: u64) -> Result<Arc<Database>, DbError> {
    Database::open(&instance(disk, seed), DatabaseId(5), Path::new(DIR), &db_options(), &mut |_| ())
}

fn fresh() -> Arc<Database> {
    create(&SimDisk::new(), 1).unwrap()
}

/// A row of three columns.
fn row(columns: [&[u8]; 3]) -> Vec<u8> {
    RowBuilder::build(&[Some(columns[0]), Some(columns[1]), Some(columns[2])])
}

fn simple(value: &str) -> Vec<u8> {
    row([value.as_bytes(), b"", b""])
}

fn value_of(row: &[u8]) -> String {
    String::from_utf8(keel_store::row::column(row, 0).unwrap().to_vec()).unwrap()
}

type Model = BTreeMap<(u32, Vec<u8>), Vec<u8>>;

fn everything(txn: &mut Transaction, trees: &[TreeId]) -> Model {
    let view = txn.statement_snapshot();
    let mut found = Model::new();
    for tree in trees {
        let mut cursor =
            txn.scan(&view, *tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward).unwrap();
        while let Some((key, row)) = cursor.next().unwrap() {
            found.insert((tree.0, key.to_vec()), row.to_vec());
        }
    }
    found
}

fn put(db: &Arc<Database>, key: &[u8], value: &str) {
    let mut txn = db.begin(Isolation::ReadCommitted);
    if txn.get_latest(TREE, key).unwrap().is_some() {
        txn.update(TREE, key, &simple(value), None).unwrap();
    } else {
        txn.insert(TREE, key, &simple(value)).unwrap();
    }
    txn.commit().unwrap().wait().unwrap();
}
