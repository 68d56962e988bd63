//! Whatever a statement's bytes are, scripts get its tokens.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("tokens"), |data: &[u8]| fuzz::tokens(data));
