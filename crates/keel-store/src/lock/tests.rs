//! Behaviour of the lock manager. A test knows that a thread waits when the manager lists it as waiting.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{JoinHandle, spawn, yield_now};
use std::time::Duration;

use keel_base::{DatabaseId, TreeId};

use super::*;

const DB: DatabaseId = DatabaseId(5);
const TREE: TreeId = TreeId(9);

fn key(bytes: &[u8]) -> Resource<'_> {
    Resource::Key(DB, TREE, bytes)
}

fn owner(manager: &Arc<LockManager>, session: u32) -> LockOwner {
    let who = OwnerDescription {
        session_id: session,
        statement: format!("update t set v = {session}"),
        ..OwnerDescription::default()
    };
    LockOwner::new(manager, u64::from(session), Arc::new(who), CancelToken::new())
}

/// Runs `ask` on a thread and returns once the session waits.
fn blocked<T: Send + 'static>(
    manager: &Arc<LockManager>,
    owner: &Arc<LockOwner>,
    session: u64,
    ask: impl FnOnce(&LockOwner) -> T + Send + 'static,
) -> JoinHandle<T> {
    let mine = owner.clone();
    let thread = spawn(move || ask(&mine));
    while !manager.waiting().iter().any(|wait| wait.agent == session) {
        assert!(!thread.is_finished(), "session {session} should wait");
        yield_now();
    }
    thread
}

fn empty(manager: &LockManager) -> bool {
    manager.locks().is_empty()
}

#[test]
fn each_pair_of_modes_is_granted_or_refused_by_the_matrix() {
    let manager = LockManager::new();
    for held in &Mode::ALL[..8] {
        for wanted in &Mode::ALL[..8] {
            let (a, b) = (owner(&manager, 1), owner(&manager, 2));
            a.lock(&key(b"k"), *held, Wait::NO).unwrap();
            let granted = b.lock(&key(b"k"), *wanted, Wait::NO).is_ok();
            assert_eq!(granted, wanted.compatible(*held), "{wanted} beside {held}");
            assert!(b.lock(&key(b"other"), *wanted, Wait::NO).is_ok());
        }
    }
    assert!(empty(&manager));
}

#[test]
fn asking_again_is_counted_and_strengthens() {
    let manager = LockManager::new();
    let (a, b) = (owner(&manager, 1), owner(&manager, 2));
    for resource in [key(b"k"), Resource::Object(DB, 3)] {
        assert_eq!(a.lock(&resource, Mode::S, Wait::NO).unwrap(), Granted::New);
        assert_eq!(a.lock(&resource, Mode::S, Wait::NO).unwrap(), Granted::Again);
        a.unlock(&resource);
        assert!(b.lock(&resource, Mode::X, Wait::NO).is_err(), "one asking is left");
        assert_eq!(a.lock(&resource, Mode::IX, Wait::NO).unwrap(), Granted::Again);
        assert_eq!(manager.locks()[0].mode, Mode::SIX);
        a.release_all();
        assert!(empty(&manager));
    }
}

#[test]
fn marks_release_what_came_after() {
    let manager = LockManager::new();
    let a = owner(&manager, 1);
    a.lock(&key(b"1"), Mode::X, Wait::NO).unwrap();
    a.lock(&Resource::Object(DB, 1), Mode::IX, Wait::NO).unwrap();
    let mark = a.mark();
    a.lock(&key(b"2"), Mode::S, Wait::NO).unwrap();
    a.lock(&Resource::Object(DB, 2), Mode::IS, Wait::NO).unwrap();
    a.release_since(mark);
    assert_eq!(a.held_count(), 2);
    assert_eq!(a.lock(&Resource::Object(DB, 2), Mode::IS, Wait::NO).unwrap(), Granted::New);
}

#[test]
fn waiters_are_granted_in_order_of_arrival() {
    let manager = LockManager::new();
    let holder = owner(&manager, 1);
    holder.lock(&key(b"k"), Mode::X, Wait::NO).unwrap();
    let order = Arc::new(AtomicU64::new(0));
    let owners: Vec<_> = (2..6).map(|session| Arc::new(owner(&manager, session))).collect();
    let threads: Vec<_> = owners
        .iter()
        .zip(2u64..)
        .map(|(waiter, session)| {
            let order = order.clone();
            blocked(&manager, waiter, session, move |me| {
                me.lock(&key(b"k"), Mode::X, Wait::Forever).unwrap();
                let place = order.fetch_add(1, Ordering::SeqCst);
                me.release_all();
                place
            })
        })
        .collect();
    holder.release_all();
    let places: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(places, [0, 1, 2, 3]);
    assert!(empty(&manager));
}

