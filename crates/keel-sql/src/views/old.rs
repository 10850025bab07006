//! Views of SQL Server 2000 whose newer forms count and list the same: locks, counters, plans. Columns and codes are those of
//! the product's documentation ("Compatibility Views").

use super::{BIG, GUID, INT, NULL, SMALL, SystemView, TINY, ViewContext, counters, int, locks, plans, text};
use crate::program::Program;
use keel_store::base::PAGE_SIZE;
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

const fn words(characters: u16) -> SqlType {
    SqlType::NVarChar(Length::Limited(characters))
}

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "sysperfinfo", columns: counters::COLUMNS, rows: counters::counters },
    SystemView {
        schema: "sys",
        name: "syslockinfo",
        columns: &[
            ("rsc_text", SqlType::NChar(32)),
            ("rsc_bin", SqlType::Binary(16)),
            ("rsc_valblk", SqlType::Binary(16)),
            ("rsc_dbid", SMALL),
            ("rsc_indid", SMALL),
            ("rsc_objid", INT),
            ("rsc_type", TINY),
            ("rsc_flag", TINY),
            ("req_mode", TINY),
            ("req_status", TINY),
            ("req_refcnt", SMALL),
            ("req_cryrefcnt", SMALL),
            ("req_lifetime", INT),
            ("req_spid", INT),
            ("req_ecid", INT),
            ("req_ownertype", SMALL),
            ("req_transactionID", BIG),
            ("req_transactionUOW", GUID),
        ],
        rows: |cx| locks::locks(cx).iter().map(|lock| lock_info(lock)).collect(),
    },
    SystemView {
        schema: "sys",
        name: "syscacheobjects",
        columns: &[
            ("bucketid", INT),
            ("cacheobjtype", words(17)),
            ("objtype", words(8)),
            ("objid", INT),
            ("dbid", SMALL),
            ("dbidexec", SMALL),
            ("uid", SMALL),
            ("refcounts", INT),
            ("usecounts", INT),
            ("pagesused", INT),
            ("setopts", INT),
            ("langid", SMALL),
            ("dateformat", SMALL),
            ("status", INT),
            ("lasttime", BIG),
            ("maxexectime", BIG),
            ("avgexectime", BIG),
            ("lastreads", BIG),
            ("lastwrites", BIG),
            ("sqlbytes", INT),
            ("sql", words(SQL_CHARACTERS as u16)),
        ],
        rows: cache_objects,
    },
];

/// What `syscacheobjects` shows of a text.
const SQL_CHARACTERS: usize = 3_900;

/// The number that stands for a name in `syslockinfo`.
fn code(codes: &[(&str, i64)], name: &Value) -> Value {
    let found = name.as_str().and_then(|name| codes.iter().find(|(known, _)| *known == name));
    found.map_or(NULL, |(_, code)| int(*code))
}

// The documentation's numbers end with 10; metadata came later, and takes the next.
const RESOURCES: &[(&str, i64)] =
    &[("DATABASE", 2), ("OBJECT", 5), ("KEY", 7), ("APPLICATION", 10), ("METADATA", 11)];
const MODES: &[(&str, i64)] = &[
    ("Sch-S", 1),
    ("Sch-M", 2),
    ("S", 3),
    ("U", 4),
    ("X", 5),
    ("IS", 6),
    ("IX", 8),
    ("SIX", 10),
    ("BU", 12),
    ("RangeS-S", 13),
    ("RangeS-U", 14),
    ("RangeI-N", 15),
    ("RangeX-X", 21),
];
const STATES: &[(&str, i64)] = &[("GRANT", 1), ("CONVERT", 2), ("WAIT", 3)];
const OWNERS: &[(&str, i64)] = &[("TRANSACTION", 1), ("SESSION", 3), ("SHARED_TRANSACTION_WORKSPACE", 3)];

/// A row of `sys.dm_tran_locks` in the old form.
fn lock_info(lock: &[Value]) -> Vec<Value> {
    let [
        kind,
        _,
        database,
        description,
        entity,
        _,
        mode,
        _,
        status,
        count,
        _,
        spid,
        _,
        _,
        owner,
        owner_id,
        ..,
    ] = lock
    else {
        unreachable!("a row of dm_tran_locks has all of its columns");
    };
    let resource = code(RESOURCES, kind);
    let number = |value: &Value| if let Value::Int(n) = value { *n } else { 0 };
    let said = description.as_str().unwrap_or_default();
    // The same for equal resources, and (but for one in 2^40) for no others: scripts look for who waits for whom by it.
    let mut binary = number(entity).to_le_bytes().to_vec();
    binary.extend(&number(database).to_le_bytes()[..2]);
    binary.extend(&plans::text_hash(said).to_le_bytes()[..5]);
    binary.push(number(&resource) as u8);
    let object = if kind.as_str() == Some("OBJECT") { entity.clone() } else { int(0) };
    let described = text(format!("{said:<32.32}"));
    let mut row = vec![described, Value::bytes(binary), Value::bytes(vec![0; 16]), database.clone()];
    row.extend([int(0), object, resource, int(0), code(MODES, mode), code(STATES, status)]);
    row.extend([count.clone(), int(0), int(0), spid.clone(), int(0), code(OWNERS, owner)]);
    row.extend([owner_id.clone(), Value::Guid([0; 16])]);
    row
}

/// Plans, with their texts. What the documentation calls always 0 is.
fn cache_objects(cx: &ViewContext<'_>) -> Rows {
    let row = |(i, p): (usize, Arc<Program>)| {
        let pages = p.kept_bytes().div_ceil(PAGE_SIZE);
        let uses = p.stats.runs().map_or(0, |runs| runs.executions as i64);
        let database = i64::from(p.identity.database.0);
        let shown = plans::shown_text(&p);
        let sql: String = shown.chars().take(SQL_CHARACTERS).collect();
        let mut row =
            vec![int(i as i64), text("Compiled Plan"), text(plans::kind(&p)), int(p.identity.object_id)];
        // -2: the plan does not depend on who runs it.
        row.extend([int(database), int(database), int(-2), int(Arc::strong_count(&p) as i64)]);
        row.extend([int(uses), int(pages as i64)]);
        row.extend([0; 9].map(int));
        row.extend([int(shown.encode_utf16().count() as i64 * 2), text(sql)]);
        row
    };
    cx.engine.programs.all().into_iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_store::lock::Mode;

    #[test]
    fn every_mode_has_a_number_of_its_own() {
        let mut numbers = Vec::new();
        for mode in Mode::ALL {
            let Value::Int(number) = code(MODES, &text(mode.name())) else { panic!("{mode} has none") };
            assert!(!numbers.contains(&number), "{mode}: {number}");
            numbers.push(number);
        }
    }
}
