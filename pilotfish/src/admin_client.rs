//! A client of admin ports: of the proxy's own for `pilotfish top` and the commands for a running proxy, of ProxySQL's
//! for `pilotfish import`. It uses one connection, opens it again when it has broken, and limits the time of every
//! answer.

use std::time::Duration;

use config::{BackendAddress, BackendTlsMode, Config, ListenAddress};
use control::{
    BackendClient, ClientError, ClientOptions, ResultBounds, ResultSet, StatementResult,
};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::arguments::AdminArguments;
use crate::machine;

/// How long an answer may take.
const TIMEOUT_ANSWER: Duration = Duration::from_secs(30);
/// How long one step of a login may take. It is longer than the limit of a whole answer, because that limit has a
/// better message.
const TIMEOUT_LOGIN: Duration = Duration::from_secs(60);
/// The largest answer: as many rows as `admin.rows_max` allows at most, and four times the bytes that the
/// admin port allows.
const BOUNDS: ResultBounds = ResultBounds {
    rows: 10_000_000,
    bytes: 256 << 20,
};
/// The default address of the admin port.
const DEFAULT_ADDRESS: &str = "127.0.0.1:4041";

/// The address and the account to connect with.
#[derive(Clone, Debug)]
pub struct AdminAddress {
    /// A host, or the path of a socket.
    pub host: String,
    /// The port, unless it is a socket.
    pub port: Option<u16>,
    /// The user.
    pub user: String,
    /// The password.
    pub password: config::Secret,
    /// Whether to use TLS.
    pub tls: bool,
    /// The kind of server at the address.
    pub kind: PortKind,
}

/// The kind of server at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// The admin port of a Pilotfish.
    Admin,
    /// The admin port of a ProxySQL.
    ProxySql,
    /// A MySQL or MariaDB server.
    Server,
}

impl PortKind {
    fn title(self) -> &'static str {
        match self {
            Self::Admin => "the admin port",
            Self::ProxySql => "ProxySQL's admin port",
            Self::Server => "the server",
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::Admin => {
                "See that the proxy runs and that [admin] has a username, or give --address HOST:PORT"
            }
            Self::ProxySql => "See that ProxySQL runs, and that admin-mysql_ifaces has the address",
            Self::Server => {
                "See that the server runs, and that its bind_address lets this machine in"
            }
        }
    }

    fn port(self) -> u16 {
        match self {
            Self::Admin => config::ADMIN_PORT,
            Self::ProxySql => 6032,
            Self::Server => config::BACKEND_PORT,
        }
    }
}

/// The answer to a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultRows {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
    /// The number of rows that a statement without a result changed.
    pub affected: u64,
}

/// A value of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// NULL.
    Null,
    /// A number, in its text form.
    Number(String),
    /// A text.
    Text(String),
}

/// A failed statement: the server's own error, or why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum AdminError {
    /// The port has refused the statement.
    Refused(String),
    /// There is no connection, or no answer.
    Unreachable(String),
}

impl std::fmt::Display for AdminError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(text) | Self::Unreachable(text) => f.write_str(text),
        }
    }
}

impl Cell {
    /// The text; NULL is empty.
    pub fn text(&self) -> &str {
        match self {
            Self::Null => "",
            Self::Number(text) | Self::Text(text) => text,
        }
    }

    /// The text with control characters escaped, because a terminal would act on them.
    pub fn printable(&self) -> String {
        let text = self.text();
        match text.contains(char::is_control) {
            true => text.escape_debug().to_string(),
            false => text.to_owned(),
        }
    }

