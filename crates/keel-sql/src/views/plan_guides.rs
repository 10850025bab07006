//! Plan guides, and what is wrong with one.

use super::{
    BIT, Column, DATE, DESC, INT, NAME, NULL, SystemView, TEXT, TINY, ViewContext, bit, int, text, view,
};
use crate::catalog::SecurableRef;
use crate::plan_guides::{PlanGuideDef, validate};
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

#[rustfmt::skip]
const GUIDES: &[Column] = &[
    ("plan_guide_id", INT), ("name", NAME), ("create_date", DATE), ("modify_date", DATE), ("is_disabled", BIT), ("query_text", TEXT),
    ("scope_type", TINY), ("scope_type_desc", DESC), ("scope_object_id", INT), ("scope_batch", TEXT), ("parameters", TEXT), ("hints", TEXT),
];
const PROBLEMS: &[Column] = &[
    ("msgnum", INT),
    ("severity", TINY),
    ("state", super::SMALL),
    ("message", SqlType::NVarChar(Length::Limited(2048))),
];

/// The views.
pub(super) static VIEWS: &[SystemView] =
    &[view("plan_guides", GUIDES, guides), view("fn_validate_plan_guide", PROBLEMS, problems)];

/// Those of modules that one may look into, and of batches to who may look into the database.
fn guides(cx: &ViewContext<'_>) -> Rows {
    let may = |guide: &&Arc<PlanGuideDef>| {
        let of_module = guide.object != 0
            && cx.info.may(&cx.entry, "VIEW DEFINITION", SecurableRef::Object(guide.object));
        of_module || cx.info.may(&cx.entry, "VIEW DEFINITION", SecurableRef::Database)
    };
    let some = |value: &Option<String>| value.as_ref().map_or(NULL, |value| text(value.as_str()));
    let row = |guide: &Arc<PlanGuideDef>| {
        let of_module = guide.object != 0;
        let scope = match (of_module, guide.template) {
            (true, _) => [int(1), text("OBJECT")],
            (_, false) => [int(2), text("SQL")],
            (_, true) => [int(3), text("TEMPLATE")],
        };
        let mut row = vec![
            int(guide.id),
            text(guide.name.as_str()),
            Value::DateTime(guide.created),
            Value::DateTime(guide.modified),
            bit(guide.disabled),
            text(guide.statement.as_str()),
        ];
        row.extend(scope);
        row.extend([if of_module { int(guide.object) } else { NULL }, some(&guide.batch)]);
        row.extend([some(&guide.parameters), some(&guide.hints)]);
        row
    };
    cx.picture.plan_guides().filter(may).map(row).collect()
}

/// `fn_validate_plan_guide(plan_guide_id)`: the first error of making a plan by a guide; no row where there is none.
fn problems(cx: &ViewContext<'_>) -> Rows {
    let Some(id) = cx.args.first() else { return Rows::new() };
    let id = match id {
        Value::Int(id) => i32::try_from(*id).ok(),
        _ => None,
    };
    match validate(cx.info, &cx.entry, id) {
        Ok(None) => Rows::new(),
        Ok(Some(e)) => vec![vec![
            int(e.number),
            int(i64::from(e.severity)),
            int(i64::from(e.state)),
            text(e.message.as_str()),
        ]],
        Err(e) => {
            cx.fail(e);
            Rows::new()
        }
    }
}
