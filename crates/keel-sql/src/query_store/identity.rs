//! What tells queries and plans apart: texts, hashes, and categories of waits.

use super::record::Slot;
use super::rows::DirectionsRow;
use crate::program::{CompiledCode, Program};
use crate::secrets::without_secrets;
use crate::views::plans::text_hash;
use keel_parser::lexer::{Tok, tokenize};
use keel_query::plan::shown::{Object, Part};
use keel_query::plan::steps::Step;
use md5::{Digest, Md5};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};

/// What may follow a statement and is none of it.
const ENDS: [char; 5] = [';', ' ', '\r', '\n', '\t'];

/// A statement as the store has it.
pub(super) struct Identity {
    /// With the declarations of the variables that it reads in front, without passwords: what differs in these only is one.
    pub text: String,
    /// Something was left out of it.
    pub restricted: bool,
    /// Equal for texts that differ only in literals, case and space.
    pub hash: u64,
    pub object: i32,
    /// 0, or the kind of its parameters (`query_parameterization_type`): 1 for those that whoever sent it declared.
    pub parameters: u8,
}

impl Identity {
    /// Of a statement in its program.
    pub fn of(program: &Program, span: (u32, u32)) -> Identity {
        let (from, to) = (span.0 as usize, span.1 as usize);
        let statement = program.text.get(from..to).unwrap_or_default().trim_end_matches(ENDS);
        let (declared, hash) = read(program, statement);
        let text =
            if declared.is_empty() { statement.to_owned() } else { format!("({declared}){statement}") };
        let shown = without_secrets(&text).into_owned();
        let (restricted, text) = (shown != text, shown);
        let object = program.identity.object_id;
        let parameters = match program.parameterized {
            _ if object != 0 || program.parameters.is_empty() || declared.is_empty() => 0,
            None => 1,
            Some(mode) => mode.number(),
        };
        Identity { text, restricted, hash, object, parameters }
    }
}

impl Slot {
    /// What this is a statement of.
    pub fn identity(&self) -> Identity {
        Identity::of(&self.program, self.span)
    }

    /// Where it is in its program, bytes of UTF-16. Reads all of the text before it.
    pub fn offsets(&self) -> (i64, i64) {
        let (from, to) = (self.span.0 as usize, self.span.1 as usize);
        let wide = |text: Option<&str>| 2 * text.unwrap_or_default().encode_utf16().count() as i64;
        let before = 2 * self.program.declarations().encode_utf16().count() as i64;
        let start = before + wide(self.program.text.get(..from));
        (start, start + wide(self.program.text.get(from..to).map(|text| text.trim_end_matches(ENDS))))
    }
}

/// A statement of a program, with the declarations of the variables that it reads in front.
pub(crate) fn with_declarations(program: &Program, span: (u32, u32)) -> String {
    Identity::of(program, span).text
}

/// `query_hash` of a statement in its program.
pub(crate) fn query_hash(program: &Program, span: (u32, u32)) -> u64 {
    let text = program.text.get(span.0 as usize..span.1 as usize).unwrap_or_default();
    read(program, text.trim_end_matches(ENDS)).1
}

/// `query_plan_hash` of a compiled statement; 0 of what has no plan.
pub(crate) fn plan_hash(code: &CompiledCode) -> u64 {
    match code {
        CompiledCode::Plan(plan) => shape_hash(&plan.steps()),
        _ => 0,
    }
}

/// The declarations of a statement's variables, in the order in which they are read, and its hash.
fn read(program: &Program, statement: &str) -> (String, u64) {
    let Ok(tokens) = tokenize(statement, program.quoted_identifier) else {
        return (String::new(), text_hash(statement));
    };
    let (mut declared, mut seen, mut shape) = (String::new(), Vec::new(), String::new());
    for token in tokens {
        let raw = statement.get(token.start as usize..token.end as usize).unwrap_or_default();
        match token.tok {
            Tok::Str | Tok::NStr | Tok::Int | Tok::Decimal | Tok::Float | Tok::Money | Tok::Binary => {
                shape.push('?')
            }
            _ => shape.push_str(&raw.to_lowercase()),
        }
        shape.push(' ');
        if token.tok == Tok::Variable && !seen.contains(&raw.to_lowercase()) {
            seen.push(raw.to_lowercase());
            if let Some((_, def)) = program.variable(&raw.to_lowercase()) {
                let comma = if declared.is_empty() { "" } else { "," };
                let _ = write!(declared, "{comma}{raw} {}", def.ty);
            }
        }
    }
    (declared, text_hash(&shape))
}

