//! Connections within one process: for simulations, and for tests of sessions without sockets.
//!
//! ```text
//!  Socket::connect(endpoint) ──► the thread's Network, if it has one ──► Socket::Memory
//!                            └─► else the kernel ──► Socket::Tcp, Socket::Unix
//! ```

use std::cell::RefCell;
use std::fmt::Debug;
use std::io;
use std::pin::Pin;
use std::rc::Rc;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::Endpoint;

/// One end of a connection within the process.
pub trait MemoryStream: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin {
    /// The other side's address.
    ///
    /// # Errors
    /// The connection was reset.
    fn remote_address(&self) -> io::Result<Endpoint>;

    /// This side's address.
    ///
    /// # Errors
    /// The connection was reset.
    fn local_address(&self) -> io::Result<Endpoint>;

    /// Whether the other side has neither closed nor sent anything that was not read.
    fn is_silent(&self) -> bool;

    /// Closes at once: what is unsent is dropped, and the other side sees a reset.
    fn abort(self: Box<Self>);
}

/// A connection that is being made.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn MemoryStream>>> + Send>>;

/// The network that a thread's connections use in place of the kernel's.
pub trait Network {
    /// Begins a connection to `endpoint`.
    fn connect(&self, endpoint: &Endpoint) -> Connecting;
}

thread_local! {
    static NETWORK: RefCell<Option<Rc<dyn Network>>> = const { RefCell::new(None) };
}

/// Sets this thread's network, in place of the kernel's, until the returned value is dropped.
#[must_use]
pub fn use_network(network: Rc<dyn Network>) -> NetworkInUse {
    NetworkInUse {
        before: NETWORK.replace(Some(network)),
    }
}

/// The thread has a network of its own until this is dropped.
pub struct NetworkInUse {
    before: Option<Rc<dyn Network>>,
}

impl Drop for NetworkInUse {
    fn drop(&mut self) {
        drop(NETWORK.replace(self.before.take()));
    }
}

/// Begins a connection over this thread's network; `None` if it has none.
pub(crate) fn connect(endpoint: &Endpoint) -> Option<Connecting> {
    NETWORK.with_borrow(|network| network.as_ref().map(|network| network.connect(endpoint)))
}
