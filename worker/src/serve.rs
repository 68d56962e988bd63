//! One session, from a client's arrival to its end.

mod admission;
mod facts;
mod logged_in;
mod new_session;
mod own_script;
mod with_script;

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use admission::{answers_logins, enter};
use config::ListenerConfig;
use facts::Facts;
use logged_in::{LoggedInSession, take_in};
use net::{Endpoint, Socket, proxy_protocol};
use new_session::NewSession;
use tokio::time::timeout;
use with_script::{begin_scripted, run_scripted};

use crate::worker::{AcceptedClient, Arrival, Worker};
use backend::settings::Settings;
use engine::session::PooledSession;
use link::decline::decline;
use link::dialogue::LoginObserver;
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;
use link::session_end::{SessionEnd, late, send_error};
use link::transport::Transport;
use login::connect::connect;
use login::destination::Destination;
use login::examine::origin_of;
use login::host_errors;
use login::login_env::SessionPermit;
use login::redirect::RedirectObserver;
use login::relayed_login::Login;
use login::script_coverage::stay_covered;
use login::server_login::{LoginOutcome, ServerLogin};
use login::tls_guard::Guard;
use registry::session_info::{SessionInfo, SessionKind};
use registry::session_registry::Registration;
use registry::worker_sessions::Registered;
use relay::joined_session::KernelSession;
use relay::outcome::After;
use relay::relayed_session::RelayedSession;
use scripted::pooled_script::PooledScript;

/// Runs a session to its end, and logs one line if it failed.
///
/// As an `async fn` it would store its arguments twice while the session lasts.
pub(crate) fn serve(
    worker: Rc<Worker>,
    registered: Registered,
    arrival: Arrival,
) -> impl Future<Output = ()> {
    let (newcomer, seat) = arrival.sit_down();
    let (mut facts, newcomer) = (Facts::of(&newcomer), Box::new(newcomer));
    async move {
        let _seat = seat;
        registered.control.introduce(SessionInfo {
            id: worker.shared.next_number(),
            client: newcomer.remote.clone(),
            listener: Arc::clone(&newcomer.listener),
            began: worker.plane_context.now(),
            user: Box::default(),
            schema: Box::default(),
            kind: SessionKind::Login,
            thread_id: 0,
            timeout_idle_transaction: None,
            account: None,
        });
        // A login needs far more memory than the rest of a session; its memory is freed before the relay begins.
        let begun = Box::pin(begin(&worker, &registered, newcomer, &mut facts)).await;
        if let Ok(LoggedInSession::Pooled(session, _)) = &begun {
            let id = session.identity.id();
            registered.control.change_info(|info| info.id = id);
        }
        host_errors::note(&worker.relay.login, &facts.client, begun.as_ref().err());
        if begun.is_ok() {
            facts.audit(&worker, &registered, "login", String::new);
            facts.is_in = true;
        }
        let ended = match begun {
            Ok(LoggedInSession::Relayed(session)) => Box::pin(session.run(&worker.relay)).await,
            Ok(LoggedInSession::Joined(session)) => Box::pin(session.run(&worker.relay)).await,
            Ok(LoggedInSession::Pooled(session, script)) => {
                // A relayed session must not take as much memory as a pooled session.
                Box::pin(pooled(&worker, session, script, &mut facts)).await
            }
            Ok(LoggedInSession::Scripted(session)) => {
                Box::pin(run_scripted(&worker, *session)).await
            }
            Err(failure) => Err(failure),
        };
        facts.audit_end(&worker, &registered, &ended);
        log_end(&facts, ended);
    }
}

fn log_end(facts: &Facts, ended: Result<SessionEnd, Failure>) {
    match ended {
        Ok(SessionEnd::RoleChanged) => tracing::info!(
            kind = "binlog_reader_moved",
            client = %facts.client,
            user = facts.client_login.user,
            backend = facts.backend.as_deref(),
            "the role of the backend has changed; the proxy has closed the connection of a client that reads the binary \
             log, between two transactions, so that the client goes on by GTID from another server"
        ),
        Ok(end) => tracing::debug!(
            kind = "session_ended",
            client = %facts.client,
            user = facts.client_login.user,
            %end,
            "session ended"
        ),
        Err(failure) => facts.log(&failure),
    }
}

