//! Changes at other servers inside a transaction: branches of it, by the procedures of XA (`xp_sqljdbc_xa_…`), decided by a log here.
//!
//! ```text
//!   first change at a server   xa_start (over one connection) ── cookie ──► another works in the branch
//!   COMMIT                     row of master: branch, server, who decides ──hardened──►
//!                              xa_end, xa_prepare of each ──►
//!                              the first database commits with its decision ──hardened──► xa_commit of each, the row goes
//! ```
//!
//! Whatever dies on the way: a branch with a row is decided as the database says that its row names ([`super::settle`]); one without a row was never
//! prepared, and its server rolls it back with the connection. Where nothing was written here, and one server only was reached, its commit
//! decides (one phase).

use super::errors;
use super::link::{Link, Request, Target};
use super::links::{Links, Purpose, Server};
use crate::catalog::object_class;
use crate::distributed::{Uow, Xid};
use crate::engine::Engine;
use crate::session::info::Info;
use crate::session::options::Switches;
use crate::sink::{RpcParam, RpcValue};
use keel_types::error::Result;
use keel_types::{Length, SqlType, Value};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The format of branches that this server makes: "KEEL".
const FORMAT: i32 = 0x4B45_454C;
const SUCCESS: i64 = 0x0400_0000;
const ONE_PHASE: i64 = 0x4000_0000;
/// `XA_RDONLY`
const READ_ONLY: i64 = 3;
/// `XAER_NOTA`
const UNKNOWN: i64 = -4;
/// The place of the cookie among the arguments of `xa_start`.
const COOKIE_AT: usize = 5;
const INT: SqlType = SqlType::Int;
const TEXT: SqlType = SqlType::VarChar(Length::Limited(8000));
const BYTES: SqlType = SqlType::VarBinary(Length::Limited(8000));

/// A part of the open transaction at another server.
pub(super) struct Branch {
    server: Arc<Server>,
    xid: Xid,
    /// Works in it; not here while a statement asks over it.
    work: Option<Box<dyn Link>>,
    /// Says what becomes of it.
    control: Box<dyn Link>,
    /// Savepoints taken before it began, and before it was last changed.
    began: u64,
    changed: u64,
    /// Its connection is gone, and what it had done with it.
    lost: bool,
}

/// The parts of the open transaction at other servers.
#[derive(Default)]
pub(super) struct Branches {
    all: Vec<Branch>,
    /// What was to be undone of it could not be undone alone.
    doomed: bool,
}

/// A branch that may be prepared, as master keeps it until it is decided.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PendingBranch {
    /// Number of the row.
    pub id: i32,
    /// The transaction.
    pub uow: Uow,
    /// Family of the database whose log decides.
    pub decider: [u8; 16],
    /// The branch.
    pub xid: Xid,
    /// Name of its server, for messages.
    pub server: String,
    /// Where that is, and who says what becomes of it: sealed.
    pub sealed: Vec<u8>,
}

/// What is sealed of a [`Target`].
#[derive(Serialize, Deserialize)]
struct Address {
    host: String,
    port: Option<u16>,
    instance: String,
    encrypt: u8,
    trust: bool,
    certificate_name: Option<String>,
    all_addresses: bool,
    user: String,
    password: String,
    timeout_s: u64,
}

fn kept(target: &Target) -> String {
    let address = Address {
        host: target.host.clone(),
        port: target.port,
        instance: target.instance.clone(),
        encrypt: target.encrypt as u8,
        trust: target.trust,
        certificate_name: target.certificate_name.clone(),
        all_addresses: target.all_addresses,
        user: target.user.clone(),
        password: target.password.clone(),
        timeout_s: target.timeout.as_secs(),
    };
    serde_json::to_string(&address).expect("plain structures become JSON")
}

