//! Bound values, decoded again as a server decodes them.

use super::*;

const NO_ATTRIBUTES: Capabilities = Capabilities(0);

#[test]
fn a_server_reads_the_values_that_were_bound() {
    let bound = BoundValues::of(&[
        BoundValue::Signed(-2),
        BoundValue::Null,
        BoundValue::Unsigned(u64::MAX),
        BoundValue::Double(1.5),
        BoundValue::Text(b"it is"),
        BoundValue::Boolean(true),
        BoundValue::Null,
        BoundValue::Signed(i64::MIN),
        BoundValue::Null,
    ])
    .unwrap();
    assert_eq!(bound.count(), 9);
    let payload = bound.execute(7);
    let execute = Execute::decode(&payload[1..], NO_ATTRIBUTES, bound.count()).unwrap();
    assert_eq!(execute.statement_id, 7);
    let types = execute.types.unwrap();
    let read = execute.literals(9, types, |_| false, NO_ATTRIBUTES);
    let read = read.unwrap().into_iter().map(|literal| {
        let literal = literal.expect("each of these values has a literal");
        String::from_utf8(literal).unwrap()
    });
    let expected = [
        "-2",
        "NULL",
        "18446744073709551615",
        "1.5e0",
        "'it is'",
        "1",
        "NULL",
        "-9223372036854775808",
        "NULL",
    ];
    assert_eq!(read.collect::<Vec<_>>(), expected);
    assert_eq!(execute.null_bitmap, [0b0100_0010, 1]);
}

#[test]
fn a_statement_without_placeholders_is_executed_without_values() {
    let payload = BoundValues::default().execute(1);
    assert_eq!(payload, b"\x17\x01\0\0\0\0\x01\0\0\0");
}

#[test]
fn no_more_values_are_bound_than_a_statement_has_placeholders() {
    let many = vec![BoundValue::Null; 65_535];
    let mut bound = BoundValues::of(&many).unwrap();
    let before = bound.clone();
    assert_eq!(bound.push(BoundValue::Null), None);
    assert_eq!(bound, before);
}
