//! Connections that scripts park and take.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A script that takes connections from the pool, and parks them after logins and replies.
pub(super) const POOLED: &str = r#"
    local function idle() return proxy.global.backends[1].pool.users[proxy.connection.client.username].cur_idle_connections end
    function connect_server()
        if proxy.global.backends[1].pool.users[""].cur_idle_connections > 0 then
            proxy.connection.backend_ndx = 1
            return proxy.PROXY_IGNORE_RESULT
        end
    end
    function read_auth_result(auth)
        if auth.packet:byte() == proxy.MYSQLD_PACKET_OK then proxy.connection.backend_ndx = 0 end
    end
    function read_query_result() proxy.connection.backend_ndx = 0 end
"#;

/// A script that parks its connection after each command, and takes one for each.
const KEEPER: &str = r#"
    function read_query(packet)
        if is_asked(packet) then return seen() end
        if packet:byte() == proxy.COM_QUIT then
            proxy.response = { type = proxy.MYSQLD_PACKET_OK }
            return proxy.PROXY_SEND_RESULT
        end
        if packet:sub(2) == "DO idle" then
            see(idle(), proxy.global.backends[1].connected_clients)
            return seen()
        end
        proxy.connection.backend_ndx = 1
        proxy.queries:append(1, packet, { resultset_is_needed = true })
        return proxy.PROXY_SEND_QUERY
    end
    function disconnect_client() proxy.connection.backend_ndx = 0 end
"#;

both! { connections_are_parked_and_taken a_taken_connection_has_no_state_of_earlier_sessions a_killed_parked_connection_leaves_the_pool }

fn connections_are_parked_and_taken(product: Product) {
    let scripted = Scripted::start(product, &seeing(&[POOLED, KEEPER].concat()));
    let mut first = scripted.connect();
    let id = first.value("SELECT CONNECTION_ID()");
    assert_eq!(rows(&first.run("DO idle")), ["1 0"]);
    // The second client logs in over the first one's connection.
    let mut second = scripted.connect();
    assert_eq!(second.value("SELECT CONNECTION_ID()"), id);
    assert_eq!(first.value("SELECT CONNECTION_ID()"), id);
    assert_eq!(rows(&second.run("DO idle")), ["1 0"]);
    first.quit();
    assert_eq!(second.value("SELECT CONNECTION_ID()"), id);
}

fn a_taken_connection_has_no_state_of_earlier_sessions(product: Product) {
    let scripted = Scripted::start(product, &seeing(&[POOLED, KEEPER].concat()));
    let mut first = scripted.connect();
    let mut second = scripted.connect();
    first.run("SET @mine = 'secret'");
    assert_eq!(second.run("SELECT @mine").text(0, 0), None);
    // The first client's own variables are gone as well, because each take resets the connection.
    assert_eq!(first.run("SELECT @mine").text(0, 0), None);
}

fn a_killed_parked_connection_leaves_the_pool(product: Product) {
    let scripted = Scripted::start(product, &seeing(&[POOLED, KEEPER].concat()));
    let mut conn = scripted.connect();
    let id = conn.value("SELECT CONNECTION_ID()");
    Server::shared(product).root().run(&format!("KILL {id}"));
    e2e::wait::until("the pool is empty", e2e::wait::SOON, || {
        rows(&conn.run("DO idle")) == ["0 0"]
    });
}

#[test]
fn another_accounts_connection_is_never_taken() {
    let product = Product::MariaDb;
    let mut root = Server::shared(product).root();
    root.run("CREATE OR REPLACE USER scripted_other IDENTIFIED BY 'pw'");
    let scripted = Scripted::start(
        product,
        r#"
        function read_auth_result(auth)
            local is_app = proxy.connection.client.username == "app"
            if is_app and auth.packet:byte() == proxy.MYSQLD_PACKET_OK then proxy.connection.backend_ndx = 0 end
        end
        function read_query(packet)
            proxy.connection.backend_ndx = 1
            if proxy.connection.client.username == "app" then return end
            proxy.queries:append(1, packet)
            return proxy.PROXY_SEND_QUERY
        end
        "#,
    );
    let _app = scripted.connect();
    let mut other = scripted.connect_as(&Login::with("scripted_other", "pw"));
    let user = other.value("SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)");
    assert_eq!(user, "scripted_other");
}

