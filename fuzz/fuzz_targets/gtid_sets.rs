//! Whatever a GTID set is, it is read or refused, and behaves as a set.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("gtid_sets"), |data: &[u8]| fuzz::gtid_sets(data));
