//! So can what a client and a server say during login.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("login"), |data: &[u8]| fuzz::login(data));
