//! Files that servers wrote: every event is read, and written again byte for byte. The rows hold the inserted values. `captures/README.md` says how the files were made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pilotfish_binlog::{
    Checksum, Column, ColumnType, Decoder, Event, EventReader, EventType, KeyColumn, Limits,
    RawEvent, TableMap, describe, describe_row, put_event,
};
use serde_json::{Value, json};

/// Every captured file.
pub fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let mut files = Vec::new();
    for server in std::fs::read_dir(root).unwrap() {
        let server = server.unwrap().path();
        if server.is_dir() {
            let entries = std::fs::read_dir(server).unwrap();
            files.extend(entries.map(|it| it.unwrap().path()));
        }
    }
    files.sort();
    assert!(files.len() >= 14, "{files:?}");
    files
}

/// The events of a file as bytes, each with its kind of checksum.
pub fn events(file: &[u8]) -> Vec<(Checksum, Vec<u8>)> {
    let mut reader = EventReader::new(file, Limits::default());
    let mut events = Vec::new();
    while let Some((_, event)) = reader.next_event().unwrap() {
        events.push((event.checksum(), event.bytes().to_vec()));
    }
    events
}

/// The events of a file as JSON, with rows. The events inside a payload follow the payload.
fn described(server: &str, number: usize) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let file = root.join(server).join(format!("bin.{number:06}"));
    let file = std::fs::read(file).unwrap();
    let mut decoder = Decoder::new(Limits::default());
    let mut found = Vec::new();
    for (checksum, bytes) in events(&file) {
        let raw = RawEvent::parse(&bytes, checksum).unwrap();
        let event = decoder.decode(&raw).unwrap();
        found.push(json(&raw, &event));
        let Event::TransactionPayload(payload) = &event else {
            continue;
        };
        let mut within = payload.events(Limits::default()).unwrap();
        while let Some(bytes) = within.next_event().unwrap() {
            let raw = RawEvent::parse(bytes, Checksum::None).unwrap();
            let event = decoder.decode_within(&raw).unwrap();
            found.push(json(&raw, &event));
        }
    }
    found
}

fn json(raw: &RawEvent<'_>, event: &Event<'_>) -> Value {
    let mut text = String::new();
    describe(raw.header(), event).put_json(&mut text);
    let mut value: Value = serde_json::from_str(&text).unwrap();
    if let Event::Rows(rows, Some(table)) = event {
        let mut list = Vec::new();
        for change in rows.changes(table, Limits::default()).unwrap() {
            let change = change.unwrap();
            let mut images = BTreeMap::new();
            for (name, row) in [("before", change.before), ("after", change.after)] {
                if let Some(row) = row {
                    let mut text = String::new();
                    describe_row(&row, table).put_json(&mut text);
                    images.insert(name, serde_json::from_str::<Value>(&text).unwrap());
                }
            }
            list.push(serde_json::to_value(images).unwrap());
        }
        value["rows"] = Value::Array(list);
    }
    value
}

#[test]
fn every_event_is_written_again_byte_for_byte() {
    for path in files() {
        let file = std::fs::read(&path).unwrap();
        let mut again = b"\xfebin".to_vec();
        for (checksum, bytes) in events(&file) {
            let raw = RawEvent::parse(&bytes, checksum).unwrap();
            let start = again.len();
            put_event(&mut again, raw.header(), raw.body(), checksum).unwrap();
            if raw.header().event_type == EventType::FORMAT_DESCRIPTION {
                // The server had the file open when it was copied; the checksum does not include that flag.
                assert_eq!(raw.verify(), Ok(()));
            }
            assert_eq!(again[start..], bytes, "{}", path.display());
        }
        assert_eq!(again, file, "{}", path.display());
    }
}

