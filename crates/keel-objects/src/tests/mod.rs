//! Against a storage in this process that keeps what it is sent, and fails as it is told to.

mod azure;
mod s3;

use crate::{Options, Storage};
use keel_base::env::objects::{Access, NewObject, ObjectAddress, Objects};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PART: usize = 1000;
const KEY: &str = "/shop/daily/full.bak";

/// What a storage speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    S3,
    Azure,
}

const BOTH: [Dialect; 2] = [Dialect::S3, Dialect::Azure];

/// What is there, what comes to be, and what is to go wrong.
#[derive(Default)]
struct Store {
    objects: BTreeMap<String, Vec<u8>>,
    parts: BTreeMap<u32, Vec<u8>>,
    /// What uploads that have become objects are called, where a storage is told.
    uploads: BTreeMap<String, String>,
    /// Requests, as `PUT 2`: what, and which part.
    asked: Vec<String>,
    /// What the next requests of a kind are answered, before any are answered as they should be.
    faults: BTreeMap<String, Vec<Fault>>,
}

/// What is asked for.
struct Asked {
    method: String,
    path: String,
    query: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Asked {
    fn parameter(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|p| p.strip_prefix(name)?.strip_prefix('='))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The bytes of an object that it asks for.
    fn piece(&self, object: &[u8]) -> Vec<u8> {
        let (from, to) =
            self.header("range").and_then(|r| r.strip_prefix("bytes=")?.split_once('-')).unwrap();
        let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
        object[from..=to].to_vec()
    }
}

/// Status, headers and body.
type Answered = (u16, String, Vec<u8>);

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
    dialect: Dialect,
    store: Arc<Mutex<Store>>,
    address: String,
    cancelled: Arc<AtomicBool>,
}

impl Server {
    fn start(dialect: Dialect) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let store: Arc<Mutex<Store>> = Arc::default();
        let shared = Arc::clone(&store);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let store = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, dialect, &store));
            }
        });
        Server { dialect, store, address, cancelled: Arc::default() }
    }

    fn storage(&self) -> (Storage, ObjectAddress) {
        let plain = vec![self.address.clone()];
        let first_wait = Duration::from_millis(1);
        let cancelled = Arc::clone(&self.cancelled);
        let (scheme, access) = match self.dialect {
            Dialect::S3 => ("s3", Access::Key { name: "AKID".into(), secret: "secret".into() }),
            Dialect::Azure => ("http", Access::Signature(format!("?{}", azure::SIGNATURE))),
        };
        let at = ObjectAddress {
            url: format!("{scheme}://{}{KEY}", self.address),
            access,
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

    /// Nothing is there. Nothing comes to be either, unless the storage throws it away by itself.
    fn is_empty(&self) -> bool {
        let store = self.store.lock();
        store.objects.is_empty() && (self.dialect == Dialect::Azure || store.parts.is_empty())
    }

    fn asked(&self) -> Vec<String> {
        self.store.lock().asked.clone()
    }
}

fn serve(stream: &TcpStream, dialect: Dialect, store: &Mutex<Store>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let mut headers = BTreeMap::new();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            let Some((name, value)) = header.trim_end().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut words = line.split(' ').map(str::to_owned);
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let (path, query) = (path.to_owned(), query.to_owned());
        if !answer(stream, dialect, store, &Asked { method, path, query, headers, body }) {
            return;
        }
    }
}

