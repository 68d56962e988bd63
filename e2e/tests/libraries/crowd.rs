//! 200 idle sessions of Java share 20 backend connections: no statement of the drivers at login pins one. And the
//! sessions go to the proxy that another proxy redirects them to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use e2e::raw::{Login, RawConn};
use e2e::{PASSWORD, Product, Proxy, Server, Settings, free_port};

const SESSIONS: &str = "200";
const CONNECTIONS_MAX: i32 = 20;

fn idle_sessions_share_connections(product: Product, driver: &str) {
    let server = Server::start(product, &[]);
    server.root().run("CREATE DATABASE app");
    let admin = free_port();
    let settings = Settings::pooled(&server, CONNECTIONS_MAX).admin_on(admin);
    let proxy = Proxy::start(&settings);
    let mut program = crowd(proxy.port(), driver, &[]);
    let mut said = BufReader::new(program.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "open\n", "{}", proxy.log_tail());

    let login = Login::with("root", "all");
    let mut look =
        RawConn::connect(&SocketAddr::from(([127, 0, 0, 1], admin)).into(), &login).unwrap();
    let sessions = "SELECT COUNT(*) FROM sessions WHERE user = 'app'";
    assert_eq!(look.value(sessions), SESSIONS);
    let pinned = look.run("SELECT pins FROM sessions WHERE user = 'app' AND pins IS NOT NULL");
    assert_eq!(pinned.texts(), Vec::<Vec<String>>::new());
    let connections = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app'";
    let connections: i32 = server.root().value(connections).parse().unwrap();
    assert!(connections <= CONNECTIONS_MAX, "{connections}");

    program.stdin.take().unwrap().write_all(b"\n").unwrap();
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, format!("sessions: {SESSIONS}\n"));
    assert!(program.wait().unwrap().success());
    proxy.assert_sound();
}

#[test]
fn idle_sessions_of_mysqls_connector_share_connections_in_front_of_mariadb() {
    idle_sessions_share_connections(Product::MariaDb, "java-connectorj");
}

#[test]
fn idle_sessions_of_mysqls_connector_share_connections_in_front_of_mysql() {
    idle_sessions_share_connections(Product::MySql, "java-connectorj");
}

#[test]
fn idle_sessions_of_mariadbs_connector_share_connections_in_front_of_mariadb() {
    idle_sessions_share_connections(Product::MariaDb, "java-mariadb");
}

#[test]
fn idle_sessions_of_mariadbs_connector_share_connections_in_front_of_mysql() {
    idle_sessions_share_connections(Product::MySql, "java-mariadb");
}

/// MariaDB's driver honours `redirect_url` over TLS.
#[test]
fn sessions_of_mariadbs_connector_go_to_the_proxy_that_the_first_one_names() {
    let server = Server::start(Product::MariaDb, &["--max-connections=500"]);
    server.root().run("CREATE DATABASE app");
    let admins = [free_port(), free_port()];
    let second = Proxy::start(&Settings::in_front_of([&server]).admin_on(admins[1]));
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let redirect = format!("{:?}", second.tcp().to_string());
    let settings = Settings::in_front_of([&server]).admin_on(admins[0]);
    let first = Proxy::start(&settings.listener_with(address, &[("redirect", &redirect)]));
    let mut program = crowd(address.port(), "java-mariadb", &["--tls"]);
    let said = BufReader::new(program.stdout.take().unwrap());
    // The driver prints the address of each session's server.
    let mut lines = said.lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "open"), "{}", first.log_tail());
    let found = admins.map(|admin| {
        let login = Login::with("root", "all");
        let admin = SocketAddr::from(([127, 0, 0, 1], admin));
        let mut look = RawConn::connect(&admin.into(), &login).unwrap();
        look.value("SELECT COUNT(*) FROM sessions WHERE user = 'app'")
    });
    assert_eq!(found, ["0", SESSIONS]);
    program.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(program.wait().unwrap().success());
    first.assert_sound();
    second.assert_sound();
}

/// Starts the program that holds the sessions.
fn crowd(port: u16, driver: &str, more: &[&str]) -> Child {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/run.sh");
    Command::new(script)
        .args(["--host", "127.0.0.1", "--port", &port.to_string()])
        .args(["--user", "app", "--password", PASSWORD])
        .args(["--database", "app", "--crowd", "--only", driver])
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}
