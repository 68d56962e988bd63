//! Commands and replies with statement ids, of real servers and truncated ones.

use proptest::prelude::*;

use super::*;
use crate::tests::assert_named;

fn encoded(encode: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut payload = Vec::new();
    encode(&mut payload);
    payload
}

#[test]
fn replies_to_prepare_are_written_as_they_were_read() {
    // Replies of MariaDB 11.8 and MySQL 9.7 to a SELECT of two columns with one parameter. MySQL also under
    // OPTIONAL_RESULTSET_METADATA, with and without definitions after the reply.
    let cases: [(&[u8], u32, Option<u8>); 4] = [
        (b"\0\x0a\0\0\0\x02\0\x01\0\0\0\0", 10, None),
        (b"\0\x01\0\0\0\x02\0\x01\0\0\0\0", 1, None),
        (b"\0\x01\0\0\0\x02\0\x01\0\0\0\0\x01", 1, Some(1)),
        (b"\0\x02\0\0\0\x02\0\x01\0\0\0\0\0", 2, Some(0)),
    ];
    for (payload, statement_id, metadata) in cases {
        let expected = PrepareOk {
            statement_id,
            columns: 2,
            parameters: 1,
            warnings: 0,
            metadata,
        };
        assert_eq!(PrepareOk::decode(payload), Ok(expected));
        assert_eq!(encoded(|out| expected.encode(out)), payload);
    }
}

#[test]
fn a_cut_reply_to_prepare_names_the_item_it_ends_in() {
    let items = [
        ("OK header", 1),
        ("statement id", 4),
        ("column count", 2),
        ("parameter count", 2),
        ("filler", 1),
        ("warning count", 2),
    ];
    assert_named(
        b"\0\x01\0\0\0\x02\0\x01\0\0\0\0\x01",
        &items,
        PrepareOk::decode,
    );
    assert_eq!(
        PrepareOk::decode(b"\xff\x01\0\0\0\x02\0\x01\0\0\0\0"),
        Err(Malformed::Invalid("OK header"))
    );
}

#[test]
fn commands_get_another_id_in_place() {
    let long_data = LongData {
        statement_id: 1,
        parameter: 2,
        data: b"abc",
    };
    let fetch = Fetch {
        statement_id: 1,
        rows: 9,
    };
    let payloads = [
        encoded(|out| long_data.encode(out)),
        encoded(|out| fetch.encode(out)),
        encoded(|out| put_close(out, 1)),
        encoded(|out| put_reset(out, 1)),
    ];
    for payload in &payloads {
        let mut patched = payload.clone();
        patch_statement_id(&mut patched, 0x0403_0201);
        assert_eq!(statement_id(&patched[1..]), Ok(0x0403_0201));
        patch_statement_id(&mut patched, 1);
        assert_eq!(&patched, payload);
    }
    let [long_data_payload, fetch_payload, close, reset] = payloads;
    assert_eq!(LongData::decode(&long_data_payload[1..]), Ok(long_data));
    assert_eq!(Fetch::decode(&fetch_payload[1..]), Ok(fetch));
    assert_eq!(fetch_payload, b"\x1c\x01\0\0\0\x09\0\0\0");
    assert_eq!(close, b"\x19\x01\0\0\0");
    assert_eq!(reset, b"\x1a\x01\0\0\0");
}

#[test]
fn cut_commands_name_the_item_they_end_in() {
    let id = ("statement id", 4);
    assert_named(
        b"\x01\0\0\0\x02\0x",
        &[id, ("parameter index", 2)],
        LongData::decode,
    );
    assert_named(
        b"\x01\0\0\0\x02\0\0\0",
        &[id, ("row count", 4)],
        Fetch::decode,
    );
    assert_named(b"\x01\0\0\0", &[id], statement_id);
}

#[test]
fn packets_too_short_for_an_id_are_not_patched() {
    for length in 0..5 {
        let mut payload = vec![7; length];
        patch_statement_id(&mut payload, 0);
        assert_eq!(payload, vec![7; length]);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(mut bytes: Vec<u8>, id: u32) {
        let _ = LongData::decode(&bytes);
        let _ = Fetch::decode(&bytes);
        let _ = PrepareOk::decode(&bytes);
        let _ = statement_id(&bytes);
        patch_statement_id(&mut bytes, id);
    }

    #[test]
    fn a_patch_changes_the_id_and_nothing_else(
        numbers: (u32, u16, u16, u16),
        metadata: Option<u8>,
        id: u32,
    ) {
        let (statement_id, columns, parameters, warnings) = numbers;
        let ok = PrepareOk { statement_id, columns, parameters, warnings, metadata };
        let mut payload = encoded(|out| ok.encode(out));
        prop_assert_eq!(PrepareOk::decode(&payload), Ok(ok));
        patch_statement_id(&mut payload, id);
        prop_assert_eq!(PrepareOk::decode(&payload), Ok(PrepareOk { statement_id: id, ..ok }));
    }
}

#[test]
fn eofs_of_a_reply_to_prepare_are_given_flags() {
    let definition = b"\x03def\0\0\0\x01?\0\x0c?\0\0\0\0\0\xfd\x80\0\0\0\0";
    let eof = |status: u16| {
        let [low, high] = status.to_le_bytes();
        [EOF, 0, 0, low, high]
    };
    let packets = |status: u16| {
        let mut packets = Vec::new();
        for payload in [
            &b"\0\x01\0\0\0\x01\0\x01\0\0\0\0"[..],
            definition,
            &eof(status),
            definition,
            &eof(status),
        ] {
            crate::write::put_packets(&mut packets, 1, payload);
        }
        packets
    };
    let mut patched = packets(0x8001);
    patch_eof_flags(&mut patched, StatusFlags(0x2003), StatusFlags(0x0202));
    assert_eq!(patched, packets(0x8002));
    for length in 0..patched.len() {
        patch_eof_flags(&mut patched[..length], StatusFlags(1), StatusFlags(1));
    }
}
