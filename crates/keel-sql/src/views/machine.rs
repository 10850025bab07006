//! The machine and the process: processors, memory, schedulers. What the operating system knows is asked of it each time.
//!
//! A scheduler stands for a processor: sessions have threads of their own, and the kernel shares them out. What cannot be
//! asked is NULL, or 0 where the product's column takes no NULL.

use super::{BIG, BIT, Column, DATE, DESC, INT, NULL, SMALL, SystemView, ViewContext, bit, date, int, text};
use crate::engine::LoadRecord;
use crate::functions::server::MAX_CONNECTIONS;
use crate::program::Program;
use keel_store::base::PAGE_SIZE;
use keel_types::{Length, SqlType, Value};
use procfs::{Current, Meminfo};
use std::sync::Arc;
use std::sync::atomic::Ordering;

type Rows = Vec<Vec<Value>>;

const WORDS: SqlType = SqlType::NVarChar(Length::Limited(256));
const HANDLE: SqlType = SqlType::VarBinary(Length::Limited(64));

const SYS_INFO: &[Column] = &[
    ("cpu_ticks", BIG),
    ("ms_ticks", BIG),
    ("cpu_count", INT),
    ("hyperthread_ratio", INT),
    ("physical_memory_kb", BIG),
    ("virtual_memory_kb", BIG),
    ("committed_kb", BIG),
    ("committed_target_kb", BIG),
    ("visible_target_kb", BIG),
    ("stack_size_in_bytes", INT),
    ("os_quantum", BIG),
    ("os_error_mode", INT),
    ("os_priority_class", INT),
    ("max_workers_count", INT),
    ("scheduler_count", INT),
    ("scheduler_total_count", INT),
    ("deadlock_monitor_serial_number", INT),
    ("sqlserver_start_time_ms_ticks", BIG),
    ("sqlserver_start_time", DATE),
    ("affinity_type", INT),
    ("affinity_type_desc", DESC),
    ("process_kernel_time_ms", BIG),
    ("process_user_time_ms", BIG),
    ("time_source", INT),
    ("time_source_desc", DESC),
    ("virtual_machine_type", INT),
    ("virtual_machine_type_desc", DESC),
    ("softnuma_configuration", INT),
    ("softnuma_configuration_desc", DESC),
    ("process_physical_affinity", SqlType::NVarChar(Length::Limited(3072))),
    ("sql_memory_model", INT),
    ("sql_memory_model_desc", DESC),
    ("socket_count", INT),
    ("cores_per_socket", INT),
    ("numa_node_count", INT),
    ("container_type", INT),
    ("container_type_desc", DESC),
];

const SYS_MEMORY: &[Column] = &[
    ("total_physical_memory_kb", BIG),
    ("available_physical_memory_kb", BIG),
    ("total_page_file_kb", BIG),
    ("available_page_file_kb", BIG),
    ("system_cache_kb", BIG),
    ("kernel_paged_pool_kb", BIG),
    ("kernel_nonpaged_pool_kb", BIG),
    ("system_high_memory_signal_state", BIT),
    ("system_low_memory_signal_state", BIT),
    ("system_memory_state_desc", WORDS),
];

const PROCESS_MEMORY: &[Column] = &[
    ("physical_memory_in_use_kb", BIG),
    ("large_page_allocations_kb", BIG),
    ("locked_page_allocations_kb", BIG),
    ("total_virtual_address_space_kb", BIG),
    ("virtual_address_space_reserved_kb", BIG),
    ("virtual_address_space_committed_kb", BIG),
    ("virtual_address_space_available_kb", BIG),
    ("page_fault_count", BIG),
    ("memory_utilization_percentage", INT),
    ("available_commit_limit_kb", BIG),
    ("process_physical_memory_low", BIT),
    ("process_virtual_memory_low", BIT),
];

