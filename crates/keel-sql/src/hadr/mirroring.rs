//! Database mirroring as this instance knows it, and which of its statements are allowed when: pure functions of a [`HadrState`].
//!
//! A session has a principal, a mirror and perhaps a witness, for one database. Below it is a group of two or three replicas, with
//! the same log, transport and roles; views about groups do not show it, those about mirroring do.
//!
//! | statement | on | needs | else |
//! | --- | --- | --- | --- |
//! | `PARTNER = '…'` | mirror (RESTORING), then principal | no session or group | 1405, 1468 |
//! | `FAILOVER` | principal | SAFETY FULL, the mirror connected and synchronized | 1470, 1477, 1447, 1422 |
//! | `FORCE_SERVICE_ALLOW_DATA_LOSS` | mirror, or a principal that waits to be one again | the principal away | 1455 |
//! | `SAFETY`, `TIMEOUT`, `RESUME` | principal | | 1470, 1476 |
//! | `WITNESS = '…'` | principal | all connected and synchronized, a third instance | 1426, 1429 |
//! | `SUSPEND`, `OFF` | either | | |

use super::state::{DatabaseReplicaState, HadrState, ReplicaCounters, Role, SyncState};
use super::{Guid, build, errors};
use crate::catalog::fold;
use crate::hadr::config::shown;
use keel_parser::ast::PartnerAction;
use keel_types::error::Result;

shown! {
    /// `mirroring_role`
    MirroringRole {
        /// Commits happen here.
        Principal = 1, "PRINCIPAL";
        /// Follows.
        Mirror = 2, "MIRROR";
    }
}

shown! {
    /// `mirroring_state`
    Condition {
        /// Nothing moves, by an operator's word or after a forced service.
        Suspended = 0, "SUSPENDED";
        /// The partner is away.
        Disconnected = 1, "DISCONNECTED";
        /// The mirror catches up.
        Synchronizing = 2, "SYNCHRONIZING";
        /// The roles are being swapped.
        PendingFailover = 3, "PENDING_FAILOVER";
        /// The mirror has everything, with SAFETY OFF everything that was sent.
        Synchronized = 4, "SYNCHRONIZED";
    }
}

/// Default of `TIMEOUT`, seconds.
pub const TIMEOUT_DEFAULT_SECONDS: u32 = 10;
/// Less counts as this much.
const TIMEOUT_MIN_SECONDS: i32 = 5;
/// More is refused.
const TIMEOUT_MAX_SECONDS: i32 = 32_767;

/// Another member of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partner {
    /// `@@SERVERNAME`; empty while nobody is known.
    pub server: String,
    /// Its endpoint, `TCP://host:port`.
    pub url: String,
    /// Where clients reach it: host and port.
    pub clients: Option<(String, u16)>,
    /// A connection is up.
    pub connected: bool,
}

/// A session.
#[derive(Clone, Debug, PartialEq)]
pub struct Mirroring {
    /// `mirroring_guid`
    pub id: Guid,
    /// Name of the database.
    pub database: String,
    /// This instance is its witness.
    pub is_witness: bool,
    /// Role here.
    pub role: Role,
    /// Resolving: it was the principal, and waits to learn whether it is one still.
    pub was_principal: bool,
    /// Resolving: neither the partner nor the witness is seen.
    pub no_quorum: bool,
    /// A failover is being carried out here.
    pub pending_failover: bool,
    /// Both copies are recorded as holding every commit that was acknowledged.
    pub both_synchronized: bool,
    /// SAFETY FULL.
    pub safety_full: bool,
    /// TIMEOUT, seconds.
    pub timeout_seconds: u32,
    /// Times the role was taken, by either partner.
    pub role_sequence: u64,
    /// Version of the configuration.
    pub sequence: u64,
    /// Server name of the principal, if one is known.
    pub principal: Option<String>,
    /// Server name of the mirror.
    pub mirror: Option<String>,
    /// This instance's own endpoint as the session names it.
    pub own_url: String,
    /// The other partner; on a witness there is none.
    pub partner: Option<Partner>,
    /// The witness, on partners.
    pub witness: Option<Partner>,
    /// The copy here.
    pub local: Option<DatabaseReplicaState>,
    /// On the principal: the mirror's copy.
    pub remote: Option<DatabaseReplicaState>,
    /// Traffic with the partner.
    pub traffic: ReplicaCounters,
}