/// A key for texts in memory.
pub(super) fn text_key(text: &str) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    (hasher.finish(), text_hash(text))
}

/// `statement_sql_handle` of a text, by which a text is found again: its kind, and the MD5 of its UTF-16.
pub(crate) fn statement_handle(text: &str) -> Vec<u8> {
    let mut hasher = Md5::new();
    text.encode_utf16().for_each(|unit| hasher.update(unit.to_le_bytes()));
    let mut handle = vec![9, 0];
    handle.extend(hasher.finalize());
    handle.resize(44, 0);
    handle
}

/// A statement's plan: its hash, its document, and whether several threads may run it.
pub(super) struct Planned {
    pub hash: u64,
    pub document: Option<String>,
    pub parallel: bool,
}

/// The hash of a slot's plan; 0 of what is planned anew each time.
pub(super) fn plan_hash_of(slot: &Slot) -> u64 {
    slot.compiled.as_ref().map_or(0, |compiled| plan_hash(&compiled.code))
}

/// The plan of a slot, with its document.
pub(super) fn planned(slot: &Slot, query_hash: u64) -> Planned {
    let hash = plan_hash_of(slot);
    let Some(CompiledCode::Plan(plan)) = slot.compiled.as_ref().map(|c| &c.code) else {
        return Planned { hash, document: None, parallel: false };
    };
    let document = crate::run::plan_document(&slot.program, slot.span, plan, (query_hash, hash));
    Planned { hash, document: Some(document), parallel: plan.degree() > 1 }
}

/// From what a slot's plan can be made again; `None` of what is planned anew each time.
pub(super) fn directions(slot: &Slot) -> Option<DirectionsRow> {
    match slot.compiled.as_ref().map(|c| &c.code) {
        Some(CompiledCode::Plan(plan)) => Some(DirectionsRow {
            shape: shape_anywhere(&plan.steps()),
            directions: plan.directions().clone(),
        }),
        _ => None,
    }
}

