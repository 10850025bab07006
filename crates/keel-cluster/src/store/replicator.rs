//! [`Replicator`]: the `raft` crate with its log in memory and its durability outside: what must be on disk goes out as a
//! [`StoreRecord`], and what may be said only afterwards waits for the word that it is.

use crate::ids::{ClusterId, GroupId};
use crate::store::{Change, Contents, StoreRecord};
use protobuf::Message as _;
use raft::eraftpb::{
    ConfChangeSingle, ConfChangeType, ConfChangeV2, ConfState, Entry, EntryType, HardState, Message,
    MessageType, Snapshot,
};
use raft::{
    CAMPAIGN_TRANSFER, Config, GetEntriesContext, RaftState, RawNode, SnapshotStatus, StateRole, Storage,
    StorageError,
};
use std::collections::VecDeque;

/// Ticks between a leader's signs of life.
const HEARTBEAT_TICKS: usize = 2;
/// Ticks of silence after which a leader is looked for without anybody's evidence; with a tick of 50 ms a second, because
/// the members themselves notice a lost leader sooner ([`crate::cluster`]).
const ELECTION_TICKS: usize = 20;
/// Members that would stand at the same time stand this much apart.
const RANK_TICKS: usize = 3;
const RANK_MAX: usize = 20;
/// Entries kept before they are folded into a snapshot; also when they outweigh it.
const ENTRIES_MAX: usize = 64;
/// Entries a member may lack and still be given a vote.
const LAG_MAX: u64 = 16;

/// The log as the protocol sees it: a snapshot and what came after it. Nothing here is on disk by itself.
#[derive(Clone, Default)]
pub(crate) struct Shelf {
    hard: HardState,
    /// The beginning of the log.
    base: Snapshot,
    /// For members that lack the beginning: at least as new, with the members as they are now.
    fresh: Snapshot,
    /// No snapshot can be given at this moment: the members are just changing.
    changing: bool,
    entries: Vec<Entry>,
}

impl Shelf {
    fn first(&self) -> u64 {
        self.base.get_metadata().index + 1
    }

    fn last(&self) -> u64 {
        self.entries.last().map_or(self.base.get_metadata().index, |e| e.index)
    }

    fn append(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first() else { return };
        assert!(first.index >= self.first() && first.index <= self.last() + 1, "the log has no holes");
        self.entries.truncate(usize::try_from(first.index - self.first()).expect("few entries are kept"));
        self.entries.extend_from_slice(entries);
    }

    /// Folds everything up to the fresh snapshot into it.
    fn fold(&mut self) {
        let index = self.fresh.get_metadata().index;
        self.entries.retain(|e| e.index > index);
        self.base = self.fresh.clone();
    }

    fn restore(&mut self, snapshot: Snapshot) {
        self.entries.clear();
        self.base = snapshot.clone();
        self.fresh = snapshot;
    }
}

impl Storage for Shelf {
    fn initial_state(&self) -> raft::Result<RaftState> {
        Ok(RaftState::new(self.hard.clone(), self.base.get_metadata().get_conf_state().clone()))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        if low < self.first() {
            return Err(raft::Error::Store(StorageError::Compacted));
        }
        let range = self.entries.iter().filter(|e| (low..high).contains(&e.index));
        let mut entries: Vec<Entry> = range.cloned().collect();
        raft::util::limit_size(&mut entries, max_size.into());
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        let base = self.base.get_metadata();
        if index == base.index {
            return Ok(base.term);
        }
        if index < base.index {
            return Err(raft::Error::Store(StorageError::Compacted));
        }
        let at = usize::try_from(index - base.index - 1).unwrap_or(usize::MAX);
        self.entries.get(at).map(|e| e.term).ok_or(raft::Error::Store(StorageError::Unavailable))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.first())
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last())
    }

    fn snapshot(&self, request_index: u64, _to: u64) -> raft::Result<Snapshot> {
        if self.changing || self.fresh.get_metadata().index < request_index {
            return Err(raft::Error::Store(StorageError::SnapshotTemporarilyUnavailable));
        }
        Ok(self.fresh.clone())
    }
}

/// Something that waits for a record.
struct Pending {
    ready: u64,
    /// The term it is of.
    term: u64,
    /// Position of the snapshot among it; 0: there is none.
    snapshot: u64,
    revision: u64,
    messages: Vec<Message>,
}

