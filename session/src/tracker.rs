//! Follows the command phase of one connection from outside: which command runs, and how far its reply has come.

mod change_user;
mod event;
mod phase;
mod questions;

use std::collections::VecDeque;

use wire::{Capabilities, Command, HEADER_BYTES, Header, StatusFlags};

pub use event::{Event, LostReason, Violation};
pub use phase::{ChangeUserHold, Pipelining, Sequences};

use crate::cutter::{Cut, Cutter, HEAD_BYTES};
use crate::reply::{
    Outcome, Payload, ReplyState, ReplyStep, UNASKED_FILE, expected, may_ask_for_files,
};
use phase::{ClientMode, ClientPackets, Pending};

/// The place of one connection in its command phase. See the crate's first page.
#[derive(Debug, Clone)]
pub struct Tracker {
    capabilities: Capabilities,
    sequences: Sequences,
    pipelining: Pipelining,
    holds_change_user: bool,
    payload_bytes_max: u64,
    status: StatusFlags,
    lost: bool,
    quit: bool,
    client: ClientPackets,
    backend: Cutter,
    /// The reply that is passing; `None` between replies.
    reply: Option<ReplyState>,
    /// The step that follows at the end of the backend's current payload.
    verdict: Option<ReplyStep>,
    /// The sequence id that the backend's next packet has; `None` if any id is accepted.
    backend_sequence: Option<u8>,
    /// The sequence id for the next packet to the client, whatever came before.
    aligned: Option<u8>,
    pending: VecDeque<Pending>,
}

impl Tracker {
    /// Follows bytes on their way from the client. Returns how many bytes may pass on now. The rest
    /// has to be offered again once [`Tracker::wants_client`].
    pub fn client_bytes(
        &mut self,
        bytes: &mut [u8],
        mut emit: impl FnMut(Event),
    ) -> Result<usize, Violation> {
        let mut at = 0;
        while !self.lost
            && self.wants_client()
            && self.held(&bytes[at..]) == ChangeUserHold::Nothing
        {
            let (taken, cut) = self.client.cutter.step(&bytes[at..]);
            let from = at;
            at += taken;
            match cut {
                Cut::NeedMore => break,
                Cut::Whole(header) => {
                    self.client_header(header, &mut bytes[from + HEADER_BYTES - 1], true)?;
                    self.client_head(bytes[from + HEADER_BYTES..at].first().copied(), &mut emit);
                    self.client_payload_end(&mut emit);
                }
                Cut::Header {
                    header,
                    begins_payload,
                } => {
                    self.client_header(header, &mut bytes[at - 1], begins_payload)?;
                    continue;
                }
                Cut::Head => {
                    self.client_head(self.client.cutter.head().first().copied(), &mut emit);
                    continue;
                }
                Cut::PacketEnd => continue,
                Cut::PayloadEnd => self.client_payload_end(&mut emit),
            }
            if self.pipelining == Pipelining::OneByOne {
                break;
            }
        }
        Ok(if self.lost { bytes.len() } else { at })
    }

    fn client_header(
        &mut self,
        header: Header,
        sequence_byte: &mut u8,
        begins_payload: bool,
    ) -> Result<(), Violation> {
        let is_command = self.client.mode == ClientMode::Commands;
        if begins_payload {
            self.client.payload_bytes = 0;
            if is_command {
                self.client.sequence = 0;
            }
        }
        self.client.payload_bytes += header.length as u64;
        let limit = self.payload_bytes_max;
        if is_command && self.client.payload_bytes > limit {
            return Err(Violation::PayloadTooLarge { limit });
        }
        let next = self.client.sequence;
        let sequence = self.sequence(sequence_byte, is_command.then_some(next), next)?;
        self.client.sequence = sequence.wrapping_add(1);
        Ok(())
    }

    fn client_head(&mut self, first: Option<u8>, emit: &mut impl FnMut(Event)) {
        if self.client.mode != ClientMode::Commands {
            return;
        }
        // An empty payload counts as COM_SLEEP (`Protocol_classic::get_command`).
        let command = first.map_or(Command::SLEEP, Command);
        self.client.incoming = command;
        self.quit |= command == Command::QUIT;
        if expected(command).is_some() {
            self.pending.push_back(Pending {
                command,
                reply_sequence: None,
            });
        }
        emit(Event::CommandBegun(command));
    }

    fn client_payload_end(&mut self, emit: &mut impl FnMut(Event)) {
        match self.client.mode {
            ClientMode::Commands => self.command_end(emit),
            ClientMode::Infile if self.client.payload_bytes == 0 => {
                self.client.mode = ClientMode::Commands;
                self.backend_sequence = Some(self.client.sequence);
            }
            ClientMode::Infile => {}
            ClientMode::Dialogue => self.backend_sequence = Some(self.client.sequence),
        }
    }

    fn command_end(&mut self, emit: &mut impl FnMut(Event)) {
        let command = self.client.incoming;
        if expected(command).is_some()
            && let Some(pending) = self.pending.back_mut()
        {
            pending.reply_sequence = Some(self.client.sequence);
        }
        emit(Event::CommandEnded(command));
        match command {
            Command::CHANGE_USER
            | Command::BINLOG_DUMP
            | Command::BINLOG_DUMP_GTID
            | Command::TABLE_DUMP => {
                self.client.mode = ClientMode::Dialogue;
            }
            Command::CLONE | Command::SUBSCRIBE_GROUP_REPLICATION_STREAM => {
                self.lose(LostReason::ForeignProtocol(command), emit);
            }
            _ => {}
        }
    }

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

    /// Skips whole packets that are column definitions or rows and nothing else; the hot loop of results.
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

    /// The id that the backend's next packet must have, if it is known.
    fn checked_sequence(&self) -> Option<u8> {
        match self.reply {
            // Semi-synchronous replication and login restart their counting. The server may answer
            // the sender of a file at any time.
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

    /// Returns the effect of the backend's current payload, by its first bytes and its first packet's length.
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

    /// Checks a packet's sequence id, or replaces it by `next`; returns the id that is sent on.
    #[inline]
    fn sequence(&self, byte: &mut u8, expected: Option<u8>, next: u8) -> Result<u8, Violation> {
        let found = *byte;
        match (self.sequences, expected) {
            (Sequences::Renumbered, _) => {
                *byte = next;
                Ok(next)
            }
            (Sequences::Checked, Some(expected)) if expected != found => {
                Err(Violation::Sequence { expected, found })
            }
            (Sequences::Checked, _) => Ok(found),
        }
    }

    fn lose(&mut self, reason: LostReason, emit: &mut impl FnMut(Event)) {
        self.lost = true;
        emit(Event::Lost(reason));
    }
}

#[cfg(test)]
mod tests;