#[test]
fn a_reader_does_not_overtake_a_waiting_writer() {
    let manager = LockManager::new();
    let (reader, late) = (owner(&manager, 1), owner(&manager, 3));
    reader.lock(&key(b"k"), Mode::S, Wait::NO).unwrap();
    let writer = Arc::new(owner(&manager, 2));
    let waits = blocked(&manager, &writer, 2, |me| me.lock(&key(b"k"), Mode::X, Wait::Forever).map(|_| ()));
    assert!(late.lock(&key(b"k"), Mode::S, Wait::NO).is_err());
    assert!(late.lock(&key(b"k"), Mode::SchS, Wait::NO).is_ok(), "compatible with everybody in the queue");
    reader.release_all();
    waits.join().unwrap().unwrap();
}

#[test]
fn a_conversion_passes_those_who_wait_for_the_converter() {
    let manager = LockManager::new();
    let a = owner(&manager, 1);
    let b = Arc::new(owner(&manager, 2));
    a.lock(&key(b"k"), Mode::U, Wait::NO).unwrap();
    let waits = blocked(&manager, &b, 2, |me| me.lock(&key(b"k"), Mode::U, Wait::Forever).map(|_| ()));
    a.lock(&key(b"k"), Mode::X, Wait::NO).unwrap();
    a.release_all();
    waits.join().unwrap().unwrap();
}

#[test]
fn a_time_out_leaves_the_queue_and_lets_others_pass() {
    let manager = LockManager::new();
    let reader = owner(&manager, 1);
    reader.lock(&key(b"k"), Mode::S, Wait::NO).unwrap();
    let writer = owner(&manager, 2);
    let outcome = writer.lock(&key(b"k"), Mode::X, Wait::AtMost(Duration::from_nanos(1)));
    assert!(matches!(outcome, Err(LockError::Timeout)));
    assert!(owner(&manager, 3).lock(&key(b"k"), Mode::S, Wait::NO).is_ok());
    assert_eq!(manager.timeouts(), 1);
    let waits = manager.wait_stats().into_iter().find(|stat| stat.mode == Mode::X).unwrap();
    assert_eq!(waits.waits, 1);
}

#[test]
fn cancelling_wakes_the_sleeper() {
    let manager = LockManager::new();
    let holder = owner(&manager, 1);
    holder.lock(&key(b"k"), Mode::X, Wait::NO).unwrap();
    let token = CancelToken::new();
    let context = Arc::new(OwnerDescription::default());
    let sleeper = Arc::new(LockOwner::new(&manager, 2, context, token.clone()));
    let waits = blocked(&manager, &sleeper, 2, |me| me.lock(&key(b"k"), Mode::S, Wait::Forever).map(|_| ()));
    token.cancel();
    assert!(matches!(waits.join().unwrap(), Err(LockError::Cancelled)));
    assert!(matches!(sleeper.lock(&key(b"k"), Mode::S, Wait::Forever), Err(LockError::Cancelled)));
    token.reset();
    holder.release_all();
    sleeper.lock(&key(b"k"), Mode::S, Wait::Forever).unwrap();
}

#[test]
fn two_sessions_that_want_each_others_rows_deadlock_and_one_is_told() {
    let manager = LockManager::new();
    let (a, b) = (Arc::new(owner(&manager, 51)), owner(&manager, 52));
    let told = Arc::new(AtomicU64::new(0));
    let count = told.clone();
    manager.on_deadlock(Box::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    }));
    a.lock(&key(b"1"), Mode::X, Wait::NO).unwrap();
    b.lock(&key(b"2"), Mode::X, Wait::NO).unwrap();
    a.set_log_used(500);
    b.set_log_used(300);
    let waits = blocked(&manager, &a, 51, |me| me.lock(&key(b"2"), Mode::X, Wait::Forever).map(|_| ()));
    let Err(LockError::Deadlock(graph)) = b.lock(&key(b"1"), Mode::S, Wait::Forever) else {
        panic!("the one with less log is the victim")
    };
    assert_eq!(graph.processes[graph.victim].description.session_id, 52);
    assert_eq!(graph.resources.len(), 2);
    assert_eq!(told.load(Ordering::SeqCst), 1);
    let report = graph.lines_1222(&|_| ("d.dbo.t".to_owned(), "pk".to_owned())).join("\n");
    assert!(report.contains("deadlock victim=process34"), "{report}");
    assert!(report.contains("keylock hobtid=9 dbid=5 objectname=d.dbo.t indexname=pk"), "{report}");
    assert!(report.contains("waiter id=process34 mode=S requestType=wait"), "{report}");
    assert!(report.contains("update t set v = 51"), "{report}");
    assert!(graph.lines_1204().iter().any(|line| line.contains("SPID:52")));
    b.release_all();
    waits.join().unwrap().unwrap();
}

