//! Two joined connections from their joining to their ends: in the kernel while each direction keeps to its credit, in
//! user space otherwise.
//!
//! ```text
//!   user space ── both directions are quiet: a new credit ──► kernel
//!       ▲                                                       │
//!       └── bytes beyond the credit, or the end of a side ──────┘
//! ```
//!
//! In user space TCP slows the sender down: the proxy reads no more until it has written what it has read.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use super::joiner::{Granted, JoinedEnd, JoinedSockets};
use super::waiter::{Awaited, JoinWaiter};

/// Bytes that the kernel passes on in one direction before the proxy checks. The kernel buffers at most that many for a
/// receiver that reads nothing.
const CREDIT_BYTES: u64 = 1 << 20;
/// Pieces that a session moves before it yields to the worker's other sessions.
const TURNS_MAX: usize = 16;
/// The time until the proxy checks again whether the kernel's queue is empty: the first interval, and the longest.
const CHECK_INTERVAL: Duration = Duration::from_millis(1);
const CHECK_INTERVAL_MAX: Duration = Duration::from_millis(64);

/// The state of one direction.
#[derive(Debug, Default)]
struct JoinedFlow {
    /// Bytes that were read, or came before the joining, and are not written yet.
    held: Vec<u8>,
    /// How many bytes of `held` are written.
    sent: usize,
    /// How many bytes of `held` came before the joining. The kernel's program has not counted them.
    uncounted: usize,
    /// Bytes that the proxy has written.
    wrote: u64,
    /// Written bytes that the kernel's program has counted as passed.
    forwarded: u64,
    /// The sender has closed its side, and all its bytes were read.
    has_ended: bool,
    /// The proxy has told the receiver that the sender has closed.
    is_shut: bool,
}

/// What became of a direction in one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlowStep {
    /// Bytes moved, or a side's end was handled.
    Moved,
    /// A socket must become ready first.
    Blocked,
    /// The kernel has bytes that must go first, or bytes that are on their way to the proxy. No event tells when the
    /// kernel has none left.
    TooEarly,
}

/// A side that broke, and how.
#[derive(Debug)]
pub struct LostEnd {
    /// The side that broke.
    pub end: JoinedEnd,
    /// The kernel's word.
    pub error: io::Error,
}

impl LostEnd {
    /// An end whose bytes the kernel's program could not put in order.
    fn out_of_order(end: JoinedEnd) -> Self {
        let what = "the kernel received bytes of this connection twice and could not cut off the second ones";
        Self {
            end,
            error: io::Error::new(io::ErrorKind::InvalidData, what),
        }
    }
}

/// Two connections that could not be joined. They are unchanged, or shut down if bytes of them were lost.
#[derive(Debug)]
pub struct NotJoined {
    /// The connections.
    pub sockets: [TcpStream; 2],
    /// The bytes that were read from each.
    pub ahead: [Vec<u8>; 2],
    /// The kernel's word.
    pub error: io::Error,
}

/// The timer after which the proxy checks again without an event.
#[derive(Debug)]
struct NextCheck {
    timer: Option<Pin<Box<Sleep>>>,
    interval: Duration,
}

impl NextCheck {
    const NONE: Self = Self {
        timer: None,
        interval: CHECK_INTERVAL,
    };

    /// Doubles the interval each time: a receiver that reads nothing must not cost a wake-up each millisecond.
    fn plan(&mut self, context: &mut Context<'_>) {
        let mut timer = Box::pin(sleep(self.interval));
        self.interval = (self.interval * 2).min(CHECK_INTERVAL_MAX);
        if timer.as_mut().poll(context).is_ready() {
            context.waker().wake_by_ref();
        }
        self.timer = Some(timer);
    }
}

/// Two connections that pass their bytes to one another.
#[derive(Debug)]
pub struct JoinedRelay {
    sockets: [TcpStream; 2],
    joined: Rc<JoinedSockets>,
    flows: [JoinedFlow; 2],
    waiter: Rc<JoinWaiter>,
    is_in_kernel: bool,
    first_end: Option<JoinedEnd>,
    next_check: NextCheck,
}

impl Drop for JoinedRelay {
    fn drop(&mut self) {
        for end in JoinedEnd::BOTH {
            let socket = &self.sockets[end as usize];
            self.waiter.leave(self.joined.cookie(end), socket);
            if self.has_unread(end) {
                reset_at_close(socket);
            }
        }
    }
}

/// Makes the other side see a reset instead of an orderly end.
fn reset_at_close(socket: &TcpStream) {
    // It fails only on a socket that is broken already.
    let _ = socket2::SockRef::from(socket).set_linger(Some(Duration::ZERO));
}

