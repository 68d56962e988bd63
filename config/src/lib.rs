//! Pilotfish's settings: the typed values that the other crates use, and the one
//! definition of each setting, from which everything else is derived.
//!
//! ```text
//!  model.rs ──► Config, LimitsConfig, …           what the house works with
//!     │
//!     └──────► SECTIONS: [Setting]                name, text, kind, range, when it applies
//!                ├─ load      file and options → Config, or every fault with its line
//!                ├─ diff      what a reload changes
//!                ├─ draft     the file's text with changes in it, its comments and order kept
//!                ├─ manual    help, the manual's page, TOML
//!                └─ mysql_proxy   the options of MySQL Proxy, and which setting each means
//! ```
//!
//! To add a setting, add one entry to its section's file in `model/`. This crate reads files; it opens no socket,
//! starts no thread and knows nothing of the protocol.

mod address;
mod check;
mod define;
mod diff;
mod draft;
mod fault;
mod listed;
mod load;
mod machine_memory;
pub mod manual;
mod measure;
mod model;
pub mod mysql_proxy;
mod nearest;
mod raw_setting;
mod redirect;
mod renamed;
mod retired;
mod secret;
mod setting;
mod sql_text;
mod time;
mod unknown;
mod value;

pub use address::*;
pub use diff::{Change, diff};
pub use draft::{Draft, Edit};
pub use fault::{Fault, SourceLocation};
pub use load::{Loaded, Override, PRIMARIES, REPLICAS, Written};
pub use measure::read_duration;
pub use model::*;
pub use redirect::{Redirect, RedirectAddress, RedirectError};
pub use renamed::{new_name, old_option, renamed};
pub use secret::Secret;
pub use setting::{
    ACCOUNT, ADMIN_ACCOUNT, Applies, BACKEND, CHANGE_FILE, Choice, KAFKA, LISTENER, REPLICATION,
    REPLICATION_FILTER, RULE, RULE_TEST, Section, Setting, Traits, ValueType,
    sections_and_settings, setting, settings,
};
pub use sql_text::{Cell, SqlText};
pub use time::{TimeOfDay, TimeSpan, Within};

#[cfg(test)]
mod tests;
