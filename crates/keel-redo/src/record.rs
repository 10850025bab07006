//! Groups and row records, by byte. All numbers are little-endian.
//!
//! # Group header (32 bytes, one per append)
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 1 | kind | [`GroupKind`] |
//! | 1 | 1 | flags | 0 |
//! | 2 | 2 | header length | 32 |
//! | 4 | 4 | records | row records in this group |
//! | 8 | 4 | length | bytes of the group, header included |
//! | 12 | 4 | reserved | 0 |
//! | 16 | 8 | stream | id of the streaming transaction, 0 for a whole one |
//! | 24 | 8 | argument | commit and prepare groups: time, microseconds since 1970 UTC; rollback: records to keep |
//!
//! A prepare group has no records. What stands behind its header is how its transaction is called by who decides about it: bytes
//! that mean nothing here.
//!
//! # Row record
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 1 | kind | 16 put, 17 patch, 18 delete, 19 drop tree; others reserved |
//! | 1 | 1 | flags | 0 |
//! | 2 | 2 | hash | low half of CRC32C over tree id (big-endian) and key: chooses the worker |
//! | 4 | 4 | length | bytes of the record, header included |
//! | 8 | 4 | tree | tree id |
//! | 12 | 2 | key length | |
//! | 14 | k | key | |
//! | 14+k | | body | put: the stored row; patch: the stored patch; delete, drop tree: nothing |
//!
//! A group is valid when its fields are in range and its records fill it exactly. Blocks are checksummed, so an invalid
//! group in a valid block is a programming error of its writer: it is reported as damage, never skipped.

use keel_base::TreeId;

/// Bytes of a group's header.
pub const GROUP_HEADER_BYTES: usize = 32;
/// Bytes of a row record before its key.
pub const ROW_HEADER_BYTES: usize = 14;
/// The longest key.
pub const KEY_BYTES_MAX: usize = u16::MAX as usize;

const KIND_PUT: u8 = 16;
const KIND_PATCH: u8 = 17;
const KIND_DELETE: u8 = 18;
const KIND_DROP_TREE: u8 = 19;

/// What a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// A whole transaction; its end is the commit LSN.
    Whole,
    /// Early records of a streaming transaction.
    Part,
    /// Last records and commit of a streaming transaction; its end is the commit LSN.
    Commit,
    /// A streaming transaction never happened.
    Abort,
    /// The records of a stream from a number on are void.
    Rollback,
    /// For people and tools; no effect on rows.
    Note,
    /// A streaming transaction is whole, and neither commits nor aborts before somebody outside says so.
    Prepare,
}

impl GroupKind {
    const fn code(self) -> u8 {
        match self {
            GroupKind::Whole => 1,
            GroupKind::Part => 2,
            GroupKind::Commit => 3,
            GroupKind::Abort => 4,
            GroupKind::Rollback => 5,
            GroupKind::Note => 6,
            GroupKind::Prepare => 7,
        }
    }

    fn from_code(code: u8) -> Option<GroupKind> {
        use GroupKind::{Abort, Commit, Note, Part, Prepare, Rollback, Whole};
        [Whole, Part, Commit, Abort, Rollback, Note, Prepare].into_iter().find(|k| k.code() == code)
    }
}

/// What happens to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// The row is now this.
    Put(&'a [u8]),
    /// These columns (a stored patch) are now so.
    Patch(&'a [u8]),
    /// The row is gone.
    Delete,
    /// The whole tree is gone; the key is empty. Tree ids are never used again.
    DropTree,
}

/// A decoded row record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRecord<'a> {
    /// Its index.
    pub tree: TreeId,
    /// Its key, without the tree id.
    pub key: &'a [u8],
    /// What happens.
    pub change: Change<'a>,
}

/// Bytes of a tree id.
const TREE_BYTES: usize = 4;
/// Keys up to this length are put behind their tree's id to be hashed.
const SHORT_KEY_BYTES: usize = 60;

