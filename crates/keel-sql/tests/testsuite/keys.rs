//! Keys of databases over restarts, backups and instances, and that none of them lies on a disk as it is.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, open, run};
use keel_base::env::Disk as _;
use keel_base::env::OpenMode;
use keel_base::env::sim::{SimDisk, Tear};
use keel_sql::Session;
use keel_sql::catalog::CatalogObject;
use keel_sql::keys::{CertificateDef, MasterKeyDef};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn well(session: &mut Session, sql: &str) -> String {
    let said = run(session, sql);
    assert!(!said.contains("Msg "), "{sql}: {said}");
    said
}

fn files_below(disk: &Arc<SimDisk>, dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let inside: Vec<PathBuf> = disk.list(dir).unwrap_or_default();
    for path in inside {
        if disk.contents(&path).is_some() {
            found.push(path);
        } else {
            found.extend(files_below(disk, &path));
        }
    }
    found
}

fn copy(from: &Arc<SimDisk>, to: &Arc<SimDisk>, path: &Path) {
    to.create_dir_all(path.parent().unwrap()).unwrap();
    let file = to.open(path, OpenMode::Create).unwrap();
    file.write_at(&from.contents(path).unwrap(), 0).unwrap();
}

/// A key made from a text, so that its bytes are known.
const SHOP: &str = "CREATE DATABASE shop; USE shop; CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Master-Key-1'; \
    CREATE CERTIFICATE c WITH SUBJECT = 'c'; \
    CREATE SYMMETRIC KEY k WITH ALGORITHM = AES_256, KEY_SOURCE = 'a long story' ENCRYPTION BY CERTIFICATE c, PASSWORD = 'Key-Word-1'; \
    CREATE TABLE t (v varbinary(200)); OPEN SYMMETRIC KEY k DECRYPTION BY CERTIFICATE c; \
    INSERT t VALUES (ENCRYPTBYKEY(KEY_GUID('k'), 'what nobody else writes'))";
const READ: &str = "SELECT CONVERT(varchar(50), DECRYPTBYKEYAUTOCERT(CERT_ID('c'), NULL, v)) AS plain FROM t";
const PLAIN: &str = "what nobody else writes";

#[test]
fn another_instance_opens_the_master_key_with_its_password_and_both_then_open_it_themselves() {
    let (disk, other) = (SimDisk::new(), SimDisk::new());
    let engine = open(&disk);
    let mut session = connect(&engine);
    well(&mut session, SHOP);
    well(&mut session, "BACKUP DATABASE shop TO DISK = 'shop.bak'");
    let backup =
        files_below(&disk, Path::new("/data")).into_iter().find(|p| p.ends_with("shop.bak")).unwrap();
    copy(&disk, &other, &backup);

    let theirs = open(&other);
    let mut their_session = connect(&theirs);
    well(&mut their_session, "RESTORE DATABASE shop FROM DISK = 'shop.bak'; USE shop");
    let opens = "SELECT is_master_key_encrypted_by_server FROM sys.databases WHERE name = 'shop'";
    assert!(well(&mut their_session, opens).contains("\n0"));
    assert!(run(&mut their_session, READ).contains("Msg 15581"));
    assert!(
        run(&mut their_session, "OPEN SYMMETRIC KEY k DECRYPTION BY CERTIFICATE c").contains("Msg 15581")
    );
    // A key with a password of its own needs no master key.
    well(&mut their_session, "OPEN SYMMETRIC KEY k DECRYPTION BY PASSWORD = 'Key-Word-1'");
    let by_key = "SELECT CONVERT(varchar(50), DECRYPTBYKEY(v)) AS plain FROM t";
    assert!(well(&mut their_session, by_key).contains(PLAIN));
    let add = "OPEN MASTER KEY DECRYPTION BY PASSWORD = 'Master-Key-1'; ALTER MASTER KEY ADD ENCRYPTION BY SERVICE MASTER KEY; CLOSE MASTER KEY";
    well(&mut their_session, add);
    assert!(well(&mut their_session, READ).contains(PLAIN));
    assert!(well(&mut their_session, opens).contains("\n1"));

    // And back again: what the first one sealed is still there.
    well(&mut their_session, "BACKUP DATABASE shop TO DISK = 'back.bak'");
    copy(&other, &disk, &backup.with_file_name("back.bak"));
    well(&mut session, "USE master; RESTORE DATABASE shop FROM DISK = 'back.bak' WITH REPLACE; USE shop");
    assert!(well(&mut session, READ).contains(PLAIN));
    drop((session, engine, their_session, theirs));
    let engine = open(&disk.crash(Tear::LoseAll));
    let mut session = connect(&engine);
    well(&mut session, "USE shop");
    assert!(well(&mut session, READ).contains(PLAIN));
}

