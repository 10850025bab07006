//! A few threads for what takes long: cutting a log, promotion, demotion. Jobs with one key run in the order they were given,
//! so that what concerns one database never overtakes itself; the number of threads does not depend on how many there are.

use crate::counters::WaitTotals;
use parking_lot::{Condvar, Mutex};
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

type Job = Box<dyn FnOnce() + Send>;

/// Jobs by key.
pub(crate) struct Work<K> {
    inner: Mutex<Inner<K>>,
    bell: Condvar,
}

struct Inner<K> {
    /// A key is here while it has jobs or one of them runs.
    queues: HashMap<K, VecDeque<Job>>,
    /// Keys with a job that may run.
    ready: VecDeque<K>,
    stopping: bool,
}

impl<K: Hash + Eq + Copy + Send + 'static> Work<K> {
    pub(crate) fn new() -> Arc<Work<K>> {
        let inner = Inner { queues: HashMap::new(), ready: VecDeque::new(), stopping: false };
        Arc::new(Work { inner: Mutex::new(inner), bell: Condvar::new() })
    }

    /// Runs `job` after all jobs given before with the same key.
    pub(crate) fn give(&self, key: K, job: impl FnOnce() + Send + 'static) {
        let mut inner = self.inner.lock();
        match inner.queues.get_mut(&key) {
            Some(queue) => queue.push_back(Box::new(job)),
            None => {
                inner.queues.insert(key, VecDeque::from([Box::new(job) as Job]));
                inner.ready.push_back(key);
                self.bell.notify_one();
            }
        }
    }

    /// The body of a worker thread. `now` is the clock in nanoseconds; `idle` counts its waits for a job.
    pub(crate) fn run(&self, now: impl Fn() -> u64, idle: &WaitTotals) {
        let mut inner = self.inner.lock();
        loop {
            if let Some(key) = inner.ready.pop_front() {
                let job = inner.queues.get_mut(&key).and_then(VecDeque::pop_front);
                drop(inner);
                if let Some(job) = job {
                    job();
                }
                inner = self.inner.lock();
                if inner.queues.get(&key).is_some_and(|q| !q.is_empty()) {
                    inner.ready.push_back(key);
                } else {
                    inner.queues.remove(&key);
                }
            } else if inner.stopping {
                return;
            } else {
                let began = now();
                self.bell.wait(&mut inner);
                idle.waited(now().saturating_sub(began));
            }
        }
    }

    /// Lets the workers end when nothing is left to do.
    pub(crate) fn stop(&self) {
        self.inner.lock().stopping = true;
        self.bell.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn jobs_of_one_key_keep_their_order_and_all_run() {
        let work = Work::<u8>::new();
        let done = Arc::new(Mutex::new(Vec::new()));
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let work = Arc::clone(&work);
                thread::spawn(move || work.run(|| 0, &WaitTotals::default()))
            })
            .collect();
        for n in 0..300u32 {
            let done = Arc::clone(&done);
            let key = (n % 5) as u8;
            work.give(key, move || done.lock().push((key, n)));
        }
        work.stop();
        workers.into_iter().for_each(|w| w.join().unwrap());
        let done = done.lock();
        assert_eq!(done.len(), 300);
        for key in 0..5 {
            let of_key: Vec<u32> = done.iter().filter(|(k, _)| *k == key).map(|(_, n)| *n).collect();
            assert!(of_key.is_sorted(), "{of_key:?}");
        }
    }
}
