//! Scripts in sessions that share connections: the script chooses the backend, and the proxy restores the session's
//! state there.

use std::collections::HashSet;

use e2e::{Cluster, Leased, PASSWORD, wait};

use super::*;

both! {
    a_script_chooses_where_each_statement_goes
    session_variables_follow_the_session_to_each_backend
    a_transaction_stays_where_it_is
    writes_are_visible_on_the_replica_that_a_script_chooses
    many_sessions_need_few_connections
    no_command_or_change_of_user_bypasses_a_script
    a_scripts_answer_to_a_command_without_reply_is_not_sent
    a_waiting_hook_completes_after_it_is_removed
    a_script_sees_a_denied_login
    credentials_may_be_replaced
    reads_and_writes_are_split_by_a_script
    reads_and_writes_are_split_over_pools_of_a_script
    many_clients_are_split_at_once
    errors_and_pings_leave_a_transaction_where_it_is
}

pub(super) const WHO: &str = "SELECT name FROM d.whoami";

/// A primary and two replicas with different names in a table.
pub(super) fn cluster(product: Product) -> Leased {
    let cluster = Cluster::lease(product, 2);
    cluster.tell_apart(&["CREATE TABLE d.t (n INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20))"]);
    cluster
}

pub(super) fn pooled(cluster: &Cluster) -> Settings {
    Settings::of_cluster(cluster)
        .account("app", PASSWORD)
        .set("health.replication_interval", "50ms")
        .set("balance.timeout_consistency", "20s")
        .set("pool.timeout_wait", "20s")
}

/// `/* N */` in front of a statement sends it to backend N.
pub(super) const CHOOSES: &str = r#"
    function read_query(packet)
        local index = packet:match("^\003/%* (%d) %*/")
        if index then proxy.connection.backend_ndx = tonumber(index) end
    end
"#;

fn chooser(product: Product) -> (Leased, Scripted, RawConn) {
    let cluster = cluster(product);
    let scripted = Scripted::with(pooled(&cluster), CHOOSES);
    scripted
        .proxy
        .wait_event("backend_up", &["backend=\"replica1\""]);
    scripted
        .proxy
        .wait_event("backend_up", &["backend=\"replica2\""]);
    let conn = scripted.connect_as(&Login::app().schema("d"));
    (cluster, scripted, conn)
}

pub(super) fn on(index: usize, sql: &str) -> String {
    format!("/* {index} */ {sql}")
}

fn a_script_chooses_where_each_statement_goes(product: Product) {
    let (_cluster, _scripted, mut conn) = chooser(product);
    // The backend that the proxy chooses.
    assert_ne!(conn.value(WHO), "primary");
    for _ in 0..3 {
        assert_eq!(conn.value(&on(2, WHO)), "replica1");
        // The choice stays until the script makes another one.
        assert_eq!(conn.value(WHO), "replica1");
        assert_eq!(conn.value(&on(3, WHO)), "replica2");
        assert_eq!(conn.value(&on(1, WHO)), "primary");
    }
    assert_ne!(conn.value(&on(0, WHO)), "primary");
}

fn session_variables_follow_the_session_to_each_backend(product: Product) {
    let (_cluster, _scripted, mut conn) = chooser(product);
    conn.run("SET @mine = 'kept', time_zone = '+03:00'");
    for index in [2, 3, 1, 2] {
        let reply = conn.run(&on(index, "SELECT @mine, @@time_zone, DATABASE()"));
        assert_eq!(rows(&reply), ["kept|+03:00|d"]);
    }
}

fn a_transaction_stays_where_it_is(product: Product) {
    let (_cluster, _scripted, mut conn) = chooser(product);
    conn.run(&on(1, "BEGIN"));
    conn.run("INSERT INTO t (name) VALUES ('mine')");
    assert_eq!(conn.value(&on(2, "SELECT COUNT(*) FROM t")), "1");
    assert_eq!(conn.value(WHO), "primary");
    conn.run("ROLLBACK");
    assert_eq!(conn.value(WHO), "replica1");
    assert_eq!(conn.value("SELECT COUNT(*) FROM t"), "0");
}

fn writes_are_visible_on_the_replica_that_a_script_chooses(product: Product) {
    let (_cluster, _scripted, mut conn) = chooser(product);
    for number in 1..=5 {
        conn.run(&on(1, "INSERT INTO t (name) VALUES ('x')"));
        for index in [2, 3] {
            let count = conn.value(&on(index, "SELECT COUNT(*) FROM t"));
            assert_eq!(count, number.to_string());
        }
    }
}

