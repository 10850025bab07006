//! Server configuration: the options of `sp_configure`, as stored in master and shown in `sys.configurations`.

/// One option as shipped.
#[derive(Clone, Copy, Debug)]
pub struct ConfigurationOption {
    /// `configuration_id`.
    pub id: i32,
    /// Name.
    pub name: &'static str,
    /// Least value.
    pub minimum: i64,
    /// Greatest value.
    pub maximum: i64,
    /// Value at first start.
    pub default: i64,
    /// Takes effect with RECONFIGURE, not only at restart.
    pub dynamic: bool,
    /// Shown only with `show advanced options`.
    pub advanced: bool,
}

const fn option(
    id: i32,
    name: &'static str,
    minimum: i64,
    maximum: i64,
    default: i64,
    dynamic: bool,
    advanced: bool,
) -> ConfigurationOption {
    ConfigurationOption { id, name, minimum, maximum, default, dynamic, advanced }
}

/// Evenkeel's own: log that a primary keeps for one replica at most, MB; 0 for no limit. A replica farther behind is
/// seeded anew instead of filling the primary's disk.
pub const REPLICA_LOG_RETENTION: i32 = 30_001;
/// scan for startup procs
pub const SCAN_FOR_STARTUP_PROCEDURES: i32 = 1547;

/// `default full-text language`: of columns that name none.
pub const FULL_TEXT_LANGUAGE: i32 = 1126;
/// `transform noise words`.
pub const TRANSFORM_NOISE_WORDS: i32 = 1555;
/// `default language`: `langid` of new logins.
pub const DEFAULT_LANGUAGE: i32 = 124;
/// `max server memory (MB)`
pub const MAX_SERVER_MEMORY: i32 = 1544;
/// `min server memory (MB)`
pub const MIN_SERVER_MEMORY: i32 = 1543;
/// `user options`: SET options of new sessions, as bits of `@@OPTIONS`.
pub const USER_OPTIONS: i32 = 1534;
/// `in-doubt xact resolution`: what becomes of transactions whose decider is not known: 0 nothing, 1 they commit, 2 they roll back.
pub const IN_DOUBT_RESOLUTION: i32 = 1570;
/// `user connections`: how many there may be; 0 leaves it to the start's `max_connections`.
pub const USER_CONNECTIONS: i32 = 103;
/// "contained database authentication": users of databases may log in.
pub const CONTAINED_AUTHENTICATION: i32 = 16_393;
/// "blocked process threshold (s)": from when on a session that waits is reported.
pub const BLOCKED_PROCESS_THRESHOLD: i32 = 1569;
/// `Ad Hoc Distributed Queries`: OPENROWSET and OPENDATASOURCE ask servers that are not linked.
pub const AD_HOC_QUERIES: i32 = 16_391;
/// `remote login timeout (s)`
pub const REMOTE_LOGIN_TIMEOUT: i32 = 1519;
/// `remote query timeout (s)`; 0 for none.
pub const REMOTE_QUERY_TIMEOUT: i32 = 1520;
/// `cost threshold for parallelism`: cheaper statements stay serial.
pub const COST_THRESHOLD: i32 = 1538;
/// `max degree of parallelism`: threads that work for a statement; 0 for as many as there are processors.
pub const MAX_DEGREE: i32 = 1539;
/// `disallow results from triggers`
pub const NO_RESULTS_FROM_TRIGGERS: i32 = 114;
/// `optimize for ad hoc workloads`: a text is kept when it comes for the second time.
pub const AD_HOC_WORKLOADS: i32 = 1581;

