//! A greeting that can be read can be written and read again.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("greeting"), |data: &[u8]| fuzz::greeting(data));
