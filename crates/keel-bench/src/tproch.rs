//! Load, run and check TPROC-H in one database, and in several at once.

use crate::progress::Progress;
use crate::target::Server;
use anyhow::{Result, anyhow, ensure};
use keel_workload::tproch::load::{Tally, load};
use keel_workload::tproch::metrics::{self, Power};
use keel_workload::tproch::queries::Stream;
use keel_workload::tproch::refresh::{PAIRS_MAX, Pair};
use keel_workload::tproch::{Scale, answers, check, load as population, rows};
use keel_workload::{CallError, Cell, Connection};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Data size.
    pub scale: Scale,
    /// Of all random choices.
    pub seed: u64,
    /// Streams of the throughput test in each database.
    pub streams: u32,
    /// Connections that load.
    pub loaders: usize,
}

/// One database with its rows.
pub struct Place {
    server: Box<dyn Server + Send>,
    /// Where streams read, when it is not where refreshes write.
    copy: Option<Box<dyn Server + Send>>,
    settings: Settings,
    state: Mutex<State>,
}

/// What changes while tests run.
struct State {
    /// What the tables must add up to.
    expected: Tally,
    /// Pairs of refreshes done so far.
    pairs: i64,
}

/// What loading took.
#[derive(Clone, Copy, Debug)]
pub struct Loaded {
    /// Rows of all tables.
    pub rows: i64,
    /// Seconds for the rows.
    pub seconds: f64,
    /// Seconds for indexes, foreign keys and statistics.
    pub index_seconds: f64,
}

/// What one stream was told.
#[derive(Clone, Debug)]
pub struct Told {
    /// Seconds of each query, by number from 0.
    pub seconds: [f64; 22],
    /// Queries that were run again because they were victims.
    pub retries: u64,
}

/// What the throughput test gave in one database.
#[derive(Clone, Debug)]
pub struct Throughput {
    /// From the start of the first stream to the end of the last, refreshes included.
    pub seconds: f64,
    /// Each stream.
    pub streams: Vec<Told>,
    /// Transactions of refreshes that were run again because they were victims.
    pub retries: u64,
}

/// Both tests in one database.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The power test.
    pub power: Power,
    /// The throughput test.
    pub throughput: Throughput,
}

impl Outcome {
    /// Power, throughput and their composite, queries an hour × scale factor.
    #[must_use]
    pub fn at_size(&self, factor: f64) -> [f64; 3] {
        let power = self.power.at_size(factor);
        let streams = self.throughput.streams.len() as u32;
        let throughput = metrics::throughput_at_size(streams, self.throughput.seconds, factor);
        [power, throughput, metrics::composite(power, throughput)]
    }
}

/// What queries with the parameters of the power test answer on rows that nobody has refreshed, by number from 0.
pub type Answers = Vec<Vec<Vec<Cell>>>;

impl Place {
    /// Makes the tables and loads them.
    ///
    /// # Errors
    /// What the server says.
    pub fn build(
        server: Box<dyn Server + Send>,
        settings: Settings,
        progress: &Progress,
    ) -> Result<(Place, Loaded)> {
        let mut first = server.connect()?;
        population::create(&mut *first)?;
        let began = Instant::now();
        let expected = fill(&*server, settings, progress)?;
        let seconds = began.elapsed().as_secs_f64();
        let began = Instant::now();
        population::finish(&mut *first, |sql| {
            let what = sql.split_whitespace().take(6).collect::<Vec<_>>().join(" ");
            progress.say(&format!("{}: {what}", server.name()));
        })?;
        let index_seconds = began.elapsed().as_secs_f64();
        // Rows are read from data files, as they are sooner or later on every server, not from what was just loaded into memory.
        first.execute("CHECKPOINT")?;
        let loaded = Loaded { rows: expected.rows(), seconds, index_seconds };
        let state = Mutex::new(State { expected, pairs: 0 });
        Ok((Place { server, copy: None, settings, state }, loaded))
    }

    /// Takes the rows that an earlier run left.
    ///
    /// # Errors
    /// What the server says; rows of another scale.
    pub fn found(server: Box<dyn Server + Send>, settings: Settings) -> Result<Place> {
        let mut connection = server.connect()?;
        let expected = check::found(&mut *connection)?;
        let (there, asked) = (expected.0[2].rows, settings.scale.suppliers());
        ensure!(there == asked, "the database has {there} suppliers; a run at this scale has {asked}");
        let mut pairs = 0;
        while pairs < PAIRS_MAX && is_refreshed(&mut *connection, settings, pairs)? {
            pairs += 1;
        }
        Ok(Place { server, copy: None, settings, state: Mutex::new(State { expected, pairs }) })
    }

