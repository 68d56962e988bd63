//! Commands that scripts send, and replies as scripts see them.

use script::{Answer, Payloads, ReplyFacts};
use session::Outcome;
use wire::write::put_packets;
use wire::{Command, HEADER_BYTES, Header};

use link::client_command::Incoming;
use link::reply_observer::ObservedReply;

/// `query_status` of an ERR.
const STATUS_ERR: u8 = 255;

/// Returns a script's command as if a client had sent it.
pub fn incoming_of(command: Command, payload: &[u8]) -> Incoming {
    let mut packets = Vec::with_capacity(payload.len() + HEADER_BYTES);
    let sequence = put_packets(&mut packets, 0, payload);
    Incoming {
        command,
        packets,
        sequence,
        is_cut: false,
    }
}

/// Returns what the script is told of a reply. For commands other than COM_QUERY and COM_STMT_EXECUTE
/// it is told only that they were answered; for COM_CHANGE_USER also that it failed, if that is known.
pub fn reply_facts(command: Command, heard: &ObservedReply, answer: Option<&Answer>) -> ReplyFacts {
    let is_told = matches!(command, Command::QUERY | Command::STMT_EXECUTE);
    let tally = &heard.tally;
    let is_result = tally.had_rows || tally.rows > 0;
    let (rows, bytes) = match answer {
        Some(answer) => answer.rows_and_bytes(),
        None => (tally.rows_before + tally.rows, tally.row_bytes),
    };
    let times = ReplyFacts {
        first_at: heard.first_at,
        last_at: heard.last_at,
        is_binary: command == Command::STMT_EXECUTE,
        ..ReplyFacts::default()
    };
    if !is_told {
        let is_error = command == Command::CHANGE_USER && heard.outcome != Outcome::Ok;
        return ReplyFacts {
            query_status: Some(if is_error { STATUS_ERR } else { 0 }),
            affected_rows: Some(0),
            insert_id: Some(0),
            ..times
        };
    }
    let counts = |value| (!is_result).then_some(value);
    ReplyFacts {
        query_status: Some(match heard.outcome {
            Outcome::Ok => 0,
            Outcome::Err(_) => STATUS_ERR,
        }),
        affected_rows: counts(tally.ok.affected_rows),
        insert_id: counts(tally.ok.last_insert_id),
        warnings: tally.warnings,
        rows,
        bytes,
        status: tally.status.unwrap_or_default().0,
        ..times
    }
}

/// Returns a reply's payloads, without headers; payloads of several packets are joined.
pub fn payloads_of(mut bytes: &[u8]) -> Payloads {
    let mut payloads = Payloads::default();
    while !bytes.is_empty() {
        payloads.put(|out| {
            while let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() {
                let header = Header::decode(*header);
                let (payload, rest) = rest.split_at(header.length.min(rest.len()));
                out.extend_from_slice(payload);
                bytes = rest;
                if !header.is_continued() {
                    return;
                }
            }
            // An incomplete header is dropped.
            bytes = &[];
        });
    }
    payloads
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn payloads_lose_their_headers() {
        let mut bytes = Vec::new();
        let next = put_packets(&mut bytes, 1, b"one");
        put_packets(&mut bytes, next, b"");
        let payloads = payloads_of(&bytes);
        assert_eq!(payloads.len(), 2);
        assert_eq!(payloads.at(0).unwrap(), b"one");
        assert_eq!(payloads.at(1).unwrap(), b"");
    }

    #[test]
    fn an_incomplete_packet_is_the_last_payload() {
        assert_eq!(payloads_of(&[9, 0, 0, 1, 1, 2]).len(), 1);
        assert_eq!(payloads_of(&[9, 0]).len(), 1);
    }
}
