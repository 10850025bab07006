//! Partners of database mirroring: how two instances come to have a session, before `keel-cluster` has anything to decide.
//!
//! ```text
//!   mirror                                                       principal
//!   SET PARTNER: meet ────────────────────────────────────────►  trusted, and known by name from now on
//!   note: this log, from that instance (partners.json)
//!                                                                SET PARTNER: meet
//!   noted? ◄───────────────────────────── Question::Partner ───  as whom do you know me?
//!                                                                create the group of two
//!   expected: enter ◄──────────────────────────────── Invite ──
//!   note fulfilled                                               return when the copy follows
//! ```
//! Who is the witness is settled when a group is created. So a change of the witness is a new group for the same log: the mirror is
//! told beforehand to expect it ([`Question::ExpectAnew`]), commits go on meanwhile.

use crate::ask::{Answer, Question};
use crate::endpoint::EndpointState;
use crate::error::{ConnectError, GroupError};
use crate::groups::{CommandFailure, Groups};
use crate::handshake::{self, host_and_port};
use crate::kept;
use crate::peer::Peer;
use crate::shell::Shared;
use keel_base::env::Env;
use keel_cluster::{
    AvailabilityMode, ClusterType, Command, Event, ExpectedSession, FailoverMode, GroupConfig, GroupDatabase,
    GroupDatabaseId, GroupId, GroupOptions, InstanceId, Replica, ReplicaId, ReplicaOptions, SeedingMode,
};
use keel_node::{Database, Role};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use uuid::Uuid;

/// How long an answer of a partner may take.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How long a connection that was just made may take to be known.
const MEET_MAX: Duration = Duration::from_secs(5);
/// How long creating a group may take: agreement of a cluster that is being formed.
const CREATE_MAX: Duration = Duration::from_secs(30);
/// How long its other members may take to be there and the mirror to follow. Seeding anew is not waited for.
const FOLLOW_MAX: Duration = Duration::from_secs(20);
/// How often whoever waits looks.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A session that this instance is to be the mirror of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedPartner {
    /// Name of the database.
    pub database: String,
    /// Identity of its log.
    pub log_id: u32,
    /// Who is to be the principal.
    pub principal: Uuid,
    /// Its server name.
    pub server_name: String,
    /// Its endpoint as named here, `TCP://host:port`.
    pub url: String,
    /// The session that this one will take the place of.
    pub instead_of: Option<Uuid>,
}

/// The sessions that this instance is to be the mirror of, kept in `<dir>/partners.json`.
pub(crate) struct Partners {
    env: Env,
    path: PathBuf,
    expected: Mutex<Vec<ExpectedPartner>>,
}

impl Partners {
    pub(crate) fn load(env: &Env, dir: &Path) -> Result<Partners, GroupError> {
        let path = dir.join("partners.json");
        let expected = kept::read(env.disk.as_ref(), &path)?.unwrap_or_default();
        Ok(Partners { env: env.clone(), path, expected: Mutex::new(expected) })
    }

    pub(crate) fn all(&self) -> Vec<ExpectedPartner> {
        self.expected.lock().clone()
    }

    /// Changes the list, durably. False when nothing changes.
    fn change(&self, change: impl FnOnce(&mut Vec<ExpectedPartner>)) -> Result<bool, GroupError> {
        let mut expected = self.expected.lock();
        let mut next = expected.clone();
        change(&mut next);
        if next == *expected {
            return Ok(false);
        }
        kept::write(self.env.disk.as_ref(), &self.path, &next)?;
        *expected = next;
        Ok(true)
    }
}

/// What a mirror answers to who would be its principal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartnerAnswer {
    /// It expects this session.
    Ready {
        /// The principal's endpoint as the mirror named it.
        named: String,
        /// The port on which the mirror takes clients.
        client_port: Option<u16>,
    },
    /// It does not expect one for a database of this name, or not with this principal.
    NotExpected,
    /// Its database of this name is another one.
    Unrelated,
}

/// One side of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Server name.
    pub name: String,
    /// Endpoint.
    pub url: String,
    /// Where clients reach it, `TCP://host:port`.
    pub clients: Option<String>,
}

