//! Backends that do not exist, and backends that scripts have marked as down.

use e2e::raw::Execute;
use e2e::wait::{SOON, until};

use super::sharing::{CHOOSES, WHO, cluster, on, pooled};
use super::*;

in_both_ways! { a_session_that_begins_without_a_backend_is_refused }

both! {
    a_pooled_statement_for_an_unknown_backend_is_refused
    a_pooled_session_keeps_the_backend_of_read_auth_result_not_of_connect_server
    an_unknown_backend_number_keeps_the_connection
    a_backend_that_a_script_marked_down_gets_no_statement
    a_transaction_stays_on_a_backend_that_a_script_marks_down
    statements_are_refused_if_all_backends_are_down
}

const NOWHERE: &str = "(proxy) all backends are down";

/// `DO 2 down`, `DO 2 up` set a backend's state, `DO 2 state` tells it.
const SETS: &str = r#"
    local choose = read_query
    function read_query(packet)
        local index, word = packet:match("^\003DO (%d) (%a+)$")
        if not index then return choose(packet) end
        local backend = proxy.global.backends[tonumber(index)]
        if word == "down" then backend.state = proxy.BACKEND_STATE_DOWN end
        if word == "up" then backend.state = proxy.BACKEND_STATE_UP end
        proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = backend.state, errcode = 4000 }
        return proxy.PROXY_SEND_RESULT
    end
"#;

fn a_session_that_begins_without_a_backend_is_refused(product: Product) {
    let script = "function connect_server() proxy.connection.backend_ndx = 9 end";
    let scripted = Scripted::start(product, script);
    assert_eq!(scripted.refusal(), (1105, NOWHERE.to_owned()));
}

fn a_pooled_statement_for_an_unknown_backend_is_refused(product: Product) {
    let settings = Settings::pooled(Server::shared(product), 4);
    let scripted = Scripted::with(settings, CHOOSES);
    let mut conn = scripted.connect();
    is_refused(&mut conn, &on(9, "SELECT 7"));
    // The error stays until the script chooses another backend.
    is_refused(&mut conn, "SELECT 7");
    assert_eq!(conn.value(&on(1, "SELECT 7")), "7");
    // A session that holds a connection stays on it.
    conn.run("BEGIN");
    assert_eq!(conn.value(&on(9, "SELECT 7")), "7");
    conn.run("COMMIT");
    is_refused(&mut conn, "SELECT 7");
    assert_eq!(conn.value(&on(0, "SELECT 7")), "7");
}

fn a_pooled_session_keeps_the_backend_of_read_auth_result_not_of_connect_server(product: Product) {
    let cluster = cluster(product);
    let chosen = |hook: &str| {
        let script = format!("function {hook}() proxy.connection.backend_ndx = 2 end");
        let scripted = Scripted::with(pooled(&cluster), &script);
        let mut conn = scripted.connect_as(&Login::app().schema("d"));
        conn.run("BEGIN");
        conn.value(WHO)
    };
    assert_eq!(chosen("connect_server"), "primary");
    assert_eq!(chosen("read_auth_result"), "replica1");
}

#[track_caller]
fn is_refused(conn: &mut RawConn, statement: &str) {
    let error = conn.query(statement).error().unwrap().clone();
    assert_eq!((error.code, &*error.text), (1105, NOWHERE), "{statement}");
}

fn an_unknown_backend_number_keeps_the_connection(product: Product) {
    let settings = Settings::in_front_of([Server::shared(product)]);
    let scripted = Scripted::with(settings, CHOOSES);
    let mut conn = scripted.connect();
    let id = conn.value("SELECT CONNECTION_ID()");
    assert_eq!(conn.value(&on(9, "SELECT CONNECTION_ID()")), id);
}

/// Two sessions of a cluster whose backends are known to be up.
fn start(product: Product) -> (e2e::Leased, Scripted, [RawConn; 2]) {
    let cluster = cluster(product);
    let scripted = Scripted::with(pooled(&cluster), &[CHOOSES, SETS].concat());
    let login = Login::app().schema("d");
    let mut conns = [(); 2].map(|()| scripted.connect_as(&login));
    for index in 1..=3 {
        until("it is up", SOON, || state(&mut conns[0], index) == "1");
    }
    (cluster, scripted, conns)
}

fn state(conn: &mut RawConn, index: usize) -> String {
    set(conn, index, "state")
}

fn set(conn: &mut RawConn, index: usize, word: &str) -> String {
    let reply = conn.query(&format!("DO {index} {word}"));
    reply.error().unwrap().text.clone()
}

fn a_backend_that_a_script_marked_down_gets_no_statement(product: Product) {
    let (_cluster, _scripted, [mut conn, mut other]) = start(product);
    let id = other.prepare(WHO).statement();
    assert_eq!(conn.value(&on(2, WHO)), "replica1");
    assert_eq!(set(&mut other, 2, "down"), "2");
    for _ in 0..5 {
        // The script's choice is ignored, and the proxy does not choose this backend itself.
        assert_ne!(conn.value(WHO), "replica1");
        assert_ne!(conn.value(&on(2, WHO)), "replica1");
        assert_ne!(other.value(WHO), "replica1");
        let reply = other.execute(&Execute::new(id, &[]));
        let row = &reply.results().next().unwrap().rows[0];
        assert!(!row.ends_with(b"replica1"), "{row:?}");
    }
    assert_eq!(conn.value(&on(3, WHO)), "replica2");
    conn.run(&on(2, "DO 0"));
    assert_eq!(set(&mut other, 2, "up"), "1");
    assert_eq!(conn.value(WHO), "replica1");
}

fn a_transaction_stays_on_a_backend_that_a_script_marks_down(product: Product) {
    let (_cluster, _scripted, [mut conn, mut other]) = start(product);
    conn.run(&on(2, "BEGIN"));
    assert_eq!(conn.value(WHO), "replica1");
    set(&mut other, 2, "down");
    assert_eq!(conn.value(WHO), "replica1");
    conn.run("COMMIT");
    assert_ne!(conn.value(WHO), "replica1");
}

fn statements_are_refused_if_all_backends_are_down(product: Product) {
    let (_cluster, _scripted, [mut conn, mut other]) = start(product);
    for index in 1..=3 {
        set(&mut other, index, "down");
    }
    is_refused(&mut conn, WHO);
    is_refused(&mut conn, &on(1, WHO));
    set(&mut other, 1, "up");
    assert_eq!(conn.value(WHO), "primary");
    assert_eq!(conn.value(&on(2, WHO)), "primary");
}
