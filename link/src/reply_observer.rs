//! A reply that a script observes: where the reply goes, and how it ended.

use std::sync::Arc;

use script::Scripts;
use session::{Outcome, Piece, Progress, Reply, Sequences, Tally};
use wire::reply::is_progress_report;
use wire::statement::PrepareOk;
use wire::{Capabilities, Command, HEADER_BYTES, Header};

use crate::memory::{MemoryShare, Purpose};
use crate::row_rewriting::Rewriting;

/// Where a reply goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Towards {
    /// To the client; the first packet has this sequence id.
    Client {
        /// The sequence id of the first packet.
        sequence: u8,
    },
    /// To the script: the reply is kept up to a limit, with the sequence ids that it would have for the client. Bytes
    /// beyond the limit are dropped.
    Script {
        /// The sequence id of the first packet.
        sequence: u8,
        /// The maximum number of bytes that are kept.
        bytes_max: usize,
        /// The treatment of progress reports.
        reports: Reports,
    },
    /// The reply is dropped.
    Nobody,
}

/// The treatment of the progress reports that come before a reply that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reports {
    /// The client gets them at once.
    Pass,
    /// They are kept too. Scripts do not see them.
    Stay,
}

impl Towards {
    /// Whether the client gets the reply.
    pub fn is_client(self) -> bool {
        matches!(self, Self::Client { .. })
    }

    /// The sequence id of the first packet.
    pub fn sequence(self) -> u8 {
        match self {
            Self::Client { sequence } | Self::Script { sequence, .. } => sequence,
            Self::Nobody => 1,
        }
    }
}

/// A reply that has ended.
#[derive(Debug)]
pub struct ObservedReply {
    /// Whether it was an ERR.
    pub outcome: Outcome,
    /// The counts and flags of the reply.
    pub tally: Tally,
    /// The bytes that were kept, packets with headers.
    pub kept: Vec<u8>,
    /// Whether the reply was longer than the limit.
    pub is_cut: bool,
    /// The number of kept progress reports that the client has received. Each report takes a sequence id.
    pub reports: u8,
    /// Whether the command has a reply at all.
    pub is_reply: bool,
    /// Whether the client has received the reply although the script wants it: a login dialogue, or the reply after a
    /// file.
    pub has_passed: bool,
    /// The id of the statement that was prepared, and the number of its parameters.
    pub prepared: Option<(u32, u16)>,
    /// When the first packet arrived, in microseconds of the script's clock.
    pub first_at: f64,
    /// When the last packet arrived, in microseconds of the script's clock.
    pub last_at: f64,
}

impl ObservedReply {
    /// The reply to a command that has none.
    pub fn nothing() -> Self {
        Self {
            outcome: Outcome::Ok,
            tally: Tally::default(),
            kept: Vec::new(),
            is_cut: false,
            reports: 0,
            is_reply: false,
            has_passed: false,
            prepared: None,
            first_at: 0.0,
            last_at: 0.0,
        }
    }

    /// Keeps a piece of the reply, up to a limit.
    pub fn keep(&mut self, bytes: &[u8], bytes_max: usize) {
        self.is_cut |= self.kept.len() + bytes.len() > bytes_max;
        match self.is_cut {
            true => self.kept = Vec::new(),
            false => self.kept.extend_from_slice(bytes),
        }
    }

    /// Drops the kept bytes, because the process keeps as much as it may. The reply then counts as cut.
    pub fn give_up(&mut self, memory: &MemoryShare) {
        self.is_cut = true;
        self.kept = Vec::new();
        memory.keep(Purpose::Reply, 0);
        memory.count_refused();
    }

    /// Takes the progress reports that precede the kept bytes, for the client. Their sequence ids
    /// begin with `next`, if given: in compressed frames the number of the frame decides them.
    pub fn take_reports(&mut self, next: Option<u8>) -> Option<Vec<u8>> {
        let (mut end, mut count) = (0, 0_u8);
        while let Some(length) = report_length(&self.kept[end..]) {
            if let Some(next) = next {
                self.kept[end + HEADER_BYTES - 1] = next.wrapping_add(count);
            }
            count = count.wrapping_add(1);
            end += length;
        }
        self.reports = self.reports.wrapping_add(count);
        (end > 0).then(|| self.kept.drain(..end).collect())
    }
}

