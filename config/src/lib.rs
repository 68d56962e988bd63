//! Pilotfish's settings: the typed values that the rest of the house works with, and the one
//! definition of each setting from which parsing, defaults, checks, help and manual are derived.

mod address;
mod model;
mod secret;

pub use address::*;
pub use model::*;
pub use secret::Secret;
