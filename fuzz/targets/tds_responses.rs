//! See `keel_fuzz::responses`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| keel_fuzz::responses::run(bytes));
