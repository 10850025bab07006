//! What Azure's Blob Storage does, and what is asked of it alone.

use super::{Answered, Asked, Dialect, Fault, KEY, PART, Server, Store, bytes, write};
use keel_base::env::objects::{Access, ObjectAddress, Objects as _};
use std::io::ErrorKind;

/// Of the address that [`Server::storage`] gives.
pub(super) const SIGNATURE: &str = "sv=2021-08-06&sr=c&sig=a%2Bb%3D";

/// What a request is, for `faults` and `asked`.
pub(super) fn kind(asked: &Asked) -> String {
    let key = asked.header("authorization").is_some_and(|a| a.starts_with("SharedKey acc:"));
    assert!(key != asked.query.ends_with(SIGNATURE), "{}", asked.query);
    assert!(asked.header("x-ms-version").is_some());
    match (asked.method.as_str(), asked.parameter("comp")) {
        ("PUT", Some("block")) => {
            let name = asked.parameter("blockid").unwrap();
            assert!(name.len() == 24 && name.bytes().all(|b| b.is_ascii_hexdigit()), "{name}");
            format!("PUT {}", u32::from_str_radix(&name[16..], 16).unwrap())
        }
        ("PUT", comp) => {
            assert_eq!(comp, Some("blocklist"));
            "COMPLETE".to_owned()
        }
        (method, _) => method.to_owned(),
    }
}

pub(super) fn done(store: &mut Store, what: &str, asked: &Asked) -> Answered {
    let refused = |status: u16, code: &str| {
        let text = format!(
            "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>So it is.\nTime: now</Message></Error>"
        );
        (status, format!("x-ms-error-code: {code}\r\n"), text.into_bytes())
    };
    let missing = if asked.path.starts_with("/nothere/") { "ContainerNotFound" } else { "BlobNotFound" };
    let found = store.objects.get(&asked.path);
    match (what, found) {
        ("COMPLETE", Some(_)) if asked.header("if-none-match") == Some("*") => {
            refused(409, "BlobAlreadyExists")
        }
        ("COMPLETE", _) => {
            let text = String::from_utf8(asked.body.clone()).unwrap();
            let number =
                |name: &str| u32::from_str_radix(&name.split_once('<').unwrap().0[16..], 16).unwrap();
            let numbers: Vec<u32> = text.split("<Latest>").skip(1).map(number).collect();
            // Blocks may be those of the blob that is there: the list is asked for again.
            if !store.parts.is_empty() || numbers.is_empty() {
                let parts = std::mem::take(&mut store.parts);
                assert!(parts.keys().copied().eq(numbers), "{text}");
                store.objects.insert(asked.path.clone(), parts.into_values().flatten().collect());
            }
            let upload = asked.header("x-ms-meta-upload").unwrap().to_owned();
            store.uploads.insert(asked.path.clone(), upload);
            (201, String::new(), Vec::new())
        }
        ("HEAD" | "GET" | "DELETE", None) => refused(404, missing),
        ("HEAD", Some(object)) => {
            let upload = store.uploads.get(&asked.path).map(|id| format!("x-ms-meta-upload: {id}\r\n"));
            let headers = format!("Content-Length: {}\r\nETag: \"v1\"\r\n", object.len());
            (200, headers + &upload.unwrap_or_default(), Vec::new())
        }
        ("GET", Some(object)) => (206, String::new(), asked.piece(object)),
        ("DELETE", Some(_)) => {
            store.objects.remove(&asked.path);
            (202, String::new(), Vec::new())
        }
        (put, _) => {
            assert!(!asked.body.is_empty());
            let number = put.strip_prefix("PUT ").unwrap().parse().unwrap();
            store.parts.insert(number, asked.body.clone());
            (201, String::new(), Vec::new())
        }
    }
}

#[test]
fn who_comes_first_has_the_name() {
    let server = Server::start(Dialect::Azure);
    let object = server.create(false).unwrap();
    object.write_at(&bytes(PART), 0).unwrap();
    server.store.lock().objects.insert(KEY.to_owned(), b"another's".to_vec());
    let e = object.sync_all().unwrap_err();
    assert_eq!(
        (e.kind(), e.to_string().as_str()),
        (ErrorKind::AlreadyExists, "HTTP 409 BlobAlreadyExists: So it is.")
    );
    drop(object);
    assert_eq!(server.store.lock().objects[KEY], b"another's");
}

#[test]
fn a_container_has_to_be_there() {
    let server = Server::start(Dialect::Azure);
    let (storage, at) = server.storage();
    let at = ObjectAddress { url: at.url.replace("/shop/", "/nothere/"), ..at };
    for replace in [false, true] {
        let e = storage.create(&at, PART, replace).map(drop).unwrap_err();
        assert_eq!((e.kind(), e.to_string().as_str()), (ErrorKind::NotFound, "HTTP 404 ContainerNotFound"));
    }
}

#[test]
fn a_key_signs_what_a_signature_would() {
    let server = Server::start(Dialect::Azure);
    server.fails("PUT 1", &[Fault::Status(503)]);
    let (storage, at) = server.storage();
    let key = |secret: &str| Access::Key { name: "acc".into(), secret: secret.into() };
    let at = ObjectAddress { access: key("c2VjcmV0"), ..at };
    let object = storage.create(&at, PART, false).unwrap();
    write(&*object, &bytes(PART + 1), 700).unwrap();
    object.give_up();
    assert!(server.is_empty());
    let at = ObjectAddress { access: key("not Base64"), ..at };
    assert_eq!(storage.open(&at).map(drop).unwrap_err().kind(), ErrorKind::Unsupported);
}
