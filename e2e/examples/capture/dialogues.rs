//! What is said: one dialogue a function.

use e2e::raw::{Execute, Login, Param, Shape, bulk_execute, command, query_with_attributes};
use e2e::wait;

use crate::studio::Take;

pub fn text(take: &mut Take) {
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

pub fn prepared(take: &mut Take) {
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

pub fn cursor(take: &mut Take) {
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

pub fn results(take: &mut Take) {
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

pub fn broken_off(take: &mut Take) {
    const FAILS: &str = "SELECT IF(i < 3, i, (SELECT i FROM t x WHERE x.i >= t.i - 1)) e FROM t";
    take.query(FAILS);
    let id = take.prepare(FAILS);
    take.execute(&Execute::new(id, &[]));
    take.query(&format!("SELECT 1; {FAILS}"));
    take.simple(command::PING, b"");
}

pub fn infile(take: &mut Take) {
    const LOAD: &str = "LOAD DATA LOCAL INFILE 'file' INTO TABLE u";
    take.query("DELETE FROM u");
    take.load(LOAD, &[b"1\ta\n2\t", b"b\n"]);
    take.load(LOAD, &[]);
    take.load(LOAD, &[b"1\tagain\nnonsense\n"]);
    take.query("LOAD DATA LOCAL INFILE 'file' INTO TABLE nonsense");
    take.load(&format!("{LOAD}; SELECT 1"), &[b"3\tc\n"]);
    take.simple(command::PING, b"");
}

pub fn odd(take: &mut Take) {
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

pub fn pipelined(take: &mut Take) {
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

pub fn change_user(take: &mut Take) {
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

pub fn session_track(take: &mut Take) {
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

pub fn killed(take: &mut Take) {
    take.query("SELECT 1");
    let mut other = take.root();
    other.run(&format!("KILL {}", take.conn.id));
    take.farewell();
}

pub fn killed_running(take: &mut Take) {
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

pub fn kill_itself(take: &mut Take) {
    let id = take.conn.id;
    take.simple(command::PROCESS_KILL, &id.to_le_bytes());
}

pub fn timed_out(take: &mut Take) {
    take.query("SET wait_timeout = 1");
    take.farewell();
}

pub fn optional_metadata(take: &mut Take) {
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

pub fn query_attributes(take: &mut Take) {
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

pub fn cached_metadata(take: &mut Take) {
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

pub fn bulk_executes(take: &mut Take, flags: u16) {
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

pub fn progress_reports(take: &mut Take) {
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

pub const NON_BLOCKING: u16 = 1;
pub const REPLICA: u32 = 77;

pub fn mysql_dump(take: &mut Take) {
    let file = take.binlog_file();
    take.query("SET @source_binlog_checksum = 'NONE'");
    take.dump(&file_dump(&file));
}

pub fn mysql_gtid_dump(take: &mut Take) {
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

pub fn mariadb_dump(take: &mut Take) {
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

pub fn missing_dump(take: &mut Take) {
    take.query("SET @source_binlog_checksum = 'NONE', @master_binlog_checksum = 'NONE'");
    take.dump(&file_dump("nonsense"));
}

pub fn file_dump(file: &str) -> Vec<u8> {
    let mut payload = vec![command::BINLOG_DUMP];
    payload.extend(4_u32.to_le_bytes());
    payload.extend(NON_BLOCKING.to_le_bytes());
    payload.extend(REPLICA.to_le_bytes());
    payload.extend(file.as_bytes());
    payload
}
