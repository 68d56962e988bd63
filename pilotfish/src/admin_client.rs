//! A client of admin ports: the proxy's own for `pilotfish top` and the commands that look at a proxy, ProxySQL's for
//! `pilotfish import`. One connection, made again when it has broken; every answer has a time limit.

use std::time::Duration;

use config::{Config, ListenAddress};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, Row, SslOpts, Value};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::arguments::AdminArguments;

/// How long an answer may take.
const TIMEOUT_ANSWER: Duration = Duration::from_secs(30);
/// Where the admin port is unless anybody says otherwise.
const DEFAULT_ADDRESS: &str = "127.0.0.1:4041";

/// Where to connect, and as whom.
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
    /// Whether TLS is spoken.
    pub tls: bool,
    /// What answers there.
    pub kind: PortKind,
}

/// What answers at an address.
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

/// What a statement has answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultRows {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
    /// Rows that a statement without a result has changed.
    pub affected: u64,
}

/// A value of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// NULL.
    Null,
    /// A number, as it is written.
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

    /// The text with control characters escaped: a terminal would obey them.
    pub fn printable(&self) -> String {
        let text = self.text();
        match text.contains(char::is_control) {
            true => text.escape_debug().to_string(),
            false => text.to_owned(),
        }
    }

    fn of(value: Value, is_number: bool) -> Self {
        match value {
            Value::NULL => Self::Null,
            Value::Bytes(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if is_number {
                    Self::Number(text)
                } else {
                    Self::Text(text)
                }
            }
            Value::Int(number) => Self::Number(number.to_string()),
            Value::UInt(number) => Self::Number(number.to_string()),
            Value::Float(number) => Self::Number(number.to_string()),
            Value::Double(number) => Self::Number(number.to_string()),
            other => Self::Text(other.as_sql(true)),
        }
    }
}

impl AdminAddress {
    /// What the arguments say, and the settings where they say nothing.
    ///
    /// # Errors
    /// What is missing, or cannot be read.
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
    /// If it is none.
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

/// A password, or what is where it says.
///
/// # Errors
/// If the file or the variable cannot be read.
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
    opts: Opts,
    conn: Option<Conn>,
}

impl AdminClient {
    /// Connects with the first statement. `schema` is the default one.
    ///
    /// # Errors
    /// The system's.
    pub fn new(address: &AdminAddress, schema: &str) -> Result<Self, AdminError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| AdminError::Unreachable(error.to_string()))?;
        let opts = OptsBuilder::default()
            .user(Some(&address.user))
            .pass(Some(address.password.expose()))
            .db_name((!schema.is_empty()).then_some(schema))
            // ProxySQL's admin port does not know the variables that would be asked for.
            .max_allowed_packet(Some(16 << 20))
            .wait_timeout(Some(28_800))
            .prefer_socket(false);
        let opts = match address.port {
            Some(port) => opts.ip_or_hostname(&address.host).tcp_port(port),
            None => opts.socket(Some(&address.host)),
        };
        let is_server = address.kind == PortKind::Server;
        // What is proven here is who asks, on a machine that is known.
        let tls = SslOpts::default()
            .with_danger_accept_invalid_certs(true)
            .with_danger_skip_domain_validation(true);
        let opts = opts
            .ssl_opts((address.tls || is_server).then_some(tls))
            .into();
        Ok(Self {
            runtime,
            address: address.clone(),
            opts,
            conn: None,
        })
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// In words, with what to do when there is no connection; the connection is made again next time.
    pub fn query(&mut self, sql: &str) -> Result<ResultRows, AdminError> {
        let (conn, opts) = (&mut self.conn, &self.opts);
        let falls_back = self.address.kind == PortKind::Server;
        let asked = self.runtime.block_on(async {
            match timeout(TIMEOUT_ANSWER, query(conn, opts, falls_back, sql)).await {
                Ok(answer) => answer.map_err(|error| told(&self.address, &error)),
                Err(_) => {
                    let text = format!(
                        "{} has not answered within {TIMEOUT_ANSWER:?}",
                        self.address
                    );
                    Err(AdminError::Unreachable(text))
                }
            }
        });
        if asked.is_err() {
            self.conn = None;
        }
        asked
    }
}

async fn query(
    conn: &mut Option<Conn>,
    opts: &Opts,
    falls_back: bool,
    sql: &str,
) -> mysql_async::Result<ResultRows> {
    let mut ready = match conn.take() {
        Some(ready) => ready,
        None => connect(opts, falls_back).await?,
    };
    let mut result = ready.query_iter(sql).await?;
    let columns = result.columns();
    let columns = columns.iter().flat_map(|it| it.iter());
    let (names, numeric): (Vec<_>, Vec<_>) = columns
        .map(|it| {
            (
                it.name_str().into_owned(),
                it.column_type().is_numeric_type(),
            )
        })
        .unzip();
    let rows: Vec<Row> = result.collect().await?;
    let affected = result.affected_rows();
    drop(result);
    *conn = Some(ready);
    let cells = |row: Row| {
        let values = row.unwrap().into_iter().zip(&numeric);
        values
            .map(|(value, is_number)| Cell::of(value, *is_number))
            .collect()
    };
    Ok(ResultRows {
        columns: names,
        rows: rows.into_iter().map(cells).collect(),
        affected,
    })
}

/// Connects with TLS, if that is asked for. A password that passes in full (`caching_sha2_password`) needs it, so a server
/// that has no TLS is tried without it.
async fn connect(opts: &Opts, falls_back: bool) -> mysql_async::Result<Conn> {
    match Conn::new(opts.clone()).await {
        Err(error) if falls_back && !matches!(error, mysql_async::Error::Server(_)) => {
            let plain = OptsBuilder::from_opts(opts.clone()).ssl_opts(None::<SslOpts>);
            Conn::new(plain).await.map_err(|_| error)
        }
        connected => connected,
    }
}

/// What has happened, and what to do.
fn told(address: &AdminAddress, error: &mysql_async::Error) -> AdminError {
    let (title, hint) = (address.kind.title(), address.kind.hint());
    match error {
        mysql_async::Error::Server(error)
            if matches!(error.code, 1040 | 1044 | 1045 | 1129 | 1130) =>
        {
            AdminError::Unreachable(format!(
                "{address} does not let {} in: {}. Give a --user and --password that {title} knows",
                address.user, error.message
            ))
        }
        mysql_async::Error::Server(error) => AdminError::Refused(error.message.clone()),
        error => AdminError::Unreachable(format!(
            "cannot connect to {title} at {address}: {error}. {hint}"
        )),
    }
}