impl PendingBranch {
    /// Who says what becomes of it, and where. `None` when the service master key is another one by now.
    pub(super) fn target(&self, engine: &Engine) -> Option<Target> {
        use super::link::Encrypt;
        let address: Address = serde_json::from_str(&engine.open_password(Some(&self.sealed)).ok()?).ok()?;
        Some(Target {
            host: address.host,
            port: address.port,
            instance: address.instance,
            encrypt: [Encrypt::Optional, Encrypt::Mandatory, Encrypt::Strict]
                .into_iter()
                .find(|e| *e as u8 == address.encrypt)
                .unwrap_or(Encrypt::Mandatory),
            trust: address.trust,
            certificate_name: address.certificate_name,
            read_only: false,
            all_addresses: address.all_addresses,
            user: address.user,
            password: address.password,
            database: "master".to_owned(),
            timeout: std::time::Duration::from_secs(address.timeout_s),
        })
    }
}

// ---- the procedures of XA ----

fn given(name: &str, ty: SqlType, value: Value) -> RpcParam {
    RpcParam { name: SmolStr::new(name), ty, value: RpcValue::Scalar(value), output: false }
}

fn wanted(ty: SqlType) -> RpcParam {
    RpcParam { output: true, ..given("", ty, Value::Null) }
}

fn of_xid(xid: &Xid) -> [RpcParam; 2] {
    let part = |bytes: &[u8]| given("", BYTES, Value::bytes(bytes.to_vec()));
    [part(&xid.global), part(&xid.branch)]
}

/// What a verb came to: its status, what it says, and the cookie of one that begins.
struct Verdict {
    status: i64,
    text: String,
    cookie: Option<Value>,
}

/// Calls a verb over a connection that nobody else uses.
fn verb(link: &mut dyn Link, name: &str, parameters: Vec<RpcParam>) -> std::result::Result<Verdict, String> {
    use super::link::{Broken, Reply, Wait};
    let parameters = [vec![wanted(INT), wanted(TEXT)], parameters].concat();
    let name = format!("master..xp_sqljdbc_xa_{name}");
    link.ask(&Request::Call(&name, &parameters), false).map_err(|refused| refused.0)?;
    // What is decided must be heard: who asked cannot stop that.
    let wait = Wait { stop: &|| false, deadline: None };
    let (mut outputs, mut failed) = (HashMap::new(), None);
    loop {
        match link.next(&wait) {
            Ok(Some(Reply::Output(at, _, value))) => drop(outputs.insert(at, value)),
            Ok(Some(Reply::Message(e))) if e.severity > 10 => failed = Some(e.message),
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(Broken::Lost(reason)) => return Err(reason),
            Err(Broken::Stopped | Broken::TimedOut) => return Err("It was not answered.".to_owned()),
        }
    }
    if let Some(text) = failed {
        return Err(text);
    }
    let status = outputs.get(&0).and_then(Value::as_int).ok_or("It has no status.")?;
    let text = outputs.get(&1).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Verdict { status, text, cookie: outputs.remove(&COOKIE_AT) })
}

fn begin(link: &mut dyn Link, xid: &Xid) -> std::result::Result<Vec<u8>, String> {
    verb(link, "init_ex", vec![wanted(TEXT)])?;
    let [global, branch] = of_xid(xid);
    let number = |n: i64| given("", INT, Value::Int(n));
    let more = [wanted(TEXT), wanted(INT), wanted(INT), wanted(INT), wanted(TEXT), wanted(TEXT), wanted(INT)];
    let parameters = [
        vec![global, branch, number(0), wanted(BYTES), number(0), number(i64::from(xid.format))],
        more.into_iter().collect(),
        vec![wanted(BYTES)],
    ];
    let verdict = verb(link, "start", parameters.concat())?;
    if verdict.status != 0 {
        return Err(verdict.text);
    }
    let cookie = verdict.cookie.as_ref().and_then(|v| v.as_bytes().map(<[u8]>::to_vec));
    cookie.ok_or_else(|| "It has no cookie.".to_owned())
}

fn said(
    link: &mut dyn Link,
    name: &str,
    xid: &Xid,
    flags: Option<i64>,
) -> std::result::Result<Verdict, String> {
    let [global, branch] = of_xid(xid);
    let number = |n: i64| given("", INT, Value::Int(n));
    let mut parameters = vec![global, branch];
    parameters.extend(flags.map(number));
    parameters.push(number(i64::from(xid.format)));
    verb(link, name, parameters)
}