/// What has to be done after a step.
#[derive(Default)]
pub(crate) struct Output {
    /// Messages by the receiver's number.
    pub(crate) send: Vec<(u64, Vec<u8>)>,
    /// A record to be made durable.
    pub(crate) record: Option<(u64, Box<StoreRecord>)>,
    /// Groups whose configuration changed.
    pub(crate) groups: Vec<GroupId>,
    /// Members or votes changed, or the contents came whole.
    pub(crate) members: bool,
    /// Another leader, or none.
    pub(crate) leader: bool,
}

impl Output {
    fn add(&mut self, messages: Vec<Message>) {
        let encoded = messages.into_iter().filter_map(|m| Some((m.to, m.write_to_bytes().ok()?)));
        self.send.extend(encoded);
    }
}

/// What a message tells of who has forgotten something: a disk that is an older copy of itself, or has lost what was synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forgotten {
    /// Nothing.
    Nothing,
    /// This member lacks what it has acknowledged, or, leading, what was agreed before it was elected.
    Here,
    /// The leader that the message is from lacks what was agreed before it was elected.
    There,
}

/// One change of the votes; each is made alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    /// Takes part without a vote.
    Without,
    /// Has a vote.
    With,
    /// Takes no part.
    Gone,
}

/// One member's part in the store.
pub(crate) struct Replicator {
    pub(crate) cluster: ClusterId,
    pub(crate) generation: u64,
    pub(crate) number: u64,
    /// What has been agreed; `None` until the first snapshot has come.
    pub(crate) contents: Option<Contents>,
    /// Position of the contents.
    applied: u64,
    node: RawNode<Shelf>,
    pending: VecDeque<Pending>,
    revision: u64,
    /// The term of the record on disk.
    kept_term: u64,
    /// A record of this part is on disk.
    kept: bool,
    leader: u64,
    /// Term of a leader that lacks what was agreed: nothing is taken from it in that term.
    false_term: u64,
    rank: usize,
    /// Something was done since the last drain.
    touched: bool,
    output: Output,
}

fn config(number: u64, applied: u64) -> Config {
    Config {
        id: number,
        election_tick: ELECTION_TICKS,
        heartbeat_tick: HEARTBEAT_TICKS,
        applied,
        max_size_per_msg: 1 << 20,
        max_inflight_msgs: 64,
        check_quorum: true,
        pre_vote: true,
        min_election_tick: ELECTION_TICKS,
        max_election_tick: ELECTION_TICKS + RANK_TICKS * RANK_MAX,
        ..Config::default()
    }
}

impl Replicator {
    /// A new store whose only member, with the only vote, is `contents`' own `number`.
    pub(crate) fn found(contents: Contents, number: u64, revision: u64) -> Replicator {
        let mut base = Snapshot { data: encode(&contents).into(), ..Snapshot::default() };
        let meta = base.mut_metadata();
        (meta.index, meta.term) = (1, 1);
        meta.mut_conf_state().voters = vec![number];
        let hard = HardState { term: 1, commit: 1, ..HardState::default() };
        let shelf = Shelf { hard, fresh: base.clone(), base, ..Shelf::default() };
        let mut made = Replicator::around(shelf, contents.cluster, contents.generation, number, revision);
        made.contents = Some(contents);
        // The only vote there is elects at once.
        made.campaign();
        made
    }

    /// A member that was asked in and knows nothing yet.
    pub(crate) fn blank(cluster: ClusterId, generation: u64, number: u64, revision: u64) -> Replicator {
        Replicator::around(Shelf::default(), cluster, generation, number, revision)
    }

    /// From the durable record; `None` when it cannot be read.
    pub(crate) fn restart(record: &StoreRecord, revision: u64) -> Option<Replicator> {
        let hard = HardState::parse_from_bytes(&record.hard).ok()?;
        let base = Snapshot::parse_from_bytes(&record.snapshot).ok()?;
        let entries: Option<Vec<Entry>> =
            record.entries.iter().map(|e| Entry::parse_from_bytes(e).ok()).collect();
        let contents: Option<Contents> = if base.data.is_empty() { None } else { Some(decode(&base.data)?) };
        let shelf = Shelf { hard, fresh: base.clone(), base, changing: false, entries: entries? };
        let consistent = shelf.hard.commit >= shelf.first() - 1 && shelf.hard.commit <= shelf.last();
        if !consistent {
            return None;
        }
        let (cluster, generation) = (record.cluster, record.generation);
        let mut made = Replicator::around(shelf, cluster, generation, record.raft, revision);
        // What is folded into the snapshot is not applied again, and a record may be older than it, or not there.
        made.output.groups = contents.iter().flat_map(|contents| contents.groups.keys().copied()).collect();
        made.contents = contents;
        made.kept_term = made.node.store().hard.term;
        made.kept = true;
        Some(made)
    }

