//! Packet headers with every length and sequence id.

use proptest::prelude::*;

use super::*;

#[test]
fn only_a_full_packet_is_continued() {
    let header = |length| Header {
        length,
        sequence: 0,
    };
    assert!(header(PACKET_PAYLOAD_MAX).is_continued());
    assert!(!header(PACKET_PAYLOAD_MAX - 1).is_continued());
    assert!(!header(0).is_continued());
}

proptest! {
    #[test]
    fn packet_headers_round_trip(length in 0..=PACKET_PAYLOAD_MAX, sequence: u8) {
        let header = Header { length, sequence };
        prop_assert_eq!(Header::decode(header.encode()), header);
    }

    #[test]
    fn any_four_bytes_are_a_header(bytes: [u8; HEADER_BYTES]) {
        prop_assert_eq!(Header::decode(bytes).encode(), bytes);
    }
}
