//! Executions that MySQL 9.7 and MariaDB 11.8 accepted, with another id, without types, and truncated.

use proptest::prelude::*;

use super::*;
use crate::parameters::first_types;
use crate::tests::assert_named;

const NAMED: Capabilities = Capabilities::QUERY_ATTRIBUTES;
const PLAIN: Capabilities = Capabilities(0);

/// An execution for MySQL 9.7 of `SELECT ? + 1, mysql_query_attribute_string('n')` with 7 and the attribute `n`.
const WITH_ATTRIBUTE: &[u8] = b"\x05\0\0\0\x08\x01\0\0\0\
    \x02\0\x01\x08\0\0\x08\0\x01n\
    \x07\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0";

/// An execution for MariaDB 11.8 of `SELECT ? + 1` with 7.
const WITH_TYPES: &[u8] = b"\x02\0\0\0\0\x01\0\0\0\0\x01\x08\0\x07\0\0\0\0\0\0\0";

fn encoded(execute: &Execute<'_>, capabilities: Capabilities) -> Vec<u8> {
    let mut payload = Vec::new();
    execute.encode(capabilities, &mut payload);
    payload
}

#[test]
fn attributes_come_behind_the_statements_parameters() {
    let execute = Execute::decode(WITH_ATTRIBUTE, NAMED, 1).unwrap();
    let types = b"\x08\0\0\x08\0\x01n";
    let expected = Execute {
        statement_id: 5,
        flags: Execute::PARAMETER_COUNT_AVAILABLE,
        iterations: 1,
        parameter_count: 2,
        null_bitmap: &[0],
        types: Some(types),
        values: b"\x07\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0",
    };
    assert_eq!(execute, expected);
    assert_eq!(encoded(&execute, NAMED)[1..], *WITH_ATTRIBUTE);
    assert_eq!(first_types(types, 1, NAMED), Ok(&types[..3]));
}

#[test]
fn types_are_left_out_and_put_in() {
    let execute = Execute::decode(WITH_TYPES, PLAIN, 1).unwrap();
    let types = execute.types;
    assert_eq!(types, Some(&b"\x08\0"[..]));
    let without = Execute {
        statement_id: 9,
        types: None,
        ..execute
    };
    let payload = encoded(&without, PLAIN);
    assert_eq!(payload, b"\x17\x09\0\0\0\0\x01\0\0\0\0\0\x07\0\0\0\0\0\0\0");
    let read = Execute::decode(&payload[1..], PLAIN, 1).unwrap();
    assert_eq!(read, without);
    let again = Execute {
        statement_id: 2,
        types,
        ..read
    };
    assert_eq!(encoded(&again, PLAIN)[1..], *WITH_TYPES);
}

#[test]
fn a_statement_without_parameters_may_be_counted_all_the_same() {
    // MySQL 9.7 accepts both packets for `SELECT 1`.
    for arguments in [
        &b"\x03\0\0\0\x08\x01\0\0\0\0"[..],
        b"\x03\0\0\0\0\x01\0\0\0",
    ] {
        let execute = Execute::decode(arguments, NAMED, 0).unwrap();
        assert_eq!((execute.parameter_count, execute.values), (0, &b""[..]));
        assert_eq!(encoded(&execute, NAMED)[1..], *arguments);
    }
}

#[test]
fn a_statement_with_parameters_is_counted_even_without_the_flag() {
    // MySQL 9.7 accepted this packet for `SELECT ? + 1`, and refused it without the parameter count.
    let arguments = b"\x01\0\0\0\0\x01\0\0\0\x01\0\x01\x08\0\0\x07\0\0\0\0\0\0\0";
    let execute = Execute::decode(arguments, NAMED, 1).unwrap();
    assert_eq!(execute.types, Some(&b"\x08\0\0"[..]));
    assert_eq!(encoded(&execute, NAMED)[1..], *arguments);
}

#[test]
fn fewer_parameters_than_the_statement_has_are_refused() {
    let arguments = b"\x01\0\0\0\x08\x01\0\0\0\0";
    assert_eq!(
        Execute::decode(arguments, NAMED, 1),
        Err(Malformed::Invalid("parameter count"))
    );
}

#[test]
fn a_cut_execution_names_the_item_it_ends_in() {
    let items = [
        ("statement id", 4),
        ("execute flags", 1),
        ("iteration count", 4),
        ("parameter count", 1),
        ("NULL bitmap", 1),
        ("bind flag", 1),
        ("parameter type", 2),
        ("parameter name", 1),
        ("parameter type", 2),
        ("parameter name", 2),
    ];
    let end = assert_named(WITH_ATTRIBUTE, &items, |it| Execute::decode(it, NAMED, 1));
    // The backend decides whether values are missing, not the decoder.
    assert_eq!(end + 16, WITH_ATTRIBUTE.len());
    assert!(Execute::decode(&WITH_ATTRIBUTE[..end], NAMED, 1).is_ok());
}

#[test]
fn a_statement_may_have_all_the_parameters_there_are() {
    let count = usize::from(u16::MAX);
    let execute = Execute {
        statement_id: 1,
        flags: 0,
        iterations: 1,
        parameter_count: count,
        null_bitmap: &vec![0xff; count.div_ceil(8)],
        types: Some(&[6, 0].repeat(count)),
        values: b"",
    };
    let payload = encoded(&execute, PLAIN);
    assert_eq!(Execute::decode(&payload[1..], PLAIN, u16::MAX), Ok(execute));
}

#[test]
fn a_bulk_execution_gets_another_id() {
    let arguments = b"\x02\0\0\0\x80\0\x08\0\0\x07\0\0\0\0\0\0\0";
    let bulk = BulkExecute::decode(arguments).unwrap();
    assert_eq!(
        (bulk.statement_id, bulk.flags),
        (2, BulkExecute::SEND_TYPES)
    );
    let mut payload = Vec::new();
    BulkExecute {
        statement_id: 0x0102,
        ..bulk
    }
    .encode(&mut payload);
    assert_eq!(payload[..5], [0xfa, 2, 1, 0, 0]);
    assert_eq!(payload[5..], arguments[4..]);
    let items = [("statement id", 4), ("bulk flags", 2)];
    assert_named(arguments, &items, BulkExecute::decode);
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>, bits: u64, count: u16) {
        let _ = BulkExecute::decode(&bytes);
        let _ = Execute::decode(&bytes, Capabilities(bits), count);
    }

    #[test]
    fn values_survive_reading_and_writing(bytes: Vec<u8>, is_named: bool, parameters in 0..20u16) {
        let capabilities = if is_named { NAMED } else { PLAIN };
        if let Ok(execute) = Execute::decode(&bytes, capabilities, parameters) {
            let payload = encoded(&execute, capabilities);
            let read = Execute::decode(&payload[1..], capabilities, parameters);
            prop_assert_eq!(read, Ok(execute));
        }
    }
}
