//! A lane over a pooled connection, and sessions that use it.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use config::Config;
use dialogues::backends::backend;
use dialogues::memory_network::ROOM;
use dialogues::peer::{Peer, query};
use dialogues::pool_scene::{POOLED, PoolScene};
use link::leg::Leg;
use link::transport::Transport;
use net::Socket;
use pilotfish_lanes::lane::{Load, SharedLane, Submission};
use pilotfish_lanes::lane_request::{LaneRequest, LaneRequestEnd};
use pilotfish_lanes::lanes::Lanes;
use pool::LaneRequestId;
use route::Backend;
use stats::lane_counts::AllLaneCounts;

/// The usual duration of a statement in these dialogues.
pub const USUAL: Duration = Duration::from_millis(1);

/// A pool, its lanes, and their figures.
pub struct Scene {
    pub pool: PoolScene,
    pub lanes: Rc<Lanes>,
    pub counts: AllLaneCounts,
}

/// A session's request on a lane, and its client.
pub struct LaneSession {
    pub request: Rc<LaneRequest>,
    pub app: Peer,
}

impl Scene {
    pub fn plain() -> Self {
        Self::before(backend(1))
    }

    pub fn before(backend: Backend) -> Self {
        let pool = PoolScene::new(Config::default(), backend);
        let counts = AllLaneCounts::default();
        let lanes = Lanes::new(Rc::clone(&pool.pool), counts.enter());
        Self {
            pool,
            lanes: Rc::new(lanes),
            counts,
        }
    }

    /// A lane over a new connection, and the server's side of that.
    pub async fn lane(&mut self) -> (Rc<SharedLane>, Peer) {
        let (held, db) = self.pool.open().await;
        (self.lanes.open(self.pool.sub_pool.id, held), db)
    }

    /// A session whose client has `room` bytes of buffer for replies.
    pub fn session_with(&self, room: usize) -> LaneSession {
        let (near, far) = self.pool.environment.client_ends(room);
        let request = LaneRequest::new(POOLED);
        *request.client.borrow_mut() = Leg::new(Transport::from(Socket::from(near)));
        let mut app = Peer::new(far);
        app.begin_at(1);
        LaneSession {
            request: Rc::new(request),
            app,
        }
    }

    pub fn session(&self) -> LaneSession {
        self.session_with(ROOM)
    }

    /// Returns the number of lanes that have stalled.
    pub fn stalled(&self) -> u64 {
        let sums = self.counts.sums();
        let stalled = sums.iter().find(|(name, ..)| *name == "stalled");
        stalled.map_or(0, |(.., count)| *count)
    }
}

impl LaneSession {
    /// Submits a text to the lane; returns none if the lane does not take it.
    pub fn submit(&self, lane: &SharedLane, text: &str) -> Option<LaneRequestId> {
        self.load(lane, Load::Query(&query(text)))
    }

    pub fn load(&self, lane: &SharedLane, load: Load<'_>) -> Option<LaneRequestId> {
        lane.submit(Submission {
            lane_request: Rc::clone(&self.request),
            load,
            sequence: 1,
            stats: USUAL,
        })
    }

    /// Waits for the end of the request.
    pub async fn end(&self) -> LaneRequestEnd {
        poll_fn(|context| match self.request.end.borrow_mut().take() {
            Some(end) => Poll::Ready(end),
            None => {
                *self.request.waker.borrow_mut() = Some(context.waker().clone());
                Poll::Pending
            }
        })
        .await
    }

    pub fn has_ended(&self) -> bool {
        self.request.end.borrow().is_some()
    }
}

/// Returns the name of the end of a request.
pub fn name(end: &LaneRequestEnd) -> &'static str {
    match end {
        LaneRequestEnd::Over(..) => "over",
        LaneRequestEnd::Elsewhere => "elsewhere",
        LaneRequestEnd::Refused => "refused",
        LaneRequestEnd::Broken(..) => "broken",
    }
}
