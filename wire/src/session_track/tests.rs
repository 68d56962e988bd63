//! Handmade, truncated and random tails of OK packets. Tails of real servers are in
//! `tests/session_track.rs`.

use proptest::prelude::*;

use super::*;
use crate::tests::assert_named;

const TRACKED: Capabilities = Capabilities::SESSION_TRACK;

fn encoded(
    capabilities: Capabilities,
    ok: &OkPacket,
    info: &[u8],
    changes: &[Change<'_>],
) -> Vec<u8> {
    let mut payload = Vec::new();
    let changes = changes.iter().copied();
    put_ok(&mut payload, OkHeader::Ok, capabilities, ok, info, changes);
    payload
}

fn changes<'a>(payload: &'a [u8]) -> Result<Vec<Change<'a>>, Malformed> {
    OkTail::decode(payload, TRACKED)?.changes().collect()
}

/// An OK packet with one entry.
fn with_entry(kind: u8, data: &[u8]) -> Vec<u8> {
    let mut payload = b"\0\0\0\x02\x40\0\0\0".to_vec();
    put_lenenc(
        &mut payload,
        (1 + lenenc_size(data.len() as u64) + data.len()) as u64,
    );
    payload.push(kind);
    put_lenenc_bytes(&mut payload, data);
    payload
}

/// One change of each kind, for texts of any length.
#[derive(Debug, Clone)]
enum Owned {
    Variable(Vec<u8>, Vec<u8>),
    Schema(Vec<u8>),
    StateChanged(bool),
    Gtids(Vec<u8>),
    Characteristics(Vec<u8>),
    State(Vec<u8>),
    Unknown(u8, Vec<u8>),
}

impl Owned {
    fn change(&self) -> Change<'_> {
        match self {
            Self::Variable(name, value) => Change::Variable { name, value },
            Self::Schema(name) => Change::Schema(name),
            Self::StateChanged(changed) => Change::StateChanged(*changed),
            Self::Gtids(text) => Change::Gtids(text),
            Self::Characteristics(text) => Change::TransactionCharacteristics(text),
            Self::State(text) => Change::TransactionState(text),
            Self::Unknown(kind, data) => Change::Unknown { kind: *kind, data },
        }
    }
}

fn any_change() -> impl Strategy<Value = Owned> {
    let text = || prop::collection::vec(any::<u8>(), 0..300);
    prop_oneof![
        (text(), text()).prop_map(|(name, value)| Owned::Variable(name, value)),
        text().prop_map(Owned::Schema),
        any::<bool>().prop_map(Owned::StateChanged),
        text().prop_map(Owned::Gtids),
        text().prop_map(Owned::Characteristics),
        text().prop_map(Owned::State),
        (TRANSACTION_STATE + 1.., text()).prop_map(|(kind, data)| Owned::Unknown(kind, data)),
    ]
}

#[test]
fn a_cut_tail_names_the_item_it_ends_in() {
    let name = b"autocommit";
    let change = Change::Variable {
        name,
        value: b"OFF",
    };
    let payload = encoded(TRACKED, &OkPacket::default(), b"done", &[change]);
    let fixed = [
        ("OK header", 1),
        ("affected rows", 1),
        ("last insert id", 1),
        ("status flags", 2),
        ("warning count", 2),
    ];
    let decode = |payload| OkTail::decode(payload, TRACKED);
    let end = assert_named(&payload, &fixed, decode);
    // An OK packet may end here, before the info text.
    assert_eq!(decode(&payload[..end]), Ok(OkTail::default()));
    let info_end = end + 1 + 4;
    for cut in end + 1..info_end {
        assert_eq!(decode(&payload[..cut]), Err(Malformed::Truncated("info")));
    }
    for cut in info_end..payload.len() {
        assert_eq!(
            decode(&payload[..cut]),
            Err(Malformed::Truncated("session state"))
        );
    }
}

#[test]
fn a_cut_change_names_the_item_it_ends_in() {
    let cases: [(u8, &[u8], &str); 7] = [
        (SYSTEM_VARIABLES, b"\x04na", "variable name"),
        (SYSTEM_VARIABLES, b"\x04name\x02v", "variable value"),
        (SCHEMA, b"\x05shop", "schema"),
        (STATE_CHANGE, b"", "state change flag"),
        (GTIDS, b"\0\x04a:1", "GTIDs"),
        (
            TRANSACTION_CHARACTERISTICS,
            b"\x02;",
            "transaction characteristics",
        ),
        (TRANSACTION_STATE, b"\x08T______", "transaction state"),
    ];
    for (kind, data, item) in cases {
        assert_eq!(
            changes(&with_entry(kind, data)),
            Err(Malformed::Truncated(item)),
            "{item}"
        );
    }
    assert_eq!(
        changes(b"\0\0\0\x02\x40\0\0\0\x03\x01\x05\x04"),
        Err(Malformed::Truncated("session state data"))
    );
}

