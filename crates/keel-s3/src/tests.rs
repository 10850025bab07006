//! Against a storage in this process that keeps what it is sent, and fails as it is told to.

use crate::{Options, Storage};
use keel_base::env::objects::{NewObject, ObjectAddress, Objects};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PART: usize = 1000;
const KEY: &str = "/shop/daily/full.bak";

/// What is there, what comes to be, and what is to go wrong.
#[derive(Default)]
struct Store {
    objects: BTreeMap<String, Vec<u8>>,
    parts: BTreeMap<u32, Vec<u8>>,
    /// Requests, as `PUT 2`: what, and which part.
    asked: Vec<String>,
    /// What the next requests of a kind are answered, before any are answered as they should be.
    faults: BTreeMap<String, Vec<Fault>>,
}

#[derive(Clone, Copy)]
enum Fault {
    /// This status.
    Status(u16),
    /// The connection ends without an answer.
    Cut,
    /// It is done, and then the connection ends.
    DoneAndCut,
    /// An error behind a status that says that it went well.
    ErrorIn200,
}

struct Server {
    store: Arc<Mutex<Store>>,
    address: String,
    cancelled: Arc<AtomicBool>,
}

impl Server {
    fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let store: Arc<Mutex<Store>> = Arc::default();
        let shared = Arc::clone(&store);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let store = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, &store));
            }
        });
        Server { store, address, cancelled: Arc::default() }
    }

    fn storage(&self) -> (Storage, ObjectAddress) {
        let plain = vec![self.address.clone()];
        let first_wait = Duration::from_millis(1);
        let cancelled = Arc::clone(&self.cancelled);
        let at = ObjectAddress {
            url: format!("s3://{}{KEY}", self.address),
            key: ("AKID".into(), "secret".into()),
            region: "us-east-1".into(),
            cancelled: Arc::new(move || cancelled.load(Ordering::SeqCst)),
        };
        (Storage::new(Options { certificates: None, plain, first_wait }), at)
    }

    fn fails(&self, what: &str, faults: &[Fault]) {
        self.store.lock().faults.insert(what.to_owned(), faults.to_vec());
    }

    fn create(&self, replace: bool) -> std::io::Result<Arc<dyn NewObject>> {
        let (storage, at) = self.storage();
        storage.create(&at, PART, replace)
    }

    /// Nothing is there, and nothing comes to be.
    fn is_empty(&self) -> bool {
        let store = self.store.lock();
        store.objects.is_empty() && store.parts.is_empty()
    }
}

/// What a request is, for `faults` and `asked`.
fn kind(method: &str, query: &str) -> String {
    let part = query.split('&').find_map(|p| p.strip_prefix("partNumber="));
    match (method, part) {
        ("PUT", Some(part)) => format!("PUT {part}"),
        ("POST", _) if query.contains("uploadId=") => "COMPLETE".to_owned(),
        ("POST", _) => "BEGIN".to_owned(),
        ("DELETE", _) if query.contains("uploadId=") => "ABORT".to_owned(),
        (method, _) => method.to_owned(),
    }
}

fn serve(stream: &TcpStream, store: &Mutex<Store>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let (mut length, mut range) = (0, None);
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            let Some((name, value)) = header.trim_end().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().unwrap(),
                "range" => range = Some(value.to_owned()),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut words = line.split(' ');
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let (path, query) = target.split_once('?').unwrap();
        assert!(query.contains("X-Amz-Signature="), "{target}");
        if !answer(stream, store, method, (path, query), range.as_deref(), body) {
            return;
        }
    }
}

/// False when the connection ends.
fn answer(
    mut stream: &TcpStream,
    store: &Mutex<Store>,
    method: &str,
    (path, query): (&str, &str),
    range: Option<&str>,
    body: Vec<u8>,
) -> bool {
    let mut store = store.lock();
    let what = kind(method, query);
    let fault = store.faults.get_mut(&what).filter(|f| !f.is_empty()).map(|f| f.remove(0));
    store.asked.push(what.clone());
    let text =
        |code: &str| format!("<Error><Code>{code}</Code><Message>as told</Message></Error>").into_bytes();
    let (status, headers, found) = match fault {
        Some(Fault::Cut) => return false,
        Some(Fault::Status(status)) => (status, String::new(), text("AsTold")),
        Some(Fault::ErrorIn200) => (200, String::new(), text("InternalError")),
        None | Some(Fault::DoneAndCut) => done(&mut store, &what, path, range, body),
    };
    if matches!(fault, Some(Fault::DoneAndCut)) {
        return false;
    }
    let length = if what == "HEAD" && status == 200 {
        String::new()
    } else {
        format!("Content-Length: {}\r\n", found.len())
    };
    let head = format!("HTTP/1.1 {status} So\r\n{length}{headers}\r\n");
    stream.write_all(head.as_bytes()).is_ok() && (what == "HEAD" || stream.write_all(&found).is_ok())
}

