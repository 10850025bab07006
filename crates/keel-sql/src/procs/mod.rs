//! System procedures.
//!
//! One table, [`ALL`]: name and code. A procedure gets its arguments as given and answers with a return status; rows and
//! messages go to the client through the runner. Adding one is adding a line.

mod accounts;
mod agent;
mod backups;
mod bindings;
pub mod catalog;
mod cursors;
mod detach;
mod diagnostics;
mod execute;
mod failover_cluster;
mod hadr;
mod host;
mod linked;
mod messages;
mod monitor;
mod prepared;
mod properties;
mod rename;
mod server;
mod sessions;
mod startup;
mod temporal;
mod trace;
mod triggers;
mod users;
mod xa;
mod xml_documents;

pub use execute::run_sql;
pub use monitor::Monitored;
pub use properties::{Here as PropertiesHere, listed as listed_properties, value_of as property_value};
pub(crate) use rename::owner_of_part;

use crate::run::{Argument, Halt, Returned, Runner};
use crate::{capture, query_store};
use keel_parser::ast;
use keel_types::{SqlType, Value};

/// The outcome of a system procedure.
pub type Outcome = std::result::Result<Returned, Halt>;

/// One system procedure.
pub struct Procedure {
    /// Lower-case name.
    pub name: &'static str,
    /// What it does.
    pub run: fn(&mut Runner<'_>, &[Argument]) -> Outcome,
}

const fn p(name: &'static str, run: fn(&mut Runner<'_>, &[Argument]) -> Outcome) -> Procedure {
    Procedure { name, run }
}

/// Object ids of these procedures go down from here.
pub const FIRST_ID: i32 = -20_000;

