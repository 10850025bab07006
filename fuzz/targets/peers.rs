//! See `keel_fuzz::peers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| keel_fuzz::peers::run(bytes));