fn done(
    store: &mut Store,
    what: &str,
    path: &str,
    range: Option<&str>,
    body: Vec<u8>,
) -> (u16, String, Vec<u8>) {
    let missing = || (404, String::new(), b"<Error><Code>NoSuchKey</Code></Error>".to_vec());
    match what {
        "HEAD" => match store.objects.get(path) {
            Some(object) => {
                (200, format!("Content-Length: {}\r\nETag: \"v1\"\r\n", object.len()), Vec::new())
            }
            None => missing(),
        },
        "GET" => {
            let Some(object) = store.objects.get(path) else { return missing() };
            let (from, to) = range.and_then(|r| r.strip_prefix("bytes=")?.split_once('-')).unwrap();
            let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
            (206, String::new(), object[from..=to].to_vec())
        }
        "BEGIN" => {
            let xml = "<InitiateMultipartUploadResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Bucket>shop</Bucket>\
                <Key>k</Key><UploadId>u1</UploadId></InitiateMultipartUploadResult>";
            (200, String::new(), xml.into())
        }
        "COMPLETE" if store.parts.is_empty() => missing(),
        "COMPLETE" => {
            let text = String::from_utf8(body).unwrap();
            let numbers: Vec<u32> = text
                .split("<PartNumber>")
                .skip(1)
                .map(|n| n.split_once('<').unwrap().0.parse().unwrap())
                .collect();
            let parts = std::mem::take(&mut store.parts);
            assert!(parts.keys().copied().eq(numbers), "{text}");
            store.objects.insert(path.to_owned(), parts.into_values().flatten().collect());
            (200, String::new(), b"<CompleteMultipartUploadResult/>".to_vec())
        }
        "ABORT" => {
            store.parts.clear();
            (204, String::new(), Vec::new())
        }
        "DELETE" => {
            store.objects.remove(path);
            (204, String::new(), Vec::new())
        }
        put => {
            let number = put.strip_prefix("PUT ").unwrap().parse().unwrap();
            store.parts.insert(number, body);
            (200, format!("ETag: \"p{number}\"\r\n"), Vec::new())
        }
    }
}

/// Bytes of which no two windows are the same.
fn bytes(n: usize) -> Vec<u8> {
    (0..n as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8).collect()
}

fn write(object: &dyn NewObject, bytes: &[u8], each: usize) -> std::io::Result<()> {
    let mut at = 0;
    for piece in bytes.chunks(each) {
        object.write_at(piece, at)?;
        at += piece.len() as u64;
    }
    object.sync_all()
}

#[test]
fn what_was_written_is_read() {
    for (n, each) in [(0, 1), (1, 1), (PART, 300), (PART * 3, PART), (PART * 4 + 17, 2500)] {
        let server = Server::start();
        let object = server.create(false).unwrap();
        assert_eq!(object.read_at(&mut [0; 8], 0).unwrap(), 0);
        write(&*object, &bytes(n), each).unwrap();
        assert_eq!(object.len().unwrap(), n as u64);
        drop(object);
        let (storage, at) = server.storage();
        let read = storage.open(&at).unwrap();
        assert_eq!(read.len().unwrap(), n as u64);
        let mut all = vec![0; n + 10];
        assert_eq!(read.read_at(&mut all, 0).unwrap(), n);
        assert_eq!(all[..n], bytes(n));
        assert!(!server.store.lock().asked.contains(&"ABORT".to_owned()));
    }
}

#[test]
fn reads_in_any_order_are_what_is_there() {
    let (server, all) = (Server::start(), bytes(1 << 20));
    server.store.lock().objects.insert(KEY.to_owned(), all.clone());
    let (storage, at) = server.storage();
    let read = storage.open(&at).unwrap();
    let places: Vec<usize> =
        (0..60).map(|n| n * 24_000).chain([0, 900_000, 5, (1 << 20) - 3, 1 << 20, 1 << 21]).collect();
    for place in places {
        let mut piece = [0; 30_000];
        let n = read.read_at(&mut piece, place as u64).unwrap();
        let expected = all.get(place..).map_or(&[][..], |rest| &rest[..rest.len().min(piece.len())]);
        assert_eq!(piece[..n], *expected, "{place}");
    }
    // Larger windows while reads follow on: not one request for each.
    let gets = server.store.lock().asked.iter().filter(|a| *a == "GET").count();
    assert!(gets < 40, "{gets}");
}

