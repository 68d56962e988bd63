//! Whatever the answers of a broker of Kafka are, they are read or refused.
#![no_main]
libfuzzer_sys::fuzz_target!(init: fuzz::plant("kafka_answers"), |data: &[u8]| fuzz::kafka_answers(data));