/// A session as it is to be, with this instance as the principal.
#[derive(Clone)]
pub struct Session {
    /// Name of the database.
    pub database: String,
    /// The database here.
    pub store: Arc<Database>,
    /// SAFETY FULL.
    pub safety_full: bool,
    /// TIMEOUT, seconds.
    pub timeout_s: u32,
    /// This instance.
    pub principal: Side,
    /// The mirror.
    pub mirror: Side,
    /// The witness.
    pub witness: Option<Side>,
}

/// Modes of both partners.
#[must_use]
pub fn modes(safety_full: bool, witnessed: bool) -> (AvailabilityMode, FailoverMode) {
    match (safety_full, witnessed) {
        (true, true) => (AvailabilityMode::Synchronous, FailoverMode::Automatic),
        (true, false) => (AvailabilityMode::Synchronous, FailoverMode::Manual),
        (false, _) => (AvailabilityMode::Asynchronous, FailoverMode::Manual),
    }
}

impl Session {
    fn config(&self, log_id: u32) -> GroupConfig {
        let witnessed = self.witness.is_some();
        let cluster_type = match witnessed {
            true => ClusterType::WitnessedMirroring,
            false => ClusterType::Mirroring,
        };
        let options = GroupOptions { cluster_type, ..GroupOptions::default() };
        let name = format!("mirroring of {}", self.database);
        let mut config = GroupConfig::new(GroupId(Uuid::new_v4()), name, options);
        let (mode, failover) = modes(self.safety_full, witnessed);
        let replica = |side: &Side, mode, failover| {
            let options = ReplicaOptions {
                session_timeout_s: self.timeout_s,
                seeding_mode: SeedingMode::Automatic,
                read_write_routing_url: side.clients.clone(),
                ..ReplicaOptions::new(side.url.clone(), mode, failover)
            };
            Replica::new(ReplicaId(Uuid::new_v4()), side.name.clone(), options)
        };
        config.replicas =
            [&self.principal, &self.mirror].into_iter().map(|side| replica(side, mode, failover)).collect();
        let witness = self.witness.iter();
        config.replicas.extend(
            witness.map(|side| replica(side, AvailabilityMode::ConfigurationOnly, FailoverMode::Manual)),
        );
        let id = GroupDatabaseId(Uuid::new_v4());
        config.databases.push(GroupDatabase::new(id, self.database.clone(), log_id));
        config
    }
}

/// Why a session did not come to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionFailure {
    /// The database has no log that others could follow.
    NoLog,
    /// This instance could not create it.
    Refused(CommandFailure),
    /// This server did not enter it in time.
    NotEntered(String),
    /// The mirror entered it and does not follow.
    NotFollowing,
    /// The connection to the mirror is gone.
    NotConnected,
}

/// What is done to the data of a session on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Movement {
    /// It stops.
    Suspend,
    /// It goes on.
    Resume,
}

impl Movement {
    fn command(self, database: GroupDatabaseId) -> Command {
        match self {
            Movement::Suspend => Command::Suspend { database },
            Movement::Resume => Command::Resume { database },
        }
    }
}

impl Groups {
    /// The port on which this instance takes clients, for partners to tell theirs.
    pub fn set_client_port(&self, port: u16) {
        self.shared.client_port.store(port, Ordering::Release);
    }

    /// The port that was set.
    #[must_use]
    pub fn client_port(&self) -> Option<u16> {
        self.shared.client_port()
    }

    /// Finds out who is at an endpoint; there is a connection to that instance when this returns.
    pub fn meet(&self, url: &str) -> Result<(InstanceId, String), ConnectError> {
        self.shared.meet(url)
    }

    /// Notes a session that this instance is to be the mirror of; it enters it when the principal offers it.
    pub fn expect_partner(&self, partner: ExpectedPartner) -> Result<(), GroupError> {
        self.shared.expect(|all| {
            all.retain(|p| !p.database.eq_ignore_ascii_case(&partner.database));
            all.push(partner);
        })
    }

    /// Forgets it again. False when there was none.
    pub fn expect_no_partner(&self, database: &str) -> Result<bool, GroupError> {
        let expected = self.expected_partners().iter().any(|p| p.database.eq_ignore_ascii_case(database));
        self.shared.expect(|all| all.retain(|p| !p.database.eq_ignore_ascii_case(database)))?;
        Ok(expected)
    }

    /// The sessions that this instance is to be the mirror of.
    #[must_use]
    pub fn expected_partners(&self) -> Vec<ExpectedPartner> {
        self.shared.partners.all()
    }

