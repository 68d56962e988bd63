//! The columns of the view `load_history`, each with its SQL expression.

use crate::view::{HistoryView, columns};

/// The view `load_history`.
pub static LOAD_HISTORY: HistoryView = HistoryView {
    name: "load_history",
    about: "The load of the proxy and of its backends, interval by interval. The charts of the dashboard show it.",
    from: "load",
    columns: columns! {
        Integer "start" ["s"] = "start", "When the interval began, in seconds since 1970.";
        Text "time" = "strftime('%Y-%m-%d %H:%M:%S', start, 'unixepoch')", "The same in UTC, for people.";
        Integer "seconds" ["s"] = "seconds", "The length of the interval.";
        Text "backend" = "nullif(backend, '')", "The backend; NULL: the row has the sums of the proxy.";
        Integer "statements" = "statements", "Statements that were answered in the interval.";
        Integer "p50_us" ["us"] = "p50_us", "Half of the statements took this time or less at backends.";
        Integer "p95_us" ["us"] = "p95_us", "95 of 100 statements took this time or less at backends.";
        Integer "p99_us" ["us"] = "p99_us", "99 of 100 statements took this time or less at backends.";
        Integer "waited_p99_us" ["us"] = "waited_p99_us", "99 of 100 statements waited this time or less in the proxy.";
        Integer "sessions" = "sessions",
            "Sessions at the end of the interval; NULL in rows of backends, or if a worker did not answer.";
        Integer "running" = "running", "The number of these sessions that executed a statement.";
        Integer "pinned" = "pinned", "The number of these sessions that kept a pooled connection.";
        Integer "cpu_us" ["us"] = "cpu_us", "Processor time of the process in the interval; NULL in rows of backends.";
        Integer "resident_bytes" ["bytes"] = "resident_bytes",
            "Memory of the process at the end of the interval; NULL in rows of backends.";
    },
};
