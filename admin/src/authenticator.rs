//! Authenticates administrators on each port, and limits their connections.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use auth::{Directory, Plugin};
use config::{AccountConfig, AdminRole, Config};
use net::listen::Accepted;
use stats::AuditEvent;
use worker::{AdminClient, AdminClientError, AdminState, Reception, Settings};

use crate::admin_session::AdminSession;
use crate::functions::{Asker, VERSION};
use crate::sources::Sources;
use crate::table::Schema;
use crate::table_input::PortFacts;

/// The MySQL-protocol port's name in the audit log.
pub const PORT: &str = "admin";

/// The state that all connections of administrators share.
pub struct Authenticator {
    /// The data that the ports show.
    pub sources: Sources,
    /// Checks passwords.
    pub reception: Reception,
    /// The addresses of the MySQL-protocol port.
    pub addresses: Vec<String>,
    /// The addresses of the HTTP port.
    pub http_addresses: Vec<String>,
    /// Connections whose login is under way.
    pub logins: AtomicUsize,
    /// Connections that use the MySQL protocol.
    pub clients: AtomicUsize,
    /// Connections that use HTTP.
    pub callers: AtomicUsize,
    /// HTTP connections beyond `http.connections_max`, which may only ask for the proxy's health.
    pub checkers: AtomicUsize,
    last_id: AtomicU32,
    /// A random key, so that the check of unknown user names looks the same each time.
    secret: [u8; 32],
    session_registry: Mutex<Option<AdminDirectories>>,
}

/// The users of a configuration, in the form that logins need.
struct AdminDirectories {
    of: Arc<Config>,
    all: Arc<Directory>,
    /// Without users that may only read changes over HTTP.
    of_sql: Arc<Directory>,
}

impl Authenticator {
    /// An authenticator without connections.
    pub fn new(sources: Sources, addresses: Vec<String>, http_addresses: Vec<String>) -> Self {
        let data_plane = &sources.data_plane;
        Self {
            reception: data_plane.reception(),
            secret: data_plane.system().entropy.bytes().unwrap_or_default(),
            sources,
            addresses,
            http_addresses,
            logins: AtomicUsize::new(0),
            clients: AtomicUsize::new(0),
            callers: AtomicUsize::new(0),
            checkers: AtomicUsize::new(0),
            last_id: AtomicU32::new(0),
            session_registry: Mutex::new(None),
        }
    }

    /// Writes an event to the audit log, if there is one.
    pub fn audit(
        &self,
        port: &'static str,
        event: &'static str,
        (session, user, client): (u32, &str, &net::Endpoint),
        detail: String,
    ) {
        self.sources.data_plane.audit(|| AuditEvent {
            at: self.sources.data_plane.system().clock.wall(),
            event,
            port,
            session,
            user: user.to_owned(),
            client: client.to_string(),
            schema: String::new(),
            detail,
        });
    }

    /// The id of the next connection.
    pub fn next_id(&self) -> u32 {
        self.last_id.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    /// Runs a login, by the current settings.
    ///
    /// # Errors
    /// [`AdminClientError::Login`]
    pub async fn receive(
        &self,
        accepted: Accepted,
        id: u32,
    ) -> Result<AdminClient, AdminClientError> {
        let settings = self.sources.data_plane.settings();
        let session_registry = self.mysql_accounts(&settings.config);
        let admin_state = admin_state(&session_registry, &settings, id);
        self.reception.receive(accepted, &admin_state).await
    }

    /// Runs COM_CHANGE_USER, by the current settings.
    ///
    /// # Errors
    /// [`AdminClientError::Login`]
    pub async fn change_user(
        &self,
        admin_client: &mut AdminClient,
        argument: &[u8],
        id: u32,
    ) -> Result<(), AdminClientError> {
        let settings = self.sources.data_plane.settings();
        let session_registry = self.mysql_accounts(&settings.config);
        let admin_state = admin_state(&session_registry, &settings, id);
        self.reception
            .change_user(admin_client, argument, &admin_state)
            .await
    }

    /// The role of a user that has logged in.
    pub fn role(config: &Config, user: &str) -> AdminRole {
        let mut admins = config.admins().into_iter();
        let found = admins.find(|it| it.user == user);
        found.map_or(AdminRole::Stats, |it| it.role)
    }

    /// Begins the session of a user that has logged in.
    pub fn admin_session(self: &Arc<Self>, asker: Asker) -> AdminSession {
        let of_port = Arc::clone(self);
        let facts = Arc::new(move || of_port.facts());
        AdminSession::new(asker, &self.sources, facts)
    }

    /// The facts about the ports themselves.
    pub fn facts(&self) -> PortFacts {
        PortFacts {
            addresses: self.addresses.clone(),
            clients: self.clients.load(Ordering::Relaxed),
            http_addresses: self.http_addresses.clone(),
            callers: self.callers.load(Ordering::Relaxed),
            ..self.sources.facts()
        }
    }

    /// The accounts that may log in over HTTP, by the current configuration.
    pub fn session_registry(&self, config: &Arc<Config>) -> Arc<Directory> {
        self.cached_directory(config, |it| &it.all)
    }

    /// The accounts that may log in with the MySQL protocol.
    fn mysql_accounts(&self, config: &Arc<Config>) -> Arc<Directory> {
        self.cached_directory(config, |it| &it.of_sql)
    }

    fn cached_directory(
        &self,
        config: &Arc<Config>,
        which: fn(&AdminDirectories) -> &Arc<Directory>,
    ) -> Arc<Directory> {
        let mut known = self
            .session_registry
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = match &mut *known {
            Some(session_registry) if Arc::ptr_eq(&session_registry.of, config) => session_registry,
            other => other.insert(AdminDirectories {
                of: Arc::clone(config),
                all: self.directory(config, |_| true),
                of_sql: self.directory(config, |role| role != AdminRole::Changes),
            }),
        };
        Arc::clone(which(known))
    }

    fn directory(&self, config: &Config, has: fn(AdminRole) -> bool) -> Arc<Directory> {
        let admins = config.admins().into_iter().filter(|it| has(it.role));
        let accounts: Vec<_> = admins
            .map(|admin| AccountConfig {
                user: admin.user,
                password: admin.password,
                ..AccountConfig::default()
            })
            .collect();
        let made = auth::configured(&accounts, self.secret);
        Arc::new(made.expect("a name and a password make an account"))
    }
}

fn admin_state<'a>(
    session_registry: &'a Directory,
    settings: &'a Settings,
    id: u32,
) -> AdminState<'a> {
    AdminState {
        accounts: session_registry,
        settings,
        version: VERSION,
        plugin: Plugin::CachingSha2,
        id,
        has_schema: |name| Schema::named(name).is_some(),
    }
}

/// One counted connection or login; the count falls when it is dropped.
pub struct Count {
    authenticator: Arc<Authenticator>,
    of: fn(&Authenticator) -> &AtomicUsize,
}

impl Count {
    /// Counts one more, if there are fewer than `max`.
    pub fn of(
        authenticator: &Arc<Authenticator>,
        of: fn(&Authenticator) -> &AtomicUsize,
        max: usize,
    ) -> Option<Self> {
        let counted =
            of(authenticator).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                (count < max).then_some(count + 1)
            });
        counted.ok().map(|_| Self {
            authenticator: Arc::clone(authenticator),
            of,
        })
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        (self.of)(&self.authenticator).fetch_sub(1, Ordering::Relaxed);
    }
}
