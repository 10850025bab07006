//! Listeners between two servers with toy SQL sides: served, forwarded, routed, held, reset.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test: what fails should stop it")]

mod toy;

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use keel_group::ClientConnection;
use keel_server::listener::forward;
use keel_server::listener::{Outcome, Place, Source, Standing, Target};
use keel_server::password::Passwords;
use keel_server::{Config, ErrorLog, Server};
use keel_tds::client::{Client, ClientEncryption, ClientError, ConnectOptions, trust_any_certificate};
use keel_tds::login::{Login, TDS_7_3, TDS_7_4};

const GROUP: [u8; 16] = [7; 16];
const SETTLE: Duration = Duration::from_secs(60);

/// What a test says of the group.
struct Said(Mutex<Vec<Standing>>);

impl Source for Said {
    fn standings(&self) -> Vec<Standing> {
        self.0.lock().unwrap().clone()
    }

    fn tell_clients(&self, _: &[ClientConnection]) {}

    fn clients_of_others(&self) -> Vec<ClientConnection> {
        Vec::new()
    }
}

struct Node {
    server: Option<Server>,
    said: Arc<Said>,
    dir: PathBuf,
    ip: String,
    port: u16,
}

/// A port for a server to listen on.
fn free_port() -> u16 {
    keel_bench::tds::free_port().unwrap()
}

