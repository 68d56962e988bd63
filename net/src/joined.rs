//! TCP connections that the kernel joins: it passes the bytes of one to the other, and the proxy's thread sleeps.
//!
//! ```text
//!   bpf ◄── program   what becomes of a piece of bytes that a socket receives
//!       ◄── notices   the ring in which the program names sockets whose bytes the proxy is to read
//!       ◄── joiner    the maps of a worker: two sockets are joined, their bytes are counted
//!   joiner ◄── waiter ◄── joined_relay   two connections from their joining to their ends
//! ```
//!
//! It needs Linux 5.13, CAP_BPF and CAP_NET_ADMIN. If one of them is missing, [`waiter::JoinWaiter::new`] returns the
//! kernel's error, and the caller relays the bytes itself.

mod bpf;
pub mod joined_relay;
pub mod joiner;
mod notices;
mod program;
pub mod waiter;
