//! Follows the command phase of one connection from outside: which command, how far in its reply.

use std::collections::VecDeque;

use wire::{Capabilities, Command, HEADER_BYTES, Header, Malformed, StatusFlags};

use crate::cutter::{Cut, Cutter, HEAD_BYTES};
use crate::reply::{Outcome, Payload, ReplyState, Verdict, expected};

/// Commands in flight from which on no further one is let through.
const PIPELINE_DEPTH: usize = 64;

/// What became known while bytes passed. Events of one direction are the same however the bytes
/// were split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The first byte of a command has passed.
    CommandBegun(Command),
    /// The last byte of a command has passed.
    CommandEnded(Command),
    /// One result of several ended.
    ResultEnded(StatusFlags),
    /// The last byte of a reply has passed: the exchange is over.
    ReplyEnded {
        /// What was answered.
        command: Command,
        /// How.
        outcome: Outcome,
    },
    /// The backend asks for the client's file.
    LocalInfile,
    /// The backend spoke without being asked: an ERR that announces the end, as a rule.
    Unsolicited(Outcome),
    /// The tracker does not know any longer where it stands. Bytes are still relayed.
    Lost(LostReason),
}

/// Why a tracker gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostReason {
    /// A command that hands the connection to another protocol (COM_CLONE and the like).
    ForeignProtocol(Command),
    /// A reply of a shape that nobody described.
    UnknownReply(Command),
    /// The backend spoke without being asked, and it was no ERR.
    UnknownUnsolicited,
    /// Commands were sent behind one whose reply takes the client's bytes for something else.
    PipelinedBehindDialogue(Command),
}

/// A breach of the protocol after which the connection cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A sequence id that does not follow.
    #[error("packet out of order: sequence id {found} where {expected} belongs")]
    Sequence {
        /// The id that belongs there.
        expected: u8,
        /// The id that came.
        found: u8,
    },
    /// A payload beyond the configured limit.
    #[error("payload longer than the limit of {limit} bytes")]
    PayloadTooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// A payload that does not hold what it must.
    #[error("malformed packet, {0}")]
    Malformed(#[from] Malformed),
}

/// What is done with sequence ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequences {
    /// They must follow; bytes pass unchanged.
    Checked,
    /// They are written anew. Needed where one side compresses: the servers set the inner ids of
    /// compressed packets to the frame's at each flush (`net_flush` in `net_serv.cc`), and only
    /// compressing clients do not mind.
    Renumbered,
}

/// How many commands may be on their way at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipelining {
    /// As many as the client likes, within a bound.
    Deep,
    /// One after the other, each taken by a call of its own. A compressed backend needs it, which
    /// counts its frames from 0 in every command, and whoever steps between two exchanges.
    OneByOne,
}

/// What is to be done before the client's next bytes pass; see [`Tracker::holding_change_user`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Nothing.
    Nothing,
    /// More of them have to come.
    Partly,
    /// They begin with COM_CHANGE_USER, whose first packet's payload has so many bytes.
    ChangeUser(usize),
}

/// What the client's bytes are at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientMode {
    /// Commands, each beginning with sequence id 0.
    Commands,
    /// A file, up to an empty packet.
    Infile,
    /// Its side of a dialogue, until the reply ends (login, acknowledgements of binlog events).
    Dialogue,
}

/// A command whose reply has not ended.
#[derive(Debug, Clone, Copy)]
struct Pending {
    command: Command,
    /// The sequence id that the reply begins with; unknown while the command is still coming.
    reply_sequence: Option<u8>,
}

/// Where one connection stands. See the crate's first page.
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
    client: Cutter,
    client_mode: ClientMode,
    /// The sequence id that the client's next packet has.
    client_sequence: u8,
    /// Bytes of the client's current payload so far.
    client_payload_bytes: u64,
    /// The command that is coming in.
    incoming: Command,
    backend: Cutter,
    /// The reply that is passing; `None` between replies.
    reply: Option<ReplyState>,
    /// What happens when the backend's current payload ends.
    verdict: Option<Verdict>,
    /// The sequence id that the backend's next packet has; `None` where any will do.
    backend_sequence: Option<u8>,
    /// The id that the next packet to the client is to be given, whatever came before.
    aligned: Option<u8>,
    pending: VecDeque<Pending>,
}

