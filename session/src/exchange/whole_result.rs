//! The usual reply: one result set that has arrived in one piece, of which only the end has to be noted. It is
//! followed at once. Any other reply is followed packet by packet, as if this module had not looked at it.

use wire::reply::{EOF, ERR, OkPacket};
use wire::{Capabilities, HEADER_BYTES, StatusFlags};

use super::{Progress, Reply, Withholds};
use crate::reply::{Outcome, ReplyState};
use crate::tracker::Sequences;
use crate::whole_packets::WholePackets;

/// Flags at the end of a result set that need more work: more follows, rows are to be fetched, the session has
/// changed.
const NOTABLE: u16 = StatusFlags::MORE_RESULTS_EXISTS.0
    | StatusFlags::CURSOR_EXISTS.0
    | StatusFlags::PS_OUT_PARAMS.0
    | StatusFlags::SESSION_STATE_CHANGED.0;

/// An EOF packet, header and all.
const EOF_BYTES: usize = HEADER_BYTES + 5;

/// An OK packet in place of EOF, without counts and text.
const OK_BYTES: usize = HEADER_BYTES + 7;

/// The end of definitions or rows.
struct ResultEnd {
    status: StatusFlags,
    warnings: u16,
}

impl Reply {
    /// Follows a reply from its beginning, if these bytes are all of it. Returns whether they are.
    #[inline]
    pub(super) fn take_whole_result(&mut self, bytes: &[u8]) -> bool {
        let is_usual = self.state == ReplyState::First
            && self.sequences == Sequences::Checked
            && self.capabilities.contains(Capabilities::PROTOCOL_41)
            && self.fingerprinting.is_none()
            && !self.amendment.has_more
            && self.amendment.warnings.is_none()
            && self.tally.results == 0;
        is_usual && self.follow_whole_result(bytes).is_some()
    }

    fn follow_whole_result(&mut self, bytes: &[u8]) -> Option<()> {
        let has_eof = !self.capabilities.contains(Capabilities::DEPRECATE_EOF);
        let end_bytes = match has_eof {
            true => EOF_BYTES,
            false => OK_BYTES,
        };
        let (result, last) = bytes.split_at_checked(bytes.len().checked_sub(end_bytes)?)?;
        let end = match has_eof {
            true => eof(last)?,
            false => ok_in_place_of_eof(last)?,
        };
        // A column count of one byte, and nothing behind it.
        let &[1, 0, 0, sequence, columns @ 1..0xfb] = result.first_chunk()? else {
            return None;
        };
        if sequence != self.sequence {
            return None;
        }
        let result = &result[HEADER_BYTES + 1..];
        let columns = u64::from(columns);
        let definitions = WholePackets::below(ERR, columns, sequence.wrapping_add(1), result);
        if definitions.count != columns {
            return None;
        }
        let (mut result, mut sequence) = (&result[definitions.bytes..], definitions.next_sequence);
        if has_eof {
            let (end, rows) = result.split_at_checked(EOF_BYTES)?;
            eof(end).filter(|_| end[HEADER_BYTES - 1] == sequence)?;
            (result, sequence) = (rows, sequence.wrapping_add(1));
        }
        let rows = WholePackets::below(EOF, u64::MAX, sequence, result);
        if rows.bytes != result.len() || last[HEADER_BYTES - 1] != rows.next_sequence {
            return None;
        }
        self.whole_result_ended(&rows, &end, has_eof);
        Some(())
    }

    fn whole_result_ended(&mut self, rows: &WholePackets, end: &ResultEnd, has_eof: bool) {
        self.sequence = rows.next_sequence.wrapping_add(1);
        self.state = ReplyState::Rows;
        self.withholds = Withholds::Nothing;
        self.progress = Progress::Over(Outcome::Ok);
        let tally = &mut self.tally;
        tally.results = 1;
        tally.had_rows = true;
        tally.rows = rows.count;
        tally.row_bytes = rows.bytes as u64;
        tally.status = Some(end.status);
        tally.warnings = end.warnings;
        tally.has_warned = end.warnings > 0;
        if !has_eof {
            tally.ok = OkPacket {
                status: end.status,
                warnings: end.warnings,
                ..OkPacket::default()
            };
        }
    }
}

/// Reads an EOF packet with usual flags.
#[inline]
fn eof(packet: &[u8]) -> Option<ResultEnd> {
    match packet {
        &[5, 0, 0, _, EOF, a, b, c, d] => usual_end([c, d], [a, b]),
        _ => None,
    }
}

/// Reads an OK packet in its place.
#[inline]
fn ok_in_place_of_eof(packet: &[u8]) -> Option<ResultEnd> {
    match packet {
        &[7, 0, 0, _, EOF, 0, 0, a, b, c, d] => usual_end([a, b], [c, d]),
        _ => None,
    }
}

#[inline]
fn usual_end(status: [u8; 2], warnings: [u8; 2]) -> Option<ResultEnd> {
    let status = u16::from_le_bytes(status);
    (status & NOTABLE == 0).then(|| ResultEnd {
        status: StatusFlags(status),
        warnings: u16::from_le_bytes(warnings),
    })
}
