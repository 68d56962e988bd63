//! The algorithms that the protocol knows.

/// How frames are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Algorithm {
    /// `CLIENT_COMPRESS`: each frame a zlib stream.
    Zlib,
    /// `CLIENT_ZSTD_COMPRESSION_ALGORITHM` (MySQL 8.0.18 and later): each frame a zstd frame.
    Zstd,
}
