//! Frames are read the same however they come, and what is written can be read.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("compression"), |data: &[u8]| fuzz::compression(data));
