//! KILL by the id that a client sees, if its login has passed through and it runs a script.

use std::sync::atomic::{AtomicU32, Ordering};

use e2e::raw::Address;
use e2e::wait::{SOON, until};
use e2e::{PASSWORD, Product};

use super::waiting::TELLS;
use super::*;

both! {
    each_authorised_user_can_end_a_waiting_hook
    a_running_statement_is_killed_from_anywhere
    a_session_is_ended_from_anywhere
    a_session_that_shares_connections_is_killed_as_well
    a_kill_without_the_privilege_gives_an_error
    a_kill_finds_a_session_without_a_backend
    the_admin_port_kills_a_session_by_the_id_that_its_client_sees
}

const WAITS: &str = r#"
    function read_auth()
        if proxy.connection.client.username == "letin" then
            proxy.response = { type = proxy.MYSQLD_PACKET_OK }
            return proxy.PROXY_SEND_RESULT
        end
    end
    function read_query(packet)
        local text = packet:sub(2)
        if text == "DO wait" then
            proxy.global.waits = true
            pilotfish.sleep(3600)
            return tell("went on")
        elseif text == "DO they wait" then
            return tell(proxy.global.waits and "yes" or "no")
        elseif proxy.connection.client.username == "letin" then
            return tell("there")
        end
    end
"#;

/// Users that only the server knows, whose logins pass through. `k_boss` may kill sessions of other users.
/// `k_chief` may, too, and shares connections.
fn start(product: Product) -> Scripted {
    let server = Server::shared(product);
    let mut root = server.root();
    for user in ["k_stray", "k_other", "k_boss", "k_chief"] {
        root.run(&format!(
            "CREATE USER IF NOT EXISTS {user}@'%' IDENTIFIED BY '{PASSWORD}'"
        ));
    }
    for user in ["k_boss", "k_chief"] {
        root.run(&format!("GRANT ALL PRIVILEGES ON *.* TO {user}@'%'"));
    }
    let settings = Settings::pooled(server, 4).account("k_chief", PASSWORD);
    Scripted::with(settings, &format!("{TELLS}{WAITS}"))
}

fn connect(scripted: &Scripted, user: &str) -> RawConn {
    scripted.connect_as(&Login::with(user, PASSWORD))
}

/// The users that may kill a session of `k_stray`.
const KILLERS: [&str; 3] = ["k_stray", "k_boss", "k_chief"];

#[track_caller]
fn is_interrupted(victim: &mut RawConn) {
    let reply = victim.reply(Shape::Results);
    assert_eq!(reply.error().unwrap().code, 1317);
    assert_eq!(victim.value("SELECT 7"), "7");
}

#[track_caller]
fn has_ended(victim: &mut RawConn) {
    let reply = victim.try_reply(Shape::Results);
    assert!(reply.map_or(true, |reply| reply.error().is_some()));
    assert!(victim.is_closed_by_server());
}

/// An idle session may get an error packet first.
fn is_sent_away(victim: &mut RawConn) {
    while victim.packet_of_any_order().is_ok() {}
    assert!(victim.is_closed_by_server());
}

fn until_they_wait(conn: &mut RawConn) {
    until("the hook waits", SOON, || {
        conn.value("DO they wait") == "yes"
    });
}

fn each_authorised_user_can_end_a_waiting_hook(product: Product) {
    for killer in KILLERS {
        let scripted = start(product);
        let mut killer = connect(&scripted, killer);
        let mut victim = connect(&scripted, "k_stray");
        victim.send_query("DO wait").unwrap();
        until_they_wait(&mut killer);
        killer.run(&format!("KILL QUERY {}", victim.id));
        is_interrupted(&mut victim);
        assert_eq!(killer.value("SELECT 8"), "8");
    }
}

/// Lets a session sleep on the server.
fn sleeper(scripted: &Scripted, product: Product, user: &str) -> RawConn {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let mine = format!("'sleeper {}'", LAST.fetch_add(1, Ordering::Relaxed));
    let mut victim = connect(scripted, user);
    victim
        .send_query(&format!(
            "SELECT {mine}, SLEEP(60) FROM (SELECT 1 UNION SELECT 2) AS two"
        ))
        .unwrap();
    let mut root = Server::shared(product).root();
    let ask = format!(
        "SELECT COUNT(*) FROM information_schema.processlist \
         WHERE state = 'User sleep' AND LOCATE(\"{mine}\", info)"
    );
    until("it sleeps", SOON, || root.value(&ask) == "1");
    victim
}