const CLERK: &[Column] = &[
    ("memory_clerk_address", HANDLE),
    ("type", DESC),
    ("name", WORDS),
    ("memory_node_id", SMALL),
    ("pages_kb", BIG),
    ("virtual_memory_reserved_kb", BIG),
    ("virtual_memory_committed_kb", BIG),
    ("awe_allocated_kb", BIG),
    ("shared_memory_reserved_kb", BIG),
    ("shared_memory_committed_kb", BIG),
    ("page_size_in_bytes", BIG),
    ("page_allocator_address", HANDLE),
    ("host_address", HANDLE),
];

const SCHEDULER: &[Column] = &[
    ("scheduler_address", HANDLE),
    ("parent_node_id", INT),
    ("scheduler_id", INT),
    ("cpu_id", SMALL),
    ("status", DESC),
    ("is_online", BIT),
    ("is_idle", BIT),
    ("preemptive_switches_count", INT),
    ("context_switches_count", INT),
    ("idle_switches_count", INT),
    ("current_tasks_count", INT),
    ("runnable_tasks_count", INT),
    ("current_workers_count", INT),
    ("active_workers_count", INT),
    ("work_queue_count", BIG),
    ("pending_disk_io_count", INT),
    ("load_factor", INT),
    ("yield_count", INT),
    ("last_timer_activity", BIG),
    ("failed_to_create_worker", BIT),
    ("active_worker_address", HANDLE),
    ("memory_object_address", HANDLE),
    ("task_memory_object_address", HANDLE),
    ("quantum_length_us", BIG),
    ("total_cpu_usage_ms", BIG),
    ("total_cpu_idle_capped_ms", BIG),
    ("total_scheduler_delay_ms", BIG),
    ("ideal_workers_limit", INT),
];

const RING: &[Column] = &[
    ("ring_buffer_address", HANDLE),
    ("ring_buffer_type", DESC),
    ("timestamp", BIG),
    ("record", super::TEXT),
];

const NODE: &[Column] = &[
    ("node_id", SMALL),
    ("node_state_desc", WORDS),
    ("memory_object_address", HANDLE),
    ("memory_clerk_address", HANDLE),
    ("io_completion_worker_address", HANDLE),
    ("memory_node_id", SMALL),
    ("cpu_affinity_mask", BIG),
    ("online_scheduler_count", SMALL),
    ("idle_scheduler_count", SMALL),
    ("active_worker_count", INT),
    ("avg_load_balance", INT),
    ("timer_task_affinity_mask", BIG),
    ("permanent_task_affinity_mask", BIG),
    ("resource_monitor_state", BIT),
    ("online_scheduler_mask", BIG),
    ("processor_group", SMALL),
    ("cpu_count", INT),
];

const MEMORY_NODE: &[Column] = &[
    ("memory_node_id", SMALL),
    ("virtual_address_space_reserved_kb", BIG),
    ("virtual_address_space_committed_kb", BIG),
    ("locked_page_allocations_kb", BIG),
    ("pages_kb", BIG),
    ("shared_memory_reserved_kb", BIG),
    ("shared_memory_committed_kb", BIG),
    ("cpu_affinity_mask", BIG),
    ("online_scheduler_mask", BIG),
    ("processor_group", SMALL),
    ("foreign_committed_kb", BIG),
    ("target_kb", BIG),
];

const CACHE: &[Column] = &[
    ("cache_address", HANDLE),
    ("name", WORDS),
    ("type", DESC),
    ("pages_kb", BIG),
    ("pages_in_use_kb", BIG),
    ("entries_count", BIG),
    ("entries_in_use_count", BIG),
];

const HOST: &[Column] = &[
    ("host_platform", WORDS),
    ("host_distribution", WORDS),
    ("host_release", WORDS),
    ("host_service_pack_level", WORDS),
    ("host_sku", INT),
    ("os_language_version", INT),
    ("host_architecture", WORDS),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "dm_os_host_info", columns: HOST, rows: host },
    SystemView { schema: "sys", name: "dm_os_sys_info", columns: SYS_INFO, rows: sys_info },
    SystemView { schema: "sys", name: "dm_os_sys_memory", columns: SYS_MEMORY, rows: sys_memory },
    SystemView { schema: "sys", name: "dm_os_process_memory", columns: PROCESS_MEMORY, rows: process_memory },
    SystemView { schema: "sys", name: "dm_os_memory_clerks", columns: CLERK, rows: clerks },
    SystemView { schema: "sys", name: "dm_os_schedulers", columns: SCHEDULER, rows: schedulers },
    SystemView { schema: "sys", name: "dm_os_ring_buffers", columns: RING, rows: ring_buffers },
    SystemView { schema: "sys", name: "dm_os_nodes", columns: NODE, rows: nodes },
    SystemView { schema: "sys", name: "dm_os_memory_nodes", columns: MEMORY_NODE, rows: memory_nodes },
    SystemView { schema: "sys", name: "dm_os_memory_cache_counters", columns: CACHE, rows: caches },
];

