//! A worker's shared lanes: which one a statement boards, when another is opened, what has been seen
//! of statements like it.

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

/// So many lanes of one worker go to one backend for one kind of sessions.
const LANES_MAX: usize = 4;

/// One worker's.
pub struct Lanes {
    env: Rc<LaneEnv>,
    open: RefCell<Vec<Rc<SharedLane>>>,
    known_digests: RefCell<KnownDigests>,
    /// Memory for a digest.
    analysis: RefCell<Analysis>,
    /// Statements that were executed where no lane had them.
    pub wanted: WantedStatements,
    /// What has become of statements that might use a lane.
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

    /// What is known of a digest on a backend.
    #[inline]
    pub fn stats(&self, backend: BackendId, digest: u64) -> DigestStats {
        self.known_digests.borrow().of(backend, digest)
    }

    /// One more of them has ended.
    #[inline]
    pub fn learn(&self, backend: BackendId, digest: u64, seen: &Observed) {
        self.known_digests.borrow_mut().note(backend, digest, seen);
    }

    /// The lane that a session's statement boards: the least deep one, unless another one would serve
    /// better and there is a connection for it.
    pub fn lane(
        self: &Rc<Self>,
        sub_pool: SubPoolId,
        state: &SessionState,
        take: impl FnOnce() -> Option<HeldConnection>,
    ) -> Result<Rc<SharedLane>, NotLaneable> {
        let depth = self.env.depth(sub_pool);
        let mut of_shelf = 0;
        let mut best: Option<(usize, Rc<SharedLane>)> = None;
        for lane in &*self.open.borrow() {
            if lane.sub_pool != sub_pool {
                continue;
            }
            of_shelf += 1;
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
        if of_shelf < LANES_MAX
            && let Some(lease) = take()
        {
            return Ok(self.open(sub_pool, lease));
        }
        let room = best.filter(|(deep, _)| *deep < depth.most());
        room.map(|(_, lane)| lane).ok_or(NotLaneable::NoLane)
    }

    /// Whether there may be one lane more.
    pub fn has_room(&self, sub_pool: SubPoolId) -> bool {
        let open = self.open.borrow();
        open.iter().filter(|lane| lane.sub_pool == sub_pool).count() < LANES_MAX
    }

    /// Makes a connection a lane, whoever has it.
    pub fn open(self: &Rc<Self>, sub_pool: SubPoolId, mut lease: HeldConnection) -> Rc<SharedLane> {
        // What its last session knows to be there others' statements change.
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

    /// Ends the lanes to backends that nobody may use any more.
    pub fn clear(&self, disabled: &[BackendId]) {
        for lane in &*self.open.borrow() {
            lane.ends_at(disabled);
        }
    }

    /// A lane has ended.
    pub fn close(&self, lane: &Rc<SharedLane>) {
        self.open.borrow_mut().retain(|it| !Rc::ptr_eq(it, lane));
    }
}
