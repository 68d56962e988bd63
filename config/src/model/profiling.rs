//! Settings of profiles: what statements have cost their backend, asked on their own connections.

use std::path::PathBuf;
use std::time::Duration;

use super::units::{HOUR, MS};
use crate::Traits;
use crate::define::{choices, settings};

settings! {
    /// Statements of pooled sessions around which their backend is asked what they cost. Nothing is asked
    /// unless `sample_one_in`, a rule's `profile` or a hint says so. See [Profiles](profiling.md).
    pub struct ProfilingConfig in [profiling], "Profiling" {
        /// One of so many statements is profiled, by chance, among those that `user`, `digest` and `session` mean.
        sample_one_in: u32 = 0, Traits::RELOAD.within(1, 1_000_000_000).nothing("none");

        /// Users whose statements are meant; all unless given. A `*` stands for any characters, and an entry that
        /// begins with `!` takes out those that it matches.
        user: Vec<String> = Vec::new(), Traits::RELOAD;

        /// Digests that are meant, each as its hash or as any statement of the kind; all unless given.
        digest: Vec<String> = Vec::new(), Traits::RELOAD;

        /// Sessions that are meant, by the ids that their clients see; all unless given.
        session: Vec<u32> = Vec::new(), Traits::RELOAD.within(1, u32::MAX as u64);

        /// The questions of a profile.
        collect: Vec<ProfileQuestion> = vec![ProfileQuestion::Status], Traits::RELOAD;

        /// How long each question may take before it is killed.
        timeout: Duration = Duration::from_secs(1), Traits::RELOAD.within(MS, HOUR);

        /// The longest answer that is read, in bytes; a longer one is dropped.
        answer_bytes_max: u64 = 64 << 10, Traits::RELOAD.within(1 << 10, 16 << 20);

        /// How many profiles each worker keeps for the table `profiles`: the latest, and 4 MiB at most.
        kept_max: usize = 100, Traits::RELOAD.within(1, 10_000).nothing("none");

        /// File to append each profile to, a JSON object a line; none unless given. Its folder must be there.
        file: Option<PathBuf> = None, Traits::RELOAD;

        /// Whether statements stand in profiles as they were said, with their values, and not as digests; and
        /// answers in which values may be.
        include_values: bool = false, Traits::RELOAD;
    }
}

choices! {
    /// What a backend is asked about a statement.
    pub enum ProfileQuestion {
        /// What it has changed of SHOW SESSION STATUS.
        Status = "status",
        /// What it has left in SHOW WARNINGS; without `include_values` messages lack what they quote.
        Warnings = "warnings",
        /// EXPLAIN, behind it.
        Explain = "explain",
        /// SHOW PROFILE: where its time went.
        Profile = "profile",
        /// The optimizer's trace. Needs `include_values`.
        Trace = "trace",
        /// Its row of `performance_schema.events_statements_history`: rows examined, sorts, temporary tables.
        Events = "events",
    }
}
