//! [`Groups`]: the availability groups of one instance, as the server uses them.

use crate::ask::{self, Answer, Question};
use crate::endpoint::{EndpointConfig, EndpointState, Listening};
use crate::error::{ConnectError, GroupError};
use crate::handshake::{self, bye};
use crate::host::Host;
use crate::identity::{Certificate, Fingerprint, Identity};
use crate::marks::Marks;
use crate::partners::Partners;
use crate::records::Records;
use crate::shell::{Compression, Parts, Shared, members_of};
use crate::stored::Stored;
use crate::tls::Tls;
use crate::token::JoinToken;
use crate::trust::{Member, Trust};
use keel_base::Lsn;
use keel_base::env::{Clock, Env};
use keel_cluster::{
    ClusterOptions, ClusterStatus, Command, CommandError, GroupDatabaseId, GroupId, InstanceId, Node,
};
use keel_node::Database;
use keel_transport::Frame;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;
use uuid::Uuid;

/// Threads for cutting logs, promotions and the like.
const WORKERS: usize = 2;

/// How long a change of the cluster may take; its own time-out comes first.
const CLUSTER_TIMEOUT: Duration = Duration::from_secs(40);

/// How the groups of an instance are set up.
#[derive(Clone, Debug)]
pub struct GroupsOptions {
    /// Server name: what replicas are found by.
    pub server_name: String,
    /// Log kept in memory for peers, bytes, over all databases.
    pub pool_bytes: usize,
    /// It votes in a cluster and does nothing else.
    pub witness: bool,
    /// The product's version, as it is told to the others: `MAJOR.MINOR.PATCH` (semver.org).
    pub product: String,
    /// Every span of time that decides about failovers.
    pub cluster: ClusterOptions,
}

