//! Compressed frames: an envelope around the stream of packets, if the login has negotiated compression.
//!
//! ```text
//!   [compressed length:3][frame's own sequence:1][uncompressed length:3][bytes]
//! ```
//!
//! An uncompressed length of 0 says that the bytes are not compressed. A frame may begin and end anywhere in
//! the stream, also within a packet. (Protocol page "Compressed Packet"; `net_serv.cc` in either server.)

mod algorithm;
mod scratch;

use crate::Malformed;
pub use algorithm::Algorithm;
use scratch::{Inflater, Step};

/// Length of a frame's header.
pub const FRAME_HEADER_BYTES: usize = 7;
/// Payloads shorter than this are not worth compressing: the servers' `MIN_COMPRESS_LENGTH`.
pub const COMPRESS_BYTES_MIN: usize = 50;
/// How many bytes of the stream a frame carries that the proxy makes. The protocol allows 16 MiB − 1, but
/// the receiver must hold a whole frame. Deflate looks back 32 KiB, so a longer frame would gain little.
pub const FRAME_PAYLOAD_BYTES: usize = 32 * 1024;

/// The kind of the connection's other end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Remote {
    /// A client: it counts from 0 in each command, and the proxy's reply continues the count.
    Client,
    /// A backend: the proxy counts from 0 in each command, and continues the count of the backend's reply.
    Backend,
}

/// The result of one call to [`Codec::decode`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Progress {
    /// Bytes of the input that were consumed.
    pub consumed: usize,
    /// Bytes of the output that are filled.
    pub produced: usize,
}

/// The compression of one connection. Both directions share the count of frames.
///
/// It has no buffer. Frames are decompressed as their bytes arrive, into the caller's memory, and
/// never beyond the length that their headers declare. Frames are compressed in one step. The working memory
/// of the algorithms (50 to 500 KiB) is kept for each thread, not for each connection.
#[derive(Debug)]
pub struct Codec {
    algorithm: Algorithm,
    level: u8,
    remote: Remote,
    sequence: Sequence,
    state: State,
}

impl Codec {
    /// `level` is zlib's 1 to 9 or zstd's 1 to 22; a level outside the range counts as the nearest in it.
    pub fn new(algorithm: Algorithm, level: u8, remote: Remote) -> Codec {
        let level_max = match algorithm {
            Algorithm::Zlib => 9,
            Algorithm::Zstd => 22,
        };
        Codec {
            algorithm,
            level: level.clamp(1, level_max),
            remote,
            sequence: Sequence::default(),
            state: State::BETWEEN_FRAMES,
        }
    }

    /// Notes that the next frame to the backend begins a command: servers refuse a command that does not count
    /// from 0. On a connection to a client it does nothing, because there the client's count decides.
    pub fn begin_command(&mut self) {
        if self.remote == Remote::Backend {
            self.sequence.next = 0;
        }
    }

    /// The sequence number of the next frame that the proxy makes. Servers use it also for the first packet after
    /// each flush (`net_flush`), and some client libraries require that.
    pub fn next_sequence(&self) -> u8 {
        self.sequence.next
    }

    /// Decompresses from `input` into `output` until either is used up. While it fills the
    /// output, there may be more output without further input.
    ///
    /// # Errors
    /// [`Malformed::Invalid`] with the item's name; nothing that follows can be understood.
    pub fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Result<Progress, Malformed> {
        let mut done = Progress::default();
        loop {
            let (_, input) = input.split_at(done.consumed);
            let (_, output) = output.split_at_mut(done.produced);
            let moved = match &mut self.state {
                State::Header(header) => header.fill(input),
                State::Plain(plain) => plain.copy(input, output),
                State::Packed(packed) => packed.inflate(input, output)?,
            };
            done.consumed += moved.consumed;
            done.produced += moved.produced;
            if self.advance()? == Flow::Stays && moved == Progress::default() {
                return Ok(done);
            }
        }
    }

    /// Enters the next state if the current state is complete.
    fn advance(&mut self) -> Result<Flow, Malformed> {
        self.state = match &self.state {
            State::Header(header) if header.filled == FRAME_HEADER_BYTES => {
                let [a, b, c, sequence, d, e, f] = header.bytes;
                let length = u32::from_le_bytes([a, b, c, 0]) as usize;
                let uncompressed = u32::from_le_bytes([d, e, f, 0]) as usize;
                self.sequence.received(sequence, self.remote)?;
                match uncompressed {
                    0 => State::Plain(Plain { left: length }),
                    _ => State::Packed(Packed::new(self.algorithm, length, uncompressed)?),
                }
            }
            State::Plain(Plain { left: 0 }) => State::BETWEEN_FRAMES,
            State::Packed(packed) if packed.ended => State::BETWEEN_FRAMES,
            _ => return Ok(Flow::Stays),
        };
        Ok(Flow::Advances)
    }

    /// Memory that an incomplete frame takes besides its bytes, in bytes.
    pub fn held_bytes(&self) -> usize {
        match &self.state {
            State::Packed(packed) => packed.inflater.held_bytes(),
            State::Header(_) | State::Plain(_) => 0,
        }
    }

    /// Checks the state when the stream has ended.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] if the stream ended within a frame.
    pub fn check_end(&self) -> Result<(), Malformed> {
        match &self.state {
            State::Header(header) if header.filled == 0 => Ok(()),
            State::Header(_) => Err(Malformed::Truncated("compressed frame's header")),
            _ => Err(Malformed::Truncated("compressed frame")),
        }
    }

