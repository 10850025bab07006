//! Who may connect to the endpoint.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, server};

#[test]
fn a_certificate_is_trusted_by_its_owners_permission_to_connect() {
    let engine = server();
    assert!(engine.set_hadr(crate::common::replication::Fake::new("EVENKEEL")), "is set once");
    let mut session = connect(&engine);
    let mut run = |sql: &str| {
        let mut sink = Sink::default();
        session.execute_batch(sql, &mut sink);
        let said = sink.0.finish();
        assert!(!said.contains("Msg "), "{sql}: {said}");
    };
    let trusted = || engine.endpoint_spec().unwrap().unwrap().trusted.len();
    run("CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Endpoint-Key-1'");
    run("CREATE CERTIFICATE own WITH SUBJECT = 'own'");
    run("CREATE LOGIN partner WITH PASSWORD = 'Partner-Pass-1'; CREATE USER partner FOR LOGIN partner");
    run("CREATE CERTIFICATE theirs AUTHORIZATION partner WITH SUBJECT = 'theirs'");
    let endpoint = "CREATE ENDPOINT ep STATE = STARTED AS TCP (LISTENER_PORT = 5022) \
                    FOR DATABASE_MIRRORING (AUTHENTICATION = CERTIFICATE own, ROLE = ALL)";
    run(endpoint);
    assert_eq!(trusted(), 1, "dbo's own only");
    run("GRANT CONNECT ON ENDPOINT::ep TO partner");
    assert_eq!(trusted(), 2);
    run("DENY CONNECT ON ENDPOINT::ep TO partner");
    assert_eq!(trusted(), 1);
    run("GRANT CONNECT ON ENDPOINT::ep TO partner");
    run("ALTER LOGIN partner DISABLE");
    assert_eq!(trusted(), 1, "of a login that may not log in");
    run("ALTER LOGIN partner ENABLE");
    // What was granted on an endpoint goes with it; the next one may have its number.
    run("DROP ENDPOINT ep");
    run(endpoint);
    assert_eq!(trusted(), 1);
    assert!(engine.login("partner").unwrap().permissions.is_empty());
}