fn a_running_statement_is_killed_from_anywhere(product: Product) {
    let scripted = start(product);
    for killer in KILLERS {
        let mut victim = sleeper(&scripted, product, "k_stray");
        connect(&scripted, killer).run(&format!("kill query {}", victim.id));
        is_interrupted(&mut victim);
    }
}

fn a_session_is_ended_from_anywhere(product: Product) {
    let scripted = start(product);
    for killer in KILLERS {
        let mut victim = sleeper(&scripted, product, "k_stray");
        let mut killer = connect(&scripted, killer);
        killer.run(&format!("KILL {}", victim.id));
        has_ended(&mut victim);
        if product == Product::MariaDb {
            let mut victim = sleeper(&scripted, product, "k_stray");
            let id = victim.id.to_le_bytes();
            assert!(killer.command(command::PROCESS_KILL, &id).error().is_none());
            has_ended(&mut victim);
        }
        assert_eq!(killer.value("SELECT 8"), "8");
    }
    // The session kills itself.
    let mut conn = connect(&scripted, "k_stray");
    let id = conn.id;
    let _ = conn.try_query(&format!("KILL {id}"));
    assert!(
        conn.try_query("SELECT 1")
            .map_or(true, |it| it.error().is_some())
    );
}

fn a_session_that_shares_connections_is_killed_as_well(product: Product) {
    let scripted = start(product);
    let mut killer = connect(&scripted, "k_boss");
    let mut victim = connect(&scripted, "k_chief");
    victim.send_query("DO wait").unwrap();
    until_they_wait(&mut killer);
    killer.run(&format!("KILL QUERY {}", victim.id));
    is_interrupted(&mut victim);
    let mut victim = sleeper(&scripted, product, "k_chief");
    killer.run(&format!("KILL {}", victim.id));
    has_ended(&mut victim);
}

fn a_kill_without_the_privilege_gives_an_error(product: Product) {
    let scripted = start(product);
    let mut chief = connect(&scripted, "k_chief");
    let mut stray = connect(&scripted, "k_stray");
    let ids = [chief.id, stray.id];
    for id in ids {
        let refused = connect(&scripted, "k_other").query(&format!("KILL QUERY {id}"));
        let error = refused.error().unwrap();
        assert_eq!(error.code, 1095, "{error}");
    }
    let nobody = stray.query("KILL 2147483646");
    assert_eq!(nobody.error().unwrap().code, 1094);
    assert_eq!(chief.value("SELECT 7"), "7");
    assert_eq!(stray.value("SELECT 7"), "7");
}

/// The script has accepted the login without a backend.
fn a_kill_finds_a_session_without_a_backend(product: Product) {
    for killer in ["k_boss", "k_chief"] {
        let scripted = start(product);
        let mut killer = connect(&scripted, killer);
        let mut victim = connect(&scripted, "letin");
        victim.send_query("DO wait").unwrap();
        until_they_wait(&mut killer);
        let refused = connect(&scripted, "k_other").query(&format!("KILL {}", victim.id));
        assert_eq!(refused.error().unwrap().code, 1095);
        killer.run(&format!("KILL QUERY {}", victim.id));
        let reply = victim.reply(Shape::Results);
        assert_eq!(reply.error().unwrap().code, 1317);
        assert_eq!(victim.value("SELECT 7"), "there");
        killer.run(&format!("KILL {}", victim.id));
        is_sent_away(&mut victim);
    }
}

fn the_admin_port_kills_a_session_by_the_id_that_its_client_sees(product: Product) {
    let port = e2e::free_port();
    let server = Server::shared(product);
    let settings = Settings::pooled(server, 4).admin_on(port);
    drop(start(product));
    let scripted = Scripted::with(settings, &format!("{TELLS}{WAITS}"));
    let mut victim = connect(&scripted, "k_stray");
    let thread_id = victim.value("SELECT CONNECTION_ID()");
    let address = Address::from(std::net::SocketAddr::from(([127, 0, 0, 1], port)));
    let mut admin = RawConn::connect(&address, &Login::with("root", "all")).unwrap();
    let row = admin.run(&format!(
        "SELECT user, thread_id FROM sessions WHERE id = {}",
        victim.id
    ));
    assert_eq!(rows(&row), [format!("k_stray|{thread_id}")]);
    admin.run(&format!("KILL {}", victim.id));
    is_sent_away(&mut victim);
}
