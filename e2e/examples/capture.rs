//! Captures what real servers and clients say to one another, as vectors for the codec's and the
//! tracker's tests: `cargo run -p pilotfish-e2e --example capture`.
//!
//! Each dialogue goes through a relay that writes the bytes down. `session/tests/dialogues` gets
//! the command phase of many, `wire/tests/logins` the logins of the products' own clients:
//!
//! ```text
//! # where it comes from
//! capabilities 0x…        what both sides can, MariaDB's extended flags from bit 32
//! > 0600000003…           a packet from the client, with its header
//! < 0700000100…           a packet from the server
//! = COM_QUERY ok          the exchange has ended (or `= COM_QUERY error 1064`)
//! ? file                  the server wants the client's file
//! ! error 4031            the server spoke without being asked
//! ```
//!
//! The lines without bytes are what the raw client saw, which shares no code with the tracker.
#![allow(clippy::panic)] // a tool for developers tells what went wrong by panicking

use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use e2e::raw::{
    Address, Execute, Login, Outcome, Param, RawConn, Reply, Shape, bulk_execute, capability,
    command, query_with_attributes,
};
use e2e::{PASSWORD, Product, Server, wait};

/// A dialogue's file is smaller than this, in bytes.
const FILE_BYTES_MAX: usize = 4096;

fn main() {
    let house = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    for product in [Product::MariaDb, Product::MariaDbNext, Product::MySql] {
        let server = Server::start(product, &["--log-bin=binlog", "--server-id=1"]);
        prepare_schema(&server);
        let studio = Studio {
            server: &server,
            folder: house.join("session/tests/dialogues").join(product.name()),
        };
        log_in_with_the_products_own_client(&studio, &house.join("wire/tests/logins"));
        both_families(&studio);
        match product {
            Product::MySql => mysql_only(&studio),
            Product::MariaDb | Product::MariaDbNext => mariadb_only(&studio),
        }
    }
}

fn prepare_schema(server: &Server) {
    let mut root = server.root();
    for sql in [
        "CREATE DATABASE demo",
        "CREATE TABLE demo.t (i INT PRIMARY KEY, s VARCHAR(20))",
        "INSERT INTO demo.t VALUES (1,'a'), (2,'b'), (3,'c')",
        "CREATE TABLE demo.u (i INT PRIMARY KEY, s VARCHAR(20))",
        "CREATE PROCEDURE demo.two() BEGIN SELECT 1 a; SELECT 2 b; END",
        "CREATE PROCEDURE demo.outs(IN x INT, OUT y INT) BEGIN SELECT x a; SET y = x + 1; END",
        "CREATE PROCEDURE demo.fails() BEGIN SELECT 1 a; SIGNAL SQLSTATE '45000'; END",
    ] {
        root.run(sql);
    }
}

// ---- what is said ---------------------------------------------------------------------------

fn both_families(studio: &Studio<'_>) {
    let usual = Login::app().schema("demo");
    let eof_kept = usual.clone().without(capability::DEPRECATE_EOF);
    for (login, suffix) in [(&usual, ""), (&eof_kept, "-eof-kept")] {
        let record = |name: &str, origin: &str, act: &dyn Fn(&mut Take)| {
            let eofs = match suffix {
                "" => "DEPRECATE_EOF",
                _ => "EOF packets",
            };
            let origin = format!("{origin}; {eofs}");
            studio.record(&format!("{name}{suffix}"), &origin, login, act);
        };
        record("text", "statements as text", &text);
        record("prepared", "prepared statements", &prepared);
        record("cursor", "cursors and COM_STMT_FETCH", &cursor);
        record("results", "several results of one command", &results);
        record("broken-off", "errors behind the first rows", &broken_off);
        record("infile", "LOAD DATA LOCAL INFILE", &infile);
        record("odd", "old and odd commands", &odd);
        record(
            "pipelined",
            "commands sent before the first is answered",
            &pipelined,
        );
    }
    studio.record(
        "change-user",
        "COM_CHANGE_USER with a switch of plugins",
        &usual,
        &change_user,
    );
    let tracking = usual.clone().and(capability::SESSION_TRACK);
    studio.record(
        "session-track",
        "OK packets with session state",
        &tracking,
        &session_track,
    );
    let plain = tracking.without(capability::DEPRECATE_EOF);
    studio.record(
        "session-track-eof-kept",
        "OK packets with session state; EOF packets",
        &plain,
        &session_track,
    );
    studio.record(
        "killed",
        "KILL of a connection that is idle",
        &usual,
        &killed,
    );
    studio.record(
        "killed-running",
        "KILL QUERY of a statement that runs",
        &usual,
        &killed_running,
    );
    studio.record(
        "kill-itself",
        "COM_PROCESS_KILL of its own connection",
        &usual,
        &kill_itself,
    );
    studio.record("timed-out", "wait_timeout has passed", &usual, &timed_out);
}

