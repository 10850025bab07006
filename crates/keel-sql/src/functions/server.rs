//! Functions about the instance and its databases.

use super::{text, variant, variant_int, variant_text};
use crate::catalog::PageVerify;
use crate::engine::DatabaseEntry;
use crate::session::info::Info;
use keel_types::datetime::{DAY_1900, TICKS_PER_DAY};
use keel_types::error::Result;
use keel_types::{Collation, SqlType, Value};
use std::sync::Arc;
use std::time::Duration;

/// The version clients see: what they know how to talk to.
pub const PRODUCT_VERSION: &str = "16.0.1000.6";

/// When that version was built, in 1/300 s since 0001-01-01.
const RESOURCE_DATE: i64 = 19_140_242_255_265;

pub(super) fn version(_: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::str(format!(
        "Microsoft SQL Server 2022 (RTM) - {PRODUCT_VERSION} (X64) compatible \n\tEvenkeel {} \n\tDeveloper Edition (64-bit) on Linux",
        env!("CARGO_PKG_VERSION")
    )))
}

pub(super) fn server_name(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::str(info.engine.options().server_name.as_str()))
}

pub(super) fn service_name(_: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::str("MSSQLSERVER"))
}

pub(super) fn microsoft_version(_: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(0x1000_03E8))
}

/// Sessions at the same time, as the product counts them.
pub(crate) const MAX_CONNECTIONS: i64 = 32_767;

pub(super) fn max_connections(_: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(MAX_CONNECTIONS))
}

pub(super) fn max_precision(_: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(38))
}

pub(super) fn connections(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(info.engine.sessions.all().len() as i64))
}

/// Microseconds in a tick of `@@CPU_BUSY` and its like.
const TICK_US: u128 = 31_250;

pub(super) fn time_ticks(_: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(TICK_US as i64))
}

fn ticks(time: Duration) -> Result<Value> {
    counted((time.as_micros() / TICK_US).try_into().unwrap_or(u64::MAX))
}

/// A counter as an int, which stops at the greatest.
fn counted(n: u64) -> Result<Value> {
    Ok(Value::Int(i32::try_from(n).unwrap_or(i32::MAX).into()))
}

/// Processor time of the process since its start.
pub(super) fn cpu_busy(info: &Info, _: &[Value]) -> Result<Value> {
    ticks(info.engine.options().env.clock.process_cpu())
}

/// What the process left of all processors' time.
pub(super) fn idle(info: &Info, _: &[Value]) -> Result<Value> {
    let clock = &info.engine.options().env.clock;
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    ticks((clock.now() * processors).saturating_sub(clock.process_cpu()))
}

/// Reads, writes, and the time they took, of all databases' files.
fn disk(info: &Info) -> (u64, u64, Duration) {
    let of = |database: Arc<DatabaseEntry>| {
        let (io, log) = (database.store.store().base().io_stats(), database.store.stats().log);
        let nanos = io.read_nanos + io.write_nanos + log.flush_nanos;
        (io.reads, io.writes + log.flushes, Duration::from_nanos(nanos))
    };
    let sum = |a: (u64, u64, Duration), b: (u64, u64, Duration)| (a.0 + b.0, a.1 + b.1, a.2 + b.2);
    info.engine.databases().into_iter().map(of).fold((0, 0, Duration::ZERO), sum)
}

pub(super) fn io_busy(info: &Info, _: &[Value]) -> Result<Value> {
    ticks(disk(info).2)
}

pub(super) fn total_read(info: &Info, _: &[Value]) -> Result<Value> {
    counted(disk(info).0)
}

pub(super) fn total_write(info: &Info, _: &[Value]) -> Result<Value> {
    counted(disk(info).1)
}

pub(super) fn packets_received(info: &Info, _: &[Value]) -> Result<Value> {
    counted(info.engine.sessions.packets().0)
}

