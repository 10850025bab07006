//! `keel bench compare`.

use super::Run;
use crate::report::{Report, compare};
use anyhow::{Result, ensure};
use clap::Args;
use std::path::PathBuf;

/// Two reports beside each other: ratios of their figures, with spread
///
/// The spread goes from the smallest to the largest ratio that a sample of B has to a sample of A, so runs with --repeat say
/// more. What else differs (settings, versions, machine) is said.
#[derive(Args)]
pub struct Compare {
    /// Report to compare with (its .json file)
    #[arg(value_name = "A")]
    before: PathBuf,
    /// Report to compare (its .json file)
    #[arg(value_name = "B")]
    after: PathBuf,
}

impl Compare {
    /// Runs it.
    pub(super) fn run(self, run: &Run<'_>) -> Result<()> {
        let (before, after) = (Report::read(&self.before)?, Report::read(&self.after)?);
        let report = compare::report(&before, &after);
        ensure!(!report.figures.is_empty(), "the two reports have no figure in common");
        run.finish(report)
    }
}
