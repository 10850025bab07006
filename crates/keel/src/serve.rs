//! `keel serve`.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use keel_server::Config;
use keel_server::failover_cluster::{Member, Seat};
use keel_server::instance::Instance;
use keel_web::Dashboard;

use crate::memory::Least;
use crate::signals::Signals;
use crate::{allocator, keeper};

/// Run a server: opens (or makes) the databases in a directory and answers SQL Server clients.
///
/// On the first start it makes the system databases, a self-signed certificate, and the login `sa` with the password in
/// MSSQL_SA_PASSWORD, or with one it makes up and prints once. It prints one line on standard output when it is ready
/// for connections, and stops cleanly (with a checkpoint) on SIGTERM or Ctrl-C; a second signal stops it at once.
/// Its messages go to standard error and to log/errorlog in the data directory.
#[derive(Args)]
pub struct Serve {
    /// Directory of databases, certificate and log; made when missing [default: keel-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Address and port to listen on; port 0 takes a free one [default: 127.0.0.1:1433; MSSQL_IP_ADDRESS and MSSQL_TCP_PORT each stand for one of them]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<String>,
    /// Configuration file (TOML); options given here override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Memory for row versions and page cache together, in MB [default: three quarters of the machine's]
    #[arg(long, value_name = "MB", env = "MSSQL_MEMORY_LIMIT_MB")]
    max_server_memory: Option<u64>,
    /// Memory that the process keeps once it has it, in MB; half of it is taken at the start [default: 0]
    #[arg(long, value_name = "MB")]
    min_server_memory: Option<u64>,
    /// Checkpoints write no more than this many MB per second [default: no limit]
    #[arg(short = 'k', value_name = "MBPS")]
    checkpoint_throttle: Option<u32>,
    /// Set a trace flag from the start; may be repeated
    #[arg(short = 'T', value_name = "FLAG")]
    trace_flag: Vec<u32>,
    /// A directory on storage that all members of the cluster share: whichever holds its lock runs the witness
    #[arg(long, value_name = "DIR")]
    witness_directory: Option<PathBuf>,
    /// The data directory is on storage that several machines share: serve when this one gets it, and wait until then
    #[arg(long)]
    failover_cluster: bool,
    /// Name of this machine among those [default: the machine's name]
    #[arg(long, value_name = "NAME", requires = "failover_cluster")]
    node: Option<String>,
    /// @@SERVERNAME [default: the machine's name]
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,
    /// Collation of the system databases, and of new ones that name none; for the first start [default: SQL_Latin1_General_CP1_CI_AS]
    #[arg(long, value_name = "NAME", env = "MSSQL_COLLATION")]
    collation: Option<String>,
    /// Refuse clients that do not encrypt
    #[arg(long)]
    force_encryption: bool,
    /// File with the keys of the service (keytab): clients may log in by Kerberos, as accounts of a domain
    #[arg(long, value_name = "FILE")]
    kerberos_keytab: Option<PathBuf>,
    /// Domain whose accounts may log in; may be repeated [default: the keys' realm, by the first part of its name]
    #[arg(long, value_name = "NAME=REALM")]
    kerberos_domain: Vec<String>,
    /// Server of the domain's directory (ldaps://host:port, or ldap://host:port with STARTTLS): it knows accounts and groups; may be repeated
    #[arg(long, value_name = "URL", requires = "ldap_user")]
    ldap_server: Vec<String>,
    /// Who the server is to the directory, user@REALM
    #[arg(long, value_name = "NAME", requires = "ldap_password_file")]
    ldap_user: Option<String>,
    /// File with that user's password
    #[arg(long, value_name = "FILE")]
    ldap_password_file: Option<PathBuf>,
    /// Certificate chain (PEM) to use instead of the self-signed one
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// Private key (PEM) of that certificate
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Certificates of authorities that BACKUP TO URL trusts besides the system's [default: ca-certificates in the data directory]
    #[arg(long, value_name = "DIR")]
    ca_certificates: Option<PathBuf>,
    /// BACKUP TO URL reaches this storage by HTTP instead of HTTPS (repeatable)
    #[arg(long, value_name = "HOST[:PORT]")]
    plain_http: Vec<String>,
    /// Start no process beside a member of a cluster that lets its clients go when it stands still
    #[arg(long)]
    no_keeper: bool,
    /// Fire no triggers of LOGON: the way in when one refuses everybody
    #[arg(long)]
    no_logon_triggers: bool,
    /// Run no jobs: the agent stays off
    #[arg(long)]
    no_agent: bool,
    /// Serve the dashboard, /metrics and health checks here; HTTPS unless it is a loopback address [default: off]
    #[arg(long, value_name = "ADDR:PORT")]
    dashboard: Option<String>,
    /// The dashboard and /metrics ask for no login to be looked at; buttons do
    #[arg(long)]
    dashboard_anyone: bool,
    /// HTTPS for the dashboard on a loopback address too
    #[arg(long)]
    dashboard_tls: bool,
    /// Keep messages off standard error; the error log has them
    #[arg(long)]
    quiet: bool,
}

/// Waits until this machine has the instance; a signal ends the process meanwhile.
fn wait_for_turn(member: &Arc<Member>, config: &Config, signals: Signals) -> Result<Seat> {
    let waiting = Arc::new(AtomicBool::new(true));
    let waits = Arc::clone(&waiting);
    std::thread::spawn(move || {
        while waits.load(Ordering::SeqCst) {
            if signals.comes_within(LOOK_FOR_SIGNALS_EVERY) {
                std::process::exit(0);
            }
        }
    });
    let seat = member.wait(config, &mut |text| {
        println!("keel: {text}");
        let _ = std::io::stdout().flush();
    });
    waiting.store(false, Ordering::SeqCst);
    seat
}