pub(super) fn packets_sent(info: &Info, _: &[Value]) -> Result<Value> {
    counted(info.engine.sessions.packets().1)
}

/// What `sp_monitor` compares: cpu, io and idle time in seconds, packets received, sent and in error, reads, writes, errors, connections.
pub(crate) fn monitored(info: &Info) -> Result<[i64; 10]> {
    let seconds = |ticks: Value| i128::from(ticks.as_int().unwrap_or(0)) * TICK_US as i128 / 1_000_000;
    let all = [
        cpu_busy,
        io_busy,
        idle,
        packets_received,
        packets_sent,
        zero,
        total_read,
        total_write,
        zero,
        logins,
    ];
    let mut values = [0; 10];
    for (at, counter) in all.into_iter().enumerate() {
        let value = counter(info, &[])?;
        values[at] = if at < 3 { seconds(value) as i64 } else { value.as_int().unwrap_or(0) };
    }
    Ok(values)
}

/// Sessions since the start.
fn logins(info: &Info, _: &[Value]) -> Result<Value> {
    counted(info.engine.sessions.logins.load(std::sync::atomic::Ordering::Relaxed))
}

pub(super) fn zero(_: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(0))
}

/// No.
pub(super) fn no(_: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Bit(false))
}

pub(super) fn null(_: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::Null)
}

pub(super) fn dbts(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::bytes(info.current_database().current_rowversion().to_be_bytes().to_vec()))
}

pub(super) fn min_active_rowversion(info: &Info, _: &[Value]) -> Result<Value> {
    Ok(Value::bytes((info.current_database().current_rowversion() + 1).to_be_bytes().to_vec()))
}

pub(super) fn new_sequential_id(info: &Info, _: &[Value]) -> Result<Value> {
    let mut id = [0; 16];
    info.engine.options().env.random.fill(&mut id[8..]);
    id[..8].copy_from_slice(&info.engine.stamp().to_be_bytes());
    Ok(Value::Guid(id))
}

pub(super) fn server_property(info: &Info, args: &[Value]) -> Result<Value> {
    let name = info.engine.options().server_name.as_str();
    Ok(match text(args, 0).unwrap_or("").to_ascii_lowercase().as_str() {
        "productversion" | "resourceversion" => variant_text(PRODUCT_VERSION),
        // When the build of that version was made: 2022-10-08 06:31:57.550.
        "resourcelastupdatedatetime" => variant(
            SqlType::DateTime,
            Value::DateTime(keel_types::datetime::from_three_hundredths(RESOURCE_DATE)),
        ),
        "productlevel" => variant_text("RTM"),
        "productmajorversion" => variant_text("16"),
        "productminorversion" => variant_text("0"),
        "productbuild" => variant_text("1000"),
        "productupdatelevel" | "productupdatereference" | "productbuildtype" => Value::Null,
        "edition" => variant_text("Developer Edition (64-bit)"),
        "editionid" => variant(SqlType::BigInt, Value::Int(-2_117_995_310)),
        "engineedition" => variant_int(3),
        "servername" => variant_text(name),
        "computernamephysicalnetbios" if info.engine.failover_cluster().is_some() => {
            info.engine.failover_cluster().map_or(Value::Null, |cluster| variant_text(cluster.node()))
        }
        "machinename" | "computernamephysicalnetbios" => {
            variant_text(name.split('\\').next().unwrap_or(name))
        }
        "instancename" => name.split_once('\\').map_or(Value::Null, |(_, i)| variant_text(i)),
        "collation" => variant_text(info.engine.collation().name()),
        // Of others the number could not be looked up.
        "collationid" if info.engine.collation() == Collation::default() => variant_int(872_468_488),
        "comparisonstyle" => variant_int(info.engine.collation().comparison_style().into()),
        "lcid" => variant_int(info.engine.collation().lcid().into()),
        "sqlcharset" if info.engine.collation().code_page() == 1252 => {
            variant(SqlType::TinyInt, Value::Int(1))
        }
        "sqlcharsetname" => variant_text(charset_name(info.engine.collation())),
        "sqlsortorder" => variant(SqlType::TinyInt, Value::Int(info.engine.collation().sort_id().into())),
        "sqlsortordername" if info.engine.collation() == Collation::default() => variant_text("nocase_iso"),
        "sqlsortordername" if info.engine.collation().sort_id() == 0 => variant_text("bin_ascii_8"),
        "licensetype" => variant_text("DISABLED"),
        "processid" => variant_int(i64::from(std::process::id())),
        "isclustered" => variant_int(i64::from(info.engine.failover_cluster().is_some())),
        "isfulltextinstalled" => variant_int(1),
        "issingleuser"
        | "ispolybaseinstalled"
        | "islocaldb"
        | "isxtpsupported"
        | "isadvancedanalyticsinstalled"
        | "isbigdatacluster"
        | "istempdbmetadatamemoryoptimized"
        | "isexternalauthenticationonly"
        | "isexternalgovernanceenabled"
        | "isserversuspendedforsnapshotbackup"
        | "filestreamconfiguredlevel"
        | "filestreameffectivelevel" => variant_int(0),
        "isintegratedsecurityonly" => variant_int(0),
        "ishadrenabled" => variant_int(i64::from(info.engine.hadr().is_some())),
        "hadrmanagerstatus" => variant_int(info.engine.hadr().map_or(0, |h| h.state().manager_status.into())),
        "instancedefaultdatapath" | "instancedefaultlogpath" => {
            variant_text(info.engine.options().data_dir.display().to_string())
        }
        "instancedefaultbackuppath" => {
            variant_text(crate::backup::default_directory(&info.engine).display().to_string())
        }
        "buildclrversion" => variant_text("v4.0.30319"),
        "pathseparator" => variant_text("/"),
        _ => Value::Null,
    })
}

