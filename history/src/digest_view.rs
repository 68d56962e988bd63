//! The columns of the view `digest_history`, each with its SQL expression.

use crate::view::{HistoryView, columns};

/// The view `digest_history`.
pub static DIGEST_HISTORY: HistoryView = HistoryView {
    name: "digest_history",
    about: "What digests have cost from interval to interval, kept in a file over restarts, if wanted.",
    from: "intervals JOIN series ON series.id = intervals.series",
    columns: columns! {
        Integer "start" ["s"] = "intervals.start", "When the interval began, in seconds since 1970.";
        Text "time" = "strftime('%Y-%m-%d %H:%M:%S', intervals.start, 'unixepoch')", "The same in UTC, for people.";
        Integer "seconds" ["s"] = "intervals.seconds", "How long it was.";
        Text "digest" = "series.digest",
            "The hash of the normalised text; NULL in the row of all that have none of their own.";
        Text "digest_text" = "series.digest_text", "The normalised text, cut behind 2 KiB.";
        Text "db" = "nullif(series.db, '')", "The default schema; NULL: none.";
        Text "account" = "nullif(series.account, '')", "The account of the statements.";
        Text "backend" = "nullif(series.backend, '')", "Where they ran; NULL: they reached no backend.";
        Integer "count" = "intervals.count", "How many ended in this interval.";
        Integer "errors" = "intervals.errors", "Of these, so many ended with an error.";
        Integer "rows_sent" = "intervals.rows_sent", "Rows of their results.";
        Integer "rows_affected" = "intervals.rows_affected", "Rows that they have changed, by the servers' word.";
        Integer "bytes_in" ["bytes"] = "intervals.bytes_in", "What clients have sent.";
        Integer "bytes_out" ["bytes"] = "intervals.bytes_out", "What they were answered.";
        Integer "total_us" ["us"] = "intervals.proxy_us + intervals.queue_us + intervals.backend_us",
            "All of their time.";
        Integer "backend_us" ["us"] = "intervals.backend_us", "Of it, at the backend.";
        Integer "p50_us" ["us"] = "intervals.p50_us", "Half of them took no longer.";
        Integer "p95_us" ["us"] = "intervals.p95_us", "95 of a hundred took no longer.";
        Integer "p99_us" ["us"] = "intervals.p99_us", "99 of a hundred took no longer.";
        Integer "max_us" ["us"] = "intervals.max_us", "The slowest, a quarter too slow at most.";
    },
};
