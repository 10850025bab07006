//! The machines of a failover cluster instance.

use super::{Column, SystemView, ViewContext, int, text};
use crate::failover_cluster::ClusterNode;
use keel_types::{Length, SqlType, Value};

const N256: SqlType = SqlType::NVarChar(Length::Limited(256));
const N60: SqlType = SqlType::NVarChar(Length::Limited(60));

const COLUMNS: &[Column] = &[
    ("NodeName", N256),
    ("status", SqlType::Int),
    ("status_description", N60),
    ("is_current_owner", SqlType::Bit),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "dm_os_cluster_nodes", columns: COLUMNS, rows: owners },
    SystemView { schema: "sys", name: "fn_virtualservernodes", columns: COLUMNS, rows: owners },
    SystemView {
        schema: "sys",
        name: "dm_keel_cluster_nodes",
        columns: &[
            ("node_name", N256),
            ("is_up", SqlType::Bit),
            ("is_current_owner", SqlType::Bit),
            ("is_possible_owner", SqlType::Bit),
            ("preference", SqlType::Int),
        ],
        rows: nodes,
    },
];

fn known(cx: &ViewContext<'_>) -> Vec<ClusterNode> {
    cx.engine.failover_cluster().map_or_else(Vec::new, |cluster| cluster.nodes())
}

/// Those who may have the instance, as the product shows it.
fn owners(cx: &ViewContext<'_>) -> Vec<Vec<Value>> {
    let row = |node: ClusterNode| {
        let (status, word) = if node.up { (0, "up") } else { (1, "down") };
        vec![text(node.name), int(status), text(word), Value::Bit(node.is_current_owner)]
    };
    known(cx).into_iter().filter(|node| node.preference.is_some()).map(row).collect()
}

fn nodes(cx: &ViewContext<'_>) -> Vec<Vec<Value>> {
    let row = |node: ClusterNode| {
        let preference = node.preference.map_or(Value::Null, |n| int(n as i64 + 1));
        let owner = Value::Bit(node.preference.is_some());
        vec![text(node.name), Value::Bit(node.up), Value::Bit(node.is_current_owner), owner, preference]
    };
    known(cx).into_iter().map(row).collect()
}
