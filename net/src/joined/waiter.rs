//! How joined sockets wake their sessions: one epoll instance for a worker, which the worker's reactor watches.
//!
//! A session whose bytes the kernel passes on must not be woken by each piece. So its sockets are watched for their
//! ends only, and a ring of notices names the sockets that have bytes for the proxy.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Context, Waker};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::joiner::SocketJoiner;
use super::trial;

/// The number that stands for the ring. The cookies of sockets begin at 1.
const RING: u64 = 0;
/// Events that are read at once.
const EVENTS_MAX: usize = 64;

/// The events that a session awaits at one of its sockets. Each wait ends with the first event. The end of the whole
/// connection is always an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The end of the other side.
    End,
    /// Bytes to read, or the end of the other side.
    Bytes,
    /// Room to write bytes.
    Room,
    /// Bytes, room, or the end of the other side.
    BytesOrRoom,
    /// Nothing.
    Nothing,
}

impl Awaited {
    fn flags(self) -> EventFlags {
        let once = EventFlags::ONESHOT;
        match self {
            Self::End => EventFlags::RDHUP | once,
            Self::Bytes => EventFlags::IN | EventFlags::RDHUP | once,
            Self::Room => EventFlags::OUT | once,
            Self::BytesOrRoom => EventFlags::IN | EventFlags::RDHUP | EventFlags::OUT | once,
            Self::Nothing => once,
        }
    }
}

/// Has the reactor watch an epoll instance.
#[allow(unsafe_code)]
fn readable(epoll: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` owns its descriptor, which stays the same and is open until the `OwnedFd` is dropped.
    let registered = unsafe { AsyncFd::register_with_interest(epoll, Interest::READABLE) };
    registered.map_err(Into::into)
}

/// A socket that a session waits at.
#[derive(Debug, Default)]
struct Waiting {
    waker: Option<Waker>,
    /// The connection has ended in both directions, or is broken.
    is_over: bool,
}

/// The joined sockets of one worker, and the sessions that wait for them.
#[derive(Debug)]
pub struct JoinWaiter {
    joiner: Rc<SocketJoiner>,
    epoll: AsyncFd<OwnedFd>,
    /// By the cookies of the sockets.
    waiting: RefCell<HashMap<u64, Waiting>>,
}

impl JoinWaiter {
    /// Asks the kernel for everything that joining needs. Call it in the worker's own thread.
    ///
    /// # Errors
    /// The kernel's: a capability is missing (CAP_BPF and CAP_NET_ADMIN are needed), or the kernel is too old.
    pub fn new() -> io::Result<Rc<Self>> {
        let joiner = SocketJoiner::new()?;
        trial::check(&joiner)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let ring = EventData::new_u64(RING);
        epoll::add(&epoll, joiner.notices().fd(), ring, EventFlags::IN)?;
        Ok(Rc::new(Self {
            joiner,
            epoll: readable(epoll)?,
            waiting: RefCell::default(),
        }))
    }

    /// The worker's maps and its program.
    pub(super) fn joiner(&self) -> &Rc<SocketJoiner> {
        &self.joiner
    }

    /// Watches a socket from now on.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn enter(&self, cookie: u64, socket: &TcpStream) -> io::Result<()> {
        let data = EventData::new_u64(cookie);
        let nothing = Awaited::Nothing.flags();
        epoll::add(self.epoll.get_ref(), socket, data, nothing)?;
        let mut waiting = self.waiting.borrow_mut();
        waiting.insert(cookie, Waiting::default());
        Ok(())
    }

    /// Stops watching a socket.
    pub(super) fn leave(&self, cookie: u64, socket: &TcpStream) {
        // It fails if the socket was never entered.
        let _ = epoll::delete(self.epoll.get_ref(), socket);
        self.waiting.borrow_mut().remove(&cookie);
    }

    /// Has the task of `context` woken once when the awaited event comes, or when there is a notice.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn await_at(
        &self,
        (cookie, socket): (u64, &TcpStream),
        awaited: Awaited,
        context: &Context<'_>,
    ) -> io::Result<()> {
        if let Some(waiting) = self.waiting.borrow_mut().get_mut(&cookie) {
            waiting.waker = Some(context.waker().clone());
        }
        let data = EventData::new_u64(cookie);
        epoll::modify(self.epoll.get_ref(), socket, data, awaited.flags())?;
        Ok(())
    }

    /// Whether the connection has ended in both directions, or is broken.
    pub(super) fn is_over(&self, cookie: u64) -> bool {
        let waiting = self.waiting.borrow();
        waiting.get(&cookie).is_some_and(|it| it.is_over)
    }

    fn wake(&self, cookie: u64, is_over: bool) {
        let mut waiting = self.waiting.borrow_mut();
        let Some(waiting) = waiting.get_mut(&cookie) else {
            return;
        };
        waiting.is_over |= is_over;
        if let Some(waker) = waiting.waker.take() {
            waker.wake();
        }
    }

    /// Wakes sessions for as long as the worker lives.
    ///
    /// # Errors
    /// The reactor's, when it ends.
    pub async fn run(self: Rc<Self>) -> io::Result<()> {
        const AT_ONCE: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        loop {
            let mut ready = self.epoll.readable().await?;
            let mut events = [MaybeUninit::<Event>::uninit(); EVENTS_MAX];
            let (events, _) = epoll::wait(self.epoll.get_ref(), &mut events[..], Some(&AT_ONCE))?;
            if events.is_empty() {
                ready.clear_ready();
            }
            for event in events.iter() {
                let flags = event.flags;
                let is_over = flags.intersects(EventFlags::HUP | EventFlags::ERR);
                match event.data.u64() {
                    RING => self
                        .joiner
                        .notices()
                        .drain(|cookie| self.wake(cookie, false)),
                    cookie => self.wake(cookie, is_over),
                }
            }
        }
    }
}
