//! Statements that touch a table, in every wrapping, do not pass a rule that refuses it.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("boundaries"), |data: &[u8]| fuzz::boundaries(data));
