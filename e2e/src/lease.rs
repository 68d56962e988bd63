//! Clusters that tests use one after the other. Starting three servers takes longer than most tests do; a cluster
//! that a test has left as it was handed out serves the next one.

mod restoring;
mod state;

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use crate::cluster::Cluster;
use crate::product::Product;
use crate::server::Server;
use restoring::{leave_alone, restore};
use state::{State, servers};

/// The largest number of clusters and single servers that wait for their next test. More would only take memory.
const WAITING_MAX: usize = 8;

/// The waiting clusters. The first has waited longest.
static WAITING: Mutex<Vec<Used>> = Mutex::new(Vec::new());

/// A cluster leased to one test. If the test fails, its servers are stopped, and their folders are kept.
#[derive(Debug)]
pub struct Leased(Option<Used>);

/// A cluster, and the state of its servers at their start.
#[derive(Debug)]
struct Used {
    cluster: Cluster,
    kind: Kind,
    states: Vec<State>,
}

/// The parameters that a cluster is started with. A test gets a cluster of the kind that it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kind {
    product: Product,
    replicas: u32,
    options: Vec<String>,
}

impl Kind {
    fn of(product: Product, replicas: u32, options: &[&str]) -> Self {
        Self {
            product,
            replicas,
            options: options.iter().map(|&option| option.to_owned()).collect(),
        }
    }

    fn start(self) -> Used {
        let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        let cluster = match self.replicas {
            0 => Cluster::alone(Server::start(self.product, &options)),
            _ => Cluster::start_with(self.product, self.replicas, &options),
        };
        let states = servers(&cluster).map(State::of).collect::<Option<_>>();
        Used {
            cluster,
            kind: self,
            states: states.expect("a server that has just started answers"),
        }
    }
}

impl Cluster {
    /// A primary and this number of replicas of a product, without schemas, in the same state as a cluster of
    /// [`Cluster::start`]. Without replicas: a server in the same state as one of [`Server::start`]. A test may change
    /// anything, and end servers. If the change cannot be undone, the next test starts its own servers.
    pub fn lease(product: Product, replicas: u32) -> Leased {
        Self::lease_with(product, replicas, &[])
    }

    /// Like [`Self::lease`], with more options for the command lines of its servers.
    pub fn lease_with(product: Product, replicas: u32, options: &[&str]) -> Leased {
        let kind = Kind::of(product, replicas, options);
        while let Some(mut used) = Used::take(&kind) {
            if restore(&mut used.cluster, &used.states).is_some() {
                return Leased(Some(used));
            }
        }
        Leased(Some(kind.start()))
    }
}

impl Server {
    /// A server without more options, as [`Server::start`] returns it, but counters such as those of SHOW GLOBAL STATUS
    /// may differ. No other test uses it meanwhile. A test may change anything, as with [`Cluster::lease`].
    pub fn lease(product: Product) -> LeasedServer {
        Self::lease_with(product, &[])
    }

    /// Like [`Self::lease`], with other values of global variables, which are restored before the next test.
    pub fn lease_set(product: Product, variables: &[(&str, &str)]) -> LeasedServer {
        let server = Self::lease(product);
        let mut root = server.root();
        for (name, value) in variables {
            root.run(&format!("SET GLOBAL {name} = {value}"));
        }
        server
    }

    /// Like [`Self::lease`], with options. If the server writes a binary log, the log begins anew.
    pub fn lease_with(product: Product, options: &[&str]) -> LeasedServer {
        LeasedServer(Cluster::lease_with(product, 0, options))
    }
}

/// A single server leased to one test.
#[derive(Debug)]
pub struct LeasedServer(Leased);

impl Deref for LeasedServer {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0.primary
    }
}

impl DerefMut for LeasedServer {
    fn deref_mut(&mut self) -> &mut Server {
        &mut self.0.primary
    }
}

impl Deref for Leased {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.0.as_ref().expect("it is there until the drop").cluster
    }
}

impl DerefMut for Leased {
    fn deref_mut(&mut self) -> &mut Cluster {
        &mut self.0.as_mut().expect("it is there until the drop").cluster
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        if let Some(used) = &self.0 {
            leave_alone(&used.cluster);
        }
        let Ok(mut waiting) = WAITING.lock() else {
            return;
        };
        waiting.extend(self.0.take());
        let too_many = waiting.len().saturating_sub(WAITING_MAX);
        let given_up: Vec<Used> = waiting.drain(..too_many).collect();
        // Ending servers takes a while, so the lock is released first.
        drop(waiting);
        drop(given_up);
    }
}

impl Used {
    fn take(kind: &Kind) -> Option<Self> {
        let mut waiting = WAITING.lock().ok()?;
        let index = waiting.iter().position(|it| it.kind == *kind)?;
        Some(waiting.remove(index))
    }
}
