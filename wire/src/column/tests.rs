//! Truncated definitions, and random ones. Definitions of real servers are in `tests/results.rs`.

use proptest::prelude::*;

use super::*;
use crate::tests::assert_named;

const EXTENDED: Capabilities = Capabilities::MARIADB_EXTENDED_METADATA;
const PLAIN: Capabilities = Capabilities(0);

fn encoded(column: &ColumnDefinition<'_>, capabilities: Capabilities) -> Vec<u8> {
    let mut payload = Vec::new();
    column.encode(capabilities, &mut payload);
    payload
}

#[test]
fn a_made_column_definition_equals_that_of_mysql() {
    // The definition that MySQL 9.7 sends for `SELECT 1`.
    let mut column = ColumnDefinition::new(
        b"1",
        ColumnType::LONGLONG,
        ColumnDefinition::BINARY_COLLATION,
        2,
    );
    column.flags = ColumnDefinition::NOT_NULL | ColumnDefinition::BINARY;
    let payload = b"\x03def\0\0\0\x011\0\x0c\x3f\0\x02\0\0\0\x08\x81\0\0\0\0";
    assert_eq!(encoded(&column, PLAIN), payload);
    assert_eq!(ColumnDefinition::decode(payload, PLAIN), Ok(column));
}

#[test]
fn a_cut_definition_names_the_item_it_ends_in() {
    let mut column = ColumnDefinition::new(b"id", ColumnType::LONG, 63, 11);
    column.schema = b"shop";
    column.extended = b"\x01\x04json";
    let items = [
        ("catalog", 4),
        ("schema", 5),
        ("table", 1),
        ("original table", 1),
        ("column name", 3),
        ("original column name", 1),
        ("extended metadata", 7),
        ("fixed fields", 13),
    ];
    let payload = encoded(&column, EXTENDED);
    let end = assert_named(&payload, &items, |it| {
        ColumnDefinition::decode(it, EXTENDED)
    });
    assert_eq!(end, payload.len());
}

#[test]
fn fixed_fields_that_are_too_few_are_named() {
    let names = b"\0\0\0\0\0\0";
    let fields = b"\x3f\0\x02\0\0\0\x08\x81\0\0";
    let items = [
        ("collation", 2),
        ("column length", 4),
        ("column type", 1),
        ("column flags", 2),
        ("decimals", 1),
    ];
    let ends = items.iter().scan(0, |end, (item, length)| {
        *end += length;
        Some((*item, *end))
    });
    for (item, end) in ends {
        let payload = [&names[..], &[end as u8 - 1], &fields[..end - 1]].concat();
        let found = ColumnDefinition::decode(&payload, PLAIN);
        assert_eq!(found, Err(Malformed::Truncated(item)));
    }
}

#[test]
fn types_are_shown_by_name_and_strangers_by_number() {
    assert_eq!(format!("{:?}", ColumnType::VAR_STRING), "VAR_STRING");
    assert_eq!(format!("{:?}", ColumnType(99)), "type 99");
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>, bits: u64) {
        let _ = ColumnDefinition::decode(&bytes, Capabilities(bits));
    }

    #[test]
    fn column_definitions_round_trip(
        texts: [Vec<u8>; 7],
        numbers: (u16, u32, u8, u16, u8),
        is_extended: bool,
    ) {
        let capabilities = if is_extended { EXTENDED } else { PLAIN };
        let [catalog, schema, table, table_original, name, name_original, extended] = &texts;
        let (collation, length, kind, flags, decimals) = numbers;
        let column = ColumnDefinition {
            catalog,
            schema,
            table,
            table_original,
            name,
            name_original,
            extended: if is_extended { extended } else { b"" },
            collation,
            length,
            kind: ColumnType(kind),
            flags,
            decimals,
        };
        let payload = encoded(&column, capabilities);
        prop_assert_eq!(ColumnDefinition::decode(&payload, capabilities), Ok(column));
    }
}
