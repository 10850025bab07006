//! An event session that runs.

use super::actor::Actor;
use super::catalog::{Action, Event, Field};
use super::definition::{Definition, EventPart, TargetPart};
use super::predicate::Check;
use super::record::Record;
use super::target::{Surroundings, Target};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// An event session that runs.
pub struct Running {
    /// What it was started as.
    pub definition: Definition,
    /// When, local ticks.
    pub started: i64,
    events: Vec<Wanted>,
    targets: Vec<Mutex<Target>>,
    bits: u64,
}

struct Wanted {
    event: Event,
    actions: Vec<Action>,
    check: Option<Check>,
    fired: AtomicU64,
}

impl Wanted {
    fn of(part: &EventPart) -> Option<Wanted> {
        let event = Event::named(&part.name)?;
        let actions =
            part.actions.iter().filter_map(|(package, name)| Action::named(package, name)).collect();
        let check = part.predicate.as_ref().map(|p| Check::of(p, event));
        Some(Wanted { event, actions, check, fired: AtomicU64::new(0) })
    }
}

impl Running {
    /// Begins its targets; those that `before`, which it takes the place of, has already go on with what they hold. The error
    /// names the target, and says what the system says of its file.
    pub fn start(
        definition: Definition,
        started: i64,
        before: Option<&Running>,
        around: &Surroundings<'_>,
    ) -> Result<Running, (String, std::io::Error)> {
        let held = |part: &TargetPart| {
            let old = before?;
            let at = old.definition.targets.iter().position(|t| t.id == part.id)?;
            old.targets.get(at)
        };
        let mut begun = Vec::new();
        for part in &definition.targets {
            let fresh = held(part).is_none().then(|| Target::begin(part, around)).transpose();
            begun.push(fresh.map_err(|e| (part.name.clone(), e))?);
        }
        let take = |(part, fresh): (&TargetPart, Option<Target>)| {
            let old =
                || held(part).map(|old| std::mem::replace(&mut *old.lock(), Target::Counter(Vec::new())));
            fresh.or_else(old).map(Mutex::new)
        };
        let targets = definition.targets.iter().zip(begun).filter_map(take).collect();
        let events: Vec<Wanted> = definition.events.iter().filter_map(Wanted::of).collect();
        let bits = events.iter().fold(0, |all, wanted| all | wanted.event.bit());
        Ok(Running { definition, started, events, targets, bits })
    }

    /// Whether it has this event.
    #[must_use]
    pub fn wants(&self, event: Event) -> bool {
        self.bits & event.bit() != 0
    }

    /// The bits of its events.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// Takes an event, if its condition holds.
    pub fn take(&self, event: Event, at: i64, sequence: u64, actor: &dyn Actor, fields: &[Field]) {
        let Some(wanted) = self.events.iter().find(|w| w.event == event) else { return };
        if wanted.check.as_ref().is_some_and(|check| !check.holds(actor, fields)) {
            return;
        }
        wanted.fired.fetch_add(1, Ordering::Relaxed);
        let collect = |action: &Action| {
            let field = match action {
                Action::EventSequence => sequence.into(),
                other => actor.action(*other),
            };
            (*action, field)
        };
        let actions = wanted.actions.iter().map(collect).collect();
        let record = Record { event, at, fields: fields.to_vec(), actions };
        for target in &self.targets {
            target.lock().take(&record);
        }
    }

    /// Its targets, one after the other.
    pub fn targets<T>(&self, mut look: impl FnMut(&Target) -> T) -> Vec<T> {
        self.targets.iter().map(|target| look(&target.lock())).collect()
    }

    /// How often an event was taken.
    #[must_use]
    pub fn fired(&self, event: Event) -> u64 {
        let wanted = self.events.iter().find(|w| w.event == event);
        wanted.map_or(0, |w| w.fired.load(Ordering::Relaxed))
    }
}
