//! Limits of sessions, logins, packets and memory.

use std::time::Duration;

use super::units::{DAY, HOUR, MS, SECOND};
use crate::Traits;
use crate::define::{choices, settings};
use crate::machine_memory::default_memory_bytes_max;

settings! {
    /// Limits of sessions, logins and packets.
    pub struct LimitsConfig in [limits], "Limits" {
        /// Sessions in all, over all workers.
        sessions_max: usize = 20_000, Traits::RELOAD.within(1, 10_000_000);

        /// Sessions on each backend that sets no `sessions_max` of its own.
        backend_sessions_max: Option<u32> = None,
            Traits::RELOAD.within(1, 1_000_000).nothing("no limit");

        /// Bytes of clients and servers that the process keeps for all sessions together: statements that have not
        /// come whole, logins, long data, prepared texts and replies for scripts. Compressed frames count as long as
        /// they came until they are unpacked, and unpacked from then on. Pieces below 32 KiB do not count. Over it, new statements are refused with error 1037, or the session that keeps
        /// most ends.
        memory_bytes_max: u64 = default_memory_bytes_max(), Traits::RELOAD.within(1 << 20, 1 << 50)
            .nothing("no limit").default_text("three quarters of the memory of the machine or the container");

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

        /// How long a transaction may be idle: open, while its client sends nothing. After that the proxy ends it, so
        /// that its locks and its backend connection become free. A pooled session goes on, and its client gets an
        /// error for each statement until it ends the transaction. Any other session ends with its client's next
        /// statement, which gets the error. An account or a listener can have a limit of its own.
        timeout_idle_transaction: Duration = Duration::ZERO,
            Traits::RELOAD.within(SECOND, 365 * DAY).nothing("never");

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
