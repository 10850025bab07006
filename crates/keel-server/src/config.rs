//! Configuration: a TOML file, overridden by the command line.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::certificate::CertificateFiles;

/// Everything that can be set before start. The file's keys are the field names.
#[derive(Clone, Debug, Deserialize)]
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
    /// Memory for row versions and page cache together, in MB; 0 takes three quarters of the machine's.
    pub max_server_memory: u64,
    /// Checkpoint throttle (`-k`), in MB per second; 0 for none.
    pub checkpoint_throttle: u32,
    /// Trace flags set at start (`-T`).
    pub trace_flags: Vec<u32>,
    /// Refuse clients that do not encrypt.
    pub force_encryption: bool,
    /// PEM certificate; with `tls_key`. A self-signed one is made when both are missing.
    pub tls_certificate: Option<PathBuf>,
    /// PEM private key.
    pub tls_key: Option<PathBuf>,
    /// Connections at one time.
    pub max_connections: usize,
    /// Largest packet size clients may negotiate.
    pub max_packet_size: usize,
    /// Stack of a session's thread, in KB; deeply nested T-SQL needs it.
    pub session_stack: usize,
    /// Availability groups may be made here (`SERVERPROPERTY('IsHadrEnabled')`).
    pub hadr: bool,
    /// How long a connection to a listener waits for a primary, in seconds.
    pub listener_hold: u32,
    /// A log flush of a group's database that takes longer, in milliseconds, makes this instance unfit to lead; 0: never.
    pub health_disk_stall_ms: u32,
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
            max_server_memory: 0,
            checkpoint_throttle: 0,
            trace_flags: Vec::new(),
            force_encryption: false,
            tls_certificate: None,
            tls_key: None,
            max_connections: 32_767,
            max_packet_size: keel_tds::limits::PACKET_BYTES_MAX,
            session_stack: 16 * 1024,
            hadr: true,
            listener_hold: 30,
            health_disk_stall_ms: 2000,
            health_starved_ms: 500,
            health_exhausted_s: 10,
            log_to_stderr: true,
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
        if self.server_name.is_empty() { host_name().to_uppercase() } else { self.server_name.clone() }
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
        assert!(toml::from_str::<Config>("listne = 'x'").is_err(), "misspelt keys are refused");
    }
}
