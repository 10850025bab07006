//! The machine, the process, plans and statistics as tools ask for them.

use super::{
    BIG, BIT, Column, DATE, DESC, INT, NAME, NULL, SMALL, SystemView, TINY, VARIANT, ViewContext, bit, date,
    int, text,
};
use crate::catalog::DatabaseSettings;
use crate::functions::variant;
use crate::hadr::{EndpointAddress, EndpointState, ListenerCondition};
use crate::scoped;
use keel_node::CATALOG_TREE;
use keel_node::detached::{Files, files as files_of};
use keel_query::catalog::IndexKind;
use keel_store::base::PAGE_SIZE;
use keel_types::datetime::language::{LANGUAGES, Language};
use keel_types::functions::{ZONES, Zone};
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

const WORDS: SqlType = SqlType::NVarChar(Length::Limited(256));

const PARTITION_STATS: &[Column] = &[
    ("partition_id", BIG),
    ("object_id", INT),
    ("index_id", INT),
    ("partition_number", INT),
    ("in_row_data_page_count", BIG),
    ("in_row_used_page_count", BIG),
    ("in_row_reserved_page_count", BIG),
    ("lob_used_page_count", BIG),
    ("lob_reserved_page_count", BIG),
    ("row_overflow_used_page_count", BIG),
    ("row_overflow_reserved_page_count", BIG),
    ("used_page_count", BIG),
    ("reserved_page_count", BIG),
    ("row_count", BIG),
];

const ALLOCATION_UNIT: &[Column] = &[
    ("allocation_unit_id", BIG),
    ("type", TINY),
    ("type_desc", DESC),
    ("container_id", BIG),
    ("data_space_id", INT),
    ("total_pages", BIG),
    ("used_pages", BIG),
    ("data_pages", BIG),
];

