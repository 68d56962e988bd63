//! Payloads of every length are split into packets and joined again.

use proptest::prelude::*;

use super::*;
use crate::packet::HEADER_BYTES;

/// The packets of a stream, each with its sequence id and body.
fn packets(mut stream: &[u8]) -> Vec<(u8, &[u8])> {
    let mut packets = Vec::new();
    while let Some((header, rest)) = stream.split_first_chunk::<HEADER_BYTES>() {
        let header = Header::decode(*header);
        let (body, rest) = rest.split_at(header.length);
        packets.push((header.sequence, body));
        stream = rest;
    }
    assert!(stream.is_empty(), "half a header");
    packets
}

#[test]
fn a_payload_of_whole_packets_is_ended_by_an_empty_one() {
    const MAX: usize = PACKET_PAYLOAD_MAX;
    let payload = vec![7; 2 * MAX + 1];
    let lengths: [(usize, &[usize]); 6] = [
        (0, &[0]),
        (MAX - 1, &[MAX - 1]),
        (MAX, &[MAX, 0]),
        (MAX + 1, &[MAX, 1]),
        (2 * MAX, &[MAX, MAX, 0]),
        (2 * MAX + 1, &[MAX, MAX, 1]),
    ];
    for (length, expected) in lengths {
        let mut stream = Vec::new();
        let next = put_packets(&mut stream, 254, &payload[..length]);
        let packets = packets(&stream);
        let found: Vec<usize> = packets.iter().map(|(_, body)| body.len()).collect();
        assert_eq!(found, expected);
        let sequences = (0..packets.len()).map(|at| 254u8.wrapping_add(at as u8));
        assert!(packets.iter().map(|(sequence, _)| *sequence).eq(sequences));
        assert_eq!(next, 254u8.wrapping_add(packets.len() as u8));
    }
}

proptest! {
    #[test]
    fn the_size_of_a_lenenc_equals_its_written_bytes(value in prop_oneof![any::<u64>(), 0..0x2_0000u64]) {
        let mut written = Vec::new();
        put_lenenc(&mut written, value);
        prop_assert_eq!(written.len(), lenenc_size(value));
    }

    #[test]
    fn payloads_split_into_packets_round_trip(payloads in prop::collection::vec(any::<Vec<u8>>(), 0..10), first: u8) {
        let mut stream = Vec::new();
        let mut sequence = first;
        for payload in &payloads {
            sequence = put_packets(&mut stream, sequence, payload);
        }
        let packets = packets(&stream);
        prop_assert!(packets.iter().map(|(_, body)| *body).eq(payloads.iter().map(Vec::as_slice)));
        prop_assert_eq!(sequence, first.wrapping_add(payloads.len() as u8));
    }
}