fn mysql_only(studio: &Studio<'_>) {
    let usual = Login::app().schema("demo");
    for (suffix, login) in [
        ("", usual.clone()),
        (
            "-eof-kept",
            usual.clone().without(capability::DEPRECATE_EOF),
        ),
    ] {
        let login = login.and(capability::OPTIONAL_RESULTSET_METADATA);
        let name = format!("optional-metadata{suffix}");
        studio.record(
            &name,
            "definitions left out by resultset_metadata=NONE",
            &login,
            &|take| {
                optional_metadata(take);
            },
        );
    }
    let attributes = usual.clone().and(capability::QUERY_ATTRIBUTES);
    studio.record(
        "query-attributes",
        "query attributes",
        &attributes,
        &query_attributes,
    );
    studio.binlog("binlog-gtid", "COM_BINLOG_DUMP_GTID", &mysql_gtid_dump);
    studio.binlog("binlog", "COM_BINLOG_DUMP", &mysql_dump);
    studio.binlog(
        "binlog-refused",
        "COM_BINLOG_DUMP of a file that is not there",
        &missing_dump,
    );
    let mut root = studio.server.root();
    root.run("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'");
    root.run("SET GLOBAL rpl_semi_sync_source_enabled = 1");
    studio.binlog(
        "binlog-semi-sync",
        "COM_BINLOG_DUMP, semi-synchronous",
        &|take| {
            take.query("SET @rpl_semi_sync_replica = 1");
            mysql_dump(take);
        },
    );
}

fn mariadb_only(studio: &Studio<'_>) {
    let usual = Login::app().schema("demo");
    for (suffix, login) in [
        ("", usual.clone()),
        (
            "-eof-kept",
            usual.clone().without(capability::DEPRECATE_EOF),
        ),
    ] {
        let login = login.and(capability::CACHE_METADATA);
        let name = format!("cached-metadata{suffix}");
        studio.record(
            &name,
            "definitions left out of a second EXECUTE",
            &login,
            &cached_metadata,
        );
    }
    let bulk = usual.clone().and(capability::BULK_OPERATIONS);
    studio.record("bulk", "COM_STMT_BULK_EXECUTE", &bulk, &|take| {
        bulk_executes(take, 0)
    });
    if studio.server.product == Product::MariaDbNext {
        const UNIT_RESULTS: u64 = 1 << 37;
        let units = bulk.and(UNIT_RESULTS);
        studio.record(
            "bulk-units",
            "COM_STMT_BULK_EXECUTE with unit results",
            &units,
            &|take| {
                bulk_executes(take, 64);
            },
        );
    }
    let progress = usual.clone().and(capability::PROGRESS);
    studio.record("progress", "progress reports", &progress, &progress_reports);
    studio.binlog("binlog", "COM_BINLOG_DUMP from a GTID", &mariadb_dump);
    studio.binlog(
        "binlog-refused",
        "COM_BINLOG_DUMP of a file that is not there",
        &missing_dump,
    );
}

fn text(take: &mut Take) {
    take.query("SELECT i, s FROM t");
    take.query("SELECT i FROM t WHERE 1 = 0");
    take.query("SELECT '', NULL");
    take.query("REPLACE INTO t VALUES (3, 'd'), (4, 'e')");
    take.query("DELETE FROM t WHERE i = 4");
    take.query("SELECT 1 / 0");
    take.query("SHOW WARNINGS");
    take.query("BEGIN");
    take.query("COMMIT");
    take.query("SELECT nonsense");
    take.query("");
    take.simple(command::INIT_DB, b"mysql");
    take.simple(command::INIT_DB, b"nonsense");
    take.simple(command::PING, b"");
}

