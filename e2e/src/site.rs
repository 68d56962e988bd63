//! Scenarios and where they are played: directly, and through the proxy with TLS on neither,
//! either and both sides. What a client sees must be the same everywhere.

use std::sync::OnceLock;

use crate::product::Product;
use crate::proxy::{Proxy, Settings};
use crate::raw::{Address, Login, RawConn, Transcript};
use crate::server::Server;

/// A place to connect to.
#[derive(Debug)]
pub struct Site {
    /// The server at the end of the line.
    pub server: &'static Server,
    /// The proxy in front of it, if any.
    pub proxy: Option<&'static Proxy>,
    /// Where clients connect.
    pub address: Address,
    /// Whether clients use TLS.
    pub tls: bool,
    /// A schema for this scenario alone, empty at its start.
    pub schema: String,
}

impl Site {
    /// How `app` logs in here.
    pub fn login(&self) -> Login {
        self.dress(Login::app()).schema(&self.schema)
    }

    /// How another account logs in here.
    pub fn login_as(&self, user: &str) -> Login {
        self.dress(Login::user(user))
    }

    /// Connects as `app`.
    #[track_caller]
    pub fn connect(&self) -> RawConn {
        self.connect_as(&self.login())
    }

    /// Connects as told.
    #[track_caller]
    pub fn connect_as(&self, login: &Login) -> RawConn {
        match RawConn::connect(&self.address, login) {
            Ok(conn) => conn,
            Err(error) => panic!("no login as {}: {error}\n{}", login.user, self.proxy_log()),
        }
    }

    /// The product at the end of the line.
    pub fn product(&self) -> Product {
        self.server.product
    }

    /// True for MariaDB.
    pub fn is_mariadb(&self) -> bool {
        self.product().is_mariadb()
    }

    /// The proxy's last log lines, for a failure's message.
    pub fn proxy_log(&self) -> String {
        self.proxy.map(Proxy::log_tail).unwrap_or_default()
    }

    fn dress(&self, login: Login) -> Login {
        if self.tls { login.over_tls() } else { login }
    }

    fn empty_schema(&self) {
        let mut root = self.server.root();
        root.run(&format!("DROP DATABASE IF EXISTS {}", self.schema));
        root.run(&format!("CREATE DATABASE {}", self.schema));
    }
}

/// Plays a scenario in front of the shared server of `product`, at every site, and compares what
/// the client saw with what it saw without a proxy. `name` must be unique among the tests.
pub fn everywhere(product: Product, name: &str, scenario: impl Fn(&Site) -> Transcript) {
    let server = Server::shared(product);
    // A schema's name holds 64 characters.
    let schema = format!("t_{}", &name[..name.len().min(60)]);
    let site = |proxy: Option<&'static Proxy>, tls| Site {
        server,
        proxy,
        address: proxy.map_or_else(|| server.tcp().into(), Proxy::address),
        tls,
        schema: schema.clone(),
    };
    let play = |site: Site| {
        site.empty_schema();
        scenario(&site)
    };
    let direct = play(site(None, false));
    // For work on the scenarios themselves.
    if std::env::var_os("PILOTFISH_E2E_DIRECT").is_some() {
        return play(site(None, true)).assert_same(&direct, "directly, TLS");
    }
    for backend_tls in [false, true] {
        let proxy = shared_proxy(product, backend_tls);
        for client_tls in [false, true] {
            let proxied = play(site(Some(proxy), client_tls));
            let how = format!("through the proxy, TLS {}", sides(client_tls, backend_tls));
            direct.assert_same(&proxied, &how);
        }
        proxy.assert_sound();
    }
    server
        .root()
        .run(&format!("DROP DATABASE IF EXISTS {schema}"));
}

fn sides(client: bool, backend: bool) -> &'static str {
    match (client, backend) {
        (false, false) => "on neither side",
        (true, false) => "on the client's side",
        (false, true) => "on the backend's side",
        (true, true) => "on both sides",
    }
}

/// The proxies that all scenarios of this process share.
fn shared_proxy(product: Product, backend_tls: bool) -> &'static Proxy {
    static PROXIES: [OnceLock<Proxy>; 6] = [const { OnceLock::new() }; 6];
    let row = match product {
        Product::MariaDb => 0,
        Product::MariaDbNext => 1,
        Product::MySql => 2,
    };
    PROXIES[row * 2 + usize::from(backend_tls)].get_or_init(|| {
        let mode = if backend_tls { "required" } else { "off" };
        let settings = Settings::in_front_of([Server::shared(product)]);
        Proxy::start(&settings.set("backend_tls.mode", mode))
    })
}
