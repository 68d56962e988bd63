//! Whatever a statement's bytes are, they are read, normalised and rewritten.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("statement"), |data: &[u8]| fuzz::statement(data));
