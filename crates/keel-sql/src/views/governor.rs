//! The resource governor: what is defined, what is in force, and what it counts.
//!
//! There is one volume: the data directory's. Figures of writes are 0, because sessions write to no data file.

use super::{BIG, BIT, Column, DATE, INT, NAME, SMALL, SystemView, ViewContext, bit, date, int, text};
use crate::engine::SessionShared;
use crate::governor::{Figures, Group, GroupDef, Pool, PoolDef, THROTTLED};
use keel_types::{SqlType, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;

type Rows = Vec<Vec<Value>>;

const FLOAT: SqlType = SqlType::Float;

const KEPT_POOL: &[Column] = &[
    ("pool_id", INT),
    ("name", NAME),
    ("min_cpu_percent", INT),
    ("max_cpu_percent", INT),
    ("min_memory_percent", INT),
    ("max_memory_percent", INT),
    ("cap_cpu_percent", INT),
    ("min_iops_per_volume", INT),
    ("max_iops_per_volume", INT),
];

const KEPT_GROUP: &[Column] = &[
    ("group_id", INT),
    ("name", NAME),
    ("importance", NAME),
    ("request_max_memory_grant_percent", INT),
    ("request_max_cpu_time_sec", INT),
    ("request_memory_grant_timeout_sec", INT),
    ("max_dop", INT),
    ("group_max_requests", INT),
    ("pool_id", INT),
    ("external_pool_id", INT),
    ("request_max_memory_grant_percent_numeric", FLOAT),
];

const POOL: &[Column] = &[
    ("pool_id", INT),
    ("name", NAME),
    ("statistics_start_time", DATE),
    ("total_cpu_usage_ms", BIG),
    ("cache_memory_kb", BIG),
    ("compile_memory_kb", BIG),
    ("used_memgrant_kb", BIG),
    ("total_memgrant_count", BIG),
    ("total_memgrant_timeout_count", BIG),
    ("active_memgrant_count", INT),
    ("active_memgrant_kb", BIG),
    ("memgrant_waiter_count", INT),
    ("max_memory_kb", BIG),
    ("used_memory_kb", BIG),
    ("target_memory_kb", BIG),
    ("out_of_memory_count", BIG),
    ("min_cpu_percent", INT),
    ("max_cpu_percent", INT),
    ("min_memory_percent", INT),
    ("max_memory_percent", INT),
    ("cap_cpu_percent", INT),
    ("min_iops_per_volume", INT),
    ("max_iops_per_volume", INT),
    ("read_io_queued_total", INT),
    ("read_io_issued_total", INT),
    ("read_io_completed_total", INT),
    ("read_io_throttled_total", INT),
    ("read_bytes_total", BIG),
    ("read_io_stall_total_ms", BIG),
    ("read_io_stall_queued_ms", BIG),
    ("write_io_queued_total", INT),
    ("write_io_issued_total", INT),
    ("write_io_completed_total", INT),
    ("write_io_throttled_total", INT),
    ("write_bytes_total", BIG),
    ("write_io_stall_total_ms", BIG),
    ("write_io_stall_queued_ms", BIG),
    ("io_issue_violations_total", BIG),
    ("io_issue_delay_total_ms", BIG),
    ("io_issue_ahead_total_ms", BIG),
    ("reserved_io_limited_by_volume_total", INT),
    ("io_issue_delay_non_throttled_total_ms", BIG),
    ("total_cpu_delayed_ms", BIG),
    ("total_cpu_active_ms", BIG),
    ("total_cpu_violation_delay_ms", BIG),
    ("total_cpu_violation_sec", BIG),
    ("total_cpu_usage_preemptive_ms", BIG),
];

const GROUP: &[Column] = &[
    ("group_id", INT),
    ("name", NAME),
    ("pool_id", INT),
    ("external_pool_id", INT),
    ("statistics_start_time", DATE),
    ("total_request_count", BIG),
    ("total_queued_request_count", BIG),
    ("active_request_count", INT),
    ("queued_request_count", INT),
    ("total_cpu_limit_violation_count", BIG),
    ("total_cpu_usage_ms", BIG),
    ("max_request_cpu_time_ms", BIG),
    ("blocked_task_count", INT),
    ("total_lock_wait_count", BIG),
    ("total_lock_wait_time_ms", BIG),
    ("total_query_optimization_count", BIG),
    ("total_suboptimal_plan_generation_count", BIG),
    ("total_reduced_memgrant_count", BIG),
    ("max_request_grant_memory_kb", BIG),
    ("active_parallel_thread_count", BIG),
    ("importance", NAME),
    ("request_max_memory_grant_percent", INT),
    ("request_max_cpu_time_sec", INT),
    ("request_memory_grant_timeout_sec", INT),
    ("group_max_requests", INT),
    ("max_dop", INT),
    ("effective_max_dop", INT),
    ("total_cpu_usage_preemptive_ms", BIG),
    ("request_max_memory_grant_percent_numeric", FLOAT),
];

const VOLUME: &[Column] = &[
    ("pool_id", INT),
    ("volume_name", NAME),
    ("read_io_queued_total", INT),
    ("read_io_issued_total", INT),
    ("read_ios_completed_total", INT),
    ("read_ios_throttled_total", INT),
    ("read_bytes_total", BIG),
    ("read_io_stall_total_ms", BIG),
    ("read_io_stall_queued_ms", BIG),
    ("write_io_queued_total", INT),
    ("write_io_issued_total", INT),
    ("write_io_completed_total", INT),
    ("write_io_throttled_total", INT),
    ("write_bytes_total", BIG),
    ("write_io_stall_total_ms", BIG),
    ("write_io_stall_queued_ms", BIG),
    ("io_issue_violations_total", BIG),
    ("io_issue_delay_total_ms", BIG),
    ("io_issue_ahead_total_ms", BIG),
    ("reserved_io_limited_by_volume_total", INT),
    ("io_issue_delay_non_throttled_total_ms", BIG),
];

const AFFINITY: &[Column] = &[("pool_id", INT), ("processor_group", SMALL), ("scheduler_mask", BIG)];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "resource_governor_configuration",
        columns: &[
            ("classifier_function_id", INT),
            ("is_enabled", BIT),
            ("max_outstanding_io_per_volume", INT),
        ],
        rows: |cx| {
            let settings = cx.engine.governor().kept().0.settings;
            vec![vec![int(settings.classifier), bit(settings.enabled), int(settings.outstanding_io)]]
        },
    },
    SystemView {
        schema: "sys",
        name: "resource_governor_resource_pools",
        columns: KEPT_POOL,
        rows: kept_pools,
    },
    SystemView {
        schema: "sys",
        name: "resource_governor_workload_groups",
        columns: KEPT_GROUP,
        rows: kept_groups,
    },
    SystemView {
        schema: "sys",
        name: "resource_governor_resource_pool_affinity",
        columns: AFFINITY,
        rows: |cx| cx.engine.governor().kept().0.pools.iter().flat_map(affinity).collect(),
    },
    SystemView {
        schema: "sys",
        name: "dm_resource_governor_configuration",
        columns: &[
            ("classifier_function_id", INT),
            ("is_reconfiguration_pending", BIT),
            ("max_outstanding_io_per_volume", INT),
        ],
        rows: |cx| {
            let (running, pending) = (cx.engine.governor().running(), cx.engine.governor().kept().1);
            vec![vec![int(running.classifier), bit(pending), int(running.outstanding_io)]]
        },
    },
    SystemView { schema: "sys", name: "dm_resource_governor_resource_pools", columns: POOL, rows: pools },
    SystemView {
        schema: "sys",
        name: "dm_exec_query_resource_semaphores",
        columns: SEMAPHORE,
        rows: semaphores,
    },
    SystemView { schema: "sys", name: "dm_resource_governor_workload_groups", columns: GROUP, rows: groups },
    SystemView {
        schema: "sys",
        name: "dm_resource_governor_resource_pool_volumes",
        columns: VOLUME,
        rows: volumes,
    },
    SystemView {
        schema: "sys",
        name: "dm_resource_governor_resource_pool_affinity",
        columns: AFFINITY,
        rows: |cx| cx.engine.governor().running().pools.iter().flat_map(|p| affinity(&p.def())).collect(),
    },
];