/// The number by which records are shared out among workers.
#[inline]
pub fn key_hash(tree: TreeId, key: &[u8]) -> u16 {
    // Of a short key in one go: most of a checksum's time is its beginning and end.
    let mut whole = [0; TREE_BYTES + SHORT_KEY_BYTES];
    let tree = tree.0.to_be_bytes();
    if key.len() > SHORT_KEY_BYTES {
        return crc32c::crc32c_append(crc32c::crc32c(&tree), key) as u16;
    }
    whole[..TREE_BYTES].copy_from_slice(&tree);
    whole[TREE_BYTES..][..key.len()].copy_from_slice(key);
    crc32c::crc32c(&whole[..TREE_BYTES + key.len()]) as u16
}

/// A transaction's private buffer: row records waiting for their group header and their place in the log.
#[derive(Debug)]
pub struct RecordBuffer {
    bytes: Vec<u8>,
    records: u32,
}

impl Default for RecordBuffer {
    fn default() -> Self {
        RecordBuffer::new()
    }
}

/// How full a [`RecordBuffer`] was at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferMark {
    bytes: usize,
    records: u32,
}

impl BufferMark {
    /// The start of any buffer.
    pub const START: BufferMark = BufferMark { bytes: 0, records: 0 };
}

/// What a transaction of ordinary size needs, so that it allocates once.
const FIRST_BYTES: usize = 4096;

impl RecordBuffer {
    /// An empty buffer.
    pub fn new() -> RecordBuffer {
        RecordBuffer { bytes: Vec::new(), records: 0 }
    }

    /// Empties it and keeps the memory, up to `keep_bytes`.
    pub fn clear(&mut self, keep_bytes: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(keep_bytes);
        self.records = 0;
    }

    /// Whether it holds no record.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Records in it.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Bytes in it.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a change.
    ///
    /// # Panics
    /// If the key is longer than [`KEY_BYTES_MAX`] or the record than 4 GB: the layers above have limits far below.
    #[inline]
    pub fn add(&mut self, tree: TreeId, key: &[u8], change: Change<'_>) {
        let (kind, body): (u8, &[u8]) = match change {
            Change::Put(row) => (KIND_PUT, row),
            Change::Patch(patch) => (KIND_PATCH, patch),
            Change::Delete => (KIND_DELETE, &[]),
            Change::DropTree => (KIND_DROP_TREE, &[]),
        };
        if self.bytes.is_empty() {
            self.bytes.reserve(FIRST_BYTES);
            self.bytes.extend_from_slice(&[0; GROUP_HEADER_BYTES]);
        }
        let key_len = u16::try_from(key.len()).expect("keys are far shorter than 64 KB");
        let length =
            u32::try_from(ROW_HEADER_BYTES + key.len() + body.len()).expect("rows are shorter than 4 GB");
        let mut head = [0; ROW_HEADER_BYTES];
        head[0] = kind;
        head[2..4].copy_from_slice(&key_hash(tree, key).to_le_bytes());
        head[4..8].copy_from_slice(&length.to_le_bytes());
        head[8..12].copy_from_slice(&tree.0.to_le_bytes());
        head[12..14].copy_from_slice(&key_len.to_le_bytes());
        self.bytes.reserve(length as usize);
        self.bytes.extend_from_slice(&head);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(body);
        self.records += 1;
    }

    /// How full it is now.
    pub fn mark(&self) -> BufferMark {
        BufferMark { bytes: self.bytes.len(), records: self.records }
    }

    /// Drops what came after `mark`, which must be of this filling of the buffer.
    pub fn truncate(&mut self, mark: BufferMark) {
        assert!(mark.bytes <= self.bytes.len(), "a mark lies inside the buffer");
        self.bytes.truncate(mark.bytes);
        self.records = mark.records;
    }

    /// Writes the group header and returns the group, ready to be appended.
    ///
    /// # Panics
    /// If the group is longer than 4 GB: transactions stream long before.
    pub fn seal(&mut self, kind: GroupKind, stream: u64, argument: i64) -> &[u8] {
        if self.bytes.is_empty() {
            self.bytes.extend_from_slice(&[0; GROUP_HEADER_BYTES]);
        }
        let length = u32::try_from(self.bytes.len()).expect("a group is shorter than 4 GB");
        let head = &mut self.bytes[..GROUP_HEADER_BYTES];
        head[0] = kind.code();
        head[2..4].copy_from_slice(&(GROUP_HEADER_BYTES as u16).to_le_bytes());
        head[4..8].copy_from_slice(&self.records.to_le_bytes());
        head[8..12].copy_from_slice(&length.to_le_bytes());
        head[16..24].copy_from_slice(&stream.to_le_bytes());
        head[24..32].copy_from_slice(&argument.to_le_bytes());
        &self.bytes
    }
}

