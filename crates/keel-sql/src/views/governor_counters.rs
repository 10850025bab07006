//! Counters of resource pools and workload groups in `sys.dm_os_performance_counters`.
//!
//! Percentages of processor time are milliseconds used since the figures were last reset, and as their base those that all
//! processors together have had since: two samples give the percentage of the time between them.

use super::ViewContext;
use super::counters::Kind::{self, Base, PerSecond, Ratio, Raw};
use super::governor::{GroupReading, Reading};
use crate::governor::{Figures, Pool};
use keel_types::Value;
use keel_types::datetime::TICKS_PER_SECOND;

const POOL: &str = "Resource Pool Stats";
const GROUP: &str = "Workload Group Stats";

type Row = fn(&str, &str, &str, u64, Kind) -> Vec<Value>;

/// The rows, each made by `row`.
pub(super) fn rows(cx: &ViewContext<'_>, row: Row) -> Vec<Vec<Value>> {
    let reading = Reading::of(cx);
    let mut rows = Vec::new();
    for pool in &reading.pools {
        for (name, value, kind) in pool_counters(cx, &reading, pool) {
            rows.push(row(POOL, name, &pool.name, value, kind));
        }
    }
    for group in &reading.groups {
        for (name, value, kind) in group_counters(cx, group) {
            rows.push(row(GROUP, name, &group.group.name, value, kind));
        }
    }
    rows
}

/// Milliseconds that all processors together have had since.
fn processor_ms(cx: &ViewContext<'_>, since: i64) -> u64 {
    let elapsed = (cx.engine.now_local() - since).max(0) / (TICKS_PER_SECOND / 1000);
    (elapsed as u64 * cx.engine.governor().schedulers() as u64).max(1)
}

/// Of the time that requests ran or were held up, percent that they were held up.
fn effect(figures: &Figures) -> u64 {
    (figures.delayed_us * 100).checked_div(figures.delayed_us + figures.cpu_us).unwrap_or(0)
}

fn pool_counters(cx: &ViewContext<'_>, reading: &Reading, pool: &Pool) -> Vec<(&'static str, u64, Kind)> {
    let (figures, memory) = (reading.pool(pool), &pool.memory);
    let all = cx.engine.work_space().pool_bytes();
    let base = processor_ms(cx, pool.started());
    let kb = |bytes: usize| bytes as u64 / 1024;
    let (target, used) = (kb(memory.max_of(all)), kb(memory.used_bytes()));
    let max = all as u64 / 1024 * u64::try_from(pool.def().max_memory).unwrap_or(0) / 100;
    let target_percent = u64::try_from(cx.engine.governor().cpu_target_percent(pool)).unwrap_or(0);
    vec![
        ("CPU usage %", figures.cpu_us / 1000, Ratio),
        ("CPU usage % base", base, Base),
        ("CPU usage target %", target_percent, Raw),
        ("CPU control effect %", effect(&figures), Raw),
        ("CPU delayed %", figures.delayed_us / 1000, Ratio),
        ("CPU delayed % base", base, Base),
        ("Max memory (KB)", max, Raw),
        ("Target memory (KB)", target, Raw),
        ("Used memory (KB)", used, Raw),
        ("Query exec memory target (KB)", target, Raw),
        ("Memory grants/sec", memory.grants(), PerSecond),
        ("Memory grant timeouts/sec", 0, PerSecond),
        ("Active memory grants count", memory.statements() as u64, Raw),
        ("Active memory grant amount (KB)", used, Raw),
        ("Pending memory grants count", 0, Raw),
        ("Disk Read IO/sec", figures.reads, PerSecond),
        ("Disk Read Bytes/sec", figures.read_bytes, PerSecond),
    ]
}

fn group_counters(cx: &ViewContext<'_>, reading: &GroupReading) -> Vec<(&'static str, u64, Kind)> {
    let (group, figures) = (&reading.group, &reading.figures);
    let base = processor_ms(cx, group.started());
    let now = |n: i64| u64::try_from(n).unwrap_or(0);
    vec![
        ("CPU usage %", figures.cpu_us / 1000, Ratio),
        ("CPU usage % base", base, Base),
        ("CPU delayed %", figures.delayed_us / 1000, Ratio),
        ("CPU delayed % base", base, Base),
        ("Queued requests", now(reading.queued), Raw),
        ("Active requests", now(reading.active), Raw),
        ("Requests completed/sec", figures.requests, PerSecond),
        ("Max request cpu time (ms)", figures.request_cpu_us_max / 1000, Raw),
        ("Blocked tasks", now(reading.blocked), Raw),
        ("Reduced memory grants/sec", group.memory.reduced(), PerSecond),
        ("Max request memory grant (KB)", group.memory.largest_bytes() as u64 / 1024, Raw),
        ("Query optimizations/sec", figures.compilations, PerSecond),
        ("Suboptimal plans/sec", 0, PerSecond),
        ("Active parallel threads", 0, Raw),
    ]
}
