//! The resource governor: what requests of which sessions may use.
//!
//! ```text
//!   login ─► classifier function ─► workload group ─► resource pool
//!                                     │ how many requests at once, how much each       │ how much all of them
//! ```
//!
//! | module | owns |
//! | --- | --- |
//! | [`definition`] | pools, groups and settings as they are defined, and the rules for them |
//! | [`running`] | pools and groups in force, and their figures |
//! | [`pace`] | who waits how long for processor time and reads: decided without clock or thread |
//! | [`wait`] | sleeping that an attention ends, and the queue of a group |
//! | [`session`] | where a session's requests meet all that |
//! | [`classify`] | which function classifies sessions; they ask it in `session::classify` |
//!
//! Definitions live in master, one row each, and take effect with RECONFIGURE; until then they are pending. Sessions are
//! threads that the kernel shares out, so the governor makes those sleep that have had their share, at the points where
//! statements look whether they are cancelled, and between requests. Nobody sleeps in a commit or with a page latched.
//! As long as nothing is limited, a request asks one flag at its beginning and every few hundred rows.
//!
//! Working memory is taken from the pool (`keel_query::memory`), one step at a time, by statements that sort, join and group.
//!
//! Deliberately absent: external pools, parallel plans to limit, and waiting for memory: a statement that gets none goes on in files.

pub mod classify;
pub mod definition;
pub mod errors;
pub mod pace;
pub mod running;
pub mod session;
pub mod wait;

pub use classify::classifier_is;
pub use definition::{Configuration, GovernorDef, GroupDef, PoolDef};
pub use running::{Counts, Figures, Group, Pool};
pub use session::Governed;

use crate::catalog::object_class;
use crate::engine::{Engine, SessionShared, Waits};
use crate::session::info::Info;
use definition::{DEFAULT, INTERNAL};
use keel_types::error::Result;
use pace::{GroupPace, Pacer, PoolPace};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The wait for a turn in a workload group.
pub(crate) const THROTTLED: &str = "RESMGR_THROTTLED";

/// What is in force.
pub struct Running {
    /// Not disabled.
    pub enabled: bool,
    /// `object_id` of the classifier; 0 for none.
    pub classifier: i32,
    /// MAX_OUTSTANDING_IO_PER_VOLUME
    pub outstanding_io: i32,
    /// By id.
    pub pools: Vec<Arc<Pool>>,
    /// By id.
    pub groups: Vec<Arc<Group>>,
}

impl Running {
    /// The group of sessions that nobody has put elsewhere.
    #[must_use]
    pub fn default_group(&self) -> &Arc<Group> {
        self.groups.iter().find(|g| g.id == DEFAULT).expect("the default group is always there")
    }

    /// The group of what the classifier says; the default one where that is nobody's name.
    fn group_named(&self, name: &str) -> &Arc<Group> {
        let own = |g: &&Arc<Group>| g.id != INTERNAL && crate::views::same(&g.name, name);
        self.groups.iter().find(own).unwrap_or_else(|| self.default_group())
    }
}

struct Kept {
    all: Configuration,
    /// Something was changed since RECONFIGURE or DISABLE.
    pending: bool,
}

/// The governor of an instance.
pub struct Governor {
    kept: Mutex<Kept>,
    running: RwLock<Arc<Running>>,
    pacer: Mutex<Pacer>,
    /// Changes with what is in force.
    generation: AtomicU64,
    /// Processors by scheduler: those that the process may run on.
    processors: Vec<usize>,
    /// Waits for a share of processor time, `RESMGR_THROTTLED` among the wait types.
    pub throttled: Waits,
    /// Statements take their memory from their pools.
    memory_shared: AtomicBool,
}

impl Governor {
    /// One that governs nothing yet; `now` in local ticks.
    #[must_use]
    pub fn new(now: i64) -> Governor {
        let all = Configuration::default();
        let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut processors = keel_base::env::real::processors();
        processors.truncate(count);
        Governor {
            running: RwLock::new(Arc::new(build(&all, None, now))),
            kept: Mutex::new(Kept { all, pending: false }),
            pacer: Mutex::new(Pacer::new(count)),
            generation: AtomicU64::new(1),
            processors,
            throttled: Waits::default(),
            memory_shared: AtomicBool::new(false),
        }
    }

    /// What is in force.
    #[must_use]
    pub fn running(&self) -> Arc<Running> {
        Arc::clone(&self.running.read())
    }

    /// Puts a session into the group of that name, or the default one. Groups do not go meanwhile.
    pub(crate) fn join(&self, session: &Info, group: Option<&str>) {
        let running = self.running.read();
        session.join_group(group.map_or_else(|| running.default_group(), |name| running.group_named(name)));
    }

    /// Puts a session of the server's own into the internal group.
    pub(crate) fn join_internal(&self, session: &Info) {
        let running = self.running.read();
        session.join_group(running.groups.iter().find(|g| g.id == INTERNAL).expect("it is always there"));
    }

