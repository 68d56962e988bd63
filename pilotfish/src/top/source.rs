//! Where figures come from: statements over the admin port, by one connection that is made again when it has
//! broken.

use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, Row, SslOpts, Value};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::figures::Look;
use super::screen::{SCREENS, TOTALS};

/// How long a look may take.
const TIMEOUT_LOOK: Duration = Duration::from_secs(10);

/// Where to look, and as whom.
#[derive(Clone)]
pub struct Place {
    /// A host, or the path of a socket.
    pub host: String,
    /// The port, unless it is a socket.
    pub port: Option<u16>,
    /// The user.
    pub user: String,
    /// The password.
    pub password: String,
    /// Whether TLS is spoken.
    pub tls: bool,
}

/// See the module.
pub struct Source {
    runtime: Runtime,
    opts: Opts,
    conn: Option<Conn>,
}

impl Source {
    /// Connects to nobody yet.
    ///
    /// # Errors
    /// The system's.
    pub fn new(place: &Place) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let opts = OptsBuilder::default()
            .user(Some(&place.user))
            .pass(Some(&place.password))
            .db_name(Some("pilotfish"))
            .prefer_socket(false);
        let opts = match place.port {
            Some(port) => opts.ip_or_hostname(&place.host).tcp_port(port),
            None => opts.socket(Some(&place.host)),
        };
        // What is proven here is who asks, on a machine that is known.
        let tls = SslOpts::default()
            .with_danger_accept_invalid_certs(true)
            .with_danger_skip_domain_validation(true);
        let opts = opts.ssl_opts(place.tls.then_some(tls));
        Ok(Self {
            runtime,
            opts: opts.into(),
            conn: None,
        })
    }

    /// Asks for one screen.
    ///
    /// # Errors
    /// In words; the connection is made again next time.
    pub fn look(&mut self, screen: usize) -> Result<Look, String> {
        let (conn, opts) = (&mut self.conn, &self.opts);
        let looked = self.runtime.block_on(async {
            let looking = look(conn, opts, screen);
            match timeout(TIMEOUT_LOOK, looking).await {
                Ok(looked) => looked.map_err(|error| error.to_string()),
                Err(_) => Err(format!("no answer within {TIMEOUT_LOOK:?}")),
            }
        });
        if looked.is_err() {
            self.conn = None;
        }
        looked
    }
}

async fn look(conn: &mut Option<Conn>, opts: &Opts, screen: usize) -> mysql_async::Result<Look> {
    let mut ready = match conn.take() {
        Some(ready) => ready,
        None => Conn::new(opts.clone()).await?,
    };
    let totals: Vec<Row> = ready.query(TOTALS).await?;
    let rows: Vec<Row> = ready.query(SCREENS[screen].sql).await?;
    *conn = Some(ready);
    let totals = totals.into_iter().next().map(texts).unwrap_or_default();
    let total = |index: usize| totals.get(index).and_then(|it| it.parse().ok());
    Ok(Look {
        at: Instant::now(),
        totals: [0, 1, 2].map(|index| total(index).unwrap_or_default()),
        screen,
        rows: rows.into_iter().map(texts).collect(),
    })
}

/// A row's values as texts; NULL is nothing. What a terminal would obey is shown as it is written in Rust.
fn texts(row: Row) -> Vec<String> {
    let text = |value: Value| match value {
        Value::NULL => String::new(),
        Value::Bytes(bytes) => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            match text.contains(char::is_control) {
                true => text.escape_debug().to_string(),
                false => text,
            }
        }
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        other => other.as_sql(true),
    };
    row.unwrap().into_iter().map(text).collect()
}
