//! Event sessions made and changed by several clients at once.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, server};

#[test]
fn sessions_made_at_once_have_numbers_of_their_own_and_one_name_is_taken_once() {
    let engine = server();
    let clients = 8;
    let made: Vec<String> = std::thread::scope(|scope| {
        let client = |n: usize| {
            let engine = &engine;
            scope.spawn(move || {
                let mut session = connect(engine);
                let mut sink = Sink::default();
                let own = format!("CREATE EVENT SESSION own{n} ON SERVER ADD EVENT sqlserver.login ADD TARGET package0.event_counter");
                session.execute_batch(&own, &mut sink);
                session.execute_batch("CREATE EVENT SESSION shared ON SERVER ADD EVENT sqlserver.login", &mut sink);
                session.execute_batch(&format!("ALTER EVENT SESSION own{n} ON SERVER STATE = START"), &mut sink);
                sink.0.finish()
            })
        };
        let threads: Vec<_> = (0..clients).map(client).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let refused = made.iter().filter(|told| told.contains("Msg 25631")).count();
    assert_eq!(refused, clients - 1, "{made:?}");
    let kept = engine.event_sessions().unwrap();
    let mut numbers: Vec<i32> = kept.iter().map(|d| d.id).collect();
    numbers.dedup();
    // Those of every instance, and one more.
    assert_eq!((kept.len(), numbers.len()), (clients + 3, clients + 3));
    assert_eq!(engine.events.all().len(), clients + 1);
}
