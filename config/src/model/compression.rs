//! Compression of the protocol, each side on its own.

use crate::Traits;
use crate::define::{choices, settings};

settings! {
    /// Compression of the protocol, for each side on its own.
    pub struct CompressionConfig in [compression], "Compression" {
        /// The compression that clients are offered; they decide. An empty list offers nothing.
        client: Vec<CompressionAlgorithm> =
            vec![CompressionAlgorithm::Zlib, CompressionAlgorithm::Zstd], Traits::RELOAD;

        /// The compression that backends are asked for, if they offer it.
        backend: BackendCompression = BackendCompression::Off, Traits::RELOAD;

        /// Level of zstd on the backends' side; clients choose their own.
        zstd_level: u8 = 3, Traits::RELOAD.within(1, 22);
    }
}

choices! {
    /// A compression of the protocol.
    pub enum CompressionAlgorithm {
        /// zlib, known to all clients.
        Zlib = "zlib",
        /// zstd, known to MySQL's clients from 8.0.18.
        Zstd = "zstd",
    }
}

choices! {
    /// What is asked of backends.
    pub enum BackendCompression {
        /// No compression.
        Off = "off",
        /// zlib.
        Zlib = "zlib",
        /// zstd; MySQL from 8.0.18, not MariaDB.
        Zstd = "zstd",
    }
}