/// Runs a session whose login the proxy has answered. If it needs a connection of its own, it is relayed from then on.
async fn pooled(
    worker: &Rc<Worker>,
    mut session: Box<PooledSession>,
    mut script: Option<Box<PooledScript>>,
    facts: &mut Facts,
) -> Result<SessionEnd, Failure> {
    let id = session.identity.id();
    let control = Rc::clone(&session.control);
    facts.publish(&control, SessionKind::Pooled(session.mode), Some(id));
    session.note_account();
    worker.session_registry.borrow_mut().insert(id, control);
    let ran = session.run(&mut script).await;
    worker.session_registry.borrow_mut().remove(&id);
    match ran {
        Ok(After::Relayed(relayed)) => {
            let script = script.map(|script| script as Box<dyn Any>);
            let session = session.go_on_relayed(*relayed, script);
            facts.backend = Some(session.relay.to.name.clone());
            facts.thread_id = session.thread_id;
            Box::pin(session.run(&worker.relay)).await
        }
        Ok(After::Ended(end)) => {
            Box::pin(session.leave()).await;
            Ok(end)
        }
        Ok(After::Next) => Ok(SessionEnd::Quit),
        Err(cut) => {
            facts.backend = session.backend_name();
            Box::pin(session.break_off(&cut)).await;
            match cut.failure.kind {
                FailureKind::Drained => Ok(SessionEnd::Drained),
                _ => Err(cut.failure),
            }
        }
    }
}

/// Runs a session's beginning, from the accepted socket to the login's OK. If it fails, the client has been told.
async fn begin(
    worker: &Rc<Worker>,
    registered: &Registered,
    newcomer: Box<AcceptedClient>,
    facts: &mut Facts,
) -> Result<LoggedInSession, Failure> {
    let AcceptedClient {
        socket, listener, ..
    } = *newcomer;
    let settings = Arc::clone(&worker.plane_context.settings.borrow());
    let mut socket = Socket::from_raw(socket).map_err(|error| {
        Failure::new(
            FailureKind::LoginAbandoned,
            format!("the client has closed the connection at once: {error}"),
        )
    })?;
    let header = proxy_header(&settings, &mut socket, facts).await?;
    let control = &registered.control;
    control.change_info(|info| info.client = facts.client.clone());
    let mut client = PacketStream::new(Transport::from(socket), 0).counted_in(&control.memory);
    if let Err(blocked) = host_errors::check(&worker.relay.login, &settings, &facts.client) {
        send_error(&mut client, &blocked, false).await;
        return Err(blocked);
    }
    let runs_script = !settings.config.scripts_of(&listener).is_empty();
    let newcomer = NewSession {
        worker,
        registered,
        settings: &settings,
        listener: &listener,
    };
    if let Some(host) = worker.script_host().filter(|_| runs_script) {
        return begin_scripted(newcomer, host, client, &header, facts).await;
    }
    let begun = tokio::select! {
        biased;
        begun = log_in(worker, &settings, &mut client, &header, &listener, facts) => begun,
        asked = registered.control.asked_to_end() => Err(asked),
    };
    let failed = match begun {
        Ok((LoginOutcome::Passed(passed), place)) => {
            let (greeted, agreement) = *passed;
            let id = agreement.registration.as_ref().map(Registration::id);
            facts.publish(control, SessionKind::Relayed, id);
            let context = newcomer.context();
            if listener.joins_in_kernel() {
                let session = KernelSession::begin(context, client, greeted, agreement, place)?;
                return Ok(LoggedInSession::from(session));
            }
            let session = RelayedSession::begin(context, client, greeted, agreement, place)?;
            return Ok(LoggedInSession::Relayed(Box::new(session)));
        }
        // Only a script gives this result.
        Ok((LoginOutcome::LetIn(..), _)) => {
            Failure::new(FailureKind::ScriptEnded, "there is no script")
        }
        Ok((LoginOutcome::Examined(admission), place)) => {
            return take_in(newcomer, client, *admission, place, None, facts).await;
        }
        Err(failure) => failure,
    };
    send_error(&mut client, &failed, facts.client_login.has_answered).await;
    Err(failed)
}

/// Reads the PROXY header, if one is expected; it replaces the client's address.
async fn proxy_header(
    settings: &Settings,
    socket: &mut Socket,
    facts: &mut Facts,
) -> Result<proxy_protocol::Header, Failure> {
    let failed = |cause: String| Failure::new(FailureKind::ProxyHeader, cause);
    let trust = proxy_protocol::Trust {
        networks: settings.config.proxy_protocol.trusted_networks.clone(),
        unix: false,
    };
    if trust.requires_header(&facts.client) {
        let read = timeout(
            settings.config.limits.timeout_login,
            proxy_protocol::read(socket),
        );
        let header = match read.await {
            Ok(read) => read.map_err(|error| failed(error.to_string()))?,
            Err(_) => {
                return Err(failed(
                    "the client has sent no PROXY header in time".to_owned(),
                ));
            }
        };
        if let proxy_protocol::Header::Proxied { source, .. } = header {
            facts.client = Endpoint::from(source);
            return Ok(header);
        }
    }
    Ok(match (&facts.client, socket.local_address()) {
        (Endpoint::Tcp(source), Ok(Endpoint::Tcp(destination))) => {
            proxy_protocol::Header::Proxied {
                source: *source,
                destination,
            }
        }
        _ => proxy_protocol::Header::Own,
    })
}

