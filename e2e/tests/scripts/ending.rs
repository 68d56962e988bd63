//! Events that end a waiting hook, and events that do not.

use std::sync::Mutex;

use e2e::PASSWORD;
use e2e::raw::Address;
use e2e::scripted::{Dialogue, Scripted as Backend};
use e2e::wait::{SOON, until};

use super::waiting::TELLS;
use super::*;

in_both_ways! {
    kill_query_ends_the_command_whose_hook_waits
    kill_ends_the_session_whose_hook_waits
    kill_query_ends_the_command_whose_hook_asks
    the_admin_port_ends_a_hook_that_waits
    a_result_hook_that_is_killed_sends_no_result
    a_session_whose_hook_waits_is_not_idle
    a_reply_is_sent_before_the_next_commands_hook_waits
}

both! {
    kill_query_ends_a_scripts_query_on_another_connection
    script_timeout_query_ends_a_scripts_statement_on_shared_connections
    script_timeout_query_ends_a_statement_on_the_sessions_own_connection
    a_session_that_sends_a_file_can_be_killed
}

const WAITS: &str = r#"
    -- Where it is killed it is an error, on MySQL as well.
    local SLEEPS = "SELECT SLEEP(3600) FROM (SELECT 1 UNION SELECT 2) AS two"
    function read_query(packet)
        local text = packet:sub(2)
        if text == "DO wait" then
            proxy.global.waits = true
            pilotfish.sleep(3600)
            return tell("went on")
        elseif text == "DO doze" then
            pilotfish.sleep(9)
            return tell("awake")
        elseif text == "DO ask" then
            pilotfish.query(nil, SLEEPS)
            return tell("went on")
        elseif text == "DO ask elsewhere" then
            pilotfish.query({ role = "any" }, SLEEPS)
            return tell("went on")
        elseif text == "DO name" then
            local result, cause, number = pilotfish.query(nil, SLEEPS)
            return tell(result and "slept" or number)
        elseif text == "DO name elsewhere" then
            local result, cause, number = pilotfish.query({ role = "any" }, SLEEPS)
            return tell(result and "slept" or number)
        elseif text == "SELECT 'judged'" then
            proxy.queries:append(1, packet, { resultset_is_needed = true })
            return proxy.PROXY_SEND_QUERY
        elseif text == "DO they wait" then
            return tell(proxy.global.waits and "yes" or "no")
        end
    end
    function read_query_result(inj)
        proxy.global.waits = true
        pilotfish.sleep(3600)
    end
"#;

fn script() -> String {
    format!("{TELLS}{WAITS}")
}

/// A client whose command's hook waits, and another client.
fn waiting(scripted: &Scripted, command: &str) -> (RawConn, RawConn) {
    let mut victim = scripted.connect();
    let mut other = scripted.connect();
    victim.send_query(command).unwrap();
    until("the hook waits", SOON, || {
        other.value("DO they wait") == "yes"
    });
    (victim, other)
}

#[track_caller]
fn is_interrupted(victim: &mut RawConn) {
    let reply = victim.reply(Shape::Results);
    let error = reply.error().unwrap();
    assert_eq!(error.code, 1317);
    assert_eq!(victim.value("SELECT 7"), "7");
}

fn kill_query_ends_the_command_whose_hook_waits(product: Product) {
    let scripted = Scripted::start(product, &script());
    let (mut victim, mut other) = waiting(&scripted, "DO wait");
    other.run(&format!("KILL QUERY {}", victim.id));
    is_interrupted(&mut victim);
    // Nothing is left of the killed command.
    other.run(&format!("KILL QUERY {}", victim.id));
    assert_eq!(victim.value("DO they wait"), "yes");
}

fn kill_ends_the_session_whose_hook_waits(product: Product) {
    let scripted = Scripted::start(product, &script());
    let (mut victim, mut other) = waiting(&scripted, "DO wait");
    other.run(&format!("KILL {}", victim.id));
    let reply = victim.try_reply(Shape::Results);
    assert!(reply.map_or(true, |reply| reply.error().is_some()));
    assert!(victim.is_closed_by_server());
    assert_eq!(other.value("SELECT 7"), "7");
}

