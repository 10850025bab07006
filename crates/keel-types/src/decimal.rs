//! Decimal arithmetic: exact on 256-bit integers where 128 do not suffice, rounded half away from zero to the scale
//! asked for.
//!
//! A [`Decimal`] has at most 38 digits. Operations return `None` when the result needs more; the caller turns that into
//! the overflow error of its types.

use crate::Decimal;
use ethnum::I256;
use std::fmt::{self, Write};

/// Powers of ten that fit 38 digits.
pub const POW10: [i128; 39] = {
    let mut table = [1i128; 39];
    let mut i = 1;
    while i < 39 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

fn wide_pow10(n: u32) -> I256 {
    I256::from(10).pow(n)
}

fn narrow(n: I256, scale: u8) -> Option<Decimal> {
    let max = I256::from(Decimal::MAX_MANTISSA);
    (n <= max && n >= -max).then(|| Decimal::new(n.as_i128(), scale))
}

/// `n / 10^digits`, rounded half away from zero.
fn round_wide(n: I256, digits: u32) -> I256 {
    if digits == 0 {
        return n;
    }
    if digits > 76 {
        return I256::ZERO;
    }
    let unit = wide_pow10(digits);
    let (quotient, rest) = (n / unit, n % unit);
    // |rest| >= unit / 2, without the doubling that could overflow.
    match rest.abs() >= unit / I256::from(2) {
        true if n < I256::ZERO => quotient - I256::ONE,
        true => quotient + I256::ONE,
        false => quotient,
    }
}

/// `n / 10^digits`, rounded half away from zero.
#[must_use]
pub fn round_mantissa(n: i128, digits: u8) -> i128 {
    if digits == 0 {
        return n;
    }
    if digits > 38 {
        return 0;
    }
    let unit = POW10[usize::from(digits)];
    let (quotient, rest) = (n / unit, n % unit);
    if rest.unsigned_abs() >= unit.unsigned_abs() / 2 { quotient + n.signum() } else { quotient }
}

/// The product, without the slow check when both factors are words.
#[inline]
fn times(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    }
}

/// `m * 10^up` within 128 bits.
#[inline]
pub(crate) fn scaled_up(m: i128, up: u8) -> Option<i128> {
    if up == 0 { Some(m) } else { times(m, POW10[usize::from(up)]) }
}

#[inline]
fn bounded(m: i128, scale: u8) -> Option<Decimal> {
    (m.unsigned_abs() <= Decimal::MAX_MANTISSA as u128).then(|| Decimal::new(m, scale))
}

impl Decimal {
    /// An integer.
    #[must_use]
    pub const fn from_int(n: i64) -> Decimal {
        Decimal::new(n as i128, 0)
    }

    /// The same number at another scale, rounded half away from zero; `None` beyond 38 digits.
    #[must_use]
    pub fn rescale(self, scale: u8) -> Option<Decimal> {
        match scale.checked_sub(self.scale) {
            Some(0) => Some(self),
            Some(up) => bounded(scaled_up(self.mantissa(), up)?, scale),
            None => Some(Decimal::new(round_mantissa(self.mantissa(), self.scale - scale), scale)),
        }
    }

    /// Whether it has at most this many digits.
    #[must_use]
    pub const fn fits(self, precision: u8) -> bool {
        self.mantissa().unsigned_abs() < POW10[precision as usize] as u128
    }

    /// The sum at a scale.
    #[must_use]
    pub fn add(self, other: Decimal, scale: u8) -> Option<Decimal> {
        let common = self.scale.max(other.scale);
        let up = |d: Decimal| scaled_up(d.mantissa(), common - d.scale);
        if let (true, Some(a), Some(b)) = (scale <= common, up(self), up(other))
            && let Some(sum) = a.checked_add(b)
        {
            return bounded(round_mantissa(sum, common - scale), scale);
        }
        let sum = self.widened(common) + other.widened(common);
        at_scale(sum, common, scale)
    }

