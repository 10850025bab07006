//! See `keel_fuzz::xml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| keel_fuzz::xml::run_schema(bytes));
