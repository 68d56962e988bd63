//! A scripted session's backend connection.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use auth::Privacy;
use route::{Backend, SessionSlot};
use script::SocketFacts;
use tokio::io::{AsyncRead, ReadBuf};
use wire::{Capabilities, Command, Greeting};

use link::leg::Leg;

/// One backend connection that a client's login has opened.
pub struct Server {
    /// The id by which scripts move the connection.
    pub id: u64,
    /// The backend.
    pub backend: Arc<Backend>,
    /// The connection.
    pub leg: Leg,
    /// Bytes from the backend that no session has taken.
    pub inbox: Vec<u8>,
    /// The backend's greeting.
    pub greeting: Greeting,
    /// The capabilities that client and backend agreed on.
    pub capabilities: Capabilities,
    /// The last scramble of the connection's login.
    pub scramble: Vec<u8>,
    /// The facts about the connection for scripts.
    pub facts: SocketFacts,
    /// The session that used it last.
    pub user_id: u64,
    /// The connection's place on the backend; given back when it is dropped.
    pub _slot: SessionSlot,
}

impl Server {
    /// Ready when the backend has closed the connection, or has sent bytes that were not asked for.
    pub fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<Vec<u8>> {
        let mut scratch = [0; 512];
        let mut buffer = ReadBuf::new(&mut scratch);
        let read = ready!(Pin::new(&mut self.leg.transport).poll_read(context, &mut buffer));
        Poll::Ready(match read {
            Ok(()) => buffer.filled().to_vec(),
            Err(_) => Vec::new(),
        })
    }

    /// Waits for the end of the connection.
    pub async fn ended(&mut self) {
        poll_fn(|context| self.poll_ended(context)).await;
    }

    /// Sends packets. If the backend takes none, the next read notices the end.
    pub async fn send(&mut self, packets: &[u8]) {
        poll_fn(|context| {
            self.leg.transport.begin_command();
            match self.leg.is_drained() {
                true => self.leg.send_or_break(packets, context),
                false => self.leg.append(packets),
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Sends COM_QUIT and closes.
    pub async fn quit(mut self) {
        self.send(&[1, 0, 0, 0, Command::QUIT.0]).await;
    }

    /// How private the connection is.
    pub fn privacy(&self) -> Privacy {
        self.leg.transport.privacy()
    }
}