fn many_sessions_need_few_connections(product: Product) {
    let script = r#"
        function read_query(packet)
            proxy.queries:append(1, packet, { resultset_is_needed = true })
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result(inj) end
    "#;
    let settings = Settings::pooled(Server::shared(product), 2);
    let scripted = Scripted::with(settings, script);
    let mut clients: Vec<RawConn> = (0..12).map(|_| scripted.connect()).collect();
    for (client, number) in clients.iter_mut().zip(0..) {
        client.run(&format!("SET @mine = {number}"));
    }
    for (client, number) in clients.iter_mut().zip(0..) {
        assert_eq!(client.value("SELECT @mine"), number.to_string());
    }
    // Each client still sees its own id.
    let ids = clients
        .iter_mut()
        .map(|it| it.value("SELECT @@pseudo_thread_id"));
    assert_eq!(ids.collect::<HashSet<_>>().len(), 12);
}

fn no_command_or_change_of_user_bypasses_a_script(product: Product) {
    let script = r#"
        function read_query(packet)
            if packet:find("secret") then
                proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = "not for you", errcode = 4000 }
                return proxy.PROXY_SEND_RESULT
            end
        end
    "#;
    let server = Server::shared(product);
    // Only the server knows this account, so its login passes through.
    let mut root = server.root();
    root.run("CREATE USER IF NOT EXISTS unsighted@'%' IDENTIFIED BY 'strange'");
    root.run("GRANT SELECT ON *.* TO unsighted@'%'");
    let stranger = Login::with("unsighted", "strange");
    let scripted = Scripted::with(Settings::pooled(server, 2), script);
    let mut conn = scripted.connect();
    let is_kept_in = |conn: &mut RawConn| {
        let error = conn.query("SELECT 'secret'").error().unwrap().clone();
        assert_eq!((error.code, &*error.text), (4000, "not for you"));
        assert_eq!(conn.value("SELECT 'open'"), "open");
    };
    for unknown in [
        command::REGISTER_SLAVE,
        command::BINLOG_DUMP,
        command::BINLOG_DUMP_GTID,
        0x13,
        0x00,
        0x20,
        0x7f,
    ] {
        let reply = conn.command(unknown, &[0; 20]);
        let code = match unknown {
            0x00 | 0x7f => 1047,
            // Replication commands are refused, because the script would see nothing of them.
            _ => 1227,
        };
        assert_eq!(reply.error().unwrap().code, code, "{unknown}");
        is_kept_in(&mut conn);
    }
    let refused = conn.change_user(&stranger);
    let error = refused.unwrap_err().refusal();
    assert!(error.text.contains("log in anew"), "{error}");
    if product == Product::MariaDb {
        is_kept_in(&mut conn);
    }
    let mut other = scripted.connect_as(&stranger);
    is_kept_in(&mut other);
}

fn a_scripts_answer_to_a_command_without_reply_is_not_sent(product: Product) {
    let script = r#"
        function read_query(packet)
            local command = packet:byte()
            if command == proxy.COM_STMT_CLOSE or command == proxy.COM_STMT_SEND_LONG_DATA then
                proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = "nobody asked" }
                return proxy.PROXY_SEND_RESULT
            end
        end
    "#;
    let server = Server::shared(product);
    for settings in [Settings::pooled(server, 2), Settings::in_front_of([server])] {
        let scripted = Scripted::with(settings, script);
        let mut conn = scripted.connect();
        let id = conn.prepare("SELECT ?").statement();
        conn.send_long_data(id, 0, b"x");
        conn.close_statement(id);
        assert_eq!(conn.value("SELECT 'first'"), "first");
        assert_eq!(conn.value("SELECT 'second'"), "second");
    }
}

fn a_waiting_hook_completes_after_it_is_removed(product: Product) {
    let script = r#"
        function read_query(packet)
            if packet:sub(2) == "DO last" then
                read_query = nil
                pilotfish.sleep(0.01)
                proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = "to the end", errcode = 4000 }
                return proxy.PROXY_SEND_RESULT
            end
        end
    "#;
    let scripted = Scripted::with(Settings::pooled(Server::shared(product), 2), script);
    let mut conn = scripted.connect();
    assert_eq!(conn.query("DO last").error().unwrap().text, "to the end");
    assert_eq!(conn.query("DO last").error().unwrap().code, 1054);
}

fn a_script_sees_a_denied_login(product: Product) {
    let script = r#"
        function read_auth_result(auth)
            if auth.packet:byte() == proxy.MYSQLD_PACKET_ERR then
                proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = "in other words", errcode = 1045 }
                return proxy.PROXY_SEND_RESULT
            end
        end
    "#;
    let scripted = Scripted::with(Settings::pooled(Server::shared(product), 2), script);
    let wrong = Login::with("app", "wrong");
    let refused = RawConn::connect(&scripted.proxy.address(), &wrong);
    let error = refused.unwrap_err().refusal();
    assert_eq!((error.code, &*error.text), (1045, "in other words"));
    scripted.connect().run("SELECT 1");
}