#[test]
fn what_may_pass_is_tried_again() {
    let server = Server::start();
    server.fails("HEAD", &[Fault::Status(503)]);
    server.fails("BEGIN", &[Fault::Cut, Fault::Status(500)]);
    server.fails("PUT 2", &[Fault::Status(503), Fault::DoneAndCut, Fault::Cut, Fault::Status(429)]);
    server.fails("COMPLETE", &[Fault::Status(500)]);
    let object = server.create(false).unwrap();
    write(&*object, &bytes(PART * 3), 700).unwrap();
    assert_eq!(server.store.lock().objects[KEY], bytes(PART * 3));
}

#[test]
fn an_answer_that_was_lost_is_no_failure() {
    let server = Server::start();
    server.fails("COMPLETE", &[Fault::DoneAndCut]);
    let object = server.create(false).unwrap();
    write(&*object, &bytes(PART * 2 + 5), 700).unwrap();
    assert_eq!(server.store.lock().objects[KEY], bytes(PART * 2 + 5));
}

#[test]
fn nothing_is_left_of_what_failed() {
    for (what, faults) in [
        ("PUT 2", vec![Fault::Status(403)]),
        ("PUT 3", vec![Fault::Status(500); 6]),
        ("COMPLETE", vec![Fault::ErrorIn200]),
        ("COMPLETE", vec![Fault::Status(400)]),
    ] {
        let server = Server::start();
        server.fails(what, &faults);
        let object = server.create(false).unwrap();
        assert!(write(&*object, &bytes(PART * 3 + 1), 700).is_err(), "{what}");
        drop(object);
        assert!(server.is_empty(), "{what}");
        assert_eq!(server.store.lock().asked.last().unwrap(), "ABORT", "{what}");
    }
}

#[test]
fn one_that_is_dropped_or_given_up_was_never_there() {
    let server = Server::start();
    let object = server.create(false).unwrap();
    object.write_at(&bytes(PART * 2 + 1), 0).unwrap();
    drop(object);
    assert!(server.is_empty());
    let object = server.create(false).unwrap();
    write(&*object, &bytes(PART), 100).unwrap();
    assert!(!server.is_empty());
    object.give_up();
    drop(object);
    assert!(server.is_empty());
    assert_eq!(server.store.lock().asked.last().unwrap(), "DELETE");
}

#[test]
fn who_does_not_wait_any_longer_is_let_go() {
    let server = Server::start();
    server.fails("PUT 1", &[Fault::Status(503); 6]);
    let object = server.create(false).unwrap();
    server.cancelled.store(true, Ordering::SeqCst);
    let failed = write(&*object, &bytes(PART * 4), 700).unwrap_err();
    assert!(matches!(failed.kind(), ErrorKind::Interrupted | ErrorKind::Other), "{failed}");
    drop(object);
    assert!(server.is_empty());
}

#[test]
fn one_that_is_there_is_replaced_when_that_is_wanted() {
    let server = Server::start();
    server.store.lock().objects.insert(KEY.to_owned(), b"old".to_vec());
    assert_eq!(server.create(false).map(drop).unwrap_err().kind(), ErrorKind::AlreadyExists);
    let object = server.create(true).unwrap();
    object.write_at(b"n", 0).unwrap();
    assert_eq!(server.store.lock().objects[KEY], b"old");
    object.write_at(b"ew", 1).unwrap();
    object.sync_all().unwrap();
    assert_eq!(server.store.lock().objects[KEY], b"new");
    assert!(object.write_at(b"er", 3).is_err());
}

#[test]
fn errors_say_what_is_wrong() {
    for (what, fault, kind, text) in [
        ("HEAD", Fault::Status(403), ErrorKind::PermissionDenied, "HTTP 403"),
        ("BEGIN", Fault::Status(404), ErrorKind::NotFound, "HTTP 404 AsTold: as told"),
        ("BEGIN", Fault::Status(301), ErrorKind::Unsupported, "HTTP 301 AsTold: as told"),
        ("BEGIN", Fault::ErrorIn200, ErrorKind::Unsupported, "What answers is no S3 storage."),
    ] {
        let server = Server::start();
        server.fails(what, &[fault]);
        let e = server.create(false).map(drop).unwrap_err();
        assert_eq!((e.kind(), e.to_string().as_str()), (kind, text));
    }
    let server = Server::start();
    let (storage, at) = server.storage();
    assert_eq!(storage.open(&at).map(drop).unwrap_err().kind(), ErrorKind::NotFound);
    // Whoever is not listed is asked by HTTPS, which is not what answers there.
    let storage = Storage::new(Options { first_wait: Duration::from_millis(1), ..Options::default() });
    assert!(storage.open(&at).is_err());
    assert!(server.store.lock().asked.len() == 1);
}