fn prepared(take: &mut Take) {
    let id = take.prepare("SELECT i, s FROM t WHERE i > ? AND s <> ?");
    let params = [Param::Int(1), Param::Text("z")];
    take.execute(&Execute::new(id, &params));
    take.execute(&Execute::new(id, &params).without_types());
    take.conn.send_long_data(id, 1, b"long ");
    take.conn.send_long_data(id, 1, b"data");
    take.execute(&Execute::new(id, &[Param::Int(1), Param::Sent]));
    take.simple(command::STMT_RESET, &id.to_le_bytes());
    take.conn.close_statement(id);
    take.execute(&Execute::new(id, &params));
    let id = take.prepare("DELETE FROM t WHERE i = ?");
    take.execute(&Execute::new(id, &[Param::Null]));
    let id = take.prepare("SELECT 7");
    take.execute(&Execute::new(id, &[]));
    take.prepare("DO 1");
    take.prepare("SELECT nonsense");
    take.simple(command::RESET_CONNECTION, b"");
}

fn cursor(take: &mut Take) {
    let id = take.prepare("SELECT i FROM t WHERE i >= ?");
    take.execute(&Execute::new(id, &[Param::Int(1)]).cursor());
    take.fetch(id, 2);
    take.fetch(id, 2);
    take.fetch(id, 2);
    take.execute(&Execute::new(id, &[Param::Int(9)]).cursor());
    take.fetch(id, 2);
    take.conn.close_statement(id);
    let id = take.prepare("DO 1");
    take.execute(&Execute::new(id, &[]).cursor());
}

fn results(take: &mut Take) {
    take.query("SELECT 1; DO 1; SELECT 2");
    take.query("SELECT 1; SELECT nonsense; SELECT 2");
    take.query("CALL two()");
    take.query("CALL fails()");
    let id = take.prepare("CALL outs(?, ?)");
    take.execute_with_out_parameters(&Execute::new(id, &[Param::Int(1), Param::Null]));
    let id = take.prepare("CALL two()");
    take.execute(&Execute::new(id, &[]));
    take.execute(&Execute::new(id, &[]).cursor());
}

fn broken_off(take: &mut Take) {
    const FAILS: &str = "SELECT IF(i < 3, i, (SELECT i FROM t x WHERE x.i >= t.i - 1)) e FROM t";
    take.query(FAILS);
    let id = take.prepare(FAILS);
    take.execute(&Execute::new(id, &[]));
    take.query(&format!("SELECT 1; {FAILS}"));
    take.simple(command::PING, b"");
}

fn infile(take: &mut Take) {
    const LOAD: &str = "LOAD DATA LOCAL INFILE 'file' INTO TABLE u";
    take.query("DELETE FROM u");
    take.load(LOAD, &[b"1\ta\n2\t", b"b\n"]);
    take.load(LOAD, &[]);
    take.load(LOAD, &[b"1\tagain\nnonsense\n"]);
    take.query("LOAD DATA LOCAL INFILE 'file' INTO TABLE nonsense");
    take.load(&format!("{LOAD}; SELECT 1"), &[b"3\tc\n"]);
    take.simple(command::PING, b"");
}

fn odd(take: &mut Take) {
    take.exchange(&[command::STATISTICS], Shape::Single);
    take.exchange(
        &[&[command::FIELD_LIST], &b"t\0"[..]].concat(),
        Shape::Columns,
    );
    take.exchange(
        &[&[command::FIELD_LIST], &b"nonsense\0"[..]].concat(),
        Shape::Columns,
    );
    take.simple(command::SET_OPTION, &[1, 0]);
    take.simple(command::SET_OPTION, &[0, 0]);
    take.simple(command::SET_OPTION, &[9, 0]);
    take.simple(command::DEBUG, b"");
    take.simple(command::PROCESS_KILL, &u32::MAX.to_le_bytes());
    for number in [0x00, 0x05, 0x0B, 0x0F, 0x1D, 0x42] {
        take.simple(number, b"");
    }
    take.simple(command::PROCESS_INFO, b"");
    // COM_REFRESH: REFRESH_STATUS
    take.simple(0x07, &[16]);
    // COM_REGISTER_SLAVE: server id 77, nothing else told
    let mut replica = 77_u32.to_le_bytes().to_vec();
    replica.extend([0; 3 + 2 + 4 + 4]);
    take.simple(command::REGISTER_SLAVE, &replica);
    take.conn.send_silent(&[command::QUIT]);
    assert!(take.conn.is_closed_by_server());
}

