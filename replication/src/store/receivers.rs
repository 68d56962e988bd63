//! The table that records what each receiver has taken.

/// The id of the last change that a receiver has taken. A receiver that is not configured has no row.
pub(super) const TABLE: &str = "CREATE TABLE IF NOT EXISTS told_to (receiver TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID;";

/// Before there were several receivers, the table `told` had the one id of the hook.
pub(super) const TAKE_OVER: &str =
    "INSERT OR IGNORE INTO told_to SELECT 'hook', id FROM told LIMIT 1; DROP TABLE told;";
