//! Whatever a statement's bytes are, its hints and tags are read, rules judge it, and it is routed.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("routing"), |data: &[u8]| fuzz::routing(data));
