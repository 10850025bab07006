//! `sys.dm_os_performance_counters`: what the engine counts, under the product's names.
//!
//! Two tables, [`SERVER`] for the instance and [`DATABASE`] for each database and `_Total`: object, counter, kind and the
//! function that reads it. What is shown is counted, or is of something that cannot happen here and is 0 ([`NEVER`]: tools
//! that know the product count on those names); what happens and is not counted is absent.

use super::{BIG, Column, INT, SystemView, ViewContext, int, text};
use crate::engine::{DatabaseEntry, Told};
use keel_node::DbStats;
use keel_query::usage::AllReads;
use keel_store::base::{CacheStats, PAGE_SIZE};
use keel_types::{SqlType, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// `cntr_type`
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// A value as it is.
    Raw = 65_792,
    /// A total since start-up: two samples give the rate.
    PerSecond = 272_696_576,
    /// Numerator of the `base` counter that follows.
    Ratio = 537_003_264,
    /// What the `base` counter that follows counts took together: two samples of both give the average.
    Average = 1_073_874_176,
    /// What the ratio before it is divided by.
    Base = 1_073_939_712,
}

use Kind::{Average, Base, PerSecond, Ratio, Raw};

/// One reading of the instance.
struct Server<'a> {
    cx: &'a ViewContext<'a>,
    cache: CacheStats,
    databases: &'a [Database],
}

impl Server<'_> {
    fn sum(&self, read: fn(&Database) -> u64) -> u64 {
        self.databases.iter().map(read).sum()
    }
    /// Reads of indexes and heaps since their databases were opened.
    fn reads(&self) -> AllReads {
        let mut all = AllReads::default();
        for database in self.databases {
            all.add(&database.entry.usage.reads());
        }
        all
    }
    fn lock_waits(&self) -> (u64, u64) {
        let waits = self.cx.engine.instance().locks().wait_stats();
        let ms = |w: &keel_store::lock::WaitStat| w.total.as_millis() as u64;
        (waits.iter().map(|w| w.waits).sum(), waits.iter().map(ms).sum())
    }
    fn plan_bytes(&self) -> u64 {
        self.cx.engine.programs.all().iter().map(|p| p.kept_bytes() as u64).sum()
    }
    fn memory_kb(&self) -> u64 {
        (self.cache.bytes + self.cx.engine.instance().delta_bytes()) / 1024
    }
}

/// One reading of a database.
struct Database {
    entry: Arc<DatabaseEntry>,
    stats: DbStats,
    page_reads: u64,
}