fn pipelined(take: &mut Take) {
    take.conn.send(&[command::PING]);
    take.conn.send_query("SELECT 1").expect("it can be sent");
    take.conn
        .send_query("SELECT nonsense")
        .expect("it can be sent");
    take.conn.send(&[command::RESET_CONNECTION]);
    let replies = [(); 4].map(|()| take.conn.reply(Shape::Results));
    let numbers = [
        command::PING,
        command::QUERY,
        command::QUERY,
        command::RESET_CONNECTION,
    ];
    // Not between the replies: the relay may have passed on several at once.
    for (number, reply) in numbers.into_iter().zip(&replies) {
        take.note_end(number, reply);
    }
}

fn change_user(take: &mut Take) {
    let mariadb = take.conn.version.contains("MariaDB");
    let (switched, plugin) = match mariadb {
        // The client has no first answer for it, which leaves the password out of the capture.
        true => ("native", "dialog"),
        false => ("sha256", "caching_sha2_password"),
    };
    let mut login = Login::user(switched);
    login.plugin = Some(plugin.to_owned());
    take.change_user(&login);
    take.query("SELECT 1");
    take.change_user(&Login::app().with_password("wrong").schema("demo"));
}

fn session_track(take: &mut Take) {
    take.query("SET session_track_system_variables = 'time_zone,sql_mode'");
    take.query("SET session_track_schema = ON, session_track_state_change = ON");
    take.query("SET session_track_transaction_info = 'CHARACTERISTICS'");
    take.query("USE mysql");
    take.query("SET time_zone = '+01:00', sql_mode = ''");
    take.query("START TRANSACTION READ ONLY");
    take.query("SELECT i FROM demo.t");
    take.query("COMMIT");
    take.simple(command::INIT_DB, b"demo");
    take.query("CALL two()");
    take.simple(command::RESET_CONNECTION, b"");
}

fn killed(take: &mut Take) {
    take.query("SELECT 1");
    let mut other = take.root();
    other.run(&format!("KILL {}", take.conn.id));
    take.farewell();
}

fn killed_running(take: &mut Take) {
    let sql = "SELECT i FROM t WHERE SLEEP(100) OR i > 0";
    take.conn.send_query(sql).expect("it can be sent");
    let mut other = take.root();
    let id = take.conn.id;
    let state = format!("SELECT state FROM information_schema.processlist WHERE id = {id}");
    wait::until("the statement sleeps", wait::SOON, || {
        other.value(&state) == "User sleep"
    });
    other.run(&format!("KILL QUERY {id}"));
    take.ends(command::QUERY, Shape::Results);
    take.simple(command::PING, b"");
}

fn kill_itself(take: &mut Take) {
    let id = take.conn.id;
    take.simple(command::PROCESS_KILL, &id.to_le_bytes());
}

fn timed_out(take: &mut Take) {
    take.query("SET wait_timeout = 1");
    take.farewell();
}

fn optional_metadata(take: &mut Take) {
    take.query("SELECT i, s FROM t");
    let full = take.prepare("SELECT i, s FROM t WHERE i > ?");
    take.query("SET resultset_metadata = NONE");
    take.query("SELECT i, s FROM t");
    take.query("SELECT i FROM t; SELECT 1; DO 1");
    take.query("CALL two()");
    take.execute(&Execute::new(full, &[Param::Int(1)]));
    let bare = take.prepare("SELECT i, s FROM t WHERE i > ?");
    take.prepare("SELECT 1");
    take.prepare("DELETE FROM t WHERE i = ?");
    take.prepare("DO 1");
    take.execute(&Execute::new(bare, &[Param::Int(1)]));
    take.execute(&Execute::new(bare, &[Param::Int(1)]).cursor());
    take.fetch(bare, 9);
    take.exchange(
        &[&[command::FIELD_LIST], &b"t\0"[..]].concat(),
        Shape::Columns,
    );
    take.query("SET resultset_metadata = FULL");
    take.query("SELECT i, s FROM t");
}

fn query_attributes(take: &mut Take) {
    let attributes = [
        ("a", Param::Text("x")),
        ("b", Param::Int(7)),
        ("c", Param::Null),
    ];
    let sql = "SELECT mysql_query_attribute_string('a')";
    take.exchange(&query_with_attributes(&attributes, sql), Shape::Results);
    let id = take.prepare("SELECT ?, mysql_query_attribute_string('a')");
    take.execute(&Execute::new(id, &[Param::Int(1)]).attribute("a", Param::Text("y")));
}

