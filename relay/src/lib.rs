//! A session whose client and backend connection stay together: bytes pass, and a tracker follows them.
//!
//! ```text
//!   login's OK ──► RelayedSession ──► Relay: command after command
//!                        │              client ──► tracker ──► backend      one read, one write a side
//!                        │              client ◄── tracker ◄── backend
//!                        │              observer: statements by their texts, if statistics want them
//!                        │
//!                        ├─ COM_CHANGE_USER: user_change asks, the backend judges
//!                        └─ the end: thread_ended, the last message to the client
//! ```
//!
//! If a listener has `routing.session = "kernel"`, its sessions become [`joined_session::JoinedSession`]s after the
//! login: the kernel passes their bytes on, without a tracker. A session that cannot be joined becomes a relayed one.
//!
//! [`relay_env::RelayEnv`] is all that a relayed session needs of its worker. A pooled session can become a relayed one:
//! it hands over its two legs and what it keeps until its end ([`relayed_session::KeptUntilEnd`]).

pub mod joined_counts;
pub mod joined_session;
pub mod observer;
pub mod outcome;
pub mod relay;
pub mod relay_env;
pub mod relayed_session;
pub mod thread_ended;
pub mod worker_joins;
