//! The servers behind the proxy.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::units::DAY;
use crate::address::BACKEND_PORT;
use crate::define::{choices, settings};
use crate::{BackendAddress, Traits};

settings! {
    /// The servers behind the proxy, one `[[backend]]` table for each. `--backend` and
    /// `--read-only-backend` on the command line replace all that the file has.
    pub struct BackendConfig in [[backend]], "Backends" {
        /// Its name in logs and errors.
        name: String = String::new(), Traits::RELOAD.default_text("the address");

        /// Its address: a name or IP address with its port (3306 unless given), or the path of a Unix socket.
        address: BackendAddress = BackendAddress::Tcp {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: BACKEND_PORT,
        }, Traits::RELOAD.required();

        /// The cluster it belongs to: backends that replicate one another, in which statements may
        /// go to one as well as to another.
        cluster: String = "main".to_owned(), Traits::RELOAD;

        /// Its role among the servers that replicate one another.
        role: Role = Role::Primary, Traits::RELOAD;

        /// Whether it is meant to take writes beside other primaries of its cluster from which it does not
        /// replicate. Without it the proxy warns of several primaries: in the log, on the page and in the
        /// admin table `backends`.
        independent: bool = false, Traits::RELOAD;

        /// Its share of sessions and statements, relative to the others'.
        weight: u32 = 1, Traits::RELOAD.within(1, 1_000_000);

        /// The zone it is in, compared with the proxy's own `zone`.
        zone: Option<String> = None, Traits::RELOAD;

        /// Names by which rules choose it.
        tags: Vec<String> = Vec::new(), Traits::RELOAD;

        /// How far it may lag behind its primary, as a replica, before statements are kept from it.
        /// The servers count whole seconds; `"0s"` is no limit.
        lag_max: Option<Duration> = None,
            Traits::RELOAD.within(0, 365 * DAY).default_text("what `balance.lag_max` says");

        /// Whether it is to become free: true gives it no new session and no new statement. Running
        /// statements and sessions end there in their own time.
        drain: bool = false, Traits::RELOAD;

        /// Whether it is out of use: true has all that runs there end at once. The proxy cuts statements and
        /// transactions, ends pinned and relayed sessions, and closes connections. Each client gets an error.
        /// It is still probed.
        disable: bool = false, Traits::RELOAD;

        /// Sessions it may carry at the same time.
        sessions_max: Option<u32> = None, Traits::RELOAD
            .within(1, 1_000_000)
            .nothing("`limits.backend_sessions_max` holds");
    }
}

choices! {
    /// What a server is among those that replicate one another.
    pub enum Role {
        /// Takes writes.
        Primary = "primary" also "rw" | "master",
        /// Follows a primary; `--read-only-backend`.
        Replica = "replica" also "ro" | "slave" | "read_only",
        /// Asked with `health.monitor_user`: a server that is `read_only` is a replica. Of several
        /// in one cluster that are not, one is the primary: it stays so while it is up and
        /// writable.
        Auto = "auto",
    }
}

impl BackendConfig {
    /// A backend with everything else at its default, named after its address.
    pub fn new(address: BackendAddress, role: Role) -> Self {
        Self {
            name: address.to_string(),
            address,
            role,
            ..Self::default()
        }
    }
}