#[test]
fn bodies_that_can_be_made_are_those_of_the_servers() {
    let mut made = BTreeMap::<String, usize>::new();
    for path in files() {
        let file = std::fs::read(&path).unwrap();
        let mut decoder = Decoder::new(Limits::default());
        for (checksum, bytes) in events(&file) {
            let raw = RawEvent::parse(&bytes, checksum).unwrap();
            let mut body = Vec::new();
            match decoder.decode(&raw).unwrap() {
                Event::FormatDescription(it) => it.encode(&mut body),
                Event::Rotate(it) => it.encode(&mut body),
                Event::MariadbGtid(it) => it.encode(&mut body),
                Event::GtidList(it) => it.encode(&mut body),
                Event::PreviousGtids(it) => it.encode(&mut body),
                _ => continue,
            }
            let name = raw.header().event_type.to_string();
            assert_eq!(body, raw.body(), "{name} of {}", path.display());
            *made.entry(name).or_default() += 1;
        }
    }
    let names: Vec<&str> = made.keys().map(String::as_str).collect();
    let expected = [
        "FORMAT_DESCRIPTION",
        "GTID_LIST",
        "MARIADB_GTID",
        "PREVIOUS_GTIDS",
        "ROTATE",
    ];
    assert_eq!(names, expected);
}

/// The rows in a table's events, in order.
fn rows(server: &str, number: usize, table: &str) -> Vec<Value> {
    let events = described(server, number).into_iter();
    let of_table = events.filter(|event| event["table"] == table && event["rows"].is_array());
    of_table
        .flat_map(|event| event["rows"].as_array().unwrap().clone())
        .collect()
}

const SERVERS: [&str; 3] = ["mariadb-10.11", "mariadb-11.8", "mysql-9.7"];

#[test]
fn numbers_equal_the_inserted_ones() {
    for server in SERVERS {
        let rows = rows(server, 1, "numbers");
        assert_eq!(rows.len(), 5, "{server}");
        let expected = json!({
            "id": 1, "a": -128, "b": 255, "c": -32768, "d": 65535, "e": -8388608, "f": 16777215,
            "g": -2147483648_i64, "h": 4294967295_u64, "i": i64::MIN, "j": u64::MAX,
            "k": 1.5, "l": -2.25e300, "m": "-1234567.891",
            "n": "12345678901234567890123456789012345.123456789012345678901234567890",
            "o": "99999", "p": "b'1'", "q": "b'101010101010'", "r": format!("b'{}'", "1".repeat(64)),
            "s": 2026, "t": 1,
        });
        assert_eq!(rows[0], json!({ "after": expected }), "{server}");
        let second = &rows[1]["after"];
        assert_eq!(second["n"], "-0.000000000000000000000000000001");
        assert_eq!(second["k"], json!(-3.25e-10_f64));
        assert_eq!(second["s"], 1901);
        let (before, after) = (&rows[3]["before"], &rows[3]["after"]);
        assert_eq!((&before["a"], &after["a"]), (&Value::Null, &json!(5)));
        assert_eq!(after["m"], "-0.500");
        assert_eq!(rows[4]["before"]["id"], 2);
        assert!(rows[4]["after"].is_null());
    }
}

#[test]
fn dates_and_times_equal_the_inserted_ones() {
    for server in SERVERS {
        let rows = rows(server, 1, "times");
        let expected = json!({
            "id": 1, "a": "2026-11-26", "b": "-838:59:59", "c": "12:34:56.7", "d": "-00:00:00.001",
            "e": "-01:02:03.000004", "f": "2026-11-26 18:01:02", "g": "1000-01-01 00:00:00.12",
            "h": "9999-12-31 23:59:59.999999", "i": "1970-01-01 00:00:01Z",
            "j": "2026-11-26 01:02:03.456Z", "k": "2037-01-19 03:14:07.999999Z",
        });
        assert_eq!(rows[0], json!({ "after": expected }), "{server}");
        let expected = json!({
            "id": 2, "a": "0000-00-00", "b": "00:00:00", "c": "-12:34:56.7", "d": "838:59:58.999",
            "e": "-838:59:58.000001", "f": "0000-00-00 00:00:00", "g": "2024-02-29 12:00:00.00",
            "h": "2024-02-30 12:00:00.500000", "i": "0000-00-00 00:00:00", "j": null, "k": null,
        });
        assert_eq!(rows[1], json!({ "after": expected }), "{server}");
    }
}