    fn around(shelf: Shelf, cluster: ClusterId, generation: u64, number: u64, revision: u64) -> Replicator {
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let applied = shelf.base.get_metadata().index;
        let node = RawNode::new(&config(number, applied), shelf, &logger)
            .expect("the settings are constants and the log was checked");
        Replicator {
            cluster,
            generation,
            number,
            contents: None,
            applied,
            node,
            pending: VecDeque::new(),
            revision,
            kept_term: 0,
            kept: false,
            leader: 0,
            false_term: 0,
            rank: 0,
            touched: true,
            output: Output::default(),
        }
    }

    // ---- looking ----------------------------------------------------------------------------------------------------

    /// Numbers of those with a vote.
    pub(crate) fn voters(&self) -> Vec<u64> {
        let mut voters: Vec<u64> = self.node.raft.prs().conf().voters().ids().iter().collect();
        voters.sort_unstable();
        voters
    }

    /// This member has a vote, and nobody else.
    pub(crate) fn has_only_vote(&self) -> bool {
        self.voters() == [self.number]
    }

    /// Whether this number takes part at all.
    pub(crate) fn takes_part(&self, number: u64) -> bool {
        self.node.raft.prs().get(number).is_some()
    }

    /// The leader's number, 0 when there is none.
    pub(crate) fn leader(&self) -> u64 {
        self.leader
    }

    pub(crate) fn term(&self) -> u64 {
        self.node.raft.term
    }

    /// A candidate that is not elected yet.
    pub(crate) fn stands(&self) -> bool {
        matches!(self.node.raft.state, StateRole::Candidate | StateRole::PreCandidate)
    }

    pub(crate) fn leads(&self) -> bool {
        self.node.raft.state == StateRole::Leader
    }

    /// A change of members is under way.
    pub(crate) fn is_changing(&self) -> bool {
        self.node.raft.has_pending_conf()
    }

    /// On the leader: the member has nearly everything, and has said so since it leads. Who has said nothing may have nothing on its
    /// disk yet, not even its number, however short the log is.
    pub(crate) fn is_near(&self, number: u64) -> bool {
        let last = self.node.store().last();
        let near = |matched: u64| matched > 0 && matched + LAG_MAX >= last;
        self.node.raft.prs().get(number).is_some_and(|p| near(p.matched))
    }

    pub(crate) fn waits_for_disk(&self) -> bool {
        !self.pending.is_empty()
    }

    /// This part in the store survives a power cut.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The position up to which the contents are.
    pub(crate) fn applied(&self) -> u64 {
        self.applied
    }

    /// The log has a change of the votes that is not applied.
    pub(crate) fn votes_are_undecided(&self) -> bool {
        let applied = self.applied();
        let mut later = self.node.store().entries.iter().filter(|e| e.index > applied);
        later.any(|e| e.get_entry_type() != EntryType::EntryNormal)
    }

    /// What this member has, whether agreed or not: for a forced quorum.
    pub(crate) fn everything(&self) -> Option<Contents> {
        let mut contents = self.contents.clone()?;
        let applied = self.applied();
        for entry in self.node.store().entries.iter().filter(|e| e.index > applied) {
            let change =
                if entry.get_entry_type() == EntryType::EntryNormal { &entry.data } else { &entry.context };
            if !change.is_empty() {
                contents.apply(change);
            }
        }
        Some(contents)
    }

    // ---- doing ------------------------------------------------------------------------------------------------------

    /// Where this member stands among those that might stand for election: they do so one after the other.
    pub(crate) fn set_rank(&mut self, rank: usize) {
        self.rank = rank.min(RANK_MAX - 1);
    }

    /// Time passes; not so much that this member would stand for election while it `waits` for something.
    pub(crate) fn tick(&mut self, waits: bool) {
        self.touched = true;
        if !self.pending.is_empty() && !self.leads() {
            // Nobody stands for election on what is not on disk yet.
            return;
        }
        if waits && self.node.raft.election_elapsed + 1 >= ELECTION_TICKS {
            return;
        }
        self.node.raft.set_randomized_election_timeout(ELECTION_TICKS + RANK_TICKS * self.rank);
        self.node.tick();
    }

