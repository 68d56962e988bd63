//! Whatever the events of a stream are, what passes a filter is a log, and has no masked value.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("filtered_events"), |data: &[u8]| fuzz::filtered_events(data));
