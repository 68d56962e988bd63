//! End-to-end tests: the real program in front of real servers.
//!
//! This library is what the tests in `tests/` are written with:
//!
//! - [`Server`] starts a MariaDB or MySQL server, [`Replicated`] a primary with replicas,
//!   [`Proxy`] the proxy itself; each in a folder of its own, on free ports, gone on drop.
//! - [`raw::RawConn`] speaks the protocol by hand and keeps a transcript of every packet, so that
//!   a conversation held directly and one held through the proxy can be compared byte by byte. It
//!   shares no code with the proxy: it is the oracle.
//! - [`scripted::Scripted`] is a server that says what it is told to, for what no real one says.
//! - [`Site`] is a place to connect to; a scenario is a function over it, and
//!   [`everywhere`] runs it directly, then through the proxy with TLS on neither, either and both
//!   sides.
#![allow(clippy::panic)] // a harness tells what went wrong by panicking

mod certs;
mod process;
mod product;
mod proxy;
pub mod raw;
mod replicated;
pub mod scripted;
mod server;
mod site;
pub mod wait;

pub use certs::{Certs, Identity};
pub use process::{Folder, Process, Signal};
pub use product::{PASSWORD, Product};
pub use proxy::{Proxy, Settings, program};
pub use replicated::{Replicated, follow, position, primary_options, wait_reached};
pub use scripted::Scripted;
pub use server::{Server, free_port, has_ipv6};
pub use site::{Site, everywhere};