    /// Asks a member whether it would vote: who would not says how much it knows to be agreed. It is meant to answer also when it
    /// hears a leader, and changes nothing by it.
    pub(crate) fn question(&self, number: u64) -> Vec<u8> {
        let log = &self.node.raft.raft_log;
        protocol_bytes(&Message {
            msg_type: MessageType::MsgRequestPreVote,
            to: number,
            from: self.number,
            term: self.term() + 1,
            index: log.last_index(),
            log_term: log.last_term(),
            context: CAMPAIGN_TRANSFER.into(),
            ..Message::default()
        })
    }

    /// The answer to a [question](Self::question). One that only says that the question was of too old a term is none.
    pub(crate) fn is_answer(&self, bytes: &[u8]) -> bool {
        let message = Message::parse_from_bytes(bytes).ok().filter(|m| m.to == self.number);
        message.is_some_and(|m| {
            m.get_msg_type() == MessageType::MsgRequestPreVoteResponse && (!m.reject || m.commit > 0)
        })
    }

    /// The number of the member a message is from.
    pub(crate) fn sender_of(&self, bytes: &[u8]) -> Option<u64> {
        Message::parse_from_bytes(bytes).ok().map(|m| m.from)
    }

    /// A message of a member. What is not for this member, makes no sense, or shows that one of the two has forgotten something, is dropped.
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Forgotten {
        self.touched = true;
        let Ok(message) = Message::parse_from_bytes(bytes) else { return Forgotten::Nothing };
        if message.to != self.number {
            return Forgotten::Nothing;
        }
        let forgotten = self.forgotten(&message);
        if forgotten == Forgotten::There {
            self.false_term = message.term;
        }
        if forgotten == Forgotten::Nothing {
            // The errors are of messages that came too late to matter.
            let _ = self.node.step(message);
        }
        forgotten
    }

    /// Each of these is a proof, whenever the message was sent: what is agreed is never taken back, and who is elected has all of it.
    fn forgotten(&self, message: &Message) -> Forgotten {
        let raft = &self.node.raft;
        let log = &raft.raft_log;
        match message.get_msg_type() {
            // What it says next may be longer than what is known here, so that nothing contradicts it.
            MessageType::MsgAppend | MessageType::MsgSnapshot | MessageType::MsgHeartbeat
                if message.term == self.false_term =>
            {
                Forgotten::There
            }
            // A leader tells a member to commit no more than that member has acknowledged, and who has acknowledged anything to a leader
            // has the entry that it began its term with.
            MessageType::MsgHeartbeat if message.commit > log.last_index() => Forgotten::Here,
            MessageType::MsgHeartbeat
                if message.term >= raft.term
                    && message.commit > log.committed
                    && log.last_term() < message.term =>
            {
                Forgotten::Here
            }
            MessageType::MsgAppendResponse | MessageType::MsgHeartbeatResponse
                if self.leads() && message.term == raft.term && message.commit > log.last_index() =>
            {
                Forgotten::Here
            }
            MessageType::MsgAppend | MessageType::MsgSnapshot if message.term >= raft.term => {
                let other = |index: u64, term: u64| {
                    let ours = log.term(index).unwrap_or(0);
                    index <= log.committed && ours != 0 && ours != term
                };
                let snapshot = message.get_snapshot().get_metadata();
                let differs = other(message.index, message.log_term)
                    || other(snapshot.index, snapshot.term)
                    || self.snapshot_lacks(message)
                    || message.entries.iter().any(|entry| other(entry.index, entry.term));
                if differs { Forgotten::There } else { Forgotten::Nothing }
            }
            // Who has the only vote has had part in everything that was agreed.
            MessageType::MsgRequestPreVoteResponse if message.reject && self.has_only_vote() => {
                let ours = log.term(message.commit).unwrap_or(0);
                let differs = ours != 0 && ours != message.commit_term;
                let lacks = message.commit > log.last_index() || message.commit > 0 && differs;
                if lacks { Forgotten::Here } else { Forgotten::Nothing }
            }
            _ => Forgotten::Nothing,
        }
    }