    fn of(value: Option<Vec<u8>>, is_number: bool) -> Self {
        let Some(bytes) = value else {
            return Self::Null;
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match is_number {
            true => Self::Number(text),
            false => Self::Text(text),
        }
    }
}

impl From<ResultSet> for ResultRows {
    fn from(result: ResultSet) -> Self {
        let types = &result.types;
        let cells = |row: Vec<Option<Vec<u8>>>| {
            let values = row.into_iter().zip(types);
            values
                .map(|(value, of)| Cell::of(value, of.is_numeric()))
                .collect()
        };
        Self {
            rows: result.rows.into_iter().map(cells).collect(),
            columns: result.names,
            affected: 0,
        }
    }
}

impl AdminAddress {
    /// The address from the arguments; from the settings if the arguments do not say.
    ///
    /// # Errors
    /// A value is missing, or cannot be read.
    pub fn of(arguments: &AdminArguments) -> Result<Self, String> {
        let config = match &arguments.config {
            Some(path) => {
                let loaded = Config::load(Some(path), &[]).map_err(|faults| {
                    let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
                    faults.join("\n")
                })?;
                Some(loaded.config)
            }
            None => None,
        };
        let own = config.as_ref().map(|config| &config.admin);
        let address = match (&arguments.address, own.and_then(|it| it.address.first())) {
            (Some(address), _) => address.clone(),
            (None, Some(ListenAddress::Tcp(address))) if address.ip().is_unspecified() => {
                format!("127.0.0.1:{}", address.port())
            }
            (None, Some(address)) => address.to_string(),
            (None, None) => DEFAULT_ADDRESS.to_owned(),
        };
        let admins = config.as_ref().map(Config::admins).unwrap_or_default();
        let user = arguments
            .user
            .clone()
            .or_else(|| admins.first().map(|it| it.user.clone()));
        let user = user.ok_or(
            "the admin port asks for a user: give --user NAME and --password file:PATH, or -c FILE whose \
             [admin] has a username",
        )?;
        let known = admins
            .iter()
            .find(|it| it.user == user)
            .and_then(|it| it.password.clone());
        let password = match (&arguments.password, known) {
            (Some(password), _) => secret(password)?,
            (None, Some(password)) => password,
            (None, None) => {
                return Err(format!(
                    "the password of {user} is not known: give --password file:PATH"
                ));
            }
        };
        Self::parse(&address, PortKind::Admin, user, password, arguments.tls)
    }

    /// An address `HOST:PORT`, or the path of a socket.
    ///
    /// # Errors
    /// The text is no such address.
    pub fn parse(
        address: &str,
        kind: PortKind,
        user: String,
        password: config::Secret,
        tls: bool,
    ) -> Result<Self, String> {
        let (host, port) = match address.rsplit_once(':') {
            _ if address.contains('/') => (address.trim_start_matches("unix:").to_owned(), None),
            Some((host, port)) => {
                let port = port.parse();
                let port =
                    port.map_err(|_| format!("{address} is no address such as HOST:PORT"))?;
                (host.trim_matches(['[', ']']).to_owned(), Some(port))
            }
            None => (address.to_owned(), Some(kind.port())),
        };
        Ok(Self {
            host,
            port,
            user,
            password,
            tls,
            kind,
        })
    }
}

impl std::fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            Some(port) if self.host.contains(':') => write!(f, "[{}]:{port}", self.host),
            Some(port) => write!(f, "{}:{port}", self.host),
            None => write!(f, "{}", self.host),
        }
    }
}

/// A password: the text itself, or the content of the file or variable that it names.
///
/// # Errors
/// The file or the variable cannot be read.
pub fn secret(text: &str) -> Result<config::Secret, String> {
    if let Some(path) = text.strip_prefix("file:") {
        let read = std::fs::read_to_string(path);
        let read = read.map_err(|error| format!("cannot read {path}: {error}"))?;
        return Ok(config::Secret::new(read.trim_end_matches(['\r', '\n'])));
    }
    match text.strip_prefix("env:") {
        Some(name) => {
            let value =
                std::env::var(name).map_err(|_| format!("the environment has no {name}"))?;
            Ok(config::Secret::new(value))
        }
        None => Ok(config::Secret::new(text)),
    }
}

/// See the module.
pub struct AdminClient {
    runtime: Runtime,
    address: AdminAddress,
    options: ClientOptions,
    client: Option<BackendClient>,
}

