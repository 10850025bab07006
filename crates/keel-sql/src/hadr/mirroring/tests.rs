//! Which statement is allowed when, and what a session shows.

use super::*;
use crate::hadr::SuspendReason;
use crate::hadr::state::{DatabaseCounters, Positions};
use keel_parser::ast::PartnerAction as P;

const MIRROR: &str = "TCP://mirror:5022";

fn copy(sync: SyncState) -> DatabaseReplicaState {
    DatabaseReplicaState {
        database: [9; 16],
        joined: true,
        sync,
        failover_ready: sync == SyncState::Synchronized,
        commit_participant: sync == SyncState::Synchronized,
        suspended: None,
        online: Some(true),
        positions: Positions::default(),
        send_queue_bytes: Some(0),
        send_rate_bytes: 0,
        redo_queue_bytes: Some(0),
        redo_queue_max_bytes: 0,
        writers_wait_micros: 0,
        redo_rate_bytes: 0,
        lag_seconds: None,
        counters: DatabaseCounters::default(),
        latency: None,
        divergent: None,
    }
}

/// As it stands when nothing is wrong.
fn session(role: Role) -> Mirroring {
    let partner = Partner {
        server: "MIRROR".to_owned(),
        url: MIRROR.to_owned(),
        clients: Some(("mirror".to_owned(), 1433)),
        connected: true,
    };
    Mirroring {
        id: [1; 16],
        database: "shop".to_owned(),
        is_witness: false,
        role,
        was_principal: false,
        no_quorum: false,
        pending_failover: false,
        both_synchronized: true,
        safety_full: true,
        timeout_seconds: 10,
        role_sequence: 1,
        sequence: 1,
        principal: Some("MAIN".to_owned()),
        mirror: Some("MIRROR".to_owned()),
        own_url: "TCP://main:5022".to_owned(),
        partner: Some(partner),
        witness: None,
        local: Some(copy(SyncState::Synchronized)),
        remote: (role == Role::Primary).then(|| copy(SyncState::Synchronized)),
        traffic: ReplicaCounters::default(),
    }
}

fn state(session: Mirroring) -> HadrState {
    HadrState { mirroring: vec![session], ..HadrState::default() }
}

/// The change, or the number of the error.
fn ask(session: Mirroring, asked: &P) -> std::result::Result<Change, i32> {
    partner(&state(session), "SHOP", false, asked).map_err(|e| e.number)
}

fn away(role: Role) -> Mirroring {
    let mut session = session(role);
    session.partner.as_mut().expect("partners have one").connected = false;
    session
}

#[test]
fn a_failover_loses_nothing() {
    assert_eq!(ask(session(Role::Primary), &P::Failover), Ok(Change::Failover));
    assert_eq!(ask(session(Role::Secondary), &P::Failover), Err(1470));
    assert_eq!(ask(away(Role::Primary), &P::Failover), Err(1447));
    assert_eq!(ask(Mirroring { safety_full: false, ..session(Role::Primary) }, &P::Failover), Err(1477));
    let behind = Some(copy(SyncState::Synchronizing));
    assert_eq!(ask(Mirroring { remote: behind, ..session(Role::Primary) }, &P::Failover), Err(1422));
}

#[test]
fn service_is_forced_only_where_the_principal_is_away() {
    let force = &P::ForceServiceAllowDataLoss;
    assert_eq!(ask(session(Role::Primary), force), Err(1455));
    assert_eq!(ask(session(Role::Secondary), force), Err(1455));
    assert_eq!(ask(away(Role::Primary), force), Err(1455));
    assert_eq!(ask(away(Role::Secondary), force), Ok(Change::ForceService));
    assert_eq!(ask(away(Role::Resolving), force), Ok(Change::ForceService));
}

#[test]
fn the_principal_sets_what_holds_for_both() {
    assert_eq!(ask(session(Role::Primary), &P::Safety(false)), Ok(Change::Safety(false)));
    for only_there in [P::Safety(true), P::Timeout(30), P::Resume] {
        assert_eq!(ask(session(Role::Secondary), &only_there), Err(1470));
    }
    for (seconds, taken) in [(-1, 5), (0, 5), (4, 5), (5, 5), (30, 30), (32_767, 32_767)] {
        assert_eq!(ask(session(Role::Primary), &P::Timeout(seconds)), Ok(Change::Timeout(taken)));
    }
    assert_eq!(ask(session(Role::Primary), &P::Timeout(32_768)), Err(1476));
    for either in [P::Off, P::Suspend] {
        assert!(ask(session(Role::Secondary), &either).is_ok() && ask(away(Role::Primary), &either).is_ok());
    }
}

