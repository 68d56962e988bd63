//! What a client wants executed can be read, written for another statement id, and read again.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("executions"), |data: &[u8]| fuzz::executions(data));