fn cached_metadata(take: &mut Take) {
    take.query("SELECT i, s FROM t");
    let id = take.prepare("SELECT i, s FROM t WHERE i > ?");
    for at in 0..3 {
        take.execute(&Execute::new(id, &[Param::Int(at)]));
    }
    take.execute(&Execute::new(id, &[Param::Int(1)]).cursor());
    take.fetch(id, 9);
    take.query("ALTER TABLE t CHANGE s r VARCHAR(21)");
    take.execute(&Execute::new(id, &[Param::Int(1)]));
    take.query("ALTER TABLE t CHANGE r s VARCHAR(20)");
    let id = take.prepare("CALL two()");
    take.execute(&Execute::new(id, &[]));
    take.execute(&Execute::new(id, &[]));
}

fn bulk_executes(take: &mut Take, flags: u16) {
    take.query("DELETE FROM u");
    let rows: [&[Param<'_>]; 2] = [
        &[Param::Int(1), Param::Text("a")],
        &[Param::Int(2), Param::Null],
    ];
    let id = take.prepare("INSERT INTO u VALUES (?, ?)");
    take.exchange(&bulk_execute(id, flags, &rows), Shape::Results);
    take.exchange(&bulk_execute(id, flags, &rows), Shape::Results);
    let id = take.prepare("DELETE FROM u WHERE i = ? OR s = ?");
    take.exchange(&bulk_execute(id, flags, &rows), Shape::Results);
    let id = take.prepare("INSERT INTO u VALUES (?, ?) RETURNING i");
    take.exchange(&bulk_execute(id, 0, &rows), Shape::Results);
    let id = take.prepare("SELECT ?, ?");
    take.exchange(&bulk_execute(id, flags, &rows), Shape::Results);
}

fn progress_reports(take: &mut Take) {
    take.query("DELETE FROM u");
    take.query("SET progress_report_time = 1");
    let file = std::env::temp_dir().join(format!("pf-progress-{}", std::process::id()));
    let rows: String = (0..20).map(|row| format!("{row}\n")).collect();
    std::fs::write(&file, rows).expect("the temporary folder is writable");
    let sql = "INTO TABLE u (i) SET s = SLEEP(0.1)";
    let reply = take.query(&format!("LOAD DATA INFILE '{}' {sql}", file.display()));
    let _ = std::fs::remove_file(file);
    assert!(!reply.progress.is_empty(), "{reply:?}");
}

const NON_BLOCKING: u16 = 1;
const REPLICA: u32 = 77;

fn mysql_dump(take: &mut Take) {
    let file = take.binlog_file();
    take.query("SET @source_binlog_checksum = 'NONE'");
    take.dump(&file_dump(&file));
}

fn mysql_gtid_dump(take: &mut Take) {
    let file = take.binlog_file();
    take.query("SET @source_binlog_checksum = 'NONE'");
    let mut payload = vec![command::BINLOG_DUMP_GTID];
    payload.extend(NON_BLOCKING.to_le_bytes());
    payload.extend(REPLICA.to_le_bytes());
    payload.extend(u32::try_from(file.len()).expect("a name").to_le_bytes());
    payload.extend(file.as_bytes());
    payload.extend(4_u64.to_le_bytes());
    // An empty set of GTIDs: its length, and a count of none.
    payload.extend(8_u32.to_le_bytes());
    payload.extend(0_u64.to_le_bytes());
    take.dump(&payload);
}

fn mariadb_dump(take: &mut Take) {
    let file = take.binlog_file();
    let mut root = take.root();
    let seen = root.value("SELECT @@gtid_binlog_pos");
    root.run("REPLACE INTO demo.u VALUES (2, 'b')");
    take.query("SET @master_binlog_checksum = 'NONE', @mariadb_slave_capability = 4");
    take.query(&format!(
        "SET @slave_connect_state = '{seen}', @slave_gtid_strict_mode = 1"
    ));
    take.dump(&file_dump(&file));
}

fn missing_dump(take: &mut Take) {
    take.query("SET @source_binlog_checksum = 'NONE', @master_binlog_checksum = 'NONE'");
    take.dump(&file_dump("nonsense"));
}

fn file_dump(file: &str) -> Vec<u8> {
    let mut payload = vec![command::BINLOG_DUMP];
    payload.extend(4_u32.to_le_bytes());
    payload.extend(NON_BLOCKING.to_le_bytes());
    payload.extend(REPLICA.to_le_bytes());
    payload.extend(file.as_bytes());
    payload
}

fn log_in_with_the_products_own_client(studio: &Studio<'_>, folder: &Path) {
    let server = studio.server;
    let (account, plain) = match server.product {
        Product::MySql => ("sha2", "--ssl-mode=DISABLED"),
        Product::MariaDb | Product::MariaDbNext => ("app", "--skip-ssl"),
    };
    let relay = Relay::start(server.tcp());
    let mut client = server.product.client();
    client
        .args([
            "--host=127.0.0.1",
            plain,
            "--user",
            account,
            "--execute=DO 1",
            "mysql",
        ])
        .arg(format!("--port={}", relay.address.port()))
        .arg(format!("--password={PASSWORD}"));
    if server.product == Product::MySql {
        client.arg("--get-server-public-key");
    }
    let output = client.output().expect("the client is there");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut text = format!(
        "# {}: its own command-line client logs in\n",
        version(&server.root())
    );
    for line in relay
        .tape
        .lines()
        .iter()
        .take_while(|line| !is_command(line))
    {
        text.push_str(line);
        text.push('\n');
    }
    write_file(
        &folder.join(format!("{}.txt", server.product.name())),
        &text,
    );
}

/// Whether a line is a client's packet that begins a command.
fn is_command(line: &str) -> bool {
    line.starts_with('>') && line.get(8..10) == Some("00")
}

// ---- how it is written down -----------------------------------------------------------------

/// One server, and the folder for its dialogues.
struct Studio<'a> {
    server: &'a Server,
    folder: PathBuf,
}

