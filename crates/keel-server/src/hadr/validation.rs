//! The report about what a cluster stands on: measured on every member, judged here, written down beside the error log.

use std::fmt::Write as _;
use std::path::Path;

use keel_group::{Latency, MemberCheck};
use keel_sql::hadr::cluster::{ClusterCheck, ClusterMember, ClusterReport};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A log write slower than this at its 99th percentile is felt in every commit.
const DISK_WARNING_US: u64 = 20_000;
/// One slower than this looks like a stalled disk to failover detection.
const DISK_FAILED_US: u64 = 500_000;
/// A round trip slower than this at its 99th percentile is felt in every commit that waits for the other member.
const WAY_WARNING_US: u64 = 20_000;
/// One slower than this looks like silence to failover detection.
const WAY_FAILED_US: u64 = 200_000;

/// Where the report is kept, in the log directory; the newest replaces the one before.
const FILE: &str = "cluster_validation";

fn verdict(latency: Latency, warning_us: u64, failed_us: u64) -> &'static str {
    match latency.p99_us {
        slow if slow >= failed_us => "FAILED",
        slow if slow >= warning_us => "WARNING",
        _ => "OK",
    }
}

fn numbers(latency: Latency) -> Option<[u64; 4]> {
    Some([u64::from(latency.samples), latency.p50_us, latency.p99_us, latency.max_us])
}

fn judge(found: &MemberCheck) -> Vec<ClusterCheck> {
    let member = || found.name.clone();
    let failed = |check, text| ClusterCheck {
        member: member(),
        check,
        other: None,
        measured: None,
        verdict: "FAILED",
        text,
    };
    let Some(measured) = &found.measured else {
        return vec![failed("connection", found.error.clone().unwrap_or_default())];
    };
    let mut checks = Vec::new();
    match (measured.log_write, &measured.disk_error) {
        (Some(latency), _) => checks.push(ClusterCheck {
            member: member(),
            check: "log write",
            other: None,
            measured: numbers(latency),
            verdict: verdict(latency, DISK_WARNING_US, DISK_FAILED_US),
            text: "4 KB written and synced in the data directory; every commit waits for one".into(),
        }),
        (None, error) => checks.push(failed("log write", error.clone().unwrap_or_default())),
    }
    for way in &measured.round_trips {
        checks.push(ClusterCheck {
            member: member(),
            check: "round trip",
            other: Some(way.to.clone()),
            measured: way.latency.and_then(numbers),
            verdict: match way.latency {
                Some(_) if way.lost > 0 => "FAILED",
                Some(latency) => verdict(latency, WAY_WARNING_US, WAY_FAILED_US),
                None => "FAILED",
            },
            text: match way.lost {
                0 => "a message and its answer; a commit waits for one to each synchronous secondary".into(),
                lost => format!("{lost} messages had no answer within a second"),
            },
        });
    }
    checks
}

/// The lines of the report. A member or a way that is missing is one of them, and so is a member that runs another version.
pub(super) fn report(found: &[MemberCheck], members: &[ClusterMember]) -> ClusterReport {
    let mut checks: Vec<ClusterCheck> = found.iter().flat_map(judge).collect();
    let version = |m: &ClusterMember| {
        let (member, text) = (m.name.clone(), m.product_warning.clone()?);
        Some(ClusterCheck { member, check: "version", other: None, measured: None, verdict: "WARNING", text })
    };
    checks.extend(members.iter().filter_map(version));
    for one in found.iter().filter(|c| c.measured.is_some()) {
        for two in found.iter().filter(|c| c.measured.is_some() && c.name != one.name) {
            let ways = one.measured.iter().flat_map(|m| &m.round_trips);
            if !ways.into_iter().any(|way| way.to.eq_ignore_ascii_case(&two.name)) {
                checks.push(ClusterCheck {
                    member: one.name.clone(),
                    check: "round trip",
                    other: Some(two.name.clone()),
                    measured: None,
                    verdict: "FAILED",
                    text: "there is no connection between the two".into(),
                });
            }
        }
    }
    ClusterReport { checks, file: None }
}