struct ServerCounter {
    object: &'static str,
    name: &'static str,
    instance: &'static str,
    kind: Kind,
    read: fn(&Server<'_>) -> u64,
}

const fn c(
    object: &'static str,
    name: &'static str,
    kind: Kind,
    read: fn(&Server<'_>) -> u64,
) -> ServerCounter {
    ServerCounter { object, name, instance: "", kind, read }
}

/// A counter of an instance that the product names.
const fn of(
    instance: &'static str,
    object: &'static str,
    name: &'static str,
    kind: Kind,
    read: fn(&Server<'_>) -> u64,
) -> ServerCounter {
    ServerCounter { object, name, instance, kind, read }
}

const fn lock(name: &'static str, read: fn(&Server<'_>) -> u64) -> ServerCounter {
    ServerCounter { object: "Locks", name, instance: "_Total", kind: PerSecond, read }
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

static SERVER: &[ServerCounter] = &[
    c("SQL Statistics", "Batch Requests/sec", PerSecond, |s| s.cx.engine.requests()),
    c("SQL Statistics", "SQL Compilations/sec", PerSecond, |s| {
        let programs = &s.cx.engine.programs;
        load(&programs.misses) + load(&programs.compiled_modules)
    }),
    c("SQL Statistics", "SQL Re-Compilations/sec", PerSecond, |s| load(&s.cx.engine.programs.recompilations)),
    c("SQL Statistics", "Auto-Param Attempts/sec", PerSecond, |s| {
        load(&s.cx.engine.programs.parameterized.attempts)
    }),
    c("SQL Statistics", "Failed Auto-Params/sec", PerSecond, |s| {
        load(&s.cx.engine.programs.parameterized.failed)
    }),
    c("SQL Statistics", "Safe Auto-Params/sec", PerSecond, |s| {
        load(&s.cx.engine.programs.parameterized.safe)
    }),
    c("SQL Statistics", "Unsafe Auto-Params/sec", PerSecond, |s| {
        load(&s.cx.engine.programs.parameterized.unsafe_)
    }),
    c("SQL Statistics", "Forced Parameterizations/sec", PerSecond, |s| {
        load(&s.cx.engine.programs.parameterized.forced)
    }),
    c("General Statistics", "User Connections", Raw, |s| s.cx.engine.sessions.all().len() as u64),
    c("General Statistics", "Logical Connections", Raw, |s| s.cx.engine.sessions.all().len() as u64),
    c("General Statistics", "Logins/sec", PerSecond, |s| load(&s.cx.engine.sessions.logins)),
    c("General Statistics", "Logouts/sec", PerSecond, |s| load(&s.cx.engine.sessions.logouts)),
    c("General Statistics", "Processes blocked", Raw, |s| {
        s.cx.engine.instance().locks().waiting().len() as u64
    }),
    c("General Statistics", "Transactions", Raw, |s| s.sum(open_transactions)),
    of("_Total", "Plan Cache", "Cache Hit Ratio", Ratio, |s| load(&s.cx.engine.programs.hits)),
    of("_Total", "Plan Cache", "Cache Hit Ratio Base", Base, |s| {
        load(&s.cx.engine.programs.hits) + load(&s.cx.engine.programs.misses)
    }),
    of("_Total", "Plan Cache", "Cache Object Counts", Raw, |s| {
        let (batches, modules) = s.cx.engine.programs.len();
        (batches + modules) as u64
    }),
    of("_Total", "Plan Cache", "Cache Pages", Raw, |s| s.plan_bytes().div_ceil(PAGE_SIZE as u64)),
    // Who has asked for nothing has missed nothing: tools divide by the base.
    c("Buffer Manager", "Buffer cache hit ratio", Ratio, |s| match s.cache.hits + s.cache.misses {
        0 => 1,
        _ => s.cache.hits,
    }),
    c("Buffer Manager", "Buffer cache hit ratio base", Base, |s| (s.cache.hits + s.cache.misses).max(1)),
    c("Buffer Manager", "Page lookups/sec", PerSecond, |s| s.cache.hits + s.cache.misses),
    c("Buffer Manager", "Page reads/sec", PerSecond, |s| s.sum(|d| d.page_reads)),
    c("Buffer Manager", "Page writes/sec", PerSecond, |s| s.sum(|d| d.stats.checkpoint_pages)),
    c("Buffer Manager", "Checkpoint pages/sec", PerSecond, |s| s.sum(|d| d.stats.checkpoint_pages)),
    c("Buffer Manager", "Database pages", Raw, |s| s.cache.pages),
    c("Buffer Manager", "Target pages", Raw, |s| s.cache.capacity_bytes / PAGE_SIZE as u64),
    c("Buffer Manager", "Page life expectancy", Raw, |s| {
        let instance = s.cx.engine.instance();
        instance.page_cache().page_life_expectancy(instance.env().clock.now())
    }),
    c("Memory Manager", "Total Server Memory (KB)", Raw, |s| s.memory_kb()),
    c("Memory Manager", "Target Server Memory (KB)", Raw, |s| {
        s.cx.engine.instance().memory_limit() as u64 / 1024
    }),
    c("Memory Manager", "Database Cache Memory (KB)", Raw, |s| s.cache.bytes / 1024),
    c("Memory Manager", "SQL Cache Memory (KB)", Raw, |s| s.plan_bytes() / 1024),
    c("Memory Manager", "Granted Workspace Memory (KB)", Raw, |s| {
        s.cx.engine.work_space().used_bytes() as u64 / 1024
    }),
    c("Memory Manager", "Maximum Workspace Memory (KB)", Raw, |s| {
        s.cx.engine.work_space().memory_bytes_max() as u64 / 1024
    }),
    c("Access Methods", "Full Scans/sec", PerSecond, |s| s.reads().scans),
    c("Access Methods", "Index Searches/sec", PerSecond, |s| s.reads().searches),
    c("Access Methods", "Table Lock Escalations/sec", PerSecond, |s| s.reads().escalations),
    of("Info Errors", "SQL Errors", "Errors/sec", PerSecond, |s| s.cx.engine.errors.told(Told::Message)),
    of("Kill Connection Errors", "SQL Errors", "Errors/sec", PerSecond, |s| {
        s.cx.engine.errors.told(Told::Fatal)
    }),
    of("User Errors", "SQL Errors", "Errors/sec", PerSecond, |s| s.cx.engine.errors.told(Told::Error)),
    of("_Total", "SQL Errors", "Errors/sec", PerSecond, |s| s.cx.engine.errors.all()),
    c("Transactions", "Transactions", Raw, |s| s.sum(open_transactions)),
    c("Transactions", "Version Store Size (KB)", Raw, |s| s.cx.engine.instance().delta_bytes() / 1024),
    lock("Lock Requests/sec", |s| s.cx.engine.instance().locks().requests()),
    lock("Lock Waits/sec", |s| s.lock_waits().0),
    lock("Lock Timeouts/sec", |s| s.cx.engine.instance().locks().timeouts()),
    lock("Number of Deadlocks/sec", |s| s.cx.engine.instance().locks().deadlocks()),
    lock("Lock Wait Time (ms)", |s| s.lock_waits().1),
    of("_Total", "Locks", "Average Wait Time (ms)", Average, |s| s.lock_waits().1),
    of("_Total", "Locks", "Average Wait Time Base", Base, |s| s.lock_waits().0),
];

/// What cannot happen here: pages are not split in place and rows leave nothing behind where they were, checkpoints write all
/// pages and none has to be written to make room, row locks do not become table locks, statements do not wait for working
/// memory, and no error takes a database offline.
static NEVER: &[(&str, &str, &str, Kind)] = &[
    ("Access Methods", "Page Splits/sec", "", PerSecond),
    ("Access Methods", "Forwarded Records/sec", "", PerSecond),
    ("Buffer Manager", "Lazy writes/sec", "", PerSecond),
    ("Buffer Manager", "Free list stalls/sec", "", PerSecond),
    ("Latches", "Latch Waits/sec", "", PerSecond),
    ("Latches", "Total Latch Wait Time (ms)", "", PerSecond),
    ("Latches", "Average Latch Wait Time (ms)", "", Average),
    ("Latches", "Average Latch Wait Time Base", "", Base),
    ("Memory Manager", "Memory Grants Pending", "", Raw),
    ("SQL Errors", "Errors/sec", "DB Offline Errors", PerSecond),
];

struct DatabaseCounter {
    name: &'static str,
    kind: Kind,
    read: fn(&Database) -> u64,
}

const fn d(name: &'static str, kind: Kind, read: fn(&Database) -> u64) -> DatabaseCounter {
    DatabaseCounter { name, kind, read }
}

fn open_transactions(d: &Database) -> u64 {
    d.entry.open_transactions.load(Ordering::Relaxed).into()
}

const NANOS_PER_MS: u64 = 1_000_000;
const PERCENT_LOG_USED: &str = "Percent Log Used";

static DATABASE: &[DatabaseCounter] = &[
    d("Data File(s) Size (KB)", Raw, |d| d.stats.data_pages * PAGE_SIZE as u64 / 1024),
    d("Log File(s) Size (KB)", Raw, |d| d.stats.log_file_bytes / 1024),
    d("Log File(s) Used Size (KB)", Raw, |d| d.stats.log_used_bytes / 1024),
    d(PERCENT_LOG_USED, Raw, |d| percent(d.stats.log_used_bytes, d.stats.log_file_bytes)),
    d("Active Transactions", Raw, open_transactions),
    d("Transactions/sec", PerSecond, |d| load(&d.entry.transactions)),
    d("Write Transactions/sec", PerSecond, |d| d.stats.commits),
    d("Log Flushes/sec", PerSecond, |d| d.stats.log.flushes),
    d("Log Bytes Flushed/sec", PerSecond, |d| d.stats.log.bytes_flushed),
    d("Log Flush Waits/sec", PerSecond, |d| d.stats.log.waits),
    d("Log Flush Wait Time", Raw, |d| d.stats.log.wait_nanos / NANOS_PER_MS),
    d("Log Flush Write Time (ms)", Raw, |d| d.stats.log.flush_nanos / NANOS_PER_MS),
    d("Log Growths", Raw, |d| d.stats.log.segments_created),
    d("Log Truncations", Raw, |d| d.stats.checkpoints),
];

fn percent(part: u64, whole: u64) -> u64 {
    (part * 100).checked_div(whole).unwrap_or(0).min(100)
}

pub(super) const COLUMNS: &[Column] = &[
    ("object_name", SqlType::NChar(128)),
    ("counter_name", SqlType::NChar(128)),
    ("instance_name", SqlType::NChar(128)),
    ("cntr_value", BIG),
    ("cntr_type", INT),
];

pub(super) static VIEWS: &[SystemView] =
    &[SystemView { schema: "sys", name: "dm_os_performance_counters", columns: COLUMNS, rows: counters }];

fn row(object: &str, name: &str, instance: &str, value: u64, kind: Kind) -> Vec<Value> {
    let pad = |s: &str| text(format!("{s:<128}"));
    let object = pad(&format!("SQLServer:{object}"));
    vec![object, pad(name), pad(instance), int(i64::try_from(value).unwrap_or(i64::MAX)), int(kind as i32)]
}

/// The rows of `dm_os_performance_counters`.
pub(super) fn counters(cx: &ViewContext<'_>) -> Vec<Vec<Value>> {
    let read = |entry: &Arc<DatabaseEntry>| Database {
        entry: Arc::clone(entry),
        stats: entry.store.stats(),
        page_reads: entry.store.store().base().io_stats().read_bytes / PAGE_SIZE as u64,
    };
    let databases: Vec<_> = cx.engine.databases().iter().map(read).collect();
    let server = Server { cx, cache: cx.engine.instance().page_cache().stats(), databases: &databases };
    let mut rows: Vec<_> =
        SERVER.iter().map(|c| row(c.object, c.name, c.instance, (c.read)(&server), c.kind)).collect();
    rows.extend(NEVER.iter().map(|(object, name, instance, kind)| row(object, name, instance, 0, *kind)));
    for counter in DATABASE {
        let total = if counter.name == PERCENT_LOG_USED {
            percent(server.sum(|d| d.stats.log_used_bytes), server.sum(|d| d.stats.log_file_bytes))
        } else {
            server.sum(counter.read)
        };
        rows.push(row("Databases", counter.name, "_Total", total, counter.kind));
        let own =
            |d: &Database| row("Databases", counter.name, &d.entry.name(), (counter.read)(d), counter.kind);
        rows.extend(databases.iter().map(own));
    }
    rows.extend(super::hadr_counters::rows(cx, row));
    rows.extend(super::mirroring::counters(cx, row));
    rows.extend(super::governor_counters::rows(cx, row));
    rows
}
