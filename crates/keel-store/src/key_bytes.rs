//! Copying keys into small vectors.
//!
//! Every row met and every search copies a key. `SmallVec::extend_from_slice` inserts at a place and moves what comes after it;
//! here nothing does, and a key costs one copy.

use smallvec::{Array, SmallVec};

/// Puts `bytes` at the end of `to`.
#[inline]
pub(crate) fn append<A: Array<Item = u8>>(to: &mut SmallVec<A>, bytes: &[u8]) {
    let len = to.len();
    to.reserve(bytes.len());
    // SAFETY: there is room for them behind the first `len`, and what is borrowed cannot lie there.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_mut_ptr().add(len), bytes.len());
        to.set_len(len + bytes.len());
    }
}

/// Makes `to` the same as `bytes`.
#[inline]
pub(crate) fn assign<A: Array<Item = u8>>(to: &mut SmallVec<A>, bytes: &[u8]) {
    to.clear();
    append(to, bytes);
}

#[cfg(test)]
mod tests {
    use super::{append, assign};
    use smallvec::SmallVec;

    #[test]
    fn keys_are_copied_inside_and_beyond_the_small_room() {
        let mut key = SmallVec::<[u8; 8]>::new();
        append(&mut key, b"abc");
        append(&mut key, b"");
        append(&mut key, b"defgh");
        assert_eq!(&key[..], b"abcdefgh");
        append(&mut key, b"i");
        assert_eq!(&key[..], b"abcdefghi");
        assign(&mut key, b"xy");
        assert_eq!(&key[..], b"xy");
        assign(&mut key, b"");
        assert!(key.is_empty());
    }
}
