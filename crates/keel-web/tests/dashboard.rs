//! The dashboard over HTTP, in front of a real instance.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::OnceLock;

use keel_server::instance::Instance;
use keel_server::{Config, Front};
use keel_sql::SessionOptions;
use keel_sql::sink::{ColumnMeta, DoneInfo, EnvChange, ResultSink, SinkClosed};
use keel_types::{SqlError, SqlType, Value};
use keel_web::Dashboard;

const PASSWORD: &str = "Keel-Test-1";
/// A name that would be markup, a label's end, a line and a string's end wherever it is not taken as a name.
const HOSTILE: &str = "<script>alert(1)</script>\"'} 1\n]x";

/// One instance for all tests, and the dashboard that most of them ask.
struct World {
    instance: Instance,
    dashboard: Dashboard,
    dir: PathBuf,
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let dir = directory();
        let config = Config {
            data: dir.clone(),
            listen: "127.0.0.1:0".into(),
            server_name: "WEB".into(),
            max_server_memory: 192,
            log_to_stderr: false,
            ..Config::default()
        };
        let instance = Instance::start(config, None).unwrap();
        let front = instance.front();
        run(&front, &format!("ALTER LOGIN sa WITH PASSWORD = N'{PASSWORD}'"));
        run(&front, &format!("CREATE LOGIN looker WITH PASSWORD = N'{PASSWORD}'"));
        run(&front, "GRANT VIEW SERVER STATE TO looker");
        run(&front, &format!("CREATE LOGIN nobody WITH PASSWORD = N'{PASSWORD}'"));
        run(&front, &format!("CREATE DATABASE [{}]", HOSTILE.replace(']', "]]")));
        let dashboard = dashboard(&front, Config::default());
        World { instance, dashboard, dir }
    })
}

/// A new directory. Those of runs that have ended go: nothing runs at the end of a test's process that could do it.
fn directory() -> PathBuf {
    let all = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dashboard");
    let mine = all.join(std::process::id().to_string());
    std::fs::create_dir_all(&mine).unwrap();
    for entry in std::fs::read_dir(&all).unwrap().flatten() {
        if entry.path() != mine && !PathBuf::from("/proc").join(entry.file_name()).exists() {
            // Another run may be doing the same.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    mine
}

fn dashboard(front: &Front, config: Config) -> Dashboard {
    Dashboard::start(front, &Config { dashboard: "127.0.0.1:0".into(), ..config }).unwrap().unwrap()
}

/// Runs a batch as sa; it must succeed.
fn run(front: &Front, text: &str) {
    struct Sink;
    impl ResultSink for Sink {
        fn columns(&mut self, _: &[ColumnMeta]) {}
        fn row(&mut self, _: &[Value]) -> Result<(), SinkClosed> {
            Ok(())
        }
        fn done(&mut self, _: DoneInfo) {}
        fn message(&mut self, message: &SqlError) {
            assert!(message.severity < 11, "{message}");
        }
        fn return_status(&mut self, _: i32) {}
        fn output(&mut self, _: usize, _: &str, _: &SqlType, _: &Value) {}
        fn env_change(&mut self, _: EnvChange) {}
    }
    let (front, text) = (front.clone(), text.to_owned());
    let session = std::thread::Builder::new().stack_size(front.session_stack()).spawn(move || {
        let options = SessionOptions { login: "sa".into(), sysadmin: true, ..SessionOptions::default() };
        front.session(options).unwrap().execute_batch(&text, &mut Sink);
    });
    session.unwrap().join().unwrap();
}

/// An answer, its head as text.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|l| l.split_once(": "));
        lines.find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v)
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }
}

/// A client without a library: what is sent is what stands here.
struct Client {
    address: SocketAddr,
    host: String,
    cookie: String,
    csrf: String,
    authorization: String,
}