/// Takes a place, then a backend, then the login: in this order, so that a client without a place gets no greeting.
async fn log_in(
    worker: &Worker,
    settings: &Settings,
    client: &mut PacketStream,
    header: &proxy_protocol::Header,
    listener: &Arc<ListenerConfig>,
    facts: &mut Facts,
) -> Result<(LoginOutcome, SessionPermit), Failure> {
    let place = enter(worker, settings).await?;
    let limit = settings.config.limits.timeout_login;
    if answers_logins(worker, listener) {
        let remote = facts.client.clone();
        let enter = ServerLogin {
            env: &worker.relay.login,
            settings,
            header,
            client,
            remote: &remote,
            listener,
            client_login: &mut facts.client_login,
            hooks: None,
        };
        let entered = timeout(limit, enter.run())
            .await
            .map_err(|_| late(limit))??;
        if let LoginOutcome::Passed(passed) = &entered {
            facts.backend = Some(passed.0.backend.name.clone());
            facts.thread_id = passed.0.greeting.thread_id;
        }
        return Ok((entered, place));
    }
    let topology = Arc::clone(&worker.relay.pool.topology.borrow());
    let destination = Destination::of(&topology, &settings.config, listener, None);
    let mut greeted = connect(&worker.relay.login, &settings.config, header, &destination).await?;
    facts.backend = Some(greeted.backend.name.clone());
    facts.thread_id = greeted.greeting.thread_id;
    let mut redirect = listener.redirect.as_ref().map(RedirectObserver::new);
    let login = Login {
        settings,
        own_key: &worker.relay.login.shared.own_key,
        entropy: &worker.relay.pool.system.entropy,
        now: worker.plane_context.now(),
        header,
        client,
        backend: &mut greeted,
        client_login: &mut facts.client_login,
        observer: redirect.as_mut().map(|it| it as &mut dyn LoginObserver),
    };
    let remote = &facts.client;
    let guard = Guard {
        env: &worker.relay.login,
        settings,
        origin: &origin_of(remote),
    };
    let login = login.run(&guard, |user| {
        stay_covered(&worker.relay.login, user, remote, &[])
    });
    let outcome = (timeout(limit, login).await).unwrap_or_else(|_| Err(late(limit)));
    match outcome {
        // The login may have ended on another connection than it began on.
        Ok(agreement) => {
            facts.thread_id = greeted.greeting.thread_id;
            Ok((LoginOutcome::Passed(Box::new((greeted, agreement))), place))
        }
        Err(failure) => {
            if greeted.stream.awaits_first_answer() {
                decline(greeted.stream);
            }
            Err(failure)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use registry::session_control::SessionControl;
    use relay::relay_env::RelayEnv;

    fn size_of_serve<F>(_: impl FnOnce(Rc<Worker>, Registered, Arrival) -> F) -> usize {
        size_of::<F>()
    }

    fn size_of_pooled<'a, F>(
        _: impl FnOnce(
            &'a Rc<Worker>,
            Box<PooledSession>,
            Option<Box<PooledScript>>,
            &'a mut Facts,
        ) -> F,
    ) -> usize {
        size_of::<F>()
    }

    fn size_of_relayed<'a, F>(_: impl FnOnce(Box<RelayedSession>, &'a RelayEnv) -> F) -> usize {
        size_of::<F>()
    }

    /// The sizes are those of the allocator's classes: one byte more, and each idle session takes the next class.
    /// A task takes at most 176 bytes more than its future.
    #[test]
    fn the_memory_of_an_idle_session_fits_its_size_class() {
        let sizes = [
            ("a session's task", 176 + size_of_serve(serve), 512),
            ("a pooled session's future", size_of_pooled(pooled), 512),
            ("a pooled session", size_of::<PooledSession>(), 1536),
            (
                "a relayed session's future",
                size_of_relayed(RelayedSession::run),
                224,
            ),
            ("a relayed session", size_of::<RelayedSession>(), 640),
            ("what others see", 16 + size_of::<SessionControl>(), 192),
            ("who it is", size_of::<SessionInfo>(), 128),
        ];
        let too_large: Vec<_> = sizes
            .iter()
            .filter(|(_, size, class)| size > class)
            .collect();
        assert!(
            too_large.is_empty(),
            "what, bytes, bytes at most: {too_large:?}"
        );
    }
}