    /// What is defined, and whether some of it is not in force yet.
    #[must_use]
    pub fn kept(&self) -> (Configuration, bool) {
        let kept = self.kept.lock();
        (kept.all.clone(), kept.pending)
    }

    /// Schedulers that pools may be bound to.
    #[must_use]
    pub fn schedulers(&self) -> usize {
        self.processors.len()
    }

    /// Percent of the processors that a pool may use at this moment.
    #[must_use]
    pub fn cpu_target_percent(&self, pool: &Pool) -> i32 {
        let running = self.running();
        let place = running.pools.iter().position(|p| p.id == pool.id);
        place.map_or(100, |place| self.pacer.lock().target_percent(place))
    }

    /// Puts a configuration in force, in the place of `running`.
    fn put_in_force(&self, running: &mut Arc<Running>, all: &Configuration, engine: &Engine) {
        let next = Arc::new(build(all, Some(running), engine.now_local()));
        let shares = all.shares_cpu();
        let place_of = |pool: &Pool| next.pools.iter().position(|p| p.id == pool.id);
        for (place, group) in next.groups.iter().enumerate() {
            let def = all.groups.iter().find(|g| g.id == group.id).expect("made from it").clone();
            let paced = group.id != INTERNAL && (shares || group.pool.def().max_iops > 0);
            group.set(def, paced.then_some(place));
        }
        let pools: Vec<_> = next.pools.iter().map(|pool| pace_of(&pool.def())).collect();
        let group = |g: &Arc<Group>| GroupPace {
            pool: place_of(&g.pool).expect("groups are in pools in force"),
            weight: g.def().importance.weight(),
        };
        let groups: Vec<_> = next.groups.iter().map(group).collect();
        self.pacer.lock().configure(&pools, &groups, engine.options().env.clock.now());
        self.generation.fetch_add(1, Ordering::Relaxed);
        share_memory(&next.pools, engine);
        self.memory_shared.store(all.settings.enabled, Ordering::Relaxed);
        *running = next;
    }
}

/// Shares the working memory out: a pool's maximum is less where the others' minima leave less.
fn share_memory(pools: &[Arc<Pool>], engine: &Engine) {
    let minima: i32 = pools.iter().map(|p| p.def().min_memory).sum();
    for pool in pools {
        let def = pool.def();
        let most = def.max_memory.min(100 - (minima - def.min_memory));
        let percent = |n: i32| u32::try_from(n).unwrap_or(0);
        pool.memory.limit(percent(def.min_memory), percent(most));
    }
    engine.work_space().share_out(pools.iter().map(|p| Arc::clone(&p.memory)).collect());
}

fn pace_of(def: &PoolDef) -> PoolPace {
    PoolPace { min: def.min_cpu, max: def.max_cpu, cap: def.cap_cpu, iops: def.max_iops }
}

/// Pools and groups of a configuration; those that are in force already stay the same ones.
fn build(all: &Configuration, before: Option<&Running>, now: i64) -> Running {
    let pool = |def: &PoolDef| {
        let there = before.and_then(|b| b.pools.iter().find(|p| p.id == def.id));
        if let Some(pool) = there.filter(|p| p.name == def.name) {
            pool.set(def.clone());
            return Arc::clone(pool);
        }
        Arc::new(Pool::new(def.clone(), now))
    };
    let pools: Vec<_> = all.pools.iter().map(pool).collect();
    let group = |def: &GroupDef| {
        let pool = pools.iter().find(|p| p.id == def.pool).expect("a pool with groups is not dropped");
        let there = before.and_then(|b| b.groups.iter().find(|g| g.id == def.id && g.name == def.name));
        match there.filter(|g| Arc::ptr_eq(&g.pool, pool)) {
            Some(group) => Arc::clone(group),
            None => Arc::new(Group::new(def.clone(), Arc::clone(pool), now)),
        }
    };
    let groups = all.groups.iter().map(group).collect();
    Running {
        enabled: all.settings.enabled,
        classifier: if all.settings.enabled { all.settings.classifier } else { 0 },
        outstanding_io: all.settings.outstanding_io,
        pools,
        groups,
    }
}

/// Ids of what is in force, every limit gone.
fn unlimited(running: &Running, settings: GovernorDef) -> Configuration {
    let pools = running.pools.iter().map(|p| PoolDef::new(p.id, &p.name)).collect();
    let groups = running.groups.iter().map(|g| GroupDef::new(g.id, &g.name, g.pool.id)).collect();
    Configuration { settings, pools, groups }
}

impl Engine {
    /// Reads what master keeps of the governor and puts it in force.
    pub(crate) fn load_governor(&self) -> Result<()> {
        let settings = self.master_rows::<GovernorDef>(object_class::GOVERNOR)?.pop().unwrap_or_default();
        let pools = self.master_rows(object_class::RESOURCE_POOL)?;
        let groups = self.master_rows(object_class::WORKLOAD_GROUP)?;
        let all = Configuration::from_kept(settings, pools, groups);
        if all.settings.enabled {
            self.governor().put_in_force(&mut self.governor().running.write(), &all, self);
        }
        let pending = !all.settings.enabled && all.pools.len() + all.groups.len() > 4;
        *self.governor().kept.lock() = Kept { all, pending };
        Ok(())
    }

