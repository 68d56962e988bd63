//! The operating system, without MySQL's protocol: sockets, listeners, TLS, the PROXY protocol,
//! worker threads, a coarse clock, and limits.
//!
//! ```text
//!  Listener ──accept──► RawSocket ──message──► worker ──Socket::from_raw──► Socket ──► TLS
//!  (accepting thread)                          (its own thread and reactor)
//! ```
//!
//! A socket belongs to one worker from the moment it is registered with that worker's reactor;
//! before that it is a [`RawSocket`], which may cross threads freely.

pub mod clock;
pub mod joined;
pub mod limits;
pub mod listen;
pub mod memory;
pub mod patient;
pub mod post;
pub mod proxy_protocol;
pub mod socket;
pub mod tls;
pub mod watch;
pub mod worker;

pub use listen::Listener;
pub use socket::{Endpoint, RawSocket, Socket};
pub use worker::Workers;
