//! The threads that run one part of a plan, from their start to what each has made.

use super::ahead::{self, Answers};
use super::frozen::{Frozen, Readers};
use super::morsels::PARTS_EACH;
use super::workers::Job;
use super::{GatherNode, Help, Morsels, ParallelPlan, Together, Workers, address};
use crate::bind::rel::JoinKind;
use crate::context::{ExecCtx, IsolationLevel};
use crate::errors::{self, Error, Result};
use crate::exec::count::Counts;
use crate::exec::cx::{Cx, Report, Views};
use crate::exec::hash;
use crate::exec::node::{Node, Op};
use crate::exec::{Operator, access};
use crate::plan::run::subquery_states;
use keel_base::panics::damage;
use keel_types::{Value, key};
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How long the session's thread waits for its helpers before it looks whether it is cancelled.
pub(super) const LOOK: Duration = Duration::from_millis(10);

/// What every thread has made.
pub(crate) struct Made<T> {
    /// The session's own.
    pub own: T,
    /// Its helpers.
    pub others: Vec<T>,
}

/// An input that is read to its end: alone, or with helpers who each make something of their share.
pub(crate) struct Source {
    input: Box<dyn Operator>,
    gather: Option<Arc<GatherNode>>,
    counts: Option<Counts>,
}

impl Source {
    /// The input that a node stands for.
    pub fn of(node: &Arc<Node>, counts: Option<&Counts>) -> Source {
        match &node.op {
            Op::Gather(gather) if gather.slots.is_none() => Source {
                input: gather.input.operator(counts),
                gather: Some(Arc::clone(gather)),
                counts: counts.cloned(),
            },
            _ => Source { input: node.operator(counts), gather: None, counts: None },
        }
    }

    /// Has `make` open the input and read it, on each thread.
    pub fn run<T: Send + 'static>(
        &mut self,
        cx: &mut Cx<'_>,
        make: impl Fn(&mut dyn Operator, &mut Cx<'_>) -> Result<T> + Clone + Send + 'static,
    ) -> Result<Made<T>> {
        let team = match &self.gather {
            Some(gather) => Team::start(gather, self.counts.as_ref(), cx, &make)?,
            None => None,
        };
        let own = make(&mut *self.input, cx);
        match team {
            Some(team) => team.finish(own, cx),
            None => Ok(Made { own: own?, others: Vec::new() }),
        }
    }

    /// See [`Operator::close`].
    pub fn close(&mut self) {
        self.input.close();
    }
}

/// What a helper sends when it is done.
struct Outcome<T> {
    number: usize,
    made: Result<T>,
    report: Report,
}

/// Helpers at work.
pub(super) struct Team<T> {
    outcomes: Receiver<Outcome<T>>,
    running: usize,
    made: Vec<(usize, T)>,
    failed: Option<(usize, Error)>,
    stop: Arc<AtomicBool>,
    workers: Arc<Workers>,
    /// Takes what helpers tell when nobody wants what they make.
    late: Arc<Mutex<Vec<Report>>>,
}

/// What a helper begins with.
struct Seat {
    node: Arc<Node>,
    plan: Arc<ParallelPlan>,
    slots: Vec<Value>,
    vars: Vec<Value>,
    readers: Readers,
    views: Views,
    frozen: Frozen,
    together: Together,
    answers: Answers,
    counts: Option<Counts>,
    counts_io: bool,
}