/// Operators and the indexes that they read, in their order.
pub(crate) fn shape_hash(steps: &[Step<'_>]) -> u64 {
    let mut shape = String::new();
    let mut write = |object: &Object, shape: &mut String| {
        let _ = write!(shape, " {object}");
    };
    steps.iter().for_each(|step| write_shape(step, &mut shape, &mut write));
    text_hash(&shape)
}

/// The same whatever the databases are called, which are told apart by their order: of a database that was renamed, or restored as another.
pub(super) fn shape_anywhere(steps: &[Step<'_>]) -> u64 {
    let (mut shape, mut databases) = (String::new(), Vec::new());
    let mut write = |object: &Object, shape: &mut String| {
        let at = databases.iter().position(|name| *name == object.database).unwrap_or_else(|| {
            databases.push(object.database.clone());
            databases.len() - 1
        });
        let _ = write!(shape, " {}", Object { database: at.to_string(), ..object.clone() });
    };
    steps.iter().for_each(|step| write_shape(step, &mut shape, &mut write));
    text_hash(&shape)
}

fn write_shape(step: &Step<'_>, shape: &mut String, object: &mut dyn FnMut(&Object, &mut String)) {
    let _ = write!(shape, "{}/{}", step.shown.physical, step.shown.logical);
    for part in &step.shown.parts {
        match part {
            Part::Object(it) => object(it, shape),
            Part::Seek(keys) => {
                let _ = write!(shape, " seek {}", keys.len());
            }
            _ => {}
        }
    }
    let _ = write!(shape, "{}(", if step.parallel { " parallel" } else { "" });
    step.inputs.iter().for_each(|input| write_shape(input, shape, object));
    shape.push(')');
}

/// Categories of waits by number, with the beginnings of the types' names, as the reference of `sys.query_store_wait_stats` has them.
pub(crate) const CATEGORIES: [(&str, &[&str]); 24] = [
    ("Unknown", &[]),
    ("CPU", &["SOS_SCHEDULER_YIELD"]),
    ("Worker Thread", &["THREADPOOL"]),
    ("Lock", &["LCK_M_"]),
    ("Latch", &["LATCH_"]),
    ("Buffer Latch", &["PAGELATCH_"]),
    ("Buffer IO", &["PAGEIOLATCH_"]),
    ("Compilation", &["RESOURCE_SEMAPHORE_QUERY_COMPILE"]),
    ("SQL CLR", &["CLR", "SQLCLR"]),
    ("Mirroring", &["DBMIRROR"]),
    ("Transaction", &["XACT", "DTC", "TRAN_MARKLATCH_", "MSQL_XACT_", "TRANSACTION_MUTEX"]),
    ("Idle", &["SLEEP_", "LAZYWRITER_SLEEP", "DIRTY_PAGE_POLL", "HADR_FILESTREAM_IOMGR_IOCOMPLETION"]),
    ("Preemptive", &["PREEMPTIVE_"]),
    ("Service Broker", &["BROKER_"]),
    ("Tran Log IO", &["LOGMGR", "LOGBUFFER", "CHKPT", "WRITELOG"]),
    ("Network IO", &["ASYNC_NETWORK_IO", "NET_WAITFOR_PACKET", "PROXY_NETWORK_IO"]),
    ("Parallelism", &["CXPACKET", "CXCONSUMER", "CXSYNC", "EXCHANGE", "HT", "BMP", "BP"]),
    (
        "Memory",
        &["RESOURCE_SEMAPHORE", "CMEMTHREAD", "CMEMPARTITIONED", "EE_PMOLOCK", "MEMORY_ALLOCATION_EXT"],
    ),
    ("User Wait", &["WAITFOR", "WAIT_FOR_RESULTS"]),
    ("Tracing", &["TRACEWRITE", "SQLTRACE_", "QUERY_TRACEOUT", "TRACE_EVTNOTIF"]),
    ("Full Text Search", &["FT_", "FULLTEXT GATHERER", "MSSEARCH"]),
    ("Other Disk IO", &["ASYNC_IO_COMPLETION", "IO_COMPLETION", "BACKUPIO", "WRITE_COMPLETION"]),
    ("Replication", &["SE_REPL_", "REPL_", "HADR_", "PWAIT_HADR_", "REPLICA_WRITES"]),
    (
        "Log Rate Governor",
        &["LOG_RATE_GOVERNOR", "POOL_LOG_RATE_GOVERNOR", "HADR_THROTTLE_LOG_RATE_GOVERNOR"],
    ),
];

/// The category of a type of waits.
pub(super) fn category_of(wait_type: &str) -> u8 {
    let of = |(number, (_, begins)): (usize, &(&str, &[&str]))| {
        begins.iter().any(|begin| wait_type.starts_with(begin)).then_some(number as u8)
    };
    CATEGORIES.iter().enumerate().find_map(of).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_have_categories() {
        let names =
            ["LCK_M_X", "WRITELOG", "PAGEIOLATCH_SH", "WAITFOR", "CXPACKET", "RESOURCE_SEMAPHORE", "OTHER"];
        let categories = names.map(|name| CATEGORIES[usize::from(category_of(name))].0);
        assert_eq!(
            categories,
            ["Lock", "Tran Log IO", "Buffer IO", "User Wait", "Parallelism", "Memory", "Unknown"]
        );
    }

    #[test]
    fn a_handle_is_the_products() {
        let handle = statement_handle("select 1");
        assert_eq!((handle.len(), &handle[..2], &handle[18..]), (44, &[9u8, 0][..], &[0u8; 26][..]));
    }
}