impl GroupsOptions {
    /// The defaults, for this server name.
    #[must_use]
    pub fn new(server_name: impl Into<String>) -> GroupsOptions {
        GroupsOptions {
            server_name: server_name.into(),
            pool_bytes: keel_transport::limits::POOL_BYTES,
            witness: false,
            product: env!("CARGO_PKG_VERSION").to_owned(),
            cluster: ClusterOptions::default(),
        }
    }
}

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandFailure {
    /// The machine says no.
    #[error(transparent)]
    Refused(#[from] CommandError),
    /// There is no connection to the instance that was to carry it out.
    #[error("{0} is not connected")]
    NotConnected(String),
    /// No answer came in time, or the groups are stopping; what was asked for may still happen.
    #[error("no answer came in time")]
    Unanswered,
}

/// The availability groups of one instance. One per process; shared by `Arc`; [`Groups::stop`] ends its threads.
pub struct Groups {
    pub(crate) shared: Arc<Shared>,
    cluster_options: ClusterOptions,
    threads: parking_lot::Mutex<Vec<JoinHandle<()>>>,
}

impl Groups {
    /// Reads identity, trust and group records from `dir` (making the identity when it is missing) and starts the threads.
    /// The endpoint is stopped; databases are still to be [registered](Groups::register_database).
    pub fn open(
        env: &Env,
        dir: &Path,
        options: GroupsOptions,
        host: Arc<dyn Host>,
    ) -> Result<Groups, GroupError> {
        let identity = Identity::load_or_create(env, dir, &options.server_name)?;
        let trust = Trust::load(env, dir)?;
        let partners = Partners::load(env, dir)?;
        let tls = Tls::new(&identity.certificate)?;
        let records = Records::new(env, dir);
        let kept = records.read_all()?;
        let (stored, store) = Stored::open(env, dir)?;
        let marks = Marks::open(env, dir)?;
        let me = keel_cluster::Identity {
            instance: InstanceId(identity.instance),
            server_name: options.server_name.clone(),
        };
        let machine = Node::new(me, kept, store.record.as_ref(), random(env), env.clock.now())
            .with_options(options.cluster.clone());
        let shared = Shared::new(Parts {
            env: env.clone(),
            dir: dir.to_path_buf(),
            identity,
            name: options.server_name,
            host,
            trust,
            partners,
            tls,
            machine,
            records,
            stored,
            marks,
            witness: options.witness,
            product: options.product,
            pool_bytes: options.pool_bytes,
            boot: random(env),
        });
        if let Some(damage) = store.damage {
            shared.note(None, &damage);
        }
        shared.tell_expected();
        let mut threads = Vec::new();
        threads.push(shared.spawn("cluster state", |shared| {
            shared.stored.run(|revision, result| shared.store_written(revision, &result));
        })?);
        threads.push(shared.spawn("group records", |shared| {
            shared.records.run(|group, revision, result| shared.record_written(group, revision, &result));
        })?);
        for _ in 0..WORKERS {
            threads.push(shared.spawn("group worker", |shared| {
                shared.work.run(|| shared.nanos(), &shared.waits.work_queue)
            })?);
        }
        if !shared.witness {
            threads.push(shared.spawn("group marks", |shared| shared.run_marks())?);
        }
        threads.push(shared.spawn("group pulse", |shared| shared.run_pulse())?);
        threads.push(shared.spawn("group clock", |shared| shared.run_clock())?);
        threads.push(shared.spawn("group keeper", |shared| shared.run_keeper())?);
        Ok(Groups { shared, cluster_options: options.cluster, threads: parking_lot::Mutex::new(threads) })
    }

    /// Stops the endpoint, ends all connections and threads. Databases stay as they are; the caller closes them.
    pub fn stop(&self) {
        let shared = &self.shared;
        if shared.stopping.swap(true, Ordering::AcqRel) {
            return;
        }
        self.stop_listening();
        self.end_connections("the instance stops");
        shared.bells.ring();
        shared.marks.bell.ring();
        shared.work.stop();
        shared.records.stop();
        shared.stored.stop();
        for thread in self.threads.lock().drain(..) {
            // A panic there has been reported by its own thread.
            let _ = thread.join();
        }
        if !shared.witness {
            shared.write_last_marks();
        }
        shared.copies.read().values().for_each(|copy| copy.untap());
        shared.replies.lock().clear();
    }

    /// How far the copy of a database certainly reached, as last written down beside its log; zero when nothing is known.
    #[must_use]
    pub fn marked(&self, database: GroupDatabaseId) -> Lsn {
        self.shared.marks.of(database)
    }

    /// Where the instances are that are connected now.
    #[must_use]
    pub fn peer_addresses(&self) -> Vec<IpAddr> {
        let peers = self.shared.peers.read();
        let mut all: Vec<IpAddr> =
            peers.values().filter_map(|p| p.link.peer_address()).map(|ip| ip.to_canonical()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// This instance's id, for ever.
    #[must_use]
    pub fn instance_id(&self) -> Uuid {
        self.shared.identity.instance
    }

    /// The server name that replicas are found by.
    #[must_use]
    pub fn server_name(&self) -> &str {
        &self.shared.name
    }

    /// The certificate this instance shows now.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.shared.tls().fingerprint()
    }

    /// The certificate made at first start, used unless the endpoint has another: for CREATE CERTIFICATE … BACKUP.
    #[must_use]
    pub fn own_certificate(&self) -> Certificate {
        self.shared.identity.certificate.clone()
    }

    // ---- the endpoint ----

    /// Sets up the endpoint as configured. Returns where it listens. Connections whose trust or certificate changed, or whose
    /// endpoint no longer runs, are ended; the rest stays.
    pub fn set_endpoint(&self, config: EndpointConfig) -> Result<Option<SocketAddr>, GroupError> {
        let shared = &self.shared;
        let own = config.certificate.as_ref().unwrap_or(&shared.identity.certificate);
        let tls = Tls::new(own)?;
        let renewed = tls.fingerprint() != shared.tls().fingerprint();
        shared.trust.set_certificates(config.trusted.iter().map(|der| Fingerprint::of(der)));
        shared.set_tls(tls);
        let listens = config.state != EndpointState::Stopped;
        let same_place = {
            let endpoint = shared.endpoint.lock();
            let (old, listening) = &*endpoint;
            listening.is_some() && (old.address, old.port) == (config.address, config.port)
        };
        if !(listens && same_place) {
            self.stop_listening();
        }
        shared.set_endpoint_state(config.state);
        let mut endpoint = shared.endpoint.lock();
        endpoint.0 = config.clone();
        if listens && endpoint.1.is_none() {
            endpoint.1 = Some(Listening::start(shared, &config)?);
        }
        let address = endpoint.1.as_ref().map(|l| l.address);
        drop(endpoint);
        if config.state != EndpointState::Started || renewed {
            self.end_connections("the endpoint was stopped or its certificate changed");
        } else {
            self.end_untrusted();
        }
        shared.bells.ring();
        Ok(address)
    }

    /// What peers are told to connect to (`TCP://host:port`).
    pub fn set_endpoint_url(&self, url: &str) {
        self.shared.endpoint.lock().0.url = url.to_owned();
    }

    /// The endpoint as configured, and where it listens.
    #[must_use]
    pub fn endpoint(&self) -> (EndpointConfig, Option<SocketAddr>) {
        let endpoint = self.shared.endpoint.lock();
        (endpoint.0.clone(), endpoint.1.as_ref().map(|l| l.address))
    }

    fn stop_listening(&self) {
        let listening = self.shared.endpoint.lock().1.take();
        if let Some(listening) = listening {
            listening.stop();
        }
    }

    fn end_connections(&self, why: &str) {
        let peers: Vec<_> = self.shared.peers.read().values().cloned().collect();
        for peer in peers {
            peer.send_control_now(&Frame::Bye { code: bye::STOPPING, text: why.to_owned() });
            peer.link.close();
        }
    }

    /// Closes every connection without a word, as a broken network does; they are made again at once. For tests and for
    /// operators who want to be sure.
    pub fn break_connections(&self) {
        self.shared.peers.read().values().for_each(|peer| peer.link.close());
    }

    fn end_untrusted(&self) {
        let peers: Vec<_> = self.shared.peers.read().values().cloned().collect();
        for peer in peers.iter().filter(|p| !self.shared.trust.allows(p.fingerprint, p.instance.0)) {
            let text = "the certificate is no longer trusted".to_owned();
            peer.send_control_now(&Frame::Bye { code: bye::UNTRUSTED, text });
            peer.link.close();
        }
    }

    // ---- trust ----

    /// Makes a join token that is good for `valid`, for any number of instances. The endpoint must have an address to be
    /// reached at.
    pub fn invite(&self, valid: Duration) -> Result<JoinToken, GroupError> {
        let (config, _) = self.endpoint();
        let address = handshake::host_and_port(&config.url).ok_or(GroupError::Token)?.to_owned();
        let secret = self.shared.trust.invite(valid)?;
        Ok(JoinToken { address, fingerprint: self.fingerprint(), secret })
    }

    /// The members introduced by joins, without this instance.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        self.shared.trust.members().into_iter().filter(|m| m.instance != self.instance_id()).collect()
    }

    /// Uses a token: this instance becomes trusted where it was issued and by everybody trusted there, and trusts them.
    pub fn join(&self, token: &JoinToken) -> Result<Vec<Member>, GroupError> {
        let members = join(&self.shared.tls(), &self.shared.own(), token)?;
        if self.shared.trust.introduce(&members, None)? {
            // Who is connected already trusts them as well from now on.
            self.shared.peers.read().values().for_each(|peer| self.shared.send_members(peer));
        }
        self.shared.bells.ring();
        Ok(members)
    }

    // ---- the cluster ----

    /// The cluster this instance is a member of.
    #[must_use]
    pub fn cluster(&self) -> Option<ClusterStatus> {
        self.shared.machine.lock().cluster_status()
    }

    /// The spans of time that decide about failovers.
    #[must_use]
    pub fn cluster_options(&self) -> &ClusterOptions {
        &self.cluster_options
    }

    /// The clock by which times in the state are.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.env.clock
    }

    /// Makes this instance the first member of a cluster, unless it is in one already. `url` is where others reach it.
    pub fn form_cluster(&self, url: &str) -> Result<(), CommandFailure> {
        if self.cluster().is_some() {
            return Ok(());
        }
        match self.command(Command::FormCluster { url: url.to_owned() }, CLUSTER_TIMEOUT) {
            Err(CommandFailure::Refused(CommandError::ClusterExists)) => Ok(()),
            other => other,
        }
    }

    /// Removes a member from the cluster, for good: it need not be connected. A witness, or an instance without replicas.
    pub fn remove_member(&self, name: &str) -> Result<(), CommandFailure> {
        let cluster = self.cluster().ok_or(CommandError::NoCluster)?;
        let found = cluster.members.iter().find(|m| m.member.name.eq_ignore_ascii_case(name));
        let instance = found.ok_or(CommandError::NoSuchMember)?.member.instance;
        self.shared.end_adoption(instance);
        self.command(Command::RemoveMember { instance }, CLUSTER_TIMEOUT)
    }

    // ---- databases and groups ----

    /// Makes a local database known: it takes part in the groups that name it. A database of a group that opens resolving
    /// gets its role soon after.
    pub fn register_database(&self, name: &str, database: &Arc<Database>) {
        self.shared.registry.write().insert(name.to_uppercase(), (name.to_owned(), Arc::clone(database)));
        self.shared.bind();
    }

    /// The local database is going away (dropped, detached, closed).
    pub fn unregister_database(&self, name: &str) {
        self.shared.registry.write().remove(&name.to_uppercase());
        let ids: Vec<_> = {
            let copies = self.shared.copies.read();
            copies.values().filter(|c| c.name.eq_ignore_ascii_case(name)).map(|c| c.id).collect()
        };
        ids.into_iter().for_each(|id| self.shared.close_copy(id));
    }

    /// Hands an operator's command to the machine and waits for its answer.
    pub fn command(&self, command: Command, timeout: Duration) -> Result<(), CommandFailure> {
        let began = self.shared.nanos();
        let answer = self.shared.command(command, timeout);
        self.shared.waits.command.waited(self.shared.nanos().saturating_sub(began));
        match answer {
            Some(result) => Ok(result?),
            None => Err(CommandFailure::Unanswered),
        }
    }

    /// Lets another instance carry out a failover to itself, and waits for it: what a command given there would do. `server` is
    /// this instance's name or a connected one's; `force` accepts loss.
    pub fn fail_over_to(&self, group: GroupId, server: &str, force: bool) -> Result<(), CommandFailure> {
        let shared = &self.shared;
        if server.eq_ignore_ascii_case(&shared.name) {
            let command = if force { Command::ForceFailover { group } } else { Command::Failover { group } };
            return self.command(command, ask::TAKE_OVER_TIMEOUT);
        }
        let peer = shared.peers.read().values().find(|p| p.name.eq_ignore_ascii_case(server)).cloned();
        let peer = peer.ok_or_else(|| CommandFailure::NotConnected(server.to_owned()))?.instance;
        let question = Question::TakeOver { group, force };
        // A little more than the other gives itself, so that its own answer comes first.
        let timeout = ask::TAKE_OVER_TIMEOUT + Duration::from_secs(1);
        match shared.ask(peer, &question, timeout) {
            Some(Answer::TakenOver(Some(result))) => Ok(result?),
            _ => Err(CommandFailure::Unanswered),
        }
    }

    /// Has it noted in a database of which this instance has a copy that its log before `until` is in a backup made here, by its primary
    /// ([`Host::log_backed_up`]). False when that cannot be reached, or could not.
    #[must_use]
    pub fn log_backed_up(&self, database: &str, until: Lsn, at: i64) -> bool {
        let shared = &self.shared;
        let copy =
            shared.copies.read().values().find(|copy| copy.name.eq_ignore_ascii_case(database)).cloned();
        let Some(copy) = copy else { return false };
        let primary = {
            let machine = shared.machine.lock();
            let config = machine.configs().find(|config| config.id == copy.group);
            config.and_then(|config| config.replica(config.primary?)?.instance)
        };
        let question = Question::LogBackedUp { database: copy.id, until, at };
        let answer = primary.and_then(|primary| shared.ask(primary, &question, ask::NOTE_TIMEOUT));
        answer == Some(Answer::Noted(true))
    }

    /// The group of this name that DROP removed here and not from the cluster, which could not be reached.
    #[must_use]
    pub fn dropped_here(&self, name: &str) -> Option<GroupId> {
        self.shared.machine.lock().dropped_here(name)
    }

    /// Names of groups this instance was invited to and has not joined.
    #[must_use]
    pub fn invitations(&self) -> Vec<String> {
        self.shared.machine.lock().invitations().map(str::to_owned).collect()
    }

    /// Sets whether blocks are compressed on their way.
    pub fn set_compression(&self, compression: Compression) {
        *self.shared.compression.write() = compression;
        self.shared.settle_compression();
    }

    /// Sets how many bytes a second one seeding may send; 0 for no limit. Holds for seedings that begin later.
    pub fn set_seeding_rate(&self, bytes_per_second: u64) {
        self.shared.seedings.rate_max.store(bytes_per_second, Ordering::Relaxed);
    }

    /// Sets what part of one processor, in percent (1 to 100), seedings from here take together when there is no idle one.
    pub fn set_seeding_share(&self, percent: u32) {
        self.shared.seedings.share.lock().set_floor(percent);
    }

    /// The last failure to reach a server, and when (nanoseconds since 1970 UTC).
    #[must_use]
    pub fn last_connect_error(&self, server_name: &str) -> Option<(ConnectError, i128)> {
        self.shared.dialer.lock().last_error(server_name)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.stop();
    }
}