/// Begins the process anew, as it was called: it has the instance no more, and waits with the others. Nothing of it goes on. When the
/// program was replaced meanwhile it is the new one that waits.
fn start_over() {
    let mut arguments = std::env::args_os();
    let named = arguments.next().map(PathBuf::from);
    let arguments: Vec<_> = arguments.collect();
    for program in named.into_iter().chain(std::env::current_exe()) {
        let failed = std::process::Command::new(&program).args(&arguments).exec();
        eprintln!("keel: {} cannot be begun anew: {failed}", program.display());
    }
    // Whatever happens the instance must not go on here.
    std::process::abort();
}

/// How often who waits for the instance looks for signals.
const LOOK_FOR_SIGNALS_EVERY: Duration = Duration::from_millis(100);

/// Where to listen as the product's images are told it; none when they are not.
fn listen_of_environment() -> Option<String> {
    let said = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (address, port) = (said("MSSQL_IP_ADDRESS"), said("MSSQL_TCP_PORT"));
    if address.is_none() && port.is_none() {
        return None;
    }
    let address = address.unwrap_or_else(|| "127.0.0.1".to_owned());
    let address = if address.contains(':') { format!("[{address}]") } else { address };
    Some(format!("{address}:{}", port.as_deref().unwrap_or("1433")))
}

impl Serve {
    /// Runs until told to stop.
    pub fn run(self) -> ExitCode {
        match self.serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => {
                eprintln!("keel: {e:#}");
                ExitCode::FAILURE
            }
        }
    }

    fn serve(self) -> Result<()> {
        allocator::keep_huge_pages_whole();
        // Before any thread is made, so that all of them leave the signals to this one.
        let signals = Signals::block();
        let config = self.config()?;
        let least = config.min_server_memory_bytes()?.unwrap_or(0);
        let member = Member::of(&config)?;
        let seat = member.as_ref().map(|member| wait_for_turn(member, &config, signals)).transpose()?;
        let mut instance = Instance::start(config.clone(), seat)?;
        let _guard = member.as_ref().map(|member| instance.guard(member, start_over)).transpose()?;
        let configured = instance.min_server_memory();
        let _least =
            Least::hold(move || least.max(configured())).context("no thread for min server memory")?;
        instance.start_keeper(&config, keeper::launch(config.server_name()))?;
        let dashboard = match Dashboard::start(&instance.front(), &config) {
            Ok(dashboard) => dashboard,
            Err(e) => {
                instance.stop()?;
                return Err(e);
            }
        };
        let addresses: Vec<String> = instance.addresses().iter().map(ToString::to_string).collect();
        let also = dashboard.as_ref().map(|d| format!("; dashboard on {}", d.url())).unwrap_or_default();
        println!("keel: ready for connections on {}{also}", addresses.join(", "));
        // Whoever started us may have closed its end; the server runs on.
        let _ = std::io::stdout().flush();
        let at_once = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&at_once);
        instance.on_shutdown(Box::new(move |no_wait| {
            asked.store(no_wait, Ordering::SeqCst);
            // SAFETY: raises the signal that this process waits for.
            unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
        }));
        signals.wait();
        if at_once.load(Ordering::SeqCst) {
            std::process::exit(0);
        }
        std::thread::spawn(move || {
            signals.wait();
            std::process::exit(1);
        });
        if let Some(dashboard) = dashboard {
            dashboard.stop();
        }
        instance.stop()?;
        if member.is_some_and(|member| member.is_moving()) {
            start_over();
        }
        Ok(())
    }

    fn config(self) -> Result<Config> {
        let mut config = match &self.config {
            Some(path) => Config::load(path)?,
            None => Config::default(),
        };
        config.data = self.data.unwrap_or(config.data);
        config.listen = self.listen.or_else(listen_of_environment).unwrap_or(config.listen);
        config.max_server_memory = self.max_server_memory.unwrap_or(config.max_server_memory);
        config.min_server_memory = self.min_server_memory.unwrap_or(config.min_server_memory);
        config.checkpoint_throttle = self.checkpoint_throttle.unwrap_or(config.checkpoint_throttle);
        config.witness_directory = self.witness_directory.or(config.witness_directory);
        config.failover_cluster.enabled |= self.failover_cluster;
        config.failover_cluster.node = self.node.unwrap_or(config.failover_cluster.node);
        config.server_name = self.server_name.unwrap_or(config.server_name);
        config.collation = self.collation.unwrap_or(config.collation);
        config.trace_flags.extend(self.trace_flag);
        config.keeper &= !self.no_keeper;
        config.logon_triggers &= !self.no_logon_triggers;
        config.agent &= !self.no_agent;
        config.force_encryption |= self.force_encryption;
        config.dashboard = self.dashboard.unwrap_or(config.dashboard);
        config.dashboard_anyone |= self.dashboard_anyone;
        config.dashboard_tls |= self.dashboard_tls;
        config.kerberos_keytab = self.kerberos_keytab.or(config.kerberos_keytab);
        config.kerberos_domains.extend(self.kerberos_domain);
        config.ldap_servers.extend(self.ldap_server);
        config.ldap_user = self.ldap_user.unwrap_or(config.ldap_user);
        config.ldap_password_file = self.ldap_password_file.or(config.ldap_password_file);
        config.tls_certificate = self.tls_certificate.or(config.tls_certificate);
        config.tls_key = self.tls_key.or(config.tls_key);
        config.ca_certificates = self.ca_certificates.or(config.ca_certificates);
        config.plain_http.extend(self.plain_http);
        config.log_to_stderr &= !self.quiet;
        std::fs::create_dir_all(&config.data)
            .with_context(|| format!("cannot make the data directory {}", config.data.display()))?;
        Ok(config)
    }
}