#[test]
fn a_database_has_one_session() {
    let set = |url: &str| P::Server(url.into());
    assert_eq!(ask(session(Role::Primary), &set(MIRROR)), Err(1405));
    let none = HadrState::default();
    let asked = |restoring, action: &P| partner(&none, "shop", restoring, action).map_err(|e| e.number);
    assert_eq!(asked(true, &set(MIRROR)), Ok(Change::BecomeMirror(MIRROR.to_owned())));
    assert_eq!(asked(false, &set(MIRROR)), Ok(Change::BecomePrincipal(MIRROR.to_owned())));
    for bad in ["", "mirror:5022", "TCP://mirror", "TCP://mirror:0"] {
        assert_eq!(asked(false, &set(bad)), Err(1449), "{bad}");
    }
    for action in [P::Failover, P::Off, P::Suspend, P::Resume, P::Safety(true), P::Timeout(9)] {
        assert_eq!(asked(false, &action), Err(1416));
    }
    // The mirror has been told and the principal has not.
    let principal = session(Role::Secondary).partner.expect("partners have one");
    let expected = vec![Expected { database: "shop".to_owned(), principal }];
    let waits = HadrState { expected, ..HadrState::default() };
    assert_eq!(partner(&waits, "shop", true, &P::Off).map_err(|e| e.number), Ok(Change::Off));
    assert_eq!(partner(&waits, "shop", true, &P::Suspend).map_err(|e| e.number), Err(1416));
    assert!(partner(&waits, "shop", true, &set("TCP://other:5022")).is_ok());
}

#[test]
fn a_witness_is_a_third_and_comes_to_a_whole_session() {
    let ask =
        |session: Mirroring, url: Option<&str>| witness(&state(session), "shop", url).map_err(|e| e.number);
    let url = Some("TCP://witness:5022");
    let primary = || session(Role::Primary);
    assert_eq!(ask(primary(), url), Ok(Change::Witness(url.map(str::to_owned))));
    assert_eq!(ask(session(Role::Secondary), url), Err(1470));
    assert_eq!(ask(away(Role::Primary), url), Err(1426));
    for partner in ["tcp://MAIN:5022", "TCP://mirror:05022"] {
        assert_eq!(ask(primary(), Some(partner)), Err(1429));
    }
    assert_eq!(ask(primary(), None), Ok(Change::Witness(None)));
    let with = |session| Mirroring { witness: primary().partner, ..session };
    assert_eq!(ask(with(away(Role::Primary)), None), Err(1447));
}

#[test]
fn what_a_session_shows() {
    let shown = |session: Mirroring| session.condition();
    assert_eq!(shown(session(Role::Primary)), Condition::Synchronized);
    assert_eq!(shown(away(Role::Primary)), Condition::Disconnected);
    assert_eq!(
        shown(Mirroring { pending_failover: true, ..away(Role::Primary) }),
        Condition::PendingFailover
    );
    let suspended =
        DatabaseReplicaState { suspended: Some(SuspendReason::Partner), ..copy(SyncState::NotSynchronizing) };
    let remote = |copy| Mirroring { remote: Some(copy), ..session(Role::Primary) };
    assert_eq!(shown(remote(suspended)), Condition::Suspended);
    assert_eq!(shown(remote(copy(SyncState::Synchronizing))), Condition::Synchronizing);
    let without_safety = |queue| Mirroring {
        safety_full: false,
        ..remote(DatabaseReplicaState { send_queue_bytes: Some(queue), ..copy(SyncState::Synchronizing) })
    };
    assert_eq!(shown(without_safety(0)), Condition::Synchronized);
    assert_eq!(shown(without_safety(512)), Condition::Synchronizing);
}

#[test]
fn who_gets_in_and_where_clients_go() {
    let access = |session| state(session).mirroring_access("shop").map_err(|e| e.number);
    assert_eq!(access(session(Role::Primary)), Ok(()));
    assert_eq!(access(session(Role::Secondary)), Err(954));
    let waits = || Mirroring { was_principal: true, ..away(Role::Resolving) };
    assert_eq!(access(waits()), Err(956));
    assert_eq!(access(Mirroring { no_quorum: true, ..waits() }), Err(955));
    assert_eq!(access(Mirroring { is_witness: true, ..session(Role::Secondary) }), Ok(()));

    let partner = |session| state(session).failover_partner("shop");
    assert_eq!(partner(session(Role::Primary)), Some("mirror".to_owned()));
    assert_eq!(partner(session(Role::Secondary)), None);
    let mut elsewhere = session(Role::Primary);
    elsewhere.partner.as_mut().expect("partners have one").clients = Some(("10.0.0.2".to_owned(), 1500));
    assert_eq!(partner(elsewhere.clone()), Some("10.0.0.2,1500".to_owned()));
    elsewhere.partner.as_mut().expect("partners have one").clients = None;
    assert_eq!(partner(elsewhere), Some("MIRROR".to_owned()));
}
