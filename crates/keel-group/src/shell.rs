//! [`Shared`]: what all threads of the groups share, and the way events go in.
//!
//! One lock guards the machine. [`Shared::step`] hands it an event and carries out the actions before the lock is let go,
//! so that they happen in the order in which they were decided ([`crate::act`]). What is hardened here it hears when that
//! matters ([`crate::own_log`]). What takes long is given to the workers
//! ([`crate::work`]) or the records' thread, and comes back as another event.
//!
//! Order of locks: connecting ► machine ► (databases, peers) ► a peer's lanes ► a link. The log's own locks come before a
//! peer's lanes (the tap) and are never held around a step.

use crate::adoption::Adoption;
use crate::ask::Asked;
use crate::bell::Bell;
use crate::clients::Clients;
use crate::copy::Copy;
use crate::counters::{PeerTotals, WaitTotals};
use crate::endpoint::{Dialer, EndpointConfig, EndpointState, Listening, Target};
use crate::error::{ConnectError, GroupError};
use crate::handshake::{Met, Own, bye, host_and_port};
use crate::host::Host;
use crate::identity::Identity;
use crate::lanes::LaneFailure;
use crate::link::Link;
use crate::marks::Marks;
use crate::own_log::Turns;
use crate::partners::Partners;
use crate::peer::{NewPeer, Peer};
use crate::product;
use crate::records::Records;
use crate::seeding::Seedings;
use crate::stored::Stored;
use crate::tls::Tls;
use crate::trust::{Member, Trust};
use crate::work::Work;
use keel_base::env::Env;
use keel_base::panics::EndsProcess;
use keel_cluster::{
    Action, Command, CommandError, CommandId, Event, GroupDatabaseId, GroupId, InstanceId, Msg, Node,
};
use keel_node::Database;
use keel_transport::{Frame, PoolBudget, Purpose};
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// What a control frame carries: the first byte says which.
const CONTROL_CLUSTER: u8 = 0;
const CONTROL_SEEDING: u8 = 1;
const CONTROL_MEMBERS: u8 = 2;
const CONTROL_QUESTION: u8 = 3;
const CONTROL_ANSWER: u8 = 4;
const CONTROL_CLIENTS: u8 = 5;

/// Whether blocks are compressed, by the replica's mode; the product's trace flags set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// For asynchronous replicas: on unless trace flag 1462 is set.
    pub asynchronous: bool,
    /// For synchronous replicas: off unless trace flag 9592 is set.
    pub synchronous: bool,
    /// For seeding: on unless trace flag 1462 is set; 9567 keeps it on even then.
    pub seeding: bool,
}

impl Default for Compression {
    fn default() -> Compression {
        Compression { asynchronous: true, synchronous: false, seeding: true }
    }
}

/// What all threads share.
pub(crate) struct Shared {
    pub(crate) env: Env,
    /// Where the groups keep what they must not forget.
    pub(crate) dir: PathBuf,
    pub(crate) identity: Identity,
    pub(crate) name: String,
    /// It votes and nothing else.
    pub(crate) witness: bool,
    /// The product's version.
    pub(crate) product: String,
    /// Instances that came with a token, until they are members of the cluster.
    pub(crate) adoptions: Mutex<BTreeMap<InstanceId, Adoption>>,
    boot: u64,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) trust: Trust,
    pub(crate) partners: Partners,
    /// Where clients are taken; 0 while that is not known.
    pub(crate) client_port: AtomicU16,
    tls: RwLock<Tls>,
    pub(crate) endpoint: Mutex<(EndpointConfig, Option<Listening>)>,
    state: RwLock<EndpointState>,
    pub(crate) dialer: Mutex<Dialer>,
    pub(crate) machine: Mutex<Node>,
    pub(crate) turns: Turns,
    pub(crate) records: Records,
    pub(crate) stored: Stored,
    pub(crate) marks: Marks,
    pub(crate) work: Arc<Work<GroupId>>,
    pub(crate) budget: Arc<PoolBudget>,
    /// Local databases by name in upper case: candidates for groups.
    pub(crate) registry: RwLock<BTreeMap<String, (String, Arc<Database>)>>,
    pub(crate) copies: RwLock<BTreeMap<GroupDatabaseId, Arc<Copy>>>,
    /// Connections; changed under `connecting` only.
    pub(crate) peers: RwLock<BTreeMap<InstanceId, Arc<Peer>>>,
    connecting: Mutex<()>,
    /// Grows whenever `peers` has changed.
    pub(crate) connections: AtomicU64,
    /// Counters that outlive connections.
    totals: Mutex<BTreeMap<InstanceId, Arc<PeerTotals>>>,
    pub(crate) replies: Mutex<HashMap<CommandId, mpsc::Sender<Result<(), CommandError>>>>,
    next_command: AtomicU64,
    pub(crate) asked: Asked,
    pub(crate) clients: Clients,
    pub(crate) seedings: Seedings,
    pub(crate) compression: RwLock<Compression>,
    /// A lane was opened, and does not know yet whether to compress.
    pub(crate) compression_due: AtomicBool,
    pub(crate) bells: Bells,
    pub(crate) waits: AllWaits,
    pub(crate) stopping: AtomicBool,
    pub(crate) threads: AtomicUsize,
    pub(crate) last_refusal: Mutex<Option<ConnectError>>,
}