/// False when the connection ends.
fn answer(mut stream: &TcpStream, dialect: Dialect, store: &Mutex<Store>, asked: &Asked) -> bool {
    let mut store = store.lock();
    let what = match dialect {
        Dialect::S3 => s3::kind(asked),
        Dialect::Azure => azure::kind(asked),
    };
    let fault = store.faults.get_mut(&what).filter(|f| !f.is_empty()).map(|f| f.remove(0));
    store.asked.push(what.clone());
    let text =
        |code: &str| format!("<Error><Code>{code}</Code><Message>as told</Message></Error>").into_bytes();
    let mut done = || match dialect {
        Dialect::S3 => s3::done(&mut store, &what, asked),
        Dialect::Azure => azure::done(&mut store, &what, asked),
    };
    let (status, headers, found) = match fault {
        Some(Fault::Cut) => return false,
        Some(Fault::Status(status)) => (status, String::new(), text("AsTold")),
        Some(Fault::ErrorIn200) => (200, String::new(), text("InternalError")),
        None | Some(Fault::DoneAndCut) => done(),
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
    for dialect in BOTH {
        for (n, each) in [(0, 1), (1, 1), (PART, 300), (PART * 3, PART), (PART * 4 + 17, 2500)] {
            let server = Server::start(dialect);
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
            let ended = ["ABORT", "DELETE"].map(str::to_owned);
            assert!(!server.asked().iter().any(|asked| ended.contains(asked)), "{dialect:?}");
        }
    }
}

#[test]
fn reads_in_any_order_are_what_is_there() {
    for dialect in BOTH {
        let (server, all) = (Server::start(dialect), bytes(1 << 20));
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
        let gets = server.asked().iter().filter(|a| *a == "GET").count();
        assert!(gets < 40, "{gets}");
    }
}

#[test]
fn what_may_pass_is_tried_again() {
    for dialect in BOTH {
        let server = Server::start(dialect);
        server.fails("HEAD", &[Fault::Status(503)]);
        server.fails("BEGIN", &[Fault::Cut, Fault::Status(500)]);
        server.fails(
            "PUT 2",
            &[Fault::Status(503), Fault::DoneAndCut, Fault::Cut, Fault::Status(429), Fault::Status(408)],
        );
        server.fails("COMPLETE", &[Fault::Status(500)]);
        let object = server.create(false).unwrap();
        write(&*object, &bytes(PART * 3), 700).unwrap();
        assert_eq!(server.store.lock().objects[KEY], bytes(PART * 3));
    }
}

#[test]
fn an_answer_that_was_lost_is_no_failure() {
    for (dialect, replace) in [(Dialect::S3, false), (Dialect::Azure, false), (Dialect::Azure, true)] {
        let server = Server::start(dialect);
        server.fails("COMPLETE", &[Fault::DoneAndCut]);
        let object = server.create(replace).unwrap();
        write(&*object, &bytes(PART * 2 + 5), 700).unwrap();
        assert_eq!(server.store.lock().objects[KEY], bytes(PART * 2 + 5));
    }
}

#[test]
fn nothing_is_left_of_what_failed() {
    for (dialect, what, faults) in [
        (Dialect::S3, "PUT 2", vec![Fault::Status(403)]),
        (Dialect::S3, "PUT 3", vec![Fault::Status(500); 6]),
        (Dialect::S3, "COMPLETE", vec![Fault::ErrorIn200]),
        (Dialect::S3, "COMPLETE", vec![Fault::Status(400)]),
        (Dialect::Azure, "PUT 2", vec![Fault::Status(403)]),
        (Dialect::Azure, "PUT 3", vec![Fault::Status(500); 6]),
        (Dialect::Azure, "COMPLETE", vec![Fault::Status(400)]),
        (Dialect::Azure, "COMPLETE", vec![Fault::DoneAndCut; 6]),
    ] {
        let server = Server::start(dialect);
        server.fails(what, &faults);
        let object = server.create(dialect == Dialect::Azure).unwrap();
        assert!(write(&*object, &bytes(PART * 3 + 1), 700).is_err(), "{what}");
        drop(object);
        assert!(server.is_empty(), "{dialect:?} {what}");
        if dialect == Dialect::S3 {
            assert_eq!(server.asked().last().unwrap(), "ABORT", "{what}");
        }
    }
}

#[test]
fn one_that_is_dropped_or_given_up_was_never_there() {
    for dialect in BOTH {
        let server = Server::start(dialect);
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
        assert_eq!(server.asked().last().unwrap(), "DELETE");
    }
}

#[test]
fn who_does_not_wait_any_longer_is_let_go() {
    for dialect in BOTH {
        let server = Server::start(dialect);
        server.fails("PUT 1", &[Fault::Status(503); 6]);
        let object = server.create(false).unwrap();
        server.cancelled.store(true, Ordering::SeqCst);
        let failed = write(&*object, &bytes(PART * 4), 700).unwrap_err();
        assert!(matches!(failed.kind(), ErrorKind::Interrupted | ErrorKind::Other), "{failed}");
        drop(object);
        assert!(server.is_empty());
    }
}

#[test]
fn one_that_is_there_is_replaced_when_that_is_wanted() {
    for dialect in BOTH {
        let server = Server::start(dialect);
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
}

#[test]
fn errors_say_what_is_wrong() {
    use Dialect::{Azure, S3};
    for (dialect, what, fault, kind, text) in [
        (S3, "HEAD", Fault::Status(403), ErrorKind::PermissionDenied, "HTTP 403"),
        (S3, "BEGIN", Fault::Status(404), ErrorKind::NotFound, "HTTP 404 AsTold: as told"),
        (S3, "BEGIN", Fault::Status(301), ErrorKind::Unsupported, "HTTP 301 AsTold: as told"),
        (S3, "BEGIN", Fault::ErrorIn200, ErrorKind::Unsupported, "What answers is no S3 storage."),
        (Azure, "HEAD", Fault::Status(403), ErrorKind::PermissionDenied, "HTTP 403"),
    ] {
        let server = Server::start(dialect);
        server.fails(what, &[fault]);
        let e = server.create(false).map(drop).unwrap_err();
        assert_eq!((e.kind(), e.to_string().as_str()), (kind, text));
    }
    for dialect in BOTH {
        let server = Server::start(dialect);
        let (storage, at) = server.storage();
        assert_eq!(storage.open(&at).map(drop).unwrap_err().kind(), ErrorKind::NotFound);
        // Whoever is not listed is asked by HTTPS, which is not what answers there.
        let storage = Storage::new(Options { first_wait: Duration::from_millis(1), ..Options::default() });
        assert!(storage.open(&at).is_err());
        let https = ObjectAddress { url: at.url.replace("http://", "https://"), ..at };
        assert!(storage.open(&https).is_err());
        assert!(server.store.lock().asked.len() == 1);
    }
}
