//! Pilotfish's settings: the typed values that the rest of the house works with, and the one
//! definition of each setting from which all else is derived.
//!
//! ```text
//!  model.rs ──► Config, LimitsConfig, …           what the house works with
//!     │
//!     └──────► SECTIONS: [Setting]                name, text, kind, range, when it applies
//!                ├─ load      file and options → Config, or every fault with its line
//!                ├─ diff      what a reload changes
//!                ├─ manual    help, the manual's page, TOML
//!                └─ mysql_proxy   the options of MySQL Proxy, and which setting each means
//! ```
//!
//! To add a setting, add one entry to `model.rs`. This crate reads files; it opens no socket, starts
//! no thread and knows nothing of the protocol.

mod address;
mod check;
mod define;
mod diff;
mod fault;
mod load;
pub mod manual;
mod model;
pub mod mysql_proxy;
mod nearest;
mod secret;
mod setting;
mod value;

pub use address::*;
pub use diff::{Change, diff};
pub use fault::{Fault, Place};
pub use load::{Loaded, Override, PRIMARIES, REPLICAS};
pub use model::*;
pub use secret::Secret;
pub use setting::{Applies, BACKEND, Choice, Kind, Section, Setting, Traits, setting, settings};

#[cfg(test)]
mod tests;
