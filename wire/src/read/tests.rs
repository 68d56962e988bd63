//! Items at the limits of their encodings, and truncated ones.

use proptest::prelude::*;

use super::*;
use crate::write::{put_lenenc, put_lenenc_bytes, put_nul_terminated};

/// The first and the last value of each length that a lenenc can have, and that length in bytes.
const BORDERS: [(u64, usize); 8] = [
    (0, 1),
    (0xfa, 1),
    (0xfb, 3),
    (0xffff, 3),
    (0x1_0000, 4),
    (0xff_ffff, 4),
    (0x100_0000, 9),
    (u64::MAX, 9),
];

fn lenenc(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_lenenc(&mut bytes, value);
    bytes
}

#[test]
fn integers_change_their_length_at_the_borders() {
    for (value, length) in BORDERS {
        let bytes = lenenc(value);
        assert_eq!(bytes.len(), length, "{value:#x}");
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.lenenc("it"), Ok(value));
        assert!(reader.is_empty());
    }
}

#[test]
fn integers_may_be_longer_than_they_need() {
    for bytes in [
        &b"\xfc\x01\0"[..],
        b"\xfd\x01\0\0",
        b"\xfe\x01\0\0\0\0\0\0\0",
    ] {
        assert_eq!(Reader::new(bytes).lenenc("it"), Ok(1));
    }
}

#[test]
fn null_and_err_are_no_integers() {
    for byte in [0xfb, 0xff] {
        let bytes = [byte; 9];
        assert_eq!(
            Reader::new(&bytes).lenenc("it"),
            Err(Malformed::Invalid("it"))
        );
        assert_eq!(
            Reader::new(&bytes).lenenc_bytes("it"),
            Err(Malformed::Invalid("it"))
        );
    }
}

#[test]
fn a_length_beyond_the_payload_is_a_truncation() {
    for length in [3, 0xffff, u64::MAX] {
        let mut bytes = lenenc(length);
        bytes.extend_from_slice(b"ab");
        assert_eq!(
            Reader::new(&bytes).lenenc_bytes("it"),
            Err(Malformed::Truncated("it"))
        );
    }
}

#[test]
fn a_failed_read_of_bytes_takes_none() {
    let mut reader = Reader::new(b"ab");
    assert_eq!(reader.bytes(3, "it"), Err(Malformed::Truncated("it")));
    assert_eq!(reader.u32("it"), Err(Malformed::Truncated("it")));
    assert_eq!(reader.until_nul("it"), Err(Malformed::Truncated("it")));
    assert_eq!(reader.rest(), b"ab");
}

#[test]
fn fixed_integers_are_little_endian() {
    let mut reader = Reader::new(&[1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(reader.u8("it"), Ok(1));
    assert_eq!(reader.u16("it"), Ok(0x0302));
    assert_eq!(reader.u32("it"), Ok(0x0706_0504));
    assert_eq!(reader.remainder(), [8]);
    assert!(reader.is_empty());
}

#[test]
fn a_fault_names_its_item() {
    assert_eq!(
        Malformed::Truncated("user name").to_string(),
        "truncated: user name"
    );
    assert_eq!(
        Malformed::Invalid("user name").to_string(),
        "invalid: user name"
    );
}

proptest! {
    #[test]
    fn length_encoded_integers_round_trip(value: u64, narrow in 0u32..64) {
        let value = value >> narrow;
        let bytes = lenenc(value);
        prop_assert_eq!(Reader::new(&bytes).lenenc("it"), Ok(value));
        for cut in 0..bytes.len() {
            prop_assert_eq!(
                Reader::new(&bytes[..cut]).lenenc("it"),
                Err(Malformed::Truncated("it"))
            );
        }
    }

    #[test]
    fn length_encoded_strings_round_trip(text: Vec<u8>, behind: Vec<u8>) {
        let mut bytes = Vec::new();
        put_lenenc_bytes(&mut bytes, &text);
        let length = bytes.len();
        bytes.extend_from_slice(&behind);
        let mut reader = Reader::new(&bytes);
        prop_assert_eq!(reader.lenenc_bytes("it"), Ok(&text[..]));
        prop_assert_eq!(reader.rest(), &behind[..]);
        for cut in 0..length {
            prop_assert_eq!(
                Reader::new(&bytes[..cut]).lenenc_bytes("it"),
                Err(Malformed::Truncated("it"))
            );
        }
    }

    #[test]
    fn a_string_is_read_up_to_its_nul(text: Vec<u8>, behind: Vec<u8>) {
        let mut bytes = Vec::new();
        put_nul_terminated(&mut bytes, &text);
        let length = bytes.len();
        bytes.extend_from_slice(&behind);
        let mut reader = Reader::new(&bytes);
        let until_nul = text.split(|byte| *byte == 0).next().unwrap();
        prop_assert_eq!(reader.until_nul("it"), Ok(until_nul));
        prop_assert_eq!(reader.rest(), &behind[..]);
        prop_assert_eq!(
            Reader::new(&bytes[..length - 1]).until_nul("it"),
            Err(Malformed::Truncated("it"))
        );
    }

    #[test]
    fn strings_agree_with_mysql_common(text: Vec<u8>) {
        use mysql_common::io::{BufMutExt, ParseBuf};
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        put_lenenc_bytes(&mut ours, &text);
        theirs.put_lenenc_str(&text);
        prop_assert_eq!(&ours, &theirs);
        prop_assert_eq!(ParseBuf(&ours).checked_eat_lenenc_str(), Some(&text[..]));
    }
}