/// Every system procedure.
pub static ALL: &[Procedure] = &[
    p("sp_executesql", execute::sp_executesql),
    p("sp_prepare", prepared::sp_prepare),
    p("sp_prepexec", prepared::sp_prepexec),
    p("sp_prepexecrpc", prepared::sp_prepexecrpc),
    p("sp_execute", prepared::sp_execute),
    p("sp_unprepare", prepared::sp_unprepare),
    p("sp_cursoropen", cursors::sp_cursoropen),
    p("sp_cursorfetch", cursors::sp_cursorfetch),
    p("sp_cursorclose", cursors::sp_cursorclose),
    p("sp_cursoroption", cursors::sp_cursoroption),
    p("sp_cursor", cursors::sp_cursor),
    p("sp_cursorprepare", cursors::sp_cursorprepare),
    p("sp_cursorexecute", cursors::sp_cursorexecute),
    p("sp_cursorprepexec", cursors::sp_cursorprepexec),
    p("sp_cursorunprepare", cursors::sp_cursorunprepare),
    p("sp_reset_connection", sessions::sp_reset_connection),
    p("sp_set_session_context", sessions::sp_set_session_context),
    p("sp_getapplock", sessions::sp_getapplock),
    p("sp_releaseapplock", sessions::sp_releaseapplock),
    p("sp_server_diagnostics", diagnostics::sp_server_diagnostics),
    p("sp_configure", server::sp_configure),
    p("sp_rename", rename::sp_rename),
    p("sp_keel_failover", hadr::sp_keel_failover),
    p("sp_keel_possible_owners", failover_cluster::sp_keel_possible_owners),
    p("sp_keel_move_instance", failover_cluster::sp_keel_move_instance),
    p("sp_keel_force_quorum", hadr::sp_keel_force_quorum),
    p("sp_keel_invite", hadr::sp_keel_invite),
    p("sp_keel_join", hadr::sp_keel_join),
    p("sp_keel_checksum", hadr::sp_keel_checksum),
    p("sp_keel_remove_node", hadr::sp_keel_remove_node),
    p("sp_keel_validate_cluster", hadr::sp_keel_validate_cluster),
    p("sp_keel_wait_for_lsn", hadr::sp_keel_wait_for_lsn),
    p("sp_keel_broker_turn", crate::broker::sp_keel_broker_turn),
    p("sp_keel_fulltext_wait", crate::full_text::sp_keel_fulltext_wait),
    p("sp_control_plan_guide", crate::plan_guides::sp_control_plan_guide),
    p("sp_create_plan_guide", crate::plan_guides::sp_create_plan_guide),
    p("sp_create_plan_guide_from_handle", crate::plan_guides::sp_create_plan_guide_from_handle),
    p("sp_get_query_template", crate::parameterization::sp_get_query_template),
    p("sp_query_store_clear_hints", query_store::sp_query_store_clear_hints),
    p("sp_query_store_clear_message_queues", query_store::sp_query_store_clear_message_queues),
    p("sp_query_store_consistency_check", query_store::sp_query_store_consistency_check),
    p("sp_query_store_flush_db", query_store::sp_query_store_flush_db),
    p("sp_query_store_force_plan", query_store::sp_query_store_force_plan),
    p("sp_query_store_remove_plan", query_store::sp_query_store_remove_plan),
    p("sp_query_store_remove_query", query_store::sp_query_store_remove_query),
    p("sp_query_store_reset_exec_stats", query_store::sp_query_store_reset_exec_stats),
    p("sp_query_store_set_hints", query_store::sp_query_store_set_hints),
    p("sp_query_store_unforce_plan", query_store::sp_query_store_unforce_plan),
    p("sp_cdc_scan", capture::sp_cdc_scan),
    p("sp_keel_cdc_attach", capture::sp_keel_cdc_attach),
    p("sp_keel_cdc_check", capture::sp_keel_cdc_check),
    p("sp_keel_cdc_disable_db", capture::sp_keel_cdc_disable_db),
    p("sp_keel_cdc_disable_table", capture::sp_keel_cdc_disable_table),
    p("sp_keel_cdc_enable_db", capture::sp_keel_cdc_enable_db),
    p("sp_keel_cdc_enable_table", capture::sp_keel_cdc_enable_table),
    p("sp_keel_cdc_job", capture::sp_keel_cdc_job),
    p("sp_keel_cdc_run", capture::sp_keel_cdc_run),
    p("sp_cleanup_temporal_history", temporal::sp_cleanup_temporal_history),
    p("sp_flush_CT_internal_table_on_demand", temporal::sp_flush_changes),
    p("sp_flush_commit_table_on_demand", temporal::sp_flush_changes),
    p("sp_flush_log", server::sp_flush_log),
    p("sp_recompile", server::sp_recompile),
    p("sp_autostats", server::sp_autostats),
    p("sp_audit_write", server::sp_audit_write),
    p("sp_addmessage", messages::sp_addmessage),
    p("sp_altermessage", messages::sp_altermessage),
    p("sp_dropmessage", messages::sp_dropmessage),
    p("sp_addextendedproperty", properties::sp_addextendedproperty),
    p("sp_updateextendedproperty", properties::sp_updateextendedproperty),
    p("sp_dropextendedproperty", properties::sp_dropextendedproperty),
    p("sp_addrolemember", server::sp_addrolemember),
    p("sp_droprolemember", server::sp_droprolemember),
    p("sp_addsrvrolemember", server::sp_addsrvrolemember),
    p("sp_dropsrvrolemember", server::sp_dropsrvrolemember),
    p("sp_settriggerorder", triggers::sp_settriggerorder),
    p("sp_delete_backuphistory", backups::sp_delete_backuphistory),
    p("sp_delete_database_backuphistory", backups::sp_delete_database_backuphistory),
    p("sp_bindefault", bindings::sp_bindefault),
    p("sp_bindrule", bindings::sp_bindrule),
    p("sp_unbindefault", bindings::sp_unbindefault),
    p("sp_unbindrule", bindings::sp_unbindrule),
    p("sp_monitor", monitor::sp_monitor),
    p("sp_procoption", startup::sp_procoption),
    p("sp_detach_db", detach::sp_detach_db),
    p("sp_addumpdevice", backups::sp_addumpdevice),
    p("sp_dropdevice", backups::sp_dropdevice),
    p("sp_indexoption", server::nothing),
    p("sp_tableoption", server::nothing),
    p("sp_changedbowner", server::sp_changedbowner),
    p("sp_helptext", server::sp_helptext),
    p("sp_describe_first_result_set", execute::sp_describe_first_result_set),
    p("sp_describe_undeclared_parameters", execute::sp_describe_undeclared_parameters),
    p("sp_describe_parameter_encryption", execute::sp_describe_parameter_encryption),
    p("sp_xml_preparedocument", xml_documents::sp_xml_preparedocument),
    p("sp_xml_removedocument", xml_documents::sp_xml_removedocument),
    p("xp_logininfo", accounts::xp_logininfo),
    p("xp_msver", server::xp_msver),
    p("xp_instance_regread", host::xp_regread),
    p("xp_regread", host::xp_regread),
    p("xp_instance_regenumvalues", host::xp_regenumvalues),
    p("xp_regenumvalues", host::xp_regenumvalues),
    p("xp_getnetname", host::xp_getnetname),
    p("xp_create_subdir", host::xp_create_subdir),
    p("xp_delete_file", backups::xp_delete_file),
    p("xp_sqlagent_notify", agent::xp_sqlagent_notify),
    p("sp_keel_mail_query", crate::agent::mail_query::sp_keel_mail_query),
    p("xp_instance_regwrite", host::xp_regwrite),
    p("xp_regwrite", host::xp_regwrite),
    p("sp_enumerrorlogs", host::sp_enumerrorlogs),
    p("xp_enumerrorlogs", host::sp_enumerrorlogs),
    p("xp_logevent", host::xp_logevent),
    p("sp_readerrorlog", host::xp_readerrorlog),
    p("xp_readerrorlog", host::xp_readerrorlog),
    p("sp_migrate_user_to_contained", users::sp_migrate_user_to_contained),
    p("sp_trace_generateevent", trace::sp_trace_generateevent),
    p("xp_sqljdbc_xa_init", xa::init),
    p("xp_sqljdbc_xa_init_ex", xa::init),
    p("xp_sqljdbc_xa_start", xa::start),
    p("xp_sqljdbc_xa_end", xa::end),
    p("xp_sqljdbc_xa_prepare", xa::prepare),
    p("xp_sqljdbc_xa_prepare_ex", xa::prepare),
    p("xp_sqljdbc_xa_commit", xa::commit),
    p("xp_sqljdbc_xa_rollback", xa::rollback),
    p("xp_sqljdbc_xa_rollback_ex", xa::rollback),
    p("xp_sqljdbc_xa_forget", xa::forget),
    p("xp_sqljdbc_xa_forget_ex", xa::forget),
    p("xp_sqljdbc_xa_recover", xa::recover),
    p("sp_addlinkedserver", linked::sp_addlinkedserver),
    p("sp_dropserver", linked::sp_dropserver),
    p("sp_addlinkedsrvlogin", linked::sp_addlinkedsrvlogin),
    p("sp_droplinkedsrvlogin", linked::sp_droplinkedsrvlogin),
    p("sp_serveroption", linked::sp_serveroption),
    p("sp_setnetname", linked::sp_setnetname),
    p("sp_testlinkedserver", linked::sp_testlinkedserver),
    p("sp_tables_ex", linked::sp_tables_ex),
    p("sp_columns_ex", linked::sp_columns_ex),
    p("sp_primarykeys", linked::sp_primarykeys),
    p("sp_foreignkeys", linked::sp_foreignkeys),
    p("sp_indexes", linked::sp_indexes),
    p("sp_catalogs", linked::sp_catalogs),
    p("sp_setapprole", users::sp_setapprole),
    p("sp_unsetapprole", users::sp_unsetapprole),
];

