//! Latency histogram with bounded relative error, cheap enough to sit in the loop it measures.

/// Buckets of 1/16 relative width from 1 microsecond to over an hour.
#[derive(Clone)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum_us: u64,
    max_us: u64,
}

const SUB: u64 = 16;

impl Default for Histogram {
    fn default() -> Self {
        Histogram { buckets: vec![0; 64 * SUB as usize], count: 0, sum_us: 0, max_us: 0 }
    }
}

impl Histogram {
    fn index(us: u64) -> usize {
        if us < SUB {
            return us as usize;
        }
        let log = 63 - us.leading_zeros() as u64;
        ((log - 3) * SUB + ((us >> (log - 4)) - SUB)) as usize
    }

    fn upper(index: usize) -> u64 {
        let index = index as u64;
        if index < SUB {
            return index;
        }
        let (log, sub) = (index / SUB + 3, index % SUB);
        ((SUB + sub + 1) << (log - 4)) - 1
    }

    /// Adds one observation in microseconds.
    pub fn record(&mut self, us: u64) {
        self.buckets[Self::index(us)] += 1;
        self.count += 1;
        self.sum_us += us;
        self.max_us = self.max_us.max(us);
    }

    /// Adds another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        for (a, b) in self.buckets.iter_mut().zip(&other.buckets) {
            *a += b;
        }
        self.count += other.count;
        self.sum_us += other.sum_us;
        self.max_us = self.max_us.max(other.max_us);
    }

    /// Number of observations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean in microseconds; 0 when empty.
    #[must_use]
    pub fn mean_us(&self) -> u64 {
        self.sum_us.checked_div(self.count).unwrap_or(0)
    }

    /// Largest observation in microseconds.
    #[must_use]
    pub fn max_us(&self) -> u64 {
        self.max_us
    }

    /// The value below which `quantile` (0..=1) of the observations lie, to within a sixteenth.
    #[must_use]
    pub fn quantile_us(&self, quantile: f64) -> u64 {
        let wanted = (self.count as f64 * quantile).ceil() as u64;
        let mut seen = 0;
        for (index, n) in self.buckets.iter().enumerate() {
            seen += n;
            if seen >= wanted && *n > 0 {
                return Self::upper(index).min(self.max_us);
            }
        }
        self.max_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_stay_within_a_sixteenth() {
        let mut h = Histogram::default();
        (1..=100_000).for_each(|us| h.record(us));
        for (q, exact) in [(0.5, 50_000.0), (0.95, 95_000.0), (0.99, 99_000.0)] {
            let got = h.quantile_us(q) as f64;
            assert!((got / exact - 1.0).abs() < 1.0 / 15.0, "{q}: {got} against {exact}");
        }
        assert_eq!(h.quantile_us(1.0), 100_000);
    }

    #[test]
    fn every_value_falls_into_a_bucket_that_covers_it() {
        for us in (0..10_000).chain([u64::MAX / 2, 3_600_000_000]) {
            let i = Histogram::index(us);
            assert!(Histogram::upper(i) >= us, "{us}");
            assert!(i == 0 || Histogram::upper(i - 1) < us, "{us}");
        }
    }
}
