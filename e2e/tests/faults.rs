//! Faults: backends that are not servers, that stop in the middle of a reply, or that die; clients that send garbage or
//! disconnect. Each fault ends its own session only, is reported once, and its log line names the side.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use crate::data;
use e2e::raw::{Login, RawConn, ServerError, Shape, command};
use e2e::scripted::Dialogue;
use e2e::{PASSWORD, Product, Proxy, Scripted, Server, Settings, Signal, wait};

/// No backend could be reached; the text names each that was tried.
const CANNOT_CONNECT: u16 = 1429;
/// The backend was lost in the middle of a command.
const BACKEND_LOST: u16 = 1158;

fn in_front_of(server: &Scripted) -> Proxy {
    Proxy::start(&Settings::default().backend(server.tcp()))
}

fn refusal(proxy: &Proxy) -> ServerError {
    RawConn::connect(&proxy.address(), &Login::app())
        .unwrap_err()
        .refusal()
}

#[test]
fn the_error_names_a_backend_that_is_not_a_mysql_server() {
    type Script = fn(&mut Dialogue) -> std::io::Result<()>;
    let scripts: [(&str, Script); 8] = [
        ("an HTTP server", |dialogue| {
            dialogue.send_bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        }),
        ("closes at once", |_| Ok(())),
        ("says nothing", |dialogue| {
            dialogue.wait_closed();
            Ok(())
        }),
        ("half a header", |dialogue| dialogue.send_bytes(&[74, 0])),
        ("half a greeting", |dialogue| {
            dialogue.send_bytes(&[74, 0, 0, 0, 10, b'8', b'.'])
        }),
        ("an old protocol", |dialogue| {
            dialogue.send(b"\x093.20\0\x01\0\0\0abcdefgh\0")
        }),
        ("an empty packet", |dialogue| dialogue.send(b"")),
        ("zeros", |dialogue| dialogue.send_bytes(&[0; 1000])),
    ];
    for (what, script) in scripts {
        let server = Scripted::start(script);
        let settings = Settings::default().backend(server.tcp());
        let proxy = Proxy::start(&settings.set("health.timeout_connect", "500ms"));
        let refused = refusal(&proxy);
        assert_eq!(refused.code, CANNOT_CONNECT, "{what}: {refused}");
        let name = server.tcp().to_string();
        assert!(refused.text.contains(&name), "{what}: {refused}");
        proxy.wait_event("no_backend", &["side=backend"]);
    }
}

#[test]
fn if_all_backends_are_down_the_error_names_each_with_its_cause() {
    let (one, two) = (e2e::free_port(), e2e::free_port());
    let settings = Settings::default()
        .backend(format!("127.0.0.1:{one}"))
        .backend(format!("127.0.0.1:{two}"));
    let proxy = Proxy::start(&settings);
    // If one backend is already known to be down, the error of a new client may name the other backend only.
    wait::until("each is named", wait::SOON, || {
        let refused = refusal(&proxy);
        assert_eq!(refused.code, CANNOT_CONNECT);
        assert!(refused.text.contains("refused"), "{refused}");
        let is_named = |port: &u16| refused.text.contains(&format!("127.0.0.1:{port}"));
        [one, two].iter().all(is_named)
    });
}

/// A scripted server that accepts a login, and answers one query by this script.
fn answering(script: fn(&mut Dialogue) -> std::io::Result<()>) -> Scripted {
    Scripted::start(move |dialogue| {
        dialogue.welcome()?;
        dialogue.read()?;
        script(dialogue)
    })
}

/// Other sessions of the server are not affected, so the client only loses its connection, as without a proxy. The log
/// names the backend.
fn is_closed_by(server: &Scripted) {
    let proxy = in_front_of(server);
    let mut conn = proxy.connect();
    let reply = conn.try_query("SELECT 1");
    assert!(reply.is_err(), "the connection just ends");
    assert!(conn.is_closed_by_server());
    let name = server.tcp().to_string();
    proxy.wait_event("backend_lost", &["side=backend", &name]);
}

#[test]
fn a_server_that_closes_instead_of_answering_is_named_in_the_log() {
    is_closed_by(&answering(|_| Ok(())));
}

#[test]
fn a_server_that_closes_between_packets_of_a_reply_is_named_in_the_log() {
    is_closed_by(&answering(|dialogue| {
        dialogue.send_rows("n", &["1", "2", "3"])
    }));
}