const PHYSICAL_STATS: &[Column] = &[
    ("database_id", SMALL),
    ("object_id", INT),
    ("index_id", INT),
    ("partition_number", INT),
    ("index_type_desc", DESC),
    ("alloc_unit_type_desc", DESC),
    ("index_depth", TINY),
    ("index_level", TINY),
    ("avg_fragmentation_in_percent", SqlType::Float),
    ("fragment_count", BIG),
    ("avg_fragment_size_in_pages", SqlType::Float),
    ("page_count", BIG),
    ("avg_page_space_used_in_percent", SqlType::Float),
    ("record_count", BIG),
    ("ghost_record_count", BIG),
    ("version_ghost_record_count", BIG),
    ("min_record_size_in_bytes", INT),
    ("max_record_size_in_bytes", INT),
    ("avg_record_size_in_bytes", SqlType::Float),
    ("forwarded_record_count", BIG),
    ("compressed_page_count", BIG),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "dm_db_partition_stats",
        columns: PARTITION_STATS,
        rows: partition_stats,
    },
    SystemView { schema: "sys", name: "allocation_units", columns: ALLOCATION_UNIT, rows: allocation_units },
    SystemView {
        schema: "sys",
        name: "system_internals_allocation_units",
        columns: ALLOCATION_UNIT,
        rows: allocation_units,
    },
    SystemView {
        schema: "sys",
        name: "dm_db_index_physical_stats",
        columns: PHYSICAL_STATS,
        rows: physical_stats,
    },
    SystemView {
        schema: "sys",
        name: "dm_db_stats_properties",
        columns: &[
            ("object_id", INT),
            ("stats_id", INT),
            ("last_updated", SqlType::DateTime2(7)),
            ("rows", BIG),
            ("rows_sampled", BIG),
            ("steps", INT),
            ("unfiltered_rows", BIG),
            ("modification_counter", BIG),
            ("persisted_sample_percent", SqlType::Float),
        ],
        rows: stats_properties,
    },
    SystemView {
        schema: "sys",
        name: "dm_server_services",
        columns: &[
            ("servicename", WORDS),
            ("startup_type", INT),
            ("startup_type_desc", WORDS),
            ("status", INT),
            ("status_desc", WORDS),
            ("process_id", INT),
            ("last_startup_time", SqlType::DateTimeOffset(7)),
            ("service_account", WORDS),
            ("is_clustered", SqlType::NVarChar(Length::Limited(1))),
            ("cluster_nodename", WORDS),
            ("filename", WORDS),
            ("instant_file_initialization_enabled", SqlType::NVarChar(Length::Limited(1))),
        ],
        rows: |cx| {
            let program = std::env::current_exe().unwrap_or_default().display().to_string();
            let service = |name: &str, runs: bool| {
                let (status, word) = if runs { (4, "Running") } else { (1, "Stopped") };
                let mut row = vec![text(name), int(2), text("Automatic"), int(status), text(word)];
                let process = if runs { int(std::process::id()) } else { NULL };
                row.extend([process, NULL, text(""), text("N"), NULL, text(program.as_str()), text("N")]);
                row
            };
            vec![
                service("SQL Server (MSSQLSERVER)", true),
                service("SQL Server Agent (MSSQLSERVER)", cx.engine.agent().is_attached()),
            ]
        },
    },
    SystemView {
        schema: "sys",
        name: "dm_clr_properties",
        columns: &[("name", NAME), ("value", NAME)],
        rows: |_| Vec::new(),
    },
    SystemView {
        schema: "sys",
        name: "database_scoped_configurations",
        columns: &[
            ("configuration_id", INT),
            ("name", DESC),
            ("value", VARIANT),
            ("value_for_secondary", VARIANT),
            ("is_value_default", BIT),
        ],
        rows: |cx| {
            let entry = cx.info.current_database();
            scoped_configurations(entry.picture().settings())
        },
    },
    SystemView {
        schema: "sys",
        name: "time_zone_info",
        columns: &[
            ("name", NAME),
            ("current_utc_offset", SqlType::NVarChar(Length::Limited(6))),
            ("is_currently_dst", BIT),
        ],
        rows: |cx| {
            let now = cx.engine.now_utc();
            ZONES.iter().map(|zone| time_zone(zone, now)).collect()
        },
    },
    SystemView {
        schema: "sys",
        name: "syslanguages",
        columns: &[
            ("langid", SMALL),
            ("dateformat", SqlType::NChar(3)),
            ("datefirst", TINY),
            ("upgrade", INT),
            ("name", NAME),
            ("alias", NAME),
            ("months", SqlType::NVarChar(Length::Limited(372))),
            ("shortmonths", SqlType::NVarChar(Length::Limited(132))),
            ("days", SqlType::NVarChar(Length::Limited(217))),
            ("lcid", INT),
            ("msglangid", SMALL),
        ],
        rows: |_| LANGUAGES.iter().map(language).collect(),
    },
    SystemView {
        schema: "sys",
        name: "syscurconfigs",
        columns: &[("value", INT), ("config", SMALL), ("comment", WORDS), ("status", SMALL)],
        rows: configurations,
    },
    SystemView {
        schema: "sys",
        name: "sysconfigures",
        columns: &[("value", INT), ("config", SMALL), ("comment", WORDS), ("status", SMALL)],
        rows: configurations,
    },
    SystemView {
        schema: "sys",
        name: "sysfiles",
        columns: &[
            ("fileid", SMALL),
            ("groupid", SMALL),
            ("size", INT),
            ("maxsize", INT),
            ("growth", INT),
            ("status", INT),
            ("perf", INT),
            ("name", NAME),
            ("filename", SqlType::NVarChar(Length::Limited(260))),
        ],
        rows: old_files,
    },
    SystemView {
        schema: "sys",
        name: "dm_os_windows_info",
        columns: &[
            ("windows_release", WORDS),
            ("windows_service_pack_level", WORDS),
            ("windows_sku", INT),
            ("os_language_version", INT),
        ],
        rows: |_| vec![vec![text(""), text(""), NULL, int(0)]],
    },
    SystemView {
        schema: "sys",
        name: "dm_tcp_listener_states",
        columns: &[
            ("listener_id", INT),
            ("ip_address", SqlType::NVarChar(Length::Limited(48))),
            ("is_ipv4", BIT),
            ("port", INT),
            ("type", TINY),
            ("type_desc", DESC),
            ("state", TINY),
            ("state_desc", DESC),
            ("start_time", DATE),
        ],
        rows: tcp_listeners,
    },
];

/// The instance's own sockets, those of listeners, and the endpoint's.
fn tcp_listeners(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Rows::new();
    let mut put = |address: std::net::SocketAddr, kind: i64, word: &str, since: i64| {
        let ip = address.ip();
        let mut row =
            vec![int(rows.len() as i64 + 1), text(ip.to_string()), bit(ip.is_ipv4()), int(address.port())];
        row.extend([int(kind), text(word), int(0), text("ONLINE"), date(since)]);
        rows.push(row);
    };
    for address in cx.engine.listening() {
        put(*address, 0, "TSQL", cx.engine.started());
    }
    let groups = super::hadr::state(cx);
    for socket in groups.groups.iter().flat_map(|g| &g.listeners).flat_map(|l| &l.sockets) {
        if socket.condition == ListenerCondition::Online {
            put(socket.address, 0, "TSQL", socket.since.unwrap_or_else(|| cx.engine.started()));
        }
    }
    let endpoints = cx.engine.endpoints().unwrap_or_default();
    for endpoint in endpoints.iter().filter(|e| e.state == EndpointState::Started) {
        let ip = match &endpoint.address {
            EndpointAddress::Ip(ip) => ip.parse().ok(),
            EndpointAddress::All => None,
        };
        let ip = ip.unwrap_or(std::net::IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED));
        put((ip, endpoint.port).into(), 2, "DATABASE_MIRRORING", cx.engine.started());
    }
    rows
}

