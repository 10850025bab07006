//! What the page, Prometheus and load balancers ask for.
//!
//! | path | who | answer |
//! | --- | --- | --- |
//! | `GET /api/session` | anybody | who is logged in, and whether that may look |
//! | `POST /api/login`, `POST /api/logout` | anybody; the holder of a seat | a seat and its token for changes; gone |
//! | `GET /api/state`, `GET /api/history?since=` | who may look | [`crate::views::STATE`]; samples for the plots |
//! | `POST /api/failover`, `/api/suspend`, `/api/resume` | the holder of a seat | T-SQL, run as that login |
//! | `GET /metrics` | who may look, also by HTTP Basic | [`crate::metrics`] |
//! | `GET /healthz`, `/primary`, `/replica` | anybody | 200 or 503 |

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use base64::Engine as _;
use keel_server::Front;
use keel_sql::LoginRecord;
use keel_types::SqlError;
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::access::Access;
use crate::http::{Peer, cookie, names_this_machine};
use crate::reader::{GroupRole, NoAnswer, Reader};
use crate::sql::{Asker, literal, on_own_thread, quoted};
use crate::{metrics, pages};

/// Header with the token for changes.
pub const CSRF_HEADER: &str = "x-csrf-token";
/// Sessions of logins at one time.
const SESSIONS_MAX: usize = 16;
/// What reading takes.
const READ_PERMISSION: &str = "VIEW SERVER PERFORMANCE STATE";

/// What all requests share.
pub struct App {
    /// The instance.
    pub front: Front,
    /// Its views.
    pub reader: Reader,
    /// Seats and counts.
    pub access: Access,
    /// Whoever reaches the address may look.
    pub anyone: bool,
    /// Only this machine reaches the address.
    pub loopback: bool,
    /// Name of the cookie. Cookies know no ports, and instances share hosts.
    pub cookie: String,
    /// The cookie is sent over HTTPS only.
    pub secure: bool,
    sessions: Semaphore,
}

impl App {
    /// See the fields.
    pub fn new(front: Front, reader: Reader, address: std::net::SocketAddr, tls: bool, anyone: bool) -> App {
        let prefix = if tls { "__Host-" } else { "" };
        App {
            front,
            reader,
            access: Access::default(),
            anyone,
            loopback: address.ip().is_loopback(),
            cookie: format!("{prefix}keel_{}", address.port()),
            secure: tls,
            sessions: Semaphore::new(SESSIONS_MAX),
        }
    }
}

type Shared = Arc<App>;

/// All routes.
pub fn router(app: Shared) -> Router {
    let mut router = Router::new()
        .route("/api/session", get(session))
        .route("/api/login", post(log_in))
        .route("/api/logout", post(log_out))
        .route("/api/state", get(state))
        .route("/api/history", get(history))
        .route("/api/failover", post(fail_over))
        .route("/api/suspend", post(suspend))
        .route("/api/resume", post(resume))
        .route("/metrics", get(metrics_text))
        .route("/healthz", get(healthz))
        .route("/primary", get(primary))
        .route("/primary/{group}", get(primary))
        .route("/replica", get(replica))
        .route("/replica/{group}", get(replica));
    for file in pages::FILES {
        router = router.route(file.path, file.route());
    }
    router.with_state(app)
}

/// A refusal or failure.
enum Refusal {
    /// Nobody is logged in.
    Unknown,
    /// The login or the instance said no, with the product's number.
    Sql(StatusCode, SqlError),
    /// Too many wrong passwords: seconds to wait.
    Wait(u64),
    /// The token for changes is missing or another seat's.
    Forged,
    /// The instance does not answer.
    Late,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body =
            |number: i32, message: &str| Json(json!({ "error": { "number": number, "message": message } }));
        match self {
            Refusal::Unknown => (StatusCode::UNAUTHORIZED, body(0, "Log in first.")).into_response(),
            Refusal::Sql(status, e) => (status, body(e.number, &e.message)).into_response(),
            Refusal::Wait(seconds) => {
                let text =
                    format!("Too many failed logins from this address. Try again in {seconds} seconds.");
                let headers = [(header::RETRY_AFTER, seconds.to_string())];
                (StatusCode::TOO_MANY_REQUESTS, headers, body(0, &text)).into_response()
            }
            Refusal::Forged => {
                (StatusCode::FORBIDDEN, body(0, "The request does not come from this page.")).into_response()
            }
            Refusal::Late => {
                (StatusCode::SERVICE_UNAVAILABLE, body(0, "The instance does not answer.")).into_response()
            }
        }
    }
}

impl From<NoAnswer> for Refusal {
    fn from(e: NoAnswer) -> Refusal {
        match e {
            NoAnswer::Sql(e) => Refusal::Sql(StatusCode::SERVICE_UNAVAILABLE, e),
            NoAnswer::Late => Refusal::Late,
        }
    }
}

/// Who sent a request.
struct Holder {
    login: LoginRecord,
    csrf: String,
}