fn kb(bytes: u64) -> i64 {
    (bytes / 1024) as i64
}

/// The machine's memory in KB.
#[derive(Default)]
struct Memory {
    total: i64,
    available: i64,
    swap_total: i64,
    swap_free: i64,
    cached: i64,
}

/// Processors, and the machine's memory in MB.
pub(crate) fn size() -> (i64, i64) {
    (processors(), memory().total / 1024)
}

fn memory() -> Memory {
    let Ok(seen) = Meminfo::current() else { return Memory::default() };
    Memory {
        total: kb(seen.mem_total),
        available: kb(seen.mem_available.unwrap_or(seen.mem_free)),
        swap_total: kb(seen.swap_total),
        swap_free: kb(seen.swap_free),
        cached: kb(seen.cached),
    }
}

/// What the kernel has counted for this process; memory in KB, times in ms.
#[derive(Default)]
struct Process {
    resident: i64,
    virtual_size: i64,
    page_faults: i64,
    threads: i64,
    user_ms: i64,
    kernel_ms: i64,
}

fn process() -> Process {
    let Ok(stat) = procfs::process::Process::myself().and_then(|p| p.stat()) else {
        return Process::default();
    };
    let ms = |ticks: u64| (ticks * 1000 / procfs::ticks_per_second()) as i64;
    Process {
        resident: kb(stat.rss * procfs::page_size()),
        virtual_size: kb(stat.vsize),
        page_faults: (stat.minflt + stat.majflt) as i64,
        threads: stat.num_threads,
        user_ms: ms(stat.utime),
        kernel_ms: ms(stat.stime),
    }
}

fn processors() -> i64 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as i64)
}

/// The processor says that it belongs to a virtual machine.
fn is_virtual() -> bool {
    let seen = procfs::CpuInfo::current();
    seen.is_ok_and(|cpus| cpus.flags(0).is_some_and(|flags| flags.contains(&"hypervisor")))
}

/// `max server memory` in KB.
fn limit(cx: &ViewContext<'_>) -> i64 {
    kb(cx.engine.instance().memory_limit() as u64)
}

fn sys_info(cx: &ViewContext<'_>) -> Rows {
    let (cpus, memory, process) = (processors(), memory(), process());
    let ms = cx.engine.instance().env().clock.now().as_millis() as i64;
    let since_start =
        (cx.engine.now_local() - cx.engine.started()) / (keel_types::datetime::TICKS_PER_SECOND / 1000);
    let mut row = vec![NULL, int(ms), int(cpus), NULL, int(memory.total), int(process.virtual_size)];
    row.extend([int(process.resident), int(limit(cx)), int(limit(cx))]);
    // Stack, quantum, error mode and priority class are notions of another scheduler.
    row.extend([NULL, NULL, NULL, NULL, int(MAX_CONNECTIONS), int(cpus), int(cpus), NULL]);
    row.extend([
        int(ms - since_start),
        date(cx.engine.started()),
        int(2),
        text("AUTO"),
        int(process.kernel_ms),
        int(process.user_ms),
        int(0),
        text("QUERY_PERFORMANCE_COUNTER"),
    ]);
    let (kind, kind_name) = if is_virtual() { (1, "HYPERVISOR") } else { (0, "NONE") };
    row.extend([int(kind), text(kind_name), int(0), text("OFF"), NULL, int(1), text("CONVENTIONAL")]);
    // Sockets, cores in each, memory nodes, containers.
    row.extend([NULL, NULL, NULL, NULL, NULL]);
    vec![row]
}