#[test]
fn texts_equal_the_inserted_ones_in_each_character_set() {
    for server in SERVERS {
        let rows = rows(server, 1, "texts");
        let expected = json!({
            "id": 1, "a": "abc", "b": "ä€😀", "c": "varchar", "d": "long one", "e": "0x00010200",
            "f": "0x00ff10", "g": "tiny", "h": "text 'quoted' \"and\" \\ \n line", "i": "medium",
            "j": "long", "k": "0x0031", "l": "0x626c6f62", "m": "0x6d62", "n": "0xff", "o": "green",
            "p": "a,c,i", "q": "naïve", "r": "utf16", "s": "ü",
        });
        assert_eq!(rows[0], json!({ "after": expected }), "{server}");
        assert_eq!(rows[1]["after"]["e"], "0x00000000", "{server}");
        assert_eq!(rows[1]["after"]["o"], "red");
        assert_eq!(rows[2]["after"]["p"], Value::Null);
    }
}

#[test]
fn a_json_document_is_a_value_in_mysql_and_a_text_in_mariadb() {
    let document = r#"{"a": 1, "b": [true, false, null, 1.5, -70000, 5000000000, "text", {"deep": {"er": []}}], "long": "0123456789012345678901234567890123456789"}"#;
    let value: Value = serde_json::from_str(document).unwrap();
    let rows_of_mysql = rows("mysql-9.7", 1, "docs");
    assert_eq!(rows_of_mysql[0]["after"]["j"], value);
    assert_eq!(rows_of_mysql[4]["after"]["j"], json!(u64::MAX));
    for server in ["mariadb-10.11", "mariadb-11.8"] {
        assert_eq!(rows(server, 1, "docs")[0]["after"]["j"], document);
    }
}

#[test]
fn partial_updates_of_a_json_document_are_decoded() {
    let rows = rows("mysql-9.7", 3, "docs");
    let change = |index: usize| &rows[index]["after"]["@3"];
    let replace =
        |path: &str, value: Value| json!([{"operation": "replace", "path": path, "value": value}]);
    assert_eq!(change(0), &replace("$.a", json!(99)));
    assert_eq!(
        change(1),
        &json!([{"operation": "remove", "path": "$.b[2]"}])
    );
    assert_eq!(change(2), &replace("$.b[6].deep.er", json!({"x": 1})));
    // The server wrote the whole document here, because it has values without a type in JSON.
    let list = &change(3)["b"];
    let expected = json!([
        12.50,
        "2026-11-26 01:02:03.500000",
        "10:11:12.000000",
        "2026-01-02",
        "base64:type15:AQI="
    ]);
    assert_eq!(
        list.as_array().unwrap()[..5],
        expected.as_array().unwrap()[..]
    );
}

#[test]
fn columns_without_names_have_numbers_and_integers_without_signs_are_signed() {
    for server in ["mariadb-10.11", "mariadb-11.8"] {
        let rows = rows(server, 3, "numbers");
        assert_eq!(rows[0]["before"]["@9"], -1, "4294967295 without its sign");
        assert_eq!(rows[0]["after"]["@9"], 1);
        // binlog_row_image=MINIMAL: the image before has the key, the image after has the changed columns.
        assert_eq!(
            rows[1],
            json!({"before": {"@1": 1}, "after": {"@2": -1, "@3": -1}})
        );
    }
    let minimal = rows("mariadb-11.8", 3, "docs");
    let full = json!({"id": 3, "name": "three", "j": "[]", "extra": null});
    assert_eq!(minimal[2], json!({"before": full, "after": {"extra": 9}}));
}