impl App {
    /// Runs `work` where sessions can run.
    async fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Front) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let _permit = self.sessions.acquire().await.map_err(|_| Refusal::Late)?;
        on_own_thread(&self.front, work).await.ok_or(Refusal::Late)
    }

    async fn holder(self: &Arc<Self>, headers: &HeaderMap) -> Option<Holder> {
        let value = cookie(headers, &self.cookie)?.to_owned();
        let app = Arc::clone(self);
        let find = move |front: &Front| app.access.holder(&value, Instant::now(), |name| front.login(name));
        let (login, csrf) = self.on_thread(find).await.ok()??;
        Some(Holder { login, csrf })
    }

    /// The holder of a seat, if the request carries its token for changes.
    async fn changer(self: &Arc<Self>, headers: &HeaderMap) -> Result<Holder, Refusal> {
        let holder = self.holder(headers).await.ok_or(Refusal::Unknown)?;
        let given = headers.get(CSRF_HEADER).map_or(&[][..], HeaderValue::as_bytes);
        // Digests are compared, so the time says nothing about the token.
        let same = digest(&SHA256, given).as_ref() == digest(&SHA256, holder.csrf.as_bytes()).as_ref();
        if same { Ok(holder) } else { Err(Refusal::Forged) }
    }

    /// Checks a password, at most a few times in a row for one address.
    async fn authenticate(
        self: &Arc<Self>,
        name: String,
        password: String,
        Peer(peer): Peer,
    ) -> Result<LoginRecord, Refusal> {
        if let Some(wait) = self.access.wait(peer, Instant::now()) {
            return Err(Refusal::Wait(wait.as_secs().max(1)));
        }
        let checked = self.on_thread(move |front| front.authenticate(&name, &password, peer)).await?;
        checked.map_err(|e| {
            self.access.failed(peer, Instant::now());
            Refusal::Sql(StatusCode::UNAUTHORIZED, e)
        })
    }

    async fn may_look(&self, login: LoginRecord, Peer(peer): Peer) -> Result<(), Refusal> {
        let asked = self.on_thread(move |front| Asker::of(front, &login, peer)?.may(READ_PERMISSION)).await?;
        match asked {
            Ok(true) => Ok(()),
            Ok(false) => {
                let text =
                    format!("{READ_PERMISSION} permission was denied on object 'server', database 'master'.");
                Err(Refusal::Sql(StatusCode::FORBIDDEN, *SqlError::new(300, 14, 1, text)))
            }
            Err(e) => Err(Refusal::Sql(StatusCode::FORBIDDEN, e)),
        }
    }

    /// Whether no login is needed to look.
    fn open(&self, headers: &HeaderMap) -> bool {
        self.anyone && (!self.loopback || names_this_machine(headers))
    }

    /// Who may look passes.
    async fn admit(self: &Arc<Self>, headers: &HeaderMap, peer: Peer) -> Result<(), Refusal> {
        if self.open(headers) {
            return Ok(());
        }
        let holder = self.holder(headers).await.ok_or(Refusal::Unknown)?;
        self.may_look(holder.login, peer).await
    }

    /// Runs one statement as the holder of the seat.
    async fn change(
        self: &Arc<Self>,
        headers: &HeaderMap,
        peer: Peer,
        text: String,
    ) -> Result<Response, Refusal> {
        let Holder { login, .. } = self.changer(headers).await?;
        let line = format!("{} ({}) runs: {text}", login.name, peer.0).replace(char::is_control, " ");
        self.front.log("Dashboard", &line);
        let ran = self.on_thread(move |front| Asker::of(front, &login, peer.0)?.ask(&text)).await?;
        ran.map_err(|e| Refusal::Sql(StatusCode::CONFLICT, e))?;
        Ok(Json(json!({ "ok": true })).into_response())
    }

    fn set_cookie(&self, value: &str, seconds: u64) -> HeaderValue {
        let secure = if self.secure { "; Secure" } else { "" };
        let text =
            format!("{}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}", self.cookie);
        HeaderValue::try_from(text).expect("tokens are hexadecimal digits")
    }
}

async fn session(
    State(app): State<Shared>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Response {
    let holder = app.holder(&headers).await;
    let may_look = app.open(&headers)
        || match &holder {
            Some(holder) => app.may_look(holder.login.clone(), peer).await.is_ok(),
            None => false,
        };
    Json(json!({
        "server": app.front.server_name(),
        "login": holder.as_ref().map(|h| &h.login.name),
        "csrf": holder.as_ref().map(|h| &h.csrf),
        "may_look": may_look,
    }))
    .into_response()
}

#[derive(Deserialize)]
struct Credentials {
    name: String,
    password: String,
}

async fn log_in(
    State(app): State<Shared>,
    Extension(peer): Extension<Peer>,
    Json(given): Json<Credentials>,
) -> Result<Response, Refusal> {
    let login = app.authenticate(given.name, given.password, peer).await?;
    let ticket = app.access.seat(&login, Instant::now());
    let cookie = app.set_cookie(&ticket.cookie, crate::access::AGE_MAX.as_secs());
    let body = Json(json!({ "login": login.name, "csrf": ticket.csrf }));
    Ok(([(header::SET_COOKIE, cookie)], body).into_response())
}

async fn log_out(State(app): State<Shared>, headers: HeaderMap) -> Result<Response, Refusal> {
    app.changer(&headers).await?;
    if let Some(value) = cookie(&headers, &app.cookie) {
        app.access.leave(value);
    }
    Ok(([(header::SET_COOKIE, app.set_cookie("", 0))], Json(json!({ "ok": true }))).into_response())
}

fn json_text(text: &str) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.to_owned()).into_response()
}

