//! # keel-web: an instance in the browser, in Prometheus and behind a load balancer
//!
//! ```text
//!   browser, Prometheus, load balancer ── HTTP(S) ──► one thread (tokio): http, api, access, pages
//!                                                        │ questions            │ logins, buttons
//!                                                        ▼                      ▼
//!                                         one thread, one session:       a session of that login,
//!                                         views, metrics, history        a thread for each
//! ```
//!
//! ## Model
//!
//! * `reader` owns the one session that reads. It runs only the texts of [`views`], [`metrics`] and [`history`], keeps the last ten
//!   minutes for the plots, and answers everybody who looks from the same rows.
//! * [`access`] gives **seats** to logins; `api` asks the instance what a login may, and runs what a button says as that login.
//! * [`pages`] are files without data: the browser fills in what it gets as JSON, as text, never as markup.
//!
//! ## Invariants
//!
//! * What is shown comes from system views by T-SQL, what is done is T-SQL of the login that does it. There is nothing here that a
//!   client with the same permissions could not do.
//! * No password and no cookie is kept; of cookies there are digests.
//! * Where others could listen in, it is HTTPS.
//! * The work for all who look is bounded: by `reader`'s one thread, by connections, by sessions.
//!
//! ## Deliberately absent
//!
//! Outside assets, frameworks, and a build step for the page; users and roles other than the instance's logins; an alerting
//! engine (Prometheus has one); what the views do not show.

pub mod access;
mod api;
pub mod history;
mod http;
mod json;
pub mod metrics;
pub mod pages;
mod reader;
mod sql;
pub mod views;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use keel_server::{Config, Front};
use tokio::sync::oneshot;

use crate::api::App;
use crate::http::Bound;
use crate::reader::Reader;

/// A running dashboard.
pub struct Dashboard {
    address: SocketAddr,
    tls: bool,
    stop: Option<oneshot::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Dashboard {
    /// Starts it if the configuration names an address for it; an address that cannot be bound is an error.
    pub fn start(front: &Front, config: &Config) -> Result<Option<Dashboard>> {
        if config.dashboard.is_empty() {
            return Ok(None);
        }
        let bound = Bound::new(&config.dashboard, config.dashboard_tls)?;
        let (address, tls) = (bound.address(), bound.tls());
        let (reader, reading) = Reader::start(front)?;
        let app = App::new(front.clone(), reader, address, tls, config.dashboard_anyone);
        let router = api::router(Arc::new(app));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("no runtime for the dashboard")?;
        let (stop, stopped) = oneshot::channel();
        let mine = front.clone();
        let serving = std::thread::Builder::new().name("dashboard".into()).spawn(move || {
            let served = runtime.block_on(async {
                tokio::select! {
                    served = http::serve(bound, mine.clone(), router) => served,
                    _ = stopped => Ok(()),
                }
            });
            if let Err(e) = served {
                mine.log("Dashboard", &format!("The dashboard has stopped: {e:#}"));
            }
        })?;
        let dashboard = Dashboard { address, tls, stop: Some(stop), threads: vec![serving, reading] };
        front.log("Server", &format!("The dashboard is at {}.", dashboard.url()));
        Ok(Some(dashboard))
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}/", if self.tls { "https" } else { "http" }, self.address)
    }

    /// Ends all connections and its sessions; to be called before the instance stops.
    pub fn stop(mut self) {
        if let Some(stop) = self.stop.take() {
            // It may have ended by itself.
            let _ = stop.send(());
        }
        for thread in self.threads.drain(..) {
            // A panic there was printed, and there is nothing more to stop.
            let _ = thread.join();
        }
    }
}
