//! Volumes, directories and files as the operating system shows them: `dm_os_volume_stats`, the drives, and what tools ask when
//! they let somebody choose a file.

use super::{BIG, BIT, INT, NULL, SystemView, TINY, ViewContext, bit, int, text};
use crate::host::{self, Volume};
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

const PATH: SqlType = SqlType::NVarChar(Length::Limited(512));
const STAMP: SqlType = SqlType::DateTime2(7);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "dm_os_volume_stats",
        columns: &[
            ("database_id", INT),
            ("file_id", INT),
            ("volume_mount_point", PATH),
            ("volume_id", PATH),
            ("logical_volume_name", PATH),
            ("file_system_type", PATH),
            ("total_bytes", BIG),
            ("available_bytes", BIG),
            ("supports_compression", TINY),
            ("supports_alternate_streams", TINY),
            ("supports_sparse_files", TINY),
            ("is_read_only", TINY),
            ("is_compressed", TINY),
            ("incurs_seek_penalty", TINY),
        ],
        rows: volume_stats,
    },
    SystemView {
        schema: "sys",
        name: "dm_os_enumerate_fixed_drives",
        columns: &[
            ("fixed_drive_path", PATH),
            ("drive_type", INT),
            ("drive_type_desc", PATH),
            ("free_space_in_bytes", BIG),
        ],
        rows: fixed_drives,
    },
    SystemView {
        schema: "sys",
        name: "dm_os_file_exists",
        columns: &[("file_exists", INT), ("file_is_a_directory", INT), ("parent_directory_exists", INT)],
        rows: file_exists,
    },
    SystemView {
        schema: "sys",
        name: "dm_os_enumerate_filesystem",
        columns: &[
            ("full_filesystem_path", PATH),
            ("parent_directory", PATH),
            ("file_or_directory_name", PATH),
            ("level", INT),
            ("is_directory", BIT),
            ("is_read_only", BIT),
            ("is_system", BIT),
            ("is_hidden", BIT),
            ("has_integrity_stream", BIT),
            ("is_temporary", BIT),
            ("is_sparse", BIT),
            ("creation_time", STAMP),
            ("last_access_time", STAMP),
            ("last_write_time", STAMP),
            ("size_in_bytes", BIG),
        ],
        rows: filesystem,
    },
];

/// `dm_os_volume_stats(database, file)`: where that file lies.
fn volume_stats(cx: &ViewContext<'_>) -> Rows {
    let volume = |id: i64, file: i64, path: &std::path::Path| -> Option<Vec<Value>> {
        let v = Volume::of(path)?;
        let mut row = vec![int(id), int(file), text(v.mount_point), NULL, NULL, text(v.kind)];
        row.extend([int(v.total_bytes), int(v.available_bytes), int(0), int(0), int(1)]);
        row.extend([int(i64::from(v.read_only)), int(0), NULL]);
        Some(row)
    };
    let files = super::io::selected(cx);
    files.iter().filter_map(|(d, file)| volume(d.id.0.into(), *file, d.store.dir())).collect()
}

/// The drive here is the volume that holds the data directory: others are nothing the server writes to.
fn fixed_drives(cx: &ViewContext<'_>) -> Rows {
    let volume = Volume::of(&cx.engine.options().data_dir);
    let row = |v: Volume| vec![text(v.mount_point), int(3), text("DRIVE_FIXED"), int(v.available_bytes)];
    volume.map(row).into_iter().collect()
}

fn argument<'a>(cx: &'a ViewContext<'_>, at: usize) -> Option<&'a str> {
    cx.args.get(at)?.as_str()
}

/// `dm_os_file_exists(path)`
fn file_exists(cx: &ViewContext<'_>) -> Rows {
    let Some(path) = argument(cx, 0).map(std::path::Path::new) else { return Vec::new() };
    let yes = |b: bool| int(i64::from(b));
    let parent = path.parent().is_some_and(std::path::Path::is_dir);
    vec![vec![yes(path.is_file()), yes(path.is_dir()), yes(parent)]]
}

/// `dm_os_enumerate_filesystem(directory, pattern)`: what is in a directory, not in those below it.
fn filesystem(cx: &ViewContext<'_>) -> Rows {
    let Some(directory) = argument(cx, 0) else { return Vec::new() };
    let pattern = argument(cx, 1).unwrap_or("*");
    let row = |e: host::Entry| {
        let hidden = e.name.starts_with('.');
        let mut row = vec![text(e.path), text(directory), text(e.name), int(0)];
        row.extend([bit(e.is_directory), bit(e.read_only), bit(false), bit(hidden)]);
        row.extend([bit(false), bit(false), bit(false)]);
        let stamp = |nanos: Option<i64>| {
            nanos.map_or(NULL, |n| Value::DateTime(crate::clock::unix_to_local_ticks(n.into())))
        };
        row.extend([stamp(e.created), stamp(e.accessed), stamp(e.written), int(e.bytes)]);
        row
    };
    host::entries(directory.as_ref(), pattern).into_iter().map(row).collect()
}