    /// Changes a definition in master: `change` says what is to be there under which id, or that nothing is.
    ///
    /// # Errors
    /// What `change` refuses, and failures of master.
    pub(crate) fn define_pool(
        &self,
        change: impl FnOnce(&Configuration) -> Result<PoolChange>,
    ) -> Result<()> {
        let mut kept = self.governor().kept.lock();
        match change(&kept.all)? {
            PoolChange::Put(pool) => {
                self.put_master_row(object_class::RESOURCE_POOL, pool.id, Some(&pool))?;
                kept.all.put_pool(pool);
            }
            PoolChange::Drop(id) => {
                self.put_master_row::<PoolDef>(object_class::RESOURCE_POOL, id, None)?;
                kept.all.pools.retain(|p| p.id != id);
            }
        }
        kept.pending = true;
        Ok(())
    }

    /// The same of a group.
    ///
    /// # Errors
    /// What `change` refuses, and failures of master.
    pub(crate) fn define_group(
        &self,
        change: impl FnOnce(&Configuration) -> Result<GroupChange>,
    ) -> Result<()> {
        let mut kept = self.governor().kept.lock();
        match change(&kept.all)? {
            GroupChange::Put(group) => {
                self.put_master_row(object_class::WORKLOAD_GROUP, group.id, Some(&group))?;
                kept.all.put_group(group);
            }
            GroupChange::Drop(id) => {
                self.put_master_row::<GroupDef>(object_class::WORKLOAD_GROUP, id, None)?;
                kept.all.groups.retain(|g| g.id != id);
            }
        }
        kept.pending = true;
        Ok(())
    }

    /// Changes the governor's own settings in master; they are pending, too.
    pub(crate) fn set_governor(&self, change: impl FnOnce(&mut GovernorDef)) -> Result<()> {
        let mut kept = self.governor().kept.lock();
        let mut settings = kept.all.settings.clone();
        change(&mut settings);
        self.put_master_row(object_class::GOVERNOR, 0, Some(&settings))?;
        kept.all.settings = settings;
        kept.pending = true;
        Ok(())
    }

    /// ALTER RESOURCE GOVERNOR RECONFIGURE
    ///
    /// # Errors
    /// 10905 when sessions are in groups that would go or move.
    pub(crate) fn reconfigure_governor(&self) -> Result<()> {
        let governor = self.governor();
        let mut kept = governor.kept.lock();
        // Nobody gets into a group until it is known which ones go.
        let mut running = governor.running.write();
        let stays = |group: &Group| {
            let now = kept.all.groups.iter().find(|g| g.id == group.id && g.name == group.name);
            now.is_some_and(|g| g.pool == group.pool.id)
        };
        let leaving = |s: &Arc<SessionShared>| !stays(&s.group());
        if running.groups.iter().any(|g| !stays(g)) && self.sessions.all().iter().any(leaving) {
            return Err(errors::sessions_in_groups());
        }
        let settings = GovernorDef { enabled: true, ..kept.all.settings.clone() };
        self.put_master_row(object_class::GOVERNOR, 0, Some(&settings))?;
        kept.all.settings = settings;
        kept.pending = false;
        governor.put_in_force(&mut running, &kept.all, self);
        self.options().log.write("Resource governor reconfiguration succeeded.");
        Ok(())
    }

    /// ALTER RESOURCE GOVERNOR DISABLE: sessions stay where they are, and nothing is limited.
    pub(crate) fn disable_governor(&self) -> Result<()> {
        let governor = self.governor();
        let mut kept = governor.kept.lock();
        let settings = GovernorDef { enabled: false, ..kept.all.settings.clone() };
        self.put_master_row(object_class::GOVERNOR, 0, Some(&settings))?;
        kept.all.settings = settings;
        let mut running = governor.running.write();
        let all = unlimited(&running, kept.all.settings.clone());
        governor.put_in_force(&mut running, &all, self);
        Ok(())
    }

    /// ALTER RESOURCE GOVERNOR RESET STATISTICS
    pub(crate) fn reset_governor(&self) {
        let (now, sessions) = (self.now_local(), self.sessions.all());
        let running = self.governor().running();
        running.pools.iter().for_each(|pool| pool.reset(now));
        for group in &running.groups {
            let members = sessions.iter().filter(|s| s.group().id == group.id);
            group.reset(members.map(|s| &s.counts), now);
        }
    }
}

/// What becomes of a pool.
pub(crate) enum PoolChange {
    /// It is made or replaced.
    Put(PoolDef),
    /// It goes.
    Drop(i32),
}

/// What becomes of a group.
pub(crate) enum GroupChange {
    /// It is made or replaced.
    Put(GroupDef),
    /// It goes.
    Drop(i32),
}