const SEMAPHORE: &[Column] = &[
    ("resource_semaphore_id", SMALL),
    ("target_memory_kb", BIG),
    ("max_target_memory_kb", BIG),
    ("total_memory_kb", BIG),
    ("available_memory_kb", BIG),
    ("granted_memory_kb", BIG),
    ("used_memory_kb", BIG),
    ("grantee_count", INT),
    ("waiter_count", INT),
    ("timeout_error_count", BIG),
    ("forced_grant_count", BIG),
    ("pool_id", INT),
];

fn kept_pools(cx: &ViewContext<'_>) -> Rows {
    let row = |p: &PoolDef| {
        let limits = [p.min_cpu, p.max_cpu, p.min_memory, p.max_memory, p.cap_cpu, p.min_iops, p.max_iops];
        [int(p.id), text(p.name.as_str())].into_iter().chain(limits.map(int)).collect()
    };
    cx.engine.governor().kept().0.pools.iter().map(row).collect()
}

fn kept_groups(cx: &ViewContext<'_>) -> Rows {
    let row = |g: &GroupDef| {
        let mut row = vec![int(g.id), text(g.name.as_str()), text(g.importance.name())];
        row.extend([int(g.max_grant_percent as i64), int(g.max_cpu_seconds), int(g.grant_timeout_seconds)]);
        row.extend([int(g.max_dop), int(g.max_requests), int(g.pool), int(DEFAULT_EXTERNAL_POOL)]);
        row.push(Value::Float(g.max_grant_percent));
        row
    };
    cx.engine.governor().kept().0.groups.iter().map(row).collect()
}

