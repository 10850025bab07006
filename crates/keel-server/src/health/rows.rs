//! The rows of `sp_server_diagnostics`, with the figures that are measured here under the product's names where it has them.

use keel_sql::diagnostics::{Component, ComponentKind};
use keel_sql::hadr::{HealthEvent, WaitTotal};

use super::judge::{Judge, Row, Sample, State};

/// Waits of each order that are told.
const TOP_WAITS: usize = 10;
/// Threads that wait for work, not work that waits.
const IDLE_WAITS: [&str; 4] =
    ["HADR_TIMER_TASK", "HADR_WORK_QUEUE", "HADR_LOGCAPTURE_WAIT", "PARALLEL_REDO_WORKER_WAIT_WORK"];

/// A component's XML: one element with attributes.
fn element(name: &str, attributes: &[(&str, String)]) -> String {
    element_around(name, attributes, "")
}

/// The same with others in it.
fn element_around(name: &str, attributes: &[(&str, String)], inner: &str) -> String {
    let escape = |text: &str| {
        text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;").replace('\'', "&apos;")
    };
    let list: String =
        attributes.iter().map(|(name, value)| format!(" {name}=\"{}\"", escape(value))).collect();
    if inner.is_empty() { format!("<{name}{list} />") } else { format!("<{name}{list}>{inner}</{name}>") }
}

/// What is waited for most often, and longest in all; nothing here leaves the processor by itself.
fn top_waits(waits: &[WaitTotal]) -> String {
    let mut waits: Vec<&WaitTotal> =
        waits.iter().filter(|w| w.count > 0 && !IDLE_WAITS.contains(&w.name)).collect();
    let told = |w: &&WaitTotal| {
        let ms = |nanos: u64| (nanos / 1_000_000).to_string();
        let average = ms(w.total_nanos / w.count);
        let attributes = [
            ("waitType", w.name.to_owned()),
            ("waits", w.count.to_string()),
            ("averageWaitTime", average),
            ("maxWaitTime", ms(w.longest_nanos)),
        ];
        element("wait", &attributes)
    };
    waits.sort_by_key(|w| std::cmp::Reverse(w.count));
    let by_count: String = waits.iter().take(TOP_WAITS).map(told).collect();
    waits.sort_by_key(|w| std::cmp::Reverse(w.total_nanos));
    let by_duration: String = waits.iter().take(TOP_WAITS).map(told).collect();
    let orders = element_around("byCount", &[], &by_count) + &element_around("byDuration", &[], &by_duration);
    let kinds = element_around("nonPreemptive", &[], &orders) + &element("preemptive", &[]);
    element_around("topWaits", &[], &kinds)
}

fn number(state: State) -> u8 {
    match state {
        State::Clean => 1,
        State::Warning => 2,
        State::Error => 3,
    }
}

/// All of them, in the product's order: the instance's, then one for each group.
pub(super) fn components(
    judge: &Judge,
    sample: &Sample,
    waits: &[WaitTotal],
    events: &[HealthEvent],
) -> Vec<Component> {
    let [system, resource, query_processing, io] = judge.states;
    let instance = |name: &str, state: u8, data: String| Component {
        kind: ComponentKind::Instance,
        name: name.to_owned(),
        state,
        data,
    };
    let text = |n: u128| n.to_string();
    let mut all = vec![
        instance("system", number(system), {
            let process = process();
            element(
                "system",
                &[
                    ("latenessMs", text(judge.late.as_millis())),
                    ("latenessMaxMs", text(judge.late_max.as_millis())),
                    ("pageFaults", process.page_faults.to_string()),
                    ("processCpuSeconds", process.cpu_seconds.to_string()),
                ],
            )
        }),
        instance("resource", number(resource), {
            element(
                "resource",
                &[
                    ("outOfMemoryExceptions", sample.refusals.to_string()),
                    ("isAnyPoolOutOfMemory", u8::from(resource != State::Clean).to_string()),
                    ("processOutOfMemoryPeriod", judge.full_for.as_secs().to_string()),
                    ("versionBytes", sample.delta_bytes.to_string()),
                    ("versionBytesMax", sample.delta_bytes_max.to_string()),
                    ("pageCacheBytes", sample.cache_bytes.to_string()),
                ],
            )
        }),
        instance("query_processing", number(query_processing), {
            element_around(
                "queryProcessing",
                &[
                    ("maxWorkers", judge.sessions_max().to_string()),
                    ("workersCreated", sample.sessions.to_string()),
                    ("requests", sample.requests.to_string()),
                    ("crowdedSeconds", judge.crowded_for.as_secs().to_string()),
                ],
                &top_waits(waits),
            )
        }),
        instance("io_subsystem", number(io), {
            element(
                "ioSubsystem",
                &[
                    ("totalLongIos", judge.stalls.to_string()),
                    ("longestPendingFlushMs", text(judge.flush_age.as_millis())),
                ],
            )
        }),
        instance("events", 0, {
            let list: String = events.iter().map(event).collect();
            format!("<events>{list}</events>")
        }),
    ];
    all.extend(judge.rows.iter().map(group));
    all
}

fn event(event: &HealthEvent) -> String {
    let number = event.number.to_string();
    let mut attributes =
        vec![("name", event.name.clone()), ("number", number), ("message", event.text.clone())];
    attributes.extend(event.group.iter().map(|name| ("group", name.clone())));
    element("event", &attributes)
}

fn group(row: &Row) -> Component {
    let s = &row.subject;
    let mut attributes = vec![
        ("failureConditionLevel", s.level.to_string()),
        ("healthCheckTimeoutMs", s.timeout.as_millis().to_string()),
        ("isPrimary", u8::from(s.leads).to_string()),
        ("isFit", u8::from(row.reason.is_none()).to_string()),
    ];
    attributes.extend(row.reason.iter().map(|why| ("reason", why.clone())));
    Component {
        kind: ComponentKind::Group,
        name: s.name.clone(),
        state: number(row.state),
        data: element("availabilityGroup", &attributes),
    }
}

/// What the system has counted for this process.
struct Process {
    page_faults: i64,
    cpu_seconds: i64,
}

fn process() -> Process {
    // SAFETY: a zeroed rusage is a valid place for the call to write to, and the pointer is to it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    Process { page_faults: usage.ru_majflt, cpu_seconds: usage.ru_utime.tv_sec + usage.ru_stime.tv_sec }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_waits_are_told_in_both_orders_without_idle_ones() {
        let wait = |name, count, ms: u64| WaitTotal {
            name,
            count,
            total_nanos: ms * 1_000_000,
            longest_nanos: 3_000_000,
        };
        let told = top_waits(&[
            wait("WRITELOG", 40, 80),
            wait("HADR_SYNC_COMMIT", 4, 400),
            wait("HADR_TIMER_TASK", 9, 9_000),
            wait("PARALLEL_REDO_WORKER_WAIT_WORK", 9, 9_000),
            wait("LOGBUFFER", 0, 0),
        ]);
        let log = r#"<wait waitType="WRITELOG" waits="40" averageWaitTime="2" maxWaitTime="3" />"#;
        let sync = r#"<wait waitType="HADR_SYNC_COMMIT" waits="4" averageWaitTime="100" maxWaitTime="3" />"#;
        let orders = format!("<byCount>{log}{sync}</byCount><byDuration>{sync}{log}</byDuration>");
        let whole = format!("<topWaits><nonPreemptive>{orders}</nonPreemptive><preemptive /></topWaits>");
        assert_eq!(told, whole);
        assert!(top_waits(&[]).contains("<byCount />"));
    }
}
