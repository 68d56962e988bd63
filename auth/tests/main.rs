//! Logins and accounts, compared with recordings of real servers.
#![allow(clippy::unwrap_used, clippy::panic)]

mod exams;
mod grants;
mod hosts;
