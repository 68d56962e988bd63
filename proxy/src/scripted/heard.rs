//! A reply that a script hears: where it goes, and what came of it.

use script::Scripts;
use session::{Outcome, Piece, Progress, Reply, Sequences, Tally};
use wire::{Capabilities, Command};

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
        })
    }

    /// Bytes that are for the client. What is returned it gets, with ids that begin with the `next` one
    /// where they are somebody else's to choose.
    pub(crate) fn hears(&mut self, bytes: &[u8], next: Option<u8>) -> Option<Vec<u8>> {
        if self.heard.first_at == 0.0 {
            self.heard.first_at = self.scripts.now();
        }
        if let (Towards::Client { .. }, Some(next)) = (self.towards, next) {
            self.reply.align(next);
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
        match self.towards {
            Towards::Client { .. } => Some(passed),
            Towards::Script { bytes_max, .. } => {
                self.heard.keep(&passed, bytes_max);
                None
            }
            Towards::Nobody => None,
        }
    }

    /// The client is to be asked for its file: from here on it gets the reply, as does what was kept.
    pub(crate) fn let_go(&mut self) -> Vec<u8> {
        let sequence = self.towards.sequence();
        self.towards = Towards::Client { sequence };
        std::mem::take(&mut self.heard.kept)
    }

    /// The client has sent its file; the reply goes on with this id.
    pub(crate) fn file_ended(&mut self, next: u8) {
        self.reply.file_ended(next);
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
