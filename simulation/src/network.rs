//! A network within one thread: hosts connect to endpoints, and bytes arrive when the world wants it.
//!
//! ```text
//!  connect(from, endpoint) ──► the acceptor that listens there ──► two ends of a connection
//!                                                                  each way a pipe, with the faults of its link
//! ```
//!
//! A link is a pair of hosts. The world decides for each link how long bytes take, in how small pieces they come, at
//! which byte a connection is reset, and whether anything passes at all.

mod pipe;
mod stream;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use net::Endpoint;
use net::memory::{Connecting, MemoryStream, Network};

use crate::seed::Dice;
use stream::Connection;
pub use stream::End;

/// How a link treats what passes over it.
#[derive(Clone, Debug, Default)]
pub struct Weather {
    /// How long bytes take, one way.
    pub delay: Duration,
    /// One read in so many gets only a part of what there is; 0: none.
    pub splits: u64,
    /// Each read gets one byte.
    pub is_bytewise: bool,
    /// One connection in so many is reset at a byte that chance decides; 0: none.
    pub resets: u64,
    /// No bytes pass, and neither side sees an error.
    pub is_cut: bool,
}

/// Takes connections to an endpoint.
pub type Acceptor = Rc<dyn Fn(End, SocketAddr)>;

/// All hosts, their links and their connections.
pub struct Hosts {
    state: RefCell<State>,
}

struct State {
    dice: Dice,
    acceptors: BTreeMap<SocketAddr, Acceptor>,
    weather: BTreeMap<(IpAddr, IpAddr), Weather>,
    fair: Weather,
    connections: Vec<Weak<Mutex<Connection>>>,
    /// The next port of a connecting side.
    port: u16,
}

impl Hosts {
    /// Returns a network without listeners.
    pub fn new(dice: Dice) -> Rc<Self> {
        Rc::new(Self {
            state: RefCell::new(State {
                dice,
                acceptors: BTreeMap::new(),
                weather: BTreeMap::new(),
                fair: Weather::default(),
                connections: Vec::new(),
                port: 10_000,
            }),
        })
    }

    /// Has `acceptor` take the connections to `address`.
    pub fn listen(&self, address: SocketAddr, acceptor: Acceptor) {
        self.state.borrow_mut().acceptors.insert(address, acceptor);
    }

    /// Removes the listener of `address`: connections to it are refused.
    pub fn close(&self, address: SocketAddr) {
        self.state.borrow_mut().acceptors.remove(&address);
    }

    /// Sets the weather of all links that have no weather of their own.
    pub fn set_fair_weather(&self, weather: Weather) {
        self.state.borrow_mut().fair = weather;
    }

    /// Sets the weather of the link between two hosts, also for open connections.
    pub fn set_weather(&self, from: IpAddr, to: IpAddr, weather: Weather) {
        let mut state = self.state.borrow_mut();
        for connection in state.of_link(from, to) {
            locked(&connection).set_weather(&weather);
        }
        state.weather.insert((from, to), weather);
    }

    /// Returns the weather of the link between two hosts.
    pub fn weather(&self, from: IpAddr, to: IpAddr) -> Weather {
        self.state.borrow().weather_of(from, to)
    }

    /// Resets all connections between two hosts.
    pub fn reset(&self, from: IpAddr, to: IpAddr) {
        let connections = self.state.borrow_mut().of_link(from, to);
        for connection in connections {
            locked(&connection).reset();
        }
    }

    /// Connects the host `from` to `to`.
    pub fn connect_from(self: &Rc<Self>, from: IpAddr, to: SocketAddr) -> io::Result<Option<End>> {
        let (acceptor, near, far, client) = {
            let mut state = self.state.borrow_mut();
            let weather = state.weather_of(from, to.ip());
            if weather.is_cut {
                return Ok(None);
            }
            let Some(acceptor) = state.acceptors.get(&to).cloned() else {
                return Err(io::ErrorKind::ConnectionRefused.into());
            };
            let client = SocketAddr::new(from, state.port);
            state.port = state.port.checked_add(1).unwrap_or(10_000);
            let dice = state.dice.split();
            let (near, far, connection) = End::pair(client, to, &weather, dice);
            state.remember(&connection);
            (acceptor, near, far, client)
        };
        acceptor(far, client);
        Ok(Some(near))
    }
}

impl State {
    fn weather_of(&self, from: IpAddr, to: IpAddr) -> Weather {
        let of_link = self.weather.get(&(from, to));
        of_link.unwrap_or(&self.fair).clone()
    }

    fn remember(&mut self, connection: &Arc<Mutex<Connection>>) {
        if self.connections.len() >= 64 && self.connections.len().is_power_of_two() {
            self.connections.retain(|it| it.strong_count() > 0);
        }
        self.connections.push(Arc::downgrade(connection));
    }

    fn of_link(&mut self, from: IpAddr, to: IpAddr) -> Vec<Arc<Mutex<Connection>>> {
        self.connections.retain(|it| it.strong_count() > 0);
        let all = self.connections.iter().filter_map(Weak::upgrade);
        all.filter(|it| locked(it).is_between(from, to)).collect()
    }
}

/// The network, seen from one host that connects.
pub struct Host {
    /// The network.
    pub hosts: Rc<Hosts>,
    /// The host's address.
    pub address: IpAddr,
}

impl Network for Host {
    fn connect(&self, endpoint: &Endpoint) -> Connecting {
        let Endpoint::Tcp(address) = endpoint else {
            return Box::pin(async { Err(io::ErrorKind::NotFound.into()) });
        };
        let delay = self.hosts.weather(self.address, address.ip()).delay;
        let connected = self.hosts.connect_from(self.address, *address);
        Box::pin(async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay * 2).await;
            }
            match connected {
                Ok(Some(end)) => Ok(Box::new(end) as Box<dyn MemoryStream>),
                Ok(None) => std::future::pending().await,
                Err(error) => Err(error),
            }
        })
    }
}

/// Locks a mutex. If another holder has panicked, the world ends anyway.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