#[test]
fn decoding_of_session_state_changes_stops_at_a_malformed_one() {
    let payload = b"\0\0\0\x02\x40\0\0\0\x06\x02\x01x\x02\x01\x31";
    let tail = OkTail::decode(payload, TRACKED).unwrap();
    let found: Vec<_> = tail.changes().collect();
    assert_eq!(found, [Err(Malformed::Invalid("state change flag"))]);
}

#[test]
fn one_entry_may_hold_several_variables() {
    let payload = with_entry(SYSTEM_VARIABLES, b"\x01a\x011\x01b\x00\x01c\x013");
    let variable = |name, value| Change::Variable { name, value };
    assert_eq!(
        changes(&payload),
        Ok(vec![
            variable(b"a", b"1"),
            variable(b"b", b""),
            variable(b"c", b"3"),
        ])
    );
}

#[test]
fn gtids_in_an_encoding_of_the_future_are_kept_as_bytes() {
    let data = b"\x01whatever";
    let unknown = Change::Unknown { kind: GTIDS, data };
    let payload = with_entry(GTIDS, data);
    assert_eq!(changes(&payload), Ok(vec![unknown]));
    let ok = OkPacket::decode(&payload).unwrap();
    assert_eq!(encoded(TRACKED, &ok, b"", &[unknown]), payload);
}

#[test]
fn changes_are_sent_to_tracking_clients_only() {
    let change = Change::Schema(b"shop");
    let untracked = encoded(Capabilities(0), &OkPacket::default(), b"", &[change]);
    assert_eq!(untracked, b"\0\0\0\0\0\0\0");
    let said = encoded(Capabilities(0), &OkPacket::default(), b"done", &[change]);
    assert_eq!(said, b"\0\0\0\0\0\0\0\x04done");
    // The status flag without the capability does not announce changes (MariaDB sets the flag).
    let flagged = b"\0\0\0\0\x40\0\0\x04done";
    let tail = OkTail::decode(flagged, Capabilities(0)).unwrap();
    assert_eq!(tail.info, b"done");
    assert_eq!(tail.changes().count(), 0);
}

#[test]
fn the_flag_says_whether_changes_follow() {
    let flagged = OkPacket {
        status: StatusFlags::SESSION_STATE_CHANGED,
        ..OkPacket::default()
    };
    assert_eq!(encoded(TRACKED, &flagged, b"", &[]), b"\0\0\0\0\0\0\0");
    let payload = encoded(
        TRACKED,
        &OkPacket::default(),
        b"",
        &[Change::StateChanged(true)],
    );
    assert_eq!(payload, b"\0\0\0\0\x40\0\0\0\x03\x02\x011");
}

#[test]
fn the_end_of_rows_has_its_own_header() {
    let mut payload = Vec::new();
    let ok = OkPacket::default();
    put_ok(&mut payload, OkHeader::Eof, TRACKED, &ok, b"", []);
    assert_eq!(payload, b"\xfe\0\0\0\0\0\0");
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>, bits: u64) {
        if let Ok(tail) = OkTail::decode(&bytes, Capabilities(bits)) {
            prop_assert!(tail.changes().count() <= bytes.len());
        }
        let state = [&b"\0\0\0\0\x40\0\0\0\xfc"[..], &(bytes.len() as u16).to_le_bytes(), &bytes];
        if let Ok(found) = changes(&state.concat()) {
            prop_assert!(found.len() <= bytes.len());
        }
    }

    #[test]
    fn session_state_changes_round_trip(
        numbers: (u64, u64, u16, u16),
        info in prop::collection::vec(any::<u8>(), 0..300),
        changed in prop::collection::vec(any_change(), 0..12),
    ) {
        let (affected_rows, last_insert_id, status, warnings) = numbers;
        let status = StatusFlags(status);
        let ok = OkPacket { affected_rows, last_insert_id, status, warnings };
        let expected: Vec<Change<'_>> = changed.iter().map(Owned::change).collect();
        let payload = encoded(TRACKED, &ok, &info, &expected);
        let tail = OkTail::decode(&payload, TRACKED).unwrap();
        prop_assert_eq!(tail.info, &info);
        prop_assert_eq!(changes(&payload).unwrap(), expected);
        let status = status.with(StatusFlags::SESSION_STATE_CHANGED, !changed.is_empty());
        prop_assert_eq!(OkPacket::decode(&payload), Ok(OkPacket { status, ..ok }));
    }
}
