//! A session without a backend: the script greets, accepts every client, and answers everything.

use auth::Scramble;
use auth::plugin::MORE_DATA;
use script::Payloads;
use wire::auth::{CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD, put_auth_switch};
use wire::reply::OK;
use wire::{Capabilities, Greeting, HandshakeResponse, StatusFlags};

use super::begin::Begin;
use link::dialogue::client_broke;
use link::failure::Failure;
use login::examine::random;
use login::relayed_login::own_offer;
use script_host::login_hooks::{ended, send_payloads};

/// The server version of a script that answers everything, unless the script sends its own greeting.
const VERSION_WITHOUT_BACKEND: &[u8] = b"8.0.99-pilotfish";

/// utf8mb4_general_ci
const UTF8MB4: u8 = 45;

impl Begin<'_> {
    /// Sends the script's own greeting, or the proxy's if the script answers with an OK. Any other
    /// answer of the script ends the session.
    pub(crate) async fn greet_alone(&mut self, payloads: &Payloads) -> Result<Greeting, Failure> {
        let first = payloads.at(0).unwrap_or_default();
        if first.first() == Some(&OK) {
            let greeting = self.greeting_without_backend();
            let mut payload = Vec::new();
            greeting.encode(&mut payload);
            self.send(&payload).await?;
            self.hooks.note_greeting(&greeting);
            return Ok(greeting);
        }
        send_payloads(self.client, payloads).await?;
        match Greeting::decode(first) {
            Ok(greeting) => {
                self.hooks.note_greeting(&greeting);
                Ok(greeting)
            }
            Err(_) => Err(ended("connect_server has answered the client")),
        }
    }

    /// Returns the greeting for clients of a script that accepts every client.
    fn greeting_without_backend(&self) -> Greeting {
        let capabilities = Capabilities::LONG_PASSWORD
            | Capabilities::CONNECT_WITH_DB
            | Capabilities::PROTOCOL_41
            | Capabilities::TRANSACTIONS
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH;
        Greeting {
            version: VERSION_WITHOUT_BACKEND.to_vec(),
            thread_id: self.id as u32,
            scramble: Scramble::of_random(random(&self.env.pool.system.entropy))
                .as_bytes()
                .to_vec(),
            capabilities: own_offer(self.settings, capabilities),
            collation: UTF8MB4,
            status: StatusFlags::AUTOCOMMIT,
            plugin: MYSQL_NATIVE_PASSWORD.to_vec(),
        }
    }

    /// Accepts the client without authentication: sends the OK, after the packet that the client's plugin waits for.
    pub(crate) async fn let_in(&mut self, response: &HandshakeResponse<'_>) -> Result<(), Failure> {
        const FAST_AUTHENTICATION: u8 = 3;
        if response.plugin == Some(CACHING_SHA2_PASSWORD) {
            let mut switch = Vec::new();
            let scramble = Scramble::of_random(random(&self.env.pool.system.entropy));
            put_auth_switch(&mut switch, CACHING_SHA2_PASSWORD, scramble.as_bytes());
            switch.push(0);
            self.send(&switch).await?;
            let answer = self.client.read().await.map_err(client_broke)?;
            if !matches!(answer.as_slice(), [] | [0]) {
                self.send(&[MORE_DATA, FAST_AUTHENTICATION]).await?;
            }
        }
        let mut ok = vec![OK, 0, 0];
        ok.extend_from_slice(&StatusFlags::AUTOCOMMIT.0.to_le_bytes());
        ok.extend_from_slice(&[0, 0]);
        self.send(&ok).await
    }
}
