//! The compression libraries' working memory: taken for one frame, and given back afterwards.
//!
//! Nothing in it outlives a frame, so connections do not need their own: each thread keeps a
//! few, and 10,000 idle compressed connections cost no working memory.

use std::cell::RefCell;
use std::fmt;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

use super::algorithm::Algorithm;

/// How many idle inflaters a thread keeps. More inflaters are in use only while more frames are
/// partly received at the same time.
const IDLE_MAX: usize = 4;
/// An inflater larger than this is not kept: zstd's window grows with the frame's window.
const KEEP_BYTES_MAX: usize = 512 * 1024;
/// zstd frames may look back at most the length of a protocol frame (2^24 bytes).
const WINDOW_LOG_MAX: u32 = 24;

#[derive(Default)]
struct IdleCodecs {
    inflaters: Vec<Decompress>,
    zstd_inflaters: Vec<DCtx<'static>>,
    deflaters: Vec<(u8, Compress)>,
    zstd_deflater: Option<CCtx<'static>>,
}

thread_local! {
    static IDLE: RefCell<IdleCodecs> = RefCell::default();
}

/// Decompresses one frame.
pub(super) enum Inflater {
    Zlib(Decompress),
    Zstd(DCtx<'static>),
    /// The frame is complete.
    GivenBack,
}

/// The result of one call.
pub(super) struct Step {
    pub(super) consumed: usize,
    pub(super) produced: usize,
    /// The compressed data says that it is complete.
    pub(super) ended: bool,
}

/// The memory that zlib needs to decompress: its window, and its tables.
const ZLIB_BYTES: usize = 44 * 1024;

impl Inflater {
    /// The memory that the inflater takes, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        match self {
            Inflater::Zlib(_) => ZLIB_BYTES,
            Inflater::Zstd(inflater) => inflater.sizeof(),
            Inflater::GivenBack => 0,
        }
    }

    pub(super) fn take(algorithm: Algorithm) -> Inflater {
        IDLE.with_borrow_mut(|idle| match algorithm {
            Algorithm::Zlib => {
                let kept = idle.inflaters.pop();
                Inflater::Zlib(kept.unwrap_or_else(|| Decompress::new(true)))
            }
            Algorithm::Zstd => {
                let kept = idle.zstd_inflaters.pop();
                Inflater::Zstd(kept.unwrap_or_else(new_zstd_inflater))
            }
        })
    }

    /// Keeps the working memory for the next frame.
    pub(super) fn give_back(&mut self) {
        let given = std::mem::replace(self, Inflater::GivenBack);
        IDLE.with_borrow_mut(|idle| match given {
            Inflater::Zlib(mut inflater) if idle.inflaters.len() < IDLE_MAX => {
                inflater.reset(true);
                idle.inflaters.push(inflater);
            }
            Inflater::Zstd(mut inflater) if idle.zstd_inflaters.len() < IDLE_MAX => {
                let small = inflater.sizeof() <= KEEP_BYTES_MAX;
                if small && inflater.reset(ResetDirective::SessionOnly).is_ok() {
                    idle.zstd_inflaters.push(inflater);
                }
            }
            _ => {}
        });
    }

    /// Decompresses as much as fits; `None` if the data is corrupt.
    pub(super) fn step(&mut self, input: &[u8], output: &mut [u8]) -> Option<Step> {
        match self {
            Inflater::Zlib(inflater) => {
                let (before_in, before_out) = (inflater.total_in(), inflater.total_out());
                let status = inflater.decompress(input, output, FlushDecompress::None);
                let ended = status.ok()? == Status::StreamEnd;
                Some(Step {
                    consumed: (inflater.total_in() - before_in) as usize,
                    produced: (inflater.total_out() - before_out) as usize,
                    ended,
                })
            }
            Inflater::Zstd(inflater) => {
                let mut input = InBuffer::around(input);
                let mut output = OutBuffer::around(output);
                let left = inflater.decompress_stream(&mut output, &mut input).ok()?;
                Some(Step {
                    consumed: input.pos(),
                    produced: output.pos(),
                    ended: left == 0,
                })
            }
            Inflater::GivenBack => None,
        }
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Inflater::Zlib(_) => "Zlib",
            Inflater::Zstd(_) => "Zstd",
            Inflater::GivenBack => "GivenBack",
        })
    }
}

fn new_zstd_inflater() -> DCtx<'static> {
    let mut inflater = DCtx::create();
    // `set_parameter` fails only for a value out of range.
    let _ = inflater.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX));
    inflater
}

/// Compresses `bytes`. If the result is shorter than `bytes`, appends it to `out` and returns true.
pub(super) fn deflate(algorithm: Algorithm, level: u8, bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.resize(start + bytes.len().saturating_sub(1), 0);
    let (_, room) = out.split_at_mut(start);
    let written = IDLE.with_borrow_mut(|idle| match algorithm {
        Algorithm::Zlib => idle.deflate(level, bytes, room),
        Algorithm::Zstd => idle.deflate_zstd(level, bytes, room),
    });
    out.truncate(start + written.unwrap_or(0));
    written.is_some()
}

impl IdleCodecs {
    fn deflate(&mut self, level: u8, bytes: &[u8], room: &mut [u8]) -> Option<usize> {
        let deflater = self.deflater(level);
        let status = deflater.compress(bytes, room, FlushCompress::Finish);
        let written = deflater.total_out() as usize;
        deflater.reset();
        (status.ok()? == Status::StreamEnd).then_some(written)
    }

    fn deflater(&mut self, level: u8) -> &mut Compress {
        let index = self.deflaters.iter().position(|(kept, _)| *kept == level);
        let index = index.unwrap_or_else(|| {
            let made = Compress::new(Compression::new(level.into()), true);
            self.deflaters.push((level, made));
            self.deflaters.len() - 1
        });
        &mut self.deflaters[index].1
    }

    fn deflate_zstd(&mut self, level: u8, bytes: &[u8], room: &mut [u8]) -> Option<usize> {
        let deflater = self.zstd_deflater.get_or_insert_with(CCtx::create);
        let level = CParameter::CompressionLevel(level.into());
        deflater.set_parameter(level).ok()?;
        // `compress2` fails if the result does not fit: then compression gains nothing.
        deflater.compress2(room, bytes).ok()
    }
}
