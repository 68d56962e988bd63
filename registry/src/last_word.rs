//! Tells a client why its session ends, as the answer to its next command.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::Poll;

use link::failure::Failure;
use link::leg::Leg;
use tokio::io::ReadBuf;
use wire::StatusFlags;

use crate::session_control::SessionControl;

/// Waits until the client can be told why its session ends. Usually that is at once. Some failures are told only after
/// the next command: until then the session stays, without a backend. Returns false if the client cannot be told.
pub async fn takes_the_reason(
    session: &SessionControl,
    client: &mut Leg,
    scratch: &RefCell<Box<[u8]>>,
    failure: &Failure,
) -> bool {
    if !failure.kind.waits_for_a_command() {
        return true;
    }
    session.unsettle();
    session.stand(StatusFlags::default());
    session.hold(None);
    session.has_spoken();
    poll_fn(|context| {
        if let Poll::Ready(Err(_)) = client.poll_drain(context) {
            return Poll::Ready(false);
        }
        let mut scratch = scratch.borrow_mut();
        let mut buffer = ReadBuf::new(&mut scratch);
        if let Poll::Ready(read) = client.poll_read(context, &mut buffer) {
            return Poll::Ready(read.is_ok() && !buffer.filled().is_empty());
        }
        match session.poll_asked(context).is_nothing() {
            true => Poll::Pending,
            false => Poll::Ready(false),
        }
    })
    .await
}
