//! If a connection breaks, the proxy sends the statements that restore a session, and KILL, again over another one.
//! How a session continues after a cut: `simulation/tests/scenes/cuts.rs`.

use e2e::raw::{Login, RawConn};
use e2e::{Cut, LeasedServer, Product, Proxy, Relay, Server, Settings};

const PRODUCTS: [Product; 2] = [Product::MariaDb, Product::MySql];

fn prepare(server: &Server) {
    let mut root = server.root();
    root.run("CREATE DATABASE d");
    root.run("CREATE TABLE d.t (n INT)");
}

fn connect(proxy: &Proxy) -> RawConn {
    proxy.connect_as(&Login::app().schema("d"))
}

fn count(server: &Server) -> String {
    server.root().value("SELECT COUNT(*) FROM d.t")
}

/// A server behind a relay, and a proxy with one connection to it.
fn relayed(product: Product) -> (LeasedServer, Relay, Proxy) {
    let server = Server::lease(product);
    prepare(&server);
    let relay = Relay::start(server.tcp());
    let proxy = Proxy::start(&Settings::pooled_behind(&relay, product, 1));
    (server, relay, proxy)
}

#[test]
fn an_unsent_write_goes_over_another_connection() {
    for product in PRODUCTS {
        let (server, relay, proxy) = relayed(product);
        let (mut one, mut two) = (connect(&proxy), connect(&proxy));
        one.run("SET time_zone = '+03:00'");
        two.run("SELECT NOW(), @@time_zone");
        // The first time, the statement that restores the session's state is sent alone before the write.
        relay.cut(Cut::Unsent, "time_zone=");
        one.run("INSERT INTO t SELECT 1 FROM DUAL WHERE @@time_zone LIKE '+03%'");
        assert_eq!((relay.cuts(), &*count(&server)), (1, "1"));
    }
}

#[test]
fn a_lost_kill_is_sent_again() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        prepare(&server);
        let relay = Relay::start(server.tcp());
        let settings = Settings::pooled_behind(&relay, product, 2);
        let proxy = Proxy::start(&settings.rule("slow", &[("timeout", "\"200ms\"")]));
        let mut conn = connect(&proxy);
        relay.cut(Cut::Unsent, "KILL QUERY");
        let endless = "SELECT COUNT(*) FROM information_schema.columns a, information_schema.columns b, \
                       information_schema.columns c WHERE SLEEP(0.001) = 0";
        let error = conn.query(endless);
        assert_eq!(error.error().map(|it| it.code), Some(1317));
        assert_eq!(relay.cuts(), 1);
        assert_eq!(conn.value("SELECT 'on'"), "on");
    }
}
