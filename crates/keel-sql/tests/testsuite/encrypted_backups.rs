//! Backups that only who has the certificate's private key can read.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, run, server, well};
use keel_sql::Session;

fn with_certificates(names: &[&str]) -> Session {
    let engine = server();
    assert!(engine.set_hadr(crate::common::replication::Fake::new("EVENKEEL")), "is set once");
    let mut session = connect(&engine);
    well(&mut session, "CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Backup-Key-1'");
    for name in names {
        well(&mut session, &format!("CREATE CERTIFICATE {name} WITH SUBJECT = '{name}'"));
    }
    session
}

#[test]
fn a_set_is_restored_with_its_certificate_alone() {
    let mut session = with_certificates(&["safe", "other"]);
    well(&mut session, "CREATE DATABASE shop; CREATE TABLE shop.dbo.t (n int); INSERT shop.dbo.t VALUES (1)");
    let encrypted =
        |certificate: &str| format!("ENCRYPTION (ALGORITHM = AES_256, SERVER CERTIFICATE = {certificate})");
    let missing = format!("BACKUP DATABASE shop TO DISK = 'a.bak' WITH {}", encrypted("none"));
    assert!(run(&mut session, &missing).contains("Msg 15151"));
    let (safe, other) = (encrypted("safe"), encrypted("other"));
    well(&mut session, &format!("BACKUP DATABASE shop TO DISK = 'a.bak' WITH FORMAT, COMPRESSION, {safe}"));
    well(&mut session, "INSERT shop.dbo.t VALUES (2)");
    well(&mut session, &format!("BACKUP DATABASE shop TO DISK = 'a.dif' WITH DIFFERENTIAL, {other}"));
    well(
        &mut session,
        &format!("INSERT shop.dbo.t VALUES (3); BACKUP LOG shop TO DISK = 'a.trn' WITH {safe}"),
    );
    let shown = "SELECT type, key_algorithm, encryptor_type, len = DATALENGTH(encryptor_thumbprint) FROM msdb.dbo.backupset";
    assert_eq!(well(&mut session, shown).matches("aes_256 ").count(), 3);
    well(&mut session, "RESTORE VERIFYONLY FROM DISK = 'a.bak'; RESTORE HEADERONLY FROM DISK = 'a.bak'");

    let restore = "RESTORE DATABASE copy FROM DISK = 'a.bak' WITH NORECOVERY, REPLACE";
    well(&mut session, restore);
    well(&mut session, "DROP CERTIFICATE other");
    let differential = run(&mut session, "RESTORE DATABASE copy FROM DISK = 'a.dif' WITH NORECOVERY");
    assert!(differential.contains("Msg 33111") && differential.contains("thumbprint '0x"), "{differential}");
    well(&mut session, "RESTORE LOG copy FROM DISK = 'a.trn'");
    assert!(well(&mut session, "SELECT COUNT(*) AS n FROM copy.dbo.t").contains('3'));

    well(&mut session, "DROP CERTIFICATE safe");
    for statement in
        [restore, "RESTORE VERIFYONLY FROM DISK = 'a.bak'", "RESTORE DATABASE another FROM DISK = 'a.bak'"]
    {
        let said = run(&mut session, statement);
        assert!(said.contains("Msg 33111"), "{statement}: {said}");
    }
    well(&mut session, "RESTORE HEADERONLY FROM DISK = 'a.bak'; RESTORE FILELISTONLY FROM DISK = 'a.bak'");
    assert!(well(&mut session, "SELECT COUNT(*) AS n FROM copy.dbo.t").contains('3'));
}

#[test]
fn what_cannot_be_encrypted_writes_over_nothing() {
    let mut session = with_certificates(&[]);
    well(&mut session, "BACKUP DATABASE master TO DISK = 'm.bak'");
    let encrypted = "ENCRYPTION (ALGORITHM = AES_128, SERVER CERTIFICATE = none)";
    for options in ["INIT", "FORMAT"] {
        let said = run(
            &mut session,
            &format!("BACKUP DATABASE master TO DISK = 'm.bak' WITH {options}, {encrypted}"),
        );
        assert!(said.contains("Msg 15151"), "{said}");
    }
    well(&mut session, "RESTORE VERIFYONLY FROM DISK = 'm.bak'");
}

#[test]
fn what_is_asked_for_is_there_or_refused() {
    let mut session = with_certificates(&["safe"]);
    for (options, number) in [
        ("ENCRYPTION (ALGORITHM = TRIPLE_DES_3KEY, SERVER CERTIFICATE = safe)", 40517),
        ("ENCRYPTION (ALGORITHM = AES_256, SERVER ASYMMETRIC KEY = safe)", 40517),
        ("ENCRYPTION (ALGORITHM = AES_256)", 155),
        ("ENCRYPTION (SERVER CERTIFICATE = safe)", 155),
    ] {
        let said = run(&mut session, &format!("BACKUP DATABASE master TO DISK = 'NUL' WITH {options}"));
        assert!(said.contains(&format!("Msg {number}")), "{options}: {said}");
    }
}