    /// The difference at a scale.
    #[must_use]
    pub fn subtract(self, other: Decimal, scale: u8) -> Option<Decimal> {
        self.add(other.negate(), scale)
    }

    /// The number with the other sign.
    #[must_use]
    pub const fn negate(self) -> Decimal {
        Decimal::new(-self.mantissa(), self.scale)
    }

    /// The product at a scale.
    #[must_use]
    pub fn multiply(self, other: Decimal, scale: u8) -> Option<Decimal> {
        let natural = self.scale + other.scale;
        if natural == scale
            && let Some(product) = self.mantissa().checked_mul(other.mantissa())
        {
            return (product.unsigned_abs() <= Decimal::MAX_MANTISSA as u128)
                .then(|| Decimal::new(product, scale));
        }
        at_scale(I256::from(self.mantissa()) * I256::from(other.mantissa()), natural, scale)
    }

    /// The quotient at a scale, cut off, not rounded, as the product does. The divisor is not zero.
    #[must_use]
    pub fn divide(self, other: Decimal, scale: u8) -> Option<Decimal> {
        let divisor = I256::from(other.mantissa());
        if divisor == I256::ZERO {
            return None;
        }
        let up = i32::from(scale) + i32::from(other.scale) - i32::from(self.scale);
        if let Ok(up @ 0..=38) = u8::try_from(up)
            && let Some(dividend) = scaled_up(self.mantissa(), up)
        {
            return bounded(dividend / other.mantissa(), scale);
        }
        let quotient = if up >= 0 {
            I256::from(self.mantissa()).checked_mul(wide_pow10(up as u32))? / divisor
        } else {
            I256::from(self.mantissa()) / wide_pow10(up.unsigned_abs()) / divisor
        };
        narrow(quotient, scale)
    }

    /// The remainder, with the sign of the dividend, at a scale. The divisor is not zero.
    #[must_use]
    pub fn modulo(self, other: Decimal, scale: u8) -> Option<Decimal> {
        let common = self.scale.max(other.scale);
        let divisor = other.widened(common);
        if divisor == I256::ZERO {
            return None;
        }
        at_scale(self.widened(common) % divisor, common, scale)
    }

    fn widened(self, scale: u8) -> I256 {
        I256::from(self.mantissa()) * wide_pow10(u32::from(scale - self.scale))
    }

