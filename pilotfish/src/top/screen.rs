//! The screens: each is a statement for the admin port, and how its columns are shown.

use ratatui::layout::Constraint;

/// One screen.
pub struct Screen {
    /// Its title.
    pub name: &'static str,
    /// The statement for the admin port.
    pub sql: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
    /// The column to sort by at first, in descending order.
    pub sort: usize,
    /// The titles of columns that are left out if there is no room for all, in this order.
    pub spare: &'static [&'static str],
}

/// How a column is shown.
pub struct Column {
    /// Its title.
    pub title: &'static str,
    /// The type of its values.
    pub kind: ColumnKind,
    /// Its width.
    pub width: Constraint,
}

/// The type of a column's values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// A text.
    Text,
    /// A number.
    Number,
    /// Microseconds.
    Time,
    /// A growing count, shown as growth per second.
    Rate,
    /// Growing microseconds, shown as the average number that run at the same time.
    Share,
}

const fn column(title: &'static str, kind: ColumnKind, width: u16) -> Column {
    let width = Constraint::Length(width);
    Column { title, kind, width }
}

const fn wide(title: &'static str, least: u16) -> Column {
    let (kind, width) = (ColumnKind::Text, Constraint::Min(least));
    Column { title, kind, width }
}

/// All screens; the first column identifies a row.
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
            column("backend", ColumnKind::Text, 22),
            column("state", ColumnKind::Text, 14),
            column("role", ColumnKind::Text, 8),
            column("cluster", ColumnKind::Text, 10),
            column("clients", ColumnKind::Number, 8),
            column("running", ColumnKind::Number, 8),
            column("lag s", ColumnKind::Number, 6),
            column("stmt/s", ColumnKind::Rate, 9),
            column("wait p99", ColumnKind::Time, 9),
            column("p50", ColumnKind::Time, 8),
            column("p99", ColumnKind::Time, 8),
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
            column("", ColumnKind::Text, 0),
            column("stmt/s", ColumnKind::Rate, 9),
            column("load", ColumnKind::Share, 7),
            column("errors", ColumnKind::Number, 7),
            column("avg", ColumnKind::Time, 8),
            column("p95", ColumnKind::Time, 8),
            column("p99", ColumnKind::Time, 8),
            column("rows", ColumnKind::Number, 10),
            column("schema", ColumnKind::Text, 10),
            column("account", ColumnKind::Text, 12),
            column("backend", ColumnKind::Text, 16),
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
            column("id", ColumnKind::Number, 12),
            column("user", ColumnKind::Text, 16),
            column("client", ColumnKind::Text, 22),
            column("worker", ColumnKind::Number, 7),
            column("state", ColumnKind::Text, 8),
            column("for s", ColumnKind::Number, 7),
            column("backend", ColumnKind::Text, 22),
            column("schema", ColumnKind::Text, 12),
            column("mode", ColumnKind::Text, 12),
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
            column("worker", ColumnKind::Number, 8),
            column("answers", ColumnKind::Text, 8),
            column("sessions", ColumnKind::Number, 10),
            column("running", ColumnKind::Number, 10),
            column("pinned", ColumnKind::Number, 10),
            column("backend connections", ColumnKind::Number, 20),
        ],
        sort: 2,
        spare: &["backend connections", "pinned", "answers"],
    },
    Screen {
        name: "Events",
        sql: "SELECT id, time, kind, subject, text, ifnull(user, '') FROM events ORDER BY id DESC LIMIT 1000",
        columns: &[
            column("id", ColumnKind::Number, 7),
            column("time", ColumnKind::Text, 25),
            column("kind", ColumnKind::Text, 8),
            column("subject", ColumnKind::Text, 24),
            wide("what", 20),
            column("user", ColumnKind::Text, 20),
        ],
        sort: 0,
        spare: &["user", "kind", "id"],
    },
];

/// Statements so far, sessions, and sessions that run a statement.
pub const TOTALS: &str = "SELECT ifnull((SELECT sum(statements) FROM times), 0), count(*), \
                          ifnull(sum(state = 'running'), 0) FROM sessions";
