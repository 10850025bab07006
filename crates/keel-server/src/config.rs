//! Configuration: a TOML file, overridden by the command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use keel_cluster::ClusterOptions;
use keel_types::Collation;
use serde::{Deserialize, Serialize};

use crate::certificate::CertificateFiles;

/// Everything that can be set before start. The file's keys are the field names.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Directory of databases, certificate and log.
    pub data: PathBuf,
    /// Address and port to listen on; port 0 takes a free one.
    pub listen: String,
    /// Further addresses, for example of a second network.
    pub also_listen: Vec<String>,
    /// `@@SERVERNAME`; the machine's name when empty.
    pub server_name: String,
    /// The instance's collation: that of its system databases, and of new ones that name none. Of a first start; later ones stay with
    /// what the instance has. `SQL_Latin1_General_CP1_CI_AS` when empty.
    pub collation: String,
    /// Memory for row versions and page cache together, in MB; 0 takes three quarters of the machine's.
    pub max_server_memory: u64,
    /// Memory that the process keeps once it has it, in MB, not more than `max_server_memory`; half of it is taken at the start, the
    /// other half is for the page cache. For machines whose memory is slow to come by: guests of a host that takes back what is free.
    pub min_server_memory: u64,
    /// What checkpoints may write at most, in MB per second; 0: no limit.
    pub checkpoint_throttle: u32,
    /// Share of one processor that automatic seeding takes when no processor is idle, in percent; an idle one it uses fully.
    pub seeding_share: u32,
    /// Trace flags set at start.
    pub trace_flags: Vec<u32>,
    /// Refuse clients that do not encrypt.
    pub force_encryption: bool,
    /// PEM certificate; with `tls_key`. A self-signed one is made when both are missing.
    pub tls_certificate: Option<PathBuf>,
    /// PEM private key.
    pub tls_key: Option<PathBuf>,
    /// File with the keys of the service (`keytab`): clients may log in by Kerberos, as accounts of a domain. None: with passwords only.
    pub kerberos_keytab: Option<PathBuf>,
    /// Domains whose accounts may log in, as `NAME=REALM`: `NAME\user` is who the realm calls `user@REALM`. Empty: the realm of the
    /// service itself, by the first part of its name.
    pub kerberos_domains: Vec<String>,
    /// Servers of the domain's directory (LDAP), as `ldaps://HOST[:PORT]` or, with STARTTLS, `ldap://HOST[:PORT]`; the next one is asked where one does not
    /// answer. They say which accounts and groups there are, for CREATE LOGIN FROM WINDOWS. None: any name may be an account's, no group
    /// is known.
    pub ldap_servers: Vec<String>,
    /// Who the server is to the directory: `user@REALM`, or a distinguished name.
    pub ldap_user: String,
    /// File with that user's password, in its first line.
    pub ldap_password_file: Option<PathBuf>,
    /// Directory with certificates (PEM or DER) of authorities that BACKUP TO URL, mail and the domain's directory trust besides the system's; `ca-certificates` in the data
    /// directory when nothing is said.
    pub ca_certificates: Option<PathBuf>,
    /// Storages, as `HOST` or `HOST:PORT`, that BACKUP TO URL reaches by HTTP. All others are reached by HTTPS.
    pub plain_http: Vec<String>,
    /// Address and port of the dashboard, `/metrics` and the health checks; empty: none. HTTPS unless it is a loopback address.
    pub dashboard: String,
    /// HTTPS for the dashboard on a loopback address too.
    pub dashboard_tls: bool,
    /// The dashboard shows to anyone, without a login, what VIEW SERVER STATE would; its buttons take a login all the same.
    pub dashboard_anyone: bool,
    /// Connections at one time.
    pub max_connections: usize,
    /// Largest packet size clients may negotiate.
    pub max_packet_size: usize,
    /// Stack of a session's thread, and of those that help it, in KB; deeply nested T-SQL needs it.
    pub session_stack: usize,
    /// Availability groups may be made here (`SERVERPROPERTY('IsHadrEnabled')`).
    pub hadr: bool,
    /// A member of a cluster has a small process beside it that resets its clients' connections, and refuses new ones, when it stands
    /// still for `silence_ms` + `stagger_ms`, and holds those of an address that moves for a moment when it dies.
    pub keeper: bool,
    /// Triggers of LOGON fire. Off is for getting in again when one refuses everybody.
    pub logon_triggers: bool,
    /// The agent runs the jobs of `msdb`.
    pub agent: bool,
    /// `[cluster]`: what decides about failovers.
    pub cluster: ClusterConfig,
    /// A directory on storage that all members share: whichever of them holds its lock runs the cluster's witness there.
    pub witness_directory: Option<PathBuf>,
    /// `[failover_cluster]`: the data directory lies on storage that several machines share, and one of them has the instance.
    pub failover_cluster: FailoverClusterConfig,
    /// How long a connection to a listener waits for a primary, in seconds.
    pub listener_hold: u32,
    /// A primary takes the IP addresses of its listener onto its machine (`CAP_NET_ADMIN`, `CAP_NET_RAW`); without it they are used
    /// where they are.
    pub listener_addresses: bool,
    /// A log flush of a group's database that takes longer, in milliseconds, makes this instance unfit to lead; 0: never.
    pub health_disk_stall_ms: u32,
    /// The same on a primary while every replica that could take its place has hardened all that the flush holds, in
    /// milliseconds; longer for a large flush or a disk that was slow lately; 0: never.
    pub health_disk_stall_alone_ms: u32,
    /// Getting the processor this late three times running, in milliseconds, makes it unfit (FAILURE_CONDITION_LEVEL 3); 0:
    /// never.
    pub health_starved_ms: u32,
    /// Memory or connections used up for so many seconds make it unfit (levels 4 and 5); 0: never.
    pub health_exhausted_s: u32,
    /// Write the error log to standard error too.
    pub log_to_stderr: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            data: PathBuf::from("keel-data"),
            listen: "127.0.0.1:1433".to_owned(),
            also_listen: Vec::new(),
            server_name: String::new(),
            collation: String::new(),
            max_server_memory: 0,
            min_server_memory: 0,
            checkpoint_throttle: 0,
            seeding_share: 5,
            trace_flags: Vec::new(),
            force_encryption: false,
            tls_certificate: None,
            tls_key: None,
            kerberos_keytab: None,
            kerberos_domains: Vec::new(),
            ldap_servers: Vec::new(),
            ldap_user: String::new(),
            ldap_password_file: None,
            ca_certificates: None,
            plain_http: Vec::new(),
            dashboard: String::new(),
            dashboard_tls: false,
            dashboard_anyone: false,
            max_connections: 32_767,
            max_packet_size: keel_tds::limits::PACKET_BYTES_MAX,
            session_stack: 16 * 1024,
            hadr: true,
            keeper: true,
            logon_triggers: true,
            agent: true,
            cluster: ClusterConfig::default(),
            witness_directory: None,
            failover_cluster: FailoverClusterConfig::default(),
            listener_hold: 30,
            listener_addresses: true,
            health_disk_stall_ms: 2000,
            health_disk_stall_alone_ms: 400,
            health_starved_ms: 500,
            health_exhausted_s: 10,
            log_to_stderr: true,
        }
    }
}

