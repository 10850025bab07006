//! Which system views are not for everybody.

use crate::catalog::fold;

/// What reading a system view takes: the state of the instance is not everybody's business. Sessions and requests show
/// one's own without it.
pub(super) fn server_permission(view: &str) -> Option<&'static str> {
    const OPEN: [&str; 6] = [
        // The agent's procedures read it for everybody; others get no row without the permission.
        "dm_keel_agent_jobs",
        "dm_exec_sessions",
        "dm_exec_requests",
        "dm_exec_describe",
        "dm_exec_sql_text",
        "dm_exec_input_buffer",
    ];
    // What of a database's use is told of all databases, or of all sessions.
    const CLOSED: [&str; 10] = [
        "dm_os_",
        "dm_exec_",
        "dm_io_",
        "dm_tran_",
        "dm_hadr_",
        "dm_keel_",
        "dm_tcp_",
        "dm_server_",
        "dm_xe_",
        "dm_clr_",
    ];
    const CLOSED_OF_DATABASES: [&str; 9] = [
        "dm_db_index_usage_stats",
        "dm_db_missing_index_columns",
        "dm_db_missing_index_details",
        "dm_db_missing_index_group_stats",
        "dm_db_missing_index_group_stats_query",
        "dm_db_missing_index_groups",
        "dm_db_session_space_usage",
        "dm_db_task_space_usage",
        "dm_db_xtp_checkpoint_stats",
    ];
    let name = fold(view);
    if name == "dm_server_audit_status" {
        return Some("VIEW SERVER SECURITY STATE");
    }
    let closed = CLOSED.iter().any(|s| name.starts_with(s)) && !OPEN.iter().any(|o| name.starts_with(o))
        || CLOSED_OF_DATABASES.contains(&name.as_str());
    closed.then_some("VIEW SERVER PERFORMANCE STATE")
}