#[test]
fn if_a_server_closes_within_a_packet_the_client_gets_no_error_packet() {
    let server = answering(|dialogue| {
        dialogue.send_rows("n", &["1", "2"])?;
        dialogue.send_bytes(&[100, 0, 0, dialogue.sequence, b'h', b'a', b'l', b'f'])
    });
    let proxy = in_front_of(&server);
    let mut conn = proxy.connect();
    assert!(conn.try_query("SELECT 1").is_err());
    proxy.wait_event("backend_lost", &["side=backend"]);
}

#[test]
fn packets_out_of_order_cause_no_wrong_result() {
    let server = answering(|dialogue| {
        dialogue.sequence = dialogue.sequence.wrapping_add(5);
        dialogue.send_ok()?;
        dialogue.wait_closed();
        Ok(())
    });
    let proxy = in_front_of(&server);
    let mut conn = proxy.connect();
    let reply = conn.try_query("SELECT 1");
    // The proxy either reports the error, or passes the wrong sequence id on, as a direct connection would.
    if let Ok(reply) = reply {
        assert_eq!(reply.error().expect("it failed").code, BACKEND_LOST);
        proxy.wait_event("backend_protocol", &["side=backend"]);
    }
}

#[test]
fn the_client_gets_an_error_that_the_server_sends_unprompted() {
    let server = Scripted::start(|dialogue| {
        dialogue.welcome()?;
        // A server sends this before it closes an idle session.
        dialogue.sequence = 0;
        dialogue.send_error(4031, "disconnected by the server because of inactivity")
    });
    let proxy = in_front_of(&server);
    let mut conn = proxy.connect();
    let error = match conn.packet_of_any_order() {
        Ok(payload) => String::from_utf8_lossy(&payload).into_owned(),
        Err(error) => panic!("the server's last words are lost: {error}"),
    };
    assert!(error.contains("because of inactivity"), "{error}");
    assert!(conn.is_closed_by_server());
}

#[test]
fn a_slow_server_is_waited_for() {
    let server = answering(|dialogue| {
        for byte in [1, 0, 0, 1, 1] {
            dialogue.send_bytes(&[byte])?;
            // The server is slow: that is what the test is about.
            std::thread::sleep(Duration::from_millis(50));
        }
        dialogue.sequence = 2;
        dialogue.send_rows_after_count("n", &["slow"])?;
        dialogue.send_end()?;
        dialogue.answer_with_ok()
    });
    let proxy = in_front_of(&server);
    assert_eq!(proxy.connect().value("SELECT 1"), "slow");
}

fn a_killed_server_is_named(product: Product) {
    let mut server = Server::lease(product);
    let proxy = Proxy::start(&Settings::in_front_of([&*server]));
    let mut busy = proxy.connect();
    let mut idle = proxy.connect();
    let mut middle = proxy.connect();
    busy.send_query("SELECT SLEEP(60)").unwrap();
    middle
        .send_query("SELECT REPEAT('x', 50000) UNION ALL SELECT SLEEP(60)")
        .unwrap();
    let mut root = server.root();
    let sleeping = "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'";
    wait::until("both sleep", wait::SOON, || root.value(sleeping) == "2");
    server.kill();
    let error = busy.reply(Shape::Results).error().unwrap().clone();
    assert_eq!(error.code, BACKEND_LOST);
    assert!(error.text.contains(&server.tcp().to_string()), "{error}");
    let reply = middle.try_reply(Shape::Results);
    assert!(reply.map_or(true, |reply| reply.error().is_some()));
    // Between commands, the proxy closes the connection with or without an error.
    assert!(
        idle.try_query("SELECT 1")
            .map_or(true, |reply| reply.error().is_some())
    );
    wait::until("new clients are told", wait::SOON, || {
        let refused = RawConn::connect(&proxy.address(), &Login::app())
            .unwrap_err()
            .refusal();
        refused.code == CANNOT_CONNECT
    });
    server.start_again();
    wait::until("it is up again", wait::SOON, || {
        RawConn::connect(&proxy.address(), &Login::app()).is_ok()
    });
}

#[test]
fn a_killed_mariadb_is_named_and_comes_back() {
    a_killed_server_is_named(Product::MariaDb);
}

#[test]
fn a_killed_mysql_is_named_and_comes_back() {
    a_killed_server_is_named(Product::MySql);
}