impl JoinedRelay {
    /// Joins two connections. The bytes `ahead` were read from each and go first.
    ///
    /// # Errors
    /// The kernel's; the connections can be relayed in another way.
    pub fn begin(
        waiter: &Rc<JoinWaiter>,
        sockets: [TcpStream; 2],
        ahead: [Vec<u8>; 2],
    ) -> Result<Self, Box<NotJoined>> {
        match Self::join(waiter, &sockets) {
            Ok(joined) => Ok(Self {
                sockets,
                joined: Rc::new(joined),
                flows: ahead.map(|held| JoinedFlow {
                    uncounted: held.len(),
                    held,
                    ..JoinedFlow::default()
                }),
                waiter: Rc::clone(waiter),
                is_in_kernel: false,
                first_end: None,
                next_check: NextCheck::NONE,
            }),
            Err(error) => Err(Box::new(NotJoined {
                sockets,
                ahead,
                error,
            })),
        }
    }

    fn join(waiter: &JoinWaiter, sockets: &[TcpStream; 2]) -> io::Result<JoinedSockets> {
        let joined = waiter.joiner().join(&sockets[0], &sockets[1])?;
        let at = |end: JoinedEnd| (joined.cookie(end), &sockets[end as usize]);
        let mut ends = JoinedEnd::BOTH.into_iter().map(at);
        let entered = ends.try_for_each(|(cookie, socket)| waiter.enter(cookie, socket));
        if entered.is_err() {
            for (cookie, socket) in JoinedEnd::BOTH.map(at) {
                waiter.leave(cookie, socket);
            }
        }
        match entered {
            Ok(()) => Ok(joined),
            Err(error) => {
                joined.give_up(sockets.each_ref());
                Err(error)
            }
        }
    }

    /// The pair of sockets, for callers that count its bytes.
    pub fn joined(&self) -> &Rc<JoinedSockets> {
        &self.joined
    }

    /// The end that has closed its sending side first, if one has.
    pub fn first_end(&self) -> Option<JoinedEnd> {
        self.first_end
    }

    /// Whether an end has closed its sending side, and the opposite one has got all its bytes.
    pub fn has_delivered_end(&self, from: JoinedEnd) -> bool {
        self.flows[from as usize].is_shut
    }

    /// Whether the other side of an end has not acknowledged all bytes that were meant for it.
    pub fn has_unacknowledged(&self, to: JoinedEnd) -> bool {
        let flow = &self.flows[to.opposite() as usize];
        let socket = &self.sockets[to as usize];
        let asked = self.joined.has_unacknowledged(to, socket, flow.wrote);
        !flow.held.is_empty() || asked.unwrap_or(true)
    }

    /// Closes both connections at once; the end `to` sees a reset.
    pub fn abort(self, to: JoinedEnd) {
        reset_at_close(&self.sockets[to as usize]);
    }

