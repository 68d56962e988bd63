//! Packets as they arrive: rows that pass unread, whole packets, and packets too long to be held.

use wire::{HEADER_BYTES, Header, Malformed};

use super::{Amendment, PacketAction, Reply, Withholds};
use crate::cutter::HEAD_BYTES;
use crate::reply::{Outcome, Payload, ReplyState, ReplyStep, UNASKED_FILE};
use crate::tracker::{Sequences, Violation};

impl Reply {
    /// Skips whole packets that are column definitions or rows and nothing else; the hot loop of results.
    pub(super) fn skip_whole(&mut self, bytes: &[u8]) -> usize {
        let is_plain = self.sequences == Sequences::Checked
            && !self.payload.is_continued
            && self.fingerprinting.is_none();
        if !is_plain {
            return 0;
        }
        let Some(skipped) = self.state.skip_whole(self.sequence, bytes) else {
            return 0;
        };
        self.sequence = skipped.next_sequence;
        if self.state == ReplyState::Rows {
            self.tally.rows += skipped.count;
            self.tally.row_bytes += skipped.bytes as u64;
        }
        skipped.bytes
    }

    /// Handles a whole packet.
    pub(super) fn packet(&mut self, packet: &mut [u8]) -> Result<PacketAction, Violation> {
        let header = self.header(packet)?;
        let payload = &packet[HEADER_BYTES..];
        let begins = !std::mem::replace(&mut self.payload.is_continued, header.is_continued());
        if begins {
            self.payload.verdict = Some(self.judge(payload, header.length)?);
        }
        self.weigh_row(header);
        self.take_print(payload);
        if self.payload.is_continued {
            return Ok(PacketAction::Pass);
        }
        let Some(verdict) = self.payload.verdict.take() else {
            return Ok(PacketAction::Pass);
        };
        let asked = packet.get(HEADER_BYTES + 1..).unwrap_or_default();
        if matches!(verdict, ReplyStep::LocalInfile) && !(begins && self.files.contain(asked)) {
            return Err(UNASKED_FILE.into());
        }
        let carries = begins && self.note(&verdict, payload)?;
        if self.withholds(&verdict, begins, &packet[HEADER_BYTES..]) {
            self.withheld = Some(packet[HEADER_BYTES..].into());
            self.payload_end(verdict)?;
            return Ok(PacketAction::Withhold);
        }
        if begins && self.amendment != Amendment::default() {
            self.amend(&verdict, &mut packet[HEADER_BYTES..]);
        }
        self.payload_end(verdict)?;
        Ok(match carries {
            true => PacketAction::Changes,
            false => PacketAction::Pass,
        })
    }

    /// Handles the beginning of a packet that is too long to be held.
    pub(super) fn begin_pieces(&mut self, beginning: &mut [u8]) -> Result<(), Violation> {
        let header = self.header(beginning)?;
        let begins = !std::mem::replace(&mut self.payload.is_continued, header.is_continued());
        if begins {
            let head = &beginning[HEADER_BYTES..];
            self.payload.verdict = Some(self.judge(head, header.length)?);
        }
        // No file name is as long as this.
        if matches!(self.payload.verdict, Some(ReplyStep::LocalInfile)) {
            return Err(UNASKED_FILE.into());
        }
        self.withholds = Withholds::Nothing;
        self.weigh_row(header);
        self.take_print(&beginning[HEADER_BYTES..]);
        self.payload.left = HEADER_BYTES + header.length - beginning.len();
        Ok(())
    }

    /// Whether this packet is a refusal that is kept back. Only the first packet of a reply can be one.
    fn withholds(&mut self, verdict: &ReplyStep, begins: bool, payload: &[u8]) -> bool {
        let withholds = std::mem::take(&mut self.withholds);
        let is_error = matches!(verdict, ReplyStep::End(Outcome::Err(_), _));
        begins && is_error && withholds.is_met(payload)
    }

    /// Counts a packet, if it is a row or a part of one.
    fn weigh_row(&mut self, header: Header) {
        let is_row = (self.state, &self.payload.verdict)
            == (
                ReplyState::Rows,
                &Some(ReplyStep::Continue(ReplyState::Rows)),
            );
        if is_row {
            self.tally.row_bytes += (HEADER_BYTES + header.length) as u64;
        }
    }

    /// Passes bytes of a packet that passes in pieces.
    pub(super) fn pass_left(&mut self, bytes: &[u8]) -> Result<usize, Violation> {
        let taken = self.payload.left.min(bytes.len());
        self.take_print(&bytes[..taken]);
        self.payload.left -= taken;
        if self.payload.left == 0
            && !self.payload.is_continued
            && let Some(verdict) = self.payload.verdict.take()
        {
            self.payload_end(verdict)?;
        }
        Ok(taken)
    }

    /// Adds bytes of the current payload to the fingerprint.
    fn take_print(&mut self, bytes: &[u8]) {
        if let (Some(print), Some(verdict)) = (&mut self.fingerprinting, &self.payload.verdict) {
            print.add(self.state, verdict, bytes);
        }
    }

    /// Checks a packet's sequence id, or writes it anew.
    fn header(&mut self, packet: &mut [u8]) -> Result<Header, Violation> {
        let truncated = Malformed::Truncated("packet header");
        let Some((bytes, _)) = packet.split_first_chunk_mut::<HEADER_BYTES>() else {
            return Err(truncated.into());
        };
        let header = Header::decode(*bytes);
        let expected = self.sequence;
        match self.sequences {
            Sequences::Renumbered => bytes[HEADER_BYTES - 1] = expected,
            Sequences::Checked if header.sequence != expected => {
                let found = header.sequence;
                return Err(Violation::Sequence { expected, found });
            }
            Sequences::Checked => {}
        }
        self.sequence = expected.wrapping_add(1);
        Ok(header)
    }

    fn judge(&self, payload: &[u8], length: usize) -> Result<ReplyStep, Violation> {
        let payload = Payload {
            head: &payload[..payload.len().min(HEAD_BYTES)],
            length,
            capabilities: self.capabilities,
        };
        Ok(self.state.judge(&payload)?)
    }
}
