//! The port: who may come in, how many, and a thread of its own for all of them.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use auth::Directory;
use config::{AccountConfig, AdminRole, Config, ListenAddress};
use net::listen::{AcceptError, Accepted, ListenOptions};
use net::{Endpoint, Listener};
use proxy::{House, Reception, Window};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::conversation::Conversation;
use crate::functions::VERSION;
use crate::material::PortFacts;
use crate::sheet::Schema;

/// Logins under way at once; whoever comes beyond that is turned away.
const LOGINS_MAX: usize = 256;

/// Statements that run at once; the others wait, within their time.
const RUNNING_MAX: usize = 4;

/// How much they leave to others: clients' statements come first.
const NICENESS: i32 = 5;

/// The admin port, as long as anybody may come in.
#[derive(Default)]
pub struct AdminPort {
    listening: Option<Listening>,
}

/// The port's thread.
struct Listening {
    addresses: Vec<String>,
    start: Option<oneshot::Sender<Window>>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// What all of its connections share.
struct Port {
    window: Window,
    reception: Reception,
    addresses: Vec<String>,
    guests: AtomicUsize,
    logins: AtomicUsize,
    last_id: AtomicU32,
    /// Random, so that names that nobody has are always examined alike.
    secret: [u8; 32],
    /// The users of a configuration, made ready.
    people: Mutex<Option<(Arc<Config>, Arc<Directory>)>>,
}

impl AdminPort {
    /// Binds what is configured, if anybody may come in. An address that cannot be had is left out, and
    /// the log says so.
    ///
    /// # Errors
    /// The kernel's, when no thread can be had.
    pub fn bind(config: &Config) -> io::Result<Self> {
        if config.admins().is_empty() {
            return Ok(Self::default());
        }
        let addresses = config.admin.address.clone();
        let (told, bound) = std::sync::mpsc::channel();
        let (start, started) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("admin".to_owned())
            .spawn(move || live(&addresses, &told, started, stopped))?;
        let addresses = bound.recv().map_err(io::Error::other)??;
        let listening = Some(Listening {
            addresses,
            start: Some(start),
            stop,
            thread,
        });
        Ok(Self { listening })
    }

    /// Lets people in.
    pub fn open(&mut self, window: &Window) {
        let Some(listening) = &mut self.listening else {
            return;
        };
        if let Some(start) = listening.start.take() {
            for address in &listening.addresses {
                tracing::info!(address, "the admin port is open");
            }
            // The thread has failed otherwise, and has said why.
            let _ = start.send(window.clone());
        }
    }

    /// After a reload: the first who may come in find it open. Who may not any more finds nobody.
    pub fn follow(&mut self, window: &Window) {
        if self.listening.is_some() {
            return;
        }
        match Self::bind(&window.settings().config) {
            Ok(bound) => *self = bound,
            Err(error) => tracing::error!(%error, "the admin port cannot be opened"),
        }
        self.open(window);
    }

    /// Closes it, and waits until all is over.
    pub fn close(self) {
        if let Some(listening) = self.listening {
            let Listening {
                start,
                stop,
                thread,
                ..
            } = listening;
            drop((start, stop));
            // What has panicked has been told.
            let _ = thread.join();
        }
    }
}

/// The thread's life: binds, says what is bound, waits until it may begin, and serves until it is to stop.
fn live(
    addresses: &[ListenAddress],
    told: &std::sync::mpsc::Sender<io::Result<Vec<String>>>,
    started: oneshot::Receiver<Window>,
    stopped: oneshot::Receiver<()>,
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
        Err(error) => return drop(told.send(Err(error))),
    };
    runtime.block_on(async {
        let listeners = bind_all(addresses);
        let bound: Vec<_> = listeners
            .iter()
            .map(|listener| listener.endpoint().to_string())
            .collect();
        // Whoever has started this thread may have given up.
        let _ = told.send(Ok(bound.clone()));
        let Ok(window) = started.await else {
            return;
        };
        let port = Arc::new(Port::new(window, bound));
        tokio::select! {
            () = serve(port, listeners) => {}
            _ = stopped => {}
        }
    });
    // A statement that runs has its own limit, and nobody waits for it.
    runtime.shutdown_background();
}

fn bind_all(addresses: &[ListenAddress]) -> Vec<Listener> {
    let bind = |address: &ListenAddress| {
        let endpoint = match address {
            ListenAddress::Tcp(address) => Endpoint::Tcp(*address),
            ListenAddress::Unix(path) => Endpoint::Unix(path.clone()),
        };
        match Listener::bind(&endpoint, ListenOptions::default()) {
            Ok(listener) => Some(listener),
            Err(error) => {
                tracing::error!(
                    %address, %error,
                    "the admin port cannot be had there (admin.address); clients are served without it"
                );
                None
            }
        }
    };
    addresses.iter().filter_map(bind).collect()
}

