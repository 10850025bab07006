//! One client's session.
//!
//! A [`Session`] is what the server holds for a connection: it takes requests and answers through a
//! [`crate::ResultSink`]. Its parts:
//!
//! | module | owns |
//! | --- | --- |
//! | [`info`] | options, counters, names, errors being handled: what statements ask while they run |
//! | [`txns`] | the store's transactions |
//! | [`points`] | where they read in databases that are copies |
//! | `parallel` | how many threads work for a statement |
//! | `enlist` | working in a transaction that a manager decides about |
//! | [`scope`] | what names mean |
//! | `context` | what `master` and `msdb` are, in the context of a contained group |
//! | [`temp`] | temporary tables |
//! | [`prepared`] | prepared statements |
//! | [`xml_documents`] | documents for OPENXML |
//! | [`options`] | SET options |
//! | [`recovery`] | what a client keeps to have its session made again |

pub mod app_locks;
pub mod bulk;
pub(crate) mod bulk_file;
mod classify;
mod context;
mod enlist;
pub mod identity;
pub mod info;
pub mod log_mark;
pub mod options;
mod parallel;
pub mod points;
pub mod prepared;
pub mod recovery;
pub mod scope;
pub mod temp;
pub mod txns;
mod unsettled;
pub mod usage;
pub mod xml_documents;

pub use bulk::{BulkSource, BulkTarget};
pub use unsettled::Unsettled;

use crate::config::USER_OPTIONS;
use crate::engine::{DatabaseEntry, Engine, SessionShared, Traffic};
use crate::errors;
use crate::events::fire::call_text;
use crate::hadr::{Access, ContainedGroup, Intent, access};
use crate::program::Program;
use crate::run::{Frame, Halt, Runner, called, run_rpc, use_database};
use crate::sink::Unheard;
use crate::sink::{DoneInfo, DoneKind, ResultSink, RpcParam, RpcProcedure, TransactionRequest, command};
use crate::windows::Account;
use info::{Info, Pending};
use keel_query::IsolationLevel;
use keel_types::error::Result;
use keel_types::{SqlError, Value};
use options::{SetOptions, Switches};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use txns::TxnSet;

/// Who connects, from where, with what.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// Login name.
    pub login: String,
    /// The password that it came with: linked servers may be told it.
    pub password: Secret,
    /// The login's security identifier; empty of sessions of the server's own.
    pub sid: Vec<u8>,
    /// The account of a domain that came by Kerberos; `None` of who came with a password.
    pub account: Option<Arc<Account>>,
    /// Member of sysadmin.
    pub sysadmin: bool,
    /// A user of that database, who has logged in to it and is nobody elsewhere: its `principal_id` there.
    pub user: Option<(keel_base::DatabaseId, i32)>,
    /// Initial database; empty for the login's default.
    pub database: String,
    /// APP_NAME().
    pub app_name: String,
    /// HOST_NAME().
    pub host_name: String,
    /// Client library name.
    pub client_interface: String,
    /// Process id at the client.
    pub client_pid: i32,
    /// Client's network address.
    pub client_address: String,
    /// Client's port; `None` for sessions that did not come over a network.
    pub client_port: Option<u16>,
    /// Where the client connected to.
    pub local: Option<std::net::SocketAddr>,
    /// Its packets.
    pub traffic: Arc<Traffic>,
    /// Negotiated packet size.
    pub packet_size: i32,
    /// Connection is encrypted.
    pub encrypted: bool,
    /// Version of TDS that the client asked for; 0 for sessions that did not come over a network.
    pub tds_version: u32,
    /// Login asked for ODBC-style defaults (ANSI options on). DB-Library clients have them off.
    pub ansi_defaults: bool,
    /// Language that the client asks for; empty for the login's.
    pub language: String,
    /// ApplicationIntent=ReadOnly.
    pub read_only_intent: bool,
    /// The client understands being sent to another instance (TDS 7.4 and later).
    pub can_route: bool,
    /// The contained group in whose context it is: whose logins `login` is one of, and what `master` and `msdb` are.
    pub context: Option<ContainedGroup>,
}

