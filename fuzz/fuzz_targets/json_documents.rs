//! Whatever a document of MySQL and its changes are, they are read or refused, and what comes of them is JSON.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("json_documents"), |data: &[u8]| fuzz::json_documents(data));