/// Commits a prepared branch, or rolls one back. An error says why that is not known; one that is not there was decided before.
pub(super) fn decide(link: &mut dyn Link, xid: &Xid, commit: bool) -> std::result::Result<(), String> {
    let verdict =
        if commit { said(link, "commit", xid, Some(0)) } else { said(link, "rollback", xid, None) }?;
    if verdict.status == 0 || verdict.status == UNKNOWN || !commit && (100..=107).contains(&verdict.status) {
        return Ok(());
    }
    Err(verdict.text)
}

// ---- branches of a session's transaction ----

impl Links {
    /// The connection of the branch at a server: of the one that is there, or of a new one, where the purpose wants one. `None`
    /// where there is no transaction to be a part of.
    ///
    /// # Errors
    /// 7395 and 7391 when the change cannot be a part of the transaction; 3910 while another statement uses the branch.
    pub(super) fn branch_link(
        &self,
        info: &Info,
        server: &Arc<Server>,
        purpose: Purpose,
    ) -> Result<Option<Box<dyn Link>>> {
        let open = info.transaction.borrow().count > 0;
        let mut branches = self.branches.lock();
        let marks = self.marks();
        if let Some(branch) = branches.all.iter_mut().find(|b| b.server.target == server.target) {
            let link = branch.work.take().ok_or_else(crate::distributed::errors::context_in_use)?;
            if purpose != Purpose::Read {
                branch.changed = marks;
            }
            return Ok(Some(link));
        }
        let joins = match purpose {
            Purpose::Read => false,
            Purpose::Change => true,
            Purpose::Call => server.promotion,
        };
        if !open || !joins {
            return Ok(None);
        }
        let refused = || errors::no_distributed_transaction(&server.provider, &server.name);
        if !server.promotion || info.enlisted.borrow().is_some() {
            return Err(refused());
        }
        if purpose == Purpose::Change && !info.on(Switches::XACT_ABORT) {
            return Err(errors::no_nested_transaction(&server.provider, &server.name));
        }
        let mut branch = self.join(info, server, marks)?;
        let link = branch.work.take();
        branches.all.push(branch);
        self.any.store(true, Ordering::Relaxed);
        Ok(link)
    }

    fn join(&self, info: &Info, server: &Arc<Server>, marks: u64) -> Result<Branch> {
        let refused = |why: &str| {
            info.say(errors::returned_message(&server.provider, &server.name, why));
            errors::no_distributed_transaction(&server.provider, &server.name)
        };
        let uow = *info.shared.uow.lock().get_or_insert_with(|| info.engine.new_uow());
        let xid = Xid { format: FORMAT, global: uow.to_vec(), branch: info.engine.new_uow().to_vec() };
        let (mut control, mut work) = (server.connect(info)?, server.connect(info)?);
        if let Some(text) = super::links::settings(info) {
            ask(&mut *work, &Request::Batch(&text)).map_err(|why| refused(&why))?;
        }
        let cookie = begin(&mut *control, &xid).map_err(|why| refused(&why))?;
        ask(&mut *work, &Request::Propagate(&cookie)).map_err(|why| refused(&why))?;
        Ok(Branch {
            server: Arc::clone(server),
            xid,
            work: Some(work),
            control,
            began: marks,
            changed: marks,
            lost: false,
        })
    }

    /// A statement has done with the connection of a branch.
    pub(super) fn branch_back(&self, target: &Target, link: Box<dyn Link>) {
        if let Some(branch) = self.branches.lock().all.iter_mut().find(|b| b.server.target == *target) {
            branch.work = Some(link);
        }
    }

    /// The connection of a branch is gone.
    pub(super) fn branch_lost(&self, target: &Target) {
        if let Some(branch) = self.branches.lock().all.iter_mut().find(|b| b.server.target == *target) {
            branch.lost = true;
        }
    }

    /// Whether the open transaction has parts at other servers.
    #[must_use]
    pub fn has_branches(&self) -> bool {
        self.any.load(Ordering::Relaxed) && !self.branches.lock().all.is_empty()
    }

