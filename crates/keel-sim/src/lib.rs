//! # keel-sim: a seed is a world
//!
//! Runs the machines of `keel-cluster` ([`keel_cluster::Node`]), each over its databases on a simulated disk, in one thread and
//! virtual time, does to them what a [`Plan`] says, and looks from outside whether the promises hold.
//!
//! A database is one of two: a real log ([`keel_log::Log`]) with sets of numbers above it, which is quick; or a whole
//! [`keel_node::Database`] with its store, base tree, checkpoints, redo lanes, roles and seeding, whose background work the
//! world does piece by piece. Clients of the latter read and change rows, make and drop trees, keep transactions open across
//! failovers, and write more than a block of the log holds.
//!
//! ## What must hold
//! 1. A commit that a client was told is done is in the log of every later primary, and of all copies in the end, unless an
//!    operator forced a failover that the record did not show to be without loss, or took the database out of the group.
//! 2. At the moment it is told, every member that the durable record names as synchronized has it hardened.
//! 3. An epoch is started once; one place in one epoch holds one block, whoever has it; nothing of an earlier epoch is
//!    acknowledged after a later one was started (but by forcing).
//! 4. Nothing that was redone is cut away, and nothing that is in a base tree ever is (the former but by forcing).
//! 5. Logs open after every power cut; a copy that stands at a place chains to the primary's block there.
//! 6. After the faults have stopped the group becomes whole by itself (operators only RESUME what is suspended, and give the
//!    role to somebody when it was given up), every copy in its state, all logs equal.
//! 7. Members of a cluster's store that have applied the same entries have decided the same.
//! 8. Of real databases: what a reader sees on any copy, after any crash, cut, role change, checkpoint or seeding, is exactly
//!    what the commits up to his position have made of the rows, by a model that does the same transactions in commit order;
//!    he never sees what is not agreed, nor anything else when he looks again; copies at one position have one logical
//!    checksum. Who waits for a commit is told that it is done when it is agreed, and never after a fence came first; no
//!    transaction outlives the role it began in. Local positions are in order; pages, rows and logs check out in the end.
//! 9. Nothing depends on what the wall clock says: it jumps between 1970 and 2100, and the world is the same.
//! 10. Of real databases: a transaction that a client has prepared and left is in doubt on every primary whose log has it, until that log
//!     decides about it, once; over crashes, cuts, failovers, checkpoints and seeding. Its rows are there when it has committed, not before.
//! 11. A group that was dropped does not come back, one that was made anew works, and all members show one configuration of it. A database
//!     that is let go and goes on alone has everything that was acknowledged, and takes writes; of one that is let go RESTORING everywhere
//!     somebody has it; a new group has all that its databases had.
//!
//! Of two groups and a distributed one over them, each on its side:
//!
//! 12. A commit that a client was told is done is in the log of every later source, on whichever side, when the role was given up before
//!     it was taken; and when it was taken by force, every one that the source's record then said the other side had.
//! 13. What a forwarder acknowledges to the source, every member of its own set has hardened. Its side writes nothing itself: a place in
//!     an epoch holds one block on both. A forced taker's lost commits are those and no others that were never on its side.
//! 14. Two sides write at once only after a force; the older is fenced when it hears of it, and its copies wait for RESUME.
//! 15. After the faults have stopped both sides are of one mind and whole, and all logs of both are equal.
//!
//! Worlds are of four kinds: those where operators decide (CLUSTER_TYPE = NONE), and clusters that heal themselves, with or
//! without a witness, where machines die alone and together, hang, hear without being heard and the other way round, lose
//! their disks or the end of a log, stall, and say that they are unfit; nodes are taken out and come back under load, and quorums
//! are forced; the same where a cluster manager from outside says who leads (CLUSTER_TYPE = EXTERNAL), and not always the right thing; and
//! pairs of groups of either kind, synchronous and asynchronous, between which the way is cut or long and operators change
//! the roles over, as planned and after disasters. In all kinds a disk may fail one operation: a process that cannot go on after that is started again; and
//! copies of databases are taken out of their group (SET HADR OFF) and joined again. Modes, options, databases and the witness of a group are
//! changed while it is in use, and a planned failover meets a second fault. Groups are dropped and made anew under their name, on any instance and
//! more than once; session time-outs and listeners change; new nodes come and old ones go for good; the disk of the logs is full, or that of everything else.
//! The seeding of a real database may be broken off anywhere, and what is there gone on with, from whatever picture comes next.
//!
//! Disks of before come back, also where a quorum is forced on them: what was on them is there. One thing is more than is survived, and ends
//! the world: a disk of before that says that its instance has the only vote, where nobody is connected who could tell it more.
//!
//! ## Running it
//! `cargo run -p keel-sim --release -- --seeds 100000 --from 1` runs many (`--cluster`: clusters; `--external`: those with a manager; `--pair`: pairs of groups; `--engine real`:
//! real databases); a failing one is shrunk and printed as a script,
//! which `--script FILE` replays (`--trace` shows every event and action). Scripts of bugs found are kept under
//! `tests/scripts` and run with the ordinary tests. `tests/rules` holds one script for each rule of decision in a cluster,
//! with the transcript it must have.
//!
//! ## Not modelled
//! Threads (each call on a database runs to its end; so does a checkpoint, but for a power cut in its midst), real sockets,
//! bit rot; groups that are dropped and made anew without a cluster, or where failovers or quorums are forced, or disks are lost or come back. Of pairs: witnesses, members and databases that come and go, lost disks, forced quorums, and a group, distributed or not, that is
//! dropped and made anew; connections between the sides are there whoever leads, where a server looks for the other's primary first.

mod background;
mod care;
mod check;
mod chronicle;
mod copies;
mod deed;
mod engine;
mod instance;
mod manager;
mod numbers;
mod options;
mod pair;
pub mod plan;
mod real;
mod remake;
mod shrink;
mod world;

pub use plan::{Op, Plan};
pub use shrink::shrink;
pub use world::Summary;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a plan.
///
/// # Errors
/// What did not hold, or the assertion that failed.
pub fn run(plan: &Plan) -> Result<Summary, String> {
    run_traced(plan, false).0
}

/// Runs a plan and tells its story up to the end of the faults: roles, votes, synchronized sets, failovers, what operators
/// were answered and how many commits were acknowledged.
///
/// # Errors
/// As [`run`].
pub fn story(plan: &Plan) -> Result<Vec<String>, String> {
    let mut world = world::World::new(plan.clone(), false);
    world.story = Some(Vec::new());
    let result = catch_unwind(AssertUnwindSafe(|| world.run()));
    match result {
        Ok(result) => result.map(|_| world.story.unwrap_or_default()),
        Err(_) => Err("an assertion failed".into()),
    }
}

/// Runs a plan; with `trace` also returns every event and action.
///
/// # Errors
/// As [`run`].
pub fn run_traced(plan: &Plan, trace: bool) -> (Result<Summary, String>, Vec<String>) {
    let mut world = None;
    let result =
        catch_unwind(AssertUnwindSafe(|| world.insert(world::World::new(plan.clone(), trace)).run()));
    let lines = world.and_then(|w| w.trace).unwrap_or_default();
    let result = result.unwrap_or_else(|panic| Err(keel_base::panics::text(&*panic).to_owned()));
    (result, lines)
}