    /// A snapshot that comes as far as what is applied here, or further, lacks some of that: of a group, which is never taken away, the
    /// configuration, or one as new. One that ends before may just be late.
    fn snapshot_lacks(&self, message: &Message) -> bool {
        let snapshot = message.get_snapshot();
        let is_late = snapshot.get_metadata().index < self.applied;
        let Some(ours) = self.contents.as_ref().filter(|_| !is_late && !snapshot.data.is_empty()) else {
            return false;
        };
        let theirs = decode::<Contents>(&snapshot.data);
        theirs.is_some_and(|theirs| ours.groups.values().any(|group| theirs.stamp(group.id) < group.stamp))
    }

    /// Stands for election at once, on evidence that the leader is lost. False when that cannot be now: what this member has is
    /// not on disk yet.
    pub(crate) fn campaign(&mut self) -> bool {
        self.touched = true;
        if !self.pending.is_empty() || self.leads() {
            return false;
        }
        if self.stands() {
            // A candidate takes no evidence: it asks the others first whether they would vote again.
            return self.node.campaign().is_ok();
        }
        let message = Message {
            msg_type: MessageType::MsgTimeoutNow,
            to: self.number,
            from: self.number,
            ..Message::default()
        };
        let _ = self.node.step(message);
        true
    }

    /// Offers a change; it may be lost.
    pub(crate) fn propose(&mut self, change: &Change) {
        self.touched = true;
        let _ = self.node.propose(Vec::new(), encode(change));
    }

    /// Offers a change of a member's part in the votes; it may be lost.
    pub(crate) fn propose_vote(&mut self, number: u64, vote: Vote, change: Option<&Change>) {
        self.touched = true;
        let mut single = ConfChangeSingle { node_id: number, ..ConfChangeSingle::default() };
        single.set_change_type(match vote {
            Vote::Without => ConfChangeType::AddLearnerNode,
            Vote::With => ConfChangeType::AddNode,
            Vote::Gone => ConfChangeType::RemoveNode,
        });
        let mut all = ConfChangeV2::default();
        all.set_changes(vec![single].into());
        let context = change.map(encode).unwrap_or_default();
        let _ = self.node.propose_conf_change(context, all);
    }

    pub(crate) fn hand_lead_to(&mut self, number: u64) {
        self.touched = true;
        self.node.transfer_leader(number);
    }

    /// The record of this revision is on disk, and so are all before it.
    pub(crate) fn persisted(&mut self, revision: u64) {
        self.touched = true;
        while self.pending.front().is_some_and(|p| p.revision <= revision) {
            let done = self.pending.pop_front().expect("looked at just now");
            self.kept = true;
            self.kept_term = self.kept_term.max(done.term);
            self.node.on_persist_ready(done.ready);
            if done.snapshot > 0 {
                self.node.advance_apply_to(done.snapshot);
            }
            self.output.add(done.messages);
        }
    }

    /// The record as it is now, under a new revision: after a failure to write it.
    pub(crate) fn record_again(&mut self) {
        self.touched = true;
        self.revision += 1;
        for pending in &mut self.pending {
            pending.revision = self.revision;
        }
        self.output.record = Some((self.revision, Box::new(self.record())));
    }

    /// Everything that has to be done now.
    pub(crate) fn drain(&mut self) -> Output {
        if !std::mem::take(&mut self.touched) {
            return Output::default();
        }
        let mut write = false;
        while self.node.has_ready() {
            write |= self.handle_ready();
        }
        if self.node.store().entries.len() > ENTRIES_MAX || self.is_heavy() {
            self.fold();
        }
        if write {
            self.revision += 1;
            for pending in self.pending.iter_mut().filter(|p| p.revision == u64::MAX) {
                pending.revision = self.revision;
            }
            self.output.record = Some((self.revision, Box::new(self.record())));
        }
        let leader = self.node.raft.leader_id;
        self.output.leader |= std::mem::replace(&mut self.leader, leader) != leader;
        std::mem::take(&mut self.output)
    }

