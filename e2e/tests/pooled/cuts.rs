//! What a session does after a cut (behaviours 22 to 24): one that lost a transaction and no more goes
//! on, and nothing that was meant for the transaction runs outside of it; one that lost more ends, and
//! says what.

use e2e::raw::{Execute, Login, Param, RawConn, Reply, Shape, command};
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

#[track_caller]
fn refused(reply: &Reply, words: &str) {
    let error = reply.error().expect("it is refused");
    assert_eq!((error.code, error.state.as_str()), (1158, "08S01"));
    assert!(error.text.contains(words), "{error}");
}

/// Ways to say that a cut transaction is over, and what each is answered.
const ENDS: &[(&str, Option<&str>)] = &[
    ("ROLLBACK", None),
    ("rollback /* it */ work", None),
    ("BEGIN", None),
    ("START TRANSACTION", None),
    ("COMMIT", Some("Nothing was committed")),
];

#[test]
fn nothing_runs_behind_a_cut_transaction_before_it_is_ended() {
    for product in PRODUCTS {
        let mut server = Server::start(product, &["--innodb-flush-log-at-trx-commit=2"]);
        prepare(&server);
        let settings = Settings::pooled(&server, 20).set("balance.timeout_backend_wait", "30s");
        let proxy = Proxy::start(&settings);
        let mut conns: Vec<(RawConn, u32)> = ENDS
            .iter()
            .map(|_| {
                let mut conn = connect(&proxy);
                conn.run("SET @a = 5");
                let id = conn.prepare("INSERT INTO t VALUES (?)").statement();
                conn.run("BEGIN");
                conn.run("INSERT INTO t VALUES (1)");
                (conn, id)
            })
            .collect();
        server.kill();
        server.start_again();
        for ((conn, id), (end, answer)) in conns.iter_mut().zip(ENDS) {
            let words = "the transaction is rolled back";
            refused(&conn.query("INSERT INTO t VALUES (2)"), words);
            refused(&conn.query("SELECT 1"), words);
            refused(&conn.query("ROLLBACK TO SAVEPOINT s"), words);
            refused(&conn.query("SET autocommit = 1"), words);
            let execute = Execute::new(*id, &[Param::Int(3)]);
            refused(&conn.execute(&execute), words);
            assert!(conn.command(command::PING, b"").error().is_none());
            let reply = conn.query(end);
            match answer {
                None => assert!(reply.error().is_none(), "{end}: {:?}", reply.error()),
                Some(words) => refused(&reply, words),
            }
            assert_eq!(conn.value("SELECT @a"), "5");
            assert!(conn.execute(&execute).error().is_none());
            conn.run("ROLLBACK");
        }
        // Behind BEGIN and START TRANSACTION it was rolled back.
        assert_eq!(count(&server), "3");
    }
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
fn a_transaction_that_is_cut_in_a_statement_is_rolled_back_and_the_session_goes_on() {
    for product in PRODUCTS {
        let (server, relay, proxy) = relayed(product);
        let mut conn = connect(&proxy);
        for cut in [Cut::Unsent, Cut::Unanswered] {
            conn.run("BEGIN");
            conn.run("INSERT INTO t VALUES (1)");
            relay.cut(cut, "VALUES (2)");
            let words = "the transaction is rolled back";
            refused(&conn.query("INSERT INTO t VALUES (2)"), words);
            refused(&conn.query("INSERT INTO t VALUES (3)"), words);
            conn.run("ROLLBACK");
            conn.run("SELECT 'it goes on'");
        }
        assert_eq!(count(&server), "0");
        // Whoever commits is told that it may have happened, and that is the end of it.
        conn.run("BEGIN");
        conn.run("INSERT INTO t VALUES (4)");
        relay.cut(Cut::Unanswered, "COMMIT");
        refused(&conn.query("COMMIT"), "may have been executed");
        conn.run("SELECT 'it goes on'");
        assert_eq!(count(&server), "1");
    }
}

#[test]
fn a_begin_whose_reply_is_lost_is_sent_again() {
    for product in PRODUCTS {
        let (server, relay, proxy) = relayed(product);
        let mut conn = connect(&proxy);
        relay.cut(Cut::Unanswered, "START TRANSACTION");
        conn.run("START TRANSACTION");
        conn.run("INSERT INTO t VALUES (1)");
        conn.run("ROLLBACK");
        assert_eq!((relay.cuts(), &*count(&server)), (1, "0"));
    }
}

#[test]
fn a_write_that_has_not_left_is_sent_over_another_connection() {
    for product in PRODUCTS {
        let (server, relay, proxy) = relayed(product);
        let (mut one, mut two) = (connect(&proxy), connect(&proxy));
        one.run("SET time_zone = '+03:00'");
        two.run("SELECT NOW(), @@time_zone");
        // What restores the session's state goes in front alone the first time.
        relay.cut(Cut::Unsent, "time_zone=");
        one.run("INSERT INTO t SELECT 1 FROM DUAL WHERE @@time_zone LIKE '+03%'");
        assert_eq!((relay.cuts(), &*count(&server)), (1, "1"));
    }
}

#[test]
fn what_is_lost_with_a_connection_is_named() {
    for product in PRODUCTS {
        let (_server, relay, proxy) = relayed(product);
        let mut conn = connect(&proxy);
        conn.run("CREATE TEMPORARY TABLE treasure (n INT)");
        conn.run("SELECT GET_LOCK('my lock', 1)");
        relay.cut(Cut::Unanswered, "SELECT 'a read'");
        conn.send_query("SELECT 'a read'").unwrap();
        let reply = conn.reply(Shape::Results);
        for name in ["temporary_table", "treasure", "named_lock", "my lock"] {
            refused(&reply, name);
        }
        // To go on without them would be to go on wrongly.
        assert!(conn.is_closed_by_server());
    }
}

#[test]
fn a_kill_that_is_lost_is_said_again() {
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
