//! Whatever the events of a stream are, each change that is told of them is JSON.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("changes"), |data: &[u8]| fuzz::changes(data));
