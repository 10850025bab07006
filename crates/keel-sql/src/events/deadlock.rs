//! The report of a deadlock as XML, and that of a session that waits too long: `xml_deadlock_report`, `blocked_process_report`.

use super::record::{push_characters, time};
use crate::engine::Engine;
use keel_base::DatabaseId;
use keel_query::catalog::Catalog as _;
use keel_query::xml::push_text;
use keel_store::lock::{
    DeadlockGraph, DeadlockResource, OwnerContext as _, OwnerDescription, Resource, WaitInfo,
};
use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// `name="value"`, with a blank before it.
fn attribute(out: &mut String, name: &str, value: &str) {
    let _ = write!(out, " {name}=\"");
    push_text(value, true, out);
    out.push('"');
}

fn process_id(agent: u64) -> String {
    format!("process{agent:x}")
}

/// What a report says of a session besides its own words.
struct Facts<'a> {
    agent: u64,
    status: &'a str,
    resource: String,
    waited: Duration,
    mode: &'a str,
    log_used: u64,
    priority: i32,
}

impl Engine {
    /// Name of a database; empty when it is gone.
    pub(crate) fn database_name(&self, id: u32) -> String {
        self.database_by_id(DatabaseId(id)).map(|entry| entry.name().to_string()).unwrap_or_default()
    }

    /// Names of what is locked: the object with database and schema, and the index.
    pub(crate) fn locked_names(&self, resource: &Resource<'_>) -> (String, String) {
        let Some(entry) = self.database_by_id(resource.database()) else { return Default::default() };
        let picture = entry.picture();
        let found = picture.tables().find_map(|table| match resource {
            Resource::Key(_, tree, _) | Resource::Range(_, tree) => {
                let index = table.indexes.iter().find(|index| index.tree == *tree)?;
                Some((table, index.name.clone()))
            }
            Resource::Object(_, id) => (table.object_id == *id as i32).then(|| (table, String::new())),
            _ => None,
        });
        let Some((table, index)) = found else { return Default::default() };
        let schema = picture.schema_name(table.schema_id).unwrap_or_default();
        let object = format!("{}.{schema}.{}", entry.name(), table.name);
        (object, index)
    }

    /// The document of `xml_deadlock_report`. Called on the thread of a session that blocks: it takes no locks of rows.
    #[must_use]
    pub fn deadlock_report(&self, graph: &DeadlockGraph) -> String {
        let mut out = "<deadlock><victim-list><victimProcess".to_owned();
        attribute(&mut out, "id", &process_id(graph.processes[graph.victim].agent));
        out.push_str("/></victim-list><process-list>");
        for process in &graph.processes {
            let facts = Facts {
                agent: process.agent,
                status: "suspended",
                resource: process.resource.as_ref().to_string(),
                waited: process.waited,
                mode: process.mode.name(),
                log_used: process.log_used,
                priority: process.priority,
            };
            self.push_process(&process.description, &facts, &mut out);
        }
        out.push_str("</process-list><resource-list>");
        for resource in &graph.resources {
            self.push_resource(resource, &mut out);
        }
        out.push_str("</resource-list></deadlock>");
        out
    }

    fn push_process(&self, who: &OwnerDescription, facts: &Facts<'_>, out: &mut String) {
        out.push_str("<process");
        let database = self.database_name(who.database);
        let owner = facts.agent.to_string();
        for (name, value) in [
            ("id", process_id(facts.agent).as_str()),
            ("taskpriority", "0"),
            ("logused", &facts.log_used.to_string()),
            ("waitresource", &facts.resource),
            ("waittime", &facts.waited.as_millis().to_string()),
            ("ownerId", &owner),
            ("transactionname", &who.transaction_name),
            ("lockMode", facts.mode),
            ("status", facts.status),
            ("spid", &who.session_id.to_string()),
            ("sbid", "0"),
            ("ecid", "0"),
            ("priority", &facts.priority.to_string()),
            ("clientapp", &who.application),
            ("hostname", &who.host),
            ("loginname", &who.login),
            ("isolationlevel", &who.isolation),
            ("xactid", &owner),
            ("currentdb", &who.database.to_string()),
            ("currentdbname", &database),
        ] {
            attribute(out, name, value);
        }
        if let Some(session) = self.sessions.get(who.session_id) {
            let times = [
                ("lasttranstarted", &session.transaction_began),
                ("lastbatchstarted", &session.request_started),
                ("lastbatchcompleted", &session.request_ended),
            ];
            for (name, ticks) in times {
                attribute(out, name, &time(ticks.load(Ordering::Relaxed)));
            }
            attribute(out, "trancount", &session.transactions.load(Ordering::Relaxed).to_string());
            attribute(out, "hostpid", &session.login.client_pid.to_string());
        }
        out.push_str("><executionStack><frame");
        let procedure = if who.procedure == "adhoc" {
            who.procedure.clone()
        } else {
            format!("{database}.{}", who.procedure)
        };
        attribute(out, "procname", &procedure);
        attribute(out, "line", &who.line.to_string());
        out.push('>');
        push_characters(&who.statement, out);
        out.push_str("</frame></executionStack><inputbuf>");
        push_characters(&who.input_buffer, out);
        out.push_str("</inputbuf></process>");
    }

