//! The pool of backend connections that sessions share, and for how long a session keeps one.

use std::time::Duration;

use super::units::{DAY, HOUR, MS, SECOND};
use crate::Traits;
use crate::define::{choices, settings};

settings! {
    /// Backend connections that sessions share. Only sessions whose login the proxy answers itself
    /// take part, see [Accounts](accounts.md); the page [Pooling](pooling.md) says what sharing
    /// means to an application.
    pub struct PoolConfig in [pool], "Pool" {
        /// Whether the proxy answers a plain `BEGIN` itself, and sends it with the transaction's first statement:
        /// before a statement that only reads, in the same write. The same holds for `SET autocommit = 0`. `false`
        /// sends both at once. See [Pooling](pooling.md#transactions).
        defer_begin: bool = true, Traits::RELOAD;

        /// Pooled connections to one backend, over all workers and accounts. A session that finds none free
        /// waits for one.
        backend_connections_max: u32 = 100, Traits::RELOAD.within(1, 1_000_000);

        /// The same for one account on one backend, so that none takes all.
        account_connections_max: Option<u32> = None,
            Traits::RELOAD.within(1, 1_000_000).nothing("no limit of its own");

        /// How many of a backend's connections idle sessions of one account may keep while another account waits, in
        /// percent: in transactions, or [pinned](pooling.md#what-pins). Sessions above that give theirs up. An account
        /// that keeps half as many gets no connection beyond it while other accounts have sessions.
        account_kept_percent_max: u32 = 80, Traits::RELOAD.within(1, 100);

        /// Whether the proxy limits how many statements run on a backend at once, over all workers and accounts, and finds
        /// the limit by trying which one gives the most. Beyond it a transaction of a pooled session waits in a queue before it
        /// begins; one that has begun goes on. See [Pooling](pooling.md#statements-at-once).
        adaptive_limit: bool = true, Traits::RELOAD;

        /// The least that `adaptive_limit` allows. With the same `adaptive_limit_max` the limit is fixed.
        adaptive_limit_min: u32 = 4, Traits::RELOAD.within(1, 1_000_000);

        /// The most that `adaptive_limit` allows.
        adaptive_limit_max: u32 = 1_000, Traits::RELOAD.within(1, 1_000_000);

        /// A statement that has run for this long does not count for `adaptive_limit` any more. Others need not wait for one
        /// that reads much, or that waits for a lock.
        adaptive_limit_counts_for: Duration = Duration::from_millis(100), Traits::RELOAD.within(10 * MS, HOUR);

        /// Idle connections kept open ahead of need, in each worker, to each backend, for each
        /// account that has sessions.
        connections_min: u32 = 0, Traits::RELOAD.within(1, 1_000).nothing("none");

        /// Sessions of one account that may wait for a connection to one backend in one worker.
        /// One more gets an error at once.
        waiters_max: usize = 10_000, Traits::RELOAD.within(1, 10_000_000).nothing("no session waits");

        /// How long a statement waits for a connection before its client gets an error. Sessions are served
        /// in the order in which they came.
        timeout_wait: Duration = Duration::from_secs(10), Traits::RELOAD.within(MS, HOUR);

        /// A connection that no session used for this long is closed, down to `connections_min`. Keep it
        /// below the servers' `wait_timeout`.
        timeout_idle: Duration = Duration::from_secs(5 * 60),
            Traits::RELOAD.within(SECOND, 365 * DAY).nothing("never");

        /// A connection older than this is closed as soon as no session has it. Each one's age is shortened
        /// by up to a tenth, so that those opened together do not go together.
        age_max: Duration = Duration::from_secs(60 * 60),
            Traits::RELOAD.within(SECOND, 365 * DAY).nothing("no limit");

        /// A connection that logged in longer ago than this is closed as soon as no session has it, as by
        /// `age_max`. A server reads most privileges at the login. So this is how long a session may have
        /// privileges that were changed past the proxy.
        login_age_max: Duration = Duration::from_secs(60),
            Traits::RELOAD.within(SECOND, 365 * DAY).nothing("no limit of its own");

        /// An idle connection that was neither used nor pinged for this long is pinged, so that the proxy
        /// notices a dead connection before a session gets it.
        ping_interval: Duration = Duration::from_secs(30),
            Traits::RELOAD.within(SECOND, DAY).nothing("never");

        /// How often the proxy reads a backend's global variables from which sessions inherit. A `SET GLOBAL`
        /// through the proxy holds for new sessions at once. One that is made past the proxy holds for them
        /// after this time. Without it a change takes effect after `login_age_max`.
        globals_interval: Duration = Duration::from_secs(1),
            Traits::RELOAD.within(SECOND, DAY).nothing("never");

        /// Connections opened to one backend in a second, in the long run. Each worker has an even
        /// share of it, at least one.
        opens_per_second: u32 = 100, Traits::RELOAD.within(1, 1_000_000);

        /// Connections that may be opened to one backend at once after a quiet time. Each worker
        /// has an even share of it, at least one.
        opens_burst: u32 = 20, Traits::RELOAD.within(1, 1_000_000);

        /// Statements kept prepared on one backend connection; beyond that the one unused for
        /// longest is closed. All connections of a backend together should stay below its
        /// `max_prepared_stmt_count`, 16,382 unless set.
        prepared_max: usize = 200, Traits::RELOAD.within(1, 1_000_000);

        /// The longest statement, in bytes, that is read before it is sent on. A longer one passes
        /// through unread, and pins its session (`large_statement`).
        statement_bytes_max: u64 = 16 << 20, Traits::RELOAD.within(1 << 10, 1 << 30);

        /// Long data of prepared statements (`COM_STMT_SEND_LONG_DATA`) that a session may leave with the
        /// proxy until it executes them, in bytes.
        long_data_bytes_max: u64 = 64 << 20, Traits::RELOAD.within(1 << 10, 1 << 34);
    }
}

choices! {
    /// For how long a session keeps a backend connection; the longest comes first.
    pub enum SessionMode {
        /// From its login to its end: client and backend connection stay together.
        Transparent = "transparent",
        /// From a transaction's first statement to its end. With autocommit off that is from the
        /// first statement to COMMIT or ROLLBACK; with autocommit on, a statement outside a
        /// transaction is a transaction of its own.
        Transaction = "transaction",
        /// Until a statement after which the server says that no transaction is open, whatever
        /// autocommit is.
        Statement = "statement",
        /// As `"transparent"`, and the kernel passes the bytes after the login: the proxy sees no statement. Only a listener
        /// may say it. See [Sessions in the kernel](kernel-sessions.md).
        Kernel = "kernel",
    }
}

impl SessionMode {
    /// For how long a session keeps a backend connection, whatever passes its bytes.
    pub fn held(self) -> Self {
        match self {
            Self::Kernel => Self::Transparent,
            Self::Transparent | Self::Transaction | Self::Statement => self,
        }
    }
}

choices! {
    /// Which statements use shared lanes: connections with statements of several sessions in flight.
    pub enum LaneUse {
        /// None: each has a connection of its own as long as it runs.
        Off = "off",
        /// Reads outside of transactions that depend on nothing but data, in sessions that nothing
        /// pins, if statements with the same digest are known to be short.
        Reads = "reads",
    }
}
