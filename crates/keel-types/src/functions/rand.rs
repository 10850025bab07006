//! The generator behind `RAND`: two multiplicative congruential generators combined, as L'Ecuyer described it. Seeds
//! give the numbers of the product.

const M1: i64 = 2_147_483_563;
const A1: i64 = 40_014;
const M2: i64 = 2_147_483_399;
const A2: i64 = 40_692;
/// Nearly 1 / M1; these seven digits are what makes the last digits agree.
const SCALE: f64 = 4.656613e-10;
const DEFAULT_SEEDS: (i64, i64) = (12_345, 67_890);

/// State of one session's sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandState {
    s1: i64,
    s2: i64,
}

impl RandState {
    /// Starts a sequence; `RAND(0)` is the default seed.
    #[must_use]
    pub fn seeded(seed: i64) -> RandState {
        let seed = (i64::from(seed as i32)).rem_euclid(M1);
        RandState { s1: if seed == 0 { DEFAULT_SEEDS.0 } else { seed }, s2: DEFAULT_SEEDS.1 }
    }

    /// Starts a sequence somewhere: that of a session which gave no seed.
    #[must_use]
    pub fn anywhere(random: u64) -> RandState {
        let (high, low) = ((random >> 33) as i64, (random & 0x7FFF_FFFF) as i64);
        RandState { s1: 1 + high % (M1 - 1), s2: 1 + low % (M2 - 1) }
    }

    /// The next number in (0, 1).
    pub fn next_number(&mut self) -> f64 {
        self.s1 = self.s1 * A1 % M1;
        self.s2 = self.s2 * A2 % M2;
        let z = self.s1 - self.s2;
        let z = if z < 1 { z + M1 - 1 } else { z };
        z as f64 * SCALE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_product() {
        let check = |seed: i64, expect: f64| {
            let got = RandState::seeded(seed).next_number();
            assert!((got - expect).abs() < 1e-9, "{seed}: {got}");
        };
        check(0, 0.943597390424144);
        check(1, 0.713591993212924);
        check(2, 0.713610626184182);
        check(100, 0.715436657367485);
        let mut state = RandState::seeded(100);
        let shown = [0; 3].map(|_| format!("{:.15}", state.next_number()));
        assert_eq!(shown, ["0.715436657367485", "0.284633807679820", "0.013103908285036"]);
        assert!(RandState::anywhere(u64::MAX).next_number() < 1.0);
    }
}