/// An index with its rows and leaf pages.
struct Space {
    table: i32,
    index: i32,
    /// `partition_id`.
    id: i64,
    /// From 1.
    partition: i64,
    kind: IndexKind,
    rows: i64,
    pages: i64,
}

fn spaces(cx: &ViewContext<'_>) -> Vec<Space> {
    let root = cx.entry.store.store().base().root();
    let mut out = Vec::new();
    for t in super::columns::stored(cx) {
        for part in super::partitions::of_table(cx, &t) {
            // Pages are those of the one tree that holds all partitions: in proportion to the rows.
            let pages = cx.leaf_pages(&root, part.index.tree) as i64;
            let pages = if part.fanout == 1 { pages } else { pages * part.rows / part.all.max(1) };
            out.push(Space {
                table: t.object_id,
                index: part.index.index_id,
                id: part.id(),
                partition: part.number,
                kind: part.index.kind,
                rows: part.rows,
                pages,
            });
        }
    }
    out
}

/// The catalog's own rows, and all of [`spaces`].
fn spaces_with_catalog(cx: &ViewContext<'_>) -> Vec<Space> {
    let root = cx.entry.store.store().base().root();
    let catalog = Space {
        table: super::partitions::CATALOG_OBJECT,
        index: 1,
        id: CATALOG_TREE.0.into(),
        partition: 1,
        kind: IndexKind::Clustered,
        rows: super::partitions::catalog_rows(cx),
        pages: cx.leaf_pages(&root, CATALOG_TREE) as i64,
    };
    let mut all = spaces(cx);
    all.insert(0, catalog);
    all
}

fn partition_stats(cx: &ViewContext<'_>) -> Rows {
    let row = |s: Space| {
        let mut row =
            vec![int(s.id), int(s.table), int(s.index), int(s.partition), int(s.pages), int(s.pages)];
        row.extend([int(s.pages), int(0), int(0), int(0), int(0), int(s.pages), int(s.pages), int(s.rows)]);
        row
    };
    spaces_with_catalog(cx).into_iter().map(row).collect()
}

fn allocation_units(cx: &ViewContext<'_>) -> Rows {
    let row = |s: Space| {
        let mut row = vec![int(s.id), int(1), text("IN_ROW_DATA"), int(s.id), int(1)];
        row.extend([int(s.pages), int(s.pages), int(s.pages)]);
        row
    };
    spaces_with_catalog(cx).into_iter().map(row).collect()
}

/// Arguments: database, object, index, partition, mode. Pages are written in key order, so nothing is fragmented.
fn physical_stats(cx: &ViewContext<'_>) -> Rows {
    let wanted = |at: usize| cx.args.get(at).and_then(Value::as_int);
    if wanted(0).is_some_and(|id| id != 0 && id != i64::from(cx.entry.id.0)) {
        return Vec::new();
    }
    let fits = |s: &Space| {
        wanted(1).is_none_or(|id| id == 0 || id == i64::from(s.table))
            && wanted(2).is_none_or(|id| id < 0 || id == i64::from(s.index))
            && wanted(3).is_none_or(|n| n == 0 || n == s.partition)
    };
    let row = |s: Space| {
        let kind = match s.kind {
            IndexKind::Heap => "HEAP",
            IndexKind::Clustered => "CLUSTERED INDEX",
            IndexKind::Nonclustered => "NONCLUSTERED INDEX",
        };
        let mut row = vec![
            int(cx.entry.id.0),
            int(s.table),
            int(s.index),
            int(s.partition),
            text(kind),
            text("IN_ROW_DATA"),
        ];
        row.extend([
            int(1),
            int(0),
            Value::Float(0.0),
            int(i64::from(s.pages > 0)),
            Value::Float(s.pages as f64),
        ]);
        row.extend([int(s.pages), NULL, int(s.rows), int(0), int(0), NULL, NULL, NULL, NULL, int(0)]);
        row
    };
    spaces(cx).into_iter().filter(fits).map(row).collect()
}