impl Studio<'_> {
    fn record(&self, name: &str, origin: &str, login: &Login, act: &dyn Fn(&mut Take)) {
        let relay = Relay::start(self.server.tcp());
        let conn = RawConn::connect(&Address::Tcp(relay.address), login)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        // What the login said is not part of the dialogue.
        relay.tape.clear();
        let mut take = Take {
            capabilities: conn.capabilities,
            conn,
            tape: Arc::clone(&relay.tape),
            socket: self.server.socket(),
        };
        act(&mut take);
        let mut text = format!("# {}: {origin}\n", version(&take.conn));
        writeln!(text, "capabilities {:#x}", take.capabilities).expect("memory takes all");
        for line in take.tape.lines() {
            text.push_str(&line);
            text.push('\n');
        }
        assert!(text.len() < FILE_BYTES_MAX, "{name}: {} bytes", text.len());
        write_file(&self.folder.join(format!("{name}.txt")), &text);
    }

    /// A dump of a binary log with little in it.
    fn binlog(&self, name: &str, origin: &str, act: &dyn Fn(&mut Take)) {
        let mut root = self.server.root();
        root.run("FLUSH BINARY LOGS");
        root.run("REPLACE INTO demo.u VALUES (1, 'a')");
        self.record(name, origin, &Login::app(), act);
    }
}

fn version(conn: &RawConn) -> String {
    let version = conn.version.trim_start_matches("5.5.5-");
    match version.contains("MariaDB") {
        true => version.to_owned(),
        false => format!("{version} (MySQL)"),
    }
}

fn write_file(path: &Path, text: &str) {
    let folder = path.parent().expect("it is in a folder");
    std::fs::create_dir_all(folder).expect("the folder is writable");
    std::fs::write(path, text).expect("the folder is writable");
    println!("{} ({} bytes)", path.display(), text.len());
}

/// One connection that is written down.
struct Take {
    conn: RawConn,
    capabilities: u64,
    tape: Arc<Tape>,
    socket: PathBuf,
}

impl Take {
    fn root(&self) -> RawConn {
        RawConn::connect(&Address::Unix(self.socket.clone()), &Login::root())
            .unwrap_or_else(|error| panic!("root cannot connect: {error}"))
    }

    fn query(&mut self, sql: &str) -> Reply {
        self.conn.send_query(sql).expect("it can be sent");
        self.ends(command::QUERY, Shape::Results)
    }

    fn simple(&mut self, number: u8, argument: &[u8]) -> Reply {
        self.exchange(&[&[number], argument].concat(), Shape::Results)
    }

    fn exchange(&mut self, payload: &[u8], shape: Shape) -> Reply {
        self.conn.send(payload);
        self.ends(payload[0], shape)
    }

    fn prepare(&mut self, sql: &str) -> u32 {
        let payload = [&[command::STMT_PREPARE], sql.as_bytes()].concat();
        match self.exchange(&payload, Shape::Prepared).outcomes.first() {
            Some(Outcome::Prepared { id, .. }) => *id,
            _ => 0,
        }
    }

