//! The replication protocol: dumps of the binary log stream through the proxy.

use std::sync::Mutex;

use e2e::raw::{RawConn, Transcript, command};
use e2e::{PASSWORD, Product, Proxy, Server, Settings, Site, wait};

/// Writes rows, and closes their binary log file. Returns the file's name.
fn finished_binlog(site: &Site) -> String {
    // Two tests at once would share a file.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap();
    let mut conn = site.server.root();
    conn.run("FLUSH LOGS");
    let schema = &site.schema;
    conn.run(&format!("CREATE TABLE {schema}.b (n INT, b LONGBLOB)"));
    conn.run(&format!(
        "INSERT INTO {schema}.b VALUES (1, 'one'), (2, REPEAT('big', 100000))"
    ));
    conn.run(&format!("UPDATE {schema}.b SET n = n + 1"));
    let file = current_binlog(&mut conn).0;
    conn.run("FLUSH LOGS");
    file
}

fn current_binlog(conn: &mut RawConn) -> (String, u32) {
    let statement = if conn.version.contains("MariaDB") {
        "SHOW MASTER STATUS"
    } else {
        "SHOW BINARY LOG STATUS"
    };
    let reply = conn.run(statement);
    (
        reply.text(0, 0).unwrap(),
        reply.text(0, 1).unwrap().parse().unwrap(),
    )
}

/// Sends the statements of a replica before it asks for events.
fn introduce(conn: &mut RawConn, server_id: u32) {
    if conn.version.contains("MariaDB") {
        conn.run("SET @mariadb_slave_capability = 4");
        conn.run("SET @master_binlog_checksum = @@global.binlog_checksum");
    } else {
        conn.run("SET @source_binlog_checksum = @@global.binlog_checksum");
    }
    let mut register = vec![command::REGISTER_SLAVE];
    register.extend(server_id.to_le_bytes());
    register.extend(b"\x09e2e-test-\x00\x00");
    register.extend([0; 10]);
    conn.send(&register);
    assert!(conn.reply(e2e::raw::Shape::Results).error().is_none());
}

fn dump(file: &str, position: u32, flags: u16, server_id: u32) -> Vec<u8> {
    let mut payload = vec![command::BINLOG_DUMP];
    payload.extend(position.to_le_bytes());
    payload.extend(flags.to_le_bytes());
    payload.extend(server_id.to_le_bytes());
    payload.extend(file.as_bytes());
    payload
}

const NON_BLOCKING: u16 = 1;

scenario!(a_dump_streams_the_binary_log on mariadb, mysql except pooled_scripted: "a dump would be out of the script's sight");
fn a_dump_streams_the_binary_log(site: &Site) -> Transcript {
    let file = finished_binlog(site);
    let mut conn = site.connect();
    introduce(&mut conn, 4711);
    drop(conn.transcript());
    conn.send(&dump(&file, 4, NON_BLOCKING, 4711));
    // Up to the event that names the next file. Later files have other tests' events.
    let mut bytes = 0;
    let mut events = 0;
    loop {
        let event = conn.unrecorded(|conn| {
            if events == 0 {
                conn.packet()
            } else {
                conn.more()
            }
        });
        let event = event.unwrap();
        assert_eq!(event[0], 0, "{}", event.escape_ascii());
        (events, bytes) = (events + 1, bytes + event.len());
        let kind = event[5];
        if kind == 4 && events > 1 {
            break;
        }
    }
    assert!(
        events > 5 && bytes > 300_000,
        "{events} events, {bytes} bytes"
    );
    Transcript::default()
}

scenario!(a_dump_of_a_missing_file_is_an_error on mariadb, mysql except pooled_scripted: "a dump would be out of the script's sight", companions: "MySQL's reply to COM_REGISTER_SLAVE counts the warnings of the connection's last statement");
fn a_dump_of_a_missing_file_is_an_error(site: &Site) -> Transcript {
    let mut conn = site.connect();
    introduce(&mut conn, 4712);
    conn.send(&dump("no-such-file.000001", 4, 0, 4712));
    let error = conn.reply(e2e::raw::Shape::Rows);
    assert_eq!(error.error().unwrap().code, 1236);
    conn.transcript()
}