/// The system procedure of that name: `sp_x`, `sys.sp_x`, `master..sp_x`, `master.dbo.sp_x`.
#[must_use]
pub fn find(name: &ast::ObjectName) -> Option<&'static Procedure> {
    let text = name.name.text.as_str();
    let prefix = text.get(..3)?;
    if !prefix.eq_ignore_ascii_case("sp_") && !prefix.eq_ignore_ascii_case("xp_") {
        return None;
    }
    let schema_fits = name.schema.as_ref().is_none_or(|s| s.is("sys") || s.is("dbo"));
    schema_fits.then(|| ALL.iter().find(|p| p.name.eq_ignore_ascii_case(text))).flatten()
}

/// Every system procedure, with its object id and type.
pub fn listed() -> impl Iterator<Item = (i32, &'static str, &'static str)> {
    let written = catalog::all().map(|m| (m.object_id, m.name.as_str(), "P "));
    let functions = catalog::functions().map(|m| (m.object_id, m.name.as_str(), "FN"));
    let built = ALL
        .iter()
        .enumerate()
        .map(|(i, p)| (FIRST_ID - i as i32, p.name, if p.name.starts_with("xp_") { "X " } else { "P " }));
    written.chain(functions).chain(built)
}

/// Calls one; audits are told of what it is.
pub fn run(runner: &mut Runner<'_>, procedure: &Procedure, args: &[Argument]) -> Outcome {
    runner.audit_call(procedure.name, args, |runner| (procedure.run)(runner, args))
}

/// An argument by name or position.
pub(crate) fn argument<'a>(args: &'a [Argument], name: &str, position: usize) -> Option<&'a Argument> {
    let named = args.iter().find(|a| a.name.trim_start_matches('@').eq_ignore_ascii_case(name));
    named.or_else(|| args.get(position).filter(|a| a.name.is_empty()))
}

/// A string argument.
pub(crate) fn string(args: &[Argument], name: &str, position: usize) -> Option<String> {
    match argument(args, name, position)?.value.as_ref()? {
        Value::Str(s) => Some(s.to_string()),
        Value::Null => None,
        other => Some(crate::convert::display(other)),
    }
}

/// A number argument.
pub(crate) fn number(args: &[Argument], name: &str, position: usize) -> Option<i64> {
    match argument(args, name, position)?.value.as_ref()? {
        Value::Int(n) => Some(*n),
        Value::Bit(b) => Some(i64::from(*b)),
        Value::Str(s) => s.trim().parse().ok(),
        // 0x… in a call.
        Value::Bytes(bytes) => Some(bytes.iter().fold(0, |n, b| n << 8 | i64::from(*b))),
        _ => None,
    }
}

/// Return status 0 and nothing else.
pub(crate) fn ok() -> Outcome {
    Ok(Returned::default())
}

/// A value for an OUTPUT argument.
pub(crate) fn output(at: usize, value: Value, ty: SqlType) -> Returned {
    Returned { outputs: vec![(at, value, ty)], ..Returned::default() }
}
