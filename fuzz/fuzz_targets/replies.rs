//! What a backend tells can be read, written and read again.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("replies"), |data: &[u8]| fuzz::replies(data));
