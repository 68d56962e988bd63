//! The admin port: logins, statements, and that its tables are correct.

use std::collections::BTreeMap;

use e2e::raw::{Address, Login, RawConn, Rows};
use e2e::{Product, Proxy, Server, Settings, free_port};

mod busy;
mod changes;
mod changing_user;
mod clients;
mod disabling;
mod endless;
mod flushing;
mod history;
mod hostile;
mod index_usage;
mod insight;
mod logins;
mod manual;
mod meaning;
mod prepared;
mod proxysql;
mod script;
mod tables;

/// A proxy with its admin port.
struct Watched {
    proxy: Proxy,
    port: u16,
}

impl Watched {
    fn start(settings: Settings) -> Self {
        let port = free_port();
        let proxy = Proxy::start(&settings.admin_on(port));
        Self { proxy, port }
    }

    /// In front of the shared server, two workers, sessions pooled.
    fn pooled(product: Product) -> Self {
        let settings = Settings::pooled(Server::shared(product), 4);
        Self::start(settings.set("workers", 2))
    }

    /// A proxy whose backend does not answer.
    fn alone() -> Self {
        Self::start(Settings::default().backend(format!("127.0.0.1:{}", free_port())))
    }

    fn address(&self) -> Address {
        Address::from(std::net::SocketAddr::from(([127, 0, 0, 1], self.port)))
    }

    #[track_caller]
    fn connect(&self, login: &Login) -> RawConn {
        match RawConn::connect(&self.address(), login) {
            Ok(conn) => conn,
            Err(error) => panic!("no login: {error}\n{}", self.proxy.log_tail()),
        }
    }

    fn root(&self) -> RawConn {
        self.connect(&Login::with("root", "all"))
    }

    fn look(&self) -> RawConn {
        self.connect(&Login::with("look", "some"))
    }
}

/// The names of a result's columns.
fn columns(conn: &mut RawConn, sql: &str) -> Vec<String> {
    let reply = conn.run(sql);
    columns_of(reply.results().next().expect("it has rows"))
}

fn columns_of(result: &Rows) -> Vec<String> {
    let columns = result.columns.iter();
    columns.map(|definition| name_in(definition)).collect()
}

/// The name in a column's definition: it follows catalog, schema, table and original table.
fn name_in(definition: &[u8]) -> String {
    let mut rest = definition;
    for _ in 0..4 {
        rest = &rest[1 + usize::from(rest[0])..];
    }
    String::from_utf8_lossy(&rest[1..=usize::from(rest[0])]).into_owned()
}

/// The rows of a query by the names of its columns.
#[track_caller]
fn rows(conn: &mut RawConn, sql: &str) -> Vec<BTreeMap<String, String>> {
    let names = columns(conn, sql);
    let texts = conn.run(sql).texts().into_iter();
    let row = |row: Vec<String>| names.iter().cloned().zip(row).collect();
    texts.map(row).collect()
}

/// The number of the error that a statement ends with.
#[track_caller]
fn refused(conn: &mut RawConn, sql: &str) -> u16 {
    let reply = conn.query(sql);
    let error = reply.error().unwrap_or_else(|| panic!("{sql} is answered"));
    error.code
}