impl Client {
    fn of(dashboard: &Dashboard) -> Client {
        let url = dashboard.url();
        let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let none = String::new;
        Client { address: host.parse().unwrap(), host, cookie: none(), csrf: none(), authorization: none() }
    }

    fn new() -> Client {
        Client::of(&world().dashboard)
    }

    /// One that is logged in.
    fn who(name: &str) -> Client {
        let mut client = Client::new();
        let answer = client.log_in(name, PASSWORD);
        assert_eq!(answer.status, 200, "{}", answer.body);
        client
    }

    fn log_in(&mut self, name: &str, password: &str) -> Answer {
        let answer = self.post("/api/login", &serde_json::json!({"name": name, "password": password}));
        if let Some(cookie) = answer.header("set-cookie") {
            self.cookie = cookie.split(';').next().unwrap().to_owned();
            self.csrf = answer.json()["csrf"].as_str().unwrap().to_owned();
        }
        answer
    }

    fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path} HTTP/1.1\r\n"), "")
    }

    fn post(&self, path: &str, body: &serde_json::Value) -> Answer {
        let body = body.to_string();
        let more = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        self.send(&format!("POST {path} HTTP/1.1\r\n{more}"), &body)
    }

    fn send(&self, head: &str, body: &str) -> Answer {
        let mut socket = TcpStream::connect(self.address).unwrap();
        let mut text = format!("{head}Host: {}\r\nConnection: close\r\n", self.host);
        for (name, value) in
            [("Cookie", &self.cookie), ("X-CSRF-Token", &self.csrf), ("Authorization", &self.authorization)]
        {
            if !value.is_empty() {
                text.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        socket.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
        let mut said = String::new();
        socket.read_to_string(&mut said).unwrap();
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }
}

#[test]
fn every_file_of_the_page_is_served_with_a_strict_policy() {
    for file in keel_web::pages::FILES {
        let answer = Client::new().get(file.path);
        assert_eq!(answer.status, 200, "{}", file.path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
    }
    let page = Client::new().get("/").body;
    assert!(
        !page.contains("style=") && !page.contains("onclick") && !page.contains("http"),
        "nothing inline, nothing from outside"
    );
    assert_eq!(Client::new().get("/nothing").status, 404);
}

#[test]
fn looking_takes_a_login_with_view_server_state() {
    let stranger = Client::new();
    for path in ["/api/state", "/api/history", "/metrics"] {
        assert_eq!(stranger.get(path).status, 401, "{path}");
    }
    assert!(stranger.get("/metrics").header("www-authenticate").unwrap().starts_with("Basic"));
    let nobody = Client::who("nobody");
    let refused = nobody.get("/api/state");
    assert_eq!((refused.status, refused.json()["error"]["number"].as_i64()), (403, Some(300)));
    assert_eq!(nobody.get("/api/session").json()["may_look"], false);
    let looker = Client::who("looker");
    let said = looker.get("/api/session").json();
    assert_eq!(
        (&said["login"], &said["may_look"], &said["server"]),
        (&"looker".into(), &true.into(), &"WEB".into())
    );
    assert_eq!(looker.get("/api/state").status, 200);
    assert_eq!(looker.get("/metrics").status, 200);
}

#[test]
fn the_state_has_every_part_and_hostile_names_are_data() {
    let answer = Client::who("looker").get("/api/state");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let state = answer.json();
    for part in keel_web::views::STATE {
        assert!(state[part.name].is_array(), "{}", part.name);
    }
    assert_eq!(state["server"][0]["name"], "WEB");
    let names: Vec<&str> =
        state["databases"].as_array().unwrap().iter().map(|d| d["name"].as_str().unwrap()).collect();
    assert!(names.contains(&HOSTILE), "{names:?}");
    assert!(state["sessions"].is_array());
}

#[test]
fn the_cookie_is_out_of_reach_of_scripts_and_other_sites() {
    let mut client = Client::new();
    let answer = client.log_in("looker", PASSWORD);
    let cookie = answer.header("set-cookie").unwrap();
    for wanted in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(wanted), "{cookie}");
    }
    assert!(cookie.starts_with(&format!("keel_{}=", client.address.port())), "{cookie}");
}