async fn state(
    State(app): State<Shared>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    app.admit(&headers, peer).await?;
    Ok(json_text(&app.reader.state().await?))
}

#[derive(Deserialize)]
struct Since {
    #[serde(default)]
    since: u64,
}

async fn history(
    State(app): State<Shared>,
    Extension(peer): Extension<Peer>,
    Query(Since { since }): Query<Since>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    app.admit(&headers, peer).await?;
    Ok(json_text(&app.reader.history(since).await?))
}

#[derive(Deserialize)]
struct Failover {
    group: String,
    to: String,
}

async fn fail_over(
    State(app): State<Shared>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Json(what): Json<Failover>,
) -> Result<Response, Refusal> {
    let text =
        format!("EXEC sys.sp_keel_failover @group = {}, @to = {}", literal(&what.group), literal(&what.to));
    app.change(&headers, peer, text).await
}

#[derive(Deserialize)]
struct Database {
    database: String,
}

async fn suspend(
    State(app): State<Shared>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Json(what): Json<Database>,
) -> Result<Response, Refusal> {
    app.change(&headers, peer, format!("ALTER DATABASE {} SET HADR SUSPEND", quoted(&what.database))).await
}

async fn resume(
    State(app): State<Shared>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Json(what): Json<Database>,
) -> Result<Response, Refusal> {
    app.change(&headers, peer, format!("ALTER DATABASE {} SET HADR RESUME", quoted(&what.database))).await
}

/// Name and password of HTTP Basic.
fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, value) = given.split_once(' ')?;
    let decoded = base64::engine::general_purpose::STANDARD.decode(value.trim()).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (name, password) = decoded.split_once(':')?;
    scheme.eq_ignore_ascii_case("basic").then(|| (name.to_owned(), password.to_owned()))
}

async fn metrics_text(
    State(app): State<Shared>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let admitted = match basic(&headers) {
        Some((name, password)) => match app.authenticate(name, password, peer).await {
            Ok(login) => app.may_look(login, peer).await,
            Err(e) => Err(e),
        },
        None => app.admit(&headers, peer).await,
    };
    match admitted {
        Ok(()) => {
            let text = app.reader.metrics().await?.to_string();
            Ok(([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response())
        }
        Err(Refusal::Unknown) => {
            let ask = [(header::WWW_AUTHENTICATE, "Basic realm=\"Evenkeel\", charset=\"UTF-8\"")];
            Ok((ask, Refusal::Unknown).into_response())
        }
        Err(e) => Err(e),
    }
}

async fn healthz(State(app): State<Shared>) -> Result<Response, Refusal> {
    app.reader.roles().await?;
    Ok("ok\n".into_response())
}

/// 200 if `good` holds in the group named, or in every group there is.
async fn probe(
    app: &App,
    group: Option<Path<String>>,
    good: impl Fn(&GroupRole) -> bool,
    alone: bool,
) -> Result<Response, Refusal> {
    let roles = app.reader.roles().await?;
    let asked: Vec<&GroupRole> = match &group {
        Some(Path(name)) => roles.iter().filter(|r| r.group.eq_ignore_ascii_case(name)).collect(),
        None => roles.iter().collect(),
    };
    if asked.is_empty() {
        return Ok(match (group, alone) {
            (Some(_), _) => (StatusCode::NOT_FOUND, "no such group\n").into_response(),
            (None, true) => "STANDALONE\n".into_response(),
            (None, false) => (StatusCode::SERVICE_UNAVAILABLE, "STANDALONE\n").into_response(),
        });
    }
    let status = if asked.iter().all(|r| good(r)) { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let text: String = asked.iter().map(|r| format!("{}\n", r.role)).collect();
    Ok((status, text).into_response())
}

/// The instance takes writes: it leads, or stands alone.
async fn primary(State(app): State<Shared>, group: Option<Path<String>>) -> Result<Response, Refusal> {
    probe(&app, group, |r| r.role == "PRIMARY", true).await
}

/// A secondary that may be read and is synchronized.
async fn replica(State(app): State<Shared>, group: Option<Path<String>>) -> Result<Response, Refusal> {
    probe(&app, group, |r| r.readable, false).await
}
