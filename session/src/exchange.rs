//! One reply on a backend connection that several sessions take turns on: followed packet by packet,
//! told apart into what passes on as it is and what has to be looked at whole.
//!
//! Where [`crate::Tracker`] follows a connection that is relayed for life, a [`Reply`] lives for one
//! exchange. It ends exactly where the reply ends: what comes behind belongs to the next one.

use std::collections::hash_map::RandomState;

use wire::reply::{EOF, OK, OkPacket, eof_status};
use wire::{
    Capabilities, Command, HEADER_BYTES, Header, Malformed, PACKET_PAYLOAD_MAX, StatusFlags,
};

use crate::cutter::HEAD_BYTES;
use crate::fingerprint::{Fingerprint, Fingerprinting};
use crate::reply::{Outcome, Payload, ReplyState, Verdict, expected};
use crate::tracker::{Sequences, Violation};

/// A packet up to this length is waited for until it is whole; a longer one passes in pieces. No OK
/// packet is longer: its longest parts are values of session variables.
const WHOLE_BYTES_MAX: usize = 64 * 1024;

/// A part of a reply, in order; together they are all of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes to be passed on as they are.
    Pass(&'a [u8]),
    /// A whole OK packet, header and all, that carries session state changes; and which result it ends.
    Changes(&'a [u8], u32),
}

/// What a reply has said so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Results that have ended.
    pub results: u32,
    /// Whether the last of them had rows.
    pub had_rows: bool,
    /// Rows of the last result.
    pub rows: u64,
    /// Rows of those before it.
    pub rows_before: u64,
    /// Bytes of all its packets.
    pub bytes: u64,
    /// Bytes of those that are rows.
    pub row_bytes: u64,
    /// The last OK.
    pub ok: OkPacket,
    /// The flags of the last OK or EOF; `None` when there was none.
    pub status: Option<StatusFlags>,
    /// Warnings of the last OK or EOF.
    pub warnings: u16,
    /// Some OK or EOF has told of warnings, if not the last.
    pub has_warned: bool,
    /// Some flags announced changes that could not be sent along: an EOF has no room for them.
    pub owes_changes: bool,
    /// The number and the SQLSTATE of the error that it ended with.
    pub error: Option<(u16, [u8; 5])>,
}

/// What is told otherwise at the end of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amendment {
    /// Another reply to the same command follows it.
    pub has_more: bool,
    /// So many warnings.
    pub warnings: Option<u16>,
    /// No EOF flags changes, of which it could not tell anyway: they are what the proxy wants to hear of.
    pub hides_changes: bool,
}

impl Amendment {
    /// What a client is told otherwise whose replies look like this, on a connection of the proxy's.
    pub fn of_shared(capabilities: Capabilities) -> Self {
        Self {
            hides_changes: !capabilities.contains(Capabilities::DEPRECATE_EOF),
            ..Self::default()
        }
    }
}

/// What comes next.
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

/// One reply, as it comes.
#[derive(Debug)]
pub struct Reply {
    capabilities: Capabilities,
    sequences: Sequences,
    /// Of the next packet.
    sequence: u8,
    state: ReplyState,
    /// The beginning of a packet that is not whole yet.
    held: Vec<u8>,
    /// Bytes of the current packet that pass in pieces.
    left: usize,
    /// Whether the next packet continues the current payload.
    is_continued: bool,
    /// What happens when the current payload ends.
    verdict: Option<Verdict>,
    progress: Progress,
    has_begun: bool,
    tally: Tally,
    amendment: Amendment,
    fingerprinting: Option<Box<Fingerprinting>>,
    /// What the error says that it ended with.
    message: Option<Box<[u8]>>,
}

