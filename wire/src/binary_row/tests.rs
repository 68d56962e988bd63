//! Rows of the binary protocol: each kind of value, NULLs, and cuts at every byte.

use super::*;
use crate::result::put_binary_header;
use crate::write::put_lenenc_bytes;

fn signed(kind: ColumnType) -> BinaryType {
    BinaryType {
        kind,
        is_unsigned: false,
    }
}

fn unsigned(kind: ColumnType) -> BinaryType {
    BinaryType {
        kind,
        is_unsigned: true,
    }
}

/// All values of a row as texts. A row with bytes after its last value is an error.
fn texts(payload: &[u8], types: &[BinaryType]) -> Result<Vec<Option<String>>, Malformed> {
    let mut row = BinaryRow::new(payload, types.len())?;
    let mut texts = Vec::new();
    for of in types {
        let value = row.value(*of)?;
        texts.push(value.map(|it| String::from_utf8(it.to_text()).unwrap()));
    }
    match row.is_empty() {
        true => Ok(texts),
        false => Err(Malformed::Invalid("row")),
    }
}

/// Nine columns, so that the NULL bitmap, which begins two bits late, has two bytes.
fn row_of_each_kind() -> (Vec<BinaryType>, Vec<u8>, Vec<Option<&'static str>>) {
    let types = vec![
        signed(ColumnType::TINY),
        unsigned(ColumnType::LONGLONG),
        signed(ColumnType::VAR_STRING),
        signed(ColumnType::DOUBLE),
        signed(ColumnType::FLOAT),
        signed(ColumnType::DATETIME),
        signed(ColumnType::LONG),
        signed(ColumnType::TIME),
        signed(ColumnType::NEWDECIMAL),
    ];
    let expected = vec![
        Some("-1"),
        Some("18446744073709551615"),
        Some("it's"),
        Some("0.25"),
        Some("0.1"),
        Some("2026-11-22 23:59:01"),
        None,
        Some("-51:04:05.000007"),
        Some("1.50"),
    ];
    let mut row = Vec::new();
    put_binary_header(&mut row, expected.iter().map(Option::is_none));
    row.push(0xff);
    row.extend(u64::MAX.to_le_bytes());
    put_lenenc_bytes(&mut row, b"it's");
    row.extend(0.25_f64.to_le_bytes());
    row.extend(0.1_f32.to_le_bytes());
    put_lenenc_bytes(&mut row, &[0xea, 0x07, 11, 22, 23, 59, 1]);
    put_lenenc_bytes(&mut row, &[1, 2, 0, 0, 0, 3, 4, 5, 7, 0, 0, 0]);
    put_lenenc_bytes(&mut row, b"1.50");
    (types, row, expected)
}

#[test]
fn each_kind_of_value_has_its_text() {
    let (types, row, expected) = row_of_each_kind();
    let expected: Vec<_> = expected
        .into_iter()
        .map(|it| it.map(str::to_owned))
        .collect();
    assert_eq!(texts(&row, &types), Ok(expected));
}

#[test]
fn a_row_that_is_cut_anywhere_is_malformed() {
    let (types, row, _) = row_of_each_kind();
    for cut in 0..row.len() {
        assert!(texts(&row[..cut], &types).is_err(), "{cut}");
    }
}

#[test]
fn dates_and_times_of_an_invalid_length_are_malformed() {
    for (kind, bytes) in [(ColumnType::DATE, 5), (ColumnType::TIME, 9)] {
        let mut value = Vec::new();
        put_lenenc_bytes(&mut value, &vec![1; bytes]);
        let read = signed(kind).read(&mut Reader::new(&value));
        assert!(matches!(read, Err(Malformed::Invalid(_))), "{kind:?}");
    }
}

#[test]
fn a_moment_without_bytes_is_zero() {
    for (kind, text) in [
        (ColumnType::DATE, "0000-00-00"),
        (ColumnType::DATETIME, "0000-00-00 00:00:00"),
        (ColumnType::TIME, "00:00:00"),
    ] {
        let value = signed(kind).read(&mut Reader::new(&[0]));
        assert_eq!(value, Ok(BinaryValue::Moment(text.to_owned())), "{kind:?}");
    }
}