/// Accepts on all listeners, for ever.
async fn serve(port: Arc<Port>, listeners: Vec<Listener>) {
    let mut tasks = JoinSet::new();
    for listener in listeners {
        tasks.spawn(accept_all(Arc::clone(&port), listener));
    }
    while tasks.join_next().await.is_some() {}
    std::future::pending().await
}

async fn accept_all(port: Arc<Port>, listener: Listener) {
    let mut guests = JoinSet::new();
    loop {
        while guests.try_join_next().is_some() {}
        match listener.accept().await {
            Ok(accepted) => {
                if let Some(login) = Count::of(&port, Port::logins, LOGINS_MAX) {
                    guests.spawn(Arc::clone(&port).welcome(accepted, login));
                }
            }
            Err(AcceptError::Exhausted { cause, pause }) => {
                tracing::error!(error = %cause, "administrators wait to be accepted");
                tokio::time::sleep(pause).await;
            }
            Err(AcceptError::Broken(error)) => {
                let listener = listener.endpoint();
                tracing::error!(%listener, %error, "a listener of the admin port is broken and closed");
                return;
            }
        }
    }
}

impl Port {
    fn new(window: Window, addresses: Vec<String>) -> Self {
        Self {
            reception: window.reception(),
            window,
            addresses,
            guests: AtomicUsize::new(0),
            logins: AtomicUsize::new(0),
            last_id: AtomicU32::new(0),
            secret: auth::random_bytes().unwrap_or_default(),
            people: Mutex::new(None),
        }
    }

    fn logins(&self) -> &AtomicUsize {
        &self.logins
    }

    fn guests(&self) -> &AtomicUsize {
        &self.guests
    }

    /// One connection, from its first byte to its last.
    async fn welcome(self: Arc<Self>, accepted: Accepted, login: Count) {
        let remote = accepted.remote.clone();
        let settings = self.window.settings();
        let id = self.last_id.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let people = self.people(&settings.config);
        let house = House {
            accounts: &people,
            settings: &settings,
            version: VERSION,
            id,
            has_schema: |name| Schema::named(name).is_some(),
        };
        let guest = match self.reception.receive(accepted, &house).await {
            Ok(guest) => guest,
            Err(error) => {
                return tracing::warn!(client = %remote, %error, "no login to the admin port");
            }
        };
        drop(login);
        let mut admins = settings.config.admins().into_iter();
        let role = admins.find(|it| it.user == guest.user);
        let role = role.map_or(AdminRole::Stats, |it| it.role);
        let max = settings.config.admin.connections_max;
        let Some(_place) = Count::of(&self, Self::guests, max) else {
            let text = format!("Too many connections: there are {max} (admin.connections_max)");
            let fault = crate::fault::Fault::new(wire::ErrorCode::CON_COUNT, text);
            return guest.dismiss(&fault.payload()).await;
        };
        tracing::info!(client = %remote, user = guest.user, role = role.name(), "an administrator has come");
        let port = Arc::clone(&self);
        let facts = move || PortFacts {
            addresses: port.addresses.clone(),
            guests: port.guests.load(Ordering::Relaxed),
        };
        let window = self.window.clone();
        Conversation::new(guest, id, role, window, Arc::new(facts))
            .run()
            .await;
    }

    /// Who may come in, by the configuration of the moment.
    fn people(&self, config: &Arc<Config>) -> Arc<Directory> {
        let mut known = self.people.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, people)) = &*known
            && Arc::ptr_eq(of, config)
        {
            return Arc::clone(people);
        }
        let admins = config.admins().into_iter();
        let accounts: Vec<_> = admins
            .map(|admin| AccountConfig {
                user: admin.user,
                password: admin.password,
                ..AccountConfig::default()
            })
            .collect();
        let made = auth::configured(&accounts, self.secret);
        let people = Arc::new(made.expect("a name and a password make an account"));
        *known = Some((Arc::clone(config), Arc::clone(&people)));
        people
    }
}

/// One of those that are counted, until it is dropped.
struct Count {
    port: Arc<Port>,
    of: fn(&Port) -> &AtomicUsize,
}

impl Count {
    /// One more, if there are fewer than `max`.
    fn of(port: &Arc<Port>, of: fn(&Port) -> &AtomicUsize, max: usize) -> Option<Self> {
        let counted = of(port).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
            (count < max).then_some(count + 1)
        });
        counted.ok().map(|_| Self {
            port: Arc::clone(port),
            of,
        })
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        (self.of)(&self.port).fetch_sub(1, Ordering::Relaxed);
    }
}