/// A session that this instance is to be the mirror of, before it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Name of the database.
    pub database: String,
    /// Who is to be the principal.
    pub principal: Partner,
}

/// What a statement asks for, once it is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// SET PARTNER on what is to be the mirror: the principal's endpoint.
    BecomeMirror(String),
    /// SET PARTNER on what is to be the principal: the mirror's endpoint. The session begins.
    BecomePrincipal(String),
    /// FAILOVER
    Failover,
    /// FORCE_SERVICE_ALLOW_DATA_LOSS
    ForceService,
    /// OFF
    Off,
    /// RESUME
    Resume,
    /// SUSPEND
    Suspend,
    /// SAFETY FULL (true) or OFF
    Safety(bool),
    /// TIMEOUT, seconds
    Timeout(u32),
    /// SET WITNESS
    Witness(Option<String>),
}

impl Partner {
    /// As clients' connection strings name it: with its port unless that is the usual one, by its server name when it has not said where.
    #[must_use]
    pub fn data_source(&self) -> String {
        match &self.clients {
            Some((host, 1433)) => host.clone(),
            Some((host, port)) => format!("{host},{port}"),
            None => self.server.clone(),
        }
    }
}

impl Mirroring {
    /// Role for views; `None` while it is not decided, and on a witness.
    #[must_use]
    pub fn shown_role(&self) -> Option<MirroringRole> {
        match self.role {
            _ if self.is_witness => None,
            Role::Primary => Some(MirroringRole::Principal),
            Role::Secondary => Some(MirroringRole::Mirror),
            Role::Resolving if self.was_principal => Some(MirroringRole::Principal),
            Role::Resolving => Some(MirroringRole::Mirror),
        }
    }

    /// The partner is there.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.partner.as_ref().is_some_and(|partner| partner.connected)
    }

    /// Data does not move, by somebody's word.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.local.iter().chain(&self.remote).any(|copy| copy.suspended.is_some())
    }

    /// `mirroring_state` of a partner.
    #[must_use]
    pub fn condition(&self) -> Condition {
        if self.pending_failover {
            return Condition::PendingFailover;
        }
        if !self.is_connected() || self.role == Role::Resolving {
            return Condition::Disconnected;
        }
        if self.is_suspended() {
            return Condition::Suspended;
        }
        let copy = if self.role == Role::Primary { &self.remote } else { &self.local };
        match copy {
            Some(copy) if copy.sync == SyncState::Synchronized || self.has_all_that_was_sent(copy) => {
                Condition::Synchronized
            }
            _ => Condition::Synchronizing,
        }
    }

    /// With SAFETY OFF the mirror counts as synchronized when nothing is on its way.
    fn has_all_that_was_sent(&self, copy: &DatabaseReplicaState) -> bool {
        !self.safety_full && copy.sync == SyncState::Synchronizing && copy.send_queue_bytes == Some(0)
    }

    fn access(&self) -> Result<()> {
        let database = &self.database;
        match self.role {
            Role::Primary => Ok(()),
            Role::Resolving if self.no_quorum => Err(errors::mirroring_no_quorum(database)),
            Role::Resolving if self.was_principal => Err(errors::mirroring_not_synchronized(database)),
            Role::Resolving | Role::Secondary => Err(errors::mirror_not_open(database)),
        }
    }
}

impl HadrState {
    /// The session that a database here is in.
    #[must_use]
    pub fn mirroring_of(&self, database: &str) -> Option<&Mirroring> {
        self.mirroring.iter().find(|m| !m.is_witness && fold(&m.database) == fold(database))
    }

    /// The session that a database here waits for.
    #[must_use]
    pub fn expected_of(&self, database: &str) -> Option<&Expected> {
        self.expected.iter().find(|e| fold(&e.database) == fold(database))
    }

    /// Whether sessions may use the database, as far as mirroring is concerned: 954, 955, 956.
    pub fn mirroring_access(&self, database: &str) -> Result<()> {
        match self.mirroring_of(database) {
            Some(session) => session.access(),
            None if self.expected_of(database).is_some() => Err(errors::mirror_not_open(database)),
            None => Ok(()),
        }
    }

