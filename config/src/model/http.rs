//! Settings of the HTTP port.

use std::net::{Ipv4Addr, SocketAddr};

use crate::address::HTTP_PORT;
use crate::define::{choices, settings};
use crate::{ListenAddress, Secret, Traits};

settings! {
    /// The tables of the admin port over HTTP, as JSON. It opens if the configuration has a user of the admin
    /// port or a `token`, or if `metrics` lets clients in without a login. See [HTTP](http.md).
    pub struct HttpConfig in [http], "HTTP port" {
        /// The addresses on which it listens; `[]`: none. An address that cannot be had is told in the log
        /// and left out: clients are served without it. TLS is as `client_tls` says.
        address: Vec<ListenAddress> = vec![ListenAddress::Tcp(SocketAddr::new(
            Ipv4Addr::LOCALHOST.into(),
            HTTP_PORT,
        ))], Traits::RESTART;

        /// A program that sends this (`Authorization: Bearer TOKEN`) may read everything, like the role
        /// `stats`. `"file:PATH"` reads it from a file, `"env:NAME"` from the environment. It is never shown.
        token: Option<Secret> = None, Traits::RELOAD;

        /// Names that it is called by on this machine besides `localhost` and its addresses, such as that of
        /// a web server in front of it. A request over a loopback address that calls it otherwise is
        /// refused: a page of another site may have sent it.
        names: Vec<String> = Vec::new(), Traits::RELOAD;

        /// The clients that may read `/metrics`. See [Metrics](metrics.md).
        metrics: MetricsReaders = MetricsReaders::Login, Traits::RELOAD;

        /// Connections to it at the same time.
        connections_max: usize = 256, Traits::RELOAD.within(1, 10_000);

        /// Clients that may read the change feed at the same time. Each has a thread of its own. See
        /// [Change feed](change-feed.md).
        change_readers_max: usize = 32, Traits::RELOAD.within(1, 1000);
    }
}

choices! {
    /// The clients that may read `/metrics`.
    pub enum MetricsReaders {
        /// Clients that log in, with a password or the token.
        Login = "login",
        /// Also clients that connect to a loopback address (127.0.0.1, ::1).
        Local = "local",
        /// All clients.
        Everybody = "everybody",
    }
}
