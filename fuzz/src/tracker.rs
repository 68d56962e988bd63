//! The tracker gives the same events for every way to cut the bytes, and the events are consistent.
//!
//! ```text
//! framing:   capabilities:8 mode:1 piece:1 ( side and length:2 bytes )*
//! tracking:  capabilities:8 mode:1 piece:1 ( kind:1 length or number:2 bytes )*
//! ```

use std::collections::VecDeque;

use session::{Event, Pipelining, Sequences, Tracker, Violation};
use wire::write::{put_lenenc, put_packets};
use wire::{Capabilities, Command, StatusFlags};

use crate::input::Input;

/// The bytes that one side sends at once.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    Client(Vec<u8>),
    Backend(Vec<u8>),
}

/// In framing, the bit of a turn's length that marks a turn of the backend.
pub(crate) const OF_BACKEND: u16 = 0x8000;

/// In tracking, the kind of a packet.
pub(crate) mod kind {
    /// A command of the client, with unchanged bytes.
    pub(crate) const COMMAND: u8 = 0;
    /// A later packet of the client, with unchanged bytes.
    pub(crate) const CLIENT: u8 = 1;
    /// A later packet of the backend, with unchanged bytes.
    pub(crate) const BACKEND: u8 = 2;
    /// The first packet of a reply, with unchanged bytes.
    pub(crate) const REPLY: u8 = 3;
    /// OK with these flags.
    pub(crate) const OK: u8 = 4;
    /// The end of rows or definitions, with these flags.
    pub(crate) const TERMINATOR: u8 = 5;
    /// An error of this number.
    pub(crate) const ERROR: u8 = 6;
    /// A result with this many columns.
    pub(crate) const COLUMNS: u8 = 7;
}

/// Input: any bytes of either side, in any pieces.
pub fn framing(data: &[u8]) {
    let mut input = Input::new(data);
    let settings = Settings::read(&mut input);
    let mut turns = Vec::new();
    while !input.is_empty() {
        let head = input.u16();
        let bytes = input.bytes(usize::from(head & !OF_BACKEND)).to_vec();
        turns.push(match head & OF_BACKEND {
            0 => Turn::Client(bytes),
            _ => Turn::Backend(bytes),
        });
    }
    settings.compare(&turns);
}

/// Input: packets with correct headers, some of them as a server would send them.
pub fn tracking(data: &[u8]) {
    let mut input = Input::new(data);
    let settings = Settings::read(&mut input);
    let mut turns = Vec::new();
    let mut sequence = 0;
    while !input.is_empty() {
        let kind = input.u8() % 8;
        let number = input.u16();
        let payload = match kind {
            kind::OK => ok(0, number),
            kind::TERMINATOR => settings.terminator(number),
            kind::ERROR => [&[0xff][..], &number.to_le_bytes(), b"#HY000no"].concat(),
            kind::COLUMNS => settings.columns(number),
            _ => input.bytes(usize::from(number)).to_vec(),
        };
        match kind {
            kind::COMMAND => sequence = 0,
            kind::REPLY => sequence = 1,
            _ => {}
        }
        let mut bytes = Vec::new();
        sequence = put_packets(&mut bytes, sequence, &payload);
        turns.push(match kind {
            kind::COMMAND | kind::CLIENT => Turn::Client(bytes),
            _ => Turn::Backend(bytes),
        });
    }
    settings.compare(&turns);
}

fn ok(first: u8, status: u16) -> Vec<u8> {
    let [low, high] = status.to_le_bytes();
    vec![first, 0, 0, low, high, 0, 0]
}

struct Settings {
    capabilities: Capabilities,
    sequences: Sequences,
    pipelining: Pipelining,
    /// How long pieces are, in bytes.
    piece: usize,
}

/// The outcome of a conversation.
#[derive(Debug, PartialEq)]
struct Account {
    events: Vec<Event>,
    /// The tracker's state at the end. After a violation only the violation counts.
    end: Result<Standing, Violation>,
}

#[derive(Debug, PartialEq)]
struct Standing {
    status: StatusFlags,
    is_idle: bool,
    error_sequence: Option<u8>,
}

