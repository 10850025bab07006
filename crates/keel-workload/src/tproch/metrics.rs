//! The specification's figures (section 5.4) out of seconds.

/// Seconds of the power test: those of each query, and of the two refreshes.
#[derive(Clone, Debug)]
pub struct Power {
    /// By number of the query, from 0.
    pub queries: [f64; 22],
    /// Insert and delete.
    pub refreshes: [f64; 2],
}

/// How much faster than the slowest a query counts at most (section 5.4.1.4).
const RATIO_MAX: f64 = 1_000.0;

impl Power {
    /// Mean of the 24 as their geometric mean, seconds; none counts for less than a thousandth of the slowest.
    #[must_use]
    pub fn geometric_mean(&self) -> f64 {
        geometric_mean(self.queries.iter().chain(&self.refreshes).copied())
    }

    /// Queries an hour × scale factor, one after another.
    #[must_use]
    pub fn at_size(&self, factor: f64) -> f64 {
        3_600.0 * factor / self.geometric_mean()
    }
}

/// The geometric mean of seconds; none counts for less than a thousandth of the largest. NaN for none.
pub fn geometric_mean(of: impl Iterator<Item = f64>) -> f64 {
    let of: Vec<f64> = of.collect();
    let least = of.iter().copied().fold(0.0, f64::max) / RATIO_MAX;
    let logarithms: f64 = of.iter().map(|seconds| seconds.max(least).ln()).sum();
    (logarithms / of.len() as f64).exp()
}

/// Queries an hour × scale factor of so many streams that ended after so many seconds, refreshes included.
#[must_use]
pub fn throughput_at_size(streams: u32, seconds: f64, factor: f64) -> f64 {
    f64::from(streams) * 22.0 * 3_600.0 / seconds * factor
}

/// The one figure of both tests: their geometric mean, queries an hour × scale factor.
#[must_use]
pub fn composite(power: f64, throughput: f64) -> f64 {
    (power * throughput).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-9
    }

    #[test]
    fn figures_are_the_specifications() {
        // All take two seconds: power is 3600 / 2 × factor.
        let even = Power { queries: [2.0; 22], refreshes: [2.0; 2] };
        assert!(close(even.at_size(10.0), 18_000.0));
        // Two streams of 22 queries in 100 s, at a tenth.
        assert!(close(throughput_at_size(2, 100.0, 0.1), 2.0 * 22.0 * 36.0 * 0.1));
        assert!(close(composite(400.0, 900.0), 600.0));
    }

    #[test]
    fn a_query_counts_for_no_less_than_a_thousandth_of_the_slowest() {
        let mut queries = [1.0; 22];
        queries[3] = 1e-9;
        let power = Power { queries, refreshes: [1.0; 2] };
        assert!(close(power.geometric_mean(), 1e-3_f64.powf(1.0 / 24.0)));
        assert!(geometric_mean(std::iter::empty()).is_nan());
    }
}
