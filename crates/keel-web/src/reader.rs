//! The thread that reads the views, for everybody who looks.
//!
//! One thread and one session: however many pages are open and load balancers ask, the instance answers each question a few times
//! a second at most.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use keel_server::Front;
use keel_types::{SqlError, Value};
use serde_json::{Map, Value as Json};
use tokio::sync::oneshot;

use crate::history::History;
use crate::sql::Asker;
use crate::{json, metrics, views};

/// How long an answer about the state is good for others who ask.
const STATE_FRESH: Duration = Duration::from_millis(700);
/// The same for the metrics.
const METRICS_FRESH: Duration = Duration::from_secs(1);
/// The same for the roles: load balancers are to notice at once.
const ROLES_FRESH: Duration = Duration::from_millis(50);
/// Whoever asks waits no longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// This instance in one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRole {
    /// Name of the group.
    pub group: String,
    /// PRIMARY, SECONDARY or RESOLVING.
    pub role: String,
    /// A secondary that may be read and is synchronized in every database.
    pub readable: bool,
}

type Reply<T> = oneshot::Sender<Result<T, SqlError>>;

enum Question {
    State(Reply<Arc<str>>),
    History(u64, Reply<Arc<str>>),
    Metrics(Reply<Arc<str>>),
    Roles(Reply<Arc<[GroupRole]>>),
}

/// Why there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// The instance refused.
    Sql(SqlError),
    /// It did not answer in time.
    Late,
}

/// Asks the thread.
#[derive(Clone)]
pub struct Reader(Sender<Question>);

impl Reader {
    /// Starts the thread; it ends when the last handle is gone.
    pub fn start(front: &Front) -> Result<(Reader, JoinHandle<()>)> {
        let (questions, asked) = channel();
        let mine = front.clone();
        let thread = std::thread::Builder::new()
            .name("dashboard reader".into())
            .stack_size(front.session_stack())
            .spawn(move || Work::new(mine).run(&asked))
            .context("no thread for the dashboard")?;
        Ok((Reader(questions), thread))
    }

    async fn ask<T>(&self, question: impl FnOnce(Reply<T>) -> Question) -> Result<T, NoAnswer> {
        let (reply, answer) = oneshot::channel();
        self.0.send(question(reply)).map_err(|_| NoAnswer::Late)?;
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(answer)) => answer.map_err(NoAnswer::Sql),
            _ => Err(NoAnswer::Late),
        }
    }

    /// All of [`views::STATE`], as JSON.
    pub async fn state(&self) -> Result<Arc<str>, NoAnswer> {
        self.ask(Question::State).await
    }

    /// Samples newer than a time (milliseconds since 1970), as JSON.
    pub async fn history(&self, since: u64) -> Result<Arc<str>, NoAnswer> {
        self.ask(|reply| Question::History(since, reply)).await
    }

    /// The text of `/metrics`.
    pub async fn metrics(&self) -> Result<Arc<str>, NoAnswer> {
        self.ask(Question::Metrics).await
    }

    /// This instance in each of its groups.
    pub async fn roles(&self) -> Result<Arc<[GroupRole]>, NoAnswer> {
        self.ask(Question::Roles).await
    }
}

/// An answer and when it was found.
struct Kept<T: ?Sized>(Option<(Instant, Arc<T>)>);

impl<T: ?Sized> Kept<T> {
    fn get(
        &mut self,
        fresh: Duration,
        find: impl FnOnce() -> Result<Arc<T>, SqlError>,
    ) -> Result<Arc<T>, SqlError> {
        if let Some((at, value)) = &self.0
            && at.elapsed() < fresh
        {
            return Ok(Arc::clone(value));
        }
        let value = find()?;
        self.0 = Some((Instant::now(), Arc::clone(&value)));
        Ok(value)
    }
}

struct Work {
    source: Source,
    history: History,
    state: Kept<str>,
    metrics: Kept<str>,
    roles: Kept<[GroupRole]>,
}

/// The session, made anew when it is lost.
struct Source {
    front: Front,
    session: Option<Asker>,
}

impl Source {
    fn with<T>(&mut self, read: impl FnOnce(&mut Asker) -> Result<T, SqlError>) -> Result<T, SqlError> {
        let mut session = match self.session.take().filter(|s| !s.is_ended()) {
            Some(session) => session,
            None => Asker::reader(&self.front)?,
        };
        let answer = read(&mut session);
        self.session = Some(session);
        answer
    }
}

impl Work {
    fn new(front: Front) -> Work {
        Work {
            source: Source { front, session: None },
            history: History::default(),
            state: Kept(None),
            metrics: Kept(None),
            roles: Kept(None),
        }
    }

    fn run(mut self, asked: &Receiver<Question>) {
        loop {
            match asked.recv_timeout(self.history.due().saturating_duration_since(Instant::now())) {
                Ok(question) => self.answer(question),
                Err(RecvTimeoutError::Timeout) => {
                    let now = now_ms();
                    if self.source.with(|asker| self.history.sample(asker, now)).is_err() {
                        self.history.miss(now);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn answer(&mut self, question: Question) {
        let Work { source, history, state, metrics, roles } = self;
        // Whoever asked may have gone.
        match question {
            Question::State(reply) => {
                let _ = reply.send(state.get(STATE_FRESH, || source.with(read_state)));
            }
            Question::History(since, reply) => {
                let _ = reply.send(Ok(history.since(since).to_string().into()));
            }
            Question::Metrics(reply) => {
                let _ = reply.send(metrics.get(METRICS_FRESH, || Ok(source.with(metrics::read)?.into())));
            }
            Question::Roles(reply) => {
                let _ = reply.send(roles.get(ROLES_FRESH, || source.with(read_roles)));
            }
        }
    }
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn read_state(asker: &mut Asker) -> Result<Arc<str>, SqlError> {
    let mut state = Map::new();
    state.insert("now".to_owned(), Json::from(now_ms()));
    for part in views::STATE {
        state.insert(part.name.to_owned(), json::rows(&asker.ask(part.text)?));
    }
    Ok(Json::Object(state).to_string().into())
}

fn read_roles(asker: &mut Asker) -> Result<Arc<[GroupRole]>, SqlError> {
    let role = |row: Vec<Value>| match &row[..] {
        [group, role, readable] => Some(GroupRole {
            group: json::text(group),
            role: json::text(role),
            readable: matches!(readable, Value::Int(1)),
        }),
        _ => None,
    };
    Ok(asker.ask(views::ROLES)?.rows.into_iter().filter_map(role).collect())
}
