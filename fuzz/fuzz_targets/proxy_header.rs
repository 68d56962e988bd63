//! PROXY headers of either version, read as they come.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("proxy_header"), |data: &[u8]| fuzz::proxy_header(data));