fn sys_memory(_: &ViewContext<'_>) -> Rows {
    let seen = memory();
    // The kernel starts to take memory back where a few hundredths are left.
    let low = seen.available < seen.total / 20;
    let state = if low { "Available physical memory is low" } else { "Available physical memory is high" };
    let (swap, free) = (seen.total + seen.swap_total, seen.available + seen.swap_free);
    let mut row = vec![int(seen.total), int(seen.available), int(swap), int(free), int(seen.cached)];
    row.extend([int(0), int(0), bit(!low), bit(low), text(state)]);
    vec![row]
}

fn process_memory(cx: &ViewContext<'_>) -> Rows {
    /// Bytes of addresses that a process has on the processors that are supported.
    const ADDRESSES: u64 = 1 << 47;
    let (process, limit, machine) = (process(), limit(cx), memory());
    let all = kb(ADDRESSES);
    let utilization = 100 * process.resident.min(limit) / limit.max(1);
    let mut row = vec![int(process.resident), int(0), int(0), int(all)];
    row.extend([int(process.virtual_size), int(process.resident), int(all - process.virtual_size)]);
    row.extend([int(process.page_faults), int(utilization), int(machine.available + machine.swap_free)]);
    row.extend([bit(process.resident > limit), bit(false)]);
    vec![row]
}

fn clerks(cx: &ViewContext<'_>) -> Rows {
    let instance = cx.engine.instance();
    let redo = cx.engine.databases().iter().map(|database| database.store.stats().redo_held_bytes).sum();
    let clerk = |kind: &str, bytes: u64| {
        let mut row = vec![NULL, text(kind), text("Default"), int(0), int(kb(bytes)), int(0), int(0)];
        row.extend([int(0), int(0), int(0), int(PAGE_SIZE as i64), NULL, NULL]);
        row
    };
    vec![
        clerk("MEMORYCLERK_SQLBUFFERPOOL", instance.page_cache().stats().bytes),
        clerk("MEMORYCLERK_XTP", instance.delta_bytes()),
        clerk("MEMORYCLERK_SQLLOGPOOL", redo),
    ]
}

/// Times that the kernel took a thread of this process from a processor, or that a thread gave it back.
fn switches() -> Option<i64> {
    let mut sum = 0;
    for task in procfs::process::Process::myself().and_then(|p| p.tasks()).ok()? {
        // A thread may end meanwhile.
        let Ok(status) = task.and_then(|t| t.status()) else { continue };
        sum += status.voluntary_ctxt_switches.unwrap_or(0) + status.nonvoluntary_ctxt_switches.unwrap_or(0);
    }
    i64::try_from(sum).ok()
}

/// Sessions that run a request are tasks, those of them that wait for no lock are runnable; both are shared out evenly,
/// and so are the process's threads, their processor time and the kernel's switches between them.
fn schedulers(cx: &ViewContext<'_>) -> Rows {
    let (cpus, process, switches) = (processors(), process(), switches());
    let (threads, time) = (process.threads, process.user_ms + process.kernel_ms);
    let sessions = cx.engine.sessions.all();
    let running = sessions.iter().filter(|s| s.running.load(Ordering::Relaxed)).count() as i64;
    let waiting = cx.engine.instance().locks().waiting().len() as i64;
    let share = |n: i64, of: i64| n / cpus + i64::from(of < n % cpus);
    let row = |n: i64| {
        let runnable = share((running - waiting).max(0), n);
        let mut row = vec![
            NULL,
            int(0),
            int(n),
            int(n),
            text("VISIBLE ONLINE"),
            bit(true),
            bit(share(running, n) == 0),
        ];
        let switched = switches.map(|all| share(all, n).min(i32::MAX.into()));
        row.extend([int(0), switched.map_or(NULL, int), NULL, int(share(running, n))]);
        row.extend([int((runnable - 1).max(0)), int(share(threads, n)), int(runnable), int(0)]);
        // Reads and writes are of threads that wait for them; the load is what there is to run.
        row.extend([int(0), int(share(running, n)), NULL, NULL, bit(false), NULL, NULL, NULL, NULL]);
        row.extend([int(share(time, n)), NULL, NULL, NULL]);
        row
    };
    (0..cpus).map(row).collect()
}