/// The report as text for people.
fn page(report: &ClusterReport, from: &str) -> String {
    let now = OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default();
    let worst = ["FAILED", "WARNING"].into_iter().find(|w| report.checks.iter().any(|c| c.verdict == *w));
    let mut page = format!(
        "Cluster validation, asked for on {from} at {now}: {}\n\n{:<8} {:<20} {:<11} {:<20} {:>8} {:>10} {:>10} {:>10}  {}\n",
        worst.unwrap_or("OK"),
        "verdict",
        "member",
        "check",
        "to",
        "samples",
        "p50 us",
        "p99 us",
        "max us",
        "meaning"
    );
    for c in &report.checks {
        let number = |i: usize| c.measured.map(|m| m[i].to_string()).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "{:<8} {:<20} {:<11} {:<20} {:>8} {:>10} {:>10} {:>10}  {}",
            c.verdict,
            c.member,
            c.check,
            c.other.as_deref().unwrap_or(""),
            number(0),
            number(1),
            number(2),
            number(3),
            c.text
        );
    }
    page
}

/// Writes the report down in the log directory and says where.
pub(super) fn keep(mut report: ClusterReport, log_dir: &Path, from: &str) -> ClusterReport {
    let path = log_dir.join(FILE);
    if std::fs::write(&path, page(&report, from)).is_ok() {
        report.file = Some(path.display().to_string());
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_group::{Measurement, RoundTrip};
    use keel_sql::hadr::cluster::MemberType;

    fn latency(p99_us: u64) -> Latency {
        Latency { samples: 9, p50_us: 1, p99_us, max_us: p99_us }
    }

    fn found(name: &str, disk: u64, ways: &[(&str, Option<u64>, u32)]) -> MemberCheck {
        let round_trips = ways.iter().map(|(to, p99, lost)| RoundTrip {
            to: (*to).to_owned(),
            latency: p99.map(latency),
            lost: *lost,
        });
        let measured = Measurement {
            log_write: Some(latency(disk)),
            disk_error: None,
            round_trips: round_trips.collect(),
        };
        MemberCheck { name: name.into(), measured: Some(measured), error: None }
    }

    #[test]
    fn what_is_slow_lost_or_missing_is_said() {
        let silent = MemberCheck { name: "C".into(), measured: None, error: Some("away".into()) };
        let one = found("A", 900, &[("B", Some(25_000), 0)]);
        let two = found("B", 600_000, &[]);
        let behind = ClusterMember {
            name: "B".into(),
            endpoint_url: String::new(),
            kind: MemberType::Node,
            is_local: false,
            up: true,
            vote: true,
            round_trip_us: None,
            product_version: Some("0.0.9".into()),
            product_warning: Some("B is behind".into()),
            networks: Vec::new(),
        };
        let report = report(&[one, two, silent], &[behind]);
        let told: Vec<_> = report
            .checks
            .iter()
            .map(|c| (c.member.as_str(), c.check, c.other.as_deref(), c.verdict))
            .collect();
        assert_eq!(
            told,
            [
                ("A", "log write", None, "OK"),
                ("A", "round trip", Some("B"), "WARNING"),
                ("B", "log write", None, "FAILED"),
                ("C", "connection", None, "FAILED"),
                ("B", "version", None, "WARNING"),
                ("B", "round trip", Some("A"), "FAILED"),
            ]
        );
        let page = page(&report, "A");
        assert!(page.contains(": FAILED\n") && page.lines().count() == 9, "{page}");
    }

    #[test]
    fn a_message_without_an_answer_is_a_failure() {
        let report = report(&[found("A", 1, &[("B", Some(5), 1)]), found("B", 1, &[("A", Some(5), 0)])], &[]);
        let verdicts: Vec<_> = report.checks.iter().map(|c| c.verdict).collect();
        assert_eq!(verdicts, ["OK", "FAILED", "OK", "OK"]);
    }
}
