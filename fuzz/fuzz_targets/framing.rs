//! Any bytes from either side, cut anywhere, give the same events.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("framing"), |data: &[u8]| fuzz::framing(data));
