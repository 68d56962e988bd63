//! Binary logs: any events are read or refused without a panic; GTID sets behave as sets.

use binlog::{
    Checksum, Decoder, Event, EventFlags, EventHeader, EventReader, EventType, Limits,
    MariadbGtidSet, MysqlGtidSet, RawEvent, describe, describe_row, put_event,
};

use crate::input::Input;

/// Limits of the decoder. They are small, so that an input takes little time.
pub(crate) const LIMITS: Limits = Limits {
    event_bytes_max: 1 << 16,
    inflated_bytes_max: 1 << 18,
};

/// The number of events that are read from one payload, at most.
const WITHIN_MAX: usize = 1000;

const MARIADB: &[u8] = include_bytes!("../../binlog/tests/captures/mariadb-11.8/bin.000001");
const MYSQL: &[u8] = include_bytes!("../../binlog/tests/captures/mysql-9.7/bin.000001");

/// The number of bytes that one input may print. Rows after this limit are not read.
const PRINTED_BYTES_MAX: usize = 1 << 22;

/// `type:1 flags:1 length:2 body`, again and again, behind a FORMAT_DESCRIPTION event of a real server: of MySQL if the
/// first byte is even, else of MariaDB.
pub fn binlog_events(data: &[u8]) {
    let mut input = Input::new(data);
    let mut reader = Reading {
        decoder: Decoder::new(LIMITS),
        printed: 0,
    };
    reader.format(input.u8() & 1 == 1);
    loop {
        let event_type = EventType(input.u8());
        let flags = EventFlags(u16::from(input.u8()));
        let length = usize::from(input.u16());
        let body = input.bytes(length);
        reader.event(event_type, flags, body);
        if input.is_empty() {
            break;
        }
    }
}

/// Returns a binary log file of a real server.
pub(crate) fn capture(is_mariadb: bool) -> &'static [u8] {
    if is_mariadb { MARIADB } else { MYSQL }
}

/// Returns the FORMAT_DESCRIPTION event of a real server.
pub(crate) fn first_event(is_mariadb: bool) -> Vec<u8> {
    let mut reader = EventReader::new(capture(is_mariadb), Limits::default());
    let first = reader.next_event().expect("the file is whole");
    let (_, raw) = first.expect("the file has events");
    raw.bytes().to_vec()
}

struct Reading {
    decoder: Decoder,
    printed: usize,
}

impl Reading {
    /// Feeds a server's FORMAT_DESCRIPTION event to the decoder.
    fn format(&mut self, is_mariadb: bool) {
        let bytes = first_event(is_mariadb);
        let raw = RawEvent::parse(&bytes, Checksum::Crc32).expect("the event is whole");
        self.decoder.decode(&raw).expect("a server wrote it");
    }

    fn event(&mut self, event_type: EventType, flags: EventFlags, body: &[u8]) {
        let header = EventHeader {
            time: 1,
            event_type,
            server_id: 1,
            length: 0,
            next_position: 0,
            flags,
        };
        let mut bytes = Vec::new();
        put_event(&mut bytes, &header, body, Checksum::Crc32).expect("it is short");
        let raw = RawEvent::parse(&bytes, Checksum::Crc32).expect("it was just written");
        assert_eq!(raw.verify(), Ok(()));
        assert_eq!(raw.body(), body);
        let Ok(event) = self.decoder.decode(&raw) else {
            return;
        };
        self.print(&raw, &event);
        let Event::TransactionPayload(payload) = &event else {
            return;
        };
        let Ok(mut within) = payload.events(LIMITS) else {
            return;
        };
        for _ in 0..WITHIN_MAX {
            let Ok(Some(bytes)) = within.next_event() else {
                break;
            };
            let Ok(raw) = RawEvent::parse(bytes, Checksum::None) else {
                break;
            };
            let Ok(event) = self.decoder.decode_within(&raw) else {
                break;
            };
            self.print(&raw, &event);
        }
    }

    fn print(&mut self, raw: &RawEvent<'_>, event: &Event<'_>) {
        let mut json = String::new();
        let description = describe(raw.header(), event);
        description.put_json(&mut json);
        assert!(
            serde_json::from_str::<serde_json::Value>(&json).is_ok(),
            "{json}"
        );
        let _ = description.to_string();
        let Event::Rows(rows, Some(table)) = event else {
            return;
        };
        let Ok(changes) = rows.changes(table, LIMITS) else {
            return;
        };
        for change in changes {
            let Ok(change) = change else { break };
            for row in [change.before, change.after].into_iter().flatten() {
                let mut json = String::new();
                describe_row(&row, table).put_json(&mut json);
                assert!(
                    serde_json::from_str::<serde_json::Value>(&json).is_ok(),
                    "{json}"
                );
                self.printed += json.len();
            }
            if self.printed > PRINTED_BYTES_MAX {
                return;
            }
        }
    }
}

/// Takes the input as two sets in a text with `|` between them, and as an encoded set.
pub fn gtid_sets(data: &[u8]) {
    if let Ok(set) = MysqlGtidSet::decode(data) {
        let mut bytes = Vec::new();
        set.encode(&mut bytes);
        assert_eq!(MysqlGtidSet::decode(&bytes), Ok(set.clone()));
        assert_eq!(set.to_string().parse(), Ok(set));
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (left, right) = text.split_once('|').unwrap_or((text, ""));
    if let (Ok(a), Ok(b)) = (left.parse::<MysqlGtidSet>(), right.parse::<MysqlGtidSet>()) {
        assert_eq!(a.to_string().parse(), Ok(a.clone()));
        let mut union = a.clone();
        union.union(&b);
        assert!(union.contains_all(&a) && union.contains_all(&b));
        let mut rest = union.clone();
        rest.subtract(&b);
        assert!(a.contains_all(&rest));
        rest.union(&b);
        assert_eq!(rest, union);
    }
    if let (Ok(a), Ok(b)) = (
        left.parse::<MariadbGtidSet>(),
        right.parse::<MariadbGtidSet>(),
    ) {
        assert_eq!(a.to_string().parse(), Ok(a.clone()));
        let mut union = a.clone();
        union.union(&b);
        assert!(union.contains_all(&a) && union.contains_all(&b));
        let mut rest = a.clone();
        rest.subtract(&b);
        assert!(rest.iter().all(|gtid| !b.contains(gtid)));
    }
}