/// Returns packets with new sequence ids, which begin with `next`.
pub fn renumbered(mut packets: Vec<u8>, mut next: u8) -> Vec<u8> {
    let mut at = 0;
    while let Some(header) = packets
        .get_mut(at..)
        .and_then(<[u8]>::first_chunk_mut::<HEADER_BYTES>)
        && header[HEADER_BYTES - 1] != next
    {
        header[HEADER_BYTES - 1] = next;
        at += HEADER_BYTES + Header::decode(*header).length;
        next = next.wrapping_add(1);
    }
    packets
}

/// Returns the length of the progress report at the beginning; `None` if there is none, or if it is not whole.
fn report_length(packets: &[u8]) -> Option<usize> {
    let (header, rest) = packets.split_first_chunk::<HEADER_BYTES>()?;
    let header = Header::decode(*header);
    let payload = rest.get(..header.length)?;
    let is_report = is_progress_report(payload) && !header.is_continued();
    is_report.then_some(HEADER_BYTES + payload.len())
}

/// Observes everything that a session sends to its client, whether it comes from a connection, a lane or the proxy
/// itself.
pub struct ReplyObserver {
    reply: Reply,
    towards: Towards,
    heard: ObservedReply,
    scripts: Scripts,
    rewriting: Option<Rewriting>,
    preparing: Option<Preparing>,
    /// The share that counts the kept bytes.
    memory: Option<Arc<MemoryShare>>,
}

/// The first bytes of a reply to COM_STMT_PREPARE, until they tell what was prepared.
#[derive(Debug, Default)]
pub struct Preparing(Vec<u8>);

/// The number of payload bytes of the first packet that are needed for that.
const PREPARE_OK_BYTES: usize = 12;

impl Preparing {
    /// Returns a value for a reply to this command, if it is COM_STMT_PREPARE.
    pub fn of(command: Command) -> Option<Self> {
        (command == Command::STMT_PREPARE).then(Self::default)
    }

    /// Adds bytes of the reply. Returns the statement's id and the number of its parameters as soon as they are known.
    pub fn feed(&mut self, bytes: &[u8]) -> Option<(u32, u16)> {
        let room = HEADER_BYTES + PREPARE_OK_BYTES;
        let left = room.saturating_sub(self.0.len());
        self.0.extend_from_slice(&bytes[..left.min(bytes.len())]);
        let payload = self.0.get(HEADER_BYTES..room)?;
        let ok = PrepareOk::decode(payload).ok()?;
        Some((ok.statement_id, ok.parameters))
    }
}

impl ReplyObserver {
    /// Returns an observer for the reply to a command; `None` if the command has no reply.
    pub fn to(
        command: Command,
        capabilities: Capabilities,
        towards: Towards,
        scripts: &Scripts,
    ) -> Option<Self> {
        let ids = Sequences::Renumbered;
        Some(Self {
            reply: Reply::to(command, capabilities, ids, towards.sequence())?,
            towards,
            heard: ObservedReply {
                is_reply: true,
                ..ObservedReply::nothing()
            },
            scripts: scripts.clone(),
            rewriting: None,
            preparing: Preparing::of(command),
            memory: None,
        })
    }

    /// Counts the kept bytes in `memory`. If there is no room, the reply is cut like one that is too long.
    pub fn counted_in(self, memory: &Arc<MemoryShare>) -> Self {
        Self {
            memory: Some(Arc::clone(memory)),
            ..self
        }
    }

    /// Sets how the rows for the client are rewritten.
    pub fn rewriting(self, rewriting: Option<Rewriting>) -> Self {
        Self { rewriting, ..self }
    }

    /// Returns the next sequence id for a client whose rows are rewritten.
    pub fn next_sequence(&self) -> Option<u8> {
        self.rewriting.as_ref()?.next_sequence()
    }

