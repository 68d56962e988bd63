//! What was seen of late, for `pilotfish plan`.

use std::path::PathBuf;
use std::time::Duration;

use super::{Config, DAY, SECOND};
use crate::Traits;
use crate::define::settings;

settings! {
    /// Statements that were seen of late, without their values, for `pilotfish plan`. See
    /// [Explaining](explain.md).
    pub struct DigestsConfig in Config [digests], "Digests" {
        /// File to which they are written, from time to time and at the end; nothing is kept unless
        /// it is given. Only pooled sessions' statements are seen.
        file: Option<PathBuf> = None, Traits::RELOAD;

        /// How many each worker keeps, of each account and schema for itself; those seen last stay.
        count_max: u32 = 1000, Traits::RELOAD.within(1, 100_000);

        /// Time between two writings of the file, give or take five seconds.
        interval: Duration = Duration::from_secs(60), Traits::RELOAD.within(SECOND, DAY);
    }
}
