//! The ports: a thread of its own for all who look at the proxy, by MySQL's protocol and by HTTP.

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

/// Logins under way at once; whoever comes beyond that is turned away.
const LOGINS_MAX: usize = 256;

/// How much they leave to others: clients' statements come first.
const NICENESS: i32 = 5;

/// The port of another protocol, which the same thread serves.
pub trait Callers {
    /// What is to be done with a connection that has come, unless there is no room for it.
    fn welcome(&self, accepted: Accepted) -> Option<Stay>;
}

/// One connection, from its first byte to its last.
pub type Stay = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Makes that port, in the thread.
pub type OpenCallers = fn(Arc<Authenticator>) -> Box<dyn Callers>;

/// The admin port, and that for HTTP, as long as anybody may come in.
pub struct AdminPort {
    http: OpenCallers,
    threads: Threads,
    listening: Option<Listening>,
}

/// The ports' thread.
struct Listening {
    bound: Bound,
    /// Whether MySQL's protocol is spoken: for a token alone it is not.
    has_guests: bool,
    start: Option<oneshot::Sender<AdminSources>>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// Where to listen, or where that is, with the ports that the kernel chose.
#[derive(Clone)]
struct Addresses<T> {
    clients: Vec<T>,
    callers: Vec<T>,
}

type Bound = Addresses<String>;

impl AdminPort {
    /// Binds what is configured, if anybody may come in. An address that cannot be had is left out, and
    /// the log says so.
    ///
    /// # Errors
    /// The kernel's, when no thread can be had.
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

    /// Lets people in.
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
            // The thread has failed otherwise, and has said why.
            let _ = start.send(admin_sources.clone());
        }
    }

    /// After a reload: the first who may come in find it open. Who may not any more finds nobody.
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

    /// Closes it, and waits until all is over.
    pub fn close(self) {
        if let Some(listening) = self.listening {
            listening.close();
        }
    }
}

impl Listening {
    fn close(self) {
        drop((self.start, self.stop));
        // What has panicked has been told.
        let _ = self.thread.join();
    }
}

/// The thread's life: binds, says what is bound, waits until it may begin, and serves until it is to stop.
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
            // Where it may not be, they are as important as all the rest.
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
        // Whoever has started this thread may have given up.
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
    // A statement that runs has its own limit, and nobody waits for it.
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

/// Accepts on all listeners, for ever. What `welcome` makes of a connection lives as long as this.
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

/// Somebody who speaks MySQL's protocol, unless too many log in at once.
fn welcome(
    authenticator: &Arc<Authenticator>,
    accepted: Accepted,
) -> Option<impl Future<Output = ()> + use<>> {
    let login = Count::of(authenticator, |it| &it.logins, LOGINS_MAX)?;
    Some(converse(Arc::clone(authenticator), accepted, login))
}

/// One connection, from its first byte to its last.
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