#[test]
fn types_of_one_family_are_read() {
    for server in ["mariadb-10.11", "mariadb-11.8"] {
        let row = &rows(server, 3, "kinds")[0]["after"];
        assert_eq!(row["c"], "z".repeat(90));
        assert_eq!(row["b"], format!("0x{}", "79".repeat(900)));
        assert_eq!(row["v"], "0x20010db80000000000000000000000ff");
        assert_eq!(row["w"], "0xc0000207");
        assert_eq!((&row["h"], &row["gen"]), (&json!(5), &json!(2)));
    }
    let vector = &rows("mysql-9.7", 3, "vec")[0]["after"];
    assert_eq!(vector["@2"], json!([1.0, 2.5, -3.0]));
    assert_eq!(
        vector["@4"],
        "0xe61000000101000000000000000000f03f0000000000000040"
    );
    assert_eq!(
        rows("mariadb-11.8", 3, "vec")[0]["after"]["v"],
        "0x0000803f00002040000040c0"
    );
    // Dates and times in the format before MariaDB 10.1, and a YEAR next to integers with and without a sign.
    let old = rows("mariadb-10.11", 5, "oldtimes");
    let expected =
        json!({"id": 1, "a": "-12:34:56", "b": "2026-11-26 18:01:02", "c": "2026-11-26 18:01:02Z"});
    assert_eq!(old[0]["after"], expected);
    let years = &rows("mariadb-10.11", 5, "years")[0]["after"];
    assert_eq!(years, &json!({"y": 2026, "u": u32::MAX, "i": -1}));
}

/// The last table map of a table in a file.
fn table(server: &str, number: usize, name: &str) -> Arc<TableMap> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let file = root.join(server).join(format!("bin.{number:06}"));
    let file = std::fs::read(file).unwrap();
    let mut decoder = Decoder::new(Limits::default());
    let mut found = None;
    for (checksum, bytes) in events(&file) {
        let raw = RawEvent::parse(&bytes, checksum).unwrap();
        match decoder.decode(&raw).unwrap() {
            Event::TableMap(table) if table.table == name => found = Some(table),
            _ => {}
        }
    }
    found.unwrap()
}

#[test]
fn a_table_has_its_keys_types_character_sets_and_labels() {
    for server in SERVERS {
        let docs = table(server, 1, "docs");
        let key = |column, prefix| KeyColumn { column, prefix };
        assert_eq!(docs.primary_key, [key(1, 5), key(0, 0)], "{server}");
        assert!(docs.has_names());
        assert!(docs.columns[2].is_nullable && !docs.columns[0].is_nullable);
        let texts = table(server, 1, "texts");
        let column = |name: &str| -> &Column {
            let found = texts
                .columns
                .iter()
                .find(|it| it.name.as_deref() == Some(name));
            found.unwrap()
        };
        assert_eq!(column("o").column_type, ColumnType::ENUM);
        assert_eq!(column("o").labels, ["red", "green", "it's"]);
        assert_eq!(column("p").labels.len(), 9);
        assert_eq!(column("s").labels, ["é", "ü"]);
        assert_eq!(column("q").collation, Some(8));
        // utf16_general_ci, or utf16_uca1400_ai_ci of MariaDB 11.8.
        assert!([Some(54), Some(2816)].contains(&column("r").collation));
        assert_eq!(column("e").collation, Some(63));
        let shapes = table(server, 1, "shapes");
        let types: Vec<_> = shapes.columns.iter().map(|it| it.geometry_type).collect();
        assert_eq!(types, [None, Some(0), Some(1)], "{server}");
    }
    let vec = table("mysql-9.7", 3, "vec");
    assert_eq!(vec.columns[1].dimensions, Some(3));
    assert!(!vec.has_names(), "the metadata is minimal");
    assert_eq!(vec.columns[0].is_unsigned, Some(false));
    let plain = table("mariadb-11.8", 3, "numbers");
    assert_eq!(plain.columns[1].is_unsigned, None);
}

