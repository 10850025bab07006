//! Where in a table a sample looks: keys spread over all columns of a key, more of them where there are more rows, and how many rows are
//! read at each. Nothing here reads a row: who samples says how the first key between two is found.

use keel_node::Direction;
use std::ops::Bound;

/// More rows than this are read at several places, in the mean: many short runs tell more than a few long ones.
const RUN_ROWS: usize = 8;
/// Places that are looked for behind one of the first.
const MORE_PLACES_MAX: usize = 64;

/// A part of a table's keys.
pub(super) type Part<'k> = (Bound<&'k [u8]>, Bound<&'k [u8]>);

/// From each place to the next.
pub(super) fn parts_from(places: &[Vec<u8>]) -> Vec<Part<'_>> {
    let ends = places.iter().skip(1).map(|next| Bound::Excluded(&next[..])).chain([Bound::Unbounded]);
    places.iter().map(|from| Bound::Included(&from[..])).zip(ends).collect()
}

/// The places, and more of them behind those at which many rows would be read.
pub(super) fn more_places<E>(
    places: &[Vec<u8>],
    quotas: &[usize],
    end: &EndOf<'_, E>,
) -> Result<Vec<Vec<u8>>, E> {
    let mut all = Vec::new();
    for ((first, part), quota) in places.iter().zip(parts_from(places)).zip(quotas) {
        all.push(first.clone());
        let more = (quota / RUN_ROWS).min(MORE_PLACES_MAX);
        if more > 1
            && let Some(last) = end(part.0, part.1, Direction::Reverse)?
        {
            for n in 1..more as u64 {
                all.push(place(first, &last, n, end)?);
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// How many of the wanted rows are read in each part of a table: as many as it has of the table's rows, so that each row stands for as
/// many. Places lie evenly among the bytes of keys, among which keys do not: numbers have more bytes the larger they are, so that half
/// of the places are among the first 255 of 20,000.
pub(super) fn shares(wanted: usize, rows: &[u64]) -> Vec<usize> {
    let total: f64 = rows.iter().map(|n| *n as f64).sum::<f64>().max(1.0);
    let (mut before, mut given) = (0.0, 0);
    let share = |n: &u64| {
        before += *n as f64;
        let own = (wanted as f64 * before / total) as usize - given;
        given += own;
        own
    };
    rows.iter().map(share).collect()
}

/// The first key between two bounds in a direction.
pub(super) type EndOf<'a, E> =
    dyn Fn(Bound<&[u8]>, Bound<&[u8]>, Direction) -> Result<Option<Vec<u8>>, E> + 'a;

/// Bytes of a key in which a place is chosen: enough for a handful of columns.
const CHOICES_MAX: usize = 24;

/// The key of some row between two, for the `n`-th probe.
///
/// A number between 0 and 1 goes down the bytes of the keys: it chooses among the values of the first byte in which the two
/// differ, and what is left of it chooses among the rows that have that value. So all columns of a key are seen at all
/// their values, not only at the first below each value of the columns before. The numbers of the probes lie evenly, and
/// none is the same at any depth (multiples of the golden ratio).
pub(super) fn place<E>(first: &[u8], last: &[u8], n: u64, end: &EndOf<'_, E>) -> Result<Vec<u8>, E> {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let mut at = (n as f64 * GOLDEN).fract();
    let (mut first, mut last) = (first.to_vec(), last.to_vec());
    for _ in 0..CHOICES_MAX {
        let shared = first.iter().zip(&last).take_while(|(a, b)| a == b).count();
        let (Some(&low), Some(&high)) = (first.get(shared), last.get(shared)) else { break };
        at *= f64::from(high - low) + 1.0;
        let chosen = low + at as u8;
        at = at.fract();
        let mut prefix = first[..shared].to_vec();
        prefix.push(chosen);
        // The next there is when no key has that byte.
        let Some(found) = end(Bound::Included(&prefix), Bound::Included(&last), Direction::Forward)? else {
            break;
        };
        if found[shared] < high {
            prefix[shared] = found[shared] + 1;
            let before = end(Bound::Included(&found), Bound::Excluded(&prefix), Direction::Reverse)?;
            last = before.unwrap_or_else(|| found.clone());
        }
        first = found;
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::super::PROBES;
    use super::*;

    /// Keys of three columns, two of them with few values.
    fn keys() -> std::collections::BTreeSet<Vec<u8>> {
        let key = |w: u32, d: u32, o: u32| [w, d, o].iter().flat_map(|n| n.to_be_bytes()).collect();
        (1..=4).flat_map(|w| (1..=10).flat_map(move |d| (1..=900).map(move |o| key(w, d, o)))).collect()
    }

    #[test]
    fn places_are_spread_over_every_column_of_a_key() {
        let keys = keys();
        let end = |from: Bound<&[u8]>, to: Bound<&[u8]>, direction| -> Result<_, ()> {
            let mut range = keys.range::<[u8], _>((from, to));
            let found = if direction == Direction::Forward { range.next() } else { range.next_back() };
            Ok(found.cloned())
        };
        let (first, last) = (keys.first().unwrap(), keys.last().unwrap());
        let places: Vec<_> = (1..PROBES).map(|n| place(first, last, n, &end).unwrap()).collect();
        assert!(places.iter().all(|place| keys.contains(place)));
        let column = |c: usize| -> std::collections::BTreeSet<&[u8]> {
            places.iter().map(|key| &key[c * 4..c * 4 + 4]).collect()
        };
        assert_eq!((column(0).len(), column(1).len()), (4, 10));
        assert!(column(2).len() > 50, "{}", column(2).len());
        let low = places.iter().filter(|key| key[8..] < 300u32.to_be_bytes()[..]).count();
        assert!((10..=35).contains(&low), "{low} of the places are in the first third");
        // One row, and rows that differ in their length alone.
        assert_eq!(place(first, first, 5, &end), Ok(first.clone()));
        assert_eq!(place(b"a", b"ab", 5, &end), Ok(b"a".to_vec()));
    }

    #[test]
    fn each_part_is_read_by_its_size() {
        assert_eq!(shares(100, &[1, 1, 998, 1000]), [0, 0, 50, 50]);
        assert_eq!(shares(2048, &[0, 7, 0, 3]), [0, 1433, 0, 615]);
        assert_eq!(shares(10, &[0, 0]), [0, 0]);
        let many = vec![1; 3000];
        assert_eq!(shares(2048, &many).iter().sum::<usize>(), 2048);
    }

    #[test]
    fn more_places_are_looked_at_where_there_are_more_rows() {
        let keys: std::collections::BTreeSet<Vec<u8>> =
            (0..5_000u32).map(|n| n.to_be_bytes().to_vec()).collect();
        let end = |from: Bound<&[u8]>, to: Bound<&[u8]>, direction| -> Result<_, ()> {
            let mut range = keys.range::<[u8], _>((from, to));
            let found = if direction == Direction::Forward { range.next() } else { range.next_back() };
            Ok(found.cloned())
        };
        let places = [0u32, 10, 20, 4_000].map(|n| n.to_be_bytes().to_vec());
        let more = more_places(&places, &[2, 15, 320, 80], &end).unwrap();
        assert!(places.iter().all(|place| more.contains(place)) && more.is_sorted());
        let within = |low: u32, high: u32| {
            more.iter()
                .filter(|key| (low.to_be_bytes().to_vec()..high.to_be_bytes().to_vec()).contains(key))
                .count()
        };
        assert_eq!((within(0, 10), within(10, 20)), (1, 1));
        assert!((36..=42).contains(&within(20, 4_000)), "{}", within(20, 4_000));
        assert!((8..=10).contains(&within(4_000, 5_000)), "{}", within(4_000, 5_000));
        let late = more.iter().filter(|key| key[..] >= 2_000u32.to_be_bytes()[..]).count();
        assert!((20..=45).contains(&late), "{late} places are in the later half");
    }
}