/// There are no external pools but the one that is always there.
const DEFAULT_EXTERNAL_POOL: i32 = 2;

/// A row for each 64 schedulers that a pool keeps to.
fn affinity(pool: &PoolDef) -> Rows {
    const PER_GROUP: u32 = 64;
    let mut masks: Vec<u64> = Vec::new();
    for scheduler in pool.schedulers.iter().flatten() {
        let group = (scheduler / PER_GROUP) as usize;
        masks.resize(masks.len().max(group + 1), 0);
        masks[group] |= 1 << (scheduler % PER_GROUP);
    }
    let rows = masks.into_iter().enumerate().filter(|(_, mask)| *mask != 0);
    rows.map(|(group, mask)| vec![int(pool.id), int(group as i64), int(mask.cast_signed())]).collect()
}

/// One reading of all groups.
pub(super) struct Reading {
    pub(super) pools: Vec<Arc<Pool>>,
    pub(super) groups: Vec<GroupReading>,
}

/// One of a group.
pub(super) struct GroupReading {
    pub(super) group: Arc<Group>,
    pub(super) figures: Figures,
    pub(super) active: i64,
    pub(super) queued: i64,
    pub(super) blocked: i64,
}

impl Reading {
    pub(super) fn of(cx: &ViewContext<'_>) -> Reading {
        let running = cx.engine.governor().running();
        let sessions: Vec<_> = cx.engine.sessions.all().into_iter().map(|s| (s.group().id, s)).collect();
        let waiting = cx.engine.instance().locks().waiting();
        let group = |group: &Arc<Group>| {
            let own = || sessions.iter().filter(|(id, _)| *id == group.id).map(|(_, s)| s);
            let is_queued = |s: &SessionShared| s.resting().is_some_and(|r| r.wait_type == THROTTLED);
            let is_running = |s: &&Arc<SessionShared>| s.running.load(Ordering::Relaxed);
            let queued = own().filter(|s| is_queued(s)).count() as i64;
            let blocked = own().filter(|s| waiting.iter().any(|w| w.agent == u64::from(s.id))).count() as i64;
            GroupReading {
                figures: group.figures(own().map(|s| &s.counts)),
                active: own().filter(is_running).count() as i64 - queued,
                queued,
                blocked,
                group: Arc::clone(group),
            }
        };
        Reading { groups: running.groups.iter().map(group).collect(), pools: running.pools.clone() }
    }

    /// The groups of a pool together.
    pub(super) fn pool(&self, pool: &Pool) -> Figures {
        let mut all = Figures::default();
        let own = self.groups.iter().filter(|g| g.group.pool.id == pool.id);
        own.for_each(|g| all.add(g.figures));
        all
    }
}

fn ms(us: u64) -> Value {
    int((us / 1000) as i64)
}

fn count(n: u64) -> Value {
    int(i32::try_from(n).unwrap_or(i32::MAX))
}

