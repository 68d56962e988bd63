//! Plausible packets from either side give events that make sense.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("tracking"), |data: &[u8]| fuzz::tracking(data));
