//! The plan of a world, which is drawn from the seed before the world begins.

use std::fmt::Write as _;
use std::time::Duration;

use super::administration::Changes;
use super::proxy_address;
use crate::network::Weather;
use crate::seed::Dice;
use crate::server::Family;

/// Kinds of worlds, with what each is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldKind {
    /// Nothing breaks, so no error is allowed.
    Calm,
    /// Servers crash, links break, statements are killed.
    Rough,
    /// Reads go to replicas that lag; nothing breaks.
    Replicas,
    /// Roles change while servers crash.
    Switching,
    /// Many clients and few connections.
    Crowd,
    /// Rules, accounts, settings and backends' duties change while clients work, timers are a little late, and clients
    /// flood; nothing breaks.
    Changing,
    /// Clients only read, over few connections, while servers crash and stand still; no client may see an error.
    Reads,
    /// Connections break within statements, bytes come one at a time, clients fall silent, servers take no more
    /// connections or no writes.
    Links,
    /// As in rough worlds and in those of links, and a second fault may begin while the first one lasts; with replicas.
    Pairs,
    /// All of the faults above, and full disks, disabled backends, timers that are late by seconds.
    Everything,
}

/// All kinds, with their names.
pub const WORLDS: [(&str, WorldKind); 10] = [
    ("calm", WorldKind::Calm),
    ("rough", WorldKind::Rough),
    ("replicas", WorldKind::Replicas),
    ("switching", WorldKind::Switching),
    ("crowd", WorldKind::Crowd),
    ("changing", WorldKind::Changing),
    ("reads", WorldKind::Reads),
    ("everything", WorldKind::Everything),
    ("links", WorldKind::Links),
    ("pairs", WorldKind::Pairs),
];

/// The limit of a proxy's sessions.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimit {
    /// The number of sessions at once.
    pub most: usize,
    /// Whether a client above the limit waits for a place. If not, the proxy refuses it at once.
    pub waits: bool,
}

/// The plan of a world.
#[derive(Clone, Debug)]
pub struct Plan {
    /// See [`WorldKind`].
    pub kind: WorldKind,
    /// The family of all servers.
    pub family: Family,
    /// The number of replicas.
    pub replicas: usize,
    /// How late a replica applies what its primary has committed.
    pub lag: Duration,
    /// The number of proxies.
    pub proxies: usize,
    /// The number of workers in each proxy.
    pub workers: usize,
    /// How long sessions keep a connection, as a setting's value.
    pub session: &'static str,
    /// Whether reads share connections.
    pub lanes: bool,
    /// Whether the proxy sends BEGIN with the first statement.
    pub defers_begin: bool,
    /// Whether proxies have a transparent listener for a part of the logins.
    pub has_transparent: bool,
    /// Connections of a proxy to a server.
    pub connections: usize,
    /// Connections that a server takes.
    pub server_connections: usize,
    /// The number of clients at once.
    pub clients: usize,
    /// The limit of a proxy's sessions, of all accounts and listeners. `None`: it is above the number of clients.
    pub sessions: Option<SessionLimit>,
    /// The weather of the links.
    pub weather: Weather,
    /// The time that a server takes for a statement.
    pub server_pace: Duration,
    /// Whether anything may break.
    pub is_rough: bool,
    /// Sessions that may wait for a connection of one pool.
    pub waiters: usize,
}

impl WorldKind {
    /// Whether anything may break.
    pub fn is_rough(self) -> bool {
        use WorldKind::{Everything, Links, Pairs, Rough, Switching};
        matches!(self, Rough | Switching | Links | Pairs | Everything)
    }

    /// Returns how many faults there may be at once.
    pub fn faults_at_once(self) -> usize {
        match self {
            WorldKind::Pairs => 2,
            _ => 1,
        }
    }

    /// Whether clients are cut off, and servers take no more connections or no writes.
    pub fn breaks_links(self) -> bool {
        matches!(self, WorldKind::Links | WorldKind::Pairs)
    }

    /// Whether roles change.
    pub fn switches(self) -> bool {
        matches!(self, WorldKind::Switching | WorldKind::Everything)
    }

