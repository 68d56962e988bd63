//! Attributes of every shape before statements, and truncated ones.

use proptest::prelude::*;

use super::*;
use crate::tests::assert_named;
use crate::write::{put_lenenc, put_lenenc_bytes};

const WITH: Capabilities = Capabilities::QUERY_ATTRIBUTES;
const WITHOUT: Capabilities = Capabilities(0);

/// Written by this project's raw client and understood by MySQL 9.7: the attributes `a` (VARCHAR),
/// `b` (BIGINT, NULL) and `c` (BIGINT).
const THREE: &[u8] = b"\x03\x01\x02\x01\
    \xfd\0\x01a\x08\0\x01b\x08\0\x01c\
    \x01x\x07\0\0\0\0\0\0\0";

const TEXT: &[u8] = b"SELECT mysql_query_attribute_string('a')";

fn encoded(query: &Query<'_>, capabilities: Capabilities) -> Vec<u8> {
    let mut payload = Vec::new();
    query.encode(capabilities, &mut payload);
    payload
}

#[test]
fn attributes_are_cut_from_the_text() {
    let arguments = [THREE, TEXT].concat();
    let query = Query::decode(&arguments, WITH).unwrap();
    let expected = Query {
        attributes: THREE,
        text: TEXT,
    };
    assert_eq!(query, expected);
    assert!(query.has_attributes());
    assert_eq!(encoded(&query, WITH)[1..], arguments);
    assert_eq!(encoded(&query, WITHOUT)[1..], *TEXT);
}

#[test]
fn a_query_without_the_attributes_capability_is_all_text() {
    let arguments = [THREE, TEXT].concat();
    let query = Query::decode(&arguments, WITHOUT).unwrap();
    assert_eq!(query.text, arguments);
    assert!(!query.has_attributes());
    assert_eq!(encoded(&query, WITHOUT)[1..], arguments);
}

#[test]
fn an_absence_of_attributes_is_encoded() {
    let query = Query {
        attributes: &[],
        text: b"DO 1",
    };
    assert_eq!(encoded(&query, WITH), b"\x03\0\x01DO 1");
    assert_eq!(encoded(&query, WITHOUT), b"\x03DO 1");
    let read = Query::decode(b"\0\x01DO 1", WITH).unwrap();
    assert_eq!((read.attributes, read.text), (NO_ATTRIBUTES, query.text));
    assert!(!read.has_attributes());
}

#[test]
fn cut_attributes_name_the_item_they_end_in() {
    let items = [
        ("attribute count", 1),
        ("attribute set count", 1),
        ("NULL bitmap", 1),
        ("bind flag", 1),
        ("parameter type", 2),
        ("parameter name", 2),
        ("parameter type", 2),
        ("parameter name", 2),
        ("parameter type", 2),
        ("parameter name", 2),
        ("parameter value", 2),
        ("parameter value", 8),
    ];
    let end = assert_named(THREE, &items, |arguments| Query::decode(arguments, WITH));
    assert_eq!(end, THREE.len());
}

#[test]
fn packets_that_mysql_refuses_are_malformed() {
    // MySQL 9.7 answered each of these packets with ER_MALFORMED_PACKET.
    let cases: [(&[u8], &str); 5] = [
        (b"\0\0SELECT 1", "attribute set count"),
        (b"\0\x02SELECT 1", "attribute set count"),
        (b"\x01\x01\0\0SELECT 1", "bind flag"),
        (b"\xfb\x01SELECT 1", "attribute count"),
        (b"\x01\x01\0\x01\xf4\0\x01n\x01SELECT 1", "parameter type"),
    ];
    for (arguments, item) in cases {
        let found = Query::decode(arguments, WITH);
        assert_eq!(found, Err(Malformed::Invalid(item)), "{item}");
    }
}

/// An attribute: its name, its type and its value, if it has one.
fn any_attribute() -> impl Strategy<Value = (Vec<u8>, u16, Option<Vec<u8>>)> {
    let text = || prop::collection::vec(any::<u8>(), 0..300);
    let sized = |kinds: &'static [u16], size: usize| {
        let value = prop::collection::vec(any::<u8>(), size);
        (prop::sample::select(kinds), value)
    };
    let with_length = (
        prop::sample::select(&[0, 6, 9, 12, 13, 15, 253, 255][..]),
        text(),
    );
    let value = prop_oneof![
        sized(&[1, 0x8001], 1),
        sized(&[2], 2),
        sized(&[3, 4], 4),
        sized(&[5, 8, 0x8008], 8),
        with_length.prop_map(|(kind, text)| {
            let mut value = Vec::new();
            put_lenenc_bytes(&mut value, &text);
            (kind, value)
        }),
    ];
    (text(), value, any::<bool>())
        .prop_map(|(name, (kind, value), is_null)| (name, kind, (!is_null).then_some(value)))
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>) {
        if let Ok(query) = Query::decode(&bytes, WITH) {
            prop_assert_eq!(&encoded(&query, WITH)[1..], &bytes);
        }
    }

    #[test]
    fn any_query_attributes_round_trip(
        attributes in prop::collection::vec(any_attribute(), 0..20),
        text: Vec<u8>,
    ) {
        let mut block = Vec::new();
        put_lenenc(&mut block, attributes.len() as u64);
        block.push(1);
        if !attributes.is_empty() {
            let mut bitmap = vec![0; attributes.len().div_ceil(8)];
            for (index, (_, _, value)) in attributes.iter().enumerate() {
                bitmap[index / 8] |= u8::from(value.is_none()) << (index % 8);
            }
            block.extend(bitmap);
            block.push(1);
            for (name, kind, _) in &attributes {
                block.extend(kind.to_le_bytes());
                put_lenenc_bytes(&mut block, name);
            }
            block.extend(attributes.iter().filter_map(|(_, _, value)| value.as_ref()).flatten());
        }
        let query = Query { attributes: &block, text: &text };
        let payload = encoded(&query, WITH);
        prop_assert_eq!(Query::decode(&payload[1..], WITH), Ok(query));
        prop_assert_eq!(query.has_attributes(), !attributes.is_empty());
    }
}
