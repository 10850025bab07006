//! See `keel_fuzz::schemas`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| keel_fuzz::schemas::run(bytes));
