//! The client's bytes: which command they are, or whose file or dialogue.

use wire::{Command, HEADER_BYTES, Header};

use super::{
    ChangeUserHold, ClientMode, Event, LostReason, Pending, Pipelining, Tracker, Violation,
};
use crate::cutter::Cut;
use crate::reply::expected;

impl Tracker {
    /// Follows bytes on their way from the client. Returns how many may pass on now; the others
    /// are to be offered again once [`Tracker::wants_client`].
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
}