impl Tracker {
    /// Begins behind the login's OK. `capabilities` are what client and backend agreed on;
    /// `status` came with the OK.
    pub fn new(
        capabilities: Capabilities,
        status: StatusFlags,
        sequences: Sequences,
        pipelining: Pipelining,
        payload_bytes_max: u64,
    ) -> Self {
        Self {
            capabilities,
            sequences,
            pipelining,
            holds_change_user: false,
            payload_bytes_max,
            status,
            lost: false,
            quit: false,
            client: Cutter::default(),
            client_mode: ClientMode::Commands,
            client_sequence: 0,
            client_payload_bytes: 0,
            incoming: Command::SLEEP,
            backend: Cutter::default(),
            reply: None,
            verdict: None,
            backend_sequence: None,
            aligned: None,
            pending: VecDeque::new(),
        }
    }

    /// COM_CHANGE_USER passes by [`Tracker::pass_change_user`] only, and what a dialogue's client says in it
    /// behind the first word of its server: so no command passes for something else.
    #[must_use]
    pub fn holding_change_user(self) -> Self {
        Self {
            holds_change_user: true,
            ..self
        }
    }

    /// What is to be done before these next bytes of the client's pass.
    #[inline]
    pub fn held(&self, bytes: &[u8]) -> Held {
        if !self.holds_change_user || bytes.is_empty() || !self.is_at_command() {
            return Held::Nothing;
        }
        let Some((header, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Held::Partly;
        };
        let length = Header::decode(*header).length;
        match payload.first() {
            _ if length == 0 => Held::Nothing,
            None => Held::Partly,
            Some(first) if Command(*first) == Command::CHANGE_USER => Held::ChangeUser(length),
            Some(_) => Held::Nothing,
        }
    }

    /// Lets a held COM_CHANGE_USER pass; `bytes` are all of it.
    ///
    /// # Errors
    /// As [`Tracker::client_bytes`].
    pub fn pass_change_user(
        &mut self,
        bytes: &mut [u8],
        emit: impl FnMut(Event),
    ) -> Result<(), Violation> {
        self.holds_change_user = false;
        let passed = self.client_bytes(bytes, emit);
        self.holds_change_user = true;
        passed.map(drop)
    }

    /// What is done with sequence ids.
    pub fn sequences(&self) -> Sequences {
        self.sequences
    }

    /// The flags of the last OK or EOF.
    pub fn status(&self) -> StatusFlags {
        self.status
    }

    /// The oldest command without its whole reply.
    pub fn command(&self) -> Option<Command> {
        self.pending.front().map(|pending| pending.command)
    }

    /// Whether the connection stands between two exchanges, and is known to.
    pub fn is_idle(&self) -> bool {
        !self.lost
            && self.pending.is_empty()
            && self.client.is_between_payloads()
            && self.backend.is_between_payloads()
    }

    /// Whether the tracker gave up.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Whether the client has said COM_QUIT.
    pub fn has_quit(&self) -> bool {
        self.quit
    }

    /// Whether the client's next bytes are wanted: false while enough commands are in flight.
    pub fn wants_client(&self) -> bool {
        let depth = match self.pipelining {
            Pipelining::Deep => PIPELINE_DEPTH,
            Pipelining::OneByOne => 1,
        };
        let is_unheard = self.client_mode == ClientMode::Dialogue && self.reply.is_none();
        if self.holds_change_user && is_unheard && !self.lost {
            return false;
        }
        self.lost || self.pending.len() < depth || !self.is_at_command()
    }

    /// Whether the client's next byte would begin a command.
    pub fn is_at_command(&self) -> bool {
        !self.lost && self.client_mode == ClientMode::Commands && self.client.is_between_payloads()
    }

    /// Whether bytes of the current reply have passed.
    pub fn has_reply_begun(&self) -> bool {
        self.reply.is_some()
    }

    /// Whether the client could be sent an ERR packet now: no reply is under way.
    /// Returns the sequence id that the packet needs.
    pub fn error_sequence(&self) -> Option<u8> {
        if self.lost || !self.backend.is_between_payloads() {
            return None;
        }
        let asked = self
            .pending
            .front()
            .and_then(|pending| pending.reply_sequence)
            .unwrap_or(1);
        Some(if self.reply.is_some() {
            self.backend_sequence.unwrap_or(asked)
        } else {
            asked
        })
    }

    /// The backend's next bytes go to the client in a compressed frame with this number. When a
    /// packet begins there, it gets the same ([`Sequences::Renumbered`]).
    pub fn align(&mut self, frame_sequence: u8) {
        self.aligned = self.backend.is_between_payloads().then_some(frame_sequence);
    }

    /// Follows bytes on their way from the client. Returns how many may pass on now; the others
    /// are to be offered again once [`Tracker::wants_client`].
    pub fn client_bytes(
        &mut self,
        bytes: &mut [u8],
        mut emit: impl FnMut(Event),
    ) -> Result<usize, Violation> {
        let mut at = 0;
        while !self.lost && self.wants_client() && self.held(&bytes[at..]) == Held::Nothing {
            let (taken, cut) = self.client.step(&bytes[at..]);
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
                    self.client_head(self.client.head().first().copied(), &mut emit);
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

    /// Follows bytes on their way from the backend.
    pub fn backend_bytes(
        &mut self,
        bytes: &mut [u8],
        mut emit: impl FnMut(Event),
    ) -> Result<(), Violation> {
        let mut at = 0;
        while !self.lost {
            if self.reply == Some(ReplyState::Rows) {
                at += self.skip_rows(&bytes[at..]);
            }
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

    /// Passes over whole packets that are rows and nothing else; the hot loop of big results.
    fn skip_rows(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        if self.sequences == Sequences::Renumbered || !self.backend.is_between_payloads() {
            return at;
        }
        let Some(mut sequence) = self.backend_sequence else {
            return at;
        };
        while let Some([a, b, c, found, first]) = bytes[at..].first_chunk::<{ HEADER_BYTES + 1 }>()
        {
            let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
            let end = at + HEADER_BYTES + length;
            if *first >= 0xfe
                || length == 0
                || length == wire::PACKET_PAYLOAD_MAX
                || *found != sequence
                || end > bytes.len()
            {
                break;
            }
            sequence = sequence.wrapping_add(1);
            at = end;
        }
        self.backend_sequence = Some(sequence);
        at
    }

    /// Checks a packet's sequence id, or writes `next` in its place; returns the one that leaves.
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

    /// Notes that a dialogue that was relayed elsewhere ([`Command::CHANGE_USER`]) is over.
    pub fn dialogue_ended(&mut self, status: Option<StatusFlags>) {
        self.status = status.unwrap_or(self.status);
        self.pending.pop_front();
        self.reply = None;
        self.backend_sequence = None;
        self.client_mode = ClientMode::Commands;
    }

    fn client_header(
        &mut self,
        header: Header,
        sequence_byte: &mut u8,
        begins_payload: bool,
    ) -> Result<(), Violation> {
        let is_command = self.client_mode == ClientMode::Commands;
        if begins_payload {
            self.client_payload_bytes = 0;
            if is_command {
                self.client_sequence = 0;
            }
        }
        self.client_payload_bytes += header.length as u64;
        let limit = self.payload_bytes_max;
        if is_command && self.client_payload_bytes > limit {
            return Err(Violation::PayloadTooLarge { limit });
        }
        let next = self.client_sequence;
        let sequence = self.sequence(sequence_byte, is_command.then_some(next), next)?;
        self.client_sequence = sequence.wrapping_add(1);
        Ok(())
    }

    fn client_head(&mut self, first: Option<u8>, emit: &mut impl FnMut(Event)) {
        if self.client_mode != ClientMode::Commands {
            return;
        }
        // An empty payload counts as COM_SLEEP (`Protocol_classic::get_command`).
        let command = first.map_or(Command::SLEEP, Command);
        self.incoming = command;
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
        match self.client_mode {
            ClientMode::Commands => self.command_end(emit),
            ClientMode::Infile if self.client_payload_bytes == 0 => {
                self.client_mode = ClientMode::Commands;
                self.backend_sequence = Some(self.client_sequence);
            }
            ClientMode::Infile => {}
            ClientMode::Dialogue => self.backend_sequence = Some(self.client_sequence),
        }
    }

    fn command_end(&mut self, emit: &mut impl FnMut(Event)) {
        let command = self.incoming;
        if expected(command).is_some()
            && let Some(pending) = self.pending.back_mut()
        {
            pending.reply_sequence = Some(self.client_sequence);
        }
        emit(Event::CommandEnded(command));
        match command {
            Command::CHANGE_USER
            | Command::BINLOG_DUMP
            | Command::BINLOG_DUMP_GTID
            | Command::TABLE_DUMP => {
                self.client_mode = ClientMode::Dialogue;
            }
            Command::CLONE | Command::SUBSCRIBE_GROUP_REPLICATION_STREAM => {
                self.lose(LostReason::ForeignProtocol(command), emit);
            }
            _ => {}
        }
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
            _ if self.client_mode == ClientMode::Infile => None,
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
    fn judge(&self, head: &[u8], length: usize) -> Result<Verdict, Violation> {
        let payload = Payload {
            head,
            length,
            capabilities: self.capabilities,
        };
        Ok(self.reply.unwrap_or(ReplyState::Simple).judge(&payload)?)
    }

    fn backend_payload_end(&mut self, verdict: Verdict, emit: &mut impl FnMut(Event)) {
        let Some(Pending { command, .. }) = self.pending.front().copied() else {
            return self.unsolicited(verdict, emit);
        };
        match verdict {
            Verdict::Continue(state) => {
                self.reply = Some(state);
                if self.client_mode == ClientMode::Dialogue {
                    self.client_sequence = self.backend_sequence.unwrap_or_default();
                }
            }
            Verdict::ResultEnd(status) => {
                self.status = status;
                match status.contains(StatusFlags::MORE_RESULTS_EXISTS) {
                    true => {
                        self.reply = Some(ReplyState::First);
                        emit(Event::ResultEnded(status));
                    }
                    false => self.reply_end(Outcome::Ok, emit),
                }
            }
            Verdict::End(outcome, status) => {
                self.status = status.unwrap_or(self.status);
                self.reply_end(outcome, emit);
            }
            Verdict::LocalInfile => self.local_infile(command, emit),
            Verdict::Unknown => self.lose(LostReason::UnknownReply(command), emit),
        }
    }

    fn reply_end(&mut self, outcome: Outcome, emit: &mut impl FnMut(Event)) {
        let Some(Pending { command, .. }) = self.pending.pop_front() else {
            return;
        };
        self.reply = None;
        self.backend_sequence = None;
        if self.client_mode != ClientMode::Commands {
            // An ERR in mid-file ends the dialogue only once the client has sent its empty packet.
            if self.client_mode == ClientMode::Infile {
                return self.lose(LostReason::UnknownReply(command), emit);
            }
            self.client_mode = ClientMode::Commands;
        }
        if self.pending.is_empty() {
            self.pending.shrink_to(8);
        }
        emit(Event::ReplyEnded { command, outcome });
    }

    fn local_infile(&mut self, command: Command, emit: &mut impl FnMut(Event)) {
        if self.pending.len() > 1 || !self.client.is_between_payloads() {
            return self.lose(LostReason::PipelinedBehindDialogue(command), emit);
        }
        self.reply = Some(ReplyState::First);
        self.client_mode = ClientMode::Infile;
        self.client_sequence = self.backend_sequence.unwrap_or_default();
        emit(Event::LocalInfile);
    }

    fn unsolicited(&mut self, verdict: Verdict, emit: &mut impl FnMut(Event)) {
        match verdict {
            Verdict::End(outcome @ Outcome::Err(_), _) => emit(Event::Unsolicited(outcome)),
            _ => self.lose(LostReason::UnknownUnsolicited, emit),
        }
    }

    fn lose(&mut self, reason: LostReason, emit: &mut impl FnMut(Event)) {
        self.lost = true;
        emit(Event::Lost(reason));
    }
}

#[cfg(test)]
mod tests;