    /// The nearest float.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        let m = self.mantissa();
        if m.unsigned_abs() < 1 << 53 && self.scale <= 22 {
            return m as f64 / 10f64.powi(i32::from(self.scale));
        }
        // Printing and reading is exact where dividing two rounded numbers is not.
        self.to_string().parse().unwrap_or(0.0)
    }

    /// The number nearest to a float at a scale, all of its binary digits taken as they are (0.1 is 0.10000000000000000555); `None` beyond 38
    /// digits and for what is no number.
    #[must_use]
    pub fn from_f64(f: f64, scale: u8) -> Option<Decimal> {
        const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
        if !f.is_finite() {
            return None;
        }
        let (bits, hidden) = (f.to_bits(), 1u64 << FRACTION_BITS);
        let exponent = i32::try_from(bits >> FRACTION_BITS & 0x7FF).ok()?;
        let fraction = bits & (hidden - 1);
        let whole = if exponent == 0 { fraction } else { fraction | hidden };
        // whole * 2^exponent
        let exponent = exponent.max(1) - 1023 - 52;
        let wanted = I256::from(whole) * wide_pow10(u32::from(scale));
        let m = if exponent >= 0 {
            let power = I256::from(1).checked_shl(exponent.unsigned_abs()).filter(|_| exponent < 128)?;
            wanted.checked_mul(power)?
        } else if exponent < -200 {
            // Less than half of the last digit.
            I256::from(0)
        } else {
            let half = I256::from(1) << (exponent.unsigned_abs() - 1);
            (wanted + half) >> exponent.unsigned_abs()
        };
        narrow(if f < 0.0 { -m } else { m }, scale)
    }

    /// The same from its 17 significant digits, as it is printed.
    #[must_use]
    pub fn from_printed_f64(f: f64, scale: u8) -> Option<Decimal> {
        if f == 0.0 {
            return Some(Decimal::new(0, scale));
        }
        let text = format!("{f:.16e}");
        let (digits, exponent) = text.split_once('e')?;
        let exponent: i32 = exponent.parse().ok()?;
        let mantissa: i128 = digits.chars().filter(|c| *c != '.').collect::<String>().parse().ok()?;
        // mantissa * 10^(exponent - 16), wanted at 10^-scale
        let shift = exponent - 16 + i32::from(scale);
        let m = if shift >= 0 {
            mantissa.checked_mul(*POW10.get(shift as usize)?)?
        } else {
            round_mantissa(mantissa, u8::try_from(-shift).unwrap_or(255))
        };
        bounded(m, scale)
    }

    /// The integral part.
    #[must_use]
    pub fn trunc(self) -> i128 {
        self.mantissa() / POW10[usize::from(self.scale.min(38))]
    }

    /// Reads digits with an optional sign and point, nothing else. The scale is the number of digits written after the
    /// point; digits beyond 38 behind the point are rounded away. `Err(true)` means a number too large.
    pub fn parse(text: &str) -> Result<Decimal, bool> {
        let (negative, digits) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let digits = digits.trim_start_matches(' ');
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && part.is_empty()
            || !whole.bytes().chain(part.bytes()).all(|b| b.is_ascii_digit())
        {
            return Err(false);
        }
        let mut m: i128 = 0;
        for b in whole.bytes() {
            m = m.checked_mul(10).and_then(|m| m.checked_add(i128::from(b - b'0'))).ok_or(true)?;
        }
        let mut scale = 0;
        let mut rest = part.bytes();
        for b in rest.by_ref() {
            let next = m * 10 + i128::from(b - b'0');
            if scale == 38 || next > Decimal::MAX_MANTISSA || m > Decimal::MAX_MANTISSA / 10 {
                if b >= b'5' {
                    m += 1;
                }
                break;
            }
            m = next;
            scale += 1;
        }
        if m > Decimal::MAX_MANTISSA {
            return Err(true);
        }
        Ok(Decimal::new(if negative { -m } else { m }, scale))
    }
}

/// `n` at scale `from`, rounded to scale `to`.
fn at_scale(n: I256, from: u8, to: u8) -> Option<Decimal> {
    match from.checked_sub(to) {
        Some(down) => narrow(round_wide(n, u32::from(down)), to),
        None => narrow(n.checked_mul(wide_pow10(u32::from(to - from)))?, to),
    }
}

