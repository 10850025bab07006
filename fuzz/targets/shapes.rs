//! See `keel_fuzz::shapes`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| keel_fuzz::shapes::run(bytes));