    /// Appends `payload` in as many frames as it needs, each compressed if that makes it shorter.
    pub fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        for chunk in payload.chunks(FRAME_PAYLOAD_BYTES) {
            let start = out.len();
            out.extend_from_slice(&[0; FRAME_HEADER_BYTES]);
            let worth_it = chunk.len() >= COMPRESS_BYTES_MIN;
            let packed = worth_it && scratch::deflate(self.algorithm, self.level, chunk, out);
            if !packed {
                out.extend_from_slice(chunk);
            }
            let length = out.len() - start - FRAME_HEADER_BYTES;
            let uncompressed = if packed { chunk.len() } else { 0 };
            let [a, b, c, ..] = length.to_le_bytes();
            let [d, e, f, ..] = uncompressed.to_le_bytes();
            let header = [a, b, c, self.sequence.take(), d, e, f];
            for (byte, value) in out.iter_mut().skip(start).zip(header) {
                *byte = value;
            }
        }
    }
}

/// Whether a state is over.
#[derive(PartialEq, Eq)]
enum Flow {
    Advances,
    Stays,
}

/// The position in the incoming stream.
///
/// ```text
///   Header ──► Plain ───┐
///     ▲  └───► Packed ──┤
///     └─────────────────┘
/// ```
#[derive(Debug)]
enum State {
    Header(CompressedHeader),
    Plain(Plain),
    Packed(Packed),
}

impl State {
    const BETWEEN_FRAMES: State = State::Header(CompressedHeader {
        bytes: [0; FRAME_HEADER_BYTES],
        filled: 0,
    });
}

/// A frame's header, as far as it has arrived.
#[derive(Debug)]
struct CompressedHeader {
    bytes: [u8; FRAME_HEADER_BYTES],
    filled: usize,
}

impl CompressedHeader {
    fn fill(&mut self, input: &[u8]) -> Progress {
        let (_, wanted) = self.bytes.split_at_mut(self.filled);
        let consumed = wanted.len().min(input.len());
        for (to, from) in wanted.iter_mut().zip(input) {
            *to = *from;
        }
        self.filled += consumed;
        Progress {
            consumed,
            produced: 0,
        }
    }
}

/// Bytes that are not compressed.
#[derive(Debug)]
struct Plain {
    left: usize,
}

impl Plain {
    fn copy(&mut self, input: &[u8], output: &mut [u8]) -> Progress {
        let count = self.left.min(input.len()).min(output.len());
        let (to, _) = output.split_at_mut(count);
        let (from, _) = input.split_at(count);
        to.copy_from_slice(from);
        self.left -= count;
        Progress {
            consumed: count,
            produced: count,
        }
    }
}

/// Compressed bytes.
#[derive(Debug)]
struct Packed {
    inflater: Inflater,
    input_left: usize,
    output_left: usize,
    /// The last call filled its output, so there may be more output without more input.
    may_hold: bool,
    ended: bool,
}

const CONTENT: Malformed = Malformed::Invalid("compressed frame's content");
const LENGTHS: Malformed = Malformed::Invalid("compressed frame's lengths");

impl Packed {
    fn new(algorithm: Algorithm, input: usize, output: usize) -> Result<Packed, Malformed> {
        if input == 0 {
            return Err(LENGTHS);
        }
        Ok(Packed {
            inflater: Inflater::take(algorithm),
            input_left: input,
            output_left: output,
            may_hold: false,
            ended: false,
        })
    }

    fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> Result<Progress, Malformed> {
        // If all declared bytes are there, the checksum may still be missing. One byte more is an error.
        let mut excess = [0];
        let (input, _) = input.split_at(input.len().min(self.input_left));
        let room = match self.output_left {
            0 => &mut excess[..],
            left => output.split_at_mut(output.len().min(left)).0,
        };
        if room.is_empty() || (input.is_empty() && !self.may_hold) {
            return Ok(Progress::default());
        }
        let step = self.inflater.step(input, room);
        let moved = |step: &Step| step.consumed > 0 || step.produced > 0 || input.is_empty();
        let step = step.filter(moved).ok_or(CONTENT)?;
        self.input_left -= step.consumed;
        self.output_left = self.output_left.checked_sub(step.produced).ok_or(LENGTHS)?;
        self.may_hold = step.produced == room.len();
        self.ended = step.ended;
        let complete = self.input_left == 0 && self.output_left == 0;
        let starved = self.input_left == 0 && !self.may_hold;
        match step.ended {
            true if complete => self.inflater.give_back(),
            false if !starved => {}
            _ => return Err(LENGTHS),
        }
        Ok(Progress {
            consumed: step.consumed,
            produced: step.produced,
        })
    }
}

/// The count of frames.
#[derive(Default, Debug)]
struct Sequence {
    /// The number that the next frame in either direction should have.
    next: u8,
    /// The number that follows the last received frame, without the frames that were sent since.
    after_received: u8,
}

impl Sequence {
    fn take(&mut self) -> u8 {
        let taken = self.next;
        self.next = taken.wrapping_add(1);
        taken
    }

    /// A client must continue the proxy's count, begin a command, or continue its own count (if the proxy sent
    /// an error while the client was still sending). From a backend every number is accepted,
    /// as clients do, because a backend may answer before it has read everything.
    fn received(&mut self, sequence: u8, from: Remote) -> Result<(), Malformed> {
        let in_order = [0, self.next, self.after_received].contains(&sequence);
        if from == Remote::Client && !in_order {
            return Err(Malformed::Invalid("compressed frame's sequence number"));
        }
        self.next = sequence.wrapping_add(1);
        self.after_received = self.next;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
