//! Two reports beside each other: for each figure that both have, the second's over the first's, with how far apart the
//! ratio could be by the samples that were taken.

use super::{Better, Figure, Report, Table, median, number};

/// A figure that both runs have.
#[derive(Clone, Debug)]
pub struct Ratio {
    /// What, of whom, in which case.
    pub name: String,
    /// Unit of both.
    pub unit: String,
    /// Medians.
    pub before: f64,
    /// Medians.
    pub after: f64,
    /// `after / before`.
    pub ratio: f64,
    /// The smallest and the largest ratio that a sample of the one has to a sample of the other.
    pub spread: (f64, f64),
    /// Which way is good.
    pub better: Better,
    /// How many samples each median stands on.
    pub samples: (usize, usize),
}

impl Ratio {
    fn of(before: &Figure, after: &Figure) -> Ratio {
        let (low_before, high_before) = ends(&before.samples);
        let (low_after, high_after) = ends(&after.samples);
        Ratio {
            name: super::spaced(&[&before.name, &before.target, &before.case]),
            unit: before.unit.clone(),
            before: median(&before.samples),
            after: median(&after.samples),
            ratio: median(&after.samples) / median(&before.samples),
            spread: (low_after / high_before, high_after / low_before),
            better: before.better,
            samples: (before.samples.len(), after.samples.len()),
        }
    }

    /// What can be said: better or worse only when every sample of the one is beyond every sample of the other, and there
    /// are at least two of each.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        if self.samples.0 < 2 || self.samples.1 < 2 {
            return "one sample";
        }
        match (self.better, self.spread) {
            (Better::Higher, (low, _)) if low > 1.0 => "better",
            (Better::Lower, (_, high)) if high < 1.0 => "better",
            (Better::Higher, (_, high)) if high < 1.0 => "worse",
            (Better::Lower, (low, _)) if low > 1.0 => "worse",
            _ => "within the spread",
        }
    }
}

fn ends(samples: &[f64]) -> (f64, f64) {
    samples.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), s| (low.min(*s), high.max(*s)))
}

/// All figures that both have, in the first's order.
#[must_use]
pub fn ratios(before: &Report, after: &Report) -> Vec<Ratio> {
    let measured = |f: &&Figure| !f.samples.is_empty();
    let of_after = |b: &Figure| after.figures.iter().filter(measured).find(|a| a.key() == b.key());
    let pair = |b: &Figure| Some(Ratio::of(b, of_after(b)?));
    before.figures.iter().filter(measured).filter_map(pair).collect()
}

/// A report about two reports.
#[must_use]
pub fn report(before: &Report, after: &Report) -> Report {
    let names = [("A".to_owned(), describe(before)), ("B".to_owned(), describe(after))];
    let mut report = Report::new("compare", &format!("B beside A: {}", after.title), names.into());
    let mut table = Table::new(
        "Figures of both",
        &["figure", "A", "B", "unit", "B / A", "spread", "samples", "verdict"],
    )
    .note(
        "The spread goes from the smallest to the largest ratio that a sample of B has to a sample of A. Better and worse are \
         said only where all of it lies on one side of 1.",
    );
    for r in ratios(before, after) {
        table.row([
            r.name.clone(),
            number(r.before),
            number(r.after),
            r.unit.clone(),
            format!("{:.3}", r.ratio),
            format!("{:.3} to {:.3}", r.spread.0, r.spread.1),
            format!("{} and {}", r.samples.0, r.samples.1),
            r.verdict().to_owned(),
        ]);
        let better = r.better;
        report.figure(&r.name, "B / A", "", "", better, &[r.ratio]);
    }
    report.tables.push(table);
    differences(before, after, &mut report);
    report
}

fn describe(report: &Report) -> String {
    format!("{} of {}, settings {}", report.what, report.began, report.settings_hash)
}

/// What else than the measured thing differs.
fn differences(before: &Report, after: &Report, report: &mut Report) {
    let mut table = Table::new("What differs otherwise", &["", "A", "B"]);
    let mut compare = |what: String, a: &str, b: &str| {
        if a != b {
            table.row([what, a.to_owned(), b.to_owned()]);
        }
    };
    compare("command".into(), &before.what, &after.what);
    let names = before.settings.keys().chain(after.settings.keys());
    let names: std::collections::BTreeSet<&String> = names.collect();
    for name in names {
        let of = |r: &Report| r.settings.get(name).cloned().unwrap_or_default();
        compare(name.replace('_', " "), &of(before), &of(after));
    }
    let names: std::collections::BTreeSet<&String> =
        before.versions.keys().chain(after.versions.keys()).collect();
    for name in names {
        let of = |r: &Report| r.versions.get(name).cloned().unwrap_or_default();
        compare(format!("version of {name}"), &of(before), &of(after));
    }
    compare("machine".into(), &before.machine.line(), &after.machine.line());
    let taken = |r: &Report| format!("{:.1} %", r.machine.steal_percent);
    compare("taken by other guests".into(), &taken(before), &taken(after));
    let load = |r: &Report| format!("{:.1}", r.machine.load_before);
    compare("runnable threads before".into(), &load(before), &load(after));
    if before.settings_hash != after.settings_hash {
        report.notes.push("The two runs had different settings: they did not ask the same question.".into());
    }
    for (name, run) in [("A", before), ("B", after)] {
        if run.machine.was_busy() {
            report.notes.push(format!("The machine was not quiet when {name} began."));
        }
    }
    if !table.rows.is_empty() {
        report.tables.push(table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn run(rate: &[f64], latency: &[f64]) -> Report {
        let mut report = Report::new("tpcc", "t", BTreeMap::new());
        report.figure("rate", "Evenkeel", "8 clients", "1/s", Better::Higher, rate);
        report.figure("p99", "Evenkeel", "8 clients", "ms", Better::Lower, latency);
        report
    }

    #[test]
    fn a_ratio_has_the_spread_of_its_samples() {
        let found = ratios(&run(&[100.0, 110.0], &[2.0, 3.0]), &run(&[120.0, 132.0], &[2.5, 2.6]));
        let rate = &found[0];
        assert_eq!((rate.before, rate.after, rate.ratio), (110.0, 132.0, 1.2));
        assert!((rate.spread.0 - 120.0 / 110.0).abs() < 1e-9 && (rate.spread.1 - 1.32).abs() < 1e-9);
        assert_eq!(rate.verdict(), "better");
        assert_eq!(found[1].verdict(), "within the spread");
    }

    #[test]
    fn one_sample_decides_nothing_and_other_settings_are_named() {
        assert_eq!(ratios(&run(&[1.0], &[1.0]), &run(&[9.0], &[9.0]))[0].verdict(), "one sample");
        let mut other = run(&[1.0], &[1.0]);
        other.settings.insert("warehouses".into(), "4".into());
        other.settings_hash = "another".into();
        let report = report(&run(&[1.0], &[1.0]), &other);
        assert!(report.notes.iter().any(|n| n.contains("different settings")), "{:?}", report.notes);
        assert!(report.tables[1].rows.contains(&vec!["warehouses".into(), String::new(), "4".into()]));
    }
}
