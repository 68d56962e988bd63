//! What can be looked at: each screen is a statement for the admin port and how its columns are shown.

use ratatui::layout::Constraint;

/// One screen.
pub struct Screen {
    /// Its title.
    pub name: &'static str,
    /// What the admin port is asked.
    pub sql: &'static str,
    /// How its columns are shown, in their order.
    pub columns: &'static [Column],
    /// The column that is sorted by at first, the greatest above.
    pub sort: usize,
    /// The titles of columns that are left out where there is no room for all, in this order.
    pub spare: &'static [&'static str],
}

/// How a column is shown.
pub struct Column {
    /// Its title.
    pub title: &'static str,
    /// What is in it.
    pub kind: Kind,
    /// How wide it is.
    pub width: Constraint,
}

/// What is in a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// A number.
    Number,
    /// Microseconds.
    Time,
    /// A count that grows, shown by the second.
    Rate,
    /// Microseconds that grow; shown as how many are spent at the same time.
    Share,
}

const fn column(title: &'static str, kind: Kind, width: u16) -> Column {
    let width = Constraint::Length(width);
    Column { title, kind, width }
}

const fn wide(title: &'static str, least: u16) -> Column {
    let (kind, width) = (Kind::Text, Constraint::Min(least));
    Column { title, kind, width }
}

/// All of them; the first column tells rows apart.
pub const SCREENS: &[Screen] = &[
    Screen {
        name: "Backends",
        sql: "SELECT b.name, concat(b.state, iif(b.disabled, ', disabled', iif(b.draining, ', draining', ''))), b.role, b.cluster, \
              b.connected_clients, b.in_flight, b.lag_seconds, \
              (SELECT sum(statements) FROM times t WHERE t.backend = b.name), \
              (SELECT max(waited_p99_us) FROM times t WHERE t.backend = b.name), \
              (SELECT max(backend_p50_us) FROM times t WHERE t.backend = b.name), \
              (SELECT max(backend_p99_us) FROM times t WHERE t.backend = b.name), \
              ifnull(b.cause, '') FROM backends b",
        columns: &[
            column("backend", Kind::Text, 22),
            column("state", Kind::Text, 14),
            column("role", Kind::Text, 8),
            column("cluster", Kind::Text, 10),
            column("clients", Kind::Number, 8),
            column("running", Kind::Number, 8),
            column("lag s", Kind::Number, 6),
            column("stmt/s", Kind::Rate, 9),
            column("wait p99", Kind::Time, 9),
            column("p50", Kind::Time, 8),
            column("p99", Kind::Time, 8),
            wide("cause", 12),
        ],
        sort: 7,
        spare: &[
            "cluster", "wait p99", "running", "clients", "p50", "role", "lag s", "cause", "p99",
        ],
    },
    Screen {
        name: "Digests",
        sql: "SELECT digest || ' ' || ifnull(db, '') || ' ' || account || ' ' || ifnull(backend, ''), \
              count, total_us, errors, avg_us, p95_us, p99_us, rows_sent, ifnull(db, ''), account, \
              ifnull(backend, ''), digest_text FROM digests WHERE digest IS NOT NULL \
              ORDER BY total_us DESC LIMIT 1000",
        columns: &[
            column("", Kind::Text, 0),
            column("stmt/s", Kind::Rate, 9),
            column("load", Kind::Share, 7),
            column("errors", Kind::Number, 7),
            column("avg", Kind::Time, 8),
            column("p95", Kind::Time, 8),
            column("p99", Kind::Time, 8),
            column("rows", Kind::Number, 10),
            column("schema", Kind::Text, 10),
            column("account", Kind::Text, 12),
            column("backend", Kind::Text, 16),
            wide("statement", 24),
        ],
        sort: 2,
        spare: &[
            "rows", "schema", "p95", "account", "backend", "avg", "errors", "p99",
        ],
    },
    Screen {
        name: "Sessions",
        sql: "SELECT id, user, client, worker, state, state_seconds, ifnull(backend, ''), ifnull(db, ''), \
              mode, ifnull(pins, '') FROM sessions LIMIT 5000",
        columns: &[
            column("id", Kind::Number, 12),
            column("user", Kind::Text, 16),
            column("client", Kind::Text, 22),
            column("worker", Kind::Number, 7),
            column("state", Kind::Text, 8),
            column("for s", Kind::Number, 7),
            column("backend", Kind::Text, 22),
            column("schema", Kind::Text, 12),
            column("mode", Kind::Text, 12),
            wide("pins", 12),
        ],
        sort: 5,
        spare: &[
            "worker", "mode", "schema", "client", "backend", "pins", "for s",
        ],
    },
    Screen {
        name: "Workers",
        sql: "SELECT worker, iif(answers, 'yes', 'no'), sessions, running, pinned, backend_connections FROM workers",
        columns: &[
            column("worker", Kind::Number, 8),
            column("answers", Kind::Text, 8),
            column("sessions", Kind::Number, 10),
            column("running", Kind::Number, 10),
            column("pinned", Kind::Number, 10),
            column("backend connections", Kind::Number, 20),
        ],
        sort: 2,
        spare: &["backend connections", "pinned", "answers"],
    },
    Screen {
        name: "Events",
        sql: "SELECT id, time, kind, subject, text, ifnull(user, '') FROM events ORDER BY id DESC LIMIT 1000",
        columns: &[
            column("id", Kind::Number, 7),
            column("time", Kind::Text, 25),
            column("kind", Kind::Text, 8),
            column("subject", Kind::Text, 24),
            wide("what", 20),
            column("user", Kind::Text, 20),
        ],
        sort: 0,
        spare: &["user", "kind", "id"],
    },
];

/// Statements so far, sessions, and those that are doing something.
pub const TOTALS: &str = "SELECT ifnull((SELECT sum(statements) FROM times), 0), count(*), \
                          ifnull(sum(state = 'running'), 0) FROM sessions";
