//! The model as a place where dialogues are played.

use std::io;
use std::rc::Rc;

use super::super::family::Family;
use super::super::model::Server;
use super::super::options::{Options, Rights};
use super::{Asks, Awaited, Place, Stream};

/// How much is on the way between a client and the model.
const PIPE_BYTES: usize = 1 << 20;

/// A fresh model of a family's server.
pub struct ModelPlace {
    /// The server.
    pub server: Rc<Server>,
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
        let own = |(user, password, rights): (&str, &str, Rights)| {
            (user.to_owned(), password.to_owned(), rights)
        };
        Self {
            server: Server::new(Options {
                accounts: ACCOUNTS.map(own).to_vec(),
                ..Options::new(family, 1)
            }),
        }
    }
}

impl Place for ModelPlace {
    fn family(&self) -> Family {
        self.server.family()
    }

    fn connect(&self, _user: &str) -> Awaited<'_, io::Result<Box<dyn Stream>>> {
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        tokio::task::spawn_local(Rc::clone(&self.server).serve(far));
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

    fn disk(&self) -> String {
        "/disk".to_owned()
    }

    fn is_waiting<'a>(&'a self, connection: u32, _root: &'a mut dyn Asks) -> Awaited<'a, bool> {
        Box::pin(async move { self.server.is_waiting(connection) })
    }
}
