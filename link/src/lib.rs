//! One connection of a session as a stream of packets, and what relayed and pooled sessions need of it.
//!
//! ```text
//!   socket ── transport     TLS, compression, both, or neither
//!               ├─ packets  whole payloads: how logins are talked
//!               │    ├─ dialogue   relays the login behind the handshake response
//!               │    └─ decline    leaves a backend that has greeted
//!               ├─ client_command   whole commands of a client, as they come
//!               │    ├─ query_command   the text of a COM_QUERY, found once
//!               │    └─ text_reader     long texts, read by another thread
//!               └─ leg      bytes that were read and not yet taken; writes replies
//!                    └─ reply_observer ── row_rewriting     a script hears the reply
//! ```
//!
//! [`failure`] says which side is at fault when a session ends, and what follows. [`memory`] limits the bytes that are
//! kept. [`readiness_cache`] saves system calls. This crate has no session, no choice of a backend and no setting.

pub mod binlog_reader;
pub mod client_command;
pub mod decline;
pub mod dialogue;
pub mod failure;
pub mod leg;
pub mod memory;
pub mod packets;
pub mod query_command;
pub mod readiness_cache;
pub mod reply_observer;
pub mod row_rewriting;
pub mod session_end;
pub mod text_reader;
pub mod transport;