/// Waits until this many statements of the account sleep on the server.
fn until_asleep(product: Product, user: &str, count: usize) {
    let mut root = Server::shared(product).root();
    let ask = format!(
        "SELECT COUNT(*) FROM information_schema.processlist \
         WHERE user = '{user}' AND state = 'User sleep'"
    );
    until("they sleep", SOON, || root.value(&ask) == count.to_string());
}

/// An account for this test only, because statements of other tests sleep as well.
fn own_account(product: Product, user: &str) -> Login {
    let mut root = Server::shared(product).root();
    root.run(&format!("DROP USER IF EXISTS {user}"));
    root.run(&format!("CREATE USER {user} IDENTIFIED BY '{PASSWORD}'"));
    Login::with(user, PASSWORD)
}

fn user_of(name: &str) -> String {
    let way = if TAKES_TURNS.get() { "_p" } else { "" };
    format!("s_{name}{way}")
}

fn settings_for(product: Product, user: &str) -> Settings {
    match TAKES_TURNS.get() {
        true => usual(product).account(user, PASSWORD),
        false => usual(product),
    }
}

fn kill_query_ends_the_command_whose_hook_asks(product: Product) {
    let user = user_of("asks");
    let login = own_account(product, &user);
    let scripted = Scripted::with(settings_for(product, &user), &script());
    let mut victim = scripted.connect_as(&login);
    victim.send_query("DO ask").unwrap();
    until_asleep(product, &user, 1);
    let mut other = scripted.connect_as(&login);
    other.run(&format!("KILL QUERY {}", victim.id));
    is_interrupted(&mut victim);
    until_asleep(product, &user, 0);
}

fn kill_query_ends_a_scripts_query_on_another_connection(product: Product) {
    take_turns();
    let user = user_of("elsewhere");
    let login = own_account(product, &user);
    let scripted = Scripted::with(settings_for(product, &user), &script());
    let mut victim = scripted.connect_as(&login);
    victim.send_query("DO ask elsewhere").unwrap();
    until_asleep(product, &user, 1);
    let mut other = scripted.connect_as(&login);
    other.run(&format!("KILL QUERY {}", victim.id));
    is_interrupted(&mut victim);
    until_asleep(product, &user, 0);
}

fn the_admin_port_ends_a_hook_that_waits(product: Product) {
    let port = e2e::free_port();
    let scripted = Scripted::with(usual(product).admin_on(port), &script());
    let (mut victim, _other) = waiting(&scripted, "DO wait");
    let address = Address::from(std::net::SocketAddr::from(([127, 0, 0, 1], port)));
    let mut admin = RawConn::connect(&address, &Login::with("root", "all")).unwrap();
    let id = admin.value("SELECT MIN(id) FROM sessions");
    admin.run(&format!("KILL QUERY {id}"));
    is_interrupted(&mut victim);
}

fn a_result_hook_that_is_killed_sends_no_result(product: Product) {
    let scripted = Scripted::start(product, &script());
    let (mut victim, mut other) = waiting(&scripted, "SELECT 'judged'");
    other.run(&format!("KILL QUERY {}", victim.id));
    is_interrupted(&mut victim);
}

fn a_session_whose_hook_waits_is_not_idle(product: Product) {
    let settings = usual(product).set("limits.timeout_idle", "6s");
    let scripted = Scripted::with(settings, &script());
    let _idle = scripted.connect();
    let mut conn = scripted.connect();
    assert_eq!(conn.value("DO doze"), "awake");
    assert_eq!(conn.value("SELECT 7"), "7");
    // A session without a command is idle.
    scripted.proxy.wait_event("idle_timeout", &[]);
}

fn a_reply_is_sent_before_the_next_commands_hook_waits(product: Product) {
    let scripted = Scripted::start(product, &script());
    let mut conn = scripted.connect();
    // Both commands are sent in one write, so that they arrive together.
    let mut bytes = Vec::new();
    for text in ["DO they wait", "DO wait"] {
        let mut payload = vec![command::QUERY];
        if conn.can(capability::QUERY_ATTRIBUTES) {
            payload.extend([0, 1]);
        }
        payload.extend(text.as_bytes());
        bytes.extend([u8::try_from(payload.len()).unwrap(), 0, 0, 0]);
        bytes.extend(payload);
    }
    conn.write_bytes(&bytes).unwrap();
    while conn.packet_of_any_order().unwrap() != b"\x02no" {}
}

