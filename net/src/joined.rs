//! TCP connections that the kernel joins: it passes the bytes of one to the other, and the proxy's thread sleeps.
//!
//! ```text
//!   assembly ◄── program
//!   bpf ◄── program   what becomes of a piece of bytes that a socket receives
//!       ◄── notices   the ring in which the program names sockets whose bytes the proxy is to read
//!   tcp ◄── joiner    the maps of a worker: two sockets are joined, their bytes are counted
//!   joiner ◄── trial    whether the kernel of this machine shows the program what it needs
//!          ◄── waiter ◄── joined_relay   two connections from their joining to their ends
//! ```
//!
//! It needs Linux 6.4, CAP_BPF and CAP_NET_ADMIN. If one of them is missing, [`waiter::JoinWaiter::new`] returns the
//! kernel's error, and the caller relays the bytes itself.

mod assembly;
mod bpf;
pub mod joined_relay;
pub mod joiner;
mod notices;
mod program;
mod tcp;
mod trial;
pub mod waiter;
