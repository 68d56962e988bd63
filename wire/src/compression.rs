//! Compressed frames.
