//! COM_CHANGE_USER of a scripted session's client: the check, and the dialogue after the command.

use session::{Outcome, Sequences};
use wire::reply::OkPacket;

use super::session::Scripted;
use link::dialogue::{AuthEnd, Dialogue, Exchange, Legs};
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;
use link::reply_observer::ObservedReply;
use login::user_change::UserChange;
use relay::outcome::SessionError;
use script_host::server::Server;

impl Scripted {
    /// Checks that a COM_CHANGE_USER leads to an account with the same scripts as the session.
    pub(super) fn may_become(&self, argument: &[u8]) -> Result<(), Failure> {
        let Some(info) = self.control.info() else {
            return Ok(());
        };
        let change = UserChange {
            remote: &info.client,
            transport: &self.client.leg.transport,
            argument,
            running: self.script.files(),
        };
        change.check(&self.env.login)
    }

    /// Runs the dialogue after COM_CHANGE_USER.
    pub(super) async fn change_user(
        &mut self,
        server: &mut Server,
    ) -> Result<ObservedReply, SessionError> {
        let lost = |error: std::io::Error| {
            SessionError::new(
                Failure::new(FailureKind::ClientLost, error.to_string()),
                None,
            )
        };
        self.client.leg.drained().await.map_err(lost)?;
        server.leg.drained().await.map_err(lost)?;
        let legs = Legs {
            client: self.client.leg.transport.privacy(),
            backend: server.privacy(),
        };
        let mut client = PacketStream::new(&mut self.client.leg.transport, 1)
            .with_sequences(Sequences::Renumbered)
            .with_ahead(self.client.inbox.take_all());
        let mut backend = PacketStream::new(&mut server.leg.transport, 1)
            .with_sequences(Sequences::Renumbered)
            .with_ahead(std::mem::take(&mut server.inbox));
        let mut dialogue = Dialogue {
            client: &mut client,
            backend: &mut backend,
            backend_name: &server.backend.name,
            legs,
            own_key: &self.env.login.shared.own_key,
            server_key: self.settings.server_key(),
            plugin: wire::auth::CACHING_SHA2_PASSWORD.to_vec(),
            scramble: server.scramble.clone(),
            exchange: Exchange::None,
            observer: None,
        };
        let end = dialogue.run().await;
        server.scramble = std::mem::take(&mut dialogue.scramble);
        let ahead = |stream: PacketStream<_>| {
            let parts = stream.into_parts();
            parts.map(|(_, ahead)| ahead).unwrap_or_default()
        };
        let (from_client, from_backend) = (ahead(client), ahead(backend));
        self.client.inbox.put(&from_client);
        server.inbox = from_backend;
        let mut observed = ObservedReply::nothing();
        observed.is_reply = true;
        observed.has_passed = true;
        match end.map_err(|failure| SessionError::new(failure, None))? {
            AuthEnd::Ok(payload) => {
                if let Ok(ok) = OkPacket::decode(&payload) {
                    self.client.status = ok.status;
                }
            }
            AuthEnd::Err(payload) => {
                let number = wire::ErrPacket::decode(&payload).map_or(0, |err| err.number);
                observed.outcome = Outcome::Err(number);
            }
        }
        Ok(observed)
    }
}
