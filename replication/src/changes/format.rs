//! The formats of changes: lines, or server-sent events whose id is the position.

use super::subscription::ChangeFormat;

/// The event id for an empty position. If a client sent an empty id, it would begin at the end.
pub const OLDEST_POSITION: &str = "oldest";

/// One JSON object per line.
pub struct ChangeLines;

/// The format that `EventSource` in browsers reads.
pub struct ServerSentEvents;

impl ChangeFormat for ChangeLines {
    fn put_change(&self, out: &mut Vec<u8>, json: &str, _: &str) {
        out.extend_from_slice(json.as_bytes());
        out.push(b'\n');
    }

    fn put_heartbeat(&self, out: &mut Vec<u8>, json: &str, position: &str) {
        self.put_change(out, json, position);
    }
}

impl ChangeFormat for ServerSentEvents {
    fn put_change(&self, out: &mut Vec<u8>, json: &str, position: &str) {
        put_id(out, position);
        // JSON has no line feed outside strings, and escapes it within strings.
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(json.as_bytes());
        out.extend_from_slice(b"\n\n");
    }

    fn put_heartbeat(&self, out: &mut Vec<u8>, _: &str, position: &str) {
        // An event without data only changes the client's last event id.
        out.extend_from_slice(b": nothing new\n");
        put_id(out, position);
        out.push(b'\n');
    }
}

fn put_id(out: &mut Vec<u8>, position: &str) {
    let id = match position.is_empty() {
        true => OLDEST_POSITION,
        false => position,
    };
    out.extend_from_slice(b"id: ");
    out.extend_from_slice(id.as_bytes());
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_sent_event_has_its_position_as_id() {
        let mut out = Vec::new();
        ServerSentEvents.put_heartbeat(&mut out, "{}", "");
        ServerSentEvents.put_change(&mut out, "{\"op\":\"c\"}", "0-1-5");
        ChangeLines.put_change(&mut out, "{\"op\":\"d\"}", "0-1-5");
        let expected =
            ": nothing new\nid: oldest\n\nid: 0-1-5\ndata: {\"op\":\"c\"}\n\n{\"op\":\"d\"}\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