impl<T: Send + 'static> Team<T> {
    /// Prepares what all threads share and starts the helpers there are; `None` when the session's thread is to work alone.
    pub fn start(
        gather: &Arc<GatherNode>,
        counts: Option<&Counts>,
        cx: &mut Cx<'_>,
        make: &(impl Fn(&mut dyn Operator, &mut Cx<'_>) -> Result<T> + Clone + Send + 'static),
    ) -> Result<Option<Team<T>>> {
        let Some(ready) = prepare(gather, counts, cx)? else { return Ok(None) };
        let Ready { help, parts, .. } = &ready;
        let mut helpers = help.workers.promise((help.degree - 1).min(parts.count() - 1));
        if helpers.count() == 0 {
            return Ok(None);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let seats = seats(helpers.count(), gather, &ready, &stop, counts, cx)?;
        let (sender, outcomes) = channel();
        let mut running = 0;
        for (number, seat) in seats.into_iter().enumerate() {
            let job = job(number, seat, make.clone(), sender.clone(), (&stop, parts));
            running += usize::from(helpers.start(job));
        }
        if running == 0 {
            return Ok(None);
        }
        let together = cx.rare().together.get_or_insert_default();
        together.parts.push((address(&gather.driver), Arc::clone(parts)));
        let late = Arc::clone(&together.late);
        cx.session.note_degree(running + 1);
        if let Some(counts) = counts {
            counts.note_degree(running + 1);
        }
        let workers = Arc::clone(&help.workers);
        Ok(Some(Team { outcomes, running, made: Vec::new(), failed: None, stop, workers, late }))
    }

    /// Waits for the helpers, once the session's thread has done its own share.
    pub fn finish(mut self, own: Result<T>, cx: &mut Cx<'_>) -> Result<Made<T>> {
        if own.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        let cancelled = self.wait(cx);
        let own = own?;
        cancelled?;
        if let Some((_, error)) = self.failed.take() {
            return Err(error);
        }
        let mut made = std::mem::take(&mut self.made);
        made.sort_by_key(|(number, _)| *number);
        Ok(Made { own, others: made.into_iter().map(|(_, made)| made).collect() })
    }

    /// Waits until all have ended: error 3617 and others when the session is to end meanwhile.
    fn wait(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let mut end = Ok(());
        let began = self.workers.clock().now();
        while self.running > 0 {
            match self.outcomes.recv_timeout(LOOK) {
                Ok(outcome) => self.take(outcome, cx),
                Err(RecvTimeoutError::Timeout) if end.is_ok() => {
                    end = cx.session.look_up();
                    if end.is_err() {
                        self.stop.store(true, Ordering::Relaxed);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.lose(),
            }
        }
        self.workers.note_wait(began);
        end
    }

    /// Takes what has come in without waiting; an error when one of the helpers has failed.
    pub fn look(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        while let Ok(outcome) = self.outcomes.try_recv() {
            self.take(outcome, cx);
        }
        match &self.failed {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn take(&mut self, outcome: Outcome<T>, cx: &mut Cx<'_>) {
        self.running -= 1;
        cx.absorb(outcome.report);
        match outcome.made {
            Ok(made) => self.made.push((outcome.number, made)),
            Err(error) => self.fail(outcome.number, error),
        }
    }

    /// Of several errors the first helper's counts, but none that only says that it was stopped.
    fn fail(&mut self, number: usize, error: Error) {
        let rank = |number: usize, error: &Error| (error.number == errors::cancelled().number, number);
        let better = self.failed.as_ref().is_none_or(|(n, e)| rank(number, &error) < rank(*n, e));
        if better {
            self.failed = Some((number, error));
        }
    }

    /// A helper has gone without a word: it panicked.
    fn lose(&mut self) {
        self.running = 0;
        self.fail(usize::MAX, errors::helper_lost());
    }
}

impl<T> Drop for Team<T> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        while self.running > 0
            && let Ok(outcome) = self.outcomes.recv()
        {
            self.running -= 1;
            self.late.lock().push(outcome.report);
        }
    }
}

/// What a worker does in a seat.
fn job<T: Send + 'static>(
    number: usize,
    seat: Seat,
    make: impl Fn(&mut dyn Operator, &mut Cx<'_>) -> Result<T> + Send + 'static,
    sender: Sender<Outcome<T>>,
    (stop, parts): (&Arc<AtomicBool>, &Arc<Morsels>),
) -> Job {
    let (stop, parts) = (Arc::clone(stop), Arc::clone(parts));
    Box::new(move || {
        let (made, report) = seat.run(make);
        if made.is_err() {
            stop.store(true, Ordering::Relaxed);
            parts.end();
        }
        // Nobody listens any more when the statement has ended early.
        let outcome = Outcome { number, made, report };
        Box::new(move || drop(sender.send(outcome)))
    })
}

impl Seat {
    fn run<T>(self, make: impl Fn(&mut dyn Operator, &mut Cx<'_>) -> Result<T>) -> (Result<T>, Report) {
        let Seat {
            node,
            plan,
            slots,
            mut vars,
            mut readers,
            views,
            frozen,
            together,
            answers,
            counts,
            counts_io,
        } = self;
        frozen.begin();
        let mut ctx = ExecCtx {
            vars: &mut vars,
            txns: &mut readers,
            session: &frozen,
            functions: &frozen,
            triggers: None,
        };
        let mut cx = Cx::new(&mut ctx, slots);
        cx.subqueries = subquery_states(&plan.subplans, counts.as_ref());
        ahead::give(answers, &mut cx);
        cx.begin_helping(views, together, counts_io);
        let mut operator = node.operator(counts.as_ref());
        let made = catch_unwind(AssertUnwindSafe(|| make(&mut *operator, &mut cx)));
        let made = made.unwrap_or_else(|panic| match damage(&*panic) {
            Some(what) => Err(errors::inconsistent(what)),
            None => resume_unwind(panic),
        });
        operator.close();
        let report = cx.report();
        drop(cx);
        frozen.tell();
        (made, report)
    }
}

/// What all threads share of a gather that is about to begin.
struct Ready {
    plan: Arc<ParallelPlan>,
    help: Help,
    parts: Arc<Morsels>,
    answers: Answers,
}

/// Computes it; build sides are with the execution. `None` where the session's thread had better work alone.
fn prepare(gather: &GatherNode, counts: Option<&Counts>, cx: &mut Cx<'_>) -> Result<Option<Ready>> {
    if let Some(together) = cx.together() {
        together.forget(gather);
    }
    let Some((plan, help)) = helpers_for(cx) else { return Ok(None) };
    if help.workers.are_busy() || !may_read_beside(&plan, cx)? {
        return Ok(None);
    }
    let Some(parts) = cut(gather, help.degree, cx)? else { return Ok(None) };
    let Some(answers) = ahead::find(&plan, cx) else { return Ok(None) };
    if !build_sides(gather, counts, cx)? {
        return Ok(None);
    }
    Ok(Some(Ready { plan, help, parts, answers }))
}

/// What so many helpers begin with.
fn seats(
    wanted: usize,
    gather: &GatherNode,
    Ready { plan, help, parts, answers }: &Ready,
    stop: &Arc<AtomicBool>,
    counts: Option<&Counts>,
    cx: &mut Cx<'_>,
) -> Result<Vec<Seat>> {
    let views = cx.views_of(&plan.reads)?;
    let common = cx.share_memory();
    let frozen = Frozen::of(cx.session, &help.workers, Arc::clone(&help.used), Arc::clone(stop));
    let built = |cx: &mut Cx<'_>| cx.together().map(|t| t.built_for(gather)).unwrap_or_default();
    let seat = |_| {
        let together = Together {
            parts: vec![(address(&gather.driver), Arc::clone(parts))],
            built: built(cx),
            common: Some(Arc::clone(&common)),
            helps: true,
            ..Together::default()
        };
        Ok(Seat {
            node: Arc::clone(&gather.input),
            plan: Arc::clone(plan),
            slots: cx.slots.clone(),
            vars: cx.vars.to_vec(),
            readers: readers_for(plan, cx)?,
            views: views.clone(),
            frozen: frozen.clone(),
            together,
            answers: answers.clone(),
            counts: counts.cloned(),
            counts_io: cx.io().is_some(),
        })
    };
    (0..wanted).map(seat).collect()
}

/// Helpers that this execution may have: none in a helper, nor where what is read is locked.
fn helpers_for(cx: &mut Cx<'_>) -> Option<(Arc<ParallelPlan>, Help)> {
    let plan = Arc::clone(cx.rare().together.as_ref()?.plan.as_ref()?);
    if matches!(cx.session.isolation(), IsolationLevel::RepeatableRead | IsolationLevel::Serializable) {
        return None;
    }
    let help = cx.session.help(plan.max_degree).filter(|help| help.degree > 1)?;
    Some((plan, help))
}

/// Whether other threads see what the session's transactions see.
fn may_read_beside(plan: &ParallelPlan, cx: &mut Cx<'_>) -> Result<bool> {
    for (database, _) in &plan.reads {
        if cx.txn(*database)?.has_writes() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn readers_for(plan: &ParallelPlan, cx: &mut Cx<'_>) -> Result<Readers> {
    let mut readers = Vec::with_capacity(plan.reads.len());
    for (database, _) in &plan.reads {
        if readers.iter().all(|(known, _)| known != database) {
            readers.extend(cx.txn(*database)?.beside().map(|txn| (*database, txn)));
        }
    }
    Ok(Readers(readers))
}

/// Makes the build sides that all share. False where one is to be read by the session's thread alone: it went to files, or it is empty
/// and so is the result.
fn build_sides(gather: &GatherNode, counts: Option<&Counts>, cx: &mut Cx<'_>) -> Result<bool> {
    for join in &gather.joins {
        let fill = hash::build(join, counts, cx)?;
        let nothing = fill.is_empty() && matches!(join.kind, JoinKind::Inner | JoinKind::Semi);
        let alone = nothing || fill.is_divided();
        cx.rare().together.get_or_insert_default().built.push((address(join), fill));
        if alone {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The driver's range in parts; `None` when there is only one.
fn cut(gather: &GatherNode, degree: usize, cx: &mut Cx<'_>) -> Result<Option<Arc<Morsels>>> {
    let driver = &gather.driver;
    let Some((low, high)) = access::range_of(driver, cx)? else { return Ok(None) };
    let bounds = (low.as_ref().map(Vec::as_slice), high.as_ref().map(Vec::as_slice));
    let cuts = cx.txn(driver.database)?.split_points(driver.tree, bounds, degree * PARTS_EACH);
    let mut cuts = cuts.map_err(|e| cx.storage_error(&e))?;
    if let (true, Some(leading)) = (gather.whole, driver.leading) {
        for cut in &mut cuts {
            // A key that ends within the column cuts no value of it in two.
            cut.truncate(key::integer_len(cut, leading.descending).unwrap_or(cut.len()));
        }
        cuts.dedup();
    }
    let parts = Morsels::new(low, high, cuts);
    Ok((parts.count() > 1).then(|| Arc::new(parts)))
}
