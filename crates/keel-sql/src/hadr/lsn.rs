//! Positions in the product's decimal form.
//!
//! Inside, a position is the number of log bytes before it. Outside it is `numeric(25,0)`: VLF sequence · 10^15 + block ·
//! 10^5 + slot. The three are cut from the one number, so that the order is kept and the way back is exact: 64 MB of log
//! count as one VLF, 512 bytes as one block, and the rest is the slot.

use keel_types::Value;

const VLF_BITS: u32 = 26;
const BLOCK_BITS: u32 = 9;

/// The three parts.
fn parts(position: u64) -> (u64, u64, u64) {
    let within = position & ((1 << VLF_BITS) - 1);
    // VLF sequences start at 1; so does the first slot.
    ((position >> VLF_BITS) + 1, within >> BLOCK_BITS, (within & ((1 << BLOCK_BITS) - 1)) + 1)
}

/// As a decimal number.
#[must_use]
pub fn to_number(position: u64) -> i128 {
    let (vlf, block, slot) = parts(position);
    i128::from(vlf) * 1_000_000_000_000_000 + i128::from(block) * 100_000 + i128::from(slot)
}

/// As `binary(10)`, the form of change data capture: VLF, block and slot, high bytes first.
#[must_use]
pub fn to_binary(position: u64) -> [u8; 10] {
    let (vlf, block, slot) = parts(position);
    let mut bytes = [0; 10];
    // A VLF's number fits while the log is shorter than 2^58 bytes.
    bytes[..4].copy_from_slice(&u32::try_from(vlf).unwrap_or(u32::MAX).to_be_bytes());
    bytes[4..8].copy_from_slice(&(block as u32).to_be_bytes());
    bytes[8..].copy_from_slice(&(slot as u16).to_be_bytes());
    bytes
}

/// The way back; `None` for what [`to_number`] never makes.
#[must_use]
pub fn from_number(number: i128) -> Option<u64> {
    let vlf = u64::try_from(number / 1_000_000_000_000_000).ok()?.checked_sub(1)?;
    let rest = u64::try_from(number % 1_000_000_000_000_000).ok()?;
    let (block, slot) = (rest / 100_000, (rest % 100_000).checked_sub(1)?);
    let fits = vlf < 1 << (64 - VLF_BITS) && block < 1 << (VLF_BITS - BLOCK_BITS) && slot < 1 << BLOCK_BITS;
    fits.then_some(vlf << VLF_BITS | block << BLOCK_BITS | slot)
}

/// As a value of `numeric(25,0)`.
#[must_use]
pub fn value(position: u64) -> Value {
    Value::Decimal(keel_types::Decimal::new(to_number(position), 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_and_the_way_back_is_exact() {
        let positions = [0, 1, 511, 512, 513, (1 << 26) - 1, 1 << 26, (1 << 26) + 7, 1 << 50, 1 << 58];
        for pair in positions.windows(2) {
            assert!(to_number(pair[0]) < to_number(pair[1]), "{pair:?}");
            // 2^58 bytes are a VLF too many for four bytes.
            assert!(pair[1] >= 1 << 58 || to_binary(pair[0]) < to_binary(pair[1]), "{pair:?}");
        }
        for position in positions {
            assert_eq!(from_number(to_number(position)), Some(position));
            assert!(to_number(position) < 10_i128.pow(25));
        }
        assert_eq!(from_number(0), None);
        assert_eq!(from_number(1_000_000_000_000_000), None);
    }
}
