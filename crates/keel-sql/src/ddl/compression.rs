//! DATA_COMPRESSION of tables and indexes. It is kept and shown (`sys.partitions`), and nothing is compressed by it.

use keel_parser::ast::{Opt, OptValue};
use keel_query::catalog::{Compression, IndexDef};

/// Takes what options say of an index, or of the partition that its rebuilding names.
pub(super) fn compress(index: &mut IndexDef, options: &[Opt], partition: Option<&str>) {
    let rebuilt = partition.and_then(|p| p.trim().parse().ok()).unwrap_or(0);
    for option in options.iter().filter(|o| o.name == "DATA_COMPRESSION") {
        let (word, partitions) = match &option.value {
            OptValue::Word(word) => (word, vec![(rebuilt, rebuilt)]),
            OptValue::WordList(word, list) => (word, list.iter().filter_map(range).collect()),
            _ => continue,
        };
        let Some((kind, _)) = Compression::ALL.into_iter().find(|(_, name)| word.is(name)) else { continue };
        for (first, last) in partitions {
            (first..=last).for_each(|partition| index.compress(partition, kind));
        }
    }
}

/// `3` or `3 TO 5`
fn range(item: &Opt) -> Option<(i32, i32)> {
    /// As many partitions as there can be.
    const PARTITIONS_MAX: i64 = 15_000;
    let number = |value: &OptValue| match value {
        OptValue::Number(n) => n.as_i64().filter(|n| (1..=PARTITIONS_MAX).contains(n)).map(|n| n as i32),
        _ => None,
    };
    match &item.value {
        OptValue::List(ends) => match ends.as_slice() {
            [first, last] => Some((number(&first.value)?, number(&last.value)?)),
            _ => None,
        },
        value => number(value).map(|n| (n, n)),
    }
}
