//! Clients that close their sending side after a command: they get the whole reply, as from a server. A disconnected
//! client looks the same at first, and its statement is ended after `limits.timeout_half_closed`.

use std::net::Shutdown;

use e2e::raw::{Login, RawConn, Shape};
use e2e::{PASSWORD, Product, Proxy, Server, Settings, wait};

use crate::lanes::{Site, answered, hold, waiting};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/every_other.lua");

/// Transparent and pooled sessions, each with and without a script.
fn ways(server: &Server) -> [(&'static str, Settings); 4] {
    let transparent = || Settings::in_front_of([server]).set("workers", 1);
    let pooled = || Settings::pooled(server, 2);
    [
        ("transparent", transparent()),
        ("pooled", pooled()),
        ("scripted", transparent().set("routing.script", SCRIPT)),
        (
            "pooled and scripted",
            pooled().set("routing.script", SCRIPT),
        ),
    ]
}

/// Two results: one that takes time (MySQL would end a SLEEP of a client that has closed its side), and one that is
/// larger than the buffers of the sockets.
const QUERY: &str =
    "SELECT 'answered', BENCHMARK(500000, SHA2('x', 256)); SELECT REPEAT('x', 4000000)";

fn query_then_close(mut conn: RawConn, way: &str) {
    conn.send_query(QUERY).unwrap();
    conn.shut_down(Shutdown::Write);
    let reply = conn.reply(Shape::Results);
    let rows: Vec<usize> = reply.results().map(|rows| rows.rows.len()).collect();
    assert_eq!(rows, [1, 1], "{way}: {:?}", reply.error());
    // MySQL itself sends an error behind the reply, because it cannot read any more.
    assert!(conn.is_closed_by_server() || way == "directly", "{way}");
}

both! {
    a_client_that_closes_its_sending_side_gets_its_reply
    a_client_that_closes_its_sending_side_gets_its_reply_from_a_lane
    the_statement_of_a_disconnected_client_is_killed
    without_time_for_half_closed_clients_a_statement_is_ended_at_once
}

fn a_client_that_closes_its_sending_side_gets_its_reply(product: Product) {
    let server = Server::shared(product);
    let direct = RawConn::connect(&server.tcp().into(), &Login::app()).unwrap();
    query_then_close(direct, "directly");
    for (way, settings) in ways(server) {
        // The timeout is long: the test is about the reply, and a busy machine may be slow.
        let proxy = Proxy::start(&settings.set("limits.timeout_half_closed", "60s"));
        query_then_close(proxy.connect(), way);
        // A script sends every second command itself.
        let mut second = proxy.connect();
        second.run("SELECT 1");
        query_then_close(second, way);
    }
}

fn a_client_that_closes_its_sending_side_gets_its_reply_from_a_lane(product: Product) {
    let site = Site::at(Server::lease(product), 6, |settings| {
        settings.set("limits.timeout_half_closed", "60s")
    });
    site.teach();
    let mut holder = hold(&site);
    let [mut first, mut aboard] = waiting(&site);
    aboard.shut_down(Shutdown::Write);
    holder.run("UNLOCK TABLES");
    answered(&mut first, 0);
    answered(&mut aboard, 1);
    assert!(aboard.is_closed_by_server());
    site.proxy.assert_sound();
}

/// Whether a statement of this text runs on the server.
fn runs(server: &Server, text: &str) -> bool {
    let text = format!("{text}%");
    let ask =
        format!("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '{text}'");
    server.root().value(&ask) != "0"
}

fn is_ended(server: &Server, settings: Settings, mark: &str) {
    let settings = settings
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD);
    let proxy = Proxy::start(&settings);
    let mut conn = proxy.connect();
    let text = format!("SELECT SLEEP(600), {mark}");
    conn.send_query(&text).unwrap();
    wait::until("it runs", wait::SOON, || runs(server, &text));
    drop(conn);
    wait::until("it is ended", wait::SOON, || !runs(server, &text));
    proxy.wait_event("client_left", &["side=client"]);
}

fn the_statement_of_a_disconnected_client_is_killed(product: Product) {
    let server = Server::lease(product);
    for (number, (_, settings)) in ways(&server).into_iter().enumerate() {
        let settings = settings.set("limits.timeout_half_closed", "1s");
        is_ended(&server, settings, &format!("{}", 1000 + number));
    }
}

fn without_time_for_half_closed_clients_a_statement_is_ended_at_once(product: Product) {
    let server = Server::lease(product);
    for (number, (_, settings)) in ways(&server).into_iter().enumerate() {
        let settings = settings.set("limits.timeout_half_closed", "0s");
        is_ended(&server, settings, &format!("{}", 2000 + number));
    }
}
