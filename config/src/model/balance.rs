//! Which backend of a cluster a session or a statement gets.

use std::time::Duration;

use super::units::{DAY, HOUR, MINUTE, MS, SECOND};
use crate::Traits;
use crate::define::{choices, settings};

settings! {
    /// Which backend a session or a statement gets. See [Balancing and failover](balancing.md) and
    /// [Clusters and replicas](clusters.md).
    pub struct BalanceConfig in [balance], "Balance" {
        /// How a session's backend is picked among those that are up.
        policy: BalancePolicy = BalancePolicy::FewestSessions, Traits::RELOAD;

        /// How a statement's backend is picked among those that would do.
        reads: ReadPolicy = ReadPolicy::FewestInFlight, Traits::RELOAD;

        /// How far a replica may lag behind its primary before statements are kept from it. It
        /// needs `health.monitor_user`. The servers count whole seconds. A replica whose
        /// replication has stopped lags without end.
        lag_max: Duration = Duration::ZERO,
            Traits::RELOAD.within(SECOND, 365 * DAY).nothing("no limit");

        /// The percentage of `lag_max` that a replica may lag to come back after it was left out. So a
        /// replica whose lag swings around the limit does not come and go. 100: the limit itself.
        lag_return: u32 = 80, Traits::RELOAD.within(1, 100);

        /// Whether a replica is used while its lag is not known: it was never seen to follow a server, or the
        /// monitor account may not ask it. The log warns of it. With a `health.monitor_user`, a replica that
        /// does not replicate is left out in any case. So is a member of a group that is not in step with it.
        lag_unknown: LagUnknown = LagUnknown::Use, Traits::RELOAD;

        /// How the proxy treats a read for a replica when no replica is left for it.
        fallback: Fallback = Fallback::Primary, Traits::RELOAD;

        /// Stored functions that read data and change nothing: `"rate"` is one of any schema,
        /// `"shop.rate"` that schema's. A SELECT that calls no others is a read like any other;
        /// one that calls a function of which nothing is said may write, and goes to the primary.
        functions_that_read: Vec<String> = Vec::new(), Traits::RELOAD;

        /// Whether the proxy learns from `information_schema` which views, routines, triggers and
        /// defaults do more than read, with `health.monitor_user`. Statements that name one go to
        /// the primary, and keep their session's connection where it may leave something there. The
        /// account needs SELECT, SHOW VIEW and TRIGGER on `*.*` to see all definitions.
        learn_definitions: bool = true, Traits::RELOAD;

        /// Time between two looks at the definitions. They are looked at as well soon after DDL that
        /// passes through the proxy.
        learn_definitions_interval: Duration = Duration::from_secs(600),
            Traits::RELOAD.within(SECOND, DAY);

        /// How long a read may wait for a replica to have the writes that it must see. After that
        /// it goes to the primary.
        timeout_consistency: Duration = Duration::from_millis(500),
            Traits::RELOAD.within(MS, MINUTE).nothing("at once, without waiting");

        /// Time in which the share of a backend that came back grows from nothing to full.
        slow_start: Duration = Duration::from_secs(10),
            Traits::RELOAD.within(MS, HOUR).nothing("full at once");

        /// How long a client waits when no backend is available before it gets an error. A login and
        /// a statement that has not left wait; so do writes and transactions outside a transaction
        /// while the primary is read-only.
        timeout_backend_wait: Duration = Duration::from_secs(30),
            Traits::RELOAD.within(MS, HOUR).nothing("it gets the error at once");
    }
}

choices! {
    /// How a session's backend is picked.
    pub enum BalancePolicy {
        /// The one with the fewest sessions, MySQL Proxy's "shortest queue first".
        FewestSessions = "fewest_sessions",
        /// One after the other.
        RoundRobin = "round_robin",
        /// The one with the fewest sessions for its weight.
        Weighted = "weighted",
        /// The one with fewer sessions of two picked at random.
        RandomOfTwo = "random_of_two",
        /// The first of the list that is up; the others stand by.
        Ordered = "ordered",
    }
}

choices! {
    /// How a statement's backend is picked.
    pub enum ReadPolicy {
        /// The one with the fewest statements of this worker's under way for its weight.
        FewestInFlight = "fewest_in_flight",
        /// Of two picked at random, one or the other, the sooner the faster it has answered of
        /// late.
        Latency = "latency",
        /// One after the other.
        RoundRobin = "round_robin",
        /// Each as often as its weight says.
        Weighted = "weighted",
        /// The one that the session's last read went to, as long as it can be used; else as
        /// `"fewest_in_flight"`.
        Sticky = "sticky",
    }
}

choices! {
    /// Which roles may be used.
    pub enum ReplicaUse {
        /// Reads go to replicas, all else to the primary. A session that is relayed goes to a
        /// primary as a whole.
        Split = "split",
        /// Primaries only.
        Primary = "primary",
        /// Primaries and replicas alike.
        Any = "any",
        /// Replicas only.
        Replica = "replica",
    }
}

choices! {
    /// What becomes of a replica while nobody knows how far it lags.
    pub enum LagUnknown {
        /// It gets nothing. Without `health.monitor_user` no replica gets anything then.
        LeaveOut = "leave_out",
        /// It is used: members of a Galera cluster follow no server.
        Use = "use",
    }
}

choices! {
    /// What becomes of a read when no replica is left for it.
    pub enum Fallback {
        /// It goes to the primary.
        Primary = "primary",
        /// It waits for a replica, `timeout_backend_wait` at most.
        Wait = "wait",
        /// Its client gets an error.
        Error = "error",
    }
}

choices! {
    /// What a read on a replica sees of earlier writes.
    pub enum Consistency {
        /// What has come there by then.
        None = "none",
        /// All that its own session has written.
        Session = "session",
        /// All that any session of this proxy has written, but for those that are relayed: their
        /// statements are not read.
        Global = "global",
    }
}
