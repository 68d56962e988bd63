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

mod dialogues;
mod studio;
mod tape;

use std::path::Path;

use e2e::raw::{Login, capability};
use e2e::{PASSWORD, Product, Server};

use dialogues::*;
use studio::{Studio, Take, version, write_file};
use tape::Relay;

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