/// The group that says of a stream that it is prepared, and what it is called.
///
/// # Panics
/// If the name is longer than 4 GB: those who give names have limits far below.
#[must_use]
pub fn prepare_group(stream: u64, time_us: i64, name: &[u8]) -> Vec<u8> {
    let mut buffer = RecordBuffer::new();
    let mut bytes = buffer.seal(GroupKind::Prepare, stream, time_us).to_vec();
    bytes.extend_from_slice(name);
    let length = u32::try_from(bytes.len()).expect("a group is shorter than 4 GB");
    bytes[8..12].copy_from_slice(&length.to_le_bytes());
    bytes
}

/// A decoded group.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// What it is.
    pub kind: GroupKind,
    /// Row records in it.
    pub records: u32,
    /// The streaming transaction, or 0.
    pub stream: u64,
    /// Commit time or number of records to keep.
    pub argument: i64,
    /// The whole group.
    pub bytes: &'a [u8],
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

impl<'a> Group<'a> {
    /// The group at the start of `bytes`; `None` when there is no valid one.
    pub fn decode(bytes: &'a [u8]) -> Option<Group<'a>> {
        let kind = GroupKind::from_code(*bytes.first()?)?;
        let length = u32_at(bytes, 8)? as usize;
        let plausible = usize::from(u16_at(bytes, 2)?) == GROUP_HEADER_BYTES && length >= GROUP_HEADER_BYTES;
        if !plausible {
            return None;
        }
        Some(Group {
            kind,
            records: u32_at(bytes, 4)?,
            stream: u64_at(bytes, 16)?,
            argument: i64::from_le_bytes(bytes.get(24..32)?.try_into().ok()?),
            bytes: bytes.get(..length)?,
        })
    }

    /// Of a prepare group: what its transaction is called.
    #[must_use]
    pub fn name(&self) -> &'a [u8] {
        self.bytes.get(GROUP_HEADER_BYTES..).unwrap_or_default()
    }

    /// Calls `each` with the number and the contents of each record whose hash, modulo `workers`, is `worker`.
    /// `None` when a record is not valid; `each` returns its own errors.
    pub fn for_each_of<E>(
        &self,
        worker: usize,
        workers: usize,
        mut each: impl FnMut(u32, RowRecord<'a>) -> Result<(), E>,
    ) -> Option<Result<(), E>> {
        // Behind the header of a prepare group stands a name.
        let records = if self.kind == GroupKind::Prepare { GROUP_HEADER_BYTES } else { self.bytes.len() };
        let mut rest = &self.bytes[GROUP_HEADER_BYTES..records];
        for number in 0..self.records {
            let hash = u16_at(rest, 2)?;
            let length = u32_at(rest, 4)? as usize;
            let record = rest.get(..length)?;
            rest = &rest[length..];
            if usize::from(hash) % workers == worker
                && let Err(error) = each(number, decode_row(record)?)
            {
                return Some(Err(error));
            }
        }
        if rest.is_empty() { Some(Ok(())) } else { None }
    }
}

fn decode_row(record: &[u8]) -> Option<RowRecord<'_>> {
    let tree = TreeId(u32_at(record, 8)?);
    let key_end = ROW_HEADER_BYTES + usize::from(u16_at(record, 12)?);
    let key = record.get(ROW_HEADER_BYTES..key_end)?;
    let body = record.get(key_end..)?;
    let change = match *record.first()? {
        KIND_PUT => Change::Put(body),
        KIND_PATCH => Change::Patch(body),
        KIND_DELETE if body.is_empty() => Change::Delete,
        KIND_DROP_TREE if body.is_empty() && key.is_empty() => Change::DropTree,
        _ => return None,
    };
    Some(RowRecord { tree, key, change })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode_all(bytes: &[u8]) -> Vec<(u32, RowRecord<'_>)> {
        let mut found = Vec::new();
        let group = Group::decode(bytes).unwrap();
        let walked = group.for_each_of(0, 1, |n, record| {
            found.push((n, record));
            Ok::<(), ()>(())
        });
        assert_eq!(walked, Some(Ok(())));
        found
    }

