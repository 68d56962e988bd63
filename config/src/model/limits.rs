//! What the proxy puts up with.

use std::time::Duration;

use super::{Config, DAY, HOUR, MS, SECOND};
use crate::Traits;
use crate::define::{choices, settings};

settings! {
    /// Limits of sessions, logins and packets.
    pub struct LimitsConfig in Config [limits], "Limits" {
        /// Sessions in all, over all workers.
        sessions_max: usize = 20_000, Traits::RELOAD.within(1, 10_000_000);

        /// Sessions on each backend that sets no `sessions_max` of its own.
        backend_sessions_max: Option<u32> = None,
            Traits::RELOAD.within(1, 1_000_000).nothing("no limit");

        /// The answer to a client over one of these two limits.
        over_limit: OverLimit = OverLimit::Refuse, Traits::RELOAD;

        /// How long a client waits under `over_limit = "wait"` before it gets error 1040.
        timeout_over_limit: Duration = Duration::from_secs(10), Traits::RELOAD.within(MS, HOUR);

        /// Time from a client's connect to the end of its login.
        timeout_login: Duration = Duration::from_secs(10), Traits::RELOAD.within(100 * MS, HOUR);

        /// Logins from one host that may fail in a row; then the proxy refuses the host with error 1129, until
        /// `FLUSH HOSTS` on the admin port or a restart. A refused password, a broken login and one that is not
        /// finished in time count, so a load balancer's check that only connects counts as well. It is the
        /// counterpart of the servers' `max_connect_errors`.
        connect_errors_max: Option<u32> = None,
            Traits::RELOAD.within(1, 1_000_000_000).nothing("no host is blocked");

        /// Time a session may be idle before it is closed.
        timeout_idle: Duration = Duration::ZERO,
            Traits::RELOAD.within(SECOND, 365 * DAY).nothing("never, the server's wait_timeout decides");

        /// How long a statement may go on without a byte of its reply after its client has closed its side of the
        /// connection. A client that only closes its sending side still gets the whole reply. A client that is gone
        /// looks the same until bytes are sent to it, and its statement is ended after this time.
        timeout_half_closed: Duration = Duration::from_secs(5),
            Traits::RELOAD.within(SECOND, HOUR).nothing("the statement is ended at once");

        /// Largest payload a client may send, in bytes.
        packet_bytes_max: u64 = 1 << 30, Traits::RELOAD.within(1 << 10, 1 << 40);
    }
}

choices! {
    /// What a client over a limit gets.
    pub enum OverLimit {
        /// Error 1040 "Too many connections" at once.
        Refuse = "refuse",
        /// It waits for a place, `timeout_over_limit` at most.
        Wait = "wait",
    }
}
