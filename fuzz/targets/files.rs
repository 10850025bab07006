//! See `keel_fuzz::files`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| keel_fuzz::files::run(bytes));
