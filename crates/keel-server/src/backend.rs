//! The seam to the SQL side: what the server needs of an engine and of a session.
//!
//! Production has one implementation, on [`keel_sql`]; tests bring their own, so that the network side is tested without
//! an engine.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use keel_sql::events::actor::Attempt;
use keel_sql::hadr::ContainedGroup;
use keel_sql::recovery::State;
use keel_sql::windows::Account;
use keel_sql::{
    BulkSource, BulkTarget, DatabaseUser, Engine, LoginRecord, ResultSink, RpcParam, RpcProcedure, Session,
    SessionOptions, TransactionRequest,
};
use keel_types::error::Result;

/// Stops what a session is doing; may be called from any thread at any time.
pub type Cancel = Arc<dyn Fn() + Send + Sync>;

/// Whether a session has been killed (KILL); asked from the watcher's thread.
pub type Killed = Arc<dyn Fn() -> bool + Send + Sync>;

/// Waits until what the session has committed is durable; false when nobody knows what became of it, so that nothing may be said of it.
/// On the session's own thread.
pub type Settler = Arc<dyn Fn() -> bool + Send + Sync>;

/// An instance.
pub trait Backend: Send + Sync {
    /// The context of a client that has called a listener of this group, or names this database.
    fn context(&self, _listener: Option<[u8; 16]>, _database: &str) -> Option<ContainedGroup> {
        None
    }
    /// The login of that name in a context.
    fn login(&self, context: Option<&ContainedGroup>, name: &str) -> Option<LoginRecord>;
    /// The user with a password of that name in the database that a client names, where users of databases may log in.
    fn database_user(&self, _database: &str, _name: &str) -> Option<DatabaseUser> {
        None
    }
    /// The user of an account of a domain in the database that a client names, where users of databases may log in.
    fn database_user_of(&self, _database: &str, _account: &Account) -> Option<DatabaseUser> {
        None
    }
    /// What an account of a domain is as a login of a context, by its own and those of its groups.
    fn login_of(&self, _context: Option<&ContainedGroup>, _account: &Account) -> Option<LoginRecord> {
        None
    }
    /// Whether a login may come in: nobody has denied it CONNECT SQL.
    fn may_connect(&self, _context: Option<&ContainedGroup>, _login: &LoginRecord) -> bool {
        true
    }
    /// Nobody was logged in: tells event sessions.
    fn login_failed(&self, _attempt: &Attempt<'_>) {}
    /// A client changes the password of the login that it has just given. False when that login has been dropped meanwhile.
    fn set_password(
        &self,
        context: Option<&ContainedGroup>,
        login: &LoginRecord,
        hash: Vec<u8>,
    ) -> Result<bool>;
    /// A session of an authenticated login; 4060 when its database cannot be opened.
    fn session(&self, options: SessionOptions) -> Result<Box<dyn SqlSession>>;
    /// `@@SERVERNAME`.
    fn server_name(&self) -> &str;
}

/// A session, used by one thread at a time. Meanings as in [`keel_sql::Session`].
pub trait SqlSession {
    /// `@@SPID`.
    fn id(&self) -> u16;
    /// Name of the current database.
    fn database(&self) -> &str;
    /// Its collation.
    fn collation(&self) -> keel_types::Collation {
        keel_types::Collation::default()
    }
    /// Host and port that the client is to connect to instead.
    fn route(&self) -> Option<(&str, u16)> {
        None
    }
    /// Where the client is to look for the database when it is not here any more.
    fn failover_partner(&self) -> Option<&str> {
        None
    }
    /// The session begins, or is taken from a pool: error 17892 when a trigger refuses it, 33239 when an audit does; neither without
    /// `triggers`.
    fn log_on(&mut self, _pooled: bool, _triggers: bool) -> Result<()> {
        Ok(())
    }
    /// The session is put into its workload group: when it begins, and when it is taken from a pool; after [`SqlSession::log_on`].
    fn classify(&mut self) {}
    /// Stops what the session does, from other threads.
    fn cancel(&self) -> Cancel;
    /// Whether the session has been killed, for other threads to ask.
    fn killed(&self) -> Killed;
    /// Whether the connection must be closed.
    fn is_ended(&self) -> bool;
    /// Whether a transaction is open.
    fn in_transaction(&self) -> bool;
    /// The results of the next request are to be watched, or are not.
    fn watch_request(&mut self, _request: Option<keel_sql::notify::Request>) {}
    /// Runs a batch.
    fn execute_batch(&mut self, text: &str, sink: &mut dyn ResultSink);
    /// Runs a procedure.
    fn execute_rpc(
        &mut self,
        procedure: RpcProcedure<'_>,
        parameters: Vec<RpcParam>,
        sink: &mut dyn ResultSink,
    );
    /// Returns when what remote calls have committed is durable, or tells the sink that nobody knows.
    fn settle(&mut self, _sink: &mut dyn ResultSink) {}
    /// The same before part of an answer is sent, for the sink; false when nobody knows.
    fn settler(&self) -> Settler {
        Arc::new(|| true)
    }
    /// Runs a transaction manager request.
    fn transaction_request(&mut self, request: TransactionRequest, sink: &mut dyn ResultSink);
    /// What a bulk load must look like, after `INSERT BULK`.
    fn bulk_target(&self) -> Option<&BulkTarget>;
    /// Loads rows.
    fn bulk_load(&mut self, rows: &mut dyn BulkSource, sink: &mut dyn ResultSink);
    /// Resets the session for its next user.
    fn reset(&mut self, keep_transaction: bool, sink: &mut dyn ResultSink);
    /// Its language.
    fn language(&self) -> String;
    /// What the client keeps to have it recovered.
    fn recovery_state(&self) -> State;
    /// What it would keep of a new one.
    fn initial_state(&self) -> State;
    /// Whether it could be recovered now.
    fn is_recoverable(&self) -> bool;
    /// Makes it into one that was lost.
    fn recover(&mut self, database: &str, language: &str, state: &[u8]) -> Result<()>;
}

/// The engine as a backend.
pub struct EngineBackend(pub Arc<Engine>);

impl Backend for EngineBackend {
    fn context(&self, listener: Option<[u8; 16]>, database: &str) -> Option<ContainedGroup> {
        self.0.context(listener, database)
    }
    fn login(&self, context: Option<&ContainedGroup>, name: &str) -> Option<LoginRecord> {
        self.0.login_in(context, name)
    }
    fn database_user(&self, database: &str, name: &str) -> Option<DatabaseUser> {
        self.0.database_user(database, name)
    }
    fn database_user_of(&self, database: &str, account: &Account) -> Option<DatabaseUser> {
        self.0.database_user_of(database, account)
    }
    fn login_of(&self, context: Option<&ContainedGroup>, account: &Account) -> Option<LoginRecord> {
        let logins = self.0.master_in(context).and_then(|master| master.logins()).ok()?;
        logins.of_account(account).map(Cow::into_owned)
    }
    fn may_connect(&self, context: Option<&ContainedGroup>, login: &LoginRecord) -> bool {
        let logins = self.0.master_in(context).and_then(|master| master.logins());
        logins.is_ok_and(|logins| logins.may_connect(login))
    }
    fn login_failed(&self, attempt: &Attempt<'_>) {
        self.0.fire_failed_login(attempt);
    }
    fn set_password(
        &self,
        context: Option<&ContainedGroup>,
        login: &LoginRecord,
        hash: Vec<u8>,
    ) -> Result<bool> {
        self.0.master_in(context)?.change_login(login, |login| login.password_hash = hash)
    }
    fn session(&self, options: SessionOptions) -> Result<Box<dyn SqlSession>> {
        Ok(Box::new(self.0.session(options)?))
    }
    fn server_name(&self) -> &str {
        &self.0.options().server_name
    }
}

impl SqlSession for Session {
    fn id(&self) -> u16 {
        Session::id(self)
    }
    fn database(&self) -> &str {
        Session::database(self)
    }
    fn collation(&self) -> keel_types::Collation {
        Session::collation(self)
    }
    fn route(&self) -> Option<(&str, u16)> {
        Session::route(self)
    }
    fn failover_partner(&self) -> Option<&str> {
        Session::failover_partner(self)
    }
    fn log_on(&mut self, pooled: bool, triggers: bool) -> Result<()> {
        Session::log_on(self, pooled, triggers)
    }
    fn classify(&mut self) {
        Session::classify(self);
    }
    fn cancel(&self) -> Cancel {
        let handle = Session::cancel_handle(self);
        Arc::new(move || handle.cancel())
    }
    fn killed(&self) -> Killed {
        let shared = self.engine().sessions.get(Session::id(self).into());
        Arc::new(move || shared.as_ref().is_some_and(|s| s.killed.load(Ordering::Acquire)))
    }
    fn is_ended(&self) -> bool {
        Session::is_ended(self)
    }
    fn in_transaction(&self) -> bool {
        Session::transaction_descriptor(self) != 0
    }
    fn watch_request(&mut self, request: Option<keel_sql::notify::Request>) {
        Session::watch_request(self, request);
    }
    fn execute_batch(&mut self, text: &str, sink: &mut dyn ResultSink) {
        Session::execute_batch(self, text, sink);
    }
    fn execute_rpc(
        &mut self,
        procedure: RpcProcedure<'_>,
        parameters: Vec<RpcParam>,
        sink: &mut dyn ResultSink,
    ) {
        Session::execute_rpc(self, procedure, parameters, sink);
    }
    fn settle(&mut self, sink: &mut dyn ResultSink) {
        Session::settle(self, sink);
    }
    fn settler(&self) -> Settler {
        let handle = Session::cancel_handle(self);
        Arc::new(move || handle.settle())
    }
    fn transaction_request(&mut self, request: TransactionRequest, sink: &mut dyn ResultSink) {
        Session::transaction_request(self, request, sink);
    }
    fn bulk_target(&self) -> Option<&BulkTarget> {
        Session::bulk_target(self)
    }
    fn bulk_load(&mut self, rows: &mut dyn BulkSource, sink: &mut dyn ResultSink) {
        Session::bulk_load(self, rows, sink);
    }
    fn reset(&mut self, keep_transaction: bool, sink: &mut dyn ResultSink) {
        Session::reset(self, keep_transaction, sink);
    }
    fn language(&self) -> String {
        Session::language(self)
    }
    fn recovery_state(&self) -> State {
        Session::recovery_state(self)
    }
    fn initial_state(&self) -> State {
        Session::initial_state(self)
    }
    fn is_recoverable(&self) -> bool {
        Session::is_recoverable(self)
    }
    fn recover(&mut self, database: &str, language: &str, state: &[u8]) -> Result<()> {
        Session::recover(self, database, language, state)
    }
}