fn the_client_gets_the_shutdown_error_of_the_server(product: Product) {
    let mut server = Server::lease(product);
    let proxy = Proxy::start(&Settings::in_front_of([&*server]));
    let mut conn = proxy.connect();
    conn.send_query("SELECT SLEEP(60)").unwrap();
    let mut root = server.root();
    let sleeping = "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'";
    wait::until("it sleeps", wait::SOON, || root.value(sleeping) == "1");
    drop(root);
    server.shut_down();
    let reply = conn.try_reply(Shape::Results);
    // The reply is an error, a result of the interrupted sleep, or missing. Then the connection is closed.
    drop(reply);
    assert!(conn.is_closed_by_server());
}

#[test]
fn a_mariadb_that_shuts_down_ends_its_sessions() {
    the_client_gets_the_shutdown_error_of_the_server(Product::MariaDb);
}

#[test]
fn a_mysql_that_shuts_down_ends_its_sessions() {
    the_client_gets_the_shutdown_error_of_the_server(Product::MySql);
}

/// Waits until the backend has no session with this id.
fn gone(server: &Server, id: u32) {
    let mut root = server.root();
    let ask = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}");
    wait::until("the backend's session is gone", wait::SOON, || {
        root.value(&ask) == "0"
    });
}

#[test]
fn a_client_that_disconnects_in_a_big_result_leaves_no_running_statement() {
    for product in [Product::MariaDb, Product::MySql] {
        let server = Server::shared(product);
        server.root().run("CREATE DATABASE t_leaving");
        data::numbers(&mut server.connect("t_leaving"), "numbers", 1000);
        let proxy = Proxy::start(&Settings::in_front_of([server]));
        for tls in [false, true] {
            let mut login = Login::app().schema("t_leaving");
            login.tls = tls.then(Default::default);
            let mut conn = proxy.connect_as(&login);
            let id = conn.id;
            // The result has a hundred gigabytes.
            conn.send_query("SELECT REPEAT('x', 100000) FROM numbers AS a, numbers AS b")
                .unwrap();
            conn.packet().unwrap();
            for _ in 0..10 {
                conn.more().unwrap();
            }
            drop(conn);
            gone(server, id);
        }
        proxy.wait_event("client_left", &["side=client"]);
    }
}

/// The server would continue to sleep. The proxy needs an account that may kill sessions to end the statement.
#[test]
fn the_statement_of_a_client_that_disconnects_is_killed() {
    for product in [Product::MariaDb, Product::MySql] {
        let server = Server::shared(product);
        let settings = Settings::in_front_of([server])
            .set("health.monitor_user", "app")
            .set("health.monitor_password", PASSWORD);
        let proxy = Proxy::start(&settings);
        let mut conn = proxy.connect();
        let id = conn.id;
        conn.send_query("SELECT SLEEP(600)").unwrap();
        let mut root = server.root();
        let ask = format!("SELECT state FROM information_schema.processlist WHERE id = {id}");
        wait::until("it sleeps", wait::SOON, || root.value(&ask) == "User sleep");
        drop(conn);
        gone(server, id);
        proxy.wait_event("statement_killed", &[]);
    }
}

/// Sends bytes right after the connect. Returns the bytes that follow the greeting, up to the end of the connection.
fn after_greeting(proxy: &Proxy, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(proxy.tcp()).unwrap();
    stream.set_read_timeout(Some(wait::SOON)).unwrap();
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let mut greeting = vec![0; usize::from(header[0])];
    stream.read_exact(&mut greeting).unwrap();
    stream.write_all(bytes).unwrap();
    let _ = stream.shutdown(Shutdown::Write);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    rest
}

#[test]
fn clients_that_send_garbage_are_cut_off() {
    for product in [Product::MariaDb, Product::MySql] {
        let server = Server::shared(product);
        let proxy = Proxy::start(&Settings::in_front_of([server]));
        let mut other = proxy.connect();
        let garbage: [&[u8]; 8] = [
            b"GET / HTTP/1.1\r\nHost: db\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", // a TLS hello without asking
            &[0xFF; 100],
            &[0, 0, 0, 1],
            &[3, 0, 0, 1, 1, 2, 3],
            &[200, 0, 0, 1, 1],
            &[0xFF, 0xFF, 0xFF, 1, 0, 0, 0],
            b"",
        ];
        for bytes in garbage {
            let rest = after_greeting(&proxy, bytes);
            let text = rest.escape_ascii().to_string();
            assert!(
                rest.is_empty() || rest[4] == 0xFF,
                "an ERR or nothing: {text}"
            );
            other.run("SELECT 'not disturbed'");
        }
        proxy.wait_event("login_malformed", &["side=client"]);
        wait::until("each is told of once", wait::SOON, || {
            proxy.log().matches("side=client").count() == garbage.len()
        });
    }
}

