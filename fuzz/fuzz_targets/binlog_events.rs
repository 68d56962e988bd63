//! Whatever the events of a binary log are, they are read or refused, and what is read can be printed.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("binlog_events"), |data: &[u8]| fuzz::binlog_events(data));