impl AdminClient {
    /// A client that connects with the first statement. `schema` is the default schema.
    ///
    /// # Errors
    /// The system's error.
    pub fn new(address: &AdminAddress, schema: &str) -> Result<Self, AdminError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| AdminError::Unreachable(error.to_string()))?;
        Ok(Self {
            runtime,
            address: address.clone(),
            options: options(address, schema),
            client: None,
        })
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// The error in words, and what to do if there is no connection; the next statement connects again.
    pub fn query(&mut self, sql: &str) -> Result<ResultRows, AdminError> {
        let (client, options) = (&mut self.client, &self.options);
        let falls_back = self.address.kind == PortKind::Server;
        self.runtime.block_on(async {
            match timeout(TIMEOUT_ANSWER, query(client, options, falls_back, sql)).await {
                Ok(answer) => answer.map_err(|error| describe(&self.address, &error)),
                Err(_) => {
                    let text = format!(
                        "{} has not answered within {TIMEOUT_ANSWER:?}",
                        self.address
                    );
                    Err(AdminError::Unreachable(text))
                }
            }
        })
    }
}

/// The options for a login at an address. No certificate is checked, because the password is the only proof that is
/// needed.
fn options(address: &AdminAddress, schema: &str) -> ClientOptions {
    let host = address.host.clone();
    ClientOptions {
        address: match address.port {
            Some(port) => BackendAddress::Tcp { host, port },
            None => BackendAddress::Unix(host.into()),
        },
        user: address.user.clone(),
        password: address.password.clone(),
        schema: (!schema.is_empty()).then(|| schema.to_owned()),
        tls: match (address.kind, address.tls) {
            (PortKind::Server, _) => BackendTlsMode::Preferred,
            (_, true) => BackendTlsMode::Required,
            (_, false) => BackendTlsMode::Off,
        },
        timeout: TIMEOUT_LOGIN,
    }
}

/// Runs a statement. If it ends without an answer of the server, the connection is dropped.
async fn query(
    client: &mut Option<BackendClient>,
    options: &ClientOptions,
    falls_back: bool,
    sql: &str,
) -> Result<ResultRows, ClientError> {
    let mut ready = match client.take() {
        Some(ready) => ready,
        None => connect(options, falls_back).await?,
    };
    let answer = ready.ask(sql, BOUNDS).await;
    if !matches!(&answer, Err(error) if error.server.is_none()) {
        *client = Some(ready);
    }
    Ok(match answer? {
        StatementResult::Rows(result) => result.into(),
        StatementResult::Done { affected_rows } => ResultRows {
            affected: affected_rows,
            ..ResultRows::default()
        },
    })
}

/// Connects. If TLS with a server fails, the connection is tried without TLS.
async fn connect(options: &ClientOptions, falls_back: bool) -> Result<BackendClient, ClientError> {
    let entropy = machine::entropy();
    match BackendClient::connect(options, &entropy).await {
        Err(error) if falls_back && error.server.is_none() => {
            let plain = ClientOptions {
                tls: BackendTlsMode::Off,
                ..options.clone()
            };
            let connected = BackendClient::connect(&plain, &entropy).await;
            connected.map_err(|_| error)
        }
        connected => connected,
    }
}

/// The error in words, and what to do.
fn describe(address: &AdminAddress, error: &ClientError) -> AdminError {
    let (title, hint) = (address.kind.title(), address.kind.hint());
    match &error.server {
        Some(server) if matches!(server.number, 1040 | 1044 | 1045 | 1129 | 1130) => {
            AdminError::Unreachable(format!(
                "{address} does not let {} in: {}. Give a --user and --password that {title} knows",
                address.user, server.message
            ))
        }
        Some(server) => AdminError::Refused(server.message.clone()),
        None => AdminError::Unreachable(format!(
            "cannot connect to {title} at {address}: {error}. {hint}"
        )),
    }
}
