//! Follows the command phase of one connection from outside: which command, how far in its reply.

mod backend;
mod client;
mod event;

use std::collections::VecDeque;

use wire::{Capabilities, Command, HEADER_BYTES, Header, StatusFlags};

pub use event::{Event, LostReason, Violation};

use crate::cutter::Cutter;
use crate::reply::{ReplyState, ReplyStep};

/// Commands in flight from which on no further one is let through.
const PIPELINE_DEPTH: usize = 64;

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
pub enum ChangeUserHold {
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

/// The packets that come from the client.
#[derive(Debug, Clone)]
struct ClientPackets {
    cutter: Cutter,
    mode: ClientMode,
    /// The sequence id that the next packet has.
    sequence: u8,
    /// Bytes of the current payload so far.
    payload_bytes: u64,
    /// The command that is coming in.
    incoming: Command,
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
    client: ClientPackets,
    backend: Cutter,
    /// The reply that is passing; `None` between replies.
    reply: Option<ReplyState>,
    /// What happens when the backend's current payload ends.
    verdict: Option<ReplyStep>,
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
            client: ClientPackets {
                cutter: Cutter::default(),
                mode: ClientMode::Commands,
                sequence: 0,
                payload_bytes: 0,
                incoming: Command::SLEEP,
            },
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
    pub fn held(&self, bytes: &[u8]) -> ChangeUserHold {
        if !self.holds_change_user || bytes.is_empty() || !self.is_at_command() {
            return ChangeUserHold::Nothing;
        }
        let Some((header, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return ChangeUserHold::Partly;
        };
        let length = Header::decode(*header).length;
        match payload.first() {
            _ if length == 0 => ChangeUserHold::Nothing,
            None => ChangeUserHold::Partly,
            Some(first) if Command(*first) == Command::CHANGE_USER => {
                ChangeUserHold::ChangeUser(length)
            }
            Some(_) => ChangeUserHold::Nothing,
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
            && self.client.cutter.is_between_payloads()
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
        let is_unheard = self.client.mode == ClientMode::Dialogue && self.reply.is_none();
        if self.holds_change_user && is_unheard && !self.lost {
            return false;
        }
        self.lost || self.pending.len() < depth || !self.is_at_command()
    }

    /// Whether the client's next byte would begin a command.
    pub fn is_at_command(&self) -> bool {
        !self.lost
            && self.client.mode == ClientMode::Commands
            && self.client.cutter.is_between_payloads()
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
        self.client.mode = ClientMode::Commands;
    }

    fn lose(&mut self, reason: LostReason, emit: &mut impl FnMut(Event)) {
        self.lost = true;
        emit(Event::Lost(reason));
    }
}

#[cfg(test)]
mod tests;