impl Node {
    /// A server on an address of its own, with a listener on `port` whose primary is nowhere yet.
    fn start(test: &str, ip: &str, port: u16, hold: u32) -> Node {
        let dir = std::env::temp_dir().join(format!("keel-listener-{test}-{ip}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let listen = format!("{ip}:0");
        let config = Config { data: dir.clone(), listen, listener_hold: hold, ..Config::default() };
        let passwords = Arc::new(Passwords::new());
        let log = Arc::new(ErrorLog::start(&dir.join("log"), false).unwrap());
        let backend = Arc::new(toy::Toy::new(&passwords));
        let mut server = Server::start(config, backend, passwords, log).unwrap();
        let said = Arc::new(Said(Mutex::new(Vec::new())));
        server.open_doors(Arc::clone(&said) as _).unwrap();
        let node = Node { server: Some(server), said, dir, ip: ip.to_owned(), port };
        node.says(Place::Nowhere);
        node
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    fn says(&self, place: Place) {
        self.says_of(place, Vec::new());
    }

    fn says_of(&self, place: Place, addresses: Vec<IpAddr>) {
        self.says_with(place, addresses, vec![]);
    }

    fn says_with(&self, place: Place, addresses: Vec<IpAddr>, members: Vec<IpAddr>) {
        let (group, dns_name) = ("ag1".to_owned(), "ag1-listener".to_owned());
        let standing = Standing {
            id: GROUP,
            group,
            dns_name,
            port: self.port,
            addresses,
            carried: vec![],
            members,
            place,
            opening: false,
            certain: true,
        };
        *self.said.0.lock().unwrap() = vec![standing];
        self.server().doors().settle(SETTLE);
    }

    fn is_at(&self) -> Target {
        Target { server: self.ip.clone(), addresses: vec![(self.ip.clone(), self.port)], route: None }
    }

    fn address(&self) -> SocketAddr {
        format!("{}:{}", self.ip, self.port).parse().unwrap()
    }

    /// Returns once somebody waits here for a primary.
    fn holds(&self) {
        while self.server().doors().held() == 0 {
            thread::yield_now();
        }
    }

    /// Returns once the log says `text`: a thread of its own writes what the listeners say.
    fn logs(&self, text: &str) {
        let deadline = Instant::now() + SETTLE;
        loop {
            let log = std::fs::read_to_string(self.dir.join("log/errorlog")).unwrap();
            if log.contains(text) {
                return;
            }
            assert!(Instant::now() < deadline, "{text:?} is not in the log:\n{log}");
            thread::yield_now();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            assert!(server.stop(), "every session ends");
        }
        std::fs::remove_dir_all(&self.dir).unwrap();
    }
}

fn connect_as(
    address: SocketAddr,
    change: impl FnOnce(&mut Login),
) -> Result<Client<TcpStream>, ClientError> {
    connect_through(TcpStream::connect(address).unwrap(), change)
}

fn connect_through(io: TcpStream, change: impl FnOnce(&mut Login)) -> Result<Client<TcpStream>, ClientError> {
    io.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let mut options = ConnectOptions {
        login: Login {
            tds_version: TDS_7_4,
            packet_size: 4096,
            user_name: "sa".into(),
            password: toy::PASSWORD.into(),
            ..Login::default()
        },
        encryption: ClientEncryption::On,
        tls: Some(trust_any_certificate().unwrap()),
        host: "localhost".into(),
    };
    change(&mut options.login);
    Client::connect(io, &options)
}

fn connect(address: SocketAddr) -> Client<TcpStream> {
    connect_as(address, |_| {}).unwrap()
}

fn connecting(address: SocketAddr) -> JoinHandle<Client<TcpStream>> {
    thread::spawn(move || connect(address))
}

fn asks(client: &mut Client<TcpStream>) {
    client.batch("ROWS 2000").unwrap();
    while client.next_token().unwrap().is_some() {}
}

fn is_closed(mut client: Client<TcpStream>) -> bool {
    if client.batch("SELECT 1").is_err() {
        return true;
    }
    loop {
        match client.next_token() {
            Err(_) => return true,
            Ok(None) => return false,
            Ok(Some(_)) => {}
        }
    }
}

/// Needs root. A login that is forwarded from an address which leaves this machine would be lost half way.
#[test]
fn who_came_by_an_address_that_moves_on_is_not_forwarded_from_there() {
    // Of this run alone: another one beside it would take it away.
    let [.., high, low] = std::process::id().to_be_bytes();
    let moves = format!("127.77.{high}.{}", low.clamp(1, 254));
    let address = format!("{moves}/32");
    // As the instance takes one: for a time.
    let take = ["address", "replace", &address, "dev", "lo", "valid_lft", "600", "preferred_lft", "600"];
    if !Command::new("ip").args(take).output().is_ok_and(|done| done.status.success()) {
        return;
    }
    let port = free_port();
    let old = Node::start("moves-old", &moves, port, 60);
    let new = Node::start("moves-new", "127.0.0.1", port, 60);
    new.says(Place::Here);
    let at = old.address();
    let waiting = thread::spawn(move || connect_as(at, |_| {}).is_err());
    old.holds();
    old.says(Place::There(new.is_at()));
    assert!(waiting.join().unwrap(), "it is to come again, and there");
    Command::new("ip").args(["address", "delete", &address, "dev", "lo"]).output().unwrap();
}

#[test]
fn a_connection_waits_for_a_primary_and_is_reset_with_it() {
    let node = Node::start("held", "127.0.0.1", free_port(), 60);
    let waiting = connecting(node.address());
    node.holds();
    node.says(Place::Here);
    let mut client = waiting.join().unwrap();
    asks(&mut client);
    // Also a connection that uses nothing of the group.
    node.says(Place::Nowhere);
    assert!(is_closed(client));
    node.logs(
        "Connections to the listener 'ag1-listener' of availability group 'ag1' wait for a primary; 1 ",
    );
}

#[test]
fn a_secondary_forwards_and_follows_the_primary() {
    let port = free_port();
    let [one, two, three] =
        ["127.0.0.1", "127.0.0.2", "127.0.0.3"].map(|ip| Node::start("forward", ip, port, 60));
    two.says(Place::Here);
    one.says(Place::There(two.is_at()));
    let mut client = connect(one.address());
    asks(&mut client);
    assert_eq!((one.server().connections(), two.server().connections()), (1, 1));
    // Losing sight of the primary does not end what works.
    one.says(Place::Nowhere);
    asks(&mut client);
    one.says(Place::There(two.is_at()));
    asks(&mut client);

    // The primary moves: who is on the way to the old one is reset, whatever the old one knows.
    three.says(Place::Here);
    one.says(Place::There(three.is_at()));
    assert!(is_closed(client));
    let mut client = connect(one.address());
    asks(&mut client);
    assert_eq!(three.server().connections(), 1);

    // And to this node itself.
    one.says(Place::Here);
    assert!(is_closed(client));
}

/// A text as it is shown among the bytes of an answer.
fn wide(text: &str) -> String {
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    format!("{bytes:?}")
}

/// What the server takes for the client's address.
fn seen_from(client: &mut Client<TcpStream>) -> String {
    client.batch("CLIENT").unwrap();
    let mut seen = String::new();
    while let Some(token) = client.next_token().unwrap() {
        seen.push_str(&format!("{token:?}"));
    }
    seen
}

#[test]
fn a_forwarded_client_is_known_by_its_own_address_if_a_member_says_so() {
    let port = free_port();
    let client: IpAddr = "203.0.113.7".parse().unwrap();
    let primary = Node::start("address", "127.0.0.2", port, 60);
    let forwarded = || {
        let mut io = TcpStream::connect(primary.address()).unwrap();
        io.write_all(&forward::preamble(GROUP, client)).unwrap();
        seen_from(&mut connect_through(io, |_| {}).unwrap())
    };
    primary.says_with(Place::Here, vec![], vec!["127.0.0.1".parse().unwrap()]);
    let seen = forwarded();
    assert!(seen.contains(&wide("203.0.113.7")), "{seen}");
    primary.says_with(Place::Here, vec![], vec!["192.0.2.1".parse().unwrap()]);
    let seen = forwarded();
    assert!(seen.contains(&wide("127.0.0.1")), "{seen}");

    // What a node says of the client whom it forwards.
    let fake = TcpListener::bind("127.0.0.3:0").unwrap();
    let there = vec![("127.0.0.3".to_owned(), fake.local_addr().unwrap().port())];
    let secondary = Node::start("address", "127.0.0.1", port, 60);
    secondary.says(Place::There(Target { server: "fake".into(), addresses: there, route: None }));
    let mut io = TcpStream::connect(secondary.address()).unwrap();
    io.write_all(b"hello").unwrap();
    let mut said = [0; forward::PREAMBLE_BYTES];
    fake.accept().unwrap().0.read_exact(&mut said).unwrap();
    assert_eq!(said, forward::preamble(GROUP, io.local_addr().unwrap().ip()));
}

#[test]
fn two_nodes_that_take_each_other_for_the_primary_do_not_go_in_circles() {
    let port = free_port();
    let [one, two] = ["127.0.0.1", "127.0.0.2"].map(|ip| Node::start("circle", ip, port, 60));
    one.says(Place::There(two.is_at()));
    two.says(Place::There(one.is_at()));
    let waiting = connecting(one.address());
    two.holds();
    assert_eq!((one.server().connections(), two.server().connections()), (1, 1));
    // What the client has said is still with the first node: it can serve it itself.
    one.says(Place::Here);
    asks(&mut waiting.join().unwrap());
}

#[test]
fn a_primary_that_cannot_be_reached_is_waited_for() {
    let port = free_port();
    let [one, two] = ["127.0.0.1", "127.0.0.2"].map(|ip| Node::start("unreachable", ip, port, 60));
    let nobody = Target { server: "gone".into(), addresses: vec![("127.0.0.4".into(), port)], route: None };
    one.says(Place::There(nobody));
    let waiting = connecting(one.address());
    one.holds();
    two.says(Place::Here);
    one.says(Place::There(two.is_at()));
    asks(&mut waiting.join().unwrap());
}

#[test]
fn a_primary_with_an_address_for_clients_is_routed_to() {
    let node = Node::start("routed", "127.0.0.1", free_port(), 60);
    let route = Some(("primary.example".to_owned(), 1444));
    node.says(Place::There(Target { route, ..node.is_at() }));
    // Neither login nor password is looked at.
    match connect_as(node.address(), |l| l.user_name = "unknown here".into()) {
        Err(ClientError::Routed { host, port }) => {
            assert_eq!((host.as_str(), port), ("primary.example", 1444))
        }
        other => panic!("{:?}", other.err()),
    }
    match connect_as(node.address(), |l| l.tds_version = TDS_7_3) {
        Err(ClientError::Login(messages)) => assert_eq!(messages[0].number, 50_602),
        other => panic!("{:?}", other.err()),
    }
    // On the instance's own port, who calls the listener by name.
    let own = node.server().addresses()[0];
    match connect_as(own, |l| l.server_name = "AG1-Listener.example.org".into()) {
        Err(ClientError::Routed { host, port }) => {
            assert_eq!((host.as_str(), port), ("primary.example", 1444))
        }
        other => panic!("{:?}", other.err()),
    }
    asks(&mut connect_as(own, |l| l.server_name = "node1".into()).unwrap());
}

#[test]
fn after_the_hold_the_login_has_the_last_word() {
    let node = Node::start("limit", "127.0.0.1", free_port(), 0);
    asks(&mut connect(node.address()));
}

#[test]
fn addresses_are_bound_shown_and_tried_again() {
    let port = free_port();
    let node = Node::start("addresses", "127.0.0.1", port, 60);
    let taken = TcpListener::bind(("127.0.0.5", port)).unwrap();
    let ips = ["127.0.0.5", "192.0.2.1"].map(|ip| ip.parse().unwrap());
    node.says_of(Place::Here, ips.to_vec());
    let outcome = |node: &Node, ip: &str| {
        let sockets = node.server().doors().sockets(GROUP);
        sockets.into_iter().find(|s| s.address.ip().to_string() == ip).unwrap().outcome
    };
    assert!(matches!(outcome(&node, "127.0.0.1"), Outcome::Listening(_)));
    assert!(matches!(outcome(&node, "127.0.0.5"), Outcome::Failed { in_use: true, .. }));
    assert_eq!(outcome(&node, "192.0.2.1"), Outcome::Elsewhere);
    node.logs(&format!("cannot listen on 127.0.0.5:{port}: "));
    drop(taken);
    node.server().doors().restart(GROUP, SETTLE);
    assert!(matches!(outcome(&node, "127.0.0.5"), Outcome::Listening(_)));
    asks(&mut connect(format!("127.0.0.5:{port}").parse().unwrap()));
    // Without a listener the port is free again.
    node.said.0.lock().unwrap().clear();
    node.server().doors().settle(SETTLE);
    TcpListener::bind(("127.0.0.5", port)).unwrap();
}
