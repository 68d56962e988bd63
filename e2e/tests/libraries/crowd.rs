//! 200 idle sessions of Java share 20 backend connections: what the drivers say at login pins none of them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

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
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/run.sh");
    let mut program = Command::new(script)
        .args(["--host", "127.0.0.1", "--port", &proxy.port().to_string()])
        .args(["--user", "app", "--password", PASSWORD])
        .args(["--database", "app", "--crowd", "--only", driver])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
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
