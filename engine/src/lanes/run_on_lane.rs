//! A statement on a shared lane, seen from its session: it is submitted, the session waits, and notes the result.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use pool::LaneRequestId;
use route::KillScope;
use wire::Capabilities;

use crate::session::PooledSession;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::{Cut, ExchangeError, Reached};
use command::statement::Statement;
use lanes::lane::{Load, SharedLane, Submission};
use lanes::lane_request::{LaneReply, LaneRequest, LaneRequestEnd};
use registry::session_control::Ask;

impl PooledSession {
    /// Submits a statement to a lane and waits for the reply. `None`: the lane takes no more statements.
    pub(super) async fn run_on_lane(
        &mut self,
        lane: &Rc<SharedLane>,
        statement: &Statement<'_>,
        stats: Duration,
    ) -> Result<Option<LaneReply>, ExchangeError> {
        let seen = self.client.capabilities();
        let Some(load) = load_of(statement, seen) else {
            return Ok(None);
        };
        let lane_request = self.routing.lane_use_mut().request(seen);
        self.tracking.begin_on_lane(lane);
        self.swap_io(&lane_request);
        *lane_request.end.borrow_mut() = None;
        lane_request.bytes.set(0);
        let submission = Submission {
            lane_request: Rc::clone(&lane_request),
            load,
            sequence: statement.sequence(),
            stats,
        };
        let Some(home_id) = lane.submit(submission) else {
            self.swap_io(&lane_request);
            return Ok(None);
        };
        self.sql_state.pending_answers().note_lane();
        let lane_guard = LaneGuard {
            lane,
            home_id,
            lane_request: &lane_request,
        };
        let outcome = poll_fn(|context| self.poll_lane_request(&lane_guard, context)).await;
        drop(lane_guard);
        self.swap_io(&lane_request);
        outcome.map(Some)
    }

    /// Exchanges the client's connection and the tracking state between the session and the lane request.
    fn swap_io(&mut self, lane_request: &LaneRequest) {
        self.client.swap_leg(&mut lane_request.client.borrow_mut());
        self.tracking.swap_with(lane_request);
    }

    fn poll_lane_request(
        &mut self,
        lane_guard: &LaneGuard<'_>,
        context: &mut Context<'_>,
    ) -> Poll<Result<LaneReply, ExchangeError>> {
        let lane_request = lane_guard.lane_request;
        if let Some(end) = lane_request.end.borrow_mut().take() {
            return Poll::Ready(self.arrive(end));
        }
        {
            let mut waker = lane_request.waker.borrow_mut();
            if !waker
                .as_ref()
                .is_some_and(|it| it.will_wake(context.waker()))
            {
                *waker = Some(context.waker().clone());
            }
        }
        self.control.note(self.env.relay.clock.now(), false);
        self.client.swap_leg(&mut lane_request.client.borrow_mut());
        let meanwhile = self.poll_on_lane(lane_guard, context);
        self.client.swap_leg(&mut lane_request.client.borrow_mut());
        match meanwhile {
            Poll::Ready(Err(cut)) => Poll::Ready(Err(ExchangeError {
                cut,
                reached: match lane_request.bytes.get() {
                    0 => Reached::Backend,
                    _ => Reached::Client,
                },
                sequence: None,
            })),
            Poll::Ready(Ok(())) => Poll::Ready(Ok(LaneReply::Killed)),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Checks what may happen while the lane works. A kill of the statement alone goes over another connection, unless
    /// a part of the reply has come: then the whole reply will come.
    fn poll_on_lane(
        &mut self,
        lane_guard: &LaneGuard<'_>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Cut>> {
        let asked = self.control.poll_asked(context);
        if asked.contains(Ask::KillStatement)
            && self.control.takes_kill(self.command.timing.read())
            && lane_guard.lane_request.bytes.get() == 0
        {
            self.kill_on_lane(lane_guard);
            return Poll::Ready(Ok(()));
        }
        self.poll_meanwhile(context)
    }

    /// Kills a statement on a lane, and no other statement. If the server is executing it, all other statements move
    /// elsewhere first, and the connection is closed afterwards.
    fn kill_on_lane(&self, lane_guard: &LaneGuard<'_>) {
        if lane_guard.lane.leave(lane_guard.home_id)
            && let Some(running) = lane_guard.lane.isolate()
        {
            self.kill_thread(&running, KillScope::Statement);
        }
    }

    fn arrive(&mut self, end: LaneRequestEnd) -> Result<LaneReply, ExchangeError> {
        match end {
            LaneRequestEnd::Elsewhere => Ok(LaneReply::Elsewhere),
            LaneRequestEnd::Refused => Ok(LaneReply::Refused),
            LaneRequestEnd::Broken(cause, sequence) => Err(ExchangeError {
                cut: Cut::Backend(ConnectionError::Io(std::io::Error::other(cause))),
                reached: Reached::Client,
                sequence,
            }),
            LaneRequestEnd::Over(done, lane_plan) => {
                if let Some(status) = done.tally.status {
                    self.client.note_status(status);
                }
                Ok(LaneReply::Done(done, lane_plan))
            }
        }
    }
}

/// A request on a lane. If it is dropped before its reply has come, it leaves the lane.
struct LaneGuard<'a> {
    lane: &'a Rc<SharedLane>,
    home_id: LaneRequestId,
    lane_request: &'a LaneRequest,
}

impl Drop for LaneGuard<'_> {
    fn drop(&mut self) {
        self.lane.leave(self.home_id);
        self.lane_request.waker.borrow_mut().take();
    }
}

/// The part of a statement that goes to a lane. `None`: such a statement does not use lanes.
fn load_of<'a>(statement: &'a Statement<'_>, capabilities: Capabilities) -> Option<Load<'a>> {
    match statement {
        Statement::Text(query) => Some(Load::Query(&query.incoming().packets)),
        Statement::Execution(executing) => Some(Load::Execute {
            key: &executing.key,
            execute: &executing.execute,
            types: executing.types.clone(),
            capabilities,
        }),
        Statement::Bulk(_) | Statement::Command(_) => None,
    }
}
