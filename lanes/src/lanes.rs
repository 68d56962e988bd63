//! A worker's shared lanes: which lane a statement uses, when another lane is opened, and how fast statements of each
//! digest have been.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use route::BackendId;
use route::lane_check::{DigestStats, KnownDigests, NotLaneable, Observed};
use session::state::SessionState;
use sql::{Analysis, Flags};

use crate::lane::SharedLane;
use crate::lane_command::WantedStatements;
use crate::lane_env::LaneEnv;
use backend::sub_pool::SubPoolId;
use backend::worker_pool::{HeldConnection, WorkerPool};
use stats::lane_counts::LaneCounts;

/// The most lanes of one worker for one sub-pool.
const LANES_MAX: usize = 4;

/// The lanes of one worker.
pub struct Lanes {
    env: Rc<LaneEnv>,
    open: RefCell<Vec<Rc<SharedLane>>>,
    known_digests: RefCell<KnownDigests>,
    /// A buffer for the analysis of a digest.
    analysis: RefCell<Analysis>,
    /// Statements that were executed and that no lane had prepared.
    pub wanted: WantedStatements,
    /// The number of statements that have used lanes, and of those that have not, by reason.
    pub counts: Arc<LaneCounts>,
}

impl Lanes {
    /// The lanes of a worker with this pool: none yet.
    pub fn new(pool: Rc<WorkerPool>, counts: Arc<LaneCounts>) -> Self {
        Self {
            env: Rc::new(LaneEnv {
                pool,
                counts: Arc::clone(&counts),
                depths: RefCell::default(),
            }),
            open: RefCell::default(),
            known_digests: RefCell::default(),
            analysis: RefCell::default(),
            wanted: WantedStatements::default(),
            counts,
        }
    }

    /// The hash of a statement's digest.
    #[inline]
    pub fn digest(&self, text: &[u8], flags: Flags) -> u64 {
        let mut analysis = self.analysis.borrow_mut();
        analysis.read(text, flags);
        analysis.digest.hash()
    }

    /// The statistics of a digest on a backend.
    #[inline]
    pub fn stats(&self, backend: BackendId, digest: u64) -> DigestStats {
        self.known_digests.borrow().of(backend, digest)
    }

    /// Notes that one more statement with this digest has ended.
    #[inline]
    pub fn learn(&self, backend: BackendId, digest: u64, seen: &Observed) {
        self.known_digests.borrow_mut().note(backend, digest, seen);
    }

    /// The lane for a session's statement: the one with the fewest statements in flight. If even that has too many, a
    /// new lane is opened, if there is a connection for it.
    pub fn lane(
        self: &Rc<Self>,
        sub_pool: SubPoolId,
        state: &SessionState,
        take: impl FnOnce() -> Option<HeldConnection>,
    ) -> Result<Rc<SharedLane>, NotLaneable> {
        let depth = self.env.depth(sub_pool);
        let mut in_sub_pool = 0;
        let mut best: Option<(usize, Rc<SharedLane>)> = None;
        for lane in &*self.open.borrow() {
            if lane.sub_pool != sub_pool {
                continue;
            }
            in_sub_pool += 1;
            let Some(deep) = lane
                .depth()
                .filter(|_| lane.is_like(&self.env.pool.env, state))
            else {
                continue;
            };
            if best.as_ref().is_none_or(|(least, _)| deep < *least) {
                best = Some((deep, Rc::clone(lane)));
            }
        }
        if let Some((deep, lane)) = &best
            && *deep < depth.wanted()
        {
            return Ok(Rc::clone(lane));
        }
        if in_sub_pool < LANES_MAX
            && let Some(lease) = take()
        {
            return Ok(self.open(sub_pool, lease));
        }
        let room = best.filter(|(deep, _)| *deep < depth.most());
        room.map(|(_, lane)| lane).ok_or(NotLaneable::NoLane)
    }

    /// Whether there may be another lane for this sub-pool.
    pub fn has_room(&self, sub_pool: SubPoolId) -> bool {
        let open = self.open.borrow();
        open.iter().filter(|lane| lane.sub_pool == sub_pool).count() < LANES_MAX
    }

    /// Makes a lane of a connection.
    pub fn open(self: &Rc<Self>, sub_pool: SubPoolId, mut lease: HeldConnection) -> Rc<SharedLane> {
        // The statements of other sessions overwrite the answers that the connection's last session might ask for.
        lease.conn.owner = None;
        let memory = [(); 2].map(|()| self.env.pool.env.store.take_bytes());
        let lane = Rc::new(SharedLane::new(sub_pool, lease, memory));
        self.open.borrow_mut().push(Rc::clone(&lane));
        let (lanes, running) = (Rc::clone(self), Rc::clone(&lane));
        tokio::task::spawn_local(async move {
            let outcome = running.run(&lanes.env).await;
            lanes.close(&running);
            running.bring_back(&lanes.env, outcome);
        });
        lane
    }

    /// Ends the lanes to disabled backends.
    pub fn clear(&self, disabled: &[BackendId]) {
        for lane in &*self.open.borrow() {
            lane.ends_at(disabled);
        }
    }

    /// Removes a lane that has ended.
    pub fn close(&self, lane: &Rc<SharedLane>) {
        self.open.borrow_mut().retain(|it| !Rc::ptr_eq(it, lane));
    }
}
