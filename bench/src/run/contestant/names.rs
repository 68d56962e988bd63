//! The names that contestants go by in results, and what they are called on the page.

/// The way without a proxy.
pub const DIRECT: &str = "direct";
/// The contestant whose figures the goals refer to.
pub const HAPROXY: &str = "haproxy";
pub const HAPROXY_NEWER: &str = "haproxy-newer";
/// Ours, transparent.
pub const PILOTFISH: &str = "pilotfish";
pub const PILOTFISH_2_WORKERS: &str = "pilotfish-2-workers";
/// Ours, transparent, with TLS to the backend.
pub const PILOTFISH_TLS: &str = "pilotfish-tls";

/// Ours, transparent, with sessions that the kernel joins.
pub const KERNEL: &str = "pilotfish-kernel";

/// Ours in front of so many backend connections, which sessions share.
pub const POOLED: [&str; 2] = ["pilotfish-pool-8", "pilotfish-pool-32"];

/// The first of these with so many rules, none of which is meant.
pub const RULED: [&str; 3] = [
    "pilotfish-rules-10",
    "pilotfish-rules-100",
    "pilotfish-rules-1000",
];

/// The first of these with a script: what its `read_query` does.
pub const SCRIPTED: [&str; 3] = [
    "pilotfish-script-empty",
    "pilotfish-script-tokens",
    "pilotfish-script-injects",
];

/// The pool of 8 with a script that reads tokens and an interpreter for each worker: one, and two.
pub const ISOLATED: [&str; 2] = [
    "pilotfish-script-isolated",
    "pilotfish-script-isolated-2-workers",
];

/// Ours with shared lanes.
pub const LANES: &str = "pilotfish-lanes";
pub const LANES_2_WORKERS: &str = "pilotfish-lanes-2-workers";

pub const ROUTER: &str = "mysql-router";
pub const PROXYSQL: &str = "proxysql";
pub const MAXSCALE: &str = "maxscale";
pub const TIPROXY: &str = "tiproxy";
pub const MYSQL_PROXY: &str = "mysql-proxy";

/// Proxies that speak the protocol, as ours does.
pub const RIVALS: [&str; 5] = [ROUTER, PROXYSQL, MAXSCALE, TIPROXY, MYSQL_PROXY];

/// Whether it is ours.
pub fn is_ours(name: &str) -> bool {
    name.starts_with(PILOTFISH)
}

/// Whether it is ours and lends backend connections, without lanes.
pub fn is_pooled(name: &str) -> bool {
    let all = POOLED
        .iter()
        .chain(&RULED)
        .chain(&SCRIPTED)
        .chain(&ISOLATED);
    all.copied().any(|known| known == name)
}

/// What a contestant is called in pictures and tables.
pub fn title(name: &str) -> &str {
    match name {
        HAPROXY => "HAProxy",
        HAPROXY_NEWER => "HAProxy (newer)",
        PILOTFISH => "Pilotfish",
        PILOTFISH_2_WORKERS => "Pilotfish, 2 workers",
        KERNEL => "Pilotfish, kernel",
        PILOTFISH_TLS => "Pilotfish, TLS to the backend",
        "pilotfish-pool-8" => "Pilotfish pooled, 8",
        "pilotfish-pool-32" => "Pilotfish pooled, 32",
        "pilotfish-rules-10" => "Pilotfish pooled, 8, 10 rules",
        "pilotfish-rules-100" => "Pilotfish pooled, 8, 100 rules",
        "pilotfish-rules-1000" => "Pilotfish pooled, 8, 1,000 rules",
        "pilotfish-script-empty" => "Pilotfish pooled, 8, an empty hook",
        "pilotfish-script-tokens" => "Pilotfish pooled, 8, a hook that reads tokens",
        "pilotfish-script-injects" => "Pilotfish pooled, 8, a hook that sends the statement itself",
        "pilotfish-script-isolated" => "Pilotfish pooled, 8, a script for each worker",
        "pilotfish-script-isolated-2-workers" => {
            "Pilotfish pooled, 8, a script for each worker, 2 workers"
        }
        LANES => "Pilotfish lanes",
        LANES_2_WORKERS => "Pilotfish lanes, 2 workers",
        ROUTER => "MySQL Router",
        PROXYSQL => "ProxySQL",
        MAXSCALE => "MaxScale",
        TIPROXY => "TiProxy",
        MYSQL_PROXY => "MySQL Proxy",
        other => other,
    }
}

/// The order of rows and lines: the direct way first, ours last.
pub fn order(name: &str) -> usize {
    let all = [DIRECT, HAPROXY, HAPROXY_NEWER]
        .into_iter()
        .chain(RIVALS)
        .chain([PILOTFISH, KERNEL, PILOTFISH_2_WORKERS, PILOTFISH_TLS])
        .chain(POOLED)
        .chain(RULED)
        .chain(SCRIPTED)
        .chain(ISOLATED)
        .chain([LANES, LANES_2_WORKERS]);
    let places = all.clone().count();
    all.clone()
        .position(|known| known == name)
        .unwrap_or(places)
}
