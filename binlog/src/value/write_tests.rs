//! Values that columns can store, and values that they cannot store.

use crate::column::{Column, ColumnType};
use crate::limits::Limits;
use crate::value::read_value;
use wire::Reader;

fn column(column_type: ColumnType, metadata: u16) -> Column {
    Column {
        column_type,
        metadata,
        is_nullable: true,
        is_unsigned: Some(false),
        name: None,
        collation: None,
        labels: Vec::new(),
        is_visible: true,
        geometry_type: None,
        dimensions: None,
        native: None,
    }
}

/// The value that a column has after this text is written to it.
fn put(column: &Column, text: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::new();
    column.put_value(&mut bytes, text.as_bytes())?;
    let mut reader = Reader::new(&bytes);
    let value = read_value(&mut reader, column, Limits::default().inflated_bytes_max).unwrap();
    assert!(reader.is_empty());
    let text = value.to_bytes().unwrap().into_owned();
    Ok(String::from_utf8(text).unwrap())
}

#[test]
fn numbers_keep_to_the_range_of_their_column() {
    let tiny = column(ColumnType::TINY, 0);
    let unsigned = Column {
        is_unsigned: Some(true),
        ..tiny.clone()
    };
    assert_eq!(put(&tiny, "-128").unwrap(), "-128");
    assert_eq!(put(&unsigned, "255").unwrap(), "255");
    for (column, text) in [
        (&tiny, "128"),
        (&tiny, "-129"),
        (&unsigned, "-1"),
        (&tiny, "1.5"),
    ] {
        assert!(put(column, text).is_err(), "{text}");
    }
    let decimal = column(ColumnType::NEWDECIMAL, 5 << 8 | 2);
    for (text, expected) in [
        ("1", "1.00"),
        ("-0.005", "-0.01"),
        ("999.99", "999.99"),
        ("-0", "0.00"),
        ("+00012.344", "12.34"),
        (".5", "0.50"),
    ] {
        assert_eq!(put(&decimal, text).unwrap(), expected, "{text}");
    }
    for text in ["1000", "999.995", "1e2", ".", "", "--1", "1.2.3"] {
        assert!(put(&decimal, text).is_err(), "{text}");
    }
    let long = column(ColumnType::NEWDECIMAL, 65 << 8 | 30);
    let digits = format!("-{}.{}", "9".repeat(35), "123456789".repeat(3) + "000");
    assert_eq!(put(&long, &digits).unwrap(), digits);
    let year = column(ColumnType::YEAR, 0);
    assert_eq!(put(&year, "2155").unwrap(), "2155");
    assert!(put(&year, "2156").is_err() && put(&year, "99").is_err());
    let bits = column(ColumnType::BIT, 1 << 8 | 2);
    assert_eq!(put(&bits, "1023").unwrap(), "1023");
    assert!(put(&bits, "1024").is_err());
    assert!(put(&column(ColumnType::DOUBLE, 8), "inf").is_err());
}

#[test]
fn dates_and_times_are_read_as_they_are_shown() {
    for (column_type, metadata, text, expected) in [
        (ColumnType::DATE, 0, "2026-11-27", "2026-11-27"),
        (ColumnType::DATE, 0, "0000-00-00", "0000-00-00"),
        (ColumnType::TIME2, 0, "-838:59:59", "-838:59:59"),
        (ColumnType::TIME2, 3, "-00:00:00.25", "-00:00:00.250"),
        (ColumnType::TIME2, 1, "01:02:03.99", "01:02:03.9"),
        (ColumnType::TIME, 0, "-12:34:56", "-12:34:56"),
        (
            ColumnType::DATETIME2,
            6,
            "2026-11-27T01:02:03.000004",
            "2026-11-27 01:02:03.000004",
        ),
        (
            ColumnType::DATETIME2,
            0,
            "9999-12-31",
            "9999-12-31 00:00:00",
        ),
        (
            ColumnType::DATETIME,
            0,
            "2026-11-27 01:02:03",
            "2026-11-27 01:02:03",
        ),
        (
            ColumnType::TIMESTAMP2,
            2,
            "2026-11-27 01:02:03.45Z",
            "2026-11-27 01:02:03.45Z",
        ),
        (
            ColumnType::TIMESTAMP,
            0,
            "1970-01-01 00:00:01",
            "1970-01-01 00:00:01Z",
        ),
        (
            ColumnType::TIMESTAMP2,
            0,
            "0000-00-00 00:00:00",
            "0000-00-00 00:00:00",
        ),
    ] {
        let column = column(column_type, metadata);
        assert_eq!(put(&column, text).unwrap(), expected);
    }
    for (column_type, text) in [
        (ColumnType::DATE, "2026-13-01"),
        (ColumnType::DATE, "2026-1"),
        (ColumnType::TIME2, "839:00:00"),
        (ColumnType::TIME2, "1:60:00"),
        (ColumnType::DATETIME2, "now"),
        (ColumnType::DATETIME2, "2026-11-27 24:00:00"),
        (ColumnType::TIMESTAMP2, "1969-12-31 00:00:00"),
        (ColumnType::TIMESTAMP2, "2106-02-08 00:00:00"),
    ] {
        assert!(put(&column(column_type, 0), text).is_err(), "{text}");
    }
}

#[test]
fn texts_are_in_the_character_set_of_their_column_and_no_longer_than_it() {
    let text = |collation: u16, metadata: u16| Column {
        collation: Some(collation),
        ..column(ColumnType::VARCHAR, metadata)
    };
    let (utf8mb4, latin1, utf16, gbk, ucs2) = (
        text(45, 12),
        text(8, 3),
        text(54, 12),
        text(28, 6),
        text(35, 6),
    );
    for column in [&utf8mb4, &latin1, &utf16] {
        assert_eq!(put(column, "aé€").unwrap(), "aé€");
        assert!(put(column, "abcd").is_err());
    }
    assert_eq!(put(&utf8mb4, "🐟🐟🐟").unwrap(), "🐟🐟🐟");
    assert_eq!(put(&gbk, "a").unwrap(), "a");
    for (column, text) in [
        (&latin1, "ж"),
        (&gbk, "ж"),
        (&ucs2, "🐟"),
        (&text(33, 9), "🐟"),
    ] {
        assert!(put(column, text).is_err(), "{text}");
    }
    let blob = column(ColumnType::BLOB, 1);
    assert_eq!(put(&blob, &"x".repeat(254)).unwrap().len(), 254);
    assert!(put(&blob, &"x".repeat(256)).is_err());
    let labels = ["a", "b,"].map(str::to_owned).to_vec();
    let choice = Column {
        labels: labels.clone(),
        ..column(ColumnType::ENUM, 1)
    };
    assert_eq!(put(&choice, "b,").unwrap(), "b,");
    assert_eq!(put(&choice, "").unwrap(), "");
    assert!(put(&choice, "c").is_err());
    let several = Column {
        labels: vec!["x".to_owned(), "y".to_owned()],
        ..column(ColumnType::SET, 1)
    };
    assert_eq!(put(&several, "y,x").unwrap(), "x,y");
    assert!(put(&several, "z").is_err());
    assert!(put(&column(ColumnType::JSON, 4), "{}").is_err());
}
