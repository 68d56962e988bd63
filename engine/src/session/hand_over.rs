//! A session that cannot be pooled any more: it goes on over one connection, relayed.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use session::state::Needs;
use session::{Pipelining, Sequences, Tracker};
use sql::Facts;

use super::PooledSession;
use backend::connection::BackendConn;
use command::repeat::Repeat;
use command::target::CommandTarget;
use link::client_command::Incoming;
use link::dialogue::Legs;
use registry::session_info::SessionKind;
use relay::outcome::{After, Relayed, SessionError};
use relay::relay::Relay;
use relay::relayed_session::{KeptUntilEnd, LastLogin, RelayedSession};
use session::effect::Effect;

impl PooledSession {
    /// Hands the session over to the relay: from here on it has one backend connection to its end.
    pub(crate) async fn hand_over(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        let ordered = self.policy_target(&Facts::default());
        let target = ordered.unwrap_or(CommandTarget::Home);
        if let Err(failure) = self.hold(target).await {
            return self.refuse(&failure, incoming.sequence);
        }
        let made = self.make_texts(&Needs::ALL).await;
        let Some(mut lease) = self.held.take() else {
            return Ok(After::Next);
        };
        let equal = match made {
            Ok(_) => {
                self.restore_state_and_begin(&mut lease.conn, &Needs::ALL)
                    .await
            }
            Err(cut) => Err(cut),
        };
        self.held.put(lease);
        if let Err(cut) = equal {
            let repeat = Repeat::of(Effect::Any, target);
            return self.cut_short(cut, incoming.sequence, incoming.command, repeat);
        }
        let Some(lease) = self.held.take() else {
            return Ok(After::Next);
        };
        let conn = self.env.pool.take_out(lease);
        self.relay_over(conn, incoming)
    }

    /// From this command on the session is relayed over this connection, which has the session's state.
    fn relay_over(
        &mut self,
        conn: Box<BackendConn>,
        incoming: Incoming,
    ) -> Result<After, SessionError> {
        let thread_id = conn.thread_id;
        let sequences = match self.client.is_compressed() || conn.is_compressed() {
            false => Sequences::Checked,
            true => Sequences::Renumbered,
        };
        let pipelining = match conn.is_compressed() {
            false => Pipelining::Deep,
            true => Pipelining::OneByOne,
        };
        let limit = self.settings.config.limits.packet_bytes_max;
        let (capabilities, server) = (conn.capabilities, conn.state.server());
        let tracker = Tracker::new(
            capabilities,
            self.client.status(),
            sequences,
            pipelining,
            limit,
        );
        let (mut client, read) = self.client.take();
        client.observer = None;
        let backend = Arc::clone(&conn.backend);
        let legs = Legs {
            client: self.client.privacy(),
            backend: conn.leg.transport.privacy(),
        };
        let mut relay = Relay::new(
            (client, conn.leg),
            tracker,
            (Arc::clone(&backend), server),
            Rc::clone(&self.control),
            Rc::clone(&self.env.relay),
        );
        let mut ahead = incoming.packets;
        ahead.extend(read);
        relay
            .put_ahead(ahead, Vec::new())
            .map_err(|failure| SessionError::new(failure, None))?;
        self.control.settle(backend.id);
        self.control.change_info(|info| {
            info.kind = SessionKind::Relayed;
            info.thread_id = thread_id;
        });
        relay.observe(capabilities);
        // From here on the server enforces `wait_timeout`.
        self.control.may_wait(None);
        self.identity.bind_to_thread(backend.id, thread_id);
        Ok(After::Relayed(Box::new(Relayed {
            relay,
            legs,
            scramble: Vec::new(),
            thread_id,
            slot: None,
        })))
    }

    /// The session goes on over the connection of `relayed`, and keeps its places and its script until its end.
    pub fn go_on_relayed(
        self,
        relayed: Relayed,
        script: Option<Box<dyn Any>>,
    ) -> Box<RelayedSession> {
        let Relayed {
            relay,
            legs,
            scramble,
            thread_id,
            slot,
        } = relayed;
        let login = LastLogin {
            legs,
            scramble,
            thread_id,
        };
        let home = self.routing.into_home();
        let (registration, permit) = self.identity.into_places();
        let kept = KeptUntilEnd {
            registration,
            slot: slot.or_else(|| home.map(|home| home.slot)),
            script,
            permit,
        };
        Box::new(RelayedSession::going_on(relay, login, kept))
    }
}