    /// Observes bytes for the client. Returns the bytes that the client gets. Their sequence ids
    /// begin with `next`, if given: in compressed frames the number of the frame decides them.
    pub fn observe(&mut self, bytes: &[u8], next: Option<u8>) -> Option<Vec<u8>> {
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
            tracing::error!(%violation, "a backend's reply breaks the protocol; the script gets only the part before");
        }
        if let Some(preparing) = &mut self.preparing {
            self.heard.prepared = preparing.feed(&passed);
        }
        match (self.towards, &mut self.rewriting) {
            (Towards::Client { .. }, Some(rewriting)) => Some(rewriting.feed(&passed)),
            (Towards::Client { .. }, None) => Some(passed),
            (
                Towards::Script {
                    bytes_max, reports, ..
                },
                _,
            ) => {
                self.heard.keep(&passed, bytes_max);
                if let Some(memory) = &self.memory
                    && !memory.keep(Purpose::Reply, self.heard.kept.capacity())
                {
                    self.heard.give_up(memory);
                }
                match reports {
                    Reports::Pass => self.heard.take_reports(next),
                    Reports::Stay => None,
                }
            }
            (Towards::Nobody, _) => None,
        }
    }

    /// Lets the reply go to the client, with the bytes kept so far: the server is about to ask the client for a file.
    pub fn let_go(&mut self) -> Vec<u8> {
        let sequence = self.towards.sequence();
        self.heard.has_passed |= !self.towards.is_client();
        self.towards = Towards::Client { sequence };
        std::mem::take(&mut self.heard.kept)
    }

    /// Notes that the client has sent its file. The reply continues with this sequence id.
    pub fn file_ended(&mut self, next: u8) {
        self.reply.file_ended(next);
        if let Some(rewriting) = &mut self.rewriting {
            rewriting.align(next);
        }
    }

    /// Returns the observed reply. A reply that has not ended counts as an error.
    pub fn ended(self) -> ObservedReply {
        ObservedReply {
            outcome: match self.reply.progress() {
                Progress::Over(outcome) => outcome,
                Progress::More | Progress::File { .. } => Outcome::Err(0),
            },
            tally: *self.reply.tally(),
            last_at: self.scripts.now(),
            ..self.heard
        }
    }

    /// Whether the client has received a part of the reply.
    pub fn has_passed(&self) -> bool {
        matches!(self.towards, Towards::Client { .. }) && self.reply.has_started()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &[u8] = b"\x04\0\0\x01\xff\xff\xff\x01";

    fn kept(packets: &[&[u8]]) -> ObservedReply {
        ObservedReply {
            kept: packets.concat(),
            ..ObservedReply::nothing()
        }
    }

    #[test]
    fn removing_reports_leaves_the_other_bytes() {
        let ok = b"\x03\0\0\x03\0\0\0";
        let mut heard = kept(&[REPORT, REPORT, ok]);
        let numbered = [
            &REPORT[..3],
            &[9],
            &REPORT[4..],
            &REPORT[..3],
            &[10],
            &REPORT[4..],
        ];
        assert_eq!(heard.take_reports(Some(9)), Some(numbered.concat()));
        assert_eq!((heard.reports, &*heard.kept), (2, &ok[..]));
        assert_eq!(heard.take_reports(None), None);
    }

    #[test]
    fn packets_are_numbered_anew() {
        let packets = b"\x01\0\0\x01a\0\0\0\x02\x02\0\0\x03bc".to_vec();
        let numbered = b"\x01\0\0\xffa\0\0\0\0\x02\0\0\x01bc";
        assert_eq!(renumbered(packets.clone(), 255), numbered);
        assert_eq!(renumbered(packets.clone(), 1), packets);
        assert_eq!(renumbered(b"\x09\0\0\x01a".to_vec(), 2), b"\x09\0\0\x02a");
    }

    #[test]
    fn an_incomplete_report_is_not_removed() {
        let behind_rows = [b"\x01\0\0\x01\x01", REPORT].concat();
        for packets in [
            &REPORT[..REPORT.len() - 1],
            &REPORT[..2],
            b"",
            b"\x03\0\0\x01\xff\xff\xfe",
            b"\xff\xff\xff\x01\xff\xff\xff",
            &behind_rows,
        ] {
            let mut heard = kept(&[packets]);
            assert_eq!(heard.take_reports(None), None);
            assert_eq!((heard.reports, &*heard.kept), (0, packets));
        }
    }
}