/// A failover cluster instance on this machine.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct FailoverClusterConfig {
    /// This machine serves when it gets the data directory's lock, and waits for it until then.
    pub enabled: bool,
    /// Name of this machine among the others; the machine's own when empty.
    pub node: String,
    /// Where the instance goes its IP address goes: `ADDRESS/PREFIX`, in a network of each machine; empty: none moves.
    pub address: String,
    /// Of these (`HOST:PORT`, a router, a name server, clients' side of the network) the machine must reach one by TCP, or it gives the
    /// instance up, and takes none. Several, of which one always answers; none: it does not ask.
    pub reach: Vec<String>,
    /// How long it may reach none; how long a machine without a sign of life counts as up.
    pub member_timeout_ms: u32,
}

impl Default for FailoverClusterConfig {
    fn default() -> FailoverClusterConfig {
        FailoverClusterConfig {
            enabled: false,
            node: String::new(),
            address: String::new(),
            reach: Vec::new(),
            member_timeout_ms: 3000,
        }
    }
}

/// A bound below this would be met by the log on its way.
const RECOVERY_QUEUE_MB_MIN: u32 = 16;

/// The spans of time that decide about failovers, in milliseconds; the meanings and defaults are those of
/// [`keel_cluster::ClusterOptions`]. Members should have the same.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterConfig {
    /// Nothing heard for so long: lost.
    pub silence_ms: u32,
    /// A lost secondary leaves the synchronized set after so long.
    pub drop_after_ms: u32,
    /// A secondary that is heard and hardens nothing leaves it after so long.
    pub stall_ms: u32,
    /// No sign of life from a majority for so long: what is led here is given up.
    pub lease_ms: u32,
    /// A member not heard for so long loses its vote until it is back.
    pub vote_after_ms: u32,
    /// Candidates claim this much apart.
    pub stagger_ms: u32,
    /// A candidate that needs no more than this longer than the quickest to redo its log is as good as it: the group's order decides.
    pub redo_slack_ms: u32,
    /// Megabytes of log that a copy may have hardened and not redone: it is sent no more, and from half of it on writers wait a little
    /// for a member of the synchronized set. 0: no bound.
    pub recovery_queue_mb: u32,
    /// Automatic failovers within `flap_period_ms` that are not held back.
    pub flap_max: u32,
    /// The period that `flap_max` is counted in.
    pub flap_period_ms: u32,
    /// How long the first one over it is held back.
    pub flap_pause_ms: u32,
}

impl Default for ClusterConfig {
    fn default() -> ClusterConfig {
        let o = ClusterOptions::default();
        let ms = |time: Duration| u32::try_from(time.as_millis()).expect("the defaults are at most minutes");
        ClusterConfig {
            silence_ms: ms(o.silence),
            drop_after_ms: ms(o.drop_after),
            stall_ms: ms(o.stall),
            lease_ms: ms(o.lease),
            vote_after_ms: ms(o.vote_after),
            stagger_ms: ms(o.stagger),
            redo_slack_ms: ms(o.redo_slack),
            recovery_queue_mb: u32::try_from(o.recovery_queue_max >> 20).expect("the default is small"),
            flap_max: o.flap_max,
            flap_period_ms: ms(o.flap_period),
            flap_pause_ms: ms(o.flap_pause),
        }
    }
}

