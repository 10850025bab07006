//! Was anything lost, doubled or torn? The specification's consistency conditions, and the clients' ledgers.

use super::run::Ledger;
use crate::{CallError, Cell, Connection};
use std::collections::HashMap;

/// A broken invariant, in words, with the query that shows it.
pub type Violation = String;

/// Consistency conditions 1-4 (section 3.3.2), each as a query that returns only offenders.
const CONDITIONS: [(&str, &str); 5] = [
    (
        "1: a warehouse's total is the sum of its districts'",
        "SELECT w_id FROM warehouse JOIN (SELECT d_w_id, SUM(d_ytd) AS ytd FROM district GROUP BY d_w_id) d ON d_w_id = w_id WHERE w_ytd <> ytd",
    ),
    (
        "2: a district's next order number follows its highest order",
        "SELECT d_w_id, d_id FROM district JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS highest FROM orders GROUP BY o_w_id, o_d_id) o \
         ON o_w_id = d_w_id AND o_d_id = d_id WHERE d_next_o_id - 1 <> highest",
    ),
    (
        "3: open orders of a district have no gap",
        "SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
    ),
    (
        "4: a district's orders name as many lines as there are",
        "SELECT o_w_id, o_d_id FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS named FROM orders GROUP BY o_w_id, o_d_id) o \
         JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS there FROM order_line GROUP BY ol_w_id, ol_d_id) l \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE named <> there",
    ),
    (
        "5: an order is open exactly when it has no carrier",
        "SELECT o_w_id, o_d_id, o_id FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
         WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)",
    ),
];

/// Runs the conditions; returns what is broken.
///
/// # Errors
/// What the server says.
pub fn consistency(connection: &mut dyn Connection) -> Result<Vec<Violation>, CallError> {
    let mut broken = Vec::new();
    for (name, sql) in CONDITIONS {
        let rows = connection.query(sql)?;
        if !rows.is_empty() {
            broken.push(format!(
                "condition {name}: {} offenders, first {:?}; query: {sql}",
                rows.len(),
                rows[0]
            ));
        }
    }
    Ok(broken)
}

/// Compares what all terminals together were told with what the server has. `initial_orders` is the number of
/// orders in each district when loaded. Orders and payments in doubt may be there or not.
///
/// # Errors
/// What the server says.
pub fn ledger(
    connection: &mut dyn Connection,
    ledgers: &[Ledger],
    initial_orders: i64,
) -> Result<Vec<Violation>, CallError> {
    let mut broken = Vec::new();
    let mut acknowledged: HashMap<(i64, i64), Vec<i64>> = HashMap::new();
    for (w, d, o) in ledgers.iter().flat_map(|l| &l.orders) {
        acknowledged.entry((*w, *d)).or_default().push(*o);
    }
    let mut extra = 0;
    for ((w, d), mut told) in acknowledged {
        told.sort_unstable();
        let rows = connection.query(&format!(
            "SELECT o_id FROM orders WHERE o_w_id = {w} AND o_d_id = {d} AND o_id > {initial_orders} ORDER BY o_id"
        ))?;
        let there: Vec<i64> =
            rows.iter().filter_map(|r| if let Cell::Int(o) = r[0] { Some(o) } else { None }).collect();
        let missing = told.iter().filter(|o| there.binary_search(o).is_err()).count();
        if missing > 0 {
            broken.push(format!("{missing} acknowledged orders of warehouse {w} district {d} are lost"));
        }
        extra += there.len().saturating_sub(told.len() - missing) as u64;
    }
    let in_doubt: u64 = ledgers.iter().map(|l| l.orders_in_doubt).sum();
    if extra > in_doubt {
        broken.push(format!(
            "{extra} orders are there that no client was told of; only {in_doubt} were in doubt"
        ));
    }
    payments(connection, ledgers, initial_orders, &mut broken)?;
    Ok(broken)
}

fn payments(
    connection: &mut dyn Connection,
    ledgers: &[Ledger],
    customers: i64,
    broken: &mut Vec<Violation>,
) -> Result<(), CallError> {
    let doubt: i64 = ledgers.iter().map(|l| l.payments_in_doubt).sum();
    for row in connection.query("SELECT w_id, CAST(w_ytd * 100 AS bigint) FROM warehouse")? {
        let [Cell::Int(w), Cell::Int(total)] = row[..] else { continue };
        let told: i64 = ledgers.iter().filter_map(|l| l.payments.get(w as usize)).sum();
        let there = total - super::load::initial_warehouse_ytd(customers);
        if there < told || there > told + doubt {
            broken.push(format!(
                "warehouse {w} holds {there} of payments; {told} were acknowledged, {doubt} are in doubt"
            ));
        }
    }
    Ok(())
}