/// Whether the database is a mirror: it takes nothing but log.
fn follows_a_principal(info: &Info, database: &str) -> bool {
    let state = info.engine.hadr().map(|hadr| hadr.state());
    state.is_some_and(|s| s.mirroring_of(database).is_some_and(|m| m.role == crate::hadr::Role::Secondary))
}

pub(super) fn database_property(info: &Info, args: &[Value]) -> Result<Value> {
    let Some(name) = text(args, 0) else { return Ok(Value::Null) };
    let Some(entry) = info.find_database(name) else {
        let asks = text(args, 1).is_some_and(|property| property.eq_ignore_ascii_case("status"));
        let waits = asks && info.engine.unopened().iter().any(|u| u.name.eq_ignore_ascii_case(name));
        return Ok(if waits { variant_text("RECOVERY_PENDING") } else { Value::Null });
    };
    let settings = std::sync::Arc::clone(entry.picture().settings());
    let flag = |name: &str| variant_int(i64::from(settings.flags.get(name).copied().unwrap_or(false)));
    let unless = |name: &str| variant_int(i64::from(settings.flags.get(name).copied().unwrap_or(true)));
    Ok(match text(args, 1).unwrap_or("").to_ascii_lowercase().as_str() {
        "collation" => variant_text(settings.collation.as_str()),
        "status" if follows_a_principal(info, &entry.name()) || entry.is_restoring() => {
            variant_text("RESTORING")
        }
        "status" => variant_text(if settings.offline { "OFFLINE" } else { "ONLINE" }),
        "isinstandby" => variant_int(i64::from(entry.is_standby())),
        "updateability" => {
            let follows = info.engine.hadr().is_some_and(|h| {
                let state = h.state();
                state.group_of(&entry.name()).is_some_and(|(g, _)| !g.writes())
            });
            variant_text(if settings.read_only || entry.is_standby() || follows {
                "READ_ONLY"
            } else {
                "READ_WRITE"
            })
        }
        "useraccess" => variant_text(settings.user_access.as_str()),
        "recovery" => variant_text(settings.recovery.as_str()),
        "version" => variant_int(957),
        "comparisonstyle" => variant_int(settings.default_collation().comparison_style().into()),
        "lcid" => variant_int(settings.default_collation().lcid().into()),
        "sqlcharsetname" => variant_text(charset_name(settings.default_collation())),
        "sqlsortorder" => variant_int(settings.default_collation().sort_id().into()),
        "maxsizeinbytes" => Value::Null,
        "edition" | "serviceobjective" => Value::Null,
        "isautocreatestatistics" => unless("AUTO_CREATE_STATISTICS"),
        "isautoupdatestatistics" => unless("AUTO_UPDATE_STATISTICS"),
        "istornpagedetectionenabled" => {
            variant_int((settings.page_verify == PageVerify::TornPageDetection).into())
        }
        "islocalcursorsdefault" => flag("CURSOR_DEFAULT"),
        "isparameterizationforced" => flag("PARAMETERIZATION"),
        "ischangetrackingenabled" => variant_int(i64::from(settings.change_tracking.is_some())),
        "isautoclose" => flag("AUTO_CLOSE"),
        "isautoshrink" => flag("AUTO_SHRINK"),
        "isansinulldefault" => flag("ANSI_NULL_DEFAULT"),
        "isansinullsenabled" => flag("ANSI_NULLS"),
        "isquotedidentifiersenabled" => flag("QUOTED_IDENTIFIER"),
        "isansipaddingenabled" => flag("ANSI_PADDING"),
        "isansiwarningsenabled" => flag("ANSI_WARNINGS"),
        "isarithmeticabortenabled" => flag("ARITHABORT"),
        "isnullconcat" => flag("CONCAT_NULL_YIELDS_NULL"),
        "isnumericroundabortenabled" => flag("NUMERIC_ROUNDABORT"),
        "isclosecursorsoncommitenabled" => flag("CURSOR_CLOSE_ON_COMMIT"),
        "isrecursivetriggersenabled" => flag("RECURSIVE_TRIGGERS"),
        // Checks are not noted: as of a database that never was.
        "lastgoodcheckdbtime" => {
            variant(SqlType::DateTime, Value::DateTime(i64::from(DAY_1900) * TICKS_PER_DAY))
        }
        "isfulltextenabled" => variant_int(1),
        "isclone" => flag(crate::engine::CLONE),
        "isverifiedclone" => flag(crate::engine::VERIFIED_CLONE),
        "ismergepublished"
        | "ispublished"
        | "issubscribed"
        | "issyncwithbackup"
        | "isautocreatestatisticsincremental"
        | "ismemoryoptimizedelevatetosnapshotenabled"
        | "isxtpsupported" => variant_int(0),
        _ => Value::Null,
    })
}

/// The character set of `varchar`, as the product has named them since before code pages.
fn charset_name(collation: keel_types::Collation) -> String {
    match collation.code_page() {
        1252 => "iso_1".to_owned(),
        other => format!("cp{other}"),
    }
}

pub(super) fn database_property_int(info: &Info, args: &[Value]) -> Result<Value> {
    Ok(match database_property(info, args)? {
        Value::Variant(v) => v.1.clone(),
        _ => Value::Null,
    })
}

pub(super) fn collation_property(_: &Info, args: &[Value]) -> Result<Value> {
    let Some(c) = text(args, 0).and_then(keel_types::Collation::by_name) else { return Ok(Value::Null) };
    Ok(match text(args, 1).unwrap_or("").to_ascii_lowercase().as_str() {
        "codepage" => variant_int(c.code_page().into()),
        "lcid" => variant_int(c.lcid().into()),
        "comparisonstyle" => variant_int(c.comparison_style().into()),
        "version" => variant_int(c.version().into()),
        _ => Value::Null,
    })
}
