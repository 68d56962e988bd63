//! The backend's bytes: how far its reply is.

use wire::{Command, HEADER_BYTES, Header, StatusFlags};

use super::{ClientMode, Event, LostReason, Pending, Sequences, Tracker, Violation};
use crate::cutter::{Cut, HEAD_BYTES};
use crate::reply::{
    Outcome, Payload, ReplyState, ReplyStep, UNASKED_FILE, expected, may_ask_for_files,
};

impl Tracker {
    /// Follows bytes on their way from the backend.
    pub fn backend_bytes(
        &mut self,
        bytes: &mut [u8],
        mut emit: impl FnMut(Event),
    ) -> Result<(), Violation> {
        let mut at = 0;
        while !self.lost {
            at += self.skip_whole(&bytes[at..]);
            let (taken, cut) = self.backend.step(&bytes[at..]);
            let from = at;
            at += taken;
            match cut {
                Cut::NeedMore => break,
                Cut::Whole(header) => {
                    self.backend_header(header, &mut bytes[from + HEADER_BYTES - 1], true)?;
                    let payload = &bytes[from + HEADER_BYTES..at];
                    let head = &payload[..payload.len().min(HEAD_BYTES)];
                    let verdict = self.judge(head, header.length)?;
                    self.backend_payload_end(verdict, &mut emit);
                }
                Cut::Header {
                    header,
                    begins_payload,
                } => {
                    self.backend_header(header, &mut bytes[at - 1], begins_payload)?;
                }
                Cut::Head => {
                    self.verdict =
                        Some(self.judge(self.backend.head(), self.backend.first_length())?);
                }
                Cut::PacketEnd => {}
                Cut::PayloadEnd => {
                    if let Some(verdict) = self.verdict.take() {
                        self.backend_payload_end(verdict, &mut emit);
                    }
                }
            }
        }
        Ok(())
    }

    /// Passes over whole packets that are definitions of columns or rows and nothing else; the hot loop of results.
    fn skip_whole(&mut self, bytes: &[u8]) -> usize {
        if self.sequences == Sequences::Renumbered || !self.backend.is_between_payloads() {
            return 0;
        }
        let (Some(state), Some(sequence)) = (&mut self.reply, self.backend_sequence) else {
            return 0;
        };
        let Some(skipped) = state.skip_whole(sequence, bytes) else {
            return 0;
        };
        self.backend_sequence = Some(skipped.next_sequence);
        skipped.bytes
    }

    fn begin_reply(&mut self) {
        match self.pending.front() {
            Some(pending) => {
                self.reply = expected(pending.command);
                self.backend_sequence = pending.reply_sequence;
            }
            None => self.backend_sequence = None,
        }
    }

    /// The id that the backend's next packet must have, where that is known.
    fn checked_sequence(&self) -> Option<u8> {
        match self.reply {
            // Semi-synchronous replication and login restart their counting; a file's sender is
            // answered when the server likes.
            Some(ReplyState::Stream | ReplyState::Auth) | None => None,
            _ if self.client.mode == ClientMode::Infile => None,
            _ => self.backend_sequence,
        }
    }

    fn backend_header(
        &mut self,
        header: Header,
        sequence_byte: &mut u8,
        begins_payload: bool,
    ) -> Result<(), Violation> {
        if begins_payload && self.reply.is_none() {
            self.begin_reply();
        }
        let counted = self.backend_sequence.unwrap_or(header.sequence);
        let next = self.aligned.take().unwrap_or(counted);
        let sequence = self.sequence(sequence_byte, self.checked_sequence(), next)?;
        self.backend_sequence = Some(sequence.wrapping_add(1));
        Ok(())
    }

    /// What the backend's current payload means, from its first bytes and its first packet's length.
    fn judge(&self, head: &[u8], length: usize) -> Result<ReplyStep, Violation> {
        let payload = Payload {
            head,
            length,
            capabilities: self.capabilities,
        };
        let verdict = self.reply.unwrap_or(ReplyState::Simple).judge(&payload)?;
        let command = self.pending.front().map(|pending| pending.command);
        match (&verdict, command) {
            (ReplyStep::LocalInfile, Some(command)) if !may_ask_for_files(command) => {
                Err(UNASKED_FILE.into())
            }
            _ => Ok(verdict),
        }
    }

    fn backend_payload_end(&mut self, verdict: ReplyStep, emit: &mut impl FnMut(Event)) {
        let Some(Pending { command, .. }) = self.pending.front().copied() else {
            return self.unsolicited(verdict, emit);
        };
        match verdict {
            ReplyStep::Continue(state) => {
                self.reply = Some(state);
                if self.client.mode == ClientMode::Dialogue {
                    self.client.sequence = self.backend_sequence.unwrap_or_default();
                }
            }
            ReplyStep::ResultEnd(status) => {
                self.status = status;
                match status.contains(StatusFlags::MORE_RESULTS_EXISTS) {
                    true => {
                        self.reply = Some(ReplyState::First);
                        emit(Event::ResultEnded(status));
                    }
                    false => self.reply_end(Outcome::Ok, emit),
                }
            }
            ReplyStep::End(outcome, status) => {
                self.status = status.unwrap_or(self.status);
                self.reply_end(outcome, emit);
            }
            ReplyStep::LocalInfile => self.local_infile(command, emit),
            ReplyStep::Unknown => self.lose(LostReason::UnknownReply(command), emit),
        }
    }

    fn reply_end(&mut self, outcome: Outcome, emit: &mut impl FnMut(Event)) {
        let Some(Pending { command, .. }) = self.pending.pop_front() else {
            return;
        };
        self.reply = None;
        self.backend_sequence = None;
        if self.client.mode != ClientMode::Commands {
            // An ERR in mid-file ends the dialogue only once the client has sent its empty packet.
            if self.client.mode == ClientMode::Infile {
                return self.lose(LostReason::UnknownReply(command), emit);
            }
            self.client.mode = ClientMode::Commands;
        }
        if self.pending.is_empty() {
            self.pending.shrink_to(8);
        }
        emit(Event::ReplyEnded { command, outcome });
    }

    fn local_infile(&mut self, command: Command, emit: &mut impl FnMut(Event)) {
        if self.pending.len() > 1 || !self.client.cutter.is_between_payloads() {
            return self.lose(LostReason::PipelinedBehindDialogue(command), emit);
        }
        self.reply = Some(ReplyState::First);
        self.client.mode = ClientMode::Infile;
        self.client.sequence = self.backend_sequence.unwrap_or_default();
        emit(Event::LocalInfile);
    }

    fn unsolicited(&mut self, verdict: ReplyStep, emit: &mut impl FnMut(Event)) {
        match verdict {
            ReplyStep::End(outcome @ Outcome::Err(_), _) => emit(Event::Unsolicited(outcome)),
            _ => self.lose(LostReason::UnknownUnsolicited, emit),
        }
    }
}
