//! Follows one reply on a backend connection that several sessions use in turn, packet by packet. It
//! separates the bytes that pass as they are from the packets that have to be read whole.
//!
//! A [`crate::Tracker`] follows a connection that is relayed for life. A [`Reply`] lives for one
//! exchange. It ends exactly where the reply ends: the bytes behind it belong to the next reply.

mod amend;
mod amendment;
mod note;
mod packets;
mod refusal;
pub(crate) mod tally;
mod whole_result;

use system::HashKeys;
use wire::{Capabilities, Command, HEADER_BYTES, Header, Malformed, StatusFlags};

pub use amendment::Amendment;
pub use refusal::{Withholds, has_no_room, takes_no_writes};
pub use tally::Tally;

use crate::cutter::HEAD_BYTES;
use crate::fingerprint::{Fingerprint, Fingerprinting};
use crate::reply::{Outcome, ReplyState, ReplyStep, expected, may_ask_for_files};
use crate::tracker::{Sequences, Violation};

/// The proxy holds a packet up to this length until it is whole; a longer packet passes in pieces.
/// No OK packet is longer: its longest parts are values of session variables.
const WHOLE_BYTES_MAX: usize = 64 * 1024;

/// A part of a reply, in order; together they are all of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes to be passed on as they are.
    Pass(&'a [u8]),
    /// A whole OK packet, header and all, that carries session state changes; and which result it ends.
    Changes(&'a [u8], u32),
}

/// The progress of an exchange: which packets come next on the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More of the reply.
    More,
    /// The client's file, up to an empty packet, beginning with this sequence id.
    File {
        /// Of the file's first packet.
        sequence: u8,
    },
    /// Nothing: it is over.
    Over(Outcome),
}

/// One reply, followed as it arrives.
#[derive(Debug)]
pub struct Reply {
    capabilities: Capabilities,
    sequences: Sequences,
    /// The sequence id of the next packet.
    sequence: u8,
    state: ReplyState,
    /// The beginning of a packet that is not whole yet.
    held: Vec<u8>,
    payload: CurrentPayload,
    progress: Progress,
    has_started: bool,
    tally: Tally,
    amendment: Amendment,
    fingerprinting: Option<Box<Fingerprinting>>,
    /// The message of the error that ended the reply.
    message: Option<Box<[u8]>>,
    /// Which error is withheld if it is the first packet.
    withholds: Withholds,
    /// The payload of the error that was withheld.
    withheld: Option<Box<[u8]>>,
    /// Which files of the client the server may ask for.
    files: Files,
}

/// The payload that is passing.
#[derive(Debug, Default)]
struct CurrentPayload {
    /// Bytes of its current packet that pass in pieces.
    left: usize,
    /// Whether the next packet continues it.
    is_continued: bool,
    /// The step that follows at the end of the payload.
    verdict: Option<ReplyStep>,
}

/// Which files of the client the reply to a command may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Files {
    /// Any: what the command's text says is not known.
    Any,
    /// These, as the client's text names them.
    Named(Vec<Vec<u8>>),
}

impl Files {
    /// No file.
    pub const NONE: Self = Self::Named(Vec::new());

    fn contain(&self, asked: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Named(files) => files.iter().any(|file| sql::is_same_file(file, asked)),
        }
    }
}

impl Reply {
    /// Follows the reply to `command`, whose first packet has this sequence id; `None` for commands
    /// without a reply.
    #[inline]
    pub fn to(
        command: Command,
        capabilities: Capabilities,
        sequences: Sequences,
        sequence: u8,
    ) -> Option<Self> {
        Some(Self {
            capabilities,
            sequences,
            sequence,
            state: expected(command)?,
            held: Vec::new(),
            payload: CurrentPayload::default(),
            progress: Progress::More,
            has_started: false,
            tally: Tally::default(),
            amendment: Amendment::default(),
            fingerprinting: None,
            message: None,
            withholds: Withholds::Nothing,
            withheld: None,
            files: match may_ask_for_files(command) {
                true => Files::Any,
                false => Files::NONE,
            },
        })
    }

