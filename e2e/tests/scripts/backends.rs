//! The backends that a script chooses, and what the proxy tells the script about them.

use e2e::free_port;

use super::*;

/// Two primaries, of which the first is not there, and a replica that is.
fn three(product: Product) -> Settings {
    let server = Server::shared(product).tcp();
    Settings::default()
        .backend(format!("127.0.0.1:{}", free_port()))
        .backend(server)
        .backend_with(
            server.to_string().replace("127.0.0.1", "localhost"),
            &[("role", "\"replica\"")],
        )
}

const TELLS: &str = r#"
    function connect_server() see("connect_server") if CHOICE then proxy.connection.backend_ndx = CHOICE end end
    function read_query(packet)
        if is_asked(packet) then return seen() end
        for at = 1, #proxy.global.backends do
            local backend = proxy.global.backends[at]
            see(at, backend.type, backend.connected_clients, proxy.connection.backend_ndx == at)
        end
    end
"#;

fn with_choice(choice: &str) -> String {
    seeing(&format!("CHOICE = {choice}\n{TELLS}"))
}

both! {
    a_backend_that_is_down_is_left_for_the_next
    a_script_chooses_a_replica
    new_clients_get_the_backend_with_the_fewest_clients
    a_backend_that_a_script_marked_down_is_tried_again
}

/// The same server as two backends.
fn two(product: Product) -> Settings {
    let server = Server::shared(product).tcp();
    Settings::default()
        .backend(server)
        .backend(server.to_string().replace("127.0.0.1", "localhost"))
}

/// If the script chooses no backend: the one with the fewest clients, and the first of several.
fn new_clients_get_the_backend_with_the_fewest_clients(product: Product) {
    let scripted = Scripted::with(
        two(product),
        &seeing(
            r#"
            function read_auth_result(auth) if auth.packet:byte() == 0 then see(proxy.connection.backend_ndx) end end
            function read_query(packet) if is_asked(packet) then return seen() end end
            "#,
        ),
    );
    let mut clients: Vec<RawConn> = (0..4).map(|_| scripted.connect()).collect();
    assert_eq!(seen(&mut clients[0]), ["1", "2", "1", "2"]);
}

/// A backend that is DOWN, also if a script has set it so, is UNKNOWN again after four seconds, when a client comes.
fn a_backend_that_a_script_marked_down_is_tried_again(product: Product) {
    let scripted = Scripted::with(
        two(product),
        &seeing(
            r#"
            function connect_server() proxy.connection.backend_ndx = 1 end
            function read_auth_result(auth)
                if auth.packet:byte() == 0 then
                    see(proxy.connection.backend_ndx, proxy.global.backends[1].state, proxy.global.backends[2].state)
                end
            end
            function read_query(packet)
                if is_asked(packet) then return seen() end
                if packet == "\003DO down" then
                    proxy.global.backends[1].state = proxy.BACKEND_STATE_DOWN
                    see(proxy.global.backends[1].state)
                end
            end
            "#,
        ),
    );
    let mut first = scripted.connect();
    first.query("DO down");
    assert_eq!(seen(&mut first)[1], "2");
    let mut told = Vec::new();
    e2e::wait::until("the first backend is tried again", e2e::wait::SOON, || {
        drop(scripted.connect());
        told.extend(seen(&mut first));
        told.last().is_some_and(|line| line.starts_with("1 1 "))
    });
    // Until then all clients went to the other backend.
    let (_, before) = told.split_last().unwrap();
    assert!(
        before.iter().all(|line| line.starts_with("2 2 ")),
        "{told:?}"
    );
}

fn a_backend_that_is_down_is_left_for_the_next(product: Product) {
    let scripted = Scripted::with(three(product), &with_choice("nil"));
    scripted.proxy.wait_event("backend_up", &[]);
    let mut conn = scripted.connect();
    conn.run("SELECT 1");
    let lines = seen(&mut conn);
    let told = &lines[lines.len() - 3..];
    assert_eq!(told, ["1 1 0 false", "2 1 1 true", "3 2 0 false"]);
}

fn a_script_chooses_a_replica(product: Product) {
    let scripted = Scripted::with(three(product), &with_choice("3"));
    let mut conn = scripted.connect();
    conn.run("SELECT 1");
    let lines = seen(&mut conn);
    assert_eq!(lines.last().unwrap(), "3 2 1 true");
}

#[test]
fn a_script_that_chooses_an_unknown_backend_refuses_the_client() {
    let scripted = Scripted::with(three(Product::MariaDb), &with_choice("9"));
    let told = (1105, "(proxy) all backends are down".to_owned());
    assert_eq!(scripted.refusal(), told);
}

#[test]
fn a_scripts_notes_about_a_backend_are_kept() {
    let scripted = Scripted::start(
        Product::MariaDb,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                local backend = proxy.global.backends[1]
                see(backend.uuid, backend.state, backend.pool.max_idle_connections)
                backend.uuid, backend.state = "mine", proxy.BACKEND_STATE_DOWN
                backend.pool.max_idle_connections = 7
            end
            "#,
        ),
    );
    // A state that the proxy itself finds out replaces the script's note.
    scripted.proxy.wait_event("backend_up", &[]);
    let mut one = scripted.connect();
    one.run("SELECT 1");
    let mut two = one;
    two.run("SELECT 2");
    assert_eq!(seen(&mut two), ["nil 1 0", "mine 2 7"]);
}

#[test]
fn each_worker_can_have_its_own_interpreter() {
    let settings =
        Settings::in_front_of([Server::shared(Product::MariaDb)]).set("script.isolation", "worker");
    let scripted = Scripted::with_workers(
        settings,
        2,
        r#"
        proxy.global.clients = (proxy.global.clients or 0) + 1
        function read_query(packet)
            if packet:sub(2) ~= "SELECT clients" then return end
            proxy.response = {
                type = proxy.MYSQLD_PACKET_OK,
                resultset = { fields = { { name = "n", type = 3 } }, rows = { { proxy.global.clients } } },
            }
            return proxy.PROXY_SEND_RESULT
        end
        "#,
    );
    // A client goes to the worker with the fewest clients.
    let mut clients: Vec<_> = (0..4).map(|_| scripted.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.value("SELECT clients"), "2");
    }
}

#[test]
fn a_session_with_a_script_may_be_over_tls_and_compressed() {
    for product in [Product::MariaDb, Product::MySql] {
        let scripted = Scripted::start(
            product,
            r#"
            function read_query(packet)
                proxy.queries:append(1, packet, { resultset_is_needed = true })
                return proxy.PROXY_SEND_QUERY
            end
            "#,
        );
        for login in [
            Login::app().over_tls(),
            Login::app().compressed(false),
            Login::app().over_tls().compressed(false),
        ] {
            let mut conn = scripted.connect_as(&login);
            assert_eq!(conn.value("SELECT REPEAT('x', 100000) = 1"), "0");
            assert_eq!(conn.value("SELECT LENGTH(REPEAT('x', 100000))"), "100000");
        }
    }
}

#[test]
fn a_script_can_stop_the_proxy() {
    let mut scripted = Scripted::with(
        usual(Product::MariaDb).set("timeout_drain", "60s"),
        r#"
        function read_query(packet)
            if packet:sub(2) == "DO end" then require("chassis").set_shutdown() end
        end
        "#,
    );
    let mut conn = scripted.connect();
    conn.query("DO end");
    scripted.proxy.wait_event("script_stop", &[]);
    assert!(conn.is_closed_by_server());
    let ended = scripted.proxy.process().wait_ended(e2e::wait::SOON);
    assert!(ended.success());
}