scenario!(events_written_later_arrive_in_a_waiting_dump on mariadb, mysql except pooled_scripted: "a dump would be out of the script's sight", companions: "MySQL's reply to COM_REGISTER_SLAVE counts the warnings of the connection's last statement");
fn events_written_later_arrive_in_a_waiting_dump(site: &Site) -> Transcript {
    let mut root = site.server.root();
    root.run(&format!("CREATE TABLE {}.later (t TEXT)", site.schema));
    let (file, position) = current_binlog(&mut root);
    let mut conn = site.connect();
    let server_id = 5000 + u32::from(site.tls);
    introduce(&mut conn, server_id);
    conn.unrecorded(|conn| {
        conn.send(&dump(&file, position, 0, server_id));
        conn.packet().unwrap();
        let marker = format!("marker of {} {server_id}", site.schema);
        root.run(&format!(
            "INSERT INTO {}.later VALUES ('{marker}')",
            site.schema
        ));
        loop {
            let event = conn.more().unwrap();
            assert_eq!(event[0], 0);
            if event
                .windows(marker.len())
                .any(|window| window == marker.as_bytes())
            {
                break;
            }
        }
    });
    Transcript::default()
}

scenario!(the_products_own_tool_reads_the_binary_log on mariadb, mysql except pooled: "MySQL's tool has no plugin for an account known by its SHA1 hash");
fn the_products_own_tool_reads_the_binary_log(site: &Site) -> Transcript {
    let file = finished_binlog(site);
    let program = if site.is_mariadb() {
        "mariadb-binlog"
    } else {
        "mysqlbinlog"
    };
    let mut tool = site.product().command(program);
    let e2e::raw::Address::Tcp(address) = site.address else {
        panic!("TCP")
    };
    tool.args([
        "--no-defaults",
        "--read-from-remote-server",
        "--host=127.0.0.1",
        "--user=app",
    ])
    .arg(format!("--port={}", address.port()))
    .arg(format!("--password={PASSWORD}"))
    .args(["--verbose", "--base64-output=decode-rows"]);
    match (site.is_mariadb(), site.tls) {
        (true, true) => tool.args(["--ssl", "--skip-ssl-verify-server-cert"]),
        (true, false) => tool.arg("--skip-ssl"),
        (false, true) => tool.arg("--ssl-mode=REQUIRED"),
        (false, false) => tool.args(["--ssl-mode=DISABLED", "--get-server-public-key"]),
    };
    let output = tool.arg(&file).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}\n{}", site.proxy_log());
    let text = String::from_utf8_lossy(&output.stdout);
    let table = format!("{}`.`b`", site.schema);
    assert!(text.contains(&table), "{text}");
    Transcript::default()
}

fn a_replica_follows_through_the_proxy(product: Product) {
    let options = e2e::primary_options(product);
    let with_id = |id| [&options[..], &[id]].concat();
    let primary = Server::lease_with(product, &with_id("--server-id=1"));
    let replica = Server::lease_with(product, &with_id("--server-id=2"));
    let proxy = Proxy::start(&Settings::in_front_of([&*primary]));
    e2e::follow(&replica, proxy.port());
    let mut root = primary.root();
    root.run("CREATE DATABASE d");
    root.run("CREATE TABLE d.t (n INT PRIMARY KEY, b LONGBLOB)");
    for n in 0..20 {
        root.run(&format!(
            "INSERT INTO d.t VALUES ({n}, REPEAT('x', {n} * 10000))"
        ));
    }
    root.run("INSERT INTO d.t VALUES (99, REPEAT('y', 20000000))");
    let position = root.value(e2e::position(product));
    e2e::wait_reached(&replica, &position);
    assert_eq!(
        replica.root().value("SELECT SUM(LENGTH(b)) FROM d.t"),
        "21900000"
    );
    // The proxy goes and comes back elsewhere in time: the replica is told, and catches up.
    let mut reader = replica.root();
    let connected = |reader: &mut RawConn| {
        let statement = if product.is_mariadb() {
            "SHOW SLAVE STATUS"
        } else {
            "SHOW REPLICA STATUS"
        };
        reader.run(statement).texts()[0]
            .iter()
            .any(|field| field.contains("Waiting for"))
    };
    wait::until("it waits for more", wait::SOON, || connected(&mut reader));
}

#[test]
fn a_mariadb_replica_follows_through_the_proxy() {
    a_replica_follows_through_the_proxy(Product::MariaDb);
}

#[test]
fn a_mysql_replica_follows_through_the_proxy() {
    a_replica_follows_through_the_proxy(Product::MySql);
}