    /// Returns whether something must be written before its consequences are told.
    fn handle_ready(&mut self) -> bool {
        let mut ready = self.node.ready();
        let mut messages = ready.take_messages();
        let snapshots: Vec<u64> =
            messages.iter().filter(|m| m.get_msg_type() == MessageType::MsgSnapshot).map(|m| m.to).collect();
        let has_snapshot = !ready.snapshot().is_empty();
        if has_snapshot {
            let snapshot = ready.snapshot().clone();
            self.applied = snapshot.get_metadata().index;
            if let Some(contents) = decode::<Contents>(&snapshot.data) {
                self.output.groups.extend(contents.groups.keys());
                self.contents = Some(contents);
            }
            self.output.members = true;
            self.node.mut_store().restore(snapshot);
        }
        let mut voters_changed = false;
        for entry in ready.take_committed_entries() {
            self.applied = entry.index;
            voters_changed |= entry.get_entry_type() != EntryType::EntryNormal;
            self.apply(&entry);
        }
        // That a change of the voters is agreed is written down at once: who starts again votes by what he has on disk, and
        // those that are left may be a majority of the new voters and none of the old.
        let must_write = ready.must_sync() || !ready.entries().is_empty() || voters_changed;
        let shelf = self.node.mut_store();
        shelf.append(ready.entries());
        if let Some(hard) = ready.hs() {
            shelf.hard = hard.clone();
        }
        // Who has the only vote leads without having asked for any, and speaks in a term that its disk does not know yet: it would
        // begin the same one again after a power cut, and say other things in it.
        let term = shelf.hard.term;
        if term <= self.kept_term {
            self.output.add(std::mem::take(&mut messages));
        }
        let mut after = messages;
        after.extend(ready.take_persisted_messages());
        let number = ready.number();
        self.node.advance_append_async(ready);
        if !has_snapshot && self.pending.iter().all(|p| p.snapshot == 0) {
            self.node.advance_apply();
        }
        if must_write {
            let snapshot = if has_snapshot { self.applied } else { 0 };
            let revision = u64::MAX;
            self.pending.push_back(Pending { ready: number, term, snapshot, revision, messages: after });
        } else if let Some(last) = self.pending.back_mut() {
            last.ready = number;
            last.messages.extend(after);
        } else {
            self.node.on_persist_ready(number);
            self.output.add(after);
        }
        for to in snapshots {
            // Whether it came is found out by asking for what follows.
            self.node.report_snapshot(to, SnapshotStatus::Finish);
        }
        must_write
    }

    fn apply(&mut self, entry: &Entry) {
        if entry.get_entry_type() == EntryType::EntryNormal {
            if let Some(contents) = self.contents.as_mut().filter(|_| !entry.data.is_empty()) {
                self.output.groups.extend(contents.apply(&entry.data));
            }
            return;
        }
        let Ok(change) = ConfChangeV2::parse_from_bytes(&entry.data) else { return };
        self.node.mut_store().changing = true;
        let applied = self.node.apply_conf_change(&change);
        self.node.mut_store().changing = false;
        // A change that cannot be made is refused by every member alike.
        let Ok(votes) = applied else { return };
        if let Some(contents) = self.contents.as_mut().filter(|_| !entry.context.is_empty()) {
            contents.apply(&entry.context);
        }
        self.output.members = true;
        self.refresh(votes, entry.index, entry.term);
    }

    /// Makes the snapshot that members which lack the beginning get.
    fn refresh(&mut self, votes: ConfState, index: u64, term: u64) {
        let Some(contents) = &self.contents else { return };
        let mut fresh = Snapshot { data: encode(contents).into(), ..Snapshot::default() };
        let meta = fresh.mut_metadata();
        (meta.index, meta.term) = (index, term);
        meta.set_conf_state(votes);
        self.node.mut_store().fresh = fresh;
    }

    fn is_heavy(&self) -> bool {
        let shelf = self.node.store();
        let bytes: usize = shelf.entries.iter().map(|e| e.data.len() + e.context.len()).sum();
        shelf.entries.len() > 4 && bytes > 2 * shelf.base.data.len()
    }

    fn fold(&mut self) {
        let applied = self.applied();
        let Ok(term) = self.node.store().term(applied) else { return };
        if applied < self.node.store().first() {
            return;
        }
        let votes = self.node.raft.prs().conf().to_conf_state();
        self.refresh(votes, applied, term);
        self.node.mut_store().fold();
    }

    fn record(&self) -> StoreRecord {
        let shelf = self.node.store();
        let entries = shelf.entries.iter();
        StoreRecord {
            cluster: self.cluster,
            generation: self.generation,
            raft: self.number,
            hard: protocol_bytes(&shelf.hard),
            snapshot: protocol_bytes(&shelf.base),
            entries: entries.map(protocol_bytes).collect(),
        }
    }
}

fn protocol_bytes(message: &impl protobuf::Message) -> Vec<u8> {
    message.write_to_bytes().expect("writing to a vector cannot fail, and no field is required")
}

fn encode(value: &impl serde::Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("writing to a vector cannot fail and every type here has a fixed shape")
}

fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}