/// What the groups' own threads and commands wait for.
#[derive(Default)]
pub(crate) struct AllWaits {
    /// Workers for a job.
    pub(crate) work_queue: WaitTotals,
    /// Threads that work by time, for their time.
    pub(crate) timer: WaitTotals,
    /// Commands for their answer.
    pub(crate) command: WaitTotals,
}

/// Wakes the threads that work by time.
#[derive(Default)]
pub(crate) struct Bells {
    pub(crate) pulse: Bell,
    pub(crate) clock: Bell,
    pub(crate) keeper: Bell,
}

impl Bells {
    /// Something changed that they should look at before their time.
    pub(crate) fn ring(&self) {
        self.pulse.ring();
        self.clock.ring();
        self.keeper.ring();
    }
}

/// What [`Shared::new`] is made of.
pub(crate) struct Parts {
    pub(crate) env: Env,
    pub(crate) dir: PathBuf,
    pub(crate) identity: Identity,
    pub(crate) name: String,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) trust: Trust,
    pub(crate) partners: Partners,
    pub(crate) tls: Tls,
    pub(crate) machine: Node,
    pub(crate) records: Records,
    pub(crate) stored: Stored,
    pub(crate) marks: Marks,
    pub(crate) witness: bool,
    pub(crate) product: String,
    pub(crate) pool_bytes: usize,
    pub(crate) boot: u64,
}

/// A member as it is introduced over a connection.
#[derive(Serialize, Deserialize)]
pub(crate) struct Introduction(pub(crate) Vec<Member>);

impl Shared {
    pub(crate) fn new(parts: Parts) -> Arc<Shared> {
        let none = EndpointConfig { state: EndpointState::Stopped, ..EndpointConfig::started(None, 0) };
        let joiners = parts.trust.joiners().into_iter().map(|joiner| {
            (InstanceId(joiner.instance), Adoption { witness: joiner.witness, ..Adoption::default() })
        });
        let adoptions = Mutex::new(joiners.collect());
        Arc::new(Shared {
            env: parts.env,
            dir: parts.dir,
            identity: parts.identity,
            name: parts.name,
            boot: parts.boot,
            host: parts.host,
            trust: parts.trust,
            partners: parts.partners,
            client_port: AtomicU16::new(0),
            tls: RwLock::new(parts.tls),
            endpoint: Mutex::new((none, None)),
            state: RwLock::new(EndpointState::Stopped),
            dialer: Mutex::new(Dialer::default()),
            machine: Mutex::new(parts.machine),
            turns: Turns::default(),
            records: parts.records,
            stored: parts.stored,
            marks: parts.marks,
            witness: parts.witness,
            product: parts.product,
            adoptions,
            work: Work::new(),
            budget: PoolBudget::new(parts.pool_bytes),
            registry: RwLock::new(BTreeMap::new()),
            copies: RwLock::new(BTreeMap::new()),
            peers: RwLock::new(BTreeMap::new()),
            connecting: Mutex::new(()),
            connections: AtomicU64::new(0),
            totals: Mutex::new(BTreeMap::new()),
            replies: Mutex::new(HashMap::new()),
            next_command: AtomicU64::new(1),
            asked: Asked::default(),
            clients: Clients::default(),
            seedings: Seedings::default(),
            compression: RwLock::new(Compression::default()),
            compression_due: AtomicBool::new(false),
            bells: Bells::default(),
            waits: AllWaits::default(),
            stopping: AtomicBool::new(false),
            threads: AtomicUsize::new(0),
            last_refusal: Mutex::new(None),
        })
    }

