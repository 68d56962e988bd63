//! The model as a place where dialogues are played.

use std::cell::OnceCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use super::super::family::Family;
use super::super::model::Server;
use super::super::options::{Options, Rights};
use super::{Asks, Awaited, Blow, Host, Place, Stream};

/// How much is on the way between a client and the model.
const PIPE_BYTES: usize = 1 << 20;

/// A fresh model of a family's server.
pub struct ModelPlace {
    /// The server.
    pub server: Rc<Server>,
    /// Its replica, from the first connection to it on.
    replica: OnceCell<Rc<Server>>,
}

/// The accounts that dialogues use, with their passwords.
pub const ACCOUNTS: [(&str, &str, Rights); 3] = [
    ("root", "", Rights::Administrator),
    ("app", "a s3cret with spaces", Rights::Administrator),
    ("plain", "secret", Rights::Application),
];

impl ModelPlace {
    /// A server without schemas.
    pub fn new(family: Family) -> Self {
        Self::of(server(family, 1))
    }

    /// This server.
    pub fn of(server: Rc<Server>) -> Self {
        Self {
            server,
            replica: OnceCell::new(),
        }
    }

    fn replica(&self) -> &Rc<Server> {
        self.replica.get_or_init(|| {
            let replica = server(self.family(), 2);
            replica.follow(Some(&self.server), Duration::ZERO);
            replica.set_read_only(true);
            replica
        })
    }
}

fn server(family: Family, id: u32) -> Rc<Server> {
    let own = |(user, password, rights): (&str, &str, Rights)| {
        (user.to_owned(), password.to_owned(), rights)
    };
    Server::new(Options {
        accounts: ACCOUNTS.map(own).to_vec(),
        ..Options::new(family, id)
    })
}

impl Place for ModelPlace {
    fn family(&self) -> Family {
        self.server.family()
    }

    fn connect(&self, _user: &str, host: Host) -> Awaited<'_, io::Result<Box<dyn Stream>>> {
        let server = match host {
            Host::Source => &self.server,
            Host::Replica => self.replica(),
        };
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        tokio::task::spawn_local(Rc::clone(server).serve(far));
        Box::pin(async move { Ok(Box::new(near) as Box<dyn Stream>) })
    }

    fn password(&self, user: &str) -> String {
        let account = ACCOUNTS.iter().find(|it| it.0 == user);
        account.map_or("", |it| it.1).to_owned()
    }

    fn pause(&self) -> Awaited<'_, ()> {
        Box::pin(tokio::task::yield_now())
    }

    fn fill_disk(&self, full: bool) {
        self.server.fill_disk(full);
    }

    fn strike(&self, blow: Blow) {
        match blow {
            Blow::ShutDown => self.server.shut_down(),
            Blow::Crash => self.server.crash(),
            Blow::Start => self.server.start(),
            Blow::StopReplica => self.replica().stop_replica(),
            Blow::StartReplica => self.replica().start_replica(),
        }
    }

    fn disk(&self) -> String {
        "/disk".to_owned()
    }

    fn is_waiting<'a>(&'a self, connection: u32, _root: &'a mut dyn Asks) -> Awaited<'a, bool> {
        Box::pin(async move { self.server.is_waiting(connection) })
    }
}
