//! A client on its way to a worker, and after its arrival there.

use std::sync::Arc;

use net::worker::Seat;
use net::{Endpoint, RawSocket};

/// A client that has connected and has sent nothing yet.
pub(crate) struct Arrival {
    pub socket: RawSocket,
    pub remote: Endpoint,
    /// Its place on the worker.
    pub seat: Seat,
    /// The configuration of its listener.
    pub listener: Arc<config::ListenerConfig>,
}

impl Arrival {
    /// Separates the client from its place, which is kept as long as the session lives.
    pub(crate) fn sit_down(self) -> (AcceptedClient, Seat) {
        let Arrival {
            socket,
            remote,
            seat,
            listener,
        } = self;
        let newcomer = AcceptedClient {
            socket,
            remote,
            listener,
        };
        (newcomer, seat)
    }
}

/// A client that was accepted and has its place on the worker.
pub(crate) struct AcceptedClient {
    pub socket: RawSocket,
    pub remote: Endpoint,
    /// The configuration of its listener.
    pub listener: Arc<config::ListenerConfig>,
}