    /// Asks the instance that is to be the mirror whether it expects that; `None` when it does not answer.
    #[must_use]
    pub fn ask_partner(&self, mirror: InstanceId, database: &str, log_id: u32) -> Option<PartnerAnswer> {
        let question = Question::Partner { database: database.to_owned(), log_id };
        match self.shared.ask(mirror, &question, ANSWER_MAX)? {
            Answer::Partner(answer) => Some(answer),
            _ => None,
        }
    }

    /// Begins a session with this instance as the principal. Returns when its other members are there and the mirror follows (or is
    /// being made anew); a session that does not come to that is ended again.
    pub fn begin_session(&self, session: &Session) -> Result<(), SessionFailure> {
        let log = session.store.log().ok_or(SessionFailure::NoLog)?;
        let config = session.config(log.log_id());
        let group = config.id;
        self.register_database(&session.database, &session.store);
        let create = Command::CreateGroup { config: Box::new(config), log_epoch: log.epoch() };
        self.command(create, CREATE_MAX).map_err(SessionFailure::Refused)?;
        let begun = self.until_following(group);
        if begun.is_err() {
            // Somebody may want to begin another one in its place. Who has not entered this one expects it still.
            self.expect_another(group, session);
            // What is wrong has a name already; if this fails too, OFF remains.
            let _ = self.end_session(group, &session.store);
        }
        begun
    }

    /// Has the mirror of a session expect another one in its place.
    fn expect_another(&self, group: GroupId, session: &Session) -> bool {
        let mirror = self.shared.peer_named(&session.mirror.name);
        let (Some(log), Some(mirror)) = (session.store.log(), mirror) else { return false };
        let url = session.principal.url.clone();
        let question = Question::ExpectAnew { group, log_id: log.log_id(), url };
        self.shared.ask(mirror.instance, &question, ANSWER_MAX) == Some(Answer::Done(true))
    }

    /// Puts a session in the place of another one with the same mirror. When it does not begin, the first of `else_these` that
    /// does takes its place; the answer is about the wanted one.
    pub fn replace_session(
        &self,
        old: GroupId,
        wanted: &Session,
        else_these: &[Session],
    ) -> Result<(), SessionFailure> {
        if !self.expect_another(old, wanted) {
            return Err(SessionFailure::NotConnected);
        }
        self.end_session(old, &wanted.store).map_err(SessionFailure::Refused)?;
        let begun = self.begin_session(wanted);
        if begun.is_err() && !else_these.iter().any(|other| self.begin_session(other).is_ok()) {
            let text = format!(
                "The mirroring session of database '{}' could not be begun again: set the partner anew on both servers.",
                wanted.database
            );
            self.shared.note(None, &text);
        }
        begun
    }

