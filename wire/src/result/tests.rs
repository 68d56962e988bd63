//! Random and truncated rows and result heads. Whole results are in `tests/results.rs`.

use proptest::prelude::*;

use super::*;
use crate::tests::assert_named;

#[test]
fn a_cut_head_names_the_item_it_ends_in() {
    let items = [("column count", 3), ("metadata flag", 1)];
    for flagged in [
        Capabilities::OPTIONAL_RESULTSET_METADATA,
        Capabilities::MARIADB_CACHE_METADATA,
    ] {
        assert_named(b"\xfc\x2c\x01\x01", &items, |it| {
            ResultHead::decode(it, flagged)
        });
    }
    let plain = ResultHead::decode(b"\xfc\x2c\x01", Capabilities(0));
    let expected = ResultHead {
        columns: 300,
        has_definitions: true,
    };
    assert_eq!(plain, Ok(expected));
}

#[test]
fn other_packets_have_no_head_of_a_result_set() {
    for payload in [&b"\0\0\0\x02\0\0\0"[..], b"\xff\x15\x04#280", b"\xfbnumber"] {
        assert_eq!(
            ResultHead::decode(payload, Capabilities(0)),
            Err(Malformed::Invalid("column count"))
        );
    }
}

#[test]
fn decoding_of_a_text_row_stops_at_a_malformed_value() {
    let values: Vec<_> = TextRow::new(b"\x01a\xfb\x05b\x01c").collect();
    let cut = Err(Malformed::Truncated("column value"));
    assert_eq!(values, [Ok(Some(&b"a"[..])), Ok(None), cut]);
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>, bits: u64) {
        let _ = ResultHead::decode(&bytes, Capabilities(bits));
        prop_assert!(TextRow::new(&bytes).count() <= bytes.len());
    }

    #[test]
    fn text_rows_round_trip(
        row in prop::collection::vec(
            prop::option::of(prop::collection::vec(any::<u8>(), 0..300)), 0..20,
        ),
    ) {
        let values = || row.iter().map(Option::as_deref);
        let mut payload = Vec::new();
        put_text_row(&mut payload, values());
        let read: Result<Vec<_>, _> = TextRow::new(&payload).collect();
        prop_assert_eq!(read.unwrap(), values().collect::<Vec<_>>());
    }

    #[test]
    fn heads_come_back(columns in 1u64.., has_definitions: bool) {
        let capabilities = Capabilities::MARIADB_CACHE_METADATA;
        let head = ResultHead { columns, has_definitions };
        let mut payload = Vec::new();
        head.encode(capabilities, &mut payload);
        prop_assert_eq!(ResultHead::decode(&payload, capabilities), Ok(head));
    }
}
