//! Where clients connect besides `listen`, and what their sessions have of their own.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::pool::SessionMode;
use super::routing::RoutingOverride;
use super::units::DAY;
use crate::address::LISTEN_PORT;
use crate::define::{choices, settings};
use crate::{ListenAddress, Redirect, Traits};

settings! {
    /// Addresses on which the proxy listens besides `listen`, one `[[listener]]` table for each address. Its
    /// sessions can have a mode of their own. With a `[[listener]]`, `listen` may be `[]`.
    pub struct ListenerConfig in [[listener]], "Listeners" {
        /// An address as in `listen`.
        address: ListenAddress = ListenAddress::Tcp(SocketAddr::new(
            Ipv4Addr::UNSPECIFIED.into(),
            LISTEN_PORT,
        )), Traits::RESTART.required();

        /// The service that clients find there. See [Feeding replicas](feeding-replicas.md).
        serves: Serves = Serves::Sessions, Traits::RESTART;

        /// How long transactions of its sessions may be idle, at least a second, unless their account says
        /// otherwise. 0: for ever.
        timeout_idle_transaction: Option<Duration> = None, Traits::RESTART.within(0, 365 * DAY)
            .default_text("what `limits.timeout_idle_transaction` says");

        /// The address that drivers of MariaDB connect to instead, if they honour `redirect_url`. `"backend"`: to the
        /// backend of the session, past the proxy; an address: there, for instance to another proxy. See [Clients that
        /// go elsewhere](sessions.md#clients-that-go-elsewhere).
        redirect: Option<Redirect> = None, Traits::RESTART.default_text("nowhere: clients stay");
    }
    /// What it says of routing. With `serves = "replication"` replicas get the stream of its cluster.
    table routing: RoutingOverride = Traits::RESTART, "what `[routing]` says" {
        cluster replicas consistency optimistic_transactions session lanes script
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
    /// For how long its sessions keep a backend connection, if it says so.
    pub fn mode(&self) -> Option<SessionMode> {
        self.routing.session.map(SessionMode::held)
    }

    /// Whether the kernel is to join the connections of its sessions.
    pub fn joins_in_kernel(&self) -> bool {
        self.routing.session == Some(SessionMode::Kernel)
    }

    /// The settings that are of sessions only, as far as they are given.
    pub fn of_sessions(&self) -> impl Iterator<Item = &'static str> + '_ {
        let bare = Self::default();
        let settings = Self::SECTION.settings.iter();
        let given = settings.filter(move |it| !(it.same)(self, &bare));
        let keys = given.map(|it| it.key);
        keys.filter(|key| !["address", "serves", "routing.cluster"].contains(key))
    }
}
