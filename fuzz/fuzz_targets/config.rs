//! Configuration files: every one is loaded or has faults that say where.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("config"), |data: &[u8]| fuzz::config(data));