#[test]
fn changes_take_a_login_and_its_token() {
    let body = serde_json::json!({"database": "master"});
    let change = |client: &Client| client.post("/api/suspend", &body).status;
    assert_eq!(change(&Client::new()), 401);
    let mut client = Client::who("sa");
    let token = std::mem::take(&mut client.csrf);
    assert_eq!(change(&client), 403, "no token");
    client.csrf = Client::who("sa").csrf;
    assert_eq!(change(&client), 403, "another seat's token");
    client.csrf = token;
    let refused = client.post("/api/suspend", &body);
    assert_eq!(refused.status, 409, "the instance decides: {}", refused.body);
    assert_ne!(refused.json()["error"]["number"], 0);
    let text = client.send(
        "POST /api/suspend HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 21\r\n",
        "{\"database\":\"master\"}",
    );
    assert_eq!(text.status, 415, "a form of another site cannot send JSON");
    assert_eq!(client.get("/api/suspend").status, 405);
}

#[test]
fn a_button_is_the_login_that_presses_it() {
    let front = world().instance.front();
    run(&front, "CREATE DATABASE pressed");
    let body = serde_json::json!({"group": "none", "to": "it's ] me"});
    let refused = Client::who("looker").post("/api/failover", &body);
    assert_eq!(refused.status, 409);
    let said = |answer: Answer| answer.json()["error"]["message"].as_str().unwrap().to_owned();
    let (refused, as_sa) = (said(refused), said(Client::who("sa").post("/api/failover", &body)));
    assert_ne!(
        refused, as_sa,
        "one is refused for its permissions, the other because there is no such group"
    );
    let log = std::fs::read_to_string(world().dir.join("log/errorlog")).unwrap();
    assert!(log.contains(
        "looker (127.0.0.1) runs: EXEC sys.sp_keel_failover @group = N'none', @to = N'it''s ] me'"
    ));
}

#[test]
fn logging_out_ends_the_seat() {
    let client = Client::who("looker");
    assert_eq!(client.post("/api/logout", &serde_json::json!({})).status, 200);
    assert_eq!(client.get("/api/state").status, 401);
}

#[test]
fn a_changed_password_ends_the_seat() {
    let front = world().instance.front();
    run(&front, &format!("CREATE LOGIN leaver WITH PASSWORD = N'{PASSWORD}'"));
    run(&front, "GRANT VIEW SERVER STATE TO leaver");
    let client = Client::who("leaver");
    assert_eq!(client.get("/api/state").status, 200);
    run(&front, "ALTER LOGIN leaver WITH PASSWORD = N'Another-Test-2'");
    assert_eq!(client.get("/api/state").status, 401);
}