impl ClusterConfig {
    /// As the cluster takes them.
    #[must_use]
    pub fn options(&self) -> ClusterOptions {
        let ms = |ms: u32| Duration::from_millis(ms.into());
        ClusterOptions {
            silence: ms(self.silence_ms),
            drop_after: ms(self.drop_after_ms),
            stall: ms(self.stall_ms),
            lease: ms(self.lease_ms),
            vote_after: ms(self.vote_after_ms),
            stagger: ms(self.stagger_ms),
            redo_slack: ms(self.redo_slack_ms),
            recovery_queue_max: match self.recovery_queue_mb {
                0 => 0,
                mb => u64::from(mb.max(RECOVERY_QUEUE_MB_MIN)) << 20,
            },
            flap_max: self.flap_max,
            flap_period: ms(self.flap_period_ms),
            flap_pause: ms(self.flap_pause_ms),
            ..ClusterOptions::default()
        }
    }
}

impl Config {
    /// From a file.
    pub fn load(path: &Path) -> Result<Config> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{} is not a valid configuration", path.display()))
    }

    /// `@@SERVERNAME`.
    #[must_use]
    pub fn server_name(&self) -> String {
        if self.server_name.is_empty() { machine_name() } else { self.server_name.clone() }
    }

    /// The instance's collation, if one is said.
    ///
    /// # Errors
    /// When there is none of that name, or it is for columns of national types only.
    pub fn collation(&self) -> Result<Option<Collation>> {
        if self.collation.is_empty() {
            return Ok(None);
        }
        let found = Collation::by_name(&self.collation);
        let found = found.with_context(|| format!("there is no collation '{}'", self.collation))?;
        let name = found.name();
        anyhow::ensure!(found.code_page() != 0, "collation {name} is for columns of Unicode types only");
        Ok(Some(found))
    }

    /// Memory limit in bytes.
    #[must_use]
    pub fn max_server_memory_bytes(&self) -> u64 {
        const MB: u64 = 1024 * 1024;
        match self.max_server_memory {
            0 => machine_memory_bytes() / 4 * 3,
            mb => mb.max(64) * MB,
        }
    }

    /// What the process keeps at least, in bytes; none for 0.
    ///
    /// # Errors
    /// When it is more than the limit.
    pub fn min_server_memory_bytes(&self) -> Result<Option<usize>> {
        let (least, most) = (self.min_server_memory, self.max_server_memory_bytes() >> 20);
        anyhow::ensure!(
            least <= most,
            "min server memory ({least} MB) must not be more than max server memory ({most} MB)"
        );
        Ok(usize::try_from(least << 20).ok().filter(|bytes| *bytes > 0))
    }

    /// Where certificate and key are.
    pub fn certificate(&self) -> Result<CertificateFiles> {
        match (&self.tls_certificate, &self.tls_key) {
            (Some(certificate), Some(key)) => {
                Ok(CertificateFiles { certificate: certificate.clone(), key: key.clone() })
            }
            (None, None) => Ok(CertificateFiles::own(&self.data)),
            _ => anyhow::bail!("tls_certificate and tls_key must be given together"),
        }
    }
}

/// The machine's name as SQL Server writes it, in upper case.
pub(crate) fn machine_name() -> String {
    host_name().to_uppercase()
}

/// The machine's name, `localhost` when it has none.
#[must_use]
pub fn host_name() -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the pointer and length are those of a writable buffer.
    let failed = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len()) } != 0;
    let end = buffer.iter().position(|b| *b == 0).unwrap_or(0);
    match std::str::from_utf8(&buffer[..end]) {
        Ok(name) if !failed && !name.is_empty() => name.to_owned(),
        _ => "localhost".to_owned(),
    }
}

fn machine_memory_bytes() -> u64 {
    const FALLBACK: u64 = 2 << 30;
    // SAFETY: sysconf takes a number and returns one.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    match (u64::try_from(pages), u64::try_from(page)) {
        (Ok(pages), Ok(page)) if pages > 0 => pages * page,
        _ => FALLBACK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_sets_what_it_names_and_leaves_the_rest() {
        let config: Config = toml::from_str("listen = '0.0.0.0:1433'\ntrace_flags = [1222]").expect("valid");
        assert_eq!(config.listen, "0.0.0.0:1433");
        assert_eq!(config.trace_flags, [1222]);
        assert_eq!(config.max_connections, Config::default().max_connections);
        let config: Config = toml::from_str("[cluster]\nsilence_ms = 300").expect("valid");
        let wanted = ClusterOptions { silence: Duration::from_millis(300), ..ClusterOptions::default() };
        assert_eq!(config.cluster.options(), wanted);
        assert!(toml::from_str::<Config>("listne = 'x'").is_err(), "misspelt keys are refused");
    }
}
