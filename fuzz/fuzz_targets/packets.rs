//! Whatever a packet's bytes are, `mysql.proto` reads or refuses it, and makes it again.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("packets"), |data: &[u8]| fuzz::packets(data));
