//! The session that asks for plans.

use engine::session::PooledSession;

/// The reason why there is no plan.
pub(super) type Refusal = String;

/// The session without a client that asks for plans.
pub(super) struct Planner {
    pub(super) session: PooledSession,
}
