//! How backends are connected to and watched.

use std::time::Duration;

use super::units::{DAY, HOUR, MINUTE, MS, SECOND};
use crate::define::settings;
use crate::{Secret, Traits};

settings! {
    /// How backends are connected to, and how the proxy learns that they are down, up again or
    /// elsewhere.
    pub struct HealthConfig in [health], "Health" {
        /// Time for connecting and for the server's greeting. A backend that needs longer counts
        /// as down.
        timeout_connect: Duration = Duration::from_secs(2), Traits::RELOAD.within(10 * MS, 5 * MINUTE);

        /// Time between two probes of a backend that is down, at first; it doubles while probes
        /// fail.
        probe_interval: Duration = Duration::from_millis(250), Traits::RELOAD.within(50 * MS, HOUR);

        /// The longest that the time between two probes grows to. Clients that wait for a backend
        /// wait for a probe. If `probe_interval` is longer than this default, the time does not grow.
        probe_interval_max: Duration = Duration::from_millis(500), Traits::RELOAD.within(50 * MS, DAY);

        /// How long a backend must be down before a command that has waited on it for as long is
        /// given up: its client gets an error that names the backend. For servers that hang or
        /// vanish from the network; one that closes its connections needs no waiting.
        timeout_down: Duration = Duration::from_secs(10),
            Traits::RELOAD.within(SECOND, DAY).nothing("clients wait until the connection breaks");

        /// Time between two look-ups of a backend's name.
        resolve_interval: Duration = Duration::from_secs(30),
            Traits::RELOAD.within(SECOND, DAY).nothing("looked up once, at start");

        /// Account with which the proxy probes backends that are up, and ends statements whose clients are
        /// gone. Looking needs no privilege, ending needs `CONNECTION_ADMIN` (MariaDB: `CONNECTION ADMIN`).
        /// Without an account a backend counts as up until a connection to it fails, and these statements run
        /// on.
        monitor_user: Option<String> = None, Traits::RELOAD;

        /// Password of `monitor_user`. `"file:PATH"` reads it from a file, `"env:NAME"` from the
        /// environment. It is never shown.
        monitor_password: Option<Secret> = None, Traits::RELOAD;

        /// Time between two looks at a backend that is up, when there is a `monitor_user`.
        monitor_interval: Duration = Duration::from_secs(5), Traits::RELOAD.within(100 * MS, HOUR);

        /// Time between two questions about replication, if there is a `monitor_user`. The proxy asks
        /// whether a backend is read-only, how far it lags and which transactions it has. It asks if a cluster
        /// has several backends, or a role is `"auto"`. Lag needs `REPLICATION CLIENT` (MariaDB:
        /// `SLAVE MONITOR`); without it no lag is known, and none is limited.
        replication_interval: Duration = Duration::from_millis(500),
            Traits::RELOAD.within(50 * MS, HOUR);
    }
}