fn credentials_may_be_replaced(product: Product) {
    let script = r#"
        local proto = require("mysql.proto")
        local password = require("mysql.password")
        function read_auth()
            local c, s = proxy.connection.client, proxy.connection.server
            local packet = proto.to_response_packet({
                username = "app",
                response = password.scramble(s.scramble_buffer:sub(1, 20), password.hash(PASSWORD)),
                database = c.default_db,
            })
            proxy.queries:append(1, packet)
            return proxy.PROXY_SEND_QUERY
        end
    "#;
    let script = format!("local PASSWORD = {PASSWORD:?}\n{script}");
    let scripted = Scripted::with(Settings::pooled(Server::shared(product), 2), &script);
    let mut conn = scripted.connect_as(&Login::with("nobody", "knows"));
    assert!(conn.value("SELECT USER()").starts_with("app@"));
}

fn rw_splitting() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/rw-splitting.lua");
    fs::read_to_string(path).unwrap()
}

fn split(scripted: &Scripted) {
    let mut conn = scripted.connect_as(&Login::app().schema("d"));
    wait::until("replicas are read", wait::SOON, || {
        conn.value(WHO) != "primary"
    });
    conn.run("INSERT INTO t (name) VALUES ('a')");
    assert_eq!(conn.value("SELECT LAST_INSERT_ID()"), "1");
    assert_ne!(conn.value(WHO), "primary");
    assert_eq!(conn.value(&format!("{WHO} FOR UPDATE")), "primary");
    conn.run("BEGIN");
    assert_eq!(conn.value(WHO), "primary");
    conn.run("COMMIT");
    assert_ne!(conn.value(WHO), "primary");
}

fn reads_and_writes_are_split_by_a_script(product: Product) {
    let cluster = cluster(product);
    let scripted = Scripted::with(pooled(&cluster), &rw_splitting());
    split(&scripted);
    // A session variable does not pin the session.
    let mut conn = scripted.connect_as(&Login::app().schema("d"));
    conn.run("SET @mine = 1");
    assert_ne!(conn.value(WHO), "primary");
    assert_eq!(conn.value("SELECT @mine"), "1");
}

/// The first clients open the connections. Later clients share them.
fn reads_and_writes_are_split_over_pools_of_a_script(product: Product) {
    let cluster = cluster(product);
    let scripted = Scripted::with(Settings::of_cluster(&cluster), &rw_splitting());
    let login = Login::app().schema("d");
    let mut first: Vec<RawConn> = (0..12).map(|_| scripted.connect_as(&login)).collect();
    for conn in &mut first {
        assert_eq!(conn.value("SELECT DATABASE()"), "d");
    }
    split(&scripted);
    let conn = &mut first[0];
    conn.run("SET @mine = 1");
    // The session's connection has its variables.
    assert_eq!(conn.value(WHO), "primary");
    assert_eq!(conn.value("SELECT @mine"), "1");
}

/// An error for an unknown schema leaves it there as well.
fn errors_and_pings_leave_a_transaction_where_it_is(product: Product) {
    let cluster = cluster(product);
    for settings in [pooled(&cluster), Settings::of_cluster(&cluster)] {
        let scripted = Scripted::with(settings, &rw_splitting());
        let mut conn = scripted.connect_as(&Login::app().schema("d"));
        conn.run("BEGIN");
        conn.run("INSERT INTO t (name) VALUES ('in it')");
        assert!(conn.command(command::PING, b"").error().is_none());
        assert!(conn.query("no statement").error().is_some());
        assert_eq!(conn.value(WHO), "primary");
        let refused = conn.command(command::INIT_DB, b"no_such_schema");
        assert_eq!(refused.error().unwrap().code, 1049);
        assert_eq!(conn.value("SELECT DATABASE()"), "d");
        let count = "SELECT COUNT(*) FROM t WHERE name = 'in it'";
        assert_eq!(conn.value(count), "1");
        conn.run("ROLLBACK");
        assert_eq!(conn.value(count), "0");
    }
}

/// Each client sees its own writes, however many clients there are.
fn many_clients_are_split_at_once(product: Product) {
    let cluster = cluster(product);
    let settings = pooled(&cluster).set("pool.backend_connections_max", 6);
    let scripted = Scripted::with_workers(settings, 2, &rw_splitting());
    let login = Login::app().schema("d");
    std::thread::scope(|scope| {
        for client in 0..24 {
            let (scripted, login) = (&scripted, &login);
            scope.spawn(move || live(&mut scripted.connect_as(login), client));
        }
    });
    scripted.proxy.assert_sound();
}

fn live(conn: &mut RawConn, client: usize) {
    let count = format!("SELECT COUNT(*) FROM t WHERE name = 'client {client}'");
    let insert = format!("INSERT INTO t (name) VALUES ('client {client}')");
    conn.run(&format!("SET @me = {client}"));
    for turn in 1..=20 {
        let in_transaction = turn % 3 == 0;
        if in_transaction {
            conn.run("BEGIN");
        }
        conn.run(&insert);
        assert_ne!(conn.value("SELECT LAST_INSERT_ID()"), "0");
        assert_eq!(conn.value(&count), turn.to_string());
        if in_transaction {
            conn.run("COMMIT");
        }
        assert_eq!(conn.value(&count), turn.to_string());
        assert_eq!(conn.value("SELECT @me"), client.to_string());
    }
}