    pub(crate) fn now(&self) -> Duration {
        self.env.clock.now()
    }

    pub(crate) fn nanos(&self) -> u64 {
        u64::try_from(self.now().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn tls(&self) -> Tls {
        self.tls.read().clone()
    }

    pub(crate) fn set_tls(&self, tls: Tls) {
        *self.tls.write() = tls;
    }

    pub(crate) fn endpoint_state(&self) -> EndpointState {
        *self.state.read()
    }

    pub(crate) fn set_endpoint_state(&self, state: EndpointState) {
        *self.state.write() = state;
    }

    /// What this instance says of itself when it meets another.
    pub(crate) fn own(&self) -> Own {
        Own {
            instance: *self.identity.instance.as_bytes(),
            boot: self.boot,
            name: self.name.clone(),
            url: self.endpoint.lock().0.url.clone(),
            witness: self.witness,
            product: self.product.clone(),
        }
    }

    /// This instance as others are to know it.
    pub(crate) fn member(&self) -> Member {
        Member {
            instance: self.identity.instance,
            name: self.name.clone(),
            url: self.endpoint.lock().0.url.clone(),
            fingerprint: self.tls().fingerprint(),
        }
    }

    pub(crate) fn next_command(&self) -> CommandId {
        CommandId(self.next_command.fetch_add(1, Ordering::Relaxed))
    }

    /// Starts a thread that ends by itself once `stopping` is set. A panic in it ends the process, with which nobody could do anything
    /// any more: the others see that at once.
    pub(crate) fn spawn(
        self: &Arc<Self>,
        name: &str,
        body: impl FnOnce(Arc<Shared>) + Send + 'static,
    ) -> Result<thread::JoinHandle<()>, GroupError> {
        let shared = Arc::clone(self);
        shared.threads.fetch_add(1, Ordering::Relaxed);
        let spawned = thread::Builder::new().name(name.into()).spawn(move || {
            let _needed = EndsProcess::on_panic();
            body(Arc::clone(&shared));
            shared.threads.fetch_sub(1, Ordering::Relaxed);
        });
        if spawned.is_err() {
            self.threads.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(spawned?)
    }

    /// Hands the machine an event and carries out what it decides.
    pub(crate) fn step(self: &Arc<Self>, event: Event) {
        let mut machine = self.machine.lock();
        self.begin_turn(&mut machine);
        self.run(&mut machine, event);
    }

    /// One event and what comes of it: on any thread, also one that goes on after a panic, with which half of it would have happened.
    pub(crate) fn run(self: &Arc<Self>, machine: &mut Node, event: Event) {
        let _whole = EndsProcess::on_panic();
        let actions = machine.step(self.now(), event);
        actions.into_iter().for_each(|action| self.act(action));
    }

    /// Hands an operator's command to the machine and waits for its answer; `None` when none comes in time.
    pub(crate) fn command(
        self: &Arc<Self>,
        command: Command,
        timeout: Duration,
    ) -> Option<Result<(), CommandError>> {
        let (answer, answered) = mpsc::channel();
        let id = self.next_command();
        self.replies.lock().insert(id, answer);
        let joined = match &command {
            Command::JoinDatabase { database } => Some(*database),
            _ => None,
        };
        // A database named by the command must be known before the machine asks for it.
        self.step(Event::Command { id, command });
        self.bind();
        if let Some(database) = joined {
            self.tell_if_missing(database);
        }
        self.bells.ring();
        let result = answered.recv_timeout(timeout);
        self.replies.lock().remove(&id);
        result.ok()
    }

    /// Lets time pass for the machine.
    pub(crate) fn tick(self: &Arc<Self>) {
        let mut machine = self.machine_up_to_date();
        let actions = machine.tick(self.now());
        actions.into_iter().for_each(|action: Action| self.act(action));
    }

    pub(crate) fn copy(&self, database: GroupDatabaseId) -> Option<Arc<Copy>> {
        self.copies.read().get(&database).cloned()
    }

    /// The local copy of a group's database is no longer to be used.
    pub(crate) fn close_copy(self: &Arc<Self>, database: GroupDatabaseId) {
        let Some(copy) = self.copies.write().remove(&database) else { return };
        copy.stop_receiving();
        copy.untap();
        self.registry.write().remove(&copy.name.to_uppercase());
        self.step(Event::DatabaseClosed { database });
    }

    pub(crate) fn copies_of(&self, group: GroupId) -> Vec<Arc<Copy>> {
        self.copies.read().values().filter(|c| c.group == group).cloned().collect()
    }

    pub(crate) fn peer(&self, instance: InstanceId) -> Option<Arc<Peer>> {
        self.peers.read().get(&instance).cloned()
    }

    pub(crate) fn totals(&self, instance: InstanceId) -> Arc<PeerTotals> {
        Arc::clone(self.totals.lock().entry(instance).or_default())
    }

    pub(crate) fn all_totals(&self) -> Vec<(InstanceId, Arc<PeerTotals>)> {
        self.totals.lock().iter().map(|(instance, totals)| (*instance, Arc::clone(totals))).collect()
    }

    /// A connection is made: makes it known, then reads from it until it ends. Runs on the reader's thread.
    pub(crate) fn serve(self: &Arc<Self>, met: Met) {
        let Met { link, reader, peer: hello, product, fingerprint } = met;
        if self.stopping.load(Ordering::Acquire) {
            return link.close();
        }
        if hello.purpose != Purpose::Member && !self.welcome_joiner(&link, &hello, fingerprint) {
            return link.close();
        }
        let instance = InstanceId(uuid::Uuid::from_bytes(hello.instance));
        let peer = Peer::new(NewPeer {
            instance,
            name: hello.name,
            product,
            version: hello.version_max.min(keel_transport::limits::VERSION),
            fingerprint,
            link,
            totals: self.totals(instance),
        });
        if hello.purpose != Purpose::Member {
            // A joiner is told whom it may trust, and goes; it comes back as a member.
            return self.introduce_to_joiner(&peer);
        }
        let sender = Arc::clone(&peer);
        let spawned = self.spawn("peer sender", move |shared| {
            let failed = |failure| shared.lane_failed(sender.instance, failure);
            sender.run_sender(|| shared.nanos(), failed);
        });
        let Ok(sender) = spawned else { return peer.link.close() };
        self.connect(&peer);
        let error = self.read(&peer, reader);
        self.disconnect(&peer, &error.to_string());
        peer.link.close();
        peer.bell.ring();
        // It ends once the link is closed; a panic there has been reported by its own thread.
        let _ = sender.join();
    }

    fn connect(self: &Arc<Self>, peer: &Arc<Peer>) {
        let _connecting = self.connecting.lock();
        let old = self.peers.write().insert(peer.instance, Arc::clone(peer));
        self.connections.fetch_add(1, Ordering::AcqRel);
        if let Some(old) = old {
            old.send_control_now(&Frame::Bye {
                code: bye::REPLACED,
                text: "a newer connection took over".into(),
            });
            self.drop_lanes(&old);
            old.link.close();
            old.bell.ring();
            // What was on its way over it is lost, and nobody else says so.
            self.seeding_peer_gone(peer.instance);
        }
        if let Some(told) = product::told(&peer.name, peer.product.as_deref(), &self.product) {
            self.note(None, &told);
        }
        self.send_members(peer);
        self.tell_clients_to(peer);
        self.step(Event::Connected { peer: peer.instance, name: peer.name.clone() });
    }

    /// A connection has ended. The first who notices tells the machine.
    pub(crate) fn disconnect(self: &Arc<Self>, peer: &Arc<Peer>, what: &str) {
        let _connecting = self.connecting.lock();
        let current = {
            let mut peers = self.peers.write();
            let current = peers.get(&peer.instance).is_some_and(|p| Arc::ptr_eq(p, peer));
            if current {
                peers.remove(&peer.instance);
            }
            current
        };
        if !current {
            return;
        }
        self.connections.fetch_add(1, Ordering::AcqRel);
        self.drop_lanes(peer);
        if !peer.link.is_closed() {
            let error = ConnectError::Refused(format!("the connection to {} was lost: {what}", peer.name));
            self.dialer.lock().lost(&peer.name, error, self.env.clock.unix_nanos());
        }
        self.seeding_peer_gone(peer.instance);
        self.step(Event::Disconnected { peer: peer.instance });
    }

    /// No copy shows its blocks to this connection any more.
    pub(crate) fn drop_lanes(&self, peer: &Arc<Peer>) {
        self.copies.read().values().for_each(|copy| copy.remove_target(peer));
    }

    fn lane_failed(self: &Arc<Self>, peer: InstanceId, failed: LaneFailure) {
        let LaneFailure { database, session, failure, what } = failed;
        self.note(Some(database), &format!("The log could not be sent: {what}"));
        self.step(Event::SendFailed { peer, database, session, failure });
    }

    /// A connection that was refused here.
    pub(crate) fn note_refusal(&self, error: &ConnectError) {
        *self.last_refusal.lock() = Some(error.clone());
    }

    /// A line for the health log that the machine does not write.
    pub(crate) fn note(&self, database: Option<GroupDatabaseId>, text: &str) {
        self.host.note(database, text);
    }

    pub(crate) fn send_msg(&self, peer: InstanceId, msg: &Msg) {
        let Some(to) = self.peer(peer) else { return };
        let frame = Frame::Control([&[CONTROL_CLUSTER], &msg.encode()[..]].concat());
        match msg {
            // A decision waits for these: on the calling thread if the connection is free.
            Msg::Store(_) | Msg::Pulse(_) => to.send_control_now(&frame),
            _ => to.send_control(&frame),
        }
    }

    pub(crate) fn send_question(&self, peer: &Peer, body: &[u8]) {
        peer.send_control_now(&Frame::Control([&[CONTROL_QUESTION], body].concat()));
    }

    pub(crate) fn send_answer(&self, peer: &Peer, body: &[u8]) {
        peer.send_control_now(&Frame::Control([&[CONTROL_ANSWER], body].concat()));
    }

    pub(crate) fn send_seeding(&self, peer: &Peer, body: &[u8]) {
        peer.send_control(&Frame::Control([&[CONTROL_SEEDING], body].concat()));
    }

    pub(crate) fn send_clients(&self, peer: &Peer, body: &[u8]) {
        peer.send_control(&Frame::Control([&[CONTROL_CLIENTS], body].concat()));
    }

    /// A control frame came. False when it cannot be read: the peer does not keep to the protocol.
    pub(crate) fn control(self: &Arc<Self>, peer: &Arc<Peer>, body: &[u8]) -> bool {
        match body.split_first() {
            Some((&CONTROL_CLUSTER, rest)) => match Msg::decode(rest) {
                Ok(msg) => self.step(Event::Message { peer: peer.instance, msg }),
                Err(_) => return false,
            },
            Some((&CONTROL_SEEDING, rest)) => return self.seeding_message(peer, rest),
            Some((&CONTROL_CLIENTS, rest)) => return self.clients_told(peer, rest),
            Some((&CONTROL_QUESTION, rest)) => return self.question(peer, rest),
            Some((&CONTROL_ANSWER, rest)) => return self.answered(peer.instance, rest),
            Some((&CONTROL_MEMBERS, rest)) => match serde_json::from_slice::<Introduction>(rest) {
                Ok(Introduction(members)) => self.introduced(peer.instance, &members),
                Err(_) => return false,
            },
            _ => return false,
        }
        true
    }

    /// Tells a peer whom this instance trusts by introduction.
    pub(crate) fn send_members(&self, peer: &Peer) {
        let mut members = self.trust.members();
        members.push(self.member());
        let Ok(body) = serde_json::to_vec(&Introduction(members)) else { return };
        peer.send_control(&Frame::Control([&[CONTROL_MEMBERS], &body[..]].concat()));
    }

    /// A trusted peer introduces members: they are trusted here too, and everybody else hears of it.
    fn introduced(&self, by: InstanceId, members: &[Member]) {
        let own = self.identity.instance;
        let others: Vec<Member> = members.iter().filter(|m| m.instance != own).cloned().collect();
        match self.trust.introduce(&others, Some(by.0)) {
            Ok(true) => self.peers.read().values().for_each(|peer| self.send_members(peer)),
            Ok(false) => {}
            Err(error) => self.note(None, &format!("New members could not be recorded: {error}")),
        }
    }

    fn welcome_joiner(
        &self,
        link: &Link,
        hello: &keel_transport::Hello,
        fingerprint: crate::identity::Fingerprint,
    ) -> bool {
        if let Some(text) = self.name_taken(&hello.name, hello.instance) {
            self.note(None, &text);
            // When it has gone meanwhile there is nobody to tell.
            let _ = link.send(&Frame::Bye { code: bye::NAME_TAKEN, text }.to_bytes());
            link.finish();
            return false;
        }
        let member = Member {
            instance: uuid::Uuid::from_bytes(hello.instance),
            name: hello.name.clone(),
            url: hello.url.clone(),
            fingerprint,
        };
        let witness = hello.purpose == Purpose::JoinAsWitness;
        match self.trust.introduce_joiner(&member, witness) {
            Ok(()) => {
                self.note(None, &format!("{} joined with a token ({fingerprint}).", member.name));
                self.adoptions
                    .lock()
                    .insert(InstanceId(member.instance), Adoption { witness, ..Adoption::default() });
                self.peers.read().values().for_each(|peer| self.send_members(peer));
                true
            }
            Err(error) => {
                self.note(None, &format!("{} could not be recorded: {error}", member.name));
                false
            }
        }
    }

    /// Why an instance cannot join under its name: this one, or one that is connected, has it. One that is gone may come back with
    /// its disk lost, as a new instance of the old name.
    fn name_taken(&self, name: &str, instance: [u8; 16]) -> Option<String> {
        let instance = InstanceId(uuid::Uuid::from_bytes(instance));
        let peers = self.peers.read();
        let taken = name.eq_ignore_ascii_case(&self.name)
            || peers.values().any(|p| p.instance != instance && p.name.eq_ignore_ascii_case(name));
        taken.then(|| {
            format!(
                "an instance named '{name}' is a member already; start this one with another --server-name"
            )
        })
    }

    fn introduce_to_joiner(&self, peer: &Peer) {
        let mut members = self.trust.members();
        members.retain(|m| InstanceId(m.instance) != peer.instance);
        members.push(self.member());
        let Ok(body) = serde_json::to_vec(&Introduction(members)) else { return };
        let frame = Frame::Control([&[CONTROL_MEMBERS], &body[..]].concat());
        // If it has gone it will ask again.
        let _ = peer.link.send(&frame.to_bytes());
        peer.link.finish();
    }

    /// Everybody there should be a connection to.
    pub(crate) fn targets(&self) -> Vec<Target> {
        let mut targets: BTreeMap<String, Target> = BTreeMap::new();
        for member in self.trust.members() {
            if let Some(address) = host_and_port(&member.url) {
                let target = Target {
                    name: member.name.clone(),
                    address: address.into(),
                    instance: Some(member.instance),
                };
                targets.insert(member.name.to_uppercase(), target);
            }
        }
        for partner in self.partners.all() {
            if let Some(address) = host_and_port(&partner.url) {
                let name = partner.server_name.clone();
                let target = Target { name, address: address.into(), instance: Some(partner.principal) };
                targets.insert(partner.server_name.to_uppercase(), target);
            }
        }
        let machine = self.machine.lock();
        for replica in machine.configs().flat_map(|config| &config.replicas) {
            if let Some(address) = host_and_port(&replica.options.endpoint_url) {
                let target = Target {
                    name: replica.server_name.clone(),
                    address: address.into(),
                    instance: replica.instance.map(|i| i.0),
                };
                targets.insert(replica.server_name.to_uppercase(), target);
            }
        }
        for member in machine.cluster_members() {
            if let Some(address) = host_and_port(&member.url) {
                let name = member.name.clone();
                let target = Target { name, address: address.into(), instance: Some(member.instance.0) };
                targets.entry(member.name.to_uppercase()).or_insert(target);
            }
        }
        for distributed in machine.partners_wanted() {
            for target in self.distributed_targets(distributed) {
                targets.entry(target.name.to_uppercase()).or_insert(target);
            }
        }
        targets.remove(&self.name.to_uppercase());
        targets.into_values().collect()
    }
}

/// Reads the members out of the one control frame a joiner is sent.
pub(crate) fn members_of(frame: &Frame) -> Option<Vec<Member>> {
    let Frame::Control(body) = frame else { return None };
    let (&CONTROL_MEMBERS, rest) = body.split_first()? else { return None };
    serde_json::from_slice::<Introduction>(rest).ok().map(|i| i.0)
}
