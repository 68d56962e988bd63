//! A reply that a script hears: where it goes, and what came of it.

use script::Scripts;
use session::{Outcome, Piece, Progress, Reply, Sequences, Tally};
use wire::statement::PrepareOk;
use wire::{Capabilities, Command, HEADER_BYTES};

use super::rewriting::Rewriting;

/// Where a reply goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Towards {
    /// To the client, its first packet with this sequence id.
    Client { sequence: u8 },
    /// Kept up to so many bytes, with sequence ids as if it were sent; what is beyond is thrown away.
    Script { sequence: u8, bytes_max: usize },
    /// Nobody wants it.
    Nobody,
}

impl Towards {
    pub(crate) fn is_client(self) -> bool {
        matches!(self, Self::Client { .. })
    }

    pub(crate) fn sequence(self) -> u8 {
        match self {
            Self::Client { sequence } | Self::Script { sequence, .. } => sequence,
            Self::Nobody => 1,
        }
    }
}

/// A reply that has ended.
#[derive(Debug)]
pub(crate) struct Heard {
    pub outcome: Outcome,
    pub tally: Tally,
    /// What was kept, packets with headers.
    pub kept: Vec<u8>,
    /// It was longer than what may be kept.
    pub is_cut: bool,
    /// Whether there is a reply to such a command at all.
    pub is_reply: bool,
    /// The client has had it although the script wants it: a dialogue, or the reply to a file.
    pub has_passed: bool,
    /// Of a statement that has been prepared: its id, and how many parameters it has.
    pub prepared: Option<(u32, u16)>,
    /// When the first packet came and the last, in microseconds of the script's clock.
    pub first_at: f64,
    pub last_at: f64,
}

impl Heard {
    pub(crate) fn nothing() -> Self {
        Self {
            outcome: Outcome::Ok,
            tally: Tally::default(),
            kept: Vec::new(),
            is_cut: false,
            is_reply: false,
            has_passed: false,
            prepared: None,
            first_at: 0.0,
            last_at: 0.0,
        }
    }

    /// Keeps a piece of the reply, up to a limit.
    pub(crate) fn keep(&mut self, bytes: &[u8], bytes_max: usize) {
        self.is_cut |= self.kept.len() + bytes.len() > bytes_max;
        match self.is_cut {
            true => self.kept = Vec::new(),
            false => self.kept.extend_from_slice(bytes),
        }
    }
}

/// Hears what a session says to its client, whoever says it: a connection, a lane, or the proxy itself.
pub(crate) struct Ear {
    reply: Reply,
    towards: Towards,
    heard: Heard,
    scripts: Scripts,
    rewriting: Option<Rewriting>,
    preparing: Option<Preparing>,
}

/// The beginning of a reply to COM_STMT_PREPARE, until it says what has been prepared.
#[derive(Debug, Default)]
pub(crate) struct Preparing(Vec<u8>);

/// What says it: a header, and a payload of at least this much.
const PREPARE_OK_BYTES: usize = 12;

impl Preparing {
    /// Of a reply to this command.
    pub(crate) fn of(command: Command) -> Option<Self> {
        (command == Command::STMT_PREPARE).then(Self::default)
    }

    /// Takes some of it.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Option<(u32, u16)> {
        let room = HEADER_BYTES + PREPARE_OK_BYTES;
        let left = room.saturating_sub(self.0.len());
        self.0.extend_from_slice(&bytes[..left.min(bytes.len())]);
        let payload = self.0.get(HEADER_BYTES..room)?;
        let ok = PrepareOk::decode(payload).ok()?;
        Some((ok.statement_id, ok.parameters))
    }
}

impl Ear {
    /// For the reply to a command; `None` where there is none.
    pub(crate) fn to(
        command: Command,
        capabilities: Capabilities,
        towards: Towards,
        scripts: &Scripts,
    ) -> Option<Self> {
        let ids = Sequences::Renumbered;
        Some(Self {
            reply: Reply::to(command, capabilities, ids, towards.sequence())?,
            towards,
            heard: Heard {
                is_reply: true,
                ..Heard::nothing()
            },
            scripts: scripts.clone(),
            rewriting: None,
            preparing: Preparing::of(command),
        })
    }

    /// The rows that go to the client are rewritten.
    pub(crate) fn rewriting(self, rewriting: Option<Rewriting>) -> Self {
        Self { rewriting, ..self }
    }

    /// The id of the next packet for a client whose rows are rewritten.
    pub(crate) fn next_sequence(&self) -> Option<u8> {
        self.rewriting.as_ref()?.next_sequence()
    }

    /// Bytes that are for the client. What is returned it gets, with ids that begin with the `next` one
    /// where they are somebody else's to choose.
    pub(crate) fn hears(&mut self, bytes: &[u8], next: Option<u8>) -> Option<Vec<u8>> {
        if self.heard.first_at == 0.0 {
            self.heard.first_at = self.scripts.now();
        }
        if let (Towards::Client { .. }, Some(next)) = (self.towards, next) {
            self.reply.align(next);
            if let Some(rewriting) = &mut self.rewriting {
                rewriting.align(next);
            }
        }
        let mut bytes = bytes.to_vec();
        let mut passed = Vec::with_capacity(bytes.len());
        let fed = self.reply.feed(&mut bytes, |piece| {
            let (Piece::Pass(bytes) | Piece::Changes(bytes, _)) = piece;
            passed.extend_from_slice(bytes);
        });
        if let Err(violation) = fed {
            tracing::error!(%violation, "a script cannot hear a reply to the end");
        }
        if let Some(preparing) = &mut self.preparing {
            self.heard.prepared = preparing.feed(&passed);
        }
        match (self.towards, &mut self.rewriting) {
            (Towards::Client { .. }, Some(rewriting)) => Some(rewriting.feed(&passed)),
            (Towards::Client { .. }, None) => Some(passed),
            (Towards::Script { bytes_max, .. }, _) => {
                self.heard.keep(&passed, bytes_max);
                None
            }
            (Towards::Nobody, _) => None,
        }
    }

    /// The client is to be asked for its file: from here on it gets the reply, as does what was kept.
    pub(crate) fn let_go(&mut self) -> Vec<u8> {
        let sequence = self.towards.sequence();
        self.heard.has_passed |= !self.towards.is_client();
        self.towards = Towards::Client { sequence };
        std::mem::take(&mut self.heard.kept)
    }

    /// The client has sent its file; the reply goes on with this id.
    pub(crate) fn file_ended(&mut self, next: u8) {
        self.reply.file_ended(next);
        if let Some(rewriting) = &mut self.rewriting {
            rewriting.align(next);
        }
    }

    /// What was heard. A reply that has not ended is none.
    pub(crate) fn ended(self) -> Heard {
        Heard {
            outcome: match self.reply.progress() {
                Progress::Over(outcome) => outcome,
                Progress::More | Progress::File { .. } => Outcome::Err(0),
            },
            tally: *self.reply.tally(),
            last_at: self.scripts.now(),
            ..self.heard
        }
    }

    /// Whether the client has had some of it.
    pub(crate) fn has_passed(&self) -> bool {
        matches!(self.towards, Towards::Client { .. }) && self.reply.has_begun()
    }
}