fn stats_properties(cx: &ViewContext<'_>) -> Rows {
    let wanted = |at: usize| cx.args.get(at).and_then(Value::as_int);
    let mut rows = Vec::new();
    for t in super::columns::stored(cx).into_iter().filter(|t| wanted(0) == Some(t.object_id.into())) {
        let keys = t.indexes.iter().filter(|i| i.kind != IndexKind::Heap);
        let keys = keys.map(|i| (i.index_id, i.key.first().map_or(0, |k| k.column_id)));
        let made = t.statistics.iter().map(|s| (s.stats_id, s.columns.first().copied().unwrap_or(0)));
        let known = cx.engine.statistics.known(&cx.entry.store, &t);
        for (id, leading) in keys.chain(made) {
            if wanted(1).is_some_and(|w| w != i64::from(id)) {
                continue;
            }
            let mut row = vec![int(t.object_id), int(id)];
            match &known {
                // Nobody has asked yet.
                None => row.extend(std::iter::repeat_n(NULL, 7)),
                Some((known, then)) => {
                    let column = t.column_index(leading).and_then(|at| known.columns.get(at));
                    let steps = column.map_or(0, |c| c.steps.len() as i64);
                    let taken = crate::clock::unix_to_local_ticks(known.taken_unix_nanos);
                    let changed = cx.entry.usage.changes(&t).since(then, leading) as i64;
                    row.extend([Value::DateTime(taken), int(known.rows as i64), int(known.sampled as i64)]);
                    row.extend([int(steps), int(known.rows as i64), int(changed), Value::Float(0.0)]);
                }
            }
            rows.push(row);
        }
    }
    rows
}

/// `sys.database_scoped_configurations` of a database.
fn scoped_configurations(settings: &DatabaseSettings) -> Vec<Vec<Value>> {
    let shown = |value| match value {
        scoped::Value::Number(n) => variant(INT, Value::Int(i64::from(n))),
        scoped::Value::Switch(on) => variant(BIT, bit(on)),
        scoped::Value::Text(text) => variant(SqlType::NVarChar(Length::Limited(4000)), Value::str(text)),
    };
    let row = |c: &scoped::Configuration| {
        let (primary, copies) = c.in_force(settings);
        let default = primary == c.default && copies.is_none();
        vec![int(c.id), text(c.name), shown(primary), copies.map_or(NULL, shown), bit(default)]
    };
    scoped::CONFIGURATIONS.iter().map(row).collect()
}

/// A zone with its offset at a moment in UTC.
fn time_zone(zone: &Zone, now: i64) -> Vec<Value> {
    let offset = zone.offset_at(now);
    let sign = if offset < 0 { '-' } else { '+' };
    let written = format!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60);
    vec![text(zone.name), text(written), bit(zone.is_daylight(now))]
}

/// A row of `sys.syslanguages`.
fn language(of: &Language) -> Vec<Value> {
    let mut row =
        vec![int(of.id), text(of.order.name()), int(of.first), int(0), text(of.name), text(of.alias)];
    row.extend([of.months, of.short_months, of.days].map(text));
    row.extend([int(of.lcid), int(of.messages)]);
    row
}

fn configurations(cx: &ViewContext<'_>) -> Rows {
    let row = |o: &crate::config::ConfigurationOption| {
        vec![int(cx.engine.configuration(o.id).running), int(o.id), text(o.name), int(i64::from(o.dynamic))]
    };
    crate::config::OPTIONS.iter().map(row).collect()
}

fn old_files(cx: &ViewContext<'_>) -> Rows {
    let stats = cx.entry.store.stats();
    if let Some(snapshot) = cx.entry.snapshot() {
        let mut row = vec![int(1), int(1), int(stats.data_pages as i64), int(-1), int(0), int(0), int(0)];
        row.extend([text(snapshot.file.as_str()), text(snapshot.path.as_str())]);
        return vec![row];
    }
    let Files { data, log } = files_of(cx.entry.store.dir());
    let file = |id: i64, pages: u64, suffix: &str, file: &std::path::Path| {
        let mut row = vec![int(id), int(2 - id), int(pages as i64), int(-1), int(8192), int(0), int(0)];
        row.push(text(format!("{}{suffix}", cx.entry.file_name())));
        row.push(text(file.display().to_string()));
        row
    };
    vec![file(1, stats.data_pages, "", &data), file(2, stats.log_file_bytes / PAGE_SIZE as u64, "_log", &log)]
}
