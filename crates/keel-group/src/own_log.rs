//! When the machine is told how far the own log of a primary's copy is hardened.
//!
//! After each flush, if that may move the commit point. Mostly it may not: the acknowledgement of a secondary is still on its
//! way, and [waits](keel_cluster::Node::waits_for_others) for others are all there is. Then the flush's leader only leaves word,
//! and the machine hears it with whatever it is told next, which is that acknowledgement as a rule: a block costs one turn under
//! the machine's lock, not two, and the leader does not queue for it.
//!
//! Why nothing is missed: the leader leaves word and then looks whether the commit point waits for others. Whoever steps
//! does it the other way round. A step that may change who is waited for begins a new **turn**, which makes all earlier knowledge
//! void, and then looks for word; an acknowledgement publishes what is true behind it, and then looks for word.

use crate::copy::Copy;
use crate::shell::Shared;
use keel_base::Lsn;
use keel_cluster::{Event, GroupDatabaseId, Node};
use keel_node::Role;
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Of all copies: the turn, and whether any has left word.
pub(crate) struct Turns {
    turn: AtomicU64,
    word: AtomicBool,
}

impl Default for Turns {
    fn default() -> Turns {
        Turns { turn: AtomicU64::new(1), word: AtomicBool::new(false) }
    }
}

/// Of one copy.
#[derive(Default)]
pub(crate) struct Word {
    /// Its log is hardened farther than the machine knows.
    left: AtomicBool,
    /// The turn in which its commit point waited for others, as of the last look; 0 when it did not.
    waits_in: AtomicU64,
}

impl Shared {
    /// A flush of the log of a copy that is a primary's has ended. On the leader's thread.
    pub(crate) fn own_log_hardened(self: &Arc<Self>, copy: &Arc<Copy>) {
        copy.word.left.store(true, Ordering::SeqCst);
        self.turns.word.store(true, Ordering::SeqCst);
        if copy.word.waits_in.load(Ordering::SeqCst) == self.turns.turn.load(Ordering::SeqCst) {
            return;
        }
        let mut machine = self.machine.lock();
        self.hear(&mut machine, copy);
        self.look(&mut machine, copy);
    }

    /// Begins a turn: who is waited for may change in it. The machine hears all word that was left.
    pub(crate) fn begin_turn(self: &Arc<Self>, machine: &mut MutexGuard<'_, Node>) {
        self.turns.turn.fetch_add(1, Ordering::SeqCst);
        if !self.turns.word.swap(false, Ordering::SeqCst) {
            return;
        }
        let copies: Vec<Arc<Copy>> = self.copies.read().values().cloned().collect();
        copies.iter().for_each(|copy| self.hear(machine, copy));
    }

    /// The machine with all word heard, for who looks at positions.
    pub(crate) fn machine_up_to_date(self: &Arc<Self>) -> MutexGuard<'_, Node> {
        let mut machine = self.machine.lock();
        self.begin_turn(&mut machine);
        machine
    }

    /// An acknowledgement: a step that changes nothing but how far one member is.
    pub(crate) fn step_acknowledged(self: &Arc<Self>, database: GroupDatabaseId, event: Event) {
        let Some(copy) = self.copy(database) else { return };
        let mut machine = self.machine.lock();
        self.hear(&mut machine, &copy);
        self.run(&mut machine, event);
        self.look(&mut machine, &copy);
    }

    /// Tells the machine what word there is of this copy.
    fn hear(self: &Arc<Self>, machine: &mut MutexGuard<'_, Node>, copy: &Copy) {
        if copy.word.left.swap(false, Ordering::SeqCst) && copy.db.role() == Role::Primary {
            let lsn: Lsn = copy.log().hardened();
            self.run(machine, Event::Hardened { database: copy.id, lsn });
        }
    }

    /// Publishes whether the commit point waits for others, and hears what was left before that could be seen.
    fn look(self: &Arc<Self>, machine: &mut MutexGuard<'_, Node>, copy: &Copy) {
        loop {
            let waits = machine.waits_for_others(copy.id);
            let turn = if waits { self.turns.turn.load(Ordering::SeqCst) } else { 0 };
            copy.word.waits_in.store(turn, Ordering::SeqCst);
            if waits || !copy.word.left.load(Ordering::SeqCst) {
                return;
            }
            self.hear(machine, copy);
        }
    }
}
