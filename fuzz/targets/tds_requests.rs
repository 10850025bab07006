//! See `keel_fuzz::requests`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| keel_fuzz::requests::run(bytes));
