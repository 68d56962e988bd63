//! Dialogues within one process: parts of the proxy between a scripted client and scripted servers, without sockets and
//! without waiting. For tests of crates.
//!
//! ```text
//!   Peer ── End ═══ End ── PacketStream ── login, relay, lane, pool ── Socket::connect ── End ═══ End ── Peer
//!   (the scripted client)                  (what is tested)            (MemoryNetwork)     (a scripted server)
//! ```
//!
//! - [`play`] runs a dialogue on one thread under a paused clock: when every task waits, the clock jumps to the next timer;
//! - [`peer::Peer`] sends and receives payloads, or bytes that are no payloads;
//! - [`memory_network::MemoryNetwork`] takes the place of the kernel's network on the test's thread;
//! - [`environment::Environment`] is what a worker gives to logins and pools, over that network; [`pool_scene::PoolScene`] is a
//!   pool in it, whose connections are let in by a scripted server.
#![allow(clippy::panic, clippy::unwrap_used)] // a harness tells what went wrong by panicking

pub mod backends;
pub mod environment;
pub mod memory_network;
pub mod peer;
pub mod pool_scene;

use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tokio::time::timeout;

/// The longest that a dialogue may take, on its paused clock. A dialogue that waits for nothing fails at this limit.
const LONGEST: Duration = Duration::from_secs(900);

/// Runs a dialogue on one thread, under a clock that stands still while a task can run.
///
/// # Panics
/// The dialogue panics, or exceeds the time limit because it waits for an event that never happens.
pub fn play(dialogue: impl Future<Output = ()>) {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let played = LocalSet::new().block_on(&runtime, async { timeout(LONGEST, dialogue).await });
    assert!(
        played.is_ok(),
        "the dialogue waits for something that never comes"
    );
}

/// Lets all other tasks run until each of them waits. A millisecond passes, which is the runtime's shortest time.
pub async fn settle() {
    // The paused clock moves only when every task waits.
    tokio::time::sleep(Duration::from_nanos(1)).await;
}