#[test]
fn compressed_events_equal_plain_ones() {
    let document = format!("{{\"k\":\"{}\"}}", "abc".repeat(50));
    for server in ["mariadb-10.11", "mariadb-11.8"] {
        let events = described(server, 4);
        let types: Vec<&str> = events.iter().filter_map(|it| it["type"].as_str()).collect();
        for name in [
            "QUERY_COMPRESSED",
            "WRITE_ROWS_COMPRESSED_V1",
            "UPDATE_ROWS_COMPRESSED_V1",
            "DELETE_ROWS_COMPRESSED_V1",
        ] {
            assert!(types.contains(&name), "{server} has no {name}: {types:?}");
        }
        let rows = rows(server, 4, "docs");
        assert_eq!(rows[0]["after"]["j"], document);
        assert_eq!(rows[2]["before"]["name"], "again");
    }
    let value: Value = serde_json::from_str(&document).unwrap();
    let rows = rows("mysql-9.7", 4, "docs");
    assert_eq!(rows[0]["after"]["j"], value);
    assert_eq!(rows.len(), 6);
}

#[test]
fn gtids_of_both_families_are_decoded() {
    let mysql = described("mysql-9.7", 3);
    let tagged: Vec<&Value> = mysql
        .iter()
        .filter(|it| it["type"] == "GTID_TAGGED")
        .collect();
    assert_eq!(tagged.len(), 3);
    assert!(tagged[1]["gtid"].as_str().unwrap().ends_with(":blue:2"));
    assert_eq!(
        tagged[2]["gtid"],
        "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:red:7"
    );
    assert_eq!(
        (
            &tagged[0]["sequence_number"],
            &tagged[0]["transaction_bytes"]
        ),
        (&json!(8), &json!(347))
    );
    assert_eq!(tagged[0]["immediate_version"], 90704);
    let previous = described("mysql-9.7", 4);
    let set = previous[1]["gtids"].as_str().unwrap().to_owned();
    assert!(set.ends_with(":1-40:blue:1-2"), "{set}");
    let next = described("mariadb-11.8", 3);
    let alter = next.iter().find(|it| it["alter_start"].is_u64()).unwrap();
    assert_eq!(
        (&alter["gtid"], &alter["alter_start"], &alter["thread_id"]),
        (&json!("3-11-43"), &json!(42), &json!(9))
    );
    let first = described("mariadb-11.8", 1);
    let prepared = first
        .iter()
        .find(|it| it["type"] == "MARIADB_GTID" && it["xid"].is_object())
        .unwrap();
    assert_eq!(
        prepared["xid"],
        json!({"format": 7, "global": "0x7831", "branch": "0x62"})
    );
}

#[test]
fn session_state_of_statement_format_is_decoded() {
    for server in SERVERS {
        let events = described(server, 2);
        let of_type =
            |name: &str| -> Vec<&Value> { events.iter().filter(|it| it["type"] == name).collect() };
        let values: Vec<&Value> = of_type("USER_VAR").iter().map(|it| &it["value"]).collect();
        assert_eq!(
            values,
            [
                &json!("vär"),
                &Value::Null,
                &json!(-5),
                &json!("12.50"),
                &json!("1.5")
            ],
            "{server}"
        );
        assert_eq!(of_type("INTVAR")[0]["insert_id"], 1);
        assert_eq!(of_type("RAND").len(), 1);
        assert_eq!(of_type("BEGIN_LOAD_QUERY")[0]["bytes"], 6);
        let load = of_type("EXECUTE_LOAD_QUERY")[0]["query"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(load.starts_with("LOAD DATA INFILE"), "{load}");
    }
}

#[test]
fn no_password_and_no_hash_is_printed() {
    for server in SERVERS {
        let mut masked = 0;
        for event in described(server, 1) {
            let text = event.to_string();
            for secret in ["S3cret", "*", "$A$"] {
                let is_account = text.contains("USER") || text.contains("PASSWORD");
                assert!(!(is_account && text.contains(secret)), "{server}: {text}");
            }
            masked += usize::from(text.contains("'<secret>'"));
        }
        assert_eq!(masked, 3, "{server}");
    }
}
