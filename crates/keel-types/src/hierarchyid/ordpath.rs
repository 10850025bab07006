//! The bytes of a `hierarchyid`: every label is a prefix that tells its range, the digits of its distance from the range's
//! start with fixed bits among them, and a bit that is 1 behind the last label of a level. A label that is not the last of
//! its level is written one higher. The whole is filled up with zeros to a byte. (MS-SSCLRT 2.1)

/// Bits of one range of labels: `x` stands for a digit, `T` for the last bit.
struct Pattern {
    first: i64,
    last: i64,
    bits: &'static [u8],
}

const fn pattern(first: i64, last: i64, bits: &'static str) -> Pattern {
    Pattern { first, last, bits: bits.as_bytes() }
}

const PATTERNS: [Pattern; 13] = [
    pattern(
        -281_479_271_682_120,
        -4_294_971_465,
        "000100xxxxxxxxxxxxxx0xxxxxxxxxxxxxxxxxxxxx0xxxxxx0xxx0x1xxxT",
    ),
    pattern(-4_294_971_464, -4_169, "000101xxxxxxxxxxxxxxxxxxx0xxxxxx0xxx0x1xxxT"),
    pattern(-4_168, -73, "000110xxxxx0xxx0x1xxxT"),
    pattern(-72, -9, "0010xx0x1xxxT"),
    pattern(-8, -1, "00111xxxT"),
    pattern(0, 3, "01xxT"),
    pattern(4, 7, "100xxT"),
    pattern(8, 15, "101xxxT"),
    pattern(16, 79, "110xx0x1xxxT"),
    pattern(80, 1_103, "1110xxx0xxx0x1xxxT"),
    pattern(1_104, 5_199, "11110xxxxx0xxx0x1xxxT"),
    pattern(5_200, 4_294_972_495, "111110xxxxxxxxxxxxxxxxxxx0xxxxxx0xxx0x1xxxT"),
    pattern(
        4_294_972_496,
        281_479_271_683_151,
        "111111xxxxxxxxxxxxxx0xxxxxxxxxxxxxxxxxxxxx0xxxxxx0xxx0x1xxxT",
    ),
];

/// The bytes of a path; `None` when a label is outside of every range.
pub(super) fn encode(levels: &[Vec<i64>]) -> Option<Vec<u8>> {
    let mut bits = Bits::default();
    for labels in levels {
        for (i, label) in labels.iter().enumerate() {
            let last = i + 1 == labels.len();
            put(&mut bits, if last { *label } else { label + 1 }, last)?;
        }
    }
    Some(bits.bytes)
}

fn put(bits: &mut Bits, label: i64, last: bool) -> Option<()> {
    let pattern = PATTERNS.iter().find(|p| (p.first..=p.last).contains(&label))?;
    let distance = label - pattern.first;
    let mut digits = pattern.bits.iter().filter(|b| **b == b'x').count();
    for bit in pattern.bits {
        bits.push(match bit {
            b'x' => {
                digits -= 1;
                distance >> digits & 1 == 1
            }
            b'T' => last,
            fixed => *fixed == b'1',
        });
    }
    Some(())
}

/// The path of these bytes; `None` when they are none's. Bits that should be zero at the end are not looked at.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<Vec<i64>>> {
    let (mut levels, mut labels, mut at) = (Vec::new(), Vec::new(), 0);
    let bit = |at: usize| bytes.get(at / 8).is_some_and(|b| b >> (7 - at % 8) & 1 == 1);
    while (at..bytes.len() * 8).any(bit) {
        let (label, last, length) = PATTERNS.iter().find_map(|p| read(p, at, bit))?;
        at += length;
        if at > bytes.len() * 8 {
            return None;
        }
        labels.push(if last { label } else { label - 1 });
        if last {
            levels.push(std::mem::take(&mut labels));
        }
    }
    labels.is_empty().then_some(levels)
}

/// The label that stands at a bit in this pattern, whether it is its level's last, and how many bits it takes.
fn read(pattern: &Pattern, at: usize, bit: impl Fn(usize) -> bool) -> Option<(i64, bool, usize)> {
    let (mut distance, mut last) = (0, false);
    for (i, expected) in pattern.bits.iter().enumerate() {
        let found = bit(at + i);
        match expected {
            b'x' => distance = distance << 1 | i64::from(found),
            b'T' => last = found,
            fixed if found != (*fixed == b'1') => return None,
            _ => {}
        }
    }
    Some((pattern.first + distance, last, pattern.bits.len()))
}

/// Bits one after the other, the highest of a byte first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.used.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(byte) = self.bytes.last_mut() {
            *byte |= u8::from(bit) << (7 - self.used % 8);
        }
        self.used += 1;
    }
}