/// Every option, by name.
pub const OPTIONS: &[ConfigurationOption] = &[
    option(16391, "Ad Hoc Distributed Queries", 0, 1, 0, true, true),
    option(1550, "affinity I/O mask", i32::MIN as i64, i32::MAX as i64, 0, false, true),
    option(1535, "affinity mask", i32::MIN as i64, i32::MAX as i64, 0, true, true),
    option(16384, "Agent XPs", 0, 1, 1, true, true),
    option(102, "allow updates", 0, 1, 0, true, false),
    option(1579, "backup compression default", 0, 1, 0, true, false),
    option(BLOCKED_PROCESS_THRESHOLD, "blocked process threshold (s)", 0, 86_400, 0, true, true),
    option(544, "c2 audit mode", 0, 1, 0, false, true),
    option(1562, "clr enabled", 0, 1, 0, true, false),
    option(1577, "common criteria compliance enabled", 0, 1, 0, false, true),
    option(CONTAINED_AUTHENTICATION, "contained database authentication", 0, 1, 0, true, false),
    option(COST_THRESHOLD, "cost threshold for parallelism", 0, 32_767, 5, true, true),
    option(400, "cross db ownership chaining", 0, 1, 0, true, false),
    option(1531, "cursor threshold", -1, i32::MAX as i64, -1, true, true),
    option(16386, "Database Mail XPs", 0, 1, 0, true, true),
    option(FULL_TEXT_LANGUAGE, "default full-text language", 0, i32::MAX as i64, 1033, true, true),
    option(DEFAULT_LANGUAGE, "default language", 0, 9999, 0, true, false),
    option(1568, "default trace enabled", 0, 1, 1, true, true),
    option(NO_RESULTS_FROM_TRIGGERS, "disallow results from triggers", 0, 1, 0, true, true),
    option(1580, "filestream access level", 0, 2, 0, true, false),
    option(109, "fill factor (%)", 0, 100, 0, false, true),
    option(1505, "index create memory (KB)", 704, i32::MAX as i64, 0, true, true),
    option(IN_DOUBT_RESOLUTION, "in-doubt xact resolution", 0, 2, 0, true, true),
    option(1517, "lightweight pooling", 0, 1, 0, false, true),
    option(106, "locks", 5000, i32::MAX as i64, 0, false, true),
    option(MAX_DEGREE, "max degree of parallelism", 0, 32_767, 0, true, true),
    option(MAX_SERVER_MEMORY, "max server memory (MB)", 128, i32::MAX as i64, i32::MAX as i64, true, true),
    option(1536, "max text repl size (B)", -1, i32::MAX as i64, 65_536, true, false),
    option(503, "max worker threads", 128, 65_535, 0, true, true),
    option(1537, "media retention", 0, 365, 0, true, true),
    option(1540, "min memory per query (KB)", 512, i32::MAX as i64, 1024, true, true),
    option(MIN_SERVER_MEMORY, "min server memory (MB)", 0, i32::MAX as i64, 0, true, true),
    option(115, "nested triggers", 0, 1, 1, true, false),
    option(505, "network packet size (B)", 512, 32_767, 4096, true, true),
    option(16388, "Ole Automation Procedures", 0, 1, 0, true, true),
    option(107, "open objects", 0, i32::MAX as i64, 0, false, true),
    option(AD_HOC_WORKLOADS, "optimize for ad hoc workloads", 0, 1, 0, true, true),
    option(1557, "PH timeout (s)", 1, 3600, 60, true, true),
    option(1541, "query governor cost limit", 0, i32::MAX as i64, 0, true, true),
    option(1542, "query wait (s)", -1, i32::MAX as i64, -1, true, true),
    option(101, "recovery interval (min)", 0, 32_767, 0, true, true),
    option(117, "remote access", 0, 1, 1, false, false),
    option(1576, "remote admin connections", 0, 1, 0, true, false),
    option(1519, "remote login timeout (s)", 0, i32::MAX as i64, 10, true, false),
    option(542, "remote proc trans", 0, 1, 0, true, false),
    option(1520, "remote query timeout (s)", 0, i32::MAX as i64, 600, true, false),
    option(REPLICA_LOG_RETENTION, "replica log retention (MB)", 0, i32::MAX as i64, 0, true, false),
    option(SCAN_FOR_STARTUP_PROCEDURES, "scan for startup procs", 0, 1, 0, false, true),
    option(116, "server trigger recursion", 0, 1, 1, true, false),
    option(1532, "set working set size", 0, 1, 0, false, true),
    option(518, "show advanced options", 0, 1, 0, true, false),
    option(16387, "SMO and DMO XPs", 0, 1, 1, true, true),
    option(TRANSFORM_NOISE_WORDS, "transform noise words", 0, 1, 0, true, true),
    option(1127, "two digit year cutoff", 1753, 9999, 2049, true, true),
    option(USER_CONNECTIONS, "user connections", 0, 32_767, 0, false, true),
    option(USER_OPTIONS, "user options", 0, 32_767, 0, true, false),
    option(16390, "xp_cmdshell", 0, 1, 0, true, true),
];

/// The option whose name is, or begins with, `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static ConfigurationOption> {
    let exact = OPTIONS.iter().find(|o| o.name.eq_ignore_ascii_case(name));
    exact.or_else(|| {
        let mut matches = OPTIONS.iter().filter(|o| {
            o.name.len() >= name.len()
                && o.name.is_char_boundary(name.len())
                && o.name[..name.len()].eq_ignore_ascii_case(name)
        });
        let first = matches.next()?;
        if matches.next().is_some() { None } else { Some(first) }
    })
}
