//! Packets that pass without a closer look: column definitions and rows that have arrived whole.

use wire::reply::{EOF, ERR};
use wire::{HEADER_BYTES, PACKET_PAYLOAD_MAX};

use crate::reply::ReplyState;

/// The whole packets at the beginning of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WholePackets {
    pub count: u64,
    pub bytes: usize,
    /// The id of the packet behind them.
    pub next_sequence: u8,
}

impl ReplyState {
    /// Returns the packets at the beginning of these bytes that do not change the reply's state: rows, and definitions
    /// except the last. The first packet must have this id. `None`: in this state every packet has to be looked at.
    pub(crate) fn skip_whole(&mut self, sequence: u8, bytes: &[u8]) -> Option<WholePackets> {
        match self {
            Self::Rows => Some(WholePackets::below(EOF, u64::MAX, sequence, bytes)),
            Self::Definitions { left, .. } => {
                let but_last = left.saturating_sub(1);
                let skipped = WholePackets::below(ERR, but_last, sequence, bytes);
                *left -= skipped.count;
                Some(skipped)
            }
            _ => None,
        }
    }
}

impl WholePackets {
    /// Returns at most `most` packets whose payloads begin with a byte below `end`, and whose ids follow.
    #[inline]
    pub(crate) fn below(end: u8, most: u64, sequence: u8, bytes: &[u8]) -> Self {
        let mut found = Self {
            count: 0,
            bytes: 0,
            next_sequence: sequence,
        };
        while found.count < most
            && let Some([a, b, c, sequence, first]) =
                bytes[found.bytes..].first_chunk::<{ HEADER_BYTES + 1 }>()
        {
            let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
            let behind = found.bytes + HEADER_BYTES + length;
            if *first >= end
                || length == 0
                || length == PACKET_PAYLOAD_MAX
                || *sequence != found.next_sequence
                || behind > bytes.len()
            {
                break;
            }
            found.next_sequence = sequence.wrapping_add(1);
            found.count += 1;
            found.bytes = behind;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::AfterDefinitions;

    fn packets(from: u8, payloads: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (sequence, payload) in (from..).zip(payloads) {
            wire::write::put_packets(&mut bytes, sequence, payload);
        }
        bytes
    }

    fn definitions(left: u64) -> ReplyState {
        let then = AfterDefinitions::Rows;
        ReplyState::Definitions { left, then }
    }

    #[test]
    fn definitions_pass_but_for_the_last() {
        let bytes = packets(2, &[b"\x03def" as &[u8]; 5]);
        let mut state = definitions(5);
        let skipped = state.skip_whole(2, &bytes).unwrap();
        assert_eq!((skipped.count, skipped.next_sequence), (4, 6));
        assert_eq!((skipped.bytes, state), (4 * 8, definitions(1)));
        assert_eq!(state.skip_whole(6, &bytes[32..]).unwrap().count, 0);
    }

    #[test]
    fn errors_gaps_and_incomplete_packets_are_left() {
        let bytes = packets(2, &[b"\x03def", b"\xff\x15\x04", b"\x03def"]);
        assert_eq!(definitions(3).skip_whole(2, &bytes).unwrap().count, 1);
        assert_eq!(definitions(3).skip_whole(3, &bytes).unwrap().count, 0);
        assert_eq!(definitions(3).skip_whole(2, &bytes[..7]).unwrap().count, 0);
        let rows = packets(2, &[b"\x01a", b"\xfb", b"", b"\x01a"]);
        assert_eq!(ReplyState::Rows.skip_whole(2, &rows).unwrap().count, 2);
        let end = packets(2, &[b"\x01a", b"\xfe\0\0\x02\0"]);
        assert_eq!(ReplyState::Rows.skip_whole(2, &end).unwrap().count, 1);
        assert_eq!(ReplyState::First.skip_whole(2, &rows), None);
    }
}