impl SessionOptions {
    /// How the client has proved who it is, as `auth_scheme` says it.
    #[must_use]
    pub(crate) fn auth_scheme(&self) -> &'static str {
        if self.account.is_some() { "KERBEROS" } else { "SQL" }
    }

    /// Domain and name of the account that it came with; empty when it came with a password.
    #[must_use]
    pub(crate) fn account(&self) -> (&str, &str) {
        crate::windows::parts(&self.login).filter(|_| self.account.is_some()).unwrap_or_default()
    }

    /// `security_id`: that of the server's own sessions is `sa`'s.
    #[must_use]
    pub(crate) fn security_id(&self) -> Vec<u8> {
        if self.sid.is_empty() { vec![1] } else { self.sid.clone() }
    }
}

/// A password that is shown nowhere.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Option<Arc<str>>);

impl Secret {
    /// Keeps one.
    #[must_use]
    pub fn new(text: &str) -> Secret {
        Secret(Some(text.into()))
    }

    /// What it is; `None` of a session that did not come with a password.
    #[must_use]
    pub(crate) fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Stops what a session is doing, from another thread (attention, KILL, shutdown).
#[derive(Clone)]
pub struct CancelHandle {
    session: Arc<SessionShared>,
}

impl CancelHandle {
    /// Asks the running request to stop; it ends within a row's work, also out of lock waits and WAITFOR. A request
    /// that starts later is not affected.
    pub fn cancel(&self) {
        self.session.cancel.cancel();
    }

    /// Returns when what the session has committed is durable, and so before anything is sent of an answer; false when nobody knows
    /// what became of it. On the session's own thread only.
    #[must_use]
    pub fn settle(&self) -> bool {
        self.session.unsettled.settle(self.session.id).is_ok()
    }

    /// Ends the session, as KILL does: what runs stops, and so does whatever starts later.
    pub fn end(&self) {
        self.session.kill();
    }
}

/// One client's session: database, transaction, SET options, temp tables, prepared statements. One thread at a time.
pub struct Session {
    info: Box<Info>,
    txns: TxnSet,
    database: String,
    /// What a pending `INSERT BULK` expects, for the server to look at.
    bulk_target: Option<BulkTarget>,
    route: Option<(String, u16)>,
    /// Where the database that it began in is found when it is not here any more.
    failover_partner: Option<String>,
}

impl Session {
    pub(crate) fn open(engine: Arc<Engine>, options: SessionOptions) -> Result<Session> {
        let context = options.context.as_ref();
        let login = || engine.login_of(&options);
        let named = if options.database.is_empty() {
            login().map_or_else(|| "master".to_owned(), |login| login.default_database)
        } else {
            options.database.clone()
        };
        let wanted = context.map_or(&*named, |group| group.real_name(&named)).to_owned();
        let (route, failover_partner) = match engine.hadr() {
            Some(hadr) => {
                let intent = Intent { read_only: options.read_only_intent, can_route: options.can_route };
                let state = hadr.state();
                let route = match access::login(&state, &wanted, intent, &engine.routing)? {
                    Access::Here => None,
                    Access::Route { host, port } => Some((host, port)),
                };
                (route, state.failover_partner(&wanted))
            }
            None => (None, None),
        };
        let entry = engine.database(&wanted).filter(|e| !e.picture().settings().offline);
        let entry = entry.ok_or_else(|| errors::cannot_open_database(&wanted))?;
        if entry.is_restoring() {
            return Err(errors::restoring(&wanted));
        }
        Engine::wait_to_log_in(&entry);
        let language = match options.language.as_str() {
            "" if options.user.is_some() => String::new(),
            "" => login().map_or_else(String::new, |login| login.default_language),
            asked_for => asked_for.to_owned(),
        };
        let user_options = engine.configuration(USER_OPTIONS).running;
        let initial = SetOptions::at_login(options.ansi_defaults, &language, user_options);
        let group = Arc::clone(engine.governor().running().default_group());
        let shared = engine.sessions.register(options, initial, group, engine.now_local());
        let mut txns = TxnSet::new(Arc::clone(&engine), Arc::clone(&shared));
        let info =
            Box::new(Info::new(engine, shared, Arc::clone(txns.points()), Arc::clone(txns.links()), entry));
        let database = info.shown_here();
        info.meter.start(&info);
        let here = info.current_database();
        let admitted = info.engine.admits(&here, info.shared.id);
        if !matches!(admitted, Ok(true)) || info.check_entry(&here).is_err() {
            return Err(errors::cannot_open_database(&wanted));
        }
        info.shared.admitted.store(true, Ordering::Release);
        txns.rollback();
        Ok(Session { info, txns, database, bulk_target: None, route, failover_partner })
    }

