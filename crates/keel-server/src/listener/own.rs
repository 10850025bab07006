//! The address of a failover cluster instance: on the machine that has the instance, as a listener's is on its primary's.

use super::Virtual;
use super::addresses::{Claims, Look};
use super::network::Rtnetlink;
use crate::errorlog::ErrorLog;
use std::io;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often what is due is done: addresses are renewed and announced a few times a second at most.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// An address that is here, until dropped.
pub(crate) struct OwnAddress {
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

fn look<'a>(here: Option<Virtual>, known: IpAddr, say: &'a dyn Fn(&str)) -> Look<'a> {
    Look {
        now: Instant::now(),
        here: here.into_iter().collect(),
        certain: here.map(|v| v.ip).into_iter().collect(),
        elsewhere: Vec::new(),
        known: vec![known],
        others: &Vec::new,
        whose: "the instance",
        say,
    }
}

impl OwnAddress {
    /// Takes it, and again as long as this lives.
    ///
    /// # Errors
    /// When it cannot be taken now. What keeps it from being taken later is in the log, and tried again.
    pub fn take(address: Virtual, log: &Arc<ErrorLog>) -> io::Result<OwnAddress> {
        let (log, stopping) = (Arc::clone(log), Arc::new(AtomicBool::new(false)));
        let (stop, (taken, first)) = (Arc::clone(&stopping), std::sync::mpsc::sync_channel(1));
        let hold = move || {
            let say = |text: &str| log.entry("Cluster", text);
            let mut claims = Claims::new(Box::new(Rtnetlink));
            loop {
                let look = look(Some(address), address.ip, &say);
                claims.tend(&look);
                claims.announce(&look);
                // Only the first answer is waited for.
                let _ = taken.try_send(claims.refusal(&address.ip).map(str::to_owned));
                std::thread::park_timeout(LOOK_EVERY);
                if stop.load(Ordering::Acquire) {
                    return claims.release();
                }
            }
        };
        let thread = std::thread::Builder::new().name("instance address".into()).spawn(hold)?;
        let own = OwnAddress { stopping, thread: Some(thread) };
        match first.recv().ok().flatten() {
            Some(why) => Err(io::Error::other(format!("the address {} of the instance: {why}", address.ip))),
            None => Ok(own),
        }
    }

    /// Gives back what a process before this one has taken.
    pub fn give_back(address: Virtual) {
        Claims::new(Box::new(Rtnetlink)).tend(&look(None, address.ip, &|_| ()));
    }
}

impl Drop for OwnAddress {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl FromStr for Virtual {
    type Err = String;

    /// `10.0.0.9/24`, or without a prefix.
    fn from_str(text: &str) -> Result<Virtual, String> {
        let (ip, prefix) = text.split_once('/').map_or((text, None), |(ip, prefix)| (ip, Some(prefix)));
        let ip: IpAddr = ip.parse().map_err(|_| format!("'{text}' is no IP address"))?;
        let longest = if ip.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map(str::parse::<u8>).transpose().ok().filter(|p| p.is_none_or(|p| p <= longest));
        let prefix = prefix.ok_or_else(|| format!("'{text}' has no length of a prefix behind its '/'"))?;
        Ok(Virtual { ip, prefix })
    }
}