    /// Whether sessions may have connections of their own, which a crash breaks.
    fn has_transparent(self) -> bool {
        !matches!(self, WorldKind::Crowd | WorldKind::Reads)
    }

    /// Whether an administrator changes the configuration and clients send floods of statements.
    pub fn is_changing(self) -> bool {
        matches!(self, WorldKind::Changing | WorldKind::Everything)
    }
}

impl Plan {
    /// Draws a plan.
    pub fn draw(kind: WorldKind, dice: &mut Dice) -> Plan {
        let family = match dice.one_in(2) {
            true => Family::MariaDb,
            false => Family::MySql,
        };
        let is_rough = kind.is_rough();
        let replicas = match kind {
            WorldKind::Replicas
            | WorldKind::Switching
            | WorldKind::Pairs
            | WorldKind::Everything => 1 + dice.index(2),
            WorldKind::Changing => dice.index(3),
            _ => 0,
        };
        let clients = match kind {
            WorldKind::Crowd => 60 + dice.index(140),
            WorldKind::Reads => 10 + dice.index(60),
            _ => 2 + dice.index(24),
        };
        let connections = match kind {
            WorldKind::Crowd | WorldKind::Reads => 4 + dice.index(12),
            WorldKind::Links => 2 + dice.index(clients),
            _ => clients + 2 + dice.index(8),
        };
        let proxies = 1 + usize::from(dice.one_in(3));
        Plan {
            kind,
            family,
            replicas,
            lag: match replicas {
                0 => Duration::ZERO,
                _ => dice.millis(0, 300),
            },
            proxies,
            workers: 1 + dice.index(2),
            session: ["statement", "transaction"][dice.index(2)],
            lanes: dice.one_in(2),
            defers_begin: !dice.one_in(3),
            has_transparent: kind.has_transparent() && dice.one_in(3),
            connections,
            server_connections: (connections + clients) * proxies + 20,
            clients,
            // The limit comes from a copy of the dice, so that old seeds still give the same worlds.
            sessions: sessions(kind, clients, &mut dice.clone().split()),
            weather: match kind {
                // The proxy does not repeat a read whose reply has begun, so links must not break within replies.
                WorldKind::Reads => Weather::default(),
                WorldKind::Links => rough_links(dice),
                _ => weather(is_rough, dice),
            },
            server_pace: match kind == WorldKind::Links || dice.one_in(3) {
                true => dice.millis(0, 5),
                false => Duration::ZERO,
            },
            is_rough,
            waiters: match kind {
                WorldKind::Links => 1 + dice.index(4),
                _ => 10_000,
            },
        }
    }

