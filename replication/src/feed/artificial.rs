//! Events that are in no file: ROTATE, which names the file whose events follow, and heartbeats.

use binlog::{Checksum, EventError, EventFlags, EventHeader, EventType, Rotate, put_event};
use wire::write::{put_lenenc, put_lenenc_bytes};

use crate::relay::position_of;

/// The offset of the first event in a file.
const FIRST_POSITION: u64 = 4;

/// The maximum length of a position in a heartbeat of version 2, in bytes.
const POSITION_BYTES_MAX: usize = 9;

/// Appends the ROTATE event that names the file whose events follow.
///
/// # Errors
/// No file name leads to an error.
pub fn put_rotate(out: &mut Vec<u8>, server_id: u32, file: &str) -> Result<(), EventError> {
    let mut body = Vec::new();
    let rotate = Rotate {
        position: FIRST_POSITION,
        name: file.as_bytes(),
    };
    rotate.encode(&mut body);
    put(out, EventType::ROTATE, server_id, 0, &body)
}

/// Appends a heartbeat: the log has no event after this place.
///
/// # Errors
/// No file name leads to an error.
pub fn put_heartbeat(
    out: &mut Vec<u8>,
    server_id: u32,
    (file, position): (&str, u64),
    is_version_2: bool,
) -> Result<(), EventError> {
    if !is_version_2 {
        let next = position_of(position);
        return put(out, EventType::HEARTBEAT, server_id, next, file.as_bytes());
    }
    let mut body = Vec::new();
    put_lenenc(&mut body, 1);
    put_lenenc_bytes(&mut body, file.as_bytes());
    put_lenenc(&mut body, 2);
    let mut number = Vec::with_capacity(POSITION_BYTES_MAX);
    put_lenenc(&mut number, position);
    put_lenenc_bytes(&mut body, &number);
    put_lenenc(&mut body, 0);
    put(out, EventType::HEARTBEAT_V2, server_id, 0, &body)
}

fn put(
    out: &mut Vec<u8>,
    event_type: EventType,
    server_id: u32,
    next_position: u32,
    body: &[u8],
) -> Result<(), EventError> {
    let header = EventHeader {
        time: 0,
        event_type,
        server_id,
        length: 0,
        next_position,
        flags: match event_type {
            EventType::ROTATE => EventFlags::ARTIFICIAL,
            _ => EventFlags(0),
        },
    };
    put_event(out, &header, body, Checksum::Crc32)
}