/// All digits of the scale, a leading zero before the point.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let m = self.mantissa();
        if m < 0 {
            f.write_char('-')?;
        }
        let scale = usize::from(self.scale);
        if scale == 0 {
            return write!(f, "{}", m.unsigned_abs());
        }
        let digits = format!("{:0width$}", m.unsigned_abs(), width = scale + 1);
        let (whole, part) = digits.split_at(digits.len() - scale);
        write!(f, "{whole}.{part}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn d(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn known_results() {
        assert_eq!(d("2").divide(d("3"), 6).unwrap().to_string(), "0.666666");
        assert_eq!(d("-7.5").modulo(d("2"), 1).unwrap().to_string(), "-1.5");
        assert_eq!(d("1.25").rescale(1).unwrap().to_string(), "1.3");
        assert_eq!(d("-1.25").rescale(1).unwrap().to_string(), "-1.3");
        let from = |f: f64, scale| Decimal::from_f64(f, scale).map(|d| d.to_string());
        assert_eq!(from(0.1, 20).unwrap(), "0.10000000000000000555");
        assert_eq!(from(f64::from(0.1f32), 20).unwrap(), "0.10000000149011611938");
        assert_eq!(from(1e38, 0).unwrap(), "99999999999999997748809823456034029568");
        assert_eq!(
            [from(0.125, 2), from(-0.125, 2), from(2.5, 0)].map(Option::unwrap),
            ["0.13", "-0.13", "3"]
        );
        assert_eq!(
            [from(5e-324, 38), from(-0.0, 1)].map(Option::unwrap),
            [format!("0.{}", "0".repeat(38)), "0.0".to_owned()]
        );
        assert_eq!(
            [from(2e38, 0), from(1e300, 2), from(f64::NAN, 0), from(f64::INFINITY, 0)],
            [None, None, None, None]
        );
        assert_eq!(Decimal::from_printed_f64(0.1, 20).unwrap().to_string(), "0.10000000000000001000");
        assert_eq!(d("-0.05").to_string(), "-0.05");
        assert_eq!(d(".5").to_string(), "0.5");
        assert_eq!(Decimal::parse("1e5"), Err(false));
        assert_eq!(Decimal::parse(&"9".repeat(40)), Err(true));
        assert_eq!(d("0.123456789012345678901234567890123456789").scale, 38);
    }

    fn any_decimal() -> impl Strategy<Value = Decimal> {
        (-Decimal::MAX_MANTISSA..=Decimal::MAX_MANTISSA, 0u32..127, 0u8..=38)
            .prop_map(|(m, shift, scale)| Decimal::new(m >> shift, scale))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn add_is_exact_where_it_can_be(a in any_decimal(), b in any_decimal()) {
            let scale = a.scale.max(b.scale);
            let expect = narrow(a.widened(scale) + b.widened(scale), scale);
            prop_assert_eq!(a.add(b, scale), expect);
            prop_assert_eq!(a.subtract(b.negate(), scale), expect);
        }

        #[test]
        fn multiply_rounds_once(a in any_decimal(), b in any_decimal(), scale in 0u8..=38) {
            let wide = I256::from(a.mantissa()) * I256::from(b.mantissa());
            let natural = a.scale + b.scale;
            let expect = if scale >= natural {
                wide.checked_mul(wide_pow10(u32::from(scale - natural)))
            } else {
                Some(round_wide(wide, u32::from(natural - scale)))
            };
            prop_assert_eq!(a.multiply(b, scale), expect.and_then(|n| narrow(n, scale)));
        }

        #[test]
        fn divide_and_modulo_belong_together(a in any_decimal(), b in any_decimal(), scale in 0u8..=20) {
            prop_assume!(b.mantissa() != 0);
            let _ = a.divide(b, scale);
            let same = Decimal::new(a.mantissa(), b.scale);
            let quotient = same.divide(b, 0).unwrap();
            let rest = same.modulo(b, b.scale).unwrap();
            prop_assert_eq!(quotient.mantissa() * b.mantissa() + rest.mantissa(), same.mantissa());
        }

        #[test]
        fn text_and_back(a in any_decimal()) {
            prop_assert_eq!(Decimal::parse(&a.to_string()), Ok(a));
        }

        #[test]
        fn floats(f in -1e15f64..1e15) {
            let near = Decimal::from_f64(f, 17).unwrap();
            prop_assert!((near.to_f64() - f).abs() <= f.abs() * 1e-15 + 1e-16);
        }

        #[test]
        fn floats_are_the_numbers_that_they_are(f in -1e18f64..1e18, scale in 0u8..20) {
            // Printing with that many digits is exact, but for a tie.
            let printed = Decimal::parse(&format!("{f:.0$}", usize::from(scale))).unwrap();
            let one = Decimal::from_f64(f, scale).unwrap();
            prop_assert!((one.mantissa() - printed.mantissa()).abs() <= 1);
            let tied = format!("{f:.0$}", usize::from(scale) + 60);
            let digits = tied.trim_end_matches('0').len();
            prop_assert!(one == printed || digits + 60 - tied.len() == 1);
        }
    }
}
