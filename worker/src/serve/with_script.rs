//! Sessions that run a script: the choice of the script, the login that it sees, and the end.

use std::rc::Rc;

use net::proxy_protocol;
use tokio::time::timeout;
use wire::Capabilities;

use super::admission::{answers_logins, enter};
use super::facts::Facts;
use super::logged_in::{LoggedInSession, take_in};
use super::new_session::NewSession;
use crate::worker::Worker;
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;
use link::session_end::{SessionEnd, late, send_error};
use registry::session_info::SessionKind;
use registry::session_registry::Registration;
use script_host::host::Host;
use script_host::login_hooks::LoginHooks;
use scripted::begin::{Answering, Begin as BeginScripted};
use scripted::login_steps::Entry;
use scripted::session::Scripted;

/// Runs a session whose packets a script sees.
pub(super) async fn run_scripted(
    worker: &Worker,
    mut session: Scripted,
) -> Result<SessionEnd, Failure> {
    let id = session.registration.as_ref().map(Registration::id);
    session.stand();
    if let Some(id) = id {
        let control = Rc::clone(&session.control);
        worker.session_registry.borrow_mut().insert(id, control);
    }
    let ran = session.run().await;
    if let Some(id) = id {
        worker.session_registry.borrow_mut().remove(&id);
    }
    match ran {
        Ok(end) => Ok(end),
        Err(cut) => {
            Box::pin(session.break_off(&cut)).await;
            match cut.failure.kind {
                FailureKind::Drained => Ok(SessionEnd::Drained),
                _ => Err(cut.failure),
            }
        }
    }
}

/// Runs the login of a session with a script, from the greeting to the OK.
pub(super) async fn begin_scripted(
    newcomer: NewSession<'_>,
    host: Rc<Host>,
    mut client: PacketStream,
    header: &proxy_protocol::Header,
    facts: &mut Facts,
) -> Result<LoggedInSession, Failure> {
    let NewSession {
        worker,
        registered,
        settings,
        listener,
    } = newcomer;
    let limit = settings.config.limits.timeout_login;
    let remote = facts.client.clone();
    let is_answered = answers_logins(worker, listener);
    let begun = async {
        let place = enter(worker, settings).await?;
        let id = host.next_id();
        let (files, local) = (settings.config.scripts_of(listener), client.local_address());
        let hooks = LoginHooks::of(&host, files, id, &remote, local, is_answered)?;
        let begin = BeginScripted {
            env: &worker.relay,
            settings,
            host: Rc::clone(&host),
            header,
            remote: &remote,
            client: &mut client,
            client_login: &mut facts.client_login,
            hooks,
            offered: Capabilities::default(),
            id,
            answering: is_answered.then_some(Answering { listener }),
        };
        let begun = timeout(limit, begin.run()).await.map_err(|_| late(limit))?;
        Ok((begun?, place))
    };
    let begun = tokio::select! {
        biased;
        begun = begun => begun,
        asked = registered.control.asked_to_end() => Err(asked),
    };
    let failed = match begun {
        Ok((Entry::Scripted(begun), place)) => {
            let session = begun.join(client, host, newcomer.context(), place)?;
            if let Some(server) = &session.server {
                facts.backend = Some(server.backend.name.clone());
                facts.thread_id = server.greeting.thread_id;
            }
            let id = session.registration.as_ref().map(Registration::id);
            facts.publish(&registered.control, SessionKind::Scripted, id);
            return Ok(LoggedInSession::Scripted(Box::new(session)));
        }
        Ok((Entry::Examined(admission, hooks), place)) => {
            let script = Some((*hooks, host));
            return take_in(newcomer, client, *admission, place, script, facts).await;
        }
        Err(failure) => failure,
    };
    send_error(&mut client, &failed, facts.client_login.has_answered).await;
    Err(failed)
}
