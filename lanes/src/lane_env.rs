//! The environment that the lanes of one worker share.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pool::Depth;
use route::Report;

use backend::connection::BackendConn;
use backend::connection_error::ConnectionError;
use backend::kill_thread::kill_on;
use backend::sub_pool::SubPoolId;
use backend::worker_pool::WorkerPool;
use stats::lane_counts::LaneCounts;

/// The pool that the lanes' connections come from, and statistics of lanes.
pub(crate) struct LaneEnv {
    pub pool: Rc<WorkerPool>,
    pub counts: Arc<LaneCounts>,
    pub depths: RefCell<HashMap<SubPoolId, Depth>>,
}

impl LaneEnv {
    /// How many statements should be in flight on lanes over connections of this sub-pool.
    pub(crate) fn depth(&self, sub_pool: SubPoolId) -> Depth {
        let depths = self.depths.borrow();
        depths.get(&sub_pool).copied().unwrap_or_default()
    }

    /// Notes how many replies came at once, on a lane with this many statements in flight.
    pub(crate) fn learn_depth(
        &self,
        sub_pool: SubPoolId,
        depth: usize,
        replies: usize,
        took: Duration,
    ) {
        let mut depths = self.depths.borrow_mut();
        let known = depths.entry(sub_pool).or_default();
        known.note(depth, replies, took);
    }

    /// Reports that the connection of a lane broke.
    pub(crate) fn report(&self, conn: &BackendConn, broken: &ConnectionError) {
        if let ConnectionError::Disabled = broken {
            return kill_on(&self.pool, conn);
        }
        self.pool.env.report(Report::SessionBroken {
            backend: conn.backend.id,
            cause: broken.to_string(),
        });
    }
}