    /// Has streams read a copy from now on; refreshes still go to where the rows were loaded.
    #[must_use]
    pub fn reading(self, copy: Box<dyn Server + Send>) -> Place {
        Place { copy: Some(copy), ..self }
    }

    /// Where streams read.
    fn read(&self) -> &dyn Server {
        &**self.copy.as_ref().unwrap_or(&self.server)
    }

    /// Runs the queries of the power test on as many connections as there are streams, each beginning with another one, and
    /// compares what they are told with `answers`, or fills those.
    ///
    /// # Errors
    /// What the server says.
    pub fn agree(&self, answers: &mut Answers) -> Result<Vec<String>> {
        let told = std::thread::scope(|scope| -> Result<Vec<Answers>> {
            let streams: Vec<_> = (0..self.settings.streams.clamp(1, 2))
                .map(|number| scope.spawn(move || answers_of(self.read(), self.settings, number)))
                .collect();
            streams.into_iter().map(|s| s.join().map_err(|_| anyhow!("a stream panicked"))?).collect()
        })?;
        let who = self.read().name();
        let mut told = told.into_iter();
        if answers.is_empty() {
            *answers = told.next().unwrap_or_default();
        }
        Ok(told.flat_map(|one| differences(answers, &one, &who)).collect())
    }

    /// The power test: a refresh that inserts, one stream, a refresh that deletes.
    ///
    /// # Errors
    /// What the server says.
    pub fn power(&self, progress: &Progress) -> Result<Power> {
        let mut connection = self.server.connect()?;
        let stream = Stream::new(0, self.settings.scale, self.settings.seed, connection.dialect());
        let pair = self.next_pair();
        let began = Instant::now();
        let inserted = pair.insert(&mut *connection)?;
        let insert = began.elapsed().as_secs_f64();
        let told = run(&mut *connection, &stream, |nth, query| {
            progress.share(&format!("{}: power test, query {query}", self.server.name()), nth, 22);
        })?;
        let began = Instant::now();
        let deleted = pair.delete(&mut *connection)?;
        let delete = began.elapsed().as_secs_f64();
        self.refreshed([inserted.tally, deleted.tally]);
        Ok(Power { queries: told.seconds, refreshes: [insert, delete] })
    }

    /// The throughput test: all streams at once, and beside them as many pairs of refreshes.
    ///
    /// # Errors
    /// What the server says.
    pub fn throughput(&self, progress: &Progress) -> Result<Throughput> {
        let settings = self.settings;
        let (began, asked) = (Instant::now(), AtomicU64::new(0));
        let all = u64::from(settings.streams) * 22;
        let (streams, retries) = std::thread::scope(|scope| -> Result<(Vec<Told>, u64)> {
            let streams: Vec<_> = (1..=u64::from(settings.streams))
                .map(|number| {
                    let (server, asked) = (self.read(), &asked);
                    scope.spawn(move || -> Result<Told> {
                        let mut connection = server.connect()?;
                        let stream = Stream::new(number, settings.scale, settings.seed, connection.dialect());
                        run(&mut *connection, &stream, |_, _| {
                            let nth = asked.fetch_add(1, Ordering::Relaxed);
                            progress.share(&format!("{}: throughput test", server.name()), nth, all);
                        })
                    })
                })
                .collect();
            let refreshes = scope.spawn(|| self.refresh(settings.streams));
            let streams = streams.into_iter().map(|s| s.join().map_err(|_| anyhow!("a stream panicked"))?);
            let streams = streams.collect::<Result<Vec<Told>>>();
            let retries = refreshes.join().map_err(|_| anyhow!("the refreshes panicked"))?;
            Ok((streams?, retries?))
        })?;
        Ok(Throughput { seconds: began.elapsed().as_secs_f64(), streams, retries })
    }

    /// So many pairs of refreshes, one after another. Says how many transactions were run again.
    ///
    /// # Errors
    /// What the server says.
    pub fn refresh(&self, pairs: u32) -> Result<u64> {
        let mut connection = self.server.connect()?;
        let mut retries = 0;
        for _ in 0..pairs {
            let pair = self.next_pair();
            let (inserted, deleted) = (pair.insert(&mut *connection)?, pair.delete(&mut *connection)?);
            retries += inserted.retries + deleted.retries;
            self.refreshed([inserted.tally, deleted.tally]);
        }
        Ok(retries)
    }