    /// Bytes of a group as the first release wrote them; must stay readable for ever.
    #[test]
    fn the_frozen_group_of_version_1() {
        let mut buffer = RecordBuffer::new();
        buffer.add(TreeId(258), b"key", Change::Put(b"row"));
        buffer.add(TreeId(3), b"", Change::Patch(b"p"));
        buffer.add(TreeId(3), b"x", Change::Delete);
        let hex: String = buffer
            .seal(GroupKind::Commit, 7, 1000)
            .chunks(16)
            .map(|line| line.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ") + "\n")
            .collect();
        assert_eq!(hex, include_str!("../fixtures/v1/group.hex"));
    }

    #[test]
    fn the_frozen_prepare_group_of_version_1() {
        let bytes = prepare_group(7, 1000, b"who");
        let mut expected = vec![7, 0, 32, 0, 0, 0, 0, 0, 35, 0, 0, 0, 0, 0, 0, 0];
        expected.extend_from_slice(&7u64.to_le_bytes());
        expected.extend_from_slice(&1000i64.to_le_bytes());
        expected.extend_from_slice(b"who");
        assert_eq!(bytes, expected);
        let group = Group::decode(&bytes).unwrap();
        assert_eq!((group.kind, group.stream, group.name()), (GroupKind::Prepare, 7, &b"who"[..]));
        assert_eq!(decode_all(&bytes), []);
    }

    #[test]
    fn a_mark_takes_records_back() {
        let mut buffer = RecordBuffer::new();
        let empty = buffer.mark();
        buffer.add(TreeId(1), b"a", Change::Delete);
        let one = buffer.mark();
        buffer.add(TreeId(1), b"b", Change::Delete);
        buffer.truncate(one);
        buffer.add(TreeId(1), b"c", Change::Delete);
        let keys: Vec<_> = decode_all(buffer.seal(GroupKind::Whole, 0, 0)).iter().map(|r| r.1.key).collect();
        assert_eq!(keys, [b"a", b"c"]);
        buffer.truncate(empty);
        assert!(buffer.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn what_is_encoded_is_decoded(
            records in prop::collection::vec(
                (any::<u32>(), prop::collection::vec(any::<u8>(), 0..40), 0u8..3, prop::collection::vec(any::<u8>(), 0..200)),
                0..30,
            ),
            workers in 1usize..5,
        ) {
            let mut buffer = RecordBuffer::new();
            let mut expected = Vec::new();
            for (tree, key, kind, body) in &records {
                let change = match kind { 0 => Change::Put(body), 1 => Change::Patch(body), _ => Change::Delete };
                buffer.add(TreeId(*tree), key, change);
                expected.push(RowRecord { tree: TreeId(*tree), key, change });
            }
            let bytes = buffer.seal(GroupKind::Part, 9, -5).to_vec();
            let group = Group::decode(&bytes).unwrap();
            prop_assert_eq!((group.kind, group.stream, group.argument), (GroupKind::Part, 9, -5));
            let mut found = vec![None; expected.len()];
            for worker in 0..workers {
                let walked = group.for_each_of(worker, workers, |n, record| {
                    assert!(found[n as usize].replace(record).is_none(), "one worker per record");
                    Ok::<(), ()>(())
                });
                prop_assert_eq!(walked, Some(Ok(())));
            }
            prop_assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), expected);
        }

        #[test]
        fn any_bytes_are_refused_or_decoded(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 1u8..8) {
            let mut bytes = bytes;
            if bytes.len() >= 32 {
                bytes[0] = kind;
                bytes[2..4].copy_from_slice(&32u16.to_le_bytes());
                let len = bytes.len() as u32;
                bytes[8..12].copy_from_slice(&len.to_le_bytes());
            }
            if let Some(group) = Group::decode(&bytes) {
                let _ = group.for_each_of(0, 1, |_, _| Ok::<(), ()>(()));
            }
        }
    }
}
