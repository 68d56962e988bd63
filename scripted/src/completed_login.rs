//! The completed login of a scripted session, which becomes the session when the client's stream is handed over.

use std::rc::Rc;
use std::sync::Arc;

use wire::compression::{Algorithm, Remote};
use wire::{Capabilities, StatusFlags};

use super::begin::Begin;
use super::client_files::ClientFiles;
use super::client_side::ClientSide;
use super::session::Scripted;
use backend::secure::compress;
use link::client_command::Inbox;
use link::failure::Failure;
use link::leg::Leg;
use link::packets::PacketStream;
use link::session_end::lost_at_login;
use login::login_env::SessionPermit;
use registry::session_registry::Registration;
use relay::relay_env::SessionContext;
use script_host::host::Host;
use script_host::server::Server;

/// A login that has succeeded. It does not contain the client's stream yet.
pub struct CompletedLogin {
    pub(crate) script: script::Session,
    pub(crate) id: u64,
    /// The session's entry by the id that the client sees, if the proxy has given that id.
    pub(crate) registration: Option<Registration>,
    pub(crate) server: Option<Server>,
    pub(crate) status: StatusFlags,
    pub(crate) compression: Option<(Algorithm, u8)>,
    pub(crate) collation: u8,
    /// The capabilities that the client has agreed on.
    pub(crate) capabilities: Capabilities,
}

impl Begin<'_> {
    /// Returns the login of a session without a backend connection.
    pub(crate) fn without_backend(
        self,
        compression: Option<(Algorithm, u8)>,
        capabilities: Capabilities,
    ) -> CompletedLogin {
        CompletedLogin {
            compression,
            capabilities,
            script: self.hooks.script,
            id: self.id,
            registration: None,
            server: None,
            status: StatusFlags::AUTOCOMMIT,
            collation: self.client_login.collation,
        }
    }
}

impl CompletedLogin {
    /// Makes the session, with its client's stream.
    ///
    /// # Errors
    /// The connection to the client is lost.
    pub fn join(
        self,
        client: PacketStream,
        host: Rc<Host>,
        context: SessionContext<'_>,
        place: SessionPermit,
    ) -> Result<Scripted, Failure> {
        let (client, ahead) = client.into_parts().ok_or_else(lost_at_login)?;
        let (client, ahead) = compress(client, ahead, self.compression, Remote::Client);
        if let Some(server) = &self.server {
            context.control.settle(server.backend.id);
        }
        Ok(Scripted {
            client: ClientSide {
                leg: Leg::new(client),
                inbox: Inbox::new(ahead),
                status: self.status,
                collation: self.collation,
                capabilities: self.capabilities,
            },
            server: self.server,
            script: self.script,
            has_changed: false,
            rows: None,
            is_bound: false,
            files: ClientFiles::default(),
            host,
            id: self.id,
            registration: self.registration,
            env: Rc::clone(context.env),
            control: Rc::clone(context.control),
            settings: Arc::clone(context.settings),
            observer: None,
            _place: place,
        })
    }
}
