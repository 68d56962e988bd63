//! The admin ports: one thread for all administrators' connections, with MySQL's protocol and with HTTP.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::thread::JoinHandle;

use config::{Config, ListenAddress};
use net::listen::{AcceptError, Accepted, ListenOptions};
use net::{Endpoint, Listener};
use system::Threads;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::admin_session::RUNNING_MAX;
use crate::admin_sources::AdminSources;
use crate::authenticator::{Authenticator, Count, PORT};
use crate::conversation::Conversation;

/// The most logins under way at once; further connections are closed.
const LOGINS_MAX: usize = 256;

/// The thread's nice value: clients' statements come first.
const NICENESS: i32 = 5;

/// Serves the port of another protocol (HTTP) on the same thread.
pub trait Callers {
    /// The task that serves an accepted connection; `None` if there is no room for it.
    fn welcome(&self, accepted: Accepted) -> Option<Stay>;
}

/// The task of one connection, from its first byte to its last.
pub type Stay = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Creates the HTTP port's [`Callers`], on the thread.
pub type OpenCallers = fn(Arc<Authenticator>) -> Box<dyn Callers>;

/// The admin port and the HTTP port. They are open only if an administrator or a token may log in.
pub struct AdminPort {
    http: OpenCallers,
    threads: Threads,
    listening: Option<Listening>,
}

/// The ports' thread.
struct Listening {
    bound: Bound,
    /// Whether the MySQL protocol is served: if only tokens may log in, it is not.
    has_guests: bool,
    start: Option<oneshot::Sender<AdminSources>>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// The addresses to listen on, or the bound ones with the ports that the kernel chose.
#[derive(Clone)]
struct Addresses<T> {
    clients: Vec<T>,
    callers: Vec<T>,
}

type Bound = Addresses<String>;

impl AdminPort {
    /// Binds the configured addresses, if an administrator may log in. An address that cannot be bound is left out, and
    /// the log says so.
    ///
    /// # Errors
    /// The kernel's error, if no thread can be started.
    pub fn bind(config: &Config, http: OpenCallers, threads: &Threads) -> Result<Self, String> {
        let threads = threads.clone();
        if !config.has_http_callers() {
            return Ok(Self {
                http,
                threads,
                listening: None,
            });
        }
        let has_guests = !config.admins().is_empty();
        let addresses = Addresses {
            clients: match has_guests {
                true => config.admin.address.clone(),
                false => Vec::new(),
            },
            callers: config.http.address.clone(),
        };
        let failed = |error: io::Error| format!("the admin port: {error}");
        let (report_bound, bound) = std::sync::mpsc::channel();
        let (start, started) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        let live = move || live(&addresses, &report_bound, started, stopped, http);
        let thread = threads.start("admin", live).map_err(failed)?;
        let bound = bound.recv().map_err(io::Error::other).flatten();
        let bound = bound.map_err(failed)?;
        let listening = Some(Listening {
            bound,
            has_guests,
            start: Some(start),
            stop,
            thread,
        });
        Ok(Self {
            http,
            threads,
            listening,
        })
    }

    /// Starts to accept connections.
    pub fn open(&mut self, admin_sources: &AdminSources) {
        let Some(listening) = &mut self.listening else {
            return;
        };
        if let Some(start) = listening.start.take() {
            for address in &listening.bound.clients {
                tracing::info!(kind = "admin_port_open", address, "the admin port is open");
            }
            for address in &listening.bound.callers {
                tracing::info!(kind = "http_port_open", address, "the HTTP port is open");
            }
            // If the send fails, the thread has failed and has logged why.
            let _ = start.send(admin_sources.clone());
        }
    }

    /// Follows a reload: opens the ports when the first administrators may log in. If later none may, the ports stay
    /// open and refuse every login.
    pub fn follow(&mut self, admin_sources: &AdminSources) {
        let config = Arc::clone(&admin_sources.sources.data_plane.settings().config);
        if let Some(listening) = &self.listening
            && (listening.has_guests || config.admins().is_empty())
        {
            return;
        }
        if let Some(listening) = self.listening.take() {
            listening.close();
        }
        match Self::bind(&config, self.http, &self.threads) {
            Ok(bound) => *self = bound,
            Err(error) => {
                tracing::error!(%error, "the proxy cannot open the admin port; correct the cause and reload")
            }
        }
        self.open(admin_sources);
    }

