//! Whatever the rows of a table are, they are read or refused, and each is JSON.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("row_images"), |data: &[u8]| fuzz::row_images(data));
