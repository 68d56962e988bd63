//! OK, EOF and ERR, compared with another implementation, and cut short.

use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets as oracle;
use mysql_common::proto::MySerialize;
use proptest::prelude::*;

use super::*;
use crate::tests::assert_named;
use crate::write::{put_lenenc, put_lenenc_bytes};

/// Every flag that `mysql_common` knows; it drops the flag 0x0004, which is not defined.
const STATUS_KNOWN: u16 = !0x0004;

fn ok_payload(first: u8, ok: &OkPacket) -> Vec<u8> {
    let mut payload = vec![first];
    put_lenenc(&mut payload, ok.affected_rows);
    put_lenenc(&mut payload, ok.last_insert_id);
    payload.extend_from_slice(&ok.status.0.to_le_bytes());
    payload.extend_from_slice(&ok.warnings.to_le_bytes());
    payload
}

fn any_ok() -> impl Strategy<Value = OkPacket> {
    any::<(u64, u64, u16, u16)>().prop_map(|(affected_rows, last_insert_id, status, warnings)| {
        OkPacket {
            affected_rows,
            last_insert_id,
            status: StatusFlags(status & STATUS_KNOWN),
            warnings,
        }
    })
}

fn oracle_ok<K: oracle::OkPacketKind>(payload: &[u8]) -> oracle::OkPacket<'_> {
    let capabilities = CapabilityFlags::CLIENT_SESSION_TRACK;
    let read: oracle::OkPacketDeserializer<'_, K> = ParseBuf(payload).parse(capabilities).unwrap();
    read.into_inner()
}

#[test]
fn a_cut_ok_names_the_item_it_ends_in() {
    let ok = OkPacket {
        affected_rows: 0x1_0000,
        last_insert_id: u64::MAX,
        status: StatusFlags::AUTOCOMMIT,
        warnings: 1,
    };
    let items = [
        ("OK header", 1),
        ("affected rows", 4),
        ("last insert id", 9),
        ("status flags", 2),
        ("warning count", 2),
    ];
    let payload = ok_payload(OK, &ok);
    let end = assert_named(&payload, &items, OkPacket::decode);
    assert_eq!(end, payload.len());
}

#[test]
fn a_cut_eof_names_the_item_it_ends_in() {
    let items = [("EOF header", 1), ("warning count", 2), ("status flags", 2)];
    let payload = [EOF, 1, 0, 2, 0];
    assert_named(&payload, &items, eof_status);
    assert_eq!(eof_status(&payload), Ok(StatusFlags::AUTOCOMMIT));
}

#[test]
fn a_cut_err_names_the_item_it_ends_in() {
    let items = [("ERR header", 1), ("error number", 2)];
    let payload = b"\xff\x15\x04#28000denied";
    assert_named(payload, &items, ErrPacket::decode);
    // A truncated SQLSTATE is read as text, because it cannot be distinguished from an error without SQLSTATE.
    for cut in 3..9 {
        let err = ErrPacket::decode(&payload[..cut]).unwrap();
        assert_eq!(err.sqlstate, None);
        assert_eq!(err.text, &payload[3..cut]);
    }
    let err = ErrPacket::decode(&payload[..9]).unwrap();
    assert_eq!((err.sqlstate, err.text), (Some(*b"28000"), &b""[..]));
}

#[test]
fn errors_begin_with_their_byte() {
    assert_eq!(
        ErrPacket::decode(b"\0\x15\x04denied"),
        Err(Malformed::Invalid("ERR header"))
    );
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>) {
        let _ = OkPacket::decode(&bytes);
        let _ = eof_status(&bytes);
        let _ = ErrPacket::decode(&bytes);
    }

    #[test]
    fn oks_agree_with_mysql_common(ok in any_ok(), info in "[ -~]{0,300}", tracked: Vec<u8>) {
        let mut payload = ok_payload(OK, &ok);
        put_lenenc_bytes(&mut payload, info.as_bytes());
        if ok.status.contains(StatusFlags::SESSION_STATE_CHANGED) {
            put_lenenc_bytes(&mut payload, &tracked);
        }
        prop_assert_eq!(OkPacket::decode(&payload), Ok(ok));
        let theirs = oracle_ok::<oracle::CommonOkPacket>(&payload);
        prop_assert_eq!(theirs.affected_rows(), ok.affected_rows);
        prop_assert_eq!(theirs.last_insert_id().unwrap_or_default(), ok.last_insert_id);
        prop_assert_eq!(theirs.status_flags().bits(), ok.status.0);
        prop_assert_eq!(theirs.warnings(), ok.warnings);
    }

    #[test]
    fn oks_in_eofs_place_agree_with_mysql_common(ok in any_ok()) {
        let payload = ok_payload(EOF, &ok);
        prop_assert_eq!(OkPacket::decode(&payload), Ok(ok));
        let theirs = oracle_ok::<oracle::ResultSetTerminator>(&payload);
        prop_assert_eq!(theirs.status_flags().bits(), ok.status.0);
        prop_assert_eq!(theirs.warnings(), ok.warnings);
    }

    #[test]
    fn eofs_agree_with_mysql_common(status: u16, warnings: u16) {
        let status = status & STATUS_KNOWN;
        let mut payload = Vec::new();
        put_eof(&mut payload, StatusFlags(status), warnings);
        prop_assert_eq!(eof_status(&payload), Ok(StatusFlags(status)));
        let theirs = oracle_ok::<oracle::OldEofPacket>(&payload);
        prop_assert_eq!(theirs.status_flags().bits(), status);
        prop_assert_eq!(theirs.warnings(), warnings);
    }

    #[test]
    fn err_packets_round_trip(
        number: u16,
        sqlstate in prop::option::of(any::<[u8; 5]>()),
        text: Vec<u8>,
    ) {
        // If there is no SQLSTATE, a text that begins like one is read as one.
        prop_assume!(sqlstate.is_some() || text.first() != Some(&b'#'));
        let err = ErrPacket { number, sqlstate, text: &text };
        let mut payload = Vec::new();
        err.encode(&mut payload);
        prop_assert_eq!(ErrPacket::decode(&payload), Ok(err));
    }

    #[test]
    fn errors_agree_with_mysql_common(number in 0..PROGRESS_REPORT, state: [u8; 5], text: Vec<u8>) {
        let ours = ErrPacket { number, sqlstate: Some(state), text: &text };
        let mut payload = Vec::new();
        ours.encode(&mut payload);
        let theirs: oracle::ErrPacket<'_> =
            ParseBuf(&payload).parse(CapabilityFlags::CLIENT_PROTOCOL_41).unwrap();
        let error = theirs.server_error();
        prop_assert_eq!(error.error_code(), number);
        prop_assert_eq!(error.sql_state_ref().unwrap().as_bytes(), state);
        prop_assert_eq!(error.message_ref(), &text);
        let mut again = Vec::new();
        theirs.serialize(&mut again);
        prop_assert_eq!(payload, again);
    }
}
