//! See `keel_fuzz::parse`.
#![no_main]

use keel_base::env::sim::SplitMix;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| keel_fuzz::parse::run(bytes));

// Mostly word by word; the fuzzer's own mutations of bytes now and then.
libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 8 == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    let text = String::from_utf8_lossy(&data[..size]);
    let mutated = keel_fuzz::mutate::text(&text, &mut SplitMix(seed.into()));
    let length = mutated.len().min(max_size);
    data[..length].copy_from_slice(&mutated.as_bytes()[..length]);
    length
});