#[test]
fn no_key_lies_on_the_disk_as_it_is() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    let mut session = connect(&engine);
    well(&mut session, SHOP);
    well(
        &mut session,
        "CREATE ASYMMETRIC KEY a WITH ALGORITHM = RSA_2048; CHECKPOINT; BACKUP DATABASE shop TO DISK = 'shop.bak'",
    );
    well(
        &mut session,
        "CREATE DATABASE SCOPED CREDENTIAL c WITH IDENTITY = 'i', SECRET = 'Scoped-Word-1'; CREATE CREDENTIAL c WITH IDENTITY = 'i', SECRET = 'Own-Word-1'",
    );
    well(&mut session, "BACKUP MASTER KEY TO FILE = '/data/shop.key' ENCRYPTION BY PASSWORD = 'File-Word-1'");
    well(
        &mut session,
        "BACKUP CERTIFICATE c TO FILE = '/data/c.cer' WITH PRIVATE KEY (FILE = '/data/c.pvk', ENCRYPTION BY PASSWORD = 'File-Word-1')",
    );
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    // The key of the symmetric key, texts that make it, passwords, and how every private key begins.
    let key = {
        use sha2::Digest as _;
        sha2::Sha256::digest(utf16("a long story")).to_vec()
    };
    let rsa_oid = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00, 0x04, 0x82].to_vec();
    let mut secrets = vec![key, rsa_oid];
    for text in
        ["a long story", "Master-Key-1", "Key-Word-1", "File-Word-1", "Scoped-Word-1", "Own-Word-1", PLAIN]
    {
        secrets.extend([text.as_bytes().to_vec(), utf16(text)]);
    }
    let json = |bytes: &[u8]| {
        let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
        numbers.join(",").into_bytes()
    };
    let as_json: Vec<Vec<u8>> = secrets.iter().map(|secret| json(secret)).collect();
    for path in files_below(&disk, Path::new("/data")) {
        let bytes = disk.contents(&path).unwrap();
        for secret in secrets.iter().chain(&as_json) {
            let found = bytes.windows(secret.len()).any(|w| w == &secret[..]);
            assert!(!found, "{} holds {}", path.display(), String::from_utf8_lossy(secret));
        }
    }
}

/// Rows of before: a master key that knew one password, and certificates whose owner was a name.
#[test]
fn what_was_kept_before_is_read() {
    let old = br#"{"id":1,"password_hash":[1,2],"sealed":[3],"by_password":[4]}"#;
    let key: MasterKeyDef = serde_json::from_slice(old).unwrap();
    assert_eq!((key.by_service_keys().count(), key.by_passwords().count()), (1, 1));
    let old = br#"{"id":256,"name":"c","owner":"ann","certificate":[1],"key":null,"sealed_key":[2],"own_password":true}"#;
    let certificate: CertificateDef = serde_json::from_slice(old).unwrap();
    assert_eq!((certificate.principal, certificate.owner.as_str()), (0, "ann"));
    assert_eq!(certificate.private().by_master_key.as_deref(), Some(&[2][..]));
}

/// Where the service master key cannot be read, that is what is wrong, and not a master key that somebody forgot to open.
#[test]
fn a_service_master_key_that_cannot_be_read_is_named() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    let mut session = connect(&engine);
    well(&mut session, SHOP);
    drop((session, engine));
    let disk = disk.crash(Tear::KeepAll);
    let key =
        files_below(&disk, Path::new("/data")).into_iter().find(|p| p.ends_with("service.keel")).unwrap();
    disk.open(&key, OpenMode::ReadWrite).unwrap().write_at(b"no key at all", 0).unwrap();
    let engine = open(&disk);
    let mut session = connect(&engine);
    well(&mut session, "USE shop");
    for statement in [READ, "OPEN SYMMETRIC KEY k DECRYPTION BY CERTIFICATE c"] {
        let said = run(&mut session, statement);
        assert!(said.contains("Msg 33094") && said.contains("service.keel is damaged"), "{said}");
    }
    well(&mut session, "OPEN MASTER KEY DECRYPTION BY PASSWORD = 'Master-Key-1'");
    assert!(well(&mut session, READ).contains(PLAIN));
}

/// A certificate from when passwords of their own were not kept hangs on the master key once that was regenerated.
#[test]
fn a_certificate_that_is_sealed_anew_has_no_password_of_its_own() {
    let engine = open(&SimDisk::new());
    let mut session = connect(&engine);
    well(
        &mut session,
        "CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Master-Key-1'; CREATE CERTIFICATE c WITH SUBJECT = 'c'",
    );
    let master = engine.database("master").unwrap();
    let now = master.picture().certificate_named("c").unwrap().clone();
    let old = CertificateDef { own_password: true, ..(*now).clone() };
    master.put_now(CatalogObject::Certificate(Arc::new(old))).unwrap();
    let kind = "SELECT pvt_key_encryption_type FROM sys.certificates WHERE name = 'c'";
    assert!(well(&mut session, kind).contains("\nPW"));
    well(&mut session, "ALTER MASTER KEY REGENERATE WITH ENCRYPTION BY PASSWORD = 'Master-Key-2'");
    assert!(well(&mut session, kind).contains("\nMK"));
    assert!(run(&mut session, "DROP MASTER KEY").contains("Msg 15580"));
}
