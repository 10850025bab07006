//! The last ten minutes, for the plots: what [`SAMPLE`], [`QUEUES`] and [`COMMIT_SPLIT`] say once a second.
//!
//! Totals become rates, pairs of totals averages over the interval; a line that cannot be said of an interval (nothing was
//! committed, so no commit took any time) has no value there.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

use keel_types::SqlError;
use serde_json::{Map, Value as Json, json};

use crate::json::{number, text};
use crate::sql::Asker;
use crate::views::{COMMIT_SPLIT, QUEUES, SAMPLE};

/// Samples kept.
const SAMPLES_MAX: usize = 600;
/// Time between two samples, at least.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// Sampling takes at most the fiftieth part of a core: on instances with very many databases it is done less often.
const COST_SHARE: u32 = 50;

/// A line: plot and label.
type Line = (&'static str, String);

struct Sample {
    /// Milliseconds since 1970, UTC.
    at: u64,
    values: BTreeMap<Line, f64>,
}

/// How a line comes from a counter.
enum Rule {
    /// Growth per second.
    Rate,
    /// Growth divided by the growth of another counter.
    Per(&'static str),
}

/// Plot, label, counter, rule. Milliseconds stay milliseconds.
#[rustfmt::skip]
const LINES: &[(&str, &str, &str, Rule)] = &[
    ("work", "batches", "Batch Requests/sec", Rule::Rate),
    ("work", "transactions", "Databases/Transactions/sec", Rule::Rate),
    ("work", "writing transactions", "Write Transactions/sec", Rule::Rate),
    ("log", "hardened", "Log Bytes Flushed/sec", Rule::Rate),
    ("log", "redone", "Redone Bytes/sec", Rule::Rate),
    ("commit", "log flush", "Log Flush Write Time (ms)", Rule::Per("Log Flushes/sec")),
    ("commit", "wait for the log", "Log Flush Wait Time", Rule::Per("Log Flush Waits/sec")),
    ("commit", "wait for secondaries", "Transaction Delay", Rule::Per("Mirrored Write Transactions/sec")),
    ("checkpoint", "pages", "Checkpoint pages/sec", Rule::Rate),
];

/// Labels of the split, in the order of [`COMMIT_SPLIT`]'s columns.
const PARTS: [&str; 4] = ["local flush", "send queue", "network", "remote flush"];

/// See the module.
#[derive(Default)]
pub struct History {
    samples: VecDeque<Sample>,
    /// Counters of the last sample by name, and when it was taken.
    last: Option<(Instant, HashMap<String, f64>)>,
    /// What the last sample cost.
    cost: Duration,
}

impl History {
    /// When the next sample is due.
    #[must_use]
    pub fn due(&self) -> Instant {
        match &self.last {
            Some((at, _)) => *at + INTERVAL.max(self.cost * COST_SHARE),
            None => Instant::now(),
        }
    }

    /// Takes a sample; `now` is the wall clock, milliseconds since 1970.
    pub fn sample(&mut self, asker: &mut Asker, now: u64) -> Result<(), SqlError> {
        let began = Instant::now();
        let mut totals = HashMap::new();
        let mut values = BTreeMap::new();
        for row in asker.ask(SAMPLE)?.rows {
            if let [object, counter, value] = &row[..]
                && let Some(value) = number(value)
            {
                // Two objects count transactions.
                let counter = text(counter);
                let name = match counter.as_str() {
                    "Transactions/sec" => {
                        format!("{}/{counter}", text(object).trim_start_matches("SQLServer:"))
                    }
                    _ => counter,
                };
                totals.insert(name, value);
            }
        }
        for row in asker.ask(QUEUES)?.rows {
            if let [server, send, redo] = &row[..] {
                let server = text(server);
                let line = |what: &str| ("queues", format!("{server} {what}"));
                values.extend(number(send).map(|n| (line("to send"), n)));
                values.extend(number(redo).map(|n| (line("to redo"), n)));
            }
        }
        self.split(asker, &mut totals, &mut values)?;
        self.rates(began, &totals, &mut values);
        self.last = Some((began, totals));
        self.cost = began.elapsed();
        self.keep(Sample { at: now, values });
        Ok(())
    }

    /// Averages over the blocks since the last sample.
    fn split(
        &self,
        asker: &mut Asker,
        totals: &mut HashMap<String, f64>,
        values: &mut BTreeMap<Line, f64>,
    ) -> Result<(), SqlError> {
        for row in asker.ask(COMMIT_SPLIT)?.rows {
            let Some((server, numbers)) = row.split_first() else { continue };
            let server = text(server);
            let numbers: Vec<f64> = numbers.iter().filter_map(number).collect();
            let [blocks, parts @ ..] = &numbers[..] else { continue };
            let blocks_key = format!("{server}/blocks");
            let grown = self.growth(&blocks_key, *blocks);
            totals.insert(blocks_key, *blocks);
            for (part, micros) in PARTS.iter().zip(parts) {
                let key = format!("{server}/{part}");
                if let (Some(blocks), Some(micros)) = (grown, self.growth(&key, *micros))
                    && blocks > 0.0
                {
                    // The average of a view times a count wavers in its last digits.
                    values.insert(("split", format!("{server} {part}")), (micros / blocks).max(0.0));
                }
                totals.insert(key, *micros);
            }
        }
        Ok(())
    }

    fn rates(&self, now: Instant, totals: &HashMap<String, f64>, values: &mut BTreeMap<Line, f64>) {
        let Some((before, _)) = &self.last else { return };
        let seconds = now.duration_since(*before).as_secs_f64();
        for (plot, label, counter, rule) in LINES {
            let grown = |name: &str| totals.get(name).and_then(|total| self.growth(name, *total));
            let value = match rule {
                Rule::Rate => grown(counter).map(|n| n / seconds),
                Rule::Per(of) => grown(counter).zip(grown(of)).filter(|(_, n)| *n > 0.0).map(|(t, n)| t / n),
            };
            values.extend(value.map(|v| ((*plot, (*label).to_owned()), v)));
        }
    }

    /// What a total has grown by; nothing if it is new or began anew.
    fn growth(&self, name: &str, total: f64) -> Option<f64> {
        let before = self.last.as_ref()?.1.get(name)?;
        (total >= *before).then_some(total - before)
    }

    /// The instance did not answer: the lines have a hole.
    pub fn miss(&mut self, now: u64) {
        self.last = Some((Instant::now(), HashMap::new()));
        self.keep(Sample { at: now, values: BTreeMap::new() });
    }

    fn keep(&mut self, sample: Sample) {
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// Samples newer than `since`: times, and for each plot its lines with a value or null for each time.
    #[must_use]
    pub fn since(&self, since: u64) -> Json {
        let new: Vec<&Sample> = self.samples.iter().filter(|s| s.at > since).collect();
        let lines: BTreeSet<&Line> = new.iter().flat_map(|s| s.values.keys()).collect();
        let mut plots: BTreeMap<&str, Map<String, Json>> = BTreeMap::new();
        for line in lines {
            let values: Vec<Option<f64>> = new.iter().map(|s| s.values.get(line).copied()).collect();
            plots.entry(line.0).or_default().insert(line.1.clone(), json!(values));
        }
        json!({ "t": new.iter().map(|s| s.at).collect::<Vec<_>>(), "plots": plots, "samples_max": SAMPLES_MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, value: Option<f64>) -> Sample {
        let line = ("work", "batches".to_owned());
        Sample { at, values: value.map(|v| (line, v)).into_iter().collect() }
    }

    #[test]
    fn a_line_has_a_value_or_a_hole_for_every_time() {
        let mut history = History::default();
        history.keep(sample(1, Some(1.0)));
        history.keep(sample(2, Some(2.0)));
        history.keep(sample(3, None));
        let wanted =
            json!({"t": [2, 3], "plots": {"work": {"batches": [2.0, null]}}, "samples_max": SAMPLES_MAX});
        assert_eq!(history.since(1), wanted);
        assert_eq!(history.since(3)["t"], json!([]));
    }

    #[test]
    fn old_samples_go() {
        let mut history = History::default();
        (0..=SAMPLES_MAX as u64).for_each(|at| history.keep(sample(at, None)));
        assert_eq!(history.samples.len(), SAMPLES_MAX);
        assert_eq!(history.samples[0].at, 1);
    }

    #[test]
    fn a_counter_that_began_anew_has_no_rate() {
        let totals = |n: f64| HashMap::from([("Batch Requests/sec".to_owned(), n)]);
        let then = Instant::now();
        let mut history = History { last: Some((then, totals(10.0))), ..History::default() };
        let mut values = BTreeMap::new();
        history.rates(then + Duration::from_secs(2), &totals(30.0), &mut values);
        assert_eq!(values.into_values().collect::<Vec<_>>(), [10.0]);
        history.last = Some((then, totals(50.0)));
        let mut values = BTreeMap::new();
        history.rates(then + Duration::from_secs(2), &totals(30.0), &mut values);
        assert!(values.is_empty());
    }
}