    fn execute(&mut self, execute: &Execute<'_>) -> Reply {
        let payload = execute.payload(&self.conn);
        self.exchange(&payload, Shape::Results)
    }

    /// MySQL says that more follows the OUT parameters in the EOF behind their definitions, and
    /// not in the one behind their row (`read_binary_rows` in its client library knows).
    fn execute_with_out_parameters(&mut self, execute: &Execute<'_>) {
        const MORE_RESULTS: u16 = 8;
        let payload = execute.payload(&self.conn);
        self.conn.send(&payload);
        let reply = self.conn.reply(Shape::Results);
        if matches!(reply.outcomes.last(), Some(Outcome::Rows(rows)) if rows.status & MORE_RESULTS == 0)
        {
            self.conn.reply(Shape::Results);
        }
        self.tape.note("= COM_STMT_EXECUTE ok".to_owned());
    }

    fn fetch(&mut self, statement: u32, rows: u32) {
        let numbers = [statement.to_le_bytes(), rows.to_le_bytes()].concat();
        self.exchange(
            &[&[command::STMT_FETCH], &numbers[..]].concat(),
            Shape::Rows,
        );
    }

    fn load(&mut self, sql: &str, chunks: &[&[u8]]) {
        self.conn.send_query(sql).expect("it can be sent");
        let reply = self.conn.reply(Shape::Results);
        assert!(
            matches!(reply.outcomes[..], [Outcome::LocalFile(_)]),
            "{reply:?}"
        );
        self.tape.note("? file".to_owned());
        for chunk in chunks {
            self.conn.send_on(chunk);
        }
        self.conn.send_on(b"");
        self.ends(command::QUERY, Shape::Results);
    }

    fn change_user(&mut self, login: &Login) {
        let outcome = match self.conn.change_user(login) {
            Ok(()) => "ok".to_owned(),
            Err(failure) => format!("error {}", failure.refusal().code),
        };
        self.tape.note(format!("= COM_CHANGE_USER {outcome}"));
    }

    fn binlog_file(&mut self) -> String {
        let mut root = self.root();
        let file = root.run("SHOW BINARY LOGS").texts().pop();
        file.expect("there is a binary log").swap_remove(0)
    }

    /// Reads events up to the end.
    fn dump(&mut self, payload: &[u8]) {
        self.conn.send(payload);
        let outcome = loop {
            let packet = self.conn.packet().expect("the dump comes to an end");
            match packet[..] {
                [0xFE, ..] if packet.len() < 9 => break "ok".to_owned(),
                [0xFF, a, b, ..] => break format!("error {}", u16::from_le_bytes([a, b])),
                _ => {}
            }
        };
        let name = name(payload[0]);
        self.tape.note(format!("= {name} {outcome}"));
    }

    /// Reads one reply and notes how the exchange ended.
    fn ends(&mut self, number: u8, shape: Shape) -> Reply {
        let reply = self.conn.reply(shape);
        self.note_end(number, &reply);
        reply
    }

    fn note_end(&self, number: u8, reply: &Reply) {
        let outcome = match reply.error() {
            Some(error) => format!("error {}", error.code),
            None => "ok".to_owned(),
        };
        self.tape.note(format!("= {} {outcome}", name(number)));
    }

    /// The server closes, with or without a last word.
    fn farewell(&mut self) {
        let mut bytes = Vec::new();
        wait::until("the server closes", wait::SOON, || self.tape.is_closed());
        self.tape.with(|entries| {
            if let Some(Entry::Server(last)) = entries.last() {
                bytes.clone_from(last);
            }
        });
        if let [_, _, _, _, 0xFF, a, b, ..] = bytes[..] {
            let number = u16::from_le_bytes([a, b]);
            self.tape.note(format!("! error {number}"));
        }
    }
}