    /// Passes bytes until both ends have closed. `buffer` is used until this returns.
    pub fn poll(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<(), LostEnd>> {
        if self.is_in_kernel {
            self.is_in_kernel = false;
            self.grant_all(|_| 0)?;
        }
        for _ in 0..TURNS_MAX {
            let mut turns = [FlowStep::Blocked; 2];
            for from in JoinedEnd::BOTH {
                turns[from as usize] = self.turn(from, buffer)?;
            }
            if self.flows.iter().all(|flow| flow.is_shut) {
                return Poll::Ready(Ok(()));
            }
            if turns.contains(&FlowStep::Moved) {
                self.next_check = NextCheck::NONE;
                continue;
            }
            self.check_ends()?;
            let is_blocked = turns == [FlowStep::Blocked; 2];
            self.is_in_kernel = is_blocked && self.is_quiet() && self.enter_kernel()?;
            self.wait(turns, context)?;
            return Poll::Pending;
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Whether an end has sent bytes that will not be delivered. When a socket with unread bytes is closed, the kernel
    /// resets its connection. It does not if the program has passed the bytes: then the sender would wait for minutes.
    fn has_unread(&self, end: JoinedEnd) -> bool {
        let flow = &self.flows[end as usize];
        let reads_more = || {
            (&self.sockets[end as usize])
                .read(&mut [0])
                .is_ok_and(|count| count > 0)
        };
        !flow.held.is_empty() || (!flow.has_ended && reads_more())
    }

    fn is_over(&self, end: JoinedEnd) -> bool {
        self.waiter.is_over(self.joined.cookie(end))
    }

    /// Whether no direction has bytes that the proxy is to write, and no side has closed.
    fn is_quiet(&self) -> bool {
        let mut flows = self.flows.iter();
        flows.all(|flow| flow.held.is_empty() && !flow.has_ended)
            && !JoinedEnd::BOTH.into_iter().any(|end| self.is_over(end))
    }

    /// Fails if the kernel's program has dropped bytes of an end, or if an end has closed its sending side and its
    /// connection is over before the other direction was closed.
    fn check_ends(&self) -> Result<(), LostEnd> {
        for end in JoinedEnd::BOTH {
            if self.joined.seen(end).is_out_of_order {
                return Err(LostEnd::out_of_order(end));
            }
            let has_closed = self.flows[end as usize].has_ended;
            let was_told = self.flows[end.opposite() as usize].is_shut;
            if has_closed && !was_told && self.is_over(end) {
                let error = self.sockets[end as usize].take_error();
                let error = error.unwrap_or_default();
                let error = error.unwrap_or_else(|| io::ErrorKind::ConnectionReset.into());
                return Err(LostEnd { end, error });
            }
        }
        Ok(())
    }

    /// Grants both directions a credit. Returns whether no byte has come to the proxy in between.
    fn enter_kernel(&mut self) -> Result<bool, LostEnd> {
        self.grant_all(|redirected| redirected + CREDIT_BYTES)?;
        for flow in &mut self.flows {
            flow.held = Vec::new();
        }
        let is_forwarded =
            |end: JoinedEnd| self.joined.seen(end).passed == self.flows[end as usize].forwarded;
        Ok(JoinedEnd::BOTH.into_iter().all(is_forwarded))
    }

    fn grant_all(&self, credit: impl Fn(u64) -> u64) -> Result<(), LostEnd> {
        for end in JoinedEnd::BOTH {
            let granted = Granted {
                credit: credit(self.joined.seen(end).redirected),
                forwarded: self.flows[end as usize].forwarded,
            };
            let set = self.joined.grant(end, granted);
            set.map_err(|error| LostEnd { end, error })?;
        }
        Ok(())
    }

    /// Moves one piece of one direction.
    fn turn(&mut self, from: JoinedEnd, buffer: &mut [u8]) -> Result<FlowStep, LostEnd> {
        let to = from.opposite();
        let flow = &mut self.flows[from as usize];
        if flow.is_shut {
            return Ok(FlowStep::Blocked);
        }
        if flow.held.is_empty() && !flow.has_ended {
            match (&self.sockets[from as usize]).read(buffer) {
                Ok(0) => {
                    let seen = self.joined.seen(from);
                    if seen.is_out_of_order {
                        return Err(LostEnd::out_of_order(from));
                    }
                    // The sender's last bytes may still be on their way to the proxy.
                    if seen.passed != flow.forwarded {
                        return Ok(FlowStep::TooEarly);
                    }
                    flow.has_ended = true;
                    self.first_end.get_or_insert(from);
                }
                Ok(count) => flow.held.extend_from_slice(&buffer[..count]),
                Err(error) if is_not_now(&error) => return Ok(FlowStep::Blocked),
                Err(error) => return Err(LostEnd { end: from, error }),
            }
        }
        let socket = &self.sockets[to as usize];
        let broke = |error| LostEnd { end: to, error };
        let has_left = self.joined.has_left(to, socket, flow.wrote);
        if !has_left.map_err(broke)? {
            return Ok(FlowStep::TooEarly);
        }
        if flow.held.is_empty() {
            flow.is_shut = true;
            // `shutdown` fails if the other side is gone. Reading from that side reports it.
            let _ = socket.shutdown(Shutdown::Write);
            return Ok(FlowStep::Moved);
        }
        match (&self.sockets[to as usize]).write(&flow.held[flow.sent..]) {
            Ok(count) => flow.note_written(count),
            Err(error) if is_not_now(&error) => return Ok(FlowStep::Blocked),
            Err(error) => return Err(broke(error)),
        }
        Ok(FlowStep::Moved)
    }

    /// Has the session woken by the events or the timer that let it go on.
    fn wait(&mut self, turns: [FlowStep; 2], context: &mut Context<'_>) -> Result<(), LostEnd> {
        let mut is_check_due = turns.contains(&FlowStep::TooEarly);
        for end in JoinedEnd::BOTH {
            let (here, there) = (end as usize, end.opposite() as usize);
            let [from, to] = [&self.flows[here], &self.flows[there]];
            let is_blocked = |at: usize| turns[at] == FlowStep::Blocked;
            let reads = is_blocked(here) && from.held.is_empty() && !from.has_ended;
            if self.is_over(end) {
                // The event of a connection that is over would come again and again.
                is_check_due |= reads;
                continue;
            }
            let writes = is_blocked(there) && !to.held.is_empty();
            let awaited = match (self.is_in_kernel, reads, writes) {
                (true, _, _) => Awaited::End,
                (false, true, false) => Awaited::Bytes,
                (false, false, true) => Awaited::Room,
                (false, true, true) => Awaited::BytesOrRoom,
                (false, false, false) => Awaited::Nothing,
            };
            let at = (self.joined.cookie(end), &self.sockets[here]);
            let set = self.waiter.await_at(at, awaited, context);
            set.map_err(|error| LostEnd { end, error })?;
        }
        match is_check_due {
            true => self.next_check.plan(context),
            false => self.next_check = NextCheck::NONE,
        }
        Ok(())
    }
}

impl JoinedFlow {
    fn note_written(&mut self, count: usize) {
        let uncounted = count.min(self.uncounted);
        self.uncounted -= uncounted;
        self.wrote += count as u64;
        self.forwarded += (count - uncounted) as u64;
        self.sent += count;
        if self.sent == self.held.len() {
            self.held.clear();
            self.sent = 0;
        }
    }
}

fn is_not_now(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests;