/// The load of the processors: the one buffer that there is.
fn ring_buffers(cx: &ViewContext<'_>) -> Rows {
    const PER_MS: u64 = 10_000;
    let record = |r: &LoadRecord| {
        let record = format!(
            "<Record id = \"{}\" type =\"RING_BUFFER_SCHEDULER_MONITOR\" time =\"{}\"><SchedulerMonitorEvent><SystemHealth>\
             <ProcessUtilization>{}</ProcessUtilization><SystemIdle>{}</SystemIdle><UserModeTime>{}</UserModeTime>\
             <KernelModeTime>{}</KernelModeTime><PageFaults>{}</PageFaults><WorkingSetDelta>{}</WorkingSetDelta>\
             </SystemHealth></SchedulerMonitorEvent></Record>",
            r.id,
            r.at_ms,
            r.process,
            r.idle,
            r.user_ms * PER_MS,
            r.kernel_ms * PER_MS,
            r.page_faults,
            r.memory_change,
        );
        let at = i64::try_from(r.at_ms).unwrap_or(i64::MAX);
        vec![NULL, text("RING_BUFFER_SCHEDULER_MONITOR"), int(at), text(record)]
    };
    cx.engine.load.records().iter().map(record).collect()
}

/// All processors are one node: threads run where the kernel puts them.
fn nodes(cx: &ViewContext<'_>) -> Rows {
    let cpus = processors();
    let sessions = cx.engine.sessions.all();
    let running = sessions.iter().filter(|s| s.running.load(Ordering::Relaxed)).count() as i64;
    let mut row = vec![int(0), text("ONLINE"), NULL, NULL, NULL, int(0), NULL];
    row.extend([int(cpus), int((cpus - running).max(0)), int(running), int(running / cpus)]);
    row.extend([NULL, NULL, bit(false), NULL, int(0), int(cpus)]);
    vec![row]
}

fn memory_nodes(cx: &ViewContext<'_>) -> Rows {
    let process = process();
    let pages = kb(cx.engine.instance().page_cache().stats().bytes);
    let mut row = vec![int(0), int(process.virtual_size), int(process.resident), int(0), int(pages)];
    row.extend([int(0), int(0), NULL, NULL, int(0), int(0), int(limit(cx))]);
    vec![row]
}

/// Plans, by whether they are a module's.
fn caches(cx: &ViewContext<'_>) -> Rows {
    let (modules, texts): (Vec<_>, Vec<_>) =
        cx.engine.programs.all().into_iter().partition(|p| p.identity.object_id != 0);
    let row = |name: &str, kind: &str, programs: Vec<Arc<Program>>| {
        // Held here and by the cache; whoever else holds one runs it.
        let used = || programs.iter().filter(|p| Arc::strong_count(p) > 2);
        let kept = |p: &Arc<Program>| p.kept_bytes() as u64;
        let mut row = vec![NULL, text(name), text(kind), int(kb(programs.iter().map(kept).sum()))];
        row.extend([int(kb(used().map(kept).sum())), int(programs.len() as i64), int(used().count() as i64)]);
        row
    };
    vec![row("Object Plans", "CACHESTORE_OBJCP", modules), row("SQL Plans", "CACHESTORE_SQLCP", texts)]
}

/// Name and version of the distribution, by `os-release`.
fn host(_: &ViewContext<'_>) -> Rows {
    let told = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let value = |key: &str| {
        let line = told.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or("").trim_matches('"').to_owned()
    };
    let architecture = if cfg!(target_arch = "x86_64") { "X64" } else { "ARM64" };
    let mut row = vec![text("Linux"), text(value("NAME")), text(value("VERSION_ID")), text("")];
    row.extend([NULL, int(0), text(architecture)]);
    vec![row]
}
