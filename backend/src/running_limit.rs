//! One backend's limit of statements that run at once ([`AdaptiveLimit`]), over all workers.

use std::time::Duration;

use config::PoolConfig;
use pool::{AdaptiveLimit, Bounds, Span};
use tokio::sync::oneshot;

/// One backend's limit. When a transaction is admitted, it is told in which span it begins.
pub type RunningLimit = AdaptiveLimit<oneshot::Sender<Span>>;

/// Gives a limit the bounds of this configuration.
pub(crate) fn configure(limit: &RunningLimit, config: &PoolConfig) {
    limit.set_bounds(bounds(config));
    limit.admit(call);
}

/// The bounds that a configuration gives.
fn bounds(config: &PoolConfig) -> Bounds {
    let none = !config.adaptive_limit;
    Bounds {
        min: if none {
            u32::MAX
        } else {
            config.adaptive_limit_min
        },
        max: if none {
            u32::MAX
        } else {
            config.adaptive_limit_max
        },
        counts_for: config.adaptive_limit_counts_for,
    }
}

/// A limit with the bounds of this configuration.
pub(crate) fn new(config: &PoolConfig) -> RunningLimit {
    RunningLimit::new(bounds(config))
}

/// Updates the limit if that is due, and admits the transactions whose turn it is.
pub(crate) fn update(limit: &RunningLimit, now: Duration) {
    limit.update(now);
    limit.admit(call);
}

/// Admits one transaction; false if it has gone.
pub(crate) fn call(waiting: oneshot::Sender<Span>, span: Span) -> bool {
    waiting.send(span).is_ok()
}