    /// `@@SPID`.
    #[must_use]
    pub fn id(&self) -> u16 {
        self.info.shared.id as u16
    }

    /// Host and port the client is to be sent to instead (read-only and read-write routing), answered with the login.
    #[must_use]
    pub fn route(&self) -> Option<(&str, u16)> {
        self.route.as_ref().map(|(host, port)| (host.as_str(), *port))
    }

    /// Where the client is to look for its database when it is not here any more: its mirror, answered with the login.
    #[must_use]
    pub fn failover_partner(&self) -> Option<&str> {
        self.failover_partner.as_deref()
    }

    /// The instance.
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.info.engine
    }

    /// Name of the current database.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The current database's collation.
    #[must_use]
    pub fn collation(&self) -> keel_types::Collation {
        self.info.collation_here()
    }

    /// Descriptor of the open transaction, 0 when none.
    #[must_use]
    pub fn transaction_descriptor(&self) -> u64 {
        let state = self.info.transaction.borrow();
        if state.count > 0 { state.descriptor } else { 0 }
    }

    /// A handle that stops what this session does.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle { session: Arc::clone(&self.info.shared) }
    }

    /// True once an error of severity 20 or more, or KILL, has ended the session: the connection must be closed.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.info.is_killed()
    }

    /// The session begins, or (`pooled`) its connection is taken from a pool: fires the server's triggers of LOGON. Error
    /// 17892 when one refuses it: by an error, by ROLLBACK, or by returning rows; 33239 when an audit cannot record it. The connection
    /// must be closed then. Without `triggers`, which is the way in where they refuse everybody, none fires and no audit refuses.
    pub fn log_on(&mut self, pooled: bool, triggers: bool) -> Result<()> {
        if triggers {
            self.fire_logon_triggers(pooled)?;
        }
        if let Err(e) = self.info.audit_login(pooled)
            && triggers
        {
            self.info.shared.killed.store(true, Ordering::Release);
            return Err(e);
        }
        self.info.logged_in(pooled);
        Ok(())
    }

    fn fire_logon_triggers(&mut self, pooled: bool) -> Result<()> {
        if !crate::triggers::any_logon(&self.info) {
            return Ok(());
        }
        self.begin_request("");
        let info = &self.info;
        let mut nobody = Unheard;
        let mut runner = Runner::new(info, &mut self.txns, &mut nobody);
        let options = info.options.borrow().clone();
        info.change_options(|now| now.switches.set(Switches::NOCOUNT, true));
        let outcome = runner.fire_logon(pooled).and_then(|()| runner.statement_succeeded());
        let outcome = outcome.and_then(|()| info.settle());
        if outcome.is_err() {
            runner.rollback_everything();
        }
        info.change_options(|now| *now = options);
        // Clients are told nothing of what the triggers say.
        let said = std::mem::take(&mut *info.pending.borrow_mut());
        let rows = said.iter().any(|p| matches!(p, Pending::Columns(_)));
        let refused = match outcome {
            Err(e) => Some(e.message.clone()),
            Ok(()) if rows => Some("A logon trigger returned a result set.".to_owned()),
            Ok(()) => None,
        };
        self.end_request(&mut Unheard);
        let Some(why) = refused else { return Ok(()) };
        let e = errors::logon_failed_by_trigger(self.info.login());
        let client = &self.info.shared.login.client_address;
        self.info.engine.options().log.write(&format!("{why} {} [CLIENT: {client}]", e.message));
        self.info.shared.killed.store(true, Ordering::Release);
        Err(e)
    }

    /// Runs a batch. All outcomes, errors included, go to the sink.
    pub fn execute_batch(&mut self, text: &str, sink: &mut dyn ResultSink) {
        self.begin_request(text);
        if !self.info.admit() {
            self.end_request(sink);
            return;
        }
        let watched = self.info.batch_starting(text);
        if self.refuse_completed(sink) || self.refuse_unaudited(text, sink) {
            return;
        }
        let mut runner = Runner::new(&self.info, &mut self.txns, sink);
        let text: Arc<str> = text.into();
        match runner.text_program(&text, false) {
            Ok((program, _)) if runner.only_parses(&program) => runner.final_done(false),
            Ok((program, values)) => run_batch(&mut runner, &program, values),
            // What else than the syntax is wrong is not asked.
            Err(_) if self.info.on(Switches::PARSEONLY) && parses(&self.info, &text) => {
                runner.final_done(false);
            }
            Err(e) => {
                let e = errors::located(e, 1, None);
                self.info.error.set(e.number);
                runner.report(&e);
                runner.final_done(true);
            }
        }
        self.end_request(sink);
        self.settle(sink);
        self.info.request_completed(watched);
        self.info.audit_batch_completed(&text);
    }

    /// Returns when what the request has committed is durable: before its answer is sent to the end. All requests do that themselves but
    /// [remote calls](Session::execute_rpc), of which a message may have several. When it cannot be told what became of it, the sink takes
    /// back what it can of the answer, is told that, and the session ends.
    pub fn settle(&mut self, sink: &mut dyn ResultSink) {
        let Err(e) = self.info.settle() else { return };
        sink.retract();
        self.info.shared.killed.store(true, Ordering::Release);
        // If it was said before that the session is killed, that has been taken back with the rest: an answer without an error would be taken
        // for a success.
        self.info.told_killed.set(true);
        let mut runner = Runner::new(&self.info, &mut self.txns, sink);
        runner.rollback_everything();
        runner.report(&errors::located(e, 1, None));
        runner.final_done(true);
    }

    /// The results of the next request are to be watched, or are not.
    pub fn watch_request(&mut self, request: Option<crate::notify::Request>) {
        *self.info.watched.borrow_mut() = request;
    }

    /// Runs a procedure. All outcomes, errors included, go to the sink; ends with return status, output
    /// parameters and a `DoneKind::Proc`. What it has committed is durable only after [`Session::settle`].
    pub fn execute_rpc(
        &mut self,
        procedure: RpcProcedure<'_>,
        parameters: Vec<RpcParam>,
        sink: &mut dyn ResultSink,
    ) {
        let text = match procedure {
            RpcProcedure::Name(name) => name,
            RpcProcedure::Id(_) => "",
        };
        self.begin_request(text);
        if !self.info.admit() {
            self.end_request(sink);
            return;
        }
        let watched = self.info.call_starting(called(procedure), &parameters);
        let audited = self.info.engine.audits.any();
        let text = if audited { call_text(called(procedure), &parameters) } else { String::new() };
        if self.refuse_completed(sink) || audited && self.refuse_unaudited(&text, sink) {
            return;
        }
        let mut runner = Runner::new(&self.info, &mut self.txns, sink);
        run_rpc(&mut runner, procedure, parameters);
        self.end_request(sink);
        self.info.request_completed(watched);
        if audited {
            self.info.audit_batch_completed(&text);
        }
    }

    fn begin_request(&mut self, text: &str) {
        let shared = &self.info.shared;
        shared.cancel.reset();
        if self.info.is_killed() {
            // Asked after the reset, or a KILL between the two would be forgotten.
            shared.cancel.cancel();
        }
        shared.running.store(true, Ordering::Relaxed);
        self.info.begin_usage();
        shared.request_started.store(self.info.engine.now_local(), Ordering::Relaxed);
        shared.requests.fetch_add(1, Ordering::Relaxed);
        self.info.engine.count_request();
        if !text.is_empty() {
            let mut last = shared.text.lock();
            if **last != *text {
                *last = text.into();
            }
        }
    }

    /// Removes at most so many old versions of a table's rows ([`crate::history_cleanup`]); says how many.
    pub(crate) fn clean_history(
        &mut self,
        database: keel_base::DatabaseId,
        table: keel_query::catalog::ObjectId,
        rows_max: u32,
    ) -> Result<u64> {
        let mut sink = crate::run::Later { info: &self.info, results: false };
        let removed = Runner::new(&self.info, &mut self.txns, &mut sink).clean_history(
            database,
            table,
            Some(rows_max),
        )?;
        self.info.settle()?;
        Ok(removed)
    }

    /// What every request's end settles: doomed transactions, batch-level temporary state, dead trees, attention.
    fn end_request(&mut self, sink: &mut dyn ResultSink) {
        let doomed = {
            let state = self.info.transaction.borrow();
            state.doomed && state.count > 0
        };
        if doomed {
            let mut runner = Runner::new(&self.info, &mut self.txns, sink);
            runner.report(&errors::located(errors::doomed_at_end(), 1, None));
            runner.rollback_everything();
        }
        self.end_what_was_looked_up();
        keel_query::xml::end_of_request();
        self.info.caught.borrow_mut().clear();
        let shared = &self.info.shared;
        shared.running.store(false, Ordering::Relaxed);
        shared.request_ended.store(self.info.engine.now_local(), Ordering::Relaxed);
        self.info.end_usage();
        if shared.cancel.is_cancelled() {
            let killed = self.info.is_killed();
            if killed {
                let mut runner = Runner::new(&self.info, &mut self.txns, sink);
                runner.rollback_everything();
                if !self.info.told_killed.replace(true) {
                    sink.message(&errors::killed());
                }
            }
            if !killed {
                self.info.attention();
            }
            sink.done(DoneInfo {
                kind: DoneKind::Done,
                count: None,
                command: command::OTHER,
                error: killed,
                in_transaction: self.info.transaction.borrow().count > 0,
                attention: !killed,
            });
        }
        self.bulk_target = self.info.bulk.borrow().as_ref().map(bulk::PendingBulk::target);
        let (_, shown) = self.info.shown(&self.info.current_database());
        if *shown != *self.database {
            self.database = shown.to_string();
        }
    }

    /// Runs a transaction manager request.
    pub fn transaction_request(&mut self, request: TransactionRequest, sink: &mut dyn ResultSink) {
        self.begin_request("");
        let outcome = match request {
            TransactionRequest::Propagate { cookie } => self.propagate(&cookie, sink),
            request => {
                let mut runner = Runner::new(&self.info, &mut self.txns, sink);
                transaction_request(&mut runner, request)
            }
        };
        let mut runner = Runner::new(&self.info, &mut self.txns, sink);
        let failed = outcome.is_err();
        if let Err(e) = outcome {
            let e = errors::located(e, 1, None);
            self.info.error.set(e.number);
            runner.report(&e);
        }
        runner.final_done(failed);
        self.end_request(sink);
        self.settle(sink);
    }

    /// The connection goes back to a pool (the RESETCONNECTION bit): rolls back (unless `keep_transaction`), drops temp
    /// objects and prepared statements, restores options and the initial database.
    pub fn reset(&mut self, keep_transaction: bool, sink: &mut dyn ResultSink) {
        if !keep_transaction {
            // A transaction that a manager decides about goes on without the connection.
            self.defect(sink);
            let mut runner = Runner::new(&self.info, &mut self.txns, sink);
            runner.rollback_everything();
        }
        let info = &self.info;
        let gone = info.temp.borrow_mut().leave_level(0);
        for table in gone {
            info.drop_temporary_storage(&table);
        }
        info.cursors.borrow_mut().clear();
        info.prepared.borrow_mut().clear();
        info.open_keys.borrow_mut().forget();
        info.xml_documents.borrow_mut().clear();
        info.private_units.borrow_mut().clear();
        info.shared.context.lock().clear();
        info.shared.waits.clear();
        info.shared.context_info.lock().clear();
        info.release_all_app_locks();
        info.identity_insert.set(None);
        info.identity.set(None);
        info.scope_identity.set(None);
        info.row_count.set(0);
        info.error.set(0);
        info.revert_floor.set(0);
        info.revert_to(0);
        let isolation = info.options.borrow().isolation;
        info.change_options(|options| {
            *options = info.shared.initial.clone();
            // Resetting a connection keeps the isolation level when the transaction is kept.
            if keep_transaction {
                options.isolation = isolation;
            }
        });
        if !keep_transaction {
            self.txns.configure(IsolationLevel::ReadCommitted, -1, 0);
        }
        let initial = info.shared.login.database.clone();
        let initial = if initial.is_empty() { "master".to_owned() } else { initial };
        let current = info.here();
        let back = if current.database == initial { Ok(()) } else { use_database(info, &initial) };
        if back.is_ok() && current.database != initial {
            current.left_for(&info.here(), sink);
            self.database = initial;
        }
        if !keep_transaction {
            self.drop_global_tables();
        }
        self.end_what_was_looked_up();
        // Its next user must not find himself elsewhere.
        if let Err(e) = back {
            sink.message(&e);
            self.info.shared.kill();
        }
    }

    /// The global temporary tables go with who made them, also when others still have them in use: what they read stays until they
    /// have read it. What cannot be dropped goes when tempdb is made anew.
    fn drop_global_tables(&mut self) {
        let made = std::mem::take(&mut *self.info.global_tables.borrow_mut());
        if made.is_empty() {
            return;
        }
        self.info.change_options(|options| options.switches.set(Switches::IMPLICIT, false));
        let mut nobody = Unheard;
        let mut runner = Runner::new(&self.info, &mut self.txns, &mut nobody);
        runner.rollback_everything();
        let _ = runner.in_statement(|runner| runner.drop_global_tables(&made));
    }

    /// Between requests nothing is held but an open transaction.
    fn end_what_was_looked_up(&mut self) {
        if self.info.transaction.borrow().count == 0 && !self.txns.is_empty() {
            self.txns.rollback();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.info.logged_out();
        self.info.audit_logout();
        self.txns.rollback();
        self.doom_enlisted(true);
        self.drop_global_tables();
        let gone = self.info.temp.borrow_mut().leave_level(0);
        for table in gone {
            self.info.drop_temporary_storage(&table);
        }
        let entry: Arc<DatabaseEntry> = self.info.current_database();
        drop(entry);
    }
}