impl Settings {
    fn read(input: &mut Input<'_>) -> Self {
        let capabilities = Capabilities(input.u64());
        let mode = input.u8();
        Self {
            capabilities,
            sequences: match mode & 1 {
                0 => Sequences::Checked,
                _ => Sequences::Renumbered,
            },
            pipelining: match mode & 2 {
                0 => Pipelining::Deep,
                _ => Pipelining::OneByOne,
            },
            piece: usize::from(input.u8()).max(1),
        }
    }

    fn terminator(&self, status: u16) -> Vec<u8> {
        let [low, high] = status.to_le_bytes();
        match self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            true => ok(0xfe, status),
            false => vec![0xfe, 0, 0, low, high],
        }
    }

    fn columns(&self, number: u16) -> Vec<u8> {
        let mut payload = Vec::new();
        put_lenenc(&mut payload, u64::from(number >> 2));
        if number & 1 != 0 {
            payload.push((number >> 1) as u8 & 1);
        }
        payload
    }

    fn compare(&self, turns: &[Turn]) {
        let whole = self.follow(turns, usize::MAX);
        check(&whole);
        assert_eq!(
            whole,
            self.follow(turns, self.piece),
            "whole, and in pieces"
        );
    }

    fn follow(&self, turns: &[Turn], piece: usize) -> Account {
        let mut tracker = Tracker::new(
            self.capabilities,
            StatusFlags::AUTOCOMMIT,
            self.sequences,
            self.pipelining,
            1 << 20,
        );
        let mut events = Vec::new();
        let mut waiting = Vec::new();
        let outcome = turns.iter().try_for_each(|turn| {
            match turn {
                Turn::Client(bytes) => waiting.extend_from_slice(bytes),
                Turn::Backend(bytes) => bytes
                    .chunks(piece)
                    .try_for_each(|part| self.pass(&mut tracker, part, &mut events))?,
            }
            self.offer(&mut tracker, &mut waiting, piece, &mut events)
        });
        Account {
            events,
            end: outcome.map(|()| Standing {
                status: tracker.status(),
                is_idle: tracker.is_idle(),
                error_sequence: tracker.error_sequence(),
            }),
        }
    }

    /// Offers the client's bytes until none are taken.
    fn offer(
        &self,
        tracker: &mut Tracker,
        waiting: &mut Vec<u8>,
        piece: usize,
        events: &mut Vec<Event>,
    ) -> Result<(), Violation> {
        while !waiting.is_empty() && tracker.wants_client() {
            let mut part = waiting[..piece.min(waiting.len())].to_vec();
            let taken = tracker.client_bytes(&mut part, |event| events.push(event))?;
            assert!(taken > 0, "wanted, and not taken");
            self.assert_untouched(&part, waiting);
            waiting.drain(..taken);
        }
        Ok(())
    }

    fn pass(
        &self,
        tracker: &mut Tracker,
        part: &[u8],
        events: &mut Vec<Event>,
    ) -> Result<(), Violation> {
        let mut passed = part.to_vec();
        tracker.backend_bytes(&mut passed, |event| events.push(event))?;
        self.assert_untouched(&passed, part);
        Ok(())
    }

    fn assert_untouched(&self, passed: &[u8], before: &[u8]) {
        if self.sequences == Sequences::Checked {
            assert!(before.starts_with(passed), "bytes pass unchanged");
        }
    }
}

/// Checks that replies end in the order of their commands, and that no event follows [`Event::Lost`].
fn check(account: &Account) {
    let mut begun = VecDeque::new();
    let mut lost = false;
    for event in &account.events {
        assert!(!lost, "{event:?} after the tracker gave up");
        match event {
            Event::CommandBegun(command) => begun.push_back(*command),
            Event::ReplyEnded { command, .. } => {
                let silent = |it: &Command| it != command && SILENT.contains(it);
                while begun.front().is_some_and(silent) {
                    begun.pop_front();
                }
                assert_eq!(begun.pop_front(), Some(*command), "in order");
            }
            Event::Lost(_) => lost = true,
            Event::Unsolicited(_) => {
                assert!(begun.iter().all(|it| SILENT.contains(it)), "asked for");
            }
            _ => {}
        }
    }
    if account.end.as_ref().is_ok_and(|standing| standing.is_idle) {
        assert!(!lost);
        assert!(begun.iter().all(|it| SILENT.contains(it)), "idle");
    }
}

/// Commands without a reply.
const SILENT: [Command; 3] = [
    Command::QUIT,
    Command::STMT_CLOSE,
    Command::STMT_SEND_LONG_DATA,
];