fn name(number: u8) -> String {
    let name = match number {
        command::INIT_DB => "INIT_DB",
        command::QUERY => "QUERY",
        command::FIELD_LIST => "FIELD_LIST",
        command::STATISTICS => "STATISTICS",
        command::PROCESS_KILL => "PROCESS_KILL",
        command::DEBUG => "DEBUG",
        command::PING => "PING",
        command::BINLOG_DUMP => "BINLOG_DUMP",
        command::REGISTER_SLAVE => "REGISTER_SLAVE",
        command::STMT_PREPARE => "STMT_PREPARE",
        command::STMT_EXECUTE => "STMT_EXECUTE",
        command::STMT_RESET => "STMT_RESET",
        command::SET_OPTION => "SET_OPTION",
        command::STMT_FETCH => "STMT_FETCH",
        command::BINLOG_DUMP_GTID => "BINLOG_DUMP_GTID",
        command::RESET_CONNECTION => "RESET_CONNECTION",
        command::STMT_BULK_EXECUTE => "STMT_BULK_EXECUTE",
        0x00 => "SLEEP",
        0x05 => "CREATE_DB",
        0x07 => "REFRESH",
        command::PROCESS_INFO => "PROCESS_INFO",
        0x0B => "CONNECT",
        0x0F => "TIME",
        0x1D => "DAEMON",
        _ => return format!("COM_ 0x{number:02x}"),
    };
    format!("COM_{name}")
}

/// What passed, in order.
#[derive(Default)]
struct Tape(Mutex<Vec<Entry>>);

enum Entry {
    Client(Vec<u8>),
    Server(Vec<u8>),
    Note(String),
    ServerClosed,
}

impl Tape {
    fn with<T>(&self, act: impl FnOnce(&mut Vec<Entry>) -> T) -> T {
        act(&mut self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    fn clear(&self) {
        self.with(Vec::clear);
    }

    fn note(&self, text: String) {
        self.with(|entries| entries.push(Entry::Note(text)));
    }

    fn is_closed(&self) -> bool {
        self.with(|entries| {
            let closed = matches!(entries.last(), Some(Entry::ServerClosed));
            if closed {
                entries.pop();
            }
            closed
        })
    }

    fn passed(&self, bytes: &[u8], from_client: bool) {
        self.with(|entries| match (entries.last_mut(), from_client) {
            (Some(Entry::Client(last)), true) | (Some(Entry::Server(last)), false) => {
                last.extend(bytes);
            }
            (_, true) => entries.push(Entry::Client(bytes.to_vec())),
            (_, false) => entries.push(Entry::Server(bytes.to_vec())),
        });
    }

    /// A line for each packet and each note.
    fn lines(&self) -> Vec<String> {
        self.with(|entries| {
            let mut lines = Vec::new();
            for entry in entries {
                match entry {
                    Entry::Client(bytes) => packet_lines('>', bytes, &mut lines),
                    Entry::Server(bytes) => packet_lines('<', bytes, &mut lines),
                    Entry::Note(text) => lines.push(text.clone()),
                    Entry::ServerClosed => {}
                }
            }
            lines
        })
    }
}

fn packet_lines(mark: char, mut bytes: &[u8], lines: &mut Vec<String>) {
    while let [a, b, c, ..] = *bytes {
        let length = 4 + u32::from_le_bytes([a, b, c, 0]) as usize;
        let (packet, rest) = bytes.split_at(length);
        let mut line = format!("{mark} ");
        for byte in packet {
            write!(line, "{byte:02x}").expect("memory takes all");
        }
        lines.push(line);
        bytes = rest;
    }
    assert!(bytes.is_empty(), "half a header");
}

/// Stands between one client and the server, and writes down what it passes on.
struct Relay {
    address: SocketAddr,
    tape: Arc<Tape>,
}

impl Relay {
    fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has ports");
        let address = listener.local_addr().expect("it is bound");
        let tape = Arc::new(Tape::default());
        let writer = Arc::clone(&tape);
        thread::spawn(move || {
            let (client, _) = listener.accept().expect("a client comes");
            let server = TcpStream::connect(server).expect("the server is there");
            let copies = (client.try_clone(), server.try_clone());
            let (Ok(from_client), Ok(to_server)) = copies else {
                panic!("sockets can be duplicated");
            };
            let tape = Arc::clone(&writer);
            thread::spawn(move || pass(from_client, to_server, &tape, true));
            pass(server, client, &writer, false);
            writer.with(|entries| entries.push(Entry::ServerClosed));
        });
        Self { address, tape }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, tape: &Tape, from_client: bool) {
    let mut buffer = [0; 4096];
    let mut step = || -> io::Result<bool> {
        let count = from.read(&mut buffer)?;
        tape.passed(&buffer[..count], from_client);
        to.write_all(&buffer[..count])?;
        Ok(count > 0)
    };
    while step().unwrap_or(false) {}
    let _ = to.shutdown(Shutdown::Write);
}
