//! End-to-end tests: the real program in front of real servers.
//!
//! This library is what the tests in `tests/` are written with:
//!
//! - [`Server`] starts a MariaDB or MySQL server, [`Cluster`] a primary with replicas,
//!   [`Proxy`] the proxy itself; each in a folder of its own, on free ports, gone on drop.
//! - [`raw::RawConn`] speaks the protocol by hand and keeps a transcript of every packet, so that
//!   a conversation held directly and one held through the proxy can be compared byte by byte. It
//!   shares no code with the proxy: it is the oracle.
//! - [`page`] reads the manual.
//! - [`browser::Browser`] is a real browser without a window.
//! - [`http::Http`] sends plain HTTP requests.
//! - [`scripted::Scripted`] is a server that follows a script, for behaviour that no real server shows.
//! - [`Site`] is a place to connect to. A scenario is a function that takes a site, and
//!   [`everywhere`] runs it directly, then through transparent, pooled and scripted proxies.
//! - [`sized`] and [`chosen`] separate the checks of each change from the checks of the night.
#![allow(clippy::panic)] // a harness tells what went wrong by panicking

pub mod browser;
mod certs;
mod cluster;
pub mod collector;
mod companions;
mod dice;
pub mod http;
mod intruder;
mod kafka;
mod lease;
pub mod page;
mod pooled;
mod process;
mod product;
mod proxy;
pub mod raw;
mod ready;
mod relay;
mod scope;
pub mod scripted;
mod server;
mod site;
pub mod steps;
pub mod wait;
pub mod written;

pub use certs::{Certs, Identity};
pub use cluster::{
    Cluster, follow, position, primary_options, set_read_only, take_writes, wait_reached,
};
pub use dice::Dice;
pub use intruder::Intruder;
pub use kafka::{Kafka, KafkaTool};
pub use lease::{Leased, LeasedServer};
pub use pooled::{Held, Turn, pooled};
pub use process::{Folder, Process, Signal};
pub use product::{PASSWORD, Product, cache};
pub use proxy::{Proxy, Settings, program};
pub use ready::Ready;
pub use relay::{Cut, Relay};
pub use scope::{chosen, is_nightly, seed, sized};
pub use scripted::Scripted;
pub use server::{Server, free_port, has_ipv6};
pub use site::{Except, Site, Way, everywhere, shared};