#[test]
fn three_sessions_in_a_ring_and_priority_chooses() {
    let manager = LockManager::new();
    let owners: Vec<_> = (1..4).map(|session| Arc::new(owner(&manager, session))).collect();
    let keys: [&[u8]; 3] = [b"1", b"2", b"3"];
    for (who, at) in owners.iter().zip(keys) {
        who.lock(&key(at), Mode::X, Wait::NO).unwrap();
    }
    owners[0].set_deadlock_priority(-5);
    let first =
        blocked(&manager, &owners[0], 1, |me| me.lock(&key(b"2"), Mode::X, Wait::Forever).map(|_| ()));
    let second = blocked(&manager, &owners[1], 2, |me| {
        let got = me.lock(&key(b"3"), Mode::X, Wait::Forever).map(|_| ());
        me.release_all();
        got
    });
    let third = {
        let me = owners[2].clone();
        spawn(move || {
            let got = me.lock(&key(b"1"), Mode::X, Wait::Forever).map(|_| ());
            me.release_all();
            got
        })
    };
    let Err(LockError::Deadlock(graph)) = first.join().unwrap() else {
        panic!("the least priority is the victim")
    };
    assert_eq!(graph.processes.len(), 3);
    owners[0].release_all();
    third.join().unwrap().unwrap();
    second.join().unwrap().unwrap();
    assert!(empty(&manager));
}

#[test]
fn two_readers_that_both_want_to_write_deadlock() {
    let manager = LockManager::new();
    let (a, b) = (Arc::new(owner(&manager, 1)), owner(&manager, 2));
    a.lock(&key(b"k"), Mode::S, Wait::NO).unwrap();
    b.lock(&key(b"k"), Mode::S, Wait::NO).unwrap();
    let waits = blocked(&manager, &a, 1, |me| me.lock(&key(b"k"), Mode::X, Wait::Forever).map(|_| ()));
    let outcome = b.lock(&key(b"k"), Mode::X, Wait::Forever);
    let Err(LockError::Deadlock(graph)) = outcome else { panic!("the younger is the victim") };
    let converts = |resource: &DeadlockResource| resource.waiters.iter().all(|waiter| waiter.converts);
    assert!(graph.resources.iter().all(converts));
    b.release_all();
    waits.join().unwrap().unwrap();
}

#[test]
fn queue_order_counts_as_waiting() {
    // 1 holds a key in S; 2 waits for X; 3, which holds what 1 wants, waits for S behind 2.
    let manager = LockManager::new();
    let (first, second, third) =
        (owner(&manager, 1), Arc::new(owner(&manager, 2)), Arc::new(owner(&manager, 3)));
    first.lock(&key(b"k"), Mode::S, Wait::NO).unwrap();
    third.lock(&key(b"other"), Mode::X, Wait::NO).unwrap();
    let writer = blocked(&manager, &second, 2, |me| {
        me.lock(&key(b"k"), Mode::X, Wait::Forever).map(|_| me.release_all())
    });
    let reader = blocked(&manager, &third, 3, |me| {
        me.lock(&key(b"k"), Mode::S, Wait::Forever).map(|_| me.release_all())
    });
    third.set_deadlock_priority(-1);
    let first = Arc::new(first);
    let me = first.clone();
    let wants = spawn(move || me.lock(&key(b"other"), Mode::S, Wait::Forever).map(|_| me.release_all()));
    assert!(matches!(reader.join().unwrap(), Err(LockError::Deadlock(_))));
    third.release_all();
    wants.join().unwrap().unwrap();
    writer.join().unwrap().unwrap();
}

