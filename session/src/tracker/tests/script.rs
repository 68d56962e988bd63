//! A script of client and backend packets, and the tracker's events for any pieces of it.

use wire::write::{put_lenenc, put_packets};
use wire::{Capabilities, Command, StatusFlags};

use super::*;
use crate::reply::Outcome;

pub const EOF_KEPT: Capabilities = Capabilities::PROTOCOL_41;
pub const AUTOCOMMIT: u16 = 2;
pub const LIMIT: u64 = 1 << 30;

/// One side's bytes, in the order of the script. A turn may hold several packets.
#[derive(Debug, Clone)]
pub enum Turn {
    Client(Vec<u8>),
    Backend(Vec<u8>),
}

/// Builds the turns of one connection.
pub struct Script {
    capabilities: Capabilities,
    turns: Vec<Turn>,
    sequence: u8,
}

impl Script {
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            turns: Vec::new(),
            sequence: 0,
        }
    }

    pub fn command(mut self, payload: &[u8]) -> Self {
        self.sequence = 0;
        self.client(payload)
    }

    pub fn client(mut self, payload: &[u8]) -> Self {
        let mut bytes = Vec::new();
        self.sequence = put_packets(&mut bytes, self.sequence, payload);
        self.turns.push(Turn::Client(bytes));
        self
    }

    pub fn backend(mut self, payload: &[u8]) -> Self {
        let mut bytes = Vec::new();
        self.sequence = put_packets(&mut bytes, self.sequence, payload);
        self.turns.push(Turn::Backend(bytes));
        self
    }

    pub fn ok(self, status: u16) -> Self {
        let [a, b] = status.to_le_bytes();
        self.backend(&[0, 0, 0, a, b, 0, 0])
    }

    pub fn err(self, number: u16) -> Self {
        let mut payload = vec![0xff];
        payload.extend_from_slice(&number.to_le_bytes());
        payload.extend_from_slice(b"#42000no");
        self.backend(&payload)
    }

    /// Adds the EOF after the rows, or the OK in its place.
    pub fn terminator(self, status: u16) -> Self {
        let [a, b] = status.to_le_bytes();
        match self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            true => self.backend(&[0xfe, 0, 0, a, b, 0, 0]),
            false => self.backend(&[0xfe, 0, 0, a, b]),
        }
    }

    /// Adds the EOF after the definitions, if the capabilities have one.
    pub fn definitions_end(self, status: u16) -> Self {
        match self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            true => self,
            false => self.terminator(status),
        }
    }

    pub fn definition(self) -> Self {
        self.backend(b"\x03def\x04demo\x01t\x01t\x01c\x01c\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0")
    }

    pub fn count(self, columns: u64) -> Self {
        let mut payload = Vec::new();
        put_lenenc(&mut payload, columns);
        self.backend(&payload)
    }

    pub fn result_set(self, rows: usize, status: u16) -> Self {
        let mut script = self
            .count(2)
            .definition()
            .definition()
            .definitions_end(AUTOCOMMIT);
        for row in 0..rows {
            script = script.backend(&vec![b'x'; row * 7 % 300 + 1]);
        }
        script.terminator(status)
    }

    pub fn prepared(self, parameters: u16, columns: u16) -> Self {
        let mut payload = vec![0, 1, 0, 0, 0];
        payload.extend_from_slice(&columns.to_le_bytes());
        payload.extend_from_slice(&parameters.to_le_bytes());
        payload.extend_from_slice(&[0, 0, 0]);
        let mut script = self.backend(&payload);
        for count in [parameters, columns].into_iter().filter(|count| *count > 0) {
            for _ in 0..count {
                script = script.definition();
            }
            script = script.definitions_end(AUTOCOMMIT);
        }
        script
    }

    pub fn tracker(&self) -> Tracker {
        Tracker::new(
            self.capabilities,
            StatusFlags(AUTOCOMMIT),
            Sequences::Checked,
            Pipelining::Deep,
            LIMIT,
        )
    }

    /// Plays all turns, each cut into pieces of at most `piece` bytes.
    pub fn play(&self, piece: usize) -> (Tracker, Vec<Event>) {
        let mut tracker = self.tracker();
        let mut events = Vec::new();
        for turn in &self.turns {
            let (Turn::Client(bytes) | Turn::Backend(bytes)) = turn;
            for part in bytes.chunks(piece) {
                let mut part = part.to_vec();
                let emit = |event| events.push(event);
                match turn {
                    Turn::Client(_) => {
                        assert_eq!(tracker.client_bytes(&mut part, emit), Ok(part.len()));
                    }
                    Turn::Backend(_) => tracker.backend_bytes(&mut part, emit).unwrap(),
                }
            }
        }
        (tracker, events)
    }

    /// Asserts that the script ends idle with the same events for all pieces; returns how the exchanges ended.
    pub fn ends_idle(&self) -> Vec<(Command, Outcome)> {
        let (tracker, events) = self.play(usize::MAX);
        assert!(tracker.is_idle(), "{events:?}");
        for piece in [1, 2, 3, 5, 24, 25, 29, 64] {
            assert_eq!(self.play(piece).1, events, "in pieces of {piece}");
        }
        let ends = events.iter().filter_map(|event| match event {
            Event::ReplyEnded { command, outcome } => Some((*command, *outcome)),
            _ => None,
        });
        ends.collect()
    }
}

pub fn both() -> [Script; 2] {
    [
        Script::new(EOF_KEPT | Capabilities::LOCAL_FILES),
        Script::new(Capabilities::DEPRECATE_EOF | Capabilities::LOCAL_FILES),
    ]
}
