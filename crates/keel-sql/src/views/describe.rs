//! What a text would return, as a function: errors come as columns instead of being raised.

use super::{Column, INT, NULL, SystemView, TEXT, ViewContext, int, text};
use crate::describe::{RESULT_COLUMNS, first_result_set, first_result_set_of};
use keel_types::error::Result;
use keel_types::{SqlType, Value};

const COLUMNS: [Column; 45] = {
    let mut all: [Column; 45] = [("", INT); 45];
    let mut i = 0;
    while i < RESULT_COLUMNS.len() {
        all[i] = RESULT_COLUMNS[i];
        i += 1;
    }
    all[39] = ("error_number", INT);
    all[40] = ("error_severity", INT);
    all[41] = ("error_state", INT);
    all[42] = ("error_message", TEXT);
    all[43] = ("error_type", INT);
    all[44] = ("error_type_desc", SqlType::NVarChar(keel_types::Length::Limited(60)));
    all
};

/// The functions.
pub(super) const VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "dm_exec_describe_first_result_set", columns: &COLUMNS, rows: of_text },
    SystemView {
        schema: "sys",
        name: "dm_exec_describe_first_result_set_for_object",
        columns: &COLUMNS,
        rows: of_object,
    },
];

fn of_text(cx: &ViewContext<'_>) -> Vec<Vec<Value>> {
    let argument = |i: usize| cx.args.get(i).and_then(Value::as_str).unwrap_or_default();
    with_errors(first_result_set(cx.info, argument(0), argument(1), browse(cx, 2)))
}

fn of_object(cx: &ViewContext<'_>) -> Vec<Vec<Value>> {
    let Some(Value::Int(id)) = cx.args.first() else { return Vec::new() };
    with_errors(first_result_set_of(cx.info, *id as i32, browse(cx, 1)))
}

fn browse(cx: &ViewContext<'_>, at: usize) -> bool {
    matches!(cx.args.get(at), Some(Value::Int(1..) | Value::Bit(true)))
}

fn with_errors(outcome: Result<Vec<Vec<Value>>>) -> Vec<Vec<Value>> {
    match outcome {
        Ok(mut rows) => {
            rows.iter_mut().for_each(|row| row.resize(COLUMNS.len(), NULL));
            rows
        }
        Err(e) => {
            let (kind, name) = match e.number {
                11_513 | 11_514 => (3, "DYNAMIC_SQL"),
                11_525 | 11_526 => (10, "TEMPORARY_TABLE"),
                _ if e.severity == 15 => (2, "SYNTAX"),
                _ => (1, "MISC"),
            };
            let mut row = vec![NULL; RESULT_COLUMNS.len()];
            row.extend([int(e.number), int(e.severity), int(e.state), text(e.message.as_str())]);
            row.extend([int(kind), text(name)]);
            vec![row]
        }
    }
}
