//! The rows of `sp_server_diagnostics`, with the figures that are measured here under the product's names where it has them.

use keel_sql::diagnostics::{Component, ComponentKind};
use keel_sql::hadr::HealthEvent;

use super::judge::{Judge, Row, Sample, State};

/// A component's XML: one element with attributes.
fn element(name: &str, attributes: &[(&str, String)]) -> String {
    let escape = |text: &str| {
        text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;").replace('\'', "&apos;")
    };
    let list: String =
        attributes.iter().map(|(name, value)| format!(" {name}=\"{}\"", escape(value))).collect();
    format!("<{name}{list} />")
}

fn number(state: State) -> u8 {
    match state {
        State::Clean => 1,
        State::Warning => 2,
        State::Error => 3,
    }
}

/// All of them, in the product's order: the instance's, then one for each group.
pub(super) fn components(judge: &Judge, sample: &Sample, events: &[HealthEvent]) -> Vec<Component> {
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
            element(
                "queryProcessing",
                &[
                    ("maxWorkers", judge.sessions_max().to_string()),
                    ("workersCreated", sample.sessions.to_string()),
                    ("requests", sample.requests.to_string()),
                    ("crowdedSeconds", judge.crowded_for.as_secs().to_string()),
                ],
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