fn pools(cx: &ViewContext<'_>) -> Rows {
    let reading = Reading::of(cx);
    let row = |pool: &Arc<Pool>| {
        let (def, used) = (pool.def(), reading.pool(pool));
        let mut row = vec![int(pool.id), text(pool.name.as_str()), date(pool.started()), ms(used.cpu_us)];
        row.extend(memory(cx, pool));
        row.extend([def.min_cpu, def.max_cpu, def.min_memory, def.max_memory].map(int));
        row.extend([def.cap_cpu, def.min_iops, def.max_iops].map(int));
        row.extend(io(&used));
        row.extend([ms(used.delayed_us), ms(used.cpu_us), int(0), int(0), int(0)]);
        row
    };
    reading.pools.iter().map(row).collect()
}

fn kb(bytes: usize) -> Value {
    int((bytes / 1024) as i64)
}

/// `cache_memory_kb` to `out_of_memory_count`. Plans and what compiling them takes belong to no pool, and nobody waits for memory.
fn memory(cx: &ViewContext<'_>, pool: &Pool) -> Vec<Value> {
    let (all, own) = (cx.engine.work_space().pool_bytes(), &pool.memory);
    let used = own.used_bytes();
    let max = all * usize::try_from(pool.def().max_memory).unwrap_or(0) / 100;
    vec![
        int(0),
        int(0),
        kb(used),
        int(own.grants() as i64),
        int(0),
        int(own.statements() as i64),
        kb(used),
        int(0),
        kb(max),
        kb(used),
        kb(own.max_of(all)),
        int(own.out_of_memory() as i64),
    ]
}

/// Memory that statements take, pool by pool: none of them waits for it.
fn semaphores(cx: &ViewContext<'_>) -> Rows {
    let all = cx.engine.work_space().pool_bytes();
    let row = |pool: &Arc<Pool>| {
        let (target, used) = (pool.memory.max_of(all), pool.memory.used_bytes());
        let mut row =
            vec![int(0), kb(target), kb(target), kb(target), kb(target.saturating_sub(used)), kb(used)];
        row.extend([kb(used), int(pool.memory.statements() as i64), int(0), int(0), int(0), int(pool.id)]);
        row
    };
    cx.engine.governor().running().pools.iter().map(row).collect()
}

/// `read_io_queued_total` to `io_issue_delay_non_throttled_total_ms`.
fn io(used: &Figures) -> Vec<Value> {
    let reads = count(used.reads);
    let mut row = vec![int(0), reads.clone(), reads, int(0), int(used.read_bytes as i64), ms(used.read_us)];
    row.extend(std::iter::repeat_n(int(0), 13));
    row
}

fn volumes(cx: &ViewContext<'_>) -> Rows {
    let reading = Reading::of(cx);
    let volume = cx.engine.options().data_dir.display().to_string();
    let row = |pool: &Arc<Pool>| {
        let mut row = vec![int(pool.id), text(volume.as_str())];
        row.extend(io(&reading.pool(pool)));
        row
    };
    reading.pools.iter().map(row).collect()
}

fn groups(cx: &ViewContext<'_>) -> Rows {
    let row = |reading: &GroupReading| {
        let GroupReading { group, figures, active, queued, blocked } = reading;
        let def = group.def();
        let mut row = vec![int(group.id), text(group.name.as_str()), int(group.pool.id)];
        row.extend([int(DEFAULT_EXTERNAL_POOL), date(group.started()), int(figures.requests as i64)]);
        row.extend([int(figures.queued as i64), int(*active), int(*queued), int(figures.violations as i64)]);
        row.extend([ms(figures.cpu_us), ms(figures.request_cpu_us_max), int(*blocked)]);
        row.extend([
            int(figures.lock_waits as i64),
            ms(figures.lock_wait_us),
            int(figures.compilations as i64),
        ]);
        row.extend([int(0), int(group.memory.reduced() as i64), kb(group.memory.largest_bytes()), int(0)]);
        row.extend([
            text(def.importance.name()),
            int(def.max_grant_percent as i64),
            int(def.max_cpu_seconds),
        ]);
        row.extend([int(def.grant_timeout_seconds), int(def.max_requests), int(def.max_dop)]);
        // No plan is parallel.
        row.extend([int(1), int(0), Value::Float(def.max_grant_percent)]);
        row
    };
    Reading::of(cx).groups.iter().map(row).collect()
}
