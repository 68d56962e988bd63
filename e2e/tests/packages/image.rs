//! The container image: what it is, and that it runs.