    /// Returns the errors that are allowed if nothing breaks: lock waits, deadlocks, and too many sessions.
    pub fn allowed(&self) -> &'static [u16] {
        match self.sessions {
            Some(_) => &[1205, 1213, TOO_MANY_SESSIONS],
            None => &[1205, 1213],
        }
    }

    /// Whether servers and pools must agree on each connection, because only pools connect and no connection breaks.
    pub fn is_exact(&self) -> bool {
        !self.is_rough && !self.has_transparent && self.kind != WorldKind::Reads
    }

    /// Listeners of a proxy.
    pub fn listeners(&self) -> usize {
        1 + usize::from(self.has_transparent)
    }

    /// Returns the changeable settings with which a proxy starts.
    pub fn unchanged(&self) -> Changes {
        Changes {
            has_guest: self.kind.is_changing(),
            ..Changes::none(self.lanes, self.replicas + 1)
        }
    }

    /// Returns the configuration file of a proxy.
    pub fn configuration(&self, proxy: usize, changes: &Changes) -> String {
        let mut text = format!("listen = []\nworkers = {}\n", self.workers);
        let lanes = match changes.lanes {
            true => "reads",
            false => "off",
        };
        // In the other worlds the proxy knows the user of every login.
        let others = match self.kind.is_changing() {
            true => "refuse",
            false => "relay",
        };
        let backend_wait = match self.kind {
            WorldKind::Reads => "60s",
            _ => "10s",
        };
        let session = self.session;
        let pooled = proxy_address(proxy, 0);
        let (connections, defers_begin) = (self.connections, self.defers_begin);
        let waiters = self.waiters;
        // In worlds with changes, transactions have to wait before they begin.
        let running_max = match self.kind.is_changing() {
            true => self.connections.div_ceil(2),
            false => 1000,
        };
        let parts = [
            format!("[[listener]]\naddress = \"{pooled}\"\nrouting.session = \"{session}\""),
            format!(
                "[routing]\nsession = \"{session}\"\nlanes = \"{lanes}\"\nreplicas = \"split\"\nconsistency = \"session\""
            ),
            format!(
                "[pool]\nbackend_connections_max = {connections}\n\
                 defer_begin = {defers_begin}\nadaptive_limit_min = 1\nadaptive_limit_max = {running_max}\ntimeout_wait = \"100s\"\nwaiters_max = {waiters}\nopens_per_second = 1000\nopens_burst = 100"
            ),
            format!("[accounts]\ndelay_failures = false\nlearn = false\nothers = \"{others}\""),
            "[[account]]\nuser = \"app\"\npassword = \"app-password\"".to_owned(),
            "[health]\nmonitor_user = \"monitor\"\nmonitor_password = \"monitor-password\"\nprobe_interval = \"1s\"\n\
             monitor_interval = \"500ms\"\nreplication_interval = \"200ms\"\ntimeout_connect = \"2s\""
                .to_owned(),
            format!(
                "[balance]\nlearn_definitions = false\nlag_max = \"10s\"\n\
                 timeout_backend_wait = \"{backend_wait}\""
            ),
            // The proxy counts statements only if a listener for the counts is configured.
            "[http]\naddress = []\ntoken = \"a-token-that-nobody-uses\"".to_owned(),
        ];
        for part in parts {
            text.push_str(&part);
            text.push('\n');
        }
        if self.has_transparent {
            let transparent = proxy_address(proxy, 1);
            // A string takes everything.
            let _ = writeln!(
                text,
                "[[listener]]\naddress = \"{transparent}\"\nrouting.session = \"transparent\""
            );
        }
        for server in 0..=self.replicas {
            let role = match server {
                _ if self.kind.switches() => "auto",
                0 => "primary",
                _ => "replica",
            };
            changes.write_backend(server, role, &mut text);
        }
        if let Some(SessionLimit { most, waits }) = self.sessions {
            let over = if waits { "wait" } else { "refuse" };
            // A string takes everything.
            let _ = writeln!(
                text,
                "[limits]\nsessions_max = {most}\nover_limit = \"{over}\"\ntimeout_over_limit = \"2s\""
            );
        }
        changes.write(&mut text);
        text
    }
}

/// ER_CON_COUNT_ERROR.
pub const TOO_MANY_SESSIONS: u16 = 1040;

/// Draws a limit of sessions that clients exceed, in a third of the worlds.
fn sessions(kind: WorldKind, clients: usize, dice: &mut Dice) -> Option<SessionLimit> {
    use WorldKind::{Reads, Rough, Switching};
    let has_limit = !matches!(kind, Reads | Rough | Switching) && dice.one_in(3);
    has_limit.then(|| SessionLimit {
        most: 1 + dice.index(clients),
        waits: dice.one_in(2),
    })
}

/// Draws links with long delays and many resets, so that most resets happen within a statement.
fn rough_links(dice: &mut Dice) -> Weather {
    Weather {
        delay: dice.millis(1, 20),
        splits: [0, 2][dice.index(2)],
        is_bytewise: dice.one_in(3),
        resets: [4, 10, 50][dice.index(3)],
        is_cut: false,
    }
}

fn weather(is_rough: bool, dice: &mut Dice) -> Weather {
    Weather {
        delay: match dice.below(3) {
            0 => dice.millis(0, 20),
            _ => Duration::ZERO,
        },
        splits: [0, 0, 2, 10][dice.index(4)],
        is_bytewise: false,
        resets: match is_rough {
            true => [0, 50, 10][dice.index(3)],
            false => 0,
        },
        is_cut: false,
    }
}
