//! A session after its login, and how it begins if the proxy has let the client in.

use std::rc::Rc;

use super::facts::Facts;
use super::new_session::NewSession;
use super::own_script::own_script;
use engine::session::PooledSession;
use engine::session::session_start::{StartedSession, begin as begin_pooled};
use explain::SessionExplainer;
use link::failure::Failure;
use link::packets::PacketStream;
use link::session_end::send_error;
use login::login_env::SessionPermit;
use login::server_login::AdmittedLogin;
use login::welcome::welcome;
use relay::joined_session::{JoinedSession, KernelSession};
use relay::relayed_session::RelayedSession;
use script_host::host::Host;
use script_host::login_hooks::LoginHooks;
use scripted::pooled_script::PooledScript;
use scripted::session::Scripted;

/// A session after its login.
pub(super) enum LoggedInSession {
    Relayed(Box<RelayedSession>),
    Joined(Box<JoinedSession>),
    Pooled(Box<PooledSession>, Option<Box<PooledScript>>),
    Scripted(Box<Scripted>),
}

impl From<KernelSession> for LoggedInSession {
    fn from(session: KernelSession) -> Self {
        match session {
            KernelSession::Joined(session) => Self::Joined(session),
            KernelSession::Relayed(session) => Self::Relayed(session),
        }
    }
}

/// Begins the session of a client that the proxy has let in, with its script if it runs one.
pub(super) async fn take_in(
    newcomer: NewSession<'_>,
    mut client: PacketStream,
    admission: AdmittedLogin,
    place: SessionPermit,
    script: Option<(LoginHooks, Rc<Host>)>,
    facts: &Facts,
) -> Result<LoggedInSession, Failure> {
    let NewSession {
        worker, settings, ..
    } = newcomer;
    let control = &newcomer.registered.control;
    let begun = async {
        let script = own_script(worker, &client, &admission, script, facts)?;
        let mut begun = begin_pooled(
            &worker.engine,
            &SessionExplainer,
            control,
            settings,
            &client,
            admission,
            place,
        )
        .await?;
        let script = let_in(&mut client, &mut begun, script).await?;
        Ok::<_, Failure>((begun, script))
    };
    match begun.await {
        Ok((begun, script)) => {
            let session = begun.join(client)?;
            Ok(LoggedInSession::Pooled(Box::new(session), script))
        }
        Err(failure) => {
            send_error(&mut client, &failure, facts.client_login.has_answered).await;
            Err(failure)
        }
    }
}

/// Sends the client the OK. Returns the script that sees the client's commands from now on, if there is one.
async fn let_in(
    client: &mut PacketStream,
    begun: &mut StartedSession,
    script: Option<(LoginHooks, Rc<Host>)>,
) -> Result<Option<Box<PooledScript>>, Failure> {
    match script {
        Some((hooks, host)) => PooledScript::let_in(client, begun, hooks, host)
            .await
            .map(Some),
        None => {
            let (payload, ok) = (begun.take_payload(), begun.first_ok());
            welcome(client, payload, &ok).await.map(|()| None)
        }
    }
}