impl Reply {
    /// The reply to `command`, whose first packet has this sequence id; `None` for commands without
    /// a reply.
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
            left: 0,
            is_continued: false,
            verdict: None,
            progress: Progress::More,
            has_begun: false,
            tally: Tally::default(),
            amendment: Amendment::default(),
            fingerprinting: None,
            message: None,
        })
    }

    /// The same reply, told otherwise at its end.
    #[must_use]
    pub fn amended(self, amendment: Amendment) -> Self {
        Self { amendment, ..self }
    }

    /// The same reply, of which a fingerprint is made with these keys.
    #[must_use]
    pub fn fingerprinted(self, keys: &RandomState) -> Self {
        Self {
            fingerprinting: Some(Box::new(Fingerprinting::new(keys))),
            ..self
        }
    }

    /// The fingerprint of what has come, if one is made.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprinting.as_ref().map(|it| it.finish())
    }

    /// What comes next.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// What it has said so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// What the error says that it ended with; once.
    pub fn take_message(&mut self) -> Option<Box<[u8]>> {
        self.message.take()
    }

    /// Whether any of it has come.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The id of the next packet, when one could be put in its place; `None` within a packet.
    pub fn next_sequence(&self) -> Option<u8> {
        (self.left == 0 && !self.is_continued).then_some(self.sequence)
    }

    /// The next packet is given this id, when ids are written anew.
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

    /// Takes bytes of the reply; returns how many were its own.
    ///
    /// # Errors
    /// Sequence ids that do not follow, packets that do not hold what they must, replies of a shape
    /// that nobody described.
    pub fn feed(
        &mut self,
        bytes: &mut [u8],
        mut sink: impl FnMut(Piece<'_>),
    ) -> Result<usize, Violation> {
        self.has_begun |= !bytes.is_empty();
        let mut at = match self.held.is_empty() {
            true => 0,
            false => self.complete_held(bytes, &mut sink)?,
        };
        // Where the bytes begin that pass on together.
        let mut run = at;
        while self.progress == Progress::More && at < bytes.len() {
            if self.left > 0 {
                at += self.pass_left(&bytes[at..])?;
                continue;
            }
            at += self.skip_rows(&bytes[at..]);
            let rest = &mut bytes[at..];
            let Some(header) = rest.first_chunk::<HEADER_BYTES>() else {
                break;
            };
            let length = Header::decode(*header).length;
            let whole = HEADER_BYTES + length;
            if rest.len() >= whole {
                match self.packet(&mut rest[..whole])? {
                    Look::Pass => at += whole,
                    Look::Changes => {
                        pass(&bytes[run..at], &mut sink);
                        sink(Piece::Changes(&bytes[at..at + whole], self.last_result()));
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

    /// Adds to the packet that is held; returns how many bytes it took.
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
            Look::Pass => sink(Piece::Pass(&held)),
            Look::Changes => sink(Piece::Changes(&held, self.last_result())),
        }
        Ok(taken)
    }

    /// The number of the result that ended last.
    fn last_result(&self) -> u32 {
        self.tally.results.saturating_sub(1)
    }

    /// Passes over whole packets that are rows and nothing else; the hot loop of big results.
    fn skip_rows(&mut self, bytes: &[u8]) -> usize {
        if self.state != ReplyState::Rows
            || self.sequences == Sequences::Renumbered
            || self.is_continued
            || self.fingerprinting.is_some()
        {
            return 0;
        }
        let (mut at, mut sequence, mut rows) = (0, self.sequence, 0);
        while let Some([a, b, c, found, first]) = bytes[at..].first_chunk::<{ HEADER_BYTES + 1 }>()
        {
            let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
            let end = at + HEADER_BYTES + length;
            if *first >= EOF
                || length == 0
                || length == PACKET_PAYLOAD_MAX
                || *found != sequence
                || end > bytes.len()
            {
                break;
            }
            sequence = sequence.wrapping_add(1);
            rows += 1;
            at = end;
        }
        self.sequence = sequence;
        self.tally.rows += rows;
        self.tally.row_bytes += at as u64;
        at
    }

    /// A whole packet.
    fn packet(&mut self, packet: &mut [u8]) -> Result<Look, Violation> {
        let header = self.header(packet)?;
        let payload = &packet[HEADER_BYTES..];
        let begins = !std::mem::replace(&mut self.is_continued, header.is_continued());
        if begins {
            self.verdict = Some(self.judge(payload, header.length)?);
        }
        self.weigh_row(header);
        self.take_print(payload);
        if self.is_continued {
            return Ok(Look::Pass);
        }
        let Some(verdict) = self.verdict.take() else {
            return Ok(Look::Pass);
        };
        let carries = begins && self.note(&verdict, payload)?;
        if begins && self.amendment != Amendment::default() {
            self.amend(&verdict, &mut packet[HEADER_BYTES..]);
        }
        self.payload_end(verdict)?;
        Ok(match carries {
            true => Look::Changes,
            false => Look::Pass,
        })
    }

    /// The beginning of a packet that is too long to be waited for.
    fn begin_pieces(&mut self, beginning: &mut [u8]) -> Result<(), Violation> {
        let header = self.header(beginning)?;
        let begins = !std::mem::replace(&mut self.is_continued, header.is_continued());
        if begins {
            let head = &beginning[HEADER_BYTES..];
            self.verdict = Some(self.judge(head, header.length)?);
        }
        self.weigh_row(header);
        self.take_print(&beginning[HEADER_BYTES..]);
        self.left = HEADER_BYTES + header.length - beginning.len();
        Ok(())
    }

    /// A packet that may be a row's, or a part of one.
    fn weigh_row(&mut self, header: Header) {
        let is_row = (self.state, &self.verdict)
            == (ReplyState::Rows, &Some(Verdict::Continue(ReplyState::Rows)));
        if is_row {
            self.tally.row_bytes += (HEADER_BYTES + header.length) as u64;
        }
    }

    /// Passes over bytes of such a packet.
    fn pass_left(&mut self, bytes: &[u8]) -> Result<usize, Violation> {
        let taken = self.left.min(bytes.len());
        self.take_print(&bytes[..taken]);
        self.left -= taken;
        if self.left == 0
            && !self.is_continued
            && let Some(verdict) = self.verdict.take()
        {
            self.payload_end(verdict)?;
        }
        Ok(taken)
    }

    /// Bytes of the payload under way.
    fn take_print(&mut self, bytes: &[u8]) {
        if let (Some(print), Some(verdict)) = (&mut self.fingerprinting, &self.verdict) {
            print.add(self.state, verdict, bytes);
        }
    }

    /// Checks a packet's sequence id, or writes it anew.
    fn header(&mut self, packet: &mut [u8]) -> Result<Header, Violation> {
        let truncated = Malformed::Truncated("packet header");
        let Some((bytes, _)) = packet.split_first_chunk_mut::<HEADER_BYTES>() else {
            return Err(truncated.into());
        };
        let header = Header::decode(*bytes);
        let expected = self.sequence;
        match self.sequences {
            Sequences::Renumbered => bytes[HEADER_BYTES - 1] = expected,
            Sequences::Checked if header.sequence != expected => {
                let found = header.sequence;
                return Err(Violation::Sequence { expected, found });
            }
            Sequences::Checked => {}
        }
        self.sequence = expected.wrapping_add(1);
        Ok(header)
    }

    fn judge(&self, payload: &[u8], length: usize) -> Result<Verdict, Violation> {
        let payload = Payload {
            head: &payload[..payload.len().min(HEAD_BYTES)],
            length,
            capabilities: self.capabilities,
        };
        Ok(self.state.judge(&payload)?)
    }

    /// Writes the flags and the count of warnings of the reply's end anew.
    fn amend(&self, verdict: &Verdict, payload: &mut [u8]) {
        let status = match verdict {
            Verdict::ResultEnd(status) | Verdict::End(Outcome::Ok, Some(status)) => *status,
            // What ends the definitions has the flags, too.
            Verdict::Continue(ReplyState::Rows)
                if matches!(self.state, ReplyState::DefinitionsEnd { .. }) =>
            {
                eof_status(payload).unwrap_or_default()
            }
            _ => return,
        };
        let is_short = payload.first() == Some(&EOF) && payload.len() < MIN_OK_BYTES;
        let hides = is_short && self.amendment.hides_changes;
        let status = match hides {
            true => StatusFlags(status.0 & !StatusFlags::SESSION_STATE_CHANGED.0),
            false => status,
        };
        // Its own flags: behind OUT parameters more follows, and MySQL does not say so.
        if hides && let (Ok(own), Some(flags)) = (eof_status(payload), payload.get_mut(3..5)) {
            let own = own.0 & !StatusFlags::SESSION_STATE_CHANGED.0;
            flags.copy_from_slice(&own.to_le_bytes());
        }
        if status.contains(StatusFlags::MORE_RESULTS_EXISTS) {
            return;
        }
        let (flags_at, warnings_at) = match is_short {
            true => (3, 1),
            false => match wire::reply::ok_flags_at(payload) {
                Some(at) => (at, at + 2),
                None => return,
            },
        };
        if self.amendment.has_more
            && let Some(flags) = payload.get_mut(flags_at..flags_at + 2)
        {
            let more = StatusFlags(status.0 | StatusFlags::MORE_RESULTS_EXISTS.0);
            flags.copy_from_slice(&more.0.to_le_bytes());
        }
        if let (Some(count), Some(warnings)) = (
            self.amendment.warnings,
            payload.get_mut(warnings_at..warnings_at + 2),
        ) {
            warnings.copy_from_slice(&count.to_le_bytes());
        }
    }

    /// Notes what an OK, EOF, ERR or row says; true for an OK that carries session state changes.
    fn note(&mut self, verdict: &Verdict, payload: &[u8]) -> Result<bool, Malformed> {
        if let Verdict::End(Outcome::Err(number), _) = verdict {
            let state = payload.get(3..).and_then(|rest| rest.strip_prefix(b"#"));
            let state = state.and_then(|state| state.first_chunk().copied());
            self.tally.error = state.map(|state| (*number, state));
            let text = payload.get(3..).unwrap_or_default();
            let text = text
                .strip_prefix(b"#")
                .and_then(|it| it.get(5..))
                .unwrap_or(text);
            self.message = Some(text.into());
        }
        let has_flags = matches!(
            verdict,
            Verdict::ResultEnd(_) | Verdict::End(Outcome::Ok, Some(_))
        );
        if !has_flags {
            return Ok(false);
        }
        let is_rows_end = payload.first() == Some(&EOF);
        self.tally.had_rows = is_rows_end;
        if payload.first() != Some(&OK) && (!is_rows_end || payload.len() < MIN_OK_BYTES) {
            let warnings = payload
                .get(1..3)
                .map_or(0, |it| u16::from(it[0]) | u16::from(it[1]) << 8);
            let status = eof_status(payload)?;
            self.tally.warnings = warnings;
            self.tally.has_warned |= warnings > 0;
            self.tally.status = Some(status);
            self.tally.owes_changes |= status.contains(StatusFlags::SESSION_STATE_CHANGED);
            return Ok(false);
        }
        let ok = OkPacket::decode(payload)?;
        self.tally.ok = ok;
        self.tally.warnings = ok.warnings;
        self.tally.has_warned |= ok.warnings > 0;
        self.tally.status = Some(ok.status);
        Ok(ok.status.contains(StatusFlags::SESSION_STATE_CHANGED))
    }

    fn payload_end(&mut self, verdict: Verdict) -> Result<(), Violation> {
        if let Some(print) = &mut self.fingerprinting {
            print.payload_ended(&verdict, &self.tally);
        }
        match verdict {
            Verdict::Continue(state) => {
                match (self.state, state) {
                    (ReplyState::Rows, ReplyState::Rows) => self.tally.rows += 1,
                    (_, ReplyState::Rows) => {
                        self.tally.rows_before += std::mem::take(&mut self.tally.rows);
                    }
                    _ => {}
                }
                self.state = state;
            }
            Verdict::ResultEnd(status) => {
                self.tally.results += 1;
                self.tally.status = Some(status);
                match status.contains(StatusFlags::MORE_RESULTS_EXISTS) {
                    true => self.state = ReplyState::First,
                    false => self.progress = Progress::Over(Outcome::Ok),
                }
            }
            Verdict::End(outcome, _) => self.progress = Progress::Over(outcome),
            Verdict::LocalInfile => {
                self.state = ReplyState::First;
                self.progress = Progress::File {
                    sequence: self.sequence,
                };
            }
            Verdict::Unknown => return Err(Malformed::Invalid("reply").into()),
        }
        Ok(())
    }
}

/// An OK packet has at least so many bytes; an EOF has five.
const MIN_OK_BYTES: usize = 7;

/// What is done with a packet.
enum Look {
    Pass,
    Changes,
}

fn pass(bytes: &[u8], sink: &mut impl FnMut(Piece<'_>)) {
    if !bytes.is_empty() {
        sink(Piece::Pass(bytes));
    }
}

/// How many bytes of a packet are waited for.
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