#[test]
fn whoever_guesses_waits() {
    // Its own dashboard, so that the others' address is not counted.
    let own = dashboard(&world().instance.front(), Config::default());
    let mut client = Client::of(&own);
    for _ in 0..keel_web::access::FAILURES_MAX {
        let refused = client.log_in("sa", "wrong");
        assert_eq!((refused.status, refused.json()["error"]["number"].as_i64()), (401, Some(18456)));
    }
    let waits = client.log_in("sa", PASSWORD);
    assert_eq!(waits.status, 429);
    assert!(waits.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
    own.stop();
}

#[test]
fn a_name_is_one_line_in_the_error_log() {
    let own = dashboard(&world().instance.front(), Config::default());
    assert_eq!(Client::of(&own).log_in("x\n2026 Server forged", "wrong").status, 401);
    let log = std::fs::read_to_string(world().dir.join("log/errorlog")).unwrap();
    assert!(log.contains("Login failed for user 'x 2026 Server forged'."), "{log}");
    own.stop();
}

#[test]
fn open_to_anyone_is_open_to_no_other_name() {
    let own = dashboard(&world().instance.front(), Config { dashboard_anyone: true, ..Config::default() });
    let mut client = Client::of(&own);
    assert_eq!(client.get("/api/state").status, 200);
    assert_eq!(client.get("/metrics").status, 200);
    assert_eq!(client.post("/api/resume", &serde_json::json!({"database": "master"})).status, 401);
    client.host = "rebound.example".into();
    assert_eq!(client.get("/api/state").status, 401);
    own.stop();
}

#[test]
fn metrics_are_what_prometheus_reads() {
    let mut client = Client::new();
    // looker:Keel-Test-1
    client.authorization = "Basic bG9va2VyOktlZWwtVGVzdC0x".into();
    let answer = client.get("/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let lines = answer.body.lines().map(|l| Ok(l.to_owned()));
    let read = prometheus_parse::Scrape::parse(lines).unwrap();
    let find = |name: &str, label: Option<(&str, &str)>| {
        let found = read
            .samples
            .iter()
            .find(|s| s.metric == name && label.is_none_or(|(l, v)| s.labels.get(l).is_some_and(|x| x == v)));
        match found.map(|s| &s.value) {
            Some(prometheus_parse::Value::Counter(n) | prometheus_parse::Value::Gauge(n)) => *n,
            other => panic!("{name}: {other:?}\n{}", answer.body),
        }
    };
    assert!(find("keel_batch_requests_total", None) > 0.0);
    assert!(find("keel_memory_limit_bytes", None) >= 192.0 * 1024.0 * 1024.0);
    assert_eq!(find("keel_info", Some(("server", "WEB"))), 1.0);
    assert_eq!(find("keel_database_online", Some(("database", "master"))), 1.0);
    find("keel_transactions_total", Some(("database", "master")));
    let documented = keel_web::metrics::documentation();
    for sample in &read.samples {
        assert!(documented.contains(&format!("`{}`", sample.metric)), "{}", sample.metric);
    }
    assert!(!answer.body.lines().any(|l| l.starts_with("]x")), "a name stays in its label");
    client.authorization = "Basic bG9va2VyOndyb25n".into();
    assert_eq!(client.get("/metrics").status, 401);
}

#[test]
fn health_and_role_need_no_login() {
    let stranger = Client::new();
    let said = |path: &str| {
        let answer = stranger.get(path);
        (answer.status, answer.body)
    };
    assert_eq!(said("/healthz"), (200, "ok\n".into()));
    assert_eq!(said("/primary"), (200, "STANDALONE\n".into()));
    assert_eq!(said("/replica").0, 503);
    assert_eq!(said("/primary/ag1").0, 404);
}

#[test]
fn https_where_it_is_asked_for() {
    let own = dashboard(&world().instance.front(), Config { dashboard_tls: true, ..Config::default() });
    assert!(own.url().starts_with("https://127.0.0.1:"));
    let mut socket = TcpStream::connect(own.url()[8..].trim_end_matches('/')).unwrap();
    // In plain text nothing is to be had.
    socket.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut said = Vec::new();
    // The end of the connection may come as an error.
    let _ = socket.read_to_end(&mut said);
    assert!(!said.starts_with(b"HTTP/"), "{}", String::from_utf8_lossy(&said));
    own.stop();
}

/// `UPDATE_GOLDEN=1 cargo test -p keel-web` writes the table.
#[test]
fn the_documentation_lists_every_metric() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/monitoring.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("<!-- metrics -->\n").unwrap();
    let (table, after) = rest.split_once("<!-- /metrics -->").unwrap();
    let wanted = keel_web::metrics::documentation();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let made = format!("{before}<!-- metrics -->\n{wanted}<!-- /metrics -->{after}");
        std::fs::write(&path, made).unwrap();
    } else {
        assert!(
            table == wanted,
            "docs/monitoring.md is not what the code says: UPDATE_GOLDEN=1 cargo test -p keel-web"
        );
    }
}