    /// Returns the reply with these changes at its end.
    #[must_use]
    #[inline]
    pub fn amended(self, amendment: Amendment) -> Self {
        Self { amendment, ..self }
    }

    /// Returns the reply, of which a fingerprint is made with these keys.
    #[must_use]
    pub fn fingerprinted(self, keys: &HashKeys) -> Self {
        Self {
            fingerprinting: Some(Box::new(Fingerprinting::new(keys))),
            ..self
        }
    }

    /// Returns the reply. If its first packet is such an error, the packet is withheld: see [`Self::withheld`].
    #[must_use]
    #[inline]
    pub fn withholding(self, withholds: Withholds) -> Self {
        Self { withholds, ..self }
    }

    /// Returns the reply. The server may ask the client for these files, and for no others.
    #[must_use]
    #[inline]
    pub fn with_files(self, files: Files) -> Self {
        match self.files {
            Files::Any => Self { files, ..self },
            Files::Named(_) => self,
        }
    }

    /// The ERR payload that was withheld. The reply has ended then, and no byte of it was handed over.
    pub fn withheld(&self) -> Option<&[u8]> {
        self.withheld.as_deref()
    }

    /// Returns the fingerprint of the bytes so far, if one is made.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprinting.as_ref().map(|it| it.finish())
    }

    /// Returns the progress of the exchange.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Returns the counts and flags of the reply so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Takes the message of the error that ended the reply. A second call returns none.
    pub fn take_message(&mut self) -> Option<Box<[u8]>> {
        self.message.take()
    }

    /// Whether any byte of the reply has arrived.
    pub fn has_started(&self) -> bool {
        self.has_started
    }

    /// The sequence id of the next packet, if another packet may be inserted before it; `None` within a packet.
    pub fn next_sequence(&self) -> Option<u8> {
        (self.payload.left == 0 && !self.payload.is_continued).then_some(self.sequence)
    }

    /// Gives the next packet this sequence id, if ids are renumbered.
    pub fn align(&mut self, sequence: u8) {
        if self.sequences == Sequences::Renumbered && self.next_sequence().is_some() {
            self.sequence = sequence;
        }
    }

    /// The client's file has been sent; the reply goes on with this id.
    pub fn file_ended(&mut self, sequence: u8) {
        self.sequence = sequence;
        self.progress = Progress::More;
    }

    /// Takes bytes of the reply; returns how many of them belong to it.
    ///
    /// # Errors
    /// Sequence ids that do not follow, packets that lack a part, replies of an unknown shape.
    pub fn feed(
        &mut self,
        bytes: &mut [u8],
        mut sink: impl FnMut(Piece<'_>),
    ) -> Result<usize, Violation> {
        if !self.has_started && self.take_whole_result(bytes) {
            self.has_started = true;
            self.tally.bytes += bytes.len() as u64;
            sink(Piece::Pass(bytes));
            return Ok(bytes.len());
        }
        self.has_started |= !bytes.is_empty();
        let mut at = match self.held.is_empty() {
            true => 0,
            false => self.complete_held(bytes, &mut sink)?,
        };
        // The start of the bytes that pass on together.
        let mut run = at;
        while self.progress == Progress::More && at < bytes.len() {
            if self.payload.left > 0 {
                at += self.pass_left(&bytes[at..])?;
                continue;
            }
            at += self.skip_whole(&bytes[at..]);
            let rest = &mut bytes[at..];
            let Some(header) = rest.first_chunk::<HEADER_BYTES>() else {
                break;
            };
            let length = Header::decode(*header).length;
            let whole = HEADER_BYTES + length;
            if rest.len() >= whole {
                match self.packet(&mut rest[..whole])? {
                    PacketAction::Pass => at += whole,
                    PacketAction::Changes => {
                        pass(&bytes[run..at], &mut sink);
                        sink(Piece::Changes(&bytes[at..at + whole], self.last_result()));
                        at += whole;
                        run = at;
                    }
                    PacketAction::Withhold => {
                        at += whole;
                        run = at;
                    }
                }
            } else if length > WHOLE_BYTES_MAX && rest.len() >= HEADER_BYTES + HEAD_BYTES {
                self.begin_pieces(rest)?;
                at = bytes.len();
            } else {
                break;
            }
        }
        pass(&bytes[run..at], &mut sink);
        if self.progress == Progress::More && at < bytes.len() {
            self.held.extend_from_slice(&bytes[at..]);
            at = bytes.len();
        }
        self.tally.bytes += at as u64;
        Ok(at)
    }

    /// Completes the packet that is held; returns how many bytes it took.
    fn complete_held(
        &mut self,
        bytes: &mut [u8],
        sink: &mut impl FnMut(Piece<'_>),
    ) -> Result<usize, Violation> {
        let mut taken = 0;
        let mut held = std::mem::take(&mut self.held);
        while held.len() < wanted(&held) {
            let more = (wanted(&held) - held.len()).min(bytes.len() - taken);
            if more == 0 {
                self.held = held;
                return Ok(taken);
            }
            held.extend_from_slice(&bytes[taken..taken + more]);
            taken += more;
        }
        let is_whole = held
            .first_chunk::<HEADER_BYTES>()
            .is_some_and(|header| HEADER_BYTES + Header::decode(*header).length == held.len());
        if !is_whole {
            self.begin_pieces(&mut held)?;
            sink(Piece::Pass(&held));
            return Ok(taken);
        }
        match self.packet(&mut held)? {
            PacketAction::Pass => sink(Piece::Pass(&held)),
            PacketAction::Changes => sink(Piece::Changes(&held, self.last_result())),
            PacketAction::Withhold => {}
        }
        Ok(taken)
    }

    /// The number of the result that ended last.
    fn last_result(&self) -> u32 {
        self.tally.results.saturating_sub(1)
    }

    fn payload_end(&mut self, verdict: ReplyStep) -> Result<(), Violation> {
        if let Some(print) = &mut self.fingerprinting {
            print.payload_ended(&verdict, &self.tally);
        }
        match verdict {
            ReplyStep::Continue(state) => {
                match (self.state, state) {
                    (ReplyState::Rows, ReplyState::Rows) => self.tally.rows += 1,
                    (_, ReplyState::Rows) => {
                        self.tally.rows_before += std::mem::take(&mut self.tally.rows);
                    }
                    _ => {}
                }
                self.state = state;
            }
            ReplyStep::ResultEnd(status) => {
                self.tally.results += 1;
                self.tally.status = Some(status);
                match status.contains(StatusFlags::MORE_RESULTS_EXISTS) {
                    true => self.state = ReplyState::First,
                    false => self.progress = Progress::Over(Outcome::Ok),
                }
            }
            ReplyStep::End(outcome, _) => self.progress = Progress::Over(outcome),
            ReplyStep::LocalInfile => {
                self.state = ReplyState::First;
                self.progress = Progress::File {
                    sequence: self.sequence,
                };
            }
            ReplyStep::Unknown => return Err(Malformed::Invalid("reply").into()),
        }
        Ok(())
    }
}

/// An OK packet has at least so many bytes; an EOF has five.
const MIN_OK_BYTES: usize = 7;

/// The treatment of a packet.
enum PacketAction {
    Pass,
    Changes,
    Withhold,
}

fn pass(bytes: &[u8], sink: &mut impl FnMut(Piece<'_>)) {
    if !bytes.is_empty() {
        sink(Piece::Pass(bytes));
    }
}

/// Returns the number of bytes of a packet that must arrive before it is handled.
fn wanted(held: &[u8]) -> usize {
    match held.first_chunk::<HEADER_BYTES>() {
        None => HEADER_BYTES,
        Some(header) => match Header::decode(*header).length {
            length if length > WHOLE_BYTES_MAX => HEADER_BYTES + HEAD_BYTES,
            length => HEADER_BYTES + length,
        },
    }
}

#[cfg(test)]
mod tests;