    /// Closes the ports, and waits until the thread has ended.
    pub fn close(self) {
        if let Some(listening) = self.listening {
            listening.close();
        }
    }
}

impl Listening {
    fn close(self) {
        drop((self.start, self.stop));
        // A panic of the thread has been logged already.
        let _ = self.thread.join();
    }
}

/// The thread's main function: binds, reports the bound addresses, waits until it may begin, and serves until told to
/// stop.
fn live(
    addresses: &Addresses<ListenAddress>,
    report_bound: &std::sync::mpsc::Sender<io::Result<Bound>>,
    started: oneshot::Receiver<AdminSources>,
    stopped: oneshot::Receiver<()>,
    http: OpenCallers,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(RUNNING_MAX)
        .on_thread_start(|| {
            // If the nice value cannot be set, the thread runs with the normal one.
            let _ = rustix::process::nice(NICENESS);
        })
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return drop(report_bound.send(Err(error))),
    };
    runtime.block_on(async {
        let guests = bind_all(&addresses.clients, "admin.address");
        let callers = bind_all(&addresses.callers, "http.address");
        let bound = Bound {
            clients: endpoints(&guests),
            callers: endpoints(&callers),
        };
        // The thread that started this one may have given up.
        let _ = report_bound.send(Ok(bound.clone()));
        let Ok(admin_sources) = started.await else {
            return;
        };
        let authenticator =
            Authenticator::new(admin_sources.sources.clone(), bound.clients, bound.callers);
        let authenticator = Arc::new(authenticator);
        *admin_sources.open_ports() = Arc::downgrade(&authenticator);
        let door = http(Arc::clone(&authenticator));
        tokio::select! {
            () = serve(guests, |accepted| welcome(&authenticator, accepted)) => {}
            () = serve(callers, |accepted| door.welcome(accepted)) => {}
            _ = stopped => {}
        }
    });
    // A running statement has a time limit, and no client waits for it any more.
    runtime.shutdown_background();
}

fn endpoints(listeners: &[Listener]) -> Vec<String> {
    let endpoints = listeners.iter().map(Listener::endpoint);
    endpoints.map(ToString::to_string).collect()
}

fn bind_all(addresses: &[ListenAddress], setting: &str) -> Vec<Listener> {
    let bind = |address: &ListenAddress| {
        let endpoint = match address {
            ListenAddress::Tcp(address) => Endpoint::Tcp(*address),
            ListenAddress::Unix(path) => Endpoint::Unix(path.clone()),
        };
        match Listener::bind(&endpoint, ListenOptions::default()) {
            Ok(listener) => Some(listener),
            Err(error) => {
                tracing::error!(
                    kind = "admin_port_failed",
                    %address, %error, setting,
                    "the proxy cannot listen at an address of the admin port and goes on without it; the setting names the address"
                );
                None
            }
        }
    };
    addresses.iter().filter_map(bind).collect()
}

/// Accepts on all listeners, for ever. The task that `welcome` returns for a connection is dropped with this future.
async fn serve<F>(listeners: Vec<Listener>, welcome: impl Fn(Accepted) -> Option<F>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let accepting = listeners
        .iter()
        .map(|listener| accept_all(listener, &welcome));
    let mut accepting: Vec<_> = accepting.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        accepting.retain_mut(|it| it.as_mut().poll(context).is_pending());
        std::task::Poll::Pending
    })
    .await
}

async fn accept_all<F>(listener: &Listener, welcome: impl Fn(Accepted) -> Option<F>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut guests = JoinSet::new();
    loop {
        while guests.try_join_next().is_some() {}
        match listener.accept().await {
            Ok(accepted) => {
                if let Some(stay) = welcome(accepted) {
                    guests.spawn(stay);
                }
            }
            Err(AcceptError::Exhausted { cause, pause }) => {
                tracing::error!(error = %cause, "the admin port cannot accept connections for now; they wait in the listener's queue");
                tokio::time::sleep(pause).await;
            }
            Err(AcceptError::Broken(error)) => {
                let listener = listener.endpoint();
                tracing::error!(%listener, %error, "a listener of the admin port has failed and the proxy has closed it; restart the proxy to listen there again");
                return;
            }
        }
    }
}

/// Accepts a client of the MySQL protocol, unless too many logins are under way.
fn welcome(
    authenticator: &Arc<Authenticator>,
    accepted: Accepted,
) -> Option<impl Future<Output = ()> + use<>> {
    let login = Count::of(authenticator, |it| &it.logins, LOGINS_MAX)?;
    Some(converse(Arc::clone(authenticator), accepted, login))
}

/// Serves one connection, from its first byte to its last.
async fn converse(authenticator: Arc<Authenticator>, accepted: Accepted, login: Count) {
    let remote = accepted.remote.clone();
    let id = authenticator.next_id();
    let admin_client = match authenticator.receive(accepted, id).await {
        Ok(admin_client) => admin_client,
        Err(error) => {
            authenticator.audit(PORT, "login_failed", (id, "", &remote), error.to_string());
            return tracing::warn!(
                kind = "admin_login_failed",
                client = %remote,
                %error,
                "a login to the admin port has failed"
            );
        }
    };
    authenticator.audit(
        PORT,
        "login",
        (id, &admin_client.user, &remote),
        String::new(),
    );
    drop(login);
    let config = Arc::clone(&authenticator.sources.data_plane.settings().config);
    let role = Authenticator::role(&config, &admin_client.user);
    let max = config.admin.connections_max;
    let Some(_place) = Count::of(&authenticator, |it| &it.clients, max) else {
        let text = format!(
            "Too many connections: the admin port has {max}, which is its limit (admin.connections_max)"
        );
        let fault = crate::fault::Fault::new(wire::ErrorCode::CON_COUNT, text);
        return admin_client.dismiss(&fault.payload()).await;
    };
    tracing::info!(client = %remote, user = admin_client.user, role = role.name(), "an administrator has logged in to the admin port");
    let conversation = Conversation::new(admin_client, id, Arc::clone(&authenticator));
    let user = conversation.run().await;
    authenticator.audit(PORT, "disconnect", (id, &user, &remote), String::new());
}
