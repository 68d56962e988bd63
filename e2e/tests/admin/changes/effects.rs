//! Effects of changes: rules, accounts and backends are added and removed, and events report it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use e2e::raw::{Login, RawConn};
use e2e::{Product, Server, Settings, free_port, wait};

use super::super::{Watched, refused};

#[test]
fn rules_take_effect_in_the_configured_order() {
    let watched = Watched::pooled(Product::MariaDb);
    let mut root = watched.root();
    let mut client = watched.proxy.connect();
    client.run("SELECT 1");
    root.run("INSERT INTO rules (rule, regex, refuse) VALUES ('b', 'forbidden', 'by b')");
    root.run("INSERT INTO rules (rule, regex, refuse, place) VALUES ('a', 'forbidden', 'by a', 1)");
    let why = |client: &mut RawConn| {
        let found = || {
            let reply = client.query("SELECT 'forbidden'");
            reply.error().map(|error| error.text.clone())
        };
        wait::for_some("the rule holds", wait::SOON, found)
    };
    assert!(why(&mut client).contains("by a"));
    root.run("UPDATE rules SET place = 2 WHERE rule = 'a'");
    wait::until("they have changed places", wait::SOON, || {
        why(&mut client).contains("by b")
    });
    let order = root
        .run("SELECT place, rule FROM rules ORDER BY place")
        .texts();
    assert_eq!(order, [["1", "b"], ["2", "a"]]);
    root.run("DELETE FROM rules");
    wait::until("it is allowed", wait::SOON, || {
        client.query("SELECT 'forbidden'").error().is_none()
    });
}

#[test]
fn an_added_account_can_log_in() {
    let watched = Watched::pooled(Product::MariaDb);
    let mut root = watched.root();
    let mut server = Server::shared(Product::MariaDb).root();
    server.run("CREATE USER IF NOT EXISTS by_sql@'%' IDENTIFIED BY 'its'");
    root.run("INSERT INTO accounts (user, password, mode) VALUES ('by_sql', 'its', 'transaction')");
    let login = Login::with("by_sql", "its");
    let mut client = watched.proxy.connect_as(&login);
    assert!(client.value("SELECT USER()").starts_with("by_sql@"));
    assert_eq!(
        root.value("SELECT mode FROM sessions WHERE user = 'by_sql'"),
        "transaction"
    );
    server.run("DROP USER by_sql@'%'");
}

#[test]
fn a_backend_is_added_and_removed_under_load_without_errors() {
    let server = Server::shared(Product::MariaDb);
    let watched = Watched::pooled(Product::MariaDb);
    let mut root = watched.root();
    let ends = AtomicBool::new(false);
    let statements = |root: &mut RawConn| -> u64 {
        let asked = "SELECT ifnull(sum(statements), 0) FROM times WHERE backend = 'second'";
        root.value(asked).parse().unwrap()
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = watched.proxy.connect();
                while !ends.load(Ordering::Relaxed) {
                    assert_eq!(client.value("SELECT 1"), "1");
                }
            });
        }
        let socket = server.socket();
        root.run(&format!(
            "INSERT INTO backends (name, address, role) VALUES ('second', '{}', 'replica')",
            socket.display()
        ));
        wait::until("statements arrive", wait::SOON, || {
            statements(&mut root) > 100
        });
        root.run("UPDATE backends SET draining = 1 WHERE name = 'second'");
        // Sessions that wait for a connection to the backend count as in flight.
        let in_flight = "SELECT in_flight + (SELECT ifnull(sum(in_use + opening + waiting), 0) FROM pools \
                         WHERE backend = 'second') FROM backends WHERE name = 'second'";
        wait::until("it is free", wait::SOON, || root.value(in_flight) == "0");
        let then = statements(&mut root);
        let all = "SELECT sum(statements) FROM times";
        let before: u64 = root.value(all).parse().unwrap();
        wait::until("others go on", wait::SOON, || {
            root.value(all).parse::<u64>().unwrap() > before + 100
        });
        assert_eq!(statements(&mut root), then);
        root.run("UPDATE backends SET draining = 0 WHERE name = 'second'");
        wait::until("it is used again", wait::SOON, || {
            statements(&mut root) > then + 100
        });
        root.run("DELETE FROM backends WHERE name = 'second'");
        let before: u64 = root.value(all).parse().unwrap();
        wait::until("others go on", wait::SOON, || {
            root.value(all).parse::<u64>().unwrap() > before + 100
        });
        ends.store(true, Ordering::Relaxed);
    });
    watched.proxy.assert_sound();
}

#[test]
fn changes_appear_in_the_events_table() {
    let watched = Watched::pooled(Product::MariaDb);
    let mut root = watched.root();
    let mut look = watched.look();
    let mut events = |kind: &str, like: &str| {
        let sql =
            format!("SELECT subject, text, ifnull(user, '') FROM events WHERE kind = '{kind}'");
        let ask = || {
            let events = look.run(&sql).texts().into_iter();
            let mut events = events.filter(|it| it.concat().contains(like));
            events.next()
        };
        wait::for_some(&format!("{kind} {like}"), wait::SOON, ask)
    };
    root.run("SET GLOBAL admin.password = 'verysecret'");
    let told = events("change", "admin.password");
    assert!(
        told[2].starts_with("root@") && !told[1].contains("verysecret"),
        "{told:?}"
    );
    let port = free_port();
    root.run(&format!(
        "INSERT INTO backends (name, address) VALUES ('gone', '127.0.0.1:{port}')"
    ));
    assert_eq!(
        events("change", "gone")[1],
        format!("127.0.0.1:{port} is new")
    );
    assert_eq!(events("backend", "has come"), ["gone", "has come", ""]);
    assert!(events("backend", "is down")[1].contains("refused"));
    root.run("UPDATE backends SET drain = 1 WHERE name = 'gone'");
    events("backend", "gets nothing new");
    root.run("DELETE FROM backends WHERE name = 'gone'");
    events("backend", "has gone");
    root.run("SAVE");
    assert_eq!(
        events("file", "is written")[0],
        watched.proxy.config_file().display().to_string()
    );
    watched.proxy.write_settings("nonsense");
    watched.proxy.signal(e2e::Signal::HUP);
    assert!(events("file", "is faulty")[1].contains("is no TOML"));
    let client = watched.proxy.connect();
    root.run(&format!("KILL {}", client.id));
    assert_eq!(events("kill", &client.id.to_string())[1], "it is ended");
    root.run("FLUSH STATUS");
    events("reset", "status");
}

#[test]
fn counts_can_be_reset() {
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 4)
        .set("workers", 2)
        .rule("all", &[("log", "false"), ("stop", "false")]);
    let watched = Watched::start(settings);
    let mut root = watched.root();
    let mut client = watched.proxy.connect();
    for _ in 0..20 {
        client.run("SELECT 1");
    }
    let counted =
        "SELECT (SELECT sum(hits) FROM rules) > 0, (SELECT sum(statements) FROM times) > 0";
    assert_eq!(root.run(counted).texts(), [["1", "1"]]);
    assert_eq!(refused(&mut watched.look(), "FLUSH STATUS"), 1227);
    root.run("FLUSH STATUS");
    assert_eq!(root.value("SELECT sum(hits) FROM rules"), "0");
    assert_eq!(root.value("SELECT count(*) FROM times"), "0");
    client.run("SELECT 1");
    assert_eq!(root.value("SELECT sum(hits) FROM rules"), "1");
    // A statement is counted after its reply was sent.
    wait::until("it is counted", wait::SOON, || {
        root.value("SELECT sum(statements) FROM times") == "1"
    });
}
