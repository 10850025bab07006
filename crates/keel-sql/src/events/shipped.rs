//! The sessions that every instance has from its first start: `system_health` and `AlwaysOn_health`. They can be changed and
//! dropped like others.

use super::catalog::Event;
use super::definition::{Definition, EventPart, SessionOptions, Setting, TargetPart};
use super::predicate::{Constant, Op, Predicate, Source};

/// Number of `system_health`.
pub const SYSTEM_HEALTH: i32 = 65_536;
/// Number of `AlwaysOn_health`.
pub const ALWAYSON_HEALTH: i32 = 65_537;
/// Name of [`ALWAYSON_HEALTH`], which starts with the first availability group.
pub const ALWAYSON_HEALTH_NAME: &str = "AlwaysOn_health";

/// Errors that `system_health` keeps whatever their severity: no memory and no grant, and those of the connection.
const SERIOUS: [i32; 12] = [17_803, 701, 802, 8645, 8651, 8657, 8902, 41_354, 41_355, 41_367, 41_384, 41_336];
/// Messages of availability groups that `AlwaysOn_health` keeps.
const OF_GROUPS: [i32; 23] = [
    9691, 35_204, 9693, 26_024, 28_047, 26_023, 9692, 28_034, 28_036, 28_048, 28_080, 28_091, 26_022, 9642,
    35_201, 35_202, 35_206, 35_207, 26_069, 26_070, 41_048, 1480, 19_406,
];

fn number(column: &str, op: Op, n: i32) -> Predicate {
    Predicate::Test { source: Source::Column(column.to_owned()), op, value: Constant::Number(n.into()) }
}

fn among(numbers: &[i32]) -> Vec<Predicate> {
    numbers.iter().map(|n| number("error_number", Op::Equal, *n)).collect()
}

fn event(id: i32, event: Event, actions: &[&str], predicate: Option<Predicate>) -> EventPart {
    EventPart {
        id,
        package: "sqlserver".to_owned(),
        name: event.info().name.to_owned(),
        settings: Vec::new(),
        actions: actions.iter().map(|name| ("sqlserver".to_owned(), (*name).to_owned())).collect(),
        predicate,
    }
}

fn files(id: i32, name: &str, megabytes: i64, kept: i64) -> TargetPart {
    TargetPart {
        id,
        name: "event_file".to_owned(),
        settings: vec![
            ("filename".to_owned(), Setting::Text(name.to_owned())),
            ("max_file_size".to_owned(), Setting::Number(megabytes)),
            ("max_rollover_files".to_owned(), Setting::Number(kept)),
        ],
    }
}

/// Grave errors and deadlocks: what administrators look for after something has gone wrong.
#[must_use]
pub fn system_health() -> Definition {
    let mut grave = vec![number("severity", Op::GreaterOrEqual, 20)];
    grave.extend(among(&SERIOUS));
    let who = ["session_id", "database_id", "sql_text", "tsql_stack"];
    Definition {
        id: SYSTEM_HEALTH,
        name: "system_health".to_owned(),
        events: vec![
            event(1, Event::ErrorReported, &who, Some(Predicate::Or(grave))),
            event(2, Event::XmlDeadlockReport, &[], None),
            event(3, Event::DiagnosticsResult, &[], None),
        ],
        targets: vec![
            files(4, "system_health.xel", 100, 10),
            TargetPart {
                id: 5,
                name: "ring_buffer".to_owned(),
                settings: vec![
                    ("max_memory".to_owned(), Setting::Number(4096)),
                    ("max_events_limit".to_owned(), Setting::Number(5000)),
                ],
            },
        ],
        options: SessionOptions { dispatch_latency: 5, startup: true, ..SessionOptions::default() },
        last_part: 5,
    }
}

/// What happens to availability groups.
#[must_use]
pub fn alwayson_health() -> Definition {
    let of_groups = [
        Event::ReplicaStateChange,
        Event::PartnerSyncState,
        Event::DataMovement,
        Event::TransportSession,
        Event::LogCut,
        Event::LogGap,
        Event::LogShort,
        Event::FailoverValidation,
        Event::LeaseExpired,
        Event::SeedingState,
    ];
    let mut events: Vec<EventPart> =
        of_groups.iter().zip(1..).map(|(kind, id)| event(id, *kind, &[], None)).collect();
    let id = events.len() as i32 + 1;
    events.push(event(id, Event::ErrorReported, &[], Some(Predicate::Or(among(&OF_GROUPS)))));
    Definition {
        id: ALWAYSON_HEALTH,
        name: ALWAYSON_HEALTH_NAME.to_owned(),
        events,
        targets: vec![files(id + 1, "AlwaysOn_health.xel", 5, 4)],
        options: SessionOptions::default(),
        last_part: id + 1,
    }
}
