//! Logins that several sessions make and change at once.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, server};

const SESSIONS: usize = 4;
const EACH: usize = 40;

#[test]
fn what_several_sessions_do_to_logins_at_once_is_all_done() {
    let engine = server();
    std::thread::scope(|scope| {
        for s in 0..SESSIONS {
            let engine = &engine;
            scope.spawn(move || {
                let mut session = connect(engine);
                for n in 0..EACH {
                    let mut sink = Sink::default();
                    let sql = format!(
                        "CREATE LOGIN own_{s}_{n} WITH PASSWORD = 'Secret-Pass-1'; \
                         GRANT VIEW SERVER STATE TO own_{s}_{n}; ALTER SERVER ROLE dbcreator ADD MEMBER own_{s}_{n}"
                    );
                    session.execute_batch(&sql, &mut sink);
                    let said = sink.0.finish();
                    assert!(!said.contains("Msg "), "{said}");
                    // Everybody wants this one.
                    session.execute_batch(
                        &format!("CREATE LOGIN wanted_{n} WITH PASSWORD = 'Secret-Pass-1'"),
                        &mut Sink::default(),
                    );
                }
            });
        }
    });
    let logins = engine.logins().unwrap();
    let own = |l: &&keel_sql::LoginRecord| l.name.starts_with("own_");
    assert_eq!(logins.iter().filter(own).count(), SESSIONS * EACH);
    assert!(logins.iter().filter(own).all(|l| l.permissions.len() == 1 && l.roles == ["dbcreator"]));
    assert_eq!(logins.iter().filter(|l| l.name.starts_with("wanted_")).count(), EACH);
    let mut ids: Vec<i32> = logins.iter().map(|l| l.principal_id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), logins.len(), "each has a number of its own");
}

#[test]
fn a_login_that_took_a_dropped_ones_number_is_not_changed_for_it() {
    let engine = server();
    let mut session = connect(&engine);
    let mut run = |sql: &str| session.execute_batch(sql, &mut Sink::default());
    run("CREATE LOGIN first WITH PASSWORD = 'Secret-Pass-1'");
    let first = engine.login("first").unwrap();
    run("DROP LOGIN first; CREATE LOGIN second WITH PASSWORD = 'Secret-Pass-2'");
    let second = engine.login("second").unwrap();
    assert_eq!(second.principal_id, first.principal_id, "else this says nothing");
    assert!(!engine.master().change_login(&first, |login| login.password_hash = b"stolen".to_vec()).unwrap());
    assert!(!engine.master().drop_login(&first).unwrap());
    assert_eq!(engine.login("second"), Some(second));
}
