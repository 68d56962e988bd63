//! Settings of the admin port.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::units::{DAY, MS};
use crate::address::ADMIN_PORT;
use crate::define::{choices, settings};
use crate::{ListenAddress, Secret, Traits};

settings! {
    /// The port on which any MySQL client can look at the proxy, with SQL. It opens if the configuration has
    /// a user for it: `username`, or an `[[admin_account]]`. See [The admin port](admin.md).
    pub struct AdminConfig in [admin], "Admin port" {
        /// The addresses on which it listens. An address that cannot be had is told in the log and left out:
        /// clients are served without it. TLS is as `client_tls` says.
        address: Vec<ListenAddress> = vec![ListenAddress::Tcp(SocketAddr::new(
            Ipv4Addr::LOCALHOST.into(),
            ADMIN_PORT,
        ))], Traits::RESTART;

        /// A user of the admin port's own, with the role `admin`. Others are given as
        /// `[[admin_account]]`.
        username: Option<String> = None, Traits::RELOAD;

        /// The password of `username`. `"file:PATH"` reads it from a file, `"env:NAME"` from the
        /// environment. It is never shown.
        password: Option<Secret> = None, Traits::RELOAD;

        /// A Lua script in the way of MySQL Proxy's `admin-lua-script`: the answer of its `read_query` is the
        /// answer. If it gives none, the tables answer. See [The admin port](admin.md#a-script-of-your-own).
        script: Option<PathBuf> = None, Traits::RESTART;

        /// Connections to it at the same time.
        connections_max: usize = 100, Traits::RELOAD.within(1, 10_000);

        /// How long a statement may take there.
        timeout_statement: Duration = Duration::from_secs(10), Traits::RELOAD.within(10 * MS, DAY);

        /// Rows that a result may have; a statement with more of them fails. Fewer than a thousand would fail what
        /// clients ask on connecting.
        rows_max: usize = 100_000, Traits::RELOAD.within(1000, 10_000_000);
    }
}

settings! {
    /// Users of the admin port, one `[[admin_account]]` table for each. They are the proxy's own: no
    /// backend knows them, and no client of the proxy's is one.
    pub struct AdminAccountConfig in [[admin_account]], "Admin accounts" {
        /// The user's name; unique.
        user: String = String::new(), Traits::RELOAD.required();

        /// The password, which may not be empty. `"file:PATH"` reads it from a file, `"env:NAME"` from
        /// the environment. It is never shown.
        password: Option<Secret> = None, Traits::RELOAD.required();

        /// The role of the user.
        role: AdminRole = AdminRole::Stats, Traits::RELOAD;
    }
}

choices! {
    /// What a user of the admin port may do.
    pub enum AdminRole {
        /// Look at everything.
        Stats = "stats",
        /// End sessions and statements, change the configuration, and read the change feed.
        Admin = "admin",
        /// Read the [change feed](change-feed.md) over HTTP, and nothing else.
        Changes = "changes",
    }
}
