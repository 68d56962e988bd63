//! Where sessions and statements go, and how they use connections: for all of them, and for those of a listener, an
//! account or a rule.

use std::path::PathBuf;

use super::balance::{Consistency, ReplicaUse};
use super::pool::{LaneUse, SessionMode};
use crate::define::settings;
use crate::{Setting, Traits};

settings! {
    /// The cluster, the roles of backends and the connections that sessions and statements use. A listener, an account and a
    /// rule may say otherwise in a `routing` table of their own, with the same keys: `routing.cluster = "archive"`. A rule's
    /// word goes before the account's, that before the listener's, and that before this table's. See
    /// [Clusters and replicas](clusters.md) and [Pooling](pooling.md).
    pub struct RoutingConfig in [routing], "Routing" {
        /// The cluster of all sessions.
        cluster: Option<String> = None, Traits::RELOAD.default_text("the first backend's");

        /// Which roles may be used. A session that is relayed stays with its backend, so `"any"` is for
        /// applications that only read, or do not mind an error when they write.
        replicas: ReplicaUse = ReplicaUse::Split, Traits::RELOAD;

        /// Which earlier writes a read on a replica sees.
        consistency: Consistency = Consistency::Session, Traits::RELOAD;

        /// Whether transactions that may write begin on a replica and go to the primary with their first
        /// write. The proxy repeats their reads there, and the transaction goes on only if the results are the
        /// same. See [Reads and writes](splitting.md).
        optimistic_transactions: bool = false, Traits::RELOAD;

        /// For how long a session keeps a backend connection, if the proxy answers its login. Of what the
        /// listener and the account say, the mode that keeps the connection longer holds.
        session: SessionMode = SessionMode::Statement, Traits::RELOAD;

        /// Which statements may share a connection with others at the same time (a lane).
        lanes: LaneUse = LaneUse::Reads, Traits::RELOAD;

        /// The script that every session runs, or several, which are asked in this order. They are read
        /// again for new sessions when the files have changed. Sessions of accounts take turns on
        /// connections as they do without a script. See [Scripts](scripts.md).
        script: Vec<PathBuf> = Vec::new(), Traits::RESTART;
    }
}

settings! {
    /// What a listener, an account or a rule says of routing.
    pub struct RoutingOverride in [[routing]], "Routing" {
        /// The cluster to which sessions or statements go.
        cluster: Option<String> = None, Traits::RELOAD;

        /// The roles of backends that may be used. A write that a rule sends to a replica fails there.
        replicas: Option<ReplicaUse> = None, Traits::RELOAD;

        /// Which earlier writes reads see.
        consistency: Option<Consistency> = None, Traits::RELOAD;

        /// Whether transactions that may write begin on a replica.
        optimistic_transactions: Option<bool> = None, Traits::RELOAD;

        /// For how long sessions keep a backend connection. A rule's mode holds from its statement on, and only
        /// if it keeps the connection for longer than the session's own.
        session: Option<SessionMode> = None, Traits::RELOAD;

        /// Which statements may share a connection with others at the same time.
        lanes: Option<LaneUse> = None, Traits::RELOAD;

        /// The scripts that sessions run; `[]`: none. Those of an account begin at the end of the login.
        script: Option<Vec<PathBuf>> = None, Traits::RESTART;
    }
}

impl RoutingOverride {
    /// One of its settings. It is looked up when the program is compiled, which ends at a key that is none.
    pub(crate) const fn setting(key: &str) -> &'static Setting<Self> {
        let settings = Self::SECTION.settings;
        let mut index = 0;
        while !is_same(settings[index].key.as_bytes(), key.as_bytes()) {
            index += 1;
        }
        &settings[index]
    }
}

/// Whether two texts are the same, found when the program is compiled.
const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// Where a session's statements go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    /// The roles that may be used.
    pub replicas: ReplicaUse,
    /// What reads must see.
    pub consistency: Consistency,
    /// Whether transactions that may write begin on a replica.
    pub optimistic_transactions: bool,
    /// Which statements may use shared lanes.
    pub lanes: LaneUse,
}

impl RoutingConfig {
    /// The mode of a session whose login the proxy answers: of what its listener and its account
    /// say, the mode that keeps the connection longer; when neither says anything, this one.
    pub fn mode(&self, listener: Option<SessionMode>, account: Option<SessionMode>) -> SessionMode {
        let said = [listener, account].into_iter().flatten();
        let said = said.map(SessionMode::held).min();
        said.unwrap_or(self.session)
    }
}
