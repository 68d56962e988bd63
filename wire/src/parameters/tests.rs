//! Types and values, compared with the results of MySQL 9.7, and truncated ones.

use proptest::prelude::*;

use super::*;

const NAMED: Capabilities = Capabilities::QUERY_ATTRIBUTES;

/// Types that MySQL 9.7 accepted as query attributes of COM_QUERY, each with a value that the server read to its
/// end: it understood the statement after the value.
const ACCEPTED: [(u16, &[u8]); 35] = [
    (0, b"\x041.50"),
    (1, b"\x07"),
    (2, b"\x07\0"),
    (3, b"\x07\0\0\0"),
    (4, b"\0\0\x80\x3f"),
    (5, b"\0\0\0\0\0\0\xf0\x3f"),
    (7, b"\x04\xe8\x07\x01\x02"),
    (8, b"\x07\0\0\0\0\0\0\0"),
    (10, b"\x04\xe8\x07\x01\x02"),
    (11, b"\x08\0\0\0\0\0\x01\x02\x03"),
    (12, b"\x0b\xe8\x07\x01\x02\x03\x04\x05\x06\0\0\0"),
    (12, b"\0"),
    (14, b"\x04\xe8\x07\x01\x02"),
    (15, b"\x01x"),
    (16, b"\x01x"),
    (17, b"\x04\xe8\x07\x01\x02"),
    (18, b"\x04\xe8\x07\x01\x02"),
    (19, b"\0"),
    (20, b"\x01x"),
    (30, b"\x01x"),
    (242, b"\x04\0\0\0\0"),
    (243, b"\x01x"),
    (245, b"\x02{}"),
    (246, b"\x041.50"),
    (247, b"\x01x"),
    (248, b"\x01x"),
    (249, b"\x01x"),
    (250, b"\x01x"),
    (251, b"\x01x"),
    (252, b"\x01x"),
    (253, b"\x01x"),
    (254, b"\x01x"),
    (255, b"\x01x"),
    (0x108, b"\x07\0\0\0\0\0\0\0"),
    (0x1fd, b"\x01x"),
];

#[test]
fn parameter_values_end_at_the_same_byte_as_in_mysql() {
    for (kind, value) in ACCEPTED {
        let behind = [value, b"SELECT 1"].concat();
        let mut reader = Reader::new(&behind);
        assert_eq!(skip_value(&mut reader, kind), Ok(()), "type {kind}");
        assert_eq!(reader.rest(), b"SELECT 1", "type {kind}");
        for cut in 0..value.len() {
            let found = skip_value(&mut Reader::new(&value[..cut]), kind);
            assert_eq!(found, Err(Malformed::Truncated("parameter value")));
        }
    }
}

#[test]
fn types_that_mysql_refuses_are_invalid() {
    let found = skip_value(&mut Reader::new(b"\x01x"), 244);
    assert_eq!(found, Err(Malformed::Invalid("parameter type")));
}

#[test]
fn the_sign_is_no_part_of_the_type() {
    let mut reader = Reader::new(b"\x08\x80");
    assert_eq!(read_type(&mut reader, Capabilities(0)), Ok(8));
}

#[test]
fn types_of_the_first_parameters_are_cut_out_with_their_names() {
    let named = b"\x08\0\0\xfd\0\x05trace\xfc\0\x01x";
    let ends = [0, 3, 11, 15];
    for (count, end) in ends.into_iter().enumerate() {
        assert_eq!(first_types(named, count, NAMED), Ok(&named[..end]));
    }
    let plain = b"\x08\0\xfd\0";
    assert_eq!(first_types(plain, 1, Capabilities(0)), Ok(&plain[..2]));
    assert_eq!(
        first_types(plain, 3, Capabilities(0)),
        Err(Malformed::Truncated("parameter type"))
    );
    assert_eq!(
        first_types(b"\x08\0\x05tr", 1, NAMED),
        Err(Malformed::Truncated("parameter name"))
    );
}

#[test]
fn a_bitmap_has_a_bit_for_each_value() {
    let bitmap = [0b1000_0001, 0b10];
    let nulls = (0..20).filter(|index| is_null(&bitmap, *index));
    assert!(nulls.eq([0, 7, 9]));
    for (count, bytes) in [(0, 0), (1, 1), (8, 1), (9, 2), (16, 2), (17, 3)] {
        let mut reader = Reader::new(&[0; 3]);
        let found = read_null_bitmap(&mut reader, count).unwrap();
        assert_eq!(found.len(), bytes);
    }
    let huge = read_null_bitmap(&mut Reader::new(&[0; 3]), usize::MAX);
    assert_eq!(huge, Err(Malformed::Truncated("NULL bitmap")));
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>, kind: u16, count: usize, bits: u64) {
        let _ = skip_value(&mut Reader::new(&bytes), kind);
        let _ = first_types(&bytes, count, Capabilities(bits));
    }
}