/// A script that takes an idle connection if there is one, and parks it when the client quits.
const PARKS: &str = r#"
    function connect_server()
        proxy.global.backends[1].pool.max_idle_connections = 1
        proxy.connection.backend_ndx = 1
        if proxy.connection.server then return proxy.PROXY_IGNORE_RESULT end
    end
    function read_query(packet)
        if is_asked(packet) then return seen() end
        if packet:byte() == proxy.COM_QUIT then
            proxy.response = { type = proxy.MYSQLD_PACKET_OK }
            return proxy.PROXY_SEND_RESULT
        end
    end
    function disconnect_client()
        proxy.connection.backend_ndx = 0
        see("left")
    end
"#;

both! { two_workers_have_pools_of_their_own }

fn two_workers_have_pools_of_their_own(product: Product) {
    let server = Server::shared(product);
    let mut root = server.root();
    let user = "scripted_pools";
    root.run(&format!("DROP USER IF EXISTS {user}"));
    root.run(&format!("CREATE USER {user} IDENTIFIED BY 'pw'"));
    let settings = Settings::in_front_of([server]);
    let scripted = Scripted::with_workers(settings, 2, &seeing(PARKS));
    let login = Login::with(user, "pw");
    let mut other = scripted.connect();
    let clients: Vec<RawConn> = (0..6).map(|_| scripted.connect_as(&login)).collect();
    for client in clients {
        client.quit();
    }
    let mut left = 0;
    e2e::wait::until("all have left", e2e::wait::SOON, || {
        left += seen(&mut other).len();
        left == 6
    });
    // Each worker has one connection left. A worker closes its own surplus connections only.
    let count =
        format!("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{user}'");
    e2e::wait::until("one is kept for each", e2e::wait::SOON, || {
        root.value(&count) == "2"
    });
    let mut again: Vec<RawConn> = (0..2).map(|_| scripted.connect_as(&login)).collect();
    for client in &mut again {
        assert_eq!(client.value("SELECT 7"), "7");
    }
    assert_eq!(root.value(&count), "2");
}

/// The script does what MySQL Proxy's ro-pooling does: logins fill each backend's pool and park, each statement
/// takes a connection and parks it again, COM_QUIT is not forwarded. Statements go to the backends with idle
/// connections in turn.
const RO_POOLING: &str = r#"
    local MIN, MAX = 2, 4
    local function next_idle(user)
        local count, last = #proxy.global.backends, proxy.global.last or 0
        for step = 1, count do
            local i = (last + step - 1) % count + 1
            local backend = proxy.global.backends[i]
            if backend.state ~= proxy.BACKEND_STATE_DOWN and backend.pool.users[user].cur_idle_connections > 0 then
                proxy.global.last = i
                return i
            end
        end
        return 0
    end
    function connect_server()
        for i = 1, #proxy.global.backends do
            if proxy.global.backends[i].pool.users[""].cur_idle_connections < MIN then
                proxy.connection.backend_ndx = i
                return
            end
        end
        proxy.connection.backend_ndx = next_idle("")
        return proxy.PROXY_IGNORE_RESULT
    end
    function read_auth_result(auth)
        if auth.packet:byte() == proxy.MYSQLD_PACKET_OK then proxy.connection.backend_ndx = 0 end
    end
    function read_query(packet)
        if packet:byte() == proxy.COM_QUIT then
            proxy.response = { type = proxy.MYSQLD_PACKET_OK }
            return proxy.PROXY_SEND_RESULT
        end
        proxy.connection.backend_ndx = next_idle(proxy.connection.client.username)
        local wanted = proxy.connection.client.default_db
        if wanted ~= proxy.connection.server.default_db then
            proxy.queries:append(2, string.char(proxy.COM_INIT_DB) .. wanted, { resultset_is_needed = true })
        end
        proxy.queries:append(1, packet, { resultset_is_needed = true })
        return proxy.PROXY_SEND_QUERY
    end
    function read_query_result(inj)
        if inj.id ~= 1 then return proxy.PROXY_IGNORE_RESULT end
        proxy.connection.backend_ndx = 0
    end
    function disconnect_client()
        if proxy.connection.backend_ndx > 0 then return end
        for i = 1, #proxy.global.backends do
            local idle = proxy.global.backends[i].pool.users[proxy.connection.client.username].cur_idle_connections
            if idle > MAX then
                proxy.connection.backend_ndx = i
                return
            end
        end
    end