    /// Where clients of a database go when it is not here any more: its mirror.
    #[must_use]
    pub fn failover_partner(&self, database: &str) -> Option<String> {
        let session = self.mirroring_of(database).filter(|session| session.role == Role::Primary)?;
        session.partner.as_ref().map(Partner::data_source)
    }
}

/// What `SET PARTNER` asks for; `restoring` is whether the database here takes nothing but log.
pub fn partner(state: &HadrState, database: &str, restoring: bool, asked: &PartnerAction) -> Result<Change> {
    if let PartnerAction::Server(url) = asked {
        return set_partner(state, database, restoring, url);
    }
    let session = match state.mirroring_of(database) {
        Some(session) => session,
        None if state.expected_of(database).is_some() && *asked == PartnerAction::Off => {
            return Ok(Change::Off);
        }
        None => return Err(errors::mirroring_off(database)),
    };
    match asked {
        PartnerAction::Server(_) => unreachable!("went its own way"),
        PartnerAction::Failover => failover(session),
        PartnerAction::ForceServiceAllowDataLoss => force_service(session),
        PartnerAction::Off => Ok(Change::Off),
        PartnerAction::Suspend => Ok(Change::Suspend),
        PartnerAction::Resume => on_principal(session).map(|()| Change::Resume),
        PartnerAction::Safety(full) => on_principal(session).map(|()| Change::Safety(*full)),
        PartnerAction::Timeout(seconds) => {
            on_principal(session)?;
            if *seconds > TIMEOUT_MAX_SECONDS {
                return Err(errors::mirroring_timeout_too_long(seconds));
            }
            Ok(Change::Timeout((*seconds).max(TIMEOUT_MIN_SECONDS).unsigned_abs()))
        }
    }
}

fn on_principal(session: &Mirroring) -> Result<()> {
    match session.role {
        Role::Primary => Ok(()),
        Role::Secondary | Role::Resolving => Err(errors::principal_only(&session.database)),
    }
}

fn set_partner(state: &HadrState, database: &str, restoring: bool, url: &str) -> Result<Change> {
    if state.mirroring_of(database).is_some() {
        return Err(errors::mirroring_exists(database));
    }
    if state.group_of(database).is_some() {
        return Err(errors::operation_refused(database));
    }
    build::tcp_url(url).ok_or_else(errors::bad_partner_address)?;
    let url = url.to_owned();
    Ok(if restoring { Change::BecomeMirror(url) } else { Change::BecomePrincipal(url) })
}

fn failover(session: &Mirroring) -> Result<Change> {
    let database = &session.database;
    on_principal(session)?;
    if !session.safety_full {
        return Err(errors::safety_not_full(database));
    }
    if !session.is_connected() {
        return Err(errors::partners_not_connected(database));
    }
    if session.condition() != Condition::Synchronized {
        return Err(errors::mirror_not_caught_up(database));
    }
    Ok(Change::Failover)
}

/// On a mirror whose principal is away; or on the last principal, after a restart, when the mirror does not come back: nothing is
/// lost then, but if service was forced there, both have gone their own way.
fn force_service(session: &Mirroring) -> Result<Change> {
    let away = match session.role {
        Role::Primary => false,
        Role::Secondary | Role::Resolving => !session.is_connected(),
    };
    if !away {
        return Err(errors::cannot_force_service(&session.database));
    }
    Ok(Change::ForceService)
}

/// What `SET WITNESS` asks for.
pub fn witness(state: &HadrState, database: &str, url: Option<&str>) -> Result<Change> {
    let session = state.mirroring_of(database).ok_or_else(|| errors::mirroring_off(database))?;
    on_principal(session)?;
    let Some(url) = url else {
        return match session.is_connected() || session.witness.is_none() {
            true => Ok(Change::Witness(None)),
            false => Err(errors::partners_not_connected(database)),
        };
    };
    let place = |url: &str| build::tcp_url(url).map(|(host, port)| (host.to_lowercase(), port));
    let wanted = place(url).ok_or_else(errors::bad_partner_address)?;
    let partner = session.partner.iter().map(|p| &p.url);
    if partner.chain([&session.own_url]).any(|taken| place(taken).as_ref() == Some(&wanted)) {
        return Err(errors::witness_is_partner());
    }
    if session.condition() != Condition::Synchronized {
        return Err(errors::witness_needs_all());
    }
    Ok(Change::Witness(Some(url.to_owned())))
}

#[cfg(test)]
mod tests;
