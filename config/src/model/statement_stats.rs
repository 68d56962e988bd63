//! Settings of what is kept about statements, for whoever looks.

use std::time::Duration;

use super::{Config, DAY, MS, SECOND};
use crate::Traits;
use crate::define::settings;

settings! {
    /// Figures about statements that the admin port shows. The proxy keeps them only if the admin port or the
    /// HTTP port is open. See [Digests, slow statements, errors](insight.md).
    pub struct InsightConfig in Config [insight], "Insight" {
        /// Whether statements are counted by digest, schema, account and backend, and errors by number,
        /// account and backend.
        digests: bool = true, Traits::RELOAD;

        /// Whether statements of sessions that are not pooled are seen as well: by digest, one by one, and as
        /// the figures of the whole. It costs them the reading of their text, and two looks at the clock.
        transparent: bool = false, Traits::RELOAD;

        /// Memory for what is counted by digest, over all workers. Each has an even share. Digests that were
        /// not seen for the longest time make room. From then on they are counted together.
        digests_bytes_max: u64 = 64 << 20, Traits::RELOAD.within(1 << 20, 1 << 40);

        /// Statements that take so long or longer, from their arrival to the end of the reply, are kept one by
        /// one.
        slow_statements: Duration = Duration::from_secs(1),
            Traits::RELOAD.within(MS, DAY).nothing("none");

        /// How many of these each worker keeps: the latest.
        slow_statements_max: usize = 1000, Traits::RELOAD.within(1, 100_000);

        /// Whether values may be seen: a sample of each digest, slow statements as they were said, messages
        /// of errors with what they quote. Without it only digests are.
        samples: bool = false, Traits::RELOAD;

        /// Whether the proxy asks servers by EXPLAIN how they run the SELECT, UPDATE and DELETE of pooled
        /// sessions. It asks for each digest once in a while. The answers show which indexes are used and
        /// which tables are read whole. No statement runs for that. See [Index usage](index-usage.md).
        index_usage: bool = false, Traits::RELOAD;

        /// How much time there is at least between two EXPLAIN of one digest in one schema.
        explain_interval: Duration = Duration::from_secs(600),
            Traits::RELOAD.within(SECOND, DAY);

        /// No more statements than these are explained within a second. Each worker has an even share, at
        /// least one.
        explains_per_second_max: u32 = 10, Traits::RELOAD.within(1, 1000);
    }
}

impl Config {
    /// Whether anybody can look at what is kept about statements: on the ports, or where metrics are sent.
    pub fn is_looked_at(&self) -> bool {
        self.has_http_callers() || self.tracing.metrics_endpoint.is_some()
    }
}