fn parses(info: &Info, text: &str) -> bool {
    let options = keel_parser::ParseOptions { quoted_identifier: info.on(Switches::QUOTED_IDENTIFIER) };
    keel_parser::parse_batch(text, options).is_ok()
}

/// Runs a batch's program; `values` are those of its parameters, if its literals have become these.
fn run_batch(runner: &mut Runner<'_>, program: &Arc<Program>, values: Vec<Value>) {
    let mut frame = Frame::new(program, 0);
    frame.vars.splice(..values.len(), values);
    let mut refusals = runner.refusals(program, &frame);
    refusals.extend(runner.showplan_in_company(program));
    if !refusals.is_empty() {
        for e in &refusals {
            runner.info.error.set(e.number);
            runner.report(e);
        }
        runner.final_done(true);
        return;
    }
    let entered = runner.info.enter_program();
    let outcome = runner.run(program, &mut frame);
    runner.info.leave_program(program, &entered);
    runner.show_plans();
    match outcome {
        Ok(_) | Err(Halt::Batch) => {}
        Err(Halt::Raised(e)) => {
            let e: Box<SqlError> = errors::located(e, 1, None);
            runner.report(&e);
            runner.final_done(true);
        }
    }
    runner.flush_pending();
    runner.end_of_batch(&frame);
}

fn transaction_request(runner: &mut Runner<'_>, request: TransactionRequest) -> Result<()> {
    match request {
        TransactionRequest::Begin { isolation, name } => {
            runner.set_isolation_by_number(isolation);
            runner.begin_named(name.into())
        }
        TransactionRequest::Commit { begin_next, .. } => {
            runner.commit_one(false)?;
            if let Some((isolation, name)) = begin_next {
                runner.set_isolation_by_number(isolation);
                runner.begin_named(name.into())?;
            }
            Ok(())
        }
        TransactionRequest::Rollback { name, begin_next } => {
            runner.rollback_named(&name)?;
            if let Some((isolation, name)) = begin_next {
                runner.set_isolation_by_number(isolation);
                runner.begin_named(name.into())?;
            }
            Ok(())
        }
        TransactionRequest::Save { name } => runner.save_named(name.into()),
        // It is the session's, not the runner's.
        TransactionRequest::Propagate { .. } => Ok(()),
    }
}