#[test]
fn a_range_makes_writers_wait_and_readers_not() {
    let manager = LockManager::new();
    let (scanner, other) = (owner(&manager, 1), owner(&manager, 2));
    let writer = Arc::new(owner(&manager, 3));
    writer.check_write(DB, TREE, b"c", Wait::NO).unwrap();
    let range = (Bound::Included(&b"b"[..]), Bound::Excluded(&b"d"[..]));
    scanner.lock_range(DB, TREE, range, Mode::RangeSS, Wait::NO).unwrap();
    other.lock_range(DB, TREE, range, Mode::RangeSS, Wait::NO).unwrap();
    scanner.check_write(DB, TREE, b"a", Wait::NO).unwrap();
    assert!(scanner.check_write(DB, TREE, b"c", Wait::NO).is_err(), "another reader's range");
    other.release_all();
    scanner.check_write(DB, TREE, b"c", Wait::NO).unwrap();
    writer.check_write(DB, TREE, b"d", Wait::NO).unwrap();
    writer.check_write(DB, TreeId(10), b"c", Wait::NO).unwrap();
    let waits = blocked(&manager, &writer, 3, |me| me.check_write(DB, TREE, b"c", Wait::Forever));
    scanner.release_all();
    waits.join().unwrap().unwrap();
    assert!(empty(&manager), "a write holds nothing");
}

/// What `WITH (UPDLOCK, HOLDLOCK)` and then an UPDATE do, with others behind.
#[test]
fn a_range_locked_for_update_is_written_past_those_who_wait_for_it() {
    let manager = LockManager::new();
    let (first, second) = (owner(&manager, 1), Arc::new(owner(&manager, 2)));
    let point = (Bound::Included(&b"b"[..]), Bound::Included(&b"b"[..]));
    first.lock_range(DB, TREE, point, Mode::RangeSU, Wait::NO).unwrap();
    let waits =
        blocked(&manager, &second, 2, move |me| me.lock_range(DB, TREE, point, Mode::RangeSU, Wait::Forever));
    first.check_write(DB, TREE, b"b", Wait::NO).unwrap();
    first.release_all();
    waits.join().unwrap().unwrap();
    second.release_all();
    assert!(empty(&manager));
}

#[test]
fn serializable_readers_that_both_insert_deadlock() {
    let manager = LockManager::new();
    let (a, b) = (Arc::new(owner(&manager, 1)), owner(&manager, 2));
    let all = (Bound::Unbounded, Bound::Unbounded);
    a.lock_range(DB, TREE, all, Mode::RangeSS, Wait::NO).unwrap();
    b.lock_range(DB, TREE, all, Mode::RangeSS, Wait::NO).unwrap();
    let waits = blocked(&manager, &a, 1, |me| me.check_write(DB, TREE, b"x", Wait::Forever));
    assert!(matches!(b.check_write(DB, TREE, b"y", Wait::Forever), Err(LockError::Deadlock(_))));
    b.release_all();
    waits.join().unwrap().unwrap();
}

#[test]
fn owners_of_one_session_can_deadlock_with_themselves() {
    let manager = LockManager::new();
    let (session, transaction) = (owner(&manager, 1), owner(&manager, 1));
    session.lock(&Resource::Application(DB, 0, b"job"), Mode::X, Wait::NO).unwrap();
    let outcome = transaction.lock(&Resource::Application(DB, 0, b"job"), Mode::X, Wait::Forever);
    assert!(matches!(outcome, Err(LockError::Deadlock(_))));
}

#[test]
fn many_threads_keep_exclusion_and_leave_nothing() {
    let manager = LockManager::new();
    let cells: Arc<Vec<AtomicU64>> = Arc::new((0..8).map(|_| AtomicU64::new(0)).collect());
    let deadlocks = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (1..5u32)
        .map(|session| {
            let (manager, cells, deadlocks) = (manager.clone(), cells.clone(), deadlocks.clone());
            spawn(move || {
                let me = owner(&manager, session);
                let mut seed = u64::from(session) * 0x9E37_79B9;
                for _ in 0..2000 {
                    let mut held = Vec::new();
                    for _ in 0..3 {
                        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        let cell = (seed >> 33) as usize % cells.len();
                        match me.lock(&key(&[cell as u8]), Mode::X, Wait::Forever) {
                            Ok(_) => held.push(cell),
                            Err(LockError::Deadlock(_)) => {
                                deadlocks.fetch_add(1, Ordering::Relaxed);
                                break;
                            }
                            Err(other) => panic!("{other}"),
                        }
                    }
                    held.sort_unstable();
                    held.dedup();
                    for cell in &held {
                        assert_eq!(cells[*cell].swap(u64::from(session), Ordering::SeqCst), 0, "exclusive");
                    }
                    for cell in &held {
                        cells[*cell].store(0, Ordering::SeqCst);
                    }
                    me.release_all();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(empty(&manager));
    assert_eq!(deadlocks.load(Ordering::Relaxed), manager.deadlocks());
}