"#;

const SCHEMAS: [&str; 4] = ["first", "second", "third", "again"];

/// The schema that a login or a command names.
fn schema_in(payload: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(payload).into_owned();
    SCHEMAS.into_iter().find(|schema| text.contains(schema))
}

/// A server that answers a SELECT with its own name, the schema and the text, and the number of logins to it.
fn naming(name: &'static str) -> (e2e::Scripted, Arc<AtomicUsize>) {
    let logins = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&logins);
    let server = e2e::Scripted::start(move |dialogue| {
        let capabilities = capability::USUAL | capability::CONNECT_WITH_DB | 1;
        dialogue.greet_with("mysql_native_password", capabilities)?;
        let mut schema = schema_in(&dialogue.read()?).unwrap_or_default();
        // Probes name no schema.
        count.fetch_add(usize::from(!schema.is_empty()), Ordering::Relaxed);
        dialogue.send_ok()?;
        loop {
            let command = dialogue.read()?;
            let text = String::from_utf8_lossy(&command).into_owned();
            match (command.first(), text.find("SELECT ")) {
                (Some(1), _) => return Ok(()),
                (Some(3), Some(at)) => {
                    dialogue.send_rows("said", &[&format!("{name} {schema} {}", &text[at..])])?;
                    dialogue.send_end()?;
                }
                // COM_INIT_DB, COM_CHANGE_USER.
                (Some(2 | 17), _) => {
                    schema = schema_in(&command).unwrap_or_default();
                    dialogue.send_ok()?;
                }
                _ => dialogue.send_ok()?,
            }
        }
    });
    (server, logins)
}

/// The scripted servers give the same thread id to all of their connections.
#[test]
fn servers_that_name_one_thread_id_are_pooled() {
    let ((one, at_one), (other, at_other)) = (naming("one"), naming("other"));
    let settings = Settings::default().backend(one.tcp()).backend(other.tcp());
    let scripted = Scripted::with(settings, RO_POOLING);
    let mut clients: Vec<RawConn> = (0..9)
        .map(|at| scripted.connect_as(&Login::app().schema(SCHEMAS[at % 3])))
        .collect();
    let mut served = BTreeSet::new();
    for round in 0..3 {
        for (at, client) in clients.iter_mut().enumerate() {
            let text = format!("SELECT {round}.{at}");
            let said = client.value(&text);
            let words: Vec<&str> = said.splitn(3, ' ').collect();
            assert_eq!(words[1..], [SCHEMAS[at % 3], &text]);
            served.insert(words[0].to_owned());
        }
    }
    assert_eq!(served.len(), 2, "{served:?}");
    clients.into_iter().for_each(RawConn::quit);
    let mut again = scripted.connect_as(&Login::app().schema(SCHEMAS[3]));
    let said = again.value("SELECT 1");
    assert!(said.ends_with(" again SELECT 1"), "{said}");
    let logins = [at_one, at_other].map(|logins| logins.load(Ordering::Relaxed));
    assert_eq!(logins, [2, 2], "as many as the script keeps at least");
}