    /// Ends a session of which this instance is the principal; the database stands alone when this returns.
    pub fn end_session(&self, group: GroupId, store: &Arc<Database>) -> Result<(), CommandFailure> {
        self.command(Command::DropGroup { group }, CREATE_MAX)?;
        let end = self.shared.now() + FOLLOW_MAX;
        while store.role() != Role::Standalone || !self.shared.copies_of(group).is_empty() {
            if self.shared.now() > end {
                return Err(CommandFailure::Unanswered);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn until_following(&self, group: GroupId) -> Result<(), SessionFailure> {
        let end = self.shared.now() + FOLLOW_MAX;
        loop {
            let status = self.shared.machine.lock().status();
            let Some(status) = status.into_iter().find(|g| g.config.id == group) else {
                return Err(SessionFailure::NotConnected);
            };
            let absent = status.config.replicas.iter().find(|r| !r.joined());
            let mirrors = status.config.replicas.iter().filter(|r| r.id != status.me && r.keeps_data());
            let mirrors: Vec<ReplicaId> = mirrors.map(|r| r.id).collect();
            let follows = status.databases.iter().flat_map(|d| &d.copies).any(|c| {
                mirrors.contains(&c.replica) && (c.failover_ready || c.sending || c.seeding.is_some())
            });
            match absent {
                None if follows => return Ok(()),
                None if self.shared.now() > end => return Err(SessionFailure::NotFollowing),
                Some(absent) if self.shared.now() > end => {
                    return Err(SessionFailure::NotEntered(absent.server_name.clone()));
                }
                _ => std::thread::sleep(LOOK_EVERY),
            }
        }
    }

    /// Suspends or resumes a session here and, if it is connected, on the partner. Whether that one did it too.
    pub fn move_session(
        &self,
        group: GroupId,
        database: GroupDatabaseId,
        partner: Option<InstanceId>,
        movement: Movement,
    ) -> Result<bool, CommandFailure> {
        let ask = || {
            let question = Question::Move { group, database, movement };
            let answer = partner.and_then(|partner| self.shared.ask(partner, &question, ANSWER_MAX));
            answer == Some(Answer::Done(true))
        };
        // Who is to drop something hears of it by an operator's word, before the principal has forgotten that it waited for that.
        let before = movement == Movement::Resume && ask();
        self.command(movement.command(database), CREATE_MAX)?;
        Ok(before || movement == Movement::Suspend && ask())
    }
}

impl Shared {
    pub(crate) fn client_port(&self) -> Option<u16> {
        Some(self.client_port.load(Ordering::Acquire)).filter(|port| *port != 0)
    }

    fn meet(self: &Arc<Self>, url: &str) -> Result<(InstanceId, String), ConnectError> {
        let address = host_and_port(url).ok_or_else(|| ConnectError::Unreachable {
            address: url.to_owned(),
            what: "this is no TCP://host:port".to_owned(),
        })?;
        if self.endpoint_state() != EndpointState::Started {
            return Err(ConnectError::Refused("the endpoint of this instance is not started".to_owned()));
        }
        // A second connection would take the place of the first, for all that goes over it.
        let known = self.targets().into_iter().filter(|t| t.address.eq_ignore_ascii_case(address));
        let mut connected = known.filter_map(|t| self.peer_named(&t.name));
        if let Some(peer) = connected.next() {
            return Ok((peer.instance, peer.name.clone()));
        }
        let tls = self.tls();
        let trusted = |fingerprint| fingerprint == tls.fingerprint() || self.trust.knows(fingerprint);
        let met = match handshake::dial(address, &tls, &self.own(), trusted, None) {
            Err(ConnectError::Itself) => {
                return Ok((InstanceId(self.identity.instance), self.name.clone()));
            }
            met => met?,
        };
        let instance = InstanceId(Uuid::from_bytes(met.peer.instance));
        if !self.trust.allows(met.fingerprint, instance.0) {
            met.link.close();
            return Err(ConnectError::PeerUntrusted(address.to_owned()));
        }
        let name = met.peer.name.clone();
        let refused = |e: GroupError| ConnectError::Refused(e.to_string());
        // It may have called here already, under an address that was not known to be its own: that connection is on its way out.
        let older = self.peer(instance);
        let is_older = |peer: &Arc<Peer>| older.as_ref().is_some_and(|older| Arc::ptr_eq(older, peer));
        self.spawn("peer reader", move |shared| shared.serve(met)).map_err(refused)?;
        let end = self.now() + MEET_MAX;
        while self.peer(instance).is_none_or(|peer| is_older(&peer)) {
            if self.now() > end {
                return Err(ConnectError::Refused("the connection was closed again".to_owned()));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok((instance, name))
    }

    fn peer_named(&self, name: &str) -> Option<Arc<Peer>> {
        let peers = self.peers.read();
        peers.values().find(|p| p.name.eq_ignore_ascii_case(name) && !p.link.is_closed()).cloned()
    }

    /// Changes what is expected, durably, and tells the machine.
    fn expect(self: &Arc<Self>, change: impl FnOnce(&mut Vec<ExpectedPartner>)) -> Result<(), GroupError> {
        if self.partners.change(change)? {
            self.tell_expected();
            self.bells.ring();
        }
        Ok(())
    }

    /// Tells the machine what is expected.
    pub(crate) fn tell_expected(self: &Arc<Self>) {
        let expected = self.partners.all().into_iter().map(|partner| ExpectedSession {
            log_id: partner.log_id,
            principal: InstanceId(partner.principal),
        });
        self.step(Event::Expecting(expected.collect()));
    }

    /// Forgets what has come. Called by the keeper.
    pub(crate) fn settle_expected(self: &Arc<Self>) {
        let expected = self.partners.all();
        if expected.is_empty() {
            return;
        }
        let sessions: Vec<(GroupId, u32)> = {
            let machine = self.machine.lock();
            let sessions = machine.configs().filter(|c| c.options.cluster_type.is_mirroring());
            sessions.flat_map(|c| c.databases.iter().map(|d| (c.id, d.log_id))).collect()
        };
        let has_come = |partner: &ExpectedPartner| {
            let mut of_log = sessions.iter().filter(|(_, log_id)| *log_id == partner.log_id);
            of_log.any(|(group, _)| Some(group.0) != partner.instead_of)
        };
        if expected.iter().any(has_come)
            && let Err(error) = self.expect(|all| all.retain(|partner| !has_come(partner)))
        {
            self.note(None, &format!("That a mirroring session has begun could not be recorded: {error}"));
        }
    }

    /// Answers [`Question::Partner`].
    pub(crate) fn partner_answer(&self, asker: InstanceId, database: &str, log_id: u32) -> PartnerAnswer {
        let expected = self.partners.all();
        let of_name = expected.iter().find(|p| p.database.eq_ignore_ascii_case(database));
        match of_name {
            Some(partner) if partner.principal != asker.0 => PartnerAnswer::NotExpected,
            Some(partner) if partner.log_id != log_id => PartnerAnswer::Unrelated,
            Some(partner) => {
                PartnerAnswer::Ready { named: partner.url.clone(), client_port: self.client_port() }
            }
            None => PartnerAnswer::NotExpected,
        }
    }

    /// Answers [`Question::ExpectAnew`]: the principal of a session here may put another one in its place.
    pub(crate) fn expect_anew(
        self: &Arc<Self>,
        asker: &Peer,
        group: GroupId,
        log_id: u32,
        url: String,
    ) -> bool {
        let session = {
            let machine = self.machine.lock();
            let mut sessions = machine.configs().filter(|c| c.options.cluster_type.is_mirroring());
            sessions.find(|c| c.id == group && c.primary_instance() == Some(asker.instance)).cloned()
        };
        let database = session.and_then(|c| c.databases.into_iter().find(|d| d.log_id == log_id));
        let Some(database) = database else { return false };
        let partner = ExpectedPartner {
            database: database.name,
            log_id,
            principal: asker.instance.0,
            server_name: asker.name.clone(),
            url,
            instead_of: Some(group.0),
        };
        let noted = self.expect(|all| {
            all.retain(|p| !p.database.eq_ignore_ascii_case(&partner.database));
            all.push(partner);
        });
        noted.is_ok()
    }

    /// Answers [`Question::Move`]: a partner has suspended or resumed the session.
    pub(crate) fn moved_by(
        self: &Arc<Self>,
        asker: InstanceId,
        (group, database): (GroupId, GroupDatabaseId),
        movement: Movement,
    ) -> bool {
        let is_partner = {
            let machine = self.machine.lock();
            let mut configs = machine.configs();
            configs.any(|c| {
                let of_session = c.id == group && c.options.cluster_type.is_mirroring();
                of_session && c.replica_of(asker).is_some_and(Replica::keeps_data)
            })
        };
        is_partner && self.command(movement.command(database), ANSWER_MAX) == Some(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::{SimDisk, env};

    fn partner(database: &str, log_id: u32) -> ExpectedPartner {
        ExpectedPartner {
            database: database.to_owned(),
            log_id,
            principal: Uuid::from_u128(1),
            server_name: "NODE1".to_owned(),
            url: "TCP://node1:5022".to_owned(),
            instead_of: None,
        }
    }

    #[test]
    fn what_is_expected_is_expected_after_a_restart() {
        let env = env(&SimDisk::new(), 1);
        let dir = Path::new("groups");
        let partners = Partners::load(&env, dir).unwrap();
        assert!(partners.all().is_empty());
        assert!(partners.change(|all| all.push(partner("shop", 7))).unwrap());
        assert!(!partners.change(|_| ()).unwrap());
        assert_eq!(Partners::load(&env, dir).unwrap().all(), [partner("shop", 7)]);
        assert!(partners.change(Vec::clear).unwrap());
        assert!(Partners::load(&env, dir).unwrap().all().is_empty());
    }

    #[test]
    fn only_a_synchronous_pair_with_a_witness_fails_over_by_itself() {
        let automatic = |full, witnessed| modes(full, witnessed).1 == FailoverMode::Automatic;
        assert!(automatic(true, true));
        assert!(!automatic(true, false) && !automatic(false, true) && !automatic(false, false));
    }
}
