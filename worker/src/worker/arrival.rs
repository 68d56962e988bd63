//! A client on its way to a worker, and there.

use std::sync::Arc;

use net::worker::Seat;
use net::{Endpoint, RawSocket};

/// A client that has connected and nothing more.
pub(crate) struct Arrival {
    pub socket: RawSocket,
    pub remote: Endpoint,
    /// Its place on the worker.
    pub seat: Seat,
    /// What is configured of its listener.
    pub listener: Arc<config::ListenerConfig>,
}

impl Arrival {
    /// The place is kept for as long as the session lives, whatever becomes of the rest.
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

/// A client that was accepted and has its permit.
pub(crate) struct AcceptedClient {
    pub socket: RawSocket,
    pub remote: Endpoint,
    /// What is configured of its listener.
    pub listener: Arc<config::ListenerConfig>,
}