    /// What is not there of what was loaded and refreshed, what is there beside it, and rows that do not belong together.
    ///
    /// # Errors
    /// What the server says.
    pub fn check(&self) -> Result<Vec<String>> {
        let mut connection = self.server.connect()?;
        let expected = self.state.lock().unwrap_or_else(PoisonError::into_inner).expected;
        let mut violations = check::tally(&mut *connection, &expected)?;
        violations.extend(check::conditions(&mut *connection)?);
        Ok(violations)
    }

    fn next_pair(&self) -> Pair {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.pairs += 1;
        Pair { scale: self.settings.scale, seed: self.settings.seed, number: state.pairs - 1 }
    }

    fn refreshed(&self, tallies: [Tally; 2]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for tally in tallies {
            tally.0.into_iter().enumerate().for_each(|(table, sum)| state.expected.add(table, sum));
        }
    }
}

/// Whether the first order that a pair inserts is there.
fn is_refreshed(connection: &mut dyn Connection, settings: Settings, pair: i64) -> Result<bool> {
    let number = pair * settings.scale.refreshed() + 1;
    let key = rows::order_key(number, 1);
    Ok(!connection.query(&format!("SELECT o_orderkey FROM orders WHERE o_orderkey = {key}"))?.is_empty())
}

/// Loads all rows; says what they add up to.
fn fill(server: &dyn Server, settings: Settings, progress: &Progress) -> Result<Tally> {
    let parts = population::parts(settings.scale);
    let all = parts.len() as u64;
    let what = format!("{}: loading", server.name());
    progress.share(&what, 0, all);
    let (queue, done) = (Mutex::new(parts.into_iter()), AtomicU64::new(0));
    let tally = Mutex::new(Tally::default());
    std::thread::scope(|scope| -> Result<()> {
        let loader = || -> Result<()> {
            let mut connection = server.connect()?;
            loop {
                let part = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(part) = part else { return Ok(()) };
                let sum = load(&mut *connection, &part, settings.scale, settings.seed)?;
                tally.lock().unwrap_or_else(PoisonError::into_inner).add(part.table, sum);
                progress.share(&what, done.fetch_add(1, Ordering::Relaxed) + 1, all);
            }
        };
        let loaders: Vec<_> = (0..settings.loaders.max(1)).map(|_| scope.spawn(loader)).collect();
        loaders.into_iter().try_for_each(|h| h.join().map_err(|_| anyhow!("a loader panicked"))?)
    })?;
    Ok(tally.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Runs a stream; `each` is told which query comes: how many were before it, and its number from 1.
///
/// # Errors
/// What the server says.
pub fn run(
    connection: &mut dyn Connection,
    stream: &Stream,
    mut each: impl FnMut(u64, usize),
) -> Result<Told> {
    let mut told = Told { seconds: [0.0; 22], retries: 0 };
    for (nth, (query, text)) in (0..).zip(stream.queries()) {
        each(nth, query + 1);
        let began = Instant::now();
        ask(connection, text, &mut told.retries)
            .map_err(|error| anyhow!("query {}: {error}; its text: {text}", query + 1))?;
        told.seconds[query] = began.elapsed().as_secs_f64();
    }
    Ok(told)
}

fn ask(connection: &mut dyn Connection, text: &str, retries: &mut u64) -> Result<Vec<Vec<Cell>>, CallError> {
    loop {
        match connection.query(text) {
            Err(CallError::Retry(_)) => *retries += 1,
            other => return other,
        }
    }
}

/// The answers of the power test's queries, beginning with another one for each number.
///
/// # Errors
/// What the server says.
pub fn answers_of(server: &dyn Server, settings: Settings, number: u32) -> Result<Answers> {
    let mut connection = server.connect()?;
    let stream = Stream::new(0, settings.scale, settings.seed, connection.dialect());
    let queries: Vec<(usize, &str)> = stream.queries().collect();
    let mut answers: Answers = vec![Vec::new(); queries.len()];
    let first = number as usize * queries.len() / 2 % queries.len();
    for (query, text) in queries.iter().cycle().skip(first).take(queries.len()) {
        answers[*query] = ask(&mut *connection, text, &mut 0)
            .map_err(|error| anyhow!("query {}: {error}; its text: {text}", query + 1))?;
    }
    Ok(answers)
}

/// What is different about answers to the same queries.
#[must_use]
pub fn differences(expected: &Answers, told: &Answers, who: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (query, (a, b)) in (1..).zip(expected.iter().zip(told)) {
        let difference = answers::difference(a, b);
        found.extend(difference.map(|text| format!("{who}: query {query} has two answers: {text}")));
    }
    found
}