#[test]
fn a_command_out_of_order_ends_its_session() {
    let proxy = Proxy::start(&Settings::in_front_of([Server::shared(Product::MySql)]));
    let mut other = proxy.connect();
    let mut conn = proxy.connect();
    conn.write_bytes(&[5, 0, 0, 7, command::QUERY, b'D', b'O', b' ', b'1'])
        .unwrap();
    let mut answer = String::new();
    if let Ok(payload) = conn.packet_of_any_order() {
        answer = String::from_utf8_lossy(&payload).into_owned();
    }
    assert!(
        answer.is_empty() || answer.contains("out of order"),
        "{answer}"
    );
    assert!(conn.is_closed_by_server());
    other.run("SELECT 1");
}

#[test]
fn an_incomplete_command_is_not_executed() {
    let server = Server::shared(Product::MariaDb);
    let proxy = Proxy::start(&Settings::in_front_of([server]));
    let mut conn = proxy.connect();
    let id = conn.id;
    conn.run("DO 1");
    conn.write_bytes(&[50, 0, 0, 0, command::QUERY, b'S', b'E', b'L'])
        .unwrap();
    drop(conn);
    gone(server, id);
    proxy.wait_logged(&["side=client", "kind="]);
}

#[test]
fn new_sessions_go_to_another_backend_if_one_does_not_answer() {
    let hanging = Server::start(Product::MariaDb, &[]);
    let healthy = Server::shared(Product::MariaDb);
    let settings = Settings::in_front_of([&hanging, healthy])
        .set("balance.policy", "ordered")
        .set("health.timeout_connect", "3s");
    let proxy = Proxy::start(&settings);
    let port = |conn: &mut RawConn| conn.value("SELECT @@port");
    assert_eq!(port(&mut proxy.connect()), hanging.port().to_string());
    hanging.process().signal(Signal::STOP);
    // The system still accepts connections for the stopped server, but the server does not send its greeting.
    assert_eq!(port(&mut proxy.connect()), healthy.port().to_string());
    proxy.wait_event("backend_down", &[&hanging.port().to_string()]);
    hanging.process().signal(Signal::CONT);
    wait::until("it is used again", wait::SOON, || {
        port(&mut proxy.connect()) == hanging.port().to_string()
    });
}

#[test]
fn a_statement_on_a_stopped_server_gets_an_error_that_names_it() {
    let hanging = Server::start(Product::MariaDb, &[]);
    let settings = Settings::in_front_of([&hanging])
        .set("health.timeout_down", "1s")
        .set("health.timeout_connect", "3s");
    let proxy = Proxy::start(&settings);
    let mut waiting = proxy.connect();
    let mut idle = proxy.connect();
    waiting.run("DO 1");
    idle.run("DO 1");
    hanging.process().signal(Signal::STOP);
    // With this login, the proxy notices that the server hangs.
    assert!(RawConn::connect(&proxy.address(), &Login::user("app")).is_err());
    let reply = waiting.command(command::QUERY, b"DO 2");
    let error = reply.error().expect("no reply but this");
    assert_eq!(error.code, 1158, "{}", error.text);
    assert!(
        error.text.contains(&hanging.port().to_string()),
        "{}",
        error.text
    );
    hanging.process().signal(Signal::CONT);
    proxy.wait_event("backend_up_again", &[&hanging.port().to_string()]);
    // A session without a statement in flight is not affected.
    idle.run("DO 3");
}

#[test]
fn passwords_are_never_logged() {
    let server = Server::shared(Product::MySql);
    let settings = Settings::in_front_of([server]).set("log.level", "trace");
    let proxy = Proxy::start(&settings);
    let users = ["app", "sha2", "sha256", "cleartext"];
    for user in users {
        let mut login = Login::user(user).over_tls();
        proxy.connect_as(&login).run("SELECT 1");
        login.passwords = vec!["another s3cret".into()];
        assert!(RawConn::connect(&proxy.address(), &login).is_err());
    }
    wait::until("each end is logged", wait::SOON, || {
        ["session_ended", "login_refused"]
            .iter()
            .all(|kind| proxy.count_events(kind) >= users.len())
    });
    let log = proxy.log();
    assert!(log.contains("app"), "the log has something: {log}");
    assert!(!log.contains("s3cret"), "{log}");
}