fn random(env: &Env) -> u64 {
    let mut bytes = [0; 8];
    env.random.fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

fn join(tls: &Tls, own: &handshake::Own, token: &JoinToken) -> Result<Vec<Member>, ConnectError> {
    let expected = |fingerprint| fingerprint == token.fingerprint;
    let prove = |issuer| token.secret.key().prove(tls.fingerprint(), issuer);
    let mut met = handshake::dial(&token.address, tls, own, expected, Some(&prove))?;
    let frame = met.reader.next(&met.link).map_err(ConnectError::from)?;
    met.link.close();
    if let Frame::Bye { code, text } = frame {
        return Err(handshake::refused(code, text));
    }
    members_of(&frame).ok_or_else(|| ConnectError::Refused("the peer did not say whom it trusts".into()))
}

/// The same for an instance that does not run yet: uses a token with the identity kept in `dir` (made when it is missing).
/// `name` and `url` are what the others will know it by.
pub fn join_offline(
    env: &Env,
    dir: &Path,
    name: &str,
    url: &str,
    token: &JoinToken,
) -> Result<Vec<Member>, GroupError> {
    let identity = Identity::load_or_create(env, dir, name)?;
    let tls = Tls::new(&identity.certificate)?;
    let own = handshake::Own {
        instance: *identity.instance.as_bytes(),
        boot: random(env),
        name: name.to_owned(),
        url: url.to_owned(),
        witness: false,
        product: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let members = join(&tls, &own, token)?;
    Trust::load(env, dir)?.introduce(&members, None)?;
    Ok(members)
}

/// Makes a join token for an instance that does not run yet: `url` is where its endpoint will be reached.
pub fn invite_offline(
    env: &Env,
    dir: &Path,
    name: &str,
    url: &str,
    valid: Duration,
) -> Result<JoinToken, GroupError> {
    let identity = Identity::load_or_create(env, dir, name)?;
    let address = handshake::host_and_port(url).ok_or(GroupError::Token)?.to_owned();
    let secret = Trust::load(env, dir)?.invite(valid)?;
    Ok(JoinToken { address, fingerprint: identity.certificate.fingerprint(), secret })
}

/// Where an instance keeps what belongs to its groups, in its data directory.
#[must_use]
pub fn directory(data: &Path) -> PathBuf {
    data.join("groups")
}
