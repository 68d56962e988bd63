//! Where clients connect besides `listen`, and what their sessions have of their own.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::{Consistency, DAY, LaneUse, ReplicaUse, SessionMode};
use crate::address::LISTEN_PORT;
use crate::define::{choices, settings};
use crate::{ListenAddress, Redirect, Traits};

settings! {
    /// Addresses on which the proxy listens besides `listen`, one `[[listener]]` table for each address. Its
    /// sessions can have a mode of their own. With a `[[listener]]`, `listen` may be `[]`.
    pub struct ListenerConfig in ListenerConfig [[listener]], "Listeners" {
        /// An address as in `listen`.
        address: ListenAddress = ListenAddress::Tcp(SocketAddr::new(
            Ipv4Addr::UNSPECIFIED.into(),
            LISTEN_PORT,
        )), Traits::RESTART.required();

        /// The service that clients find there. See [Feeding replicas](feeding-replicas.md).
        serves: Serves = Serves::Sessions, Traits::RESTART;

        /// For how long its sessions keep a backend connection, if the proxy answers their login.
        session: Option<SessionMode> = None,
            Traits::RESTART.default_text("what the account or `pool.session` says");

        /// Which cluster its sessions go to, unless their account says; or whose stream replicas get.
        cluster: Option<String> = None, Traits::RESTART.default_text("the first backend's");

        /// Which roles its sessions may use, unless their account says.
        replicas: Option<ReplicaUse> = None,
            Traits::RESTART.default_text("what `balance.replicas` says");

        /// Which of their statements may share a connection with others at the same time, unless
        /// their account says.
        lanes: Option<LaneUse> = None, Traits::RESTART.default_text("what `pool.lanes` says");

        /// The scripts that its sessions run; `[]`: none.
        script: Option<Vec<PathBuf>> = None,
            Traits::RESTART.default_text("what `script.file` says");

        /// Which earlier writes its sessions' reads see, unless their account says otherwise.
        consistency: Option<Consistency> = None,
            Traits::RESTART.default_text("what `balance.consistency` says");

        /// Whether transactions that may write begin on a replica, unless their account says.
        optimistic_transactions: Option<bool> = None,
            Traits::RESTART.default_text("what `balance.optimistic_transactions` says");

        /// How long transactions of its sessions may be idle, at least a second, unless their account says
        /// otherwise. 0: for ever.
        timeout_idle_transaction: Option<Duration> = None, Traits::RESTART.within(0, 365 * DAY)
            .default_text("what `limits.timeout_idle_transaction` says");

        /// The address that drivers of MariaDB connect to instead, if they honour `redirect_url`. `"backend"`: to the
        /// backend of the session, past the proxy; an address: there, for instance to another proxy. See [Clients that
        /// go elsewhere](sessions.md#clients-that-go-elsewhere).
        redirect: Option<Redirect> = None, Traits::RESTART.default_text("nowhere: clients stay");
    }
}

choices! {
    /// What clients of a listener find.
    pub enum Serves {
        /// The servers behind the proxy.
        Sessions = "sessions",
        /// A replication source: the relay files of a cluster's `[[replication]]`.
        Replication = "replication",
    }
}

impl ListenerConfig {
    /// The settings that are of sessions only, and whether each is given.
    pub fn of_sessions(&self) -> [(&'static str, bool); 8] {
        [
            ("session", self.session.is_some()),
            ("replicas", self.replicas.is_some()),
            ("lanes", self.lanes.is_some()),
            ("script", self.script.is_some()),
            ("consistency", self.consistency.is_some()),
            (
                "optimistic_transactions",
                self.optimistic_transactions.is_some(),
            ),
            (
                "timeout_idle_transaction",
                self.timeout_idle_transaction.is_some(),
            ),
            ("redirect", self.redirect.is_some()),
        ]
    }
}
