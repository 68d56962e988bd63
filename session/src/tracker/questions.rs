//! Queries about a connection's state: what its client may send, and whether a command is in flight.

use std::collections::VecDeque;

use wire::{Capabilities, Command, StatusFlags};

use super::Tracker;
use super::phase::{ClientMode, ClientPackets, Pipelining, Sequences};
use crate::cutter::Cutter;

/// The maximum number of commands in flight.
pub(super) const PIPELINE_DEPTH: usize = 64;

impl Tracker {
    /// Returns a tracker that begins after the login's OK. `capabilities` are those that client and
    /// backend agreed on; `status` came with the OK.
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

    /// Returns the treatment of sequence ids.
    pub fn sequences(&self) -> Sequences {
        self.sequences
    }

    /// The flags of the last OK or EOF.
    pub fn status(&self) -> StatusFlags {
        self.status
    }

    /// The oldest command whose reply is not complete.
    pub fn command(&self) -> Option<Command> {
        self.pending.front().map(|pending| pending.command)
    }

    /// Whether the connection is known to stand between two exchanges.
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

    /// Whether the client has sent COM_QUIT.
    pub fn has_quit(&self) -> bool {
        self.quit
    }

    /// Whether the tracker takes the client's next bytes: false while enough commands are in flight.
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
    pub fn has_reply_started(&self) -> bool {
        self.reply.is_some()
    }

    /// The sequence id for an ERR packet to the client; none while a payload of a reply passes, or
    /// after the tracker has given up.
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

    /// The backend's next bytes go to the client in a compressed frame with this number. A packet
    /// that begins there gets the same number ([`Sequences::Renumbered`]).
    pub fn align(&mut self, frame_sequence: u8) {
        self.aligned = self.backend.is_between_payloads().then_some(frame_sequence);
    }
}