fn script_timeout_query_ends_a_scripts_statement_on_shared_connections(product: Product) {
    take_turns();
    let settings = usual(product).set("script.timeout_query", "1s");
    let scripted = Scripted::with(settings, &script());
    let mut conn = scripted.connect();
    for _ in 0..2 {
        assert_eq!(conn.value("DO name"), "1317");
        assert_eq!(conn.value("DO name elsewhere"), "1317");
    }
    assert_eq!(conn.value("SELECT 7"), "7");
}

fn script_timeout_query_ends_a_statement_on_the_sessions_own_connection(product: Product) {
    let settings = usual(product).set("script.timeout_query", "1s");
    let monitored = settings
        .clone()
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD);
    let scripted = Scripted::with(monitored, &script());
    let mut conn = scripted.connect();
    assert_eq!(conn.value("DO name"), "1317");
    assert_eq!(conn.value("SELECT 7"), "7");
    // Without a monitor account, the proxy cannot kill the statement.
    let scripted = Scripted::with(settings, &script());
    let mut conn = scripted.connect();
    let told = conn.query("DO name");
    let error = told.error().unwrap();
    assert!(
        error.text.contains("script.timeout_query"),
        "{}",
        error.text
    );
    assert!(conn.is_closed_by_server());
}

/// The statement ends by itself while its kill is on its way. The session ends, lest the kill hits the next one.
#[test]
fn a_kill_that_comes_late_ends_the_session() {
    let (kill, killed) = std::sync::mpsc::channel();
    let (kill, killed) = (Mutex::new(kill), Mutex::new(killed));
    let backend = Backend::start(move |dialogue: &mut Dialogue| {
        dialogue.welcome()?;
        loop {
            let command = dialogue.read()?;
            if command == b"\x03KILL QUERY 7" {
                kill.lock().unwrap().send(()).unwrap();
            }
            if command == b"\x03DO name" {
                // The statement ends before the kill arrives.
                killed.lock().unwrap().recv().unwrap();
            }
            if command == [1] {
                return Ok(());
            }
            dialogue.send_ok()?;
        }
    });
    let settings = Settings::default()
        .backend(backend.tcp())
        .set("script.timeout_query", "1s")
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD);
    let scripted = Scripted::with(
        settings,
        r#"
        function read_query(packet)
            if packet == "\003DO name" then pilotfish.query(nil, "DO name") end
        end
        "#,
    );
    let mut conn = scripted.connect();
    assert!(conn.query("DO something").error().is_none());
    let reply = conn.query("DO name");
    let text = &reply.error().unwrap().text;
    assert!(text.contains("script.timeout_query"), "{text}");
    assert!(conn.is_closed_by_server());
}

fn a_session_that_sends_a_file_can_be_killed(product: Product) {
    let script = r#"
        function read_query(packet)
            proxy.queries:append(1, packet, { resultset_is_needed = true })
            return proxy.PROXY_SEND_QUERY
        end
    "#;
    let server = Server::shared(product);
    let schema = "t_scripted_kill_file";
    let mut root = server.root();
    root.run(&format!("CREATE DATABASE IF NOT EXISTS {schema}"));
    root.run(&format!("CREATE TABLE IF NOT EXISTS {schema}.t (a INT)"));
    let port = e2e::free_port();
    for settings in [Settings::in_front_of([server]), Settings::pooled(server, 4)] {
        let scripted = Scripted::with(settings.admin_on(port), script);
        let address = Address::from(std::net::SocketAddr::from(([127, 0, 0, 1], port)));
        let mut admin = RawConn::connect(&address, &Login::with("root", "all")).unwrap();
        let login = Login::app().schema(schema).and(capability::LOCAL_FILES);
        let mut conn = scripted.connect_as(&login);
        conn.send_query("LOAD DATA LOCAL INFILE 'x' INTO TABLE t")
            .unwrap();
        let request = conn.packet().unwrap();
        assert_eq!(request.first(), Some(&0xfb), "{request:?}");
        conn.send_on(b"1\n2\n");
        let id = admin.value("SELECT id FROM sessions");
        admin.run(&format!("KILL {id}"));
        let _ = conn.packet_of_any_order();
        assert!(conn.is_closed_by_server());
        let mut other = scripted.connect_as(&login);
        assert_eq!(other.value("SELECT COUNT(*) FROM t"), "0");
    }
}
