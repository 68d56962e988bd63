//! A reply that a script hears: where it goes, and what came of it.

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
    /// To the client, its first packet with this sequence id.
    Client {
        /// The sequence id of the first packet.
        sequence: u8,
    },
    /// Kept up to so many bytes, with sequence ids as if it were sent; what is beyond is thrown away.
    Script {
        /// The sequence id of the first packet.
        sequence: u8,
        /// How many bytes are kept.
        bytes_max: usize,
        /// What becomes of reports of progress.
        reports: Reports,
    },
    /// Nobody wants it.
    Nobody,
}

/// What becomes of the reports of progress that come before a reply that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reports {
    /// The client has them at once.
    Pass,
    /// They are kept as well. Scripts are not shown them.
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
    /// What was counted in it.
    pub tally: Tally,
    /// What was kept, packets with headers.
    pub kept: Vec<u8>,
    /// It was longer than what may be kept.
    pub is_cut: bool,
    /// How many reports of progress the client has had of what is kept; as ids count, which they take.
    pub reports: u8,
    /// Whether there is a reply to such a command at all.
    pub is_reply: bool,
    /// The client has had it although the script wants it: a dialogue, or the reply to a file.
    pub has_passed: bool,
    /// Of a statement that has been prepared: its id, and how many parameters it has.
    pub prepared: Option<(u32, u16)>,
    /// When the first packet came, in microseconds of the script's clock.
    pub first_at: f64,
    /// When the last packet came, in the same unit.
    pub last_at: f64,
}

impl ObservedReply {
    /// Of a command that has no reply.
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

    /// The process keeps as much as it may: the reply is cut.
    pub fn give_up(&mut self, memory: &MemoryShare) {
        self.is_cut = true;
        self.kept = Vec::new();
        memory.keep(Purpose::Reply, 0);
        memory.count_refused();
    }

    /// Takes the reports of progress that stand in front of what is kept, for the client. Their ids begin with
    /// the `next` one where they are somebody else's to choose.
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

/// Packets that were kept, with ids that begin with `next`.
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

/// The length of the report with which packets begin; `None` while none is whole.
fn report_length(packets: &[u8]) -> Option<usize> {
    let (header, rest) = packets.split_first_chunk::<HEADER_BYTES>()?;
    let header = Header::decode(*header);
    let payload = rest.get(..header.length)?;
    let is_report = is_progress_report(payload) && !header.is_continued();
    is_report.then_some(HEADER_BYTES + payload.len())
}

/// Hears what a session says to its client, whoever says it: a connection, a lane, or the proxy itself.
pub struct ReplyObserver {
    reply: Reply,
    towards: Towards,
    heard: ObservedReply,
    scripts: Scripts,
    rewriting: Option<Rewriting>,
    preparing: Option<Preparing>,
    /// Where it is counted what is kept.
    memory: Option<Arc<MemoryShare>>,
}

/// The beginning of a reply to COM_STMT_PREPARE, until it says what has been prepared.
#[derive(Debug, Default)]
pub struct Preparing(Vec<u8>);

/// What says it: a header, and a payload of at least this much.
const PREPARE_OK_BYTES: usize = 12;

impl Preparing {
    /// Of a reply to this command.
    pub fn of(command: Command) -> Option<Self> {
        (command == Command::STMT_PREPARE).then(Self::default)
    }

    /// Takes some of it.
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
    /// For the reply to a command; `None` where there is none.
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

    /// What it keeps is counted there. Without room the reply is cut, as one that is too long.
    pub fn counted_in(self, memory: &Arc<MemoryShare>) -> Self {
        Self {
            memory: Some(Arc::clone(memory)),
            ..self
        }
    }

    /// The rows that go to the client are rewritten.
    pub fn rewriting(self, rewriting: Option<Rewriting>) -> Self {
        Self { rewriting, ..self }
    }

    /// The id of the next packet for a client whose rows are rewritten.
    pub fn next_sequence(&self) -> Option<u8> {
        self.rewriting.as_ref()?.next_sequence()
    }

    /// Bytes that are for the client. What is returned it gets, with ids that begin with the `next` one
    /// where they are somebody else's to choose.
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

    /// The client is to be asked for its file: from here on it gets the reply, as does what was kept.
    pub fn let_go(&mut self) -> Vec<u8> {
        let sequence = self.towards.sequence();
        self.heard.has_passed |= !self.towards.is_client();
        self.towards = Towards::Client { sequence };
        std::mem::take(&mut self.heard.kept)
    }

    /// The client has sent its file; the reply goes on with this id.
    pub fn file_ended(&mut self, next: u8) {
        self.reply.file_ended(next);
        if let Some(rewriting) = &mut self.rewriting {
            rewriting.align(next);
        }
    }

    /// What was heard. A reply that has not ended is none.
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

    /// Whether the client has had some of it.
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