    /// A savepoint is taken: its number, which is the session's and never comes again.
    pub fn mark(&self) -> u64 {
        self.marks.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Savepoints taken so far.
    #[must_use]
    pub fn marks(&self) -> u64 {
        self.marks.load(Ordering::Relaxed)
    }

    /// Undoes what was done after a savepoint, where that is all of a branch. One that had begun before cannot be undone in part:
    /// the transaction can only be rolled back then.
    pub fn rollback_to(&self, mark: u64) {
        if !self.any.load(Ordering::Relaxed) {
            return;
        }
        let mut branches = self.branches.lock();
        let (gone, kept): (Vec<Branch>, Vec<Branch>) =
            branches.all.drain(..).partition(|branch| branch.began >= mark);
        branches.doomed |= kept.iter().any(|branch| branch.changed >= mark);
        branches.all = kept;
        drop(branches);
        self.undo(gone);
    }

    /// Undoes all branches.
    pub fn rollback(&self) {
        if !self.any.load(Ordering::Relaxed) {
            return;
        }
        let gone = std::mem::take(&mut *self.branches.lock()).all;
        self.undo(gone);
    }

    fn undo(&self, gone: Vec<Branch>) {
        for mut branch in gone {
            branch.leave();
            // Who cannot be told finds out when its connection ends.
            let told = decide(&mut *branch.control, &branch.xid, false).is_ok();
            self.keep_links(branch, told);
        }
    }

    fn keep_links(&self, branch: Branch, usable: bool) {
        if usable && !branch.lost {
            let target = branch.server.target.clone();
            if let Some(work) = branch.work {
                self.rest(target.clone(), work);
            }
            self.rest(target, branch.control);
        }
    }

    /// Takes the branches out, to be committed. Error 1206 when they cannot be: they are rolled back then.
    pub(crate) fn take_branches(self: &Arc<Links>) -> Result<Outside> {
        if !self.any.load(Ordering::Relaxed) {
            return Ok(Outside::default());
        }
        let branches = std::mem::take(&mut *self.branches.lock());
        let outside = Outside { links: Some(Arc::clone(self)), all: branches.all, pending: Vec::new() };
        if branches.doomed || outside.all.iter().any(|b| b.lost || b.work.is_none()) {
            return Err(errors::distributed_cancelled());
        }
        Ok(outside)
    }
}

impl Branch {
    /// Nobody works in it any more.
    fn leave(&mut self) -> bool {
        let left = self.work.as_mut().is_none_or(|work| ask(&mut **work, &Request::Propagate(&[])).is_ok());
        self.lost |= !left;
        let ended = said(&mut *self.control, "end", &self.xid, Some(SUCCESS));
        left && ended.is_ok_and(|verdict| verdict.status == 0)
    }
}

/// Asks over a connection of a branch and reads the answer; the first error's text.
fn ask(link: &mut dyn Link, request: &Request<'_>) -> std::result::Result<(), String> {
    use super::link::{Broken, Reply, Wait};
    link.ask(request, false).map_err(|refused| refused.0)?;
    let wait = Wait { stop: &|| false, deadline: None };
    let mut failed = None;
    loop {
        match link.next(&wait) {
            Ok(Some(Reply::Message(e))) if e.severity > 10 => {
                failed.get_or_insert(e.message);
            }
            Ok(Some(_)) => {}
            Ok(None) => return failed.map_or(Ok(()), Err),
            Err(Broken::Lost(reason)) => return Err(reason),
            Err(Broken::Stopped | Broken::TimedOut) => return Err("It was not answered.".to_owned()),
        }
    }
}

/// The branches of a transaction that is being committed. Dropped before it is decided they are rolled back.
#[derive(Default)]
pub(crate) struct Outside {
    /// Where their connections go afterwards; `None` without branches.
    links: Option<Arc<Links>>,
    all: Vec<Branch>,
    pending: Vec<PendingBranch>,
}

impl Outside {
    fn keep_links(&self, branch: Branch, usable: bool) {
        if let Some(links) = &self.links {
            links.keep_links(branch, usable);
        }
    }

    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Commits the only one, which decides.
    ///
    /// # Errors
    /// 1206 when it is rolled back, or when nobody knows.
    pub(crate) fn commit_alone(mut self) -> Result<()> {
        let Some(mut branch) = self.all.pop() else { return Ok(()) };
        if !branch.leave() {
            self.all.push(branch);
            return Err(errors::distributed_cancelled());
        }
        let verdict = said(&mut *branch.control, "commit", &branch.xid, Some(ONE_PHASE));
        let done = verdict.is_ok_and(|verdict| verdict.status == 0);
        self.keep_links(branch, done);
        if done { Ok(()) } else { Err(errors::distributed_cancelled()) }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Has every branch prepared, after master knows of it. Those that have only read are over.
    ///
    /// # Errors
    /// 1206 when one cannot be: all are to be rolled back. Those of writing master.
    pub(crate) fn prepare(&mut self, engine: &Engine, uow: Uow, decider: [u8; 16]) -> Result<()> {
        for branch in &self.all {
            let sealed = engine.seal_password(&kept(&branch.server.target))?;
            let (xid, server) = (branch.xid.clone(), branch.server.name.clone());
            self.pending.push(PendingBranch { id: 0, uow, decider, xid, server, sealed });
        }
        engine.put_pending_branches(&mut self.pending)?;
        let mut prepared = Vec::new();
        for mut branch in std::mem::take(&mut self.all) {
            let verdict = if branch.leave() {
                said(&mut *branch.control, "prepare_ex", &branch.xid, Some(0))
            } else {
                Err(String::new())
            };
            match verdict.map(|verdict| verdict.status) {
                Ok(0) => prepared.push((branch, false)),
                Ok(READ_ONLY) => {
                    self.told(engine, &branch.xid);
                    self.keep_links(branch, true);
                }
                _ => prepared.push((branch, true)),
            }
        }
        let failed = prepared.iter().any(|(_, failed)| *failed);
        self.all = prepared.into_iter().map(|(branch, _)| branch).collect();
        if failed { Err(errors::distributed_cancelled()) } else { Ok(()) }
    }

    /// Tells every branch that it is committed; whether all have heard. Who cannot be told is told later ([`super::settle`]).
    pub(crate) fn finish(mut self, engine: &Engine) -> bool {
        for mut branch in std::mem::take(&mut self.all) {
            let done = decide(&mut *branch.control, &branch.xid, true).is_ok();
            if done {
                self.told(engine, &branch.xid);
            }
            self.keep_links(branch, done);
        }
        self.pending.is_empty()
    }

    /// Nobody here knows yet what was decided, if anything was to be: whoever looks after it finds out. Whether nothing was.
    pub(crate) fn leave_undecided(mut self) -> bool {
        let none = self.pending.is_empty();
        self.all.clear();
        none
    }

    fn told(&mut self, engine: &Engine, xid: &Xid) {
        if let Some(at) = self.pending.iter().position(|p| p.xid == *xid) {
            engine.forget_pending_branch(self.pending.remove(at).id);
        }
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        if let Some(links) = &self.links {
            links.undo(std::mem::take(&mut self.all));
        }
    }
}

impl Engine {
    /// Writes rows for branches that are about to be prepared; durable when it returns.
    fn put_pending_branches(&self, pending: &mut [PendingBranch]) -> Result<()> {
        let _changing = self.linked.changing.lock();
        let mut id = self.last_master_row(object_class::REMOTE_BRANCH)?.unwrap_or(0);
        for branch in pending {
            id = id.checked_add(1).unwrap_or(1);
            branch.id = id;
            self.put_master_row(object_class::REMOTE_BRANCH, id, Some(branch))?;
        }
        Ok(())
    }

    pub(super) fn forget_pending_branch(&self, id: i32) {
        // A row that stays is looked at again, and found to be decided.
        let _ = self.put_master_row::<PendingBranch>(object_class::REMOTE_BRANCH, id, None);
    }

    pub(super) fn pending_branches(&self) -> Result<Vec<PendingBranch>> {
        self.master_rows(object_class::REMOTE_BRANCH)
    }
}