    /// The document of `blocked_process_report`. `None` when who waits or who is in the way has gone.
    #[must_use]
    pub(super) fn blocked_report(&self, wait: &WaitInfo, turn: u64) -> Option<String> {
        let resource = wait.resource.as_ref().to_string();
        let blocked = self.sessions.get(u32::try_from(wait.agent).ok()?)?;
        let blocker = self.sessions.get(u32::try_from(*wait.blocked_by.first()?).ok()?)?;
        let facts = Facts {
            agent: wait.agent,
            status: "suspended",
            resource,
            waited: wait.waited,
            mode: wait.mode.name(),
            log_used: 0,
            priority: 0,
        };
        let mut out = format!("<blocked-process-report monitorLoop=\"{turn}\"><blocked-process>");
        self.push_process(&blocked.describe(), &facts, &mut out);
        out.push_str("</blocked-process><blocking-process>");
        let runs = blocker.running.load(Ordering::Relaxed);
        let status = if runs { "running" } else { "sleeping" };
        let facts = Facts {
            agent: blocker.id.into(),
            status,
            resource: String::new(),
            waited: Duration::ZERO,
            mode: "",
            log_used: 0,
            priority: 0,
        };
        self.push_process(&blocker.describe(), &facts, &mut out);
        out.push_str("</blocking-process></blocked-process-report>");
        Some(out)
    }

    fn push_resource(&self, resource: &DeadlockResource, out: &mut String) {
        let locked = resource.resource.as_ref();
        let (object, index) = self.locked_names(&locked);
        let mode = resource.owners.first().map_or("", |owner| owner.mode.name());
        let database = locked.database().0.to_string();
        let described = locked.description();
        let (tag, facts): (&str, Vec<(&str, String)>) = match locked {
            Resource::Key(_, tree, _) | Resource::Range(_, tree) => (
                "keylock",
                vec![
                    ("hobtid", tree.0.to_string()),
                    ("dbid", database),
                    ("objectname", object),
                    ("indexname", index),
                    ("id", format!("lock{}{described}", tree.0)),
                    ("mode", mode.to_owned()),
                    ("associatedObjectId", tree.0.to_string()),
                ],
            ),
            Resource::Object(_, id) => (
                "objectlock",
                vec![
                    ("lockPartition", "0".to_owned()),
                    ("objid", id.to_string()),
                    ("subresource", "FULL".to_owned()),
                    ("dbid", database),
                    ("objectname", object),
                    ("id", format!("lock{id}")),
                    ("mode", mode.to_owned()),
                    ("associatedObjectId", id.to_string()),
                ],
            ),
            Resource::Application(..) => (
                "applicationlock",
                vec![
                    ("hash", described),
                    ("databasePrincipalId", "0".to_owned()),
                    ("dbid", database),
                    ("id", "lock".to_owned()),
                    ("mode", mode.to_owned()),
                ],
            ),
            Resource::Database(_) => (
                "databaselock",
                vec![("dbid", database), ("id", "lock".to_owned()), ("mode", mode.to_owned())],
            ),
            Resource::Metadata(..) => (
                "metadatalock",
                vec![
                    ("classid", described),
                    ("dbid", database),
                    ("id", "lock".to_owned()),
                    ("mode", mode.to_owned()),
                ],
            ),
        };
        let _ = write!(out, "<{tag}");
        facts.iter().for_each(|(name, value)| attribute(out, name, value));
        out.push_str("><owner-list>");
        for owner in &resource.owners {
            out.push_str("<owner");
            attribute(out, "id", &process_id(owner.agent));
            attribute(out, "mode", owner.mode.name());
            out.push_str("/>");
        }
        out.push_str("</owner-list><waiter-list>");
        for waiter in &resource.waiters {
            out.push_str("<waiter");
            attribute(out, "id", &process_id(waiter.agent));
            attribute(out, "mode", waiter.mode.name());
            attribute(out, "requestType", if waiter.converts { "convert" } else { "wait" });
            out.push_str("/>");
        }
        let _ = write!(out, "</waiter-list></{tag}>");
    }
}
