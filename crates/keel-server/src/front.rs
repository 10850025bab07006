//! What a way in other than TDS (the dashboard) gets of a running instance: sessions, password checks, the certificate.
//!
//! No more than a TDS client has: who comes through here is a login with its permissions, and speaks T-SQL.

use std::net::IpAddr;
use std::sync::Arc;

use anyhow::Result;
use keel_sql::{LoginRecord, SessionOptions};
use keel_types::SqlError;

use crate::backend::SqlSession;
use crate::credentials::Credentials;
use crate::server::Shared;

/// A handle to the instance; clones are the same one.
#[derive(Clone)]
pub struct Front(pub(crate) Arc<Shared>);

impl Front {
    /// The login that name and password belong to; 18456 or 18470, written to the error log as those of TDS clients.
    pub fn authenticate(&self, name: &str, password: &str, peer: IpAddr) -> Result<LoginRecord, SqlError> {
        let client = ("keel dashboard", "");
        Credentials { shared: &self.0, name, peer, client, context: None }.check(password)
    }

    /// The login of that name as it is now.
    #[must_use]
    pub fn login(&self, name: &str) -> Option<LoginRecord> {
        self.0.backend.login(None, name)
    }

    /// A session; the caller answers for the login having been authenticated. To be used on a thread with
    /// [`Front::session_stack`].
    pub fn session(&self, options: SessionOptions) -> keel_types::error::Result<Box<dyn SqlSession>> {
        let mut session = self.0.backend.session(options)?;
        session.classify();
        Ok(session)
    }

    /// `@@SERVERNAME`.
    #[must_use]
    pub fn server_name(&self) -> &str {
        self.0.backend.server_name()
    }

    /// Stack of a thread that runs a session, in bytes.
    #[must_use]
    pub fn session_stack(&self) -> usize {
        self.0.config.session_stack * 1024
    }

    /// TLS settings for HTTPS, with the server's own certificate.
    #[must_use]
    pub fn https(&self) -> Arc<rustls::ServerConfig> {
        Arc::clone(&self.0.tls.https)
    }

    /// Writes a line to the error log.
    pub fn log(&self, source: &str, text: &str) {
        self.0.log.entry(source, text);
    }
}
