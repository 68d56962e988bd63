//! Restarts, a change of the primary, deleted logs, long log events.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::feeding::disk::SmallDisk;
use e2e::{Cut, Relay};

use super::*;

both! {
    a_stream_continues_at_its_position_after_a_restart_of_the_proxy
    a_stream_continues_after_a_kill_of_the_server
    a_stream_continues_after_a_lost_connection
    a_stream_moves_to_the_new_primary
    two_proxies_with_one_id_do_not_end_each_other_s_streams_all_the_time
    purged_logs_give_an_error_and_can_be_skipped
    an_event_of_several_packets_is_read
    a_reload_begins_and_ends_streams
    the_program_prints_what_a_server_changes_while_it_runs
}

fn a_stream_continues_at_its_position_after_a_restart_of_the_proxy(product: Product) {
    let server = start(product);
    let following = Following::start(&server, &[]);
    run(
        &server,
        &["CREATE DATABASE shop", "CREATE TABLE shop.one (a INT)"],
    );
    following.wait_change("CREATE TABLE", "one");
    let Following {
        proxy,
        settings,
        folder,
    } = following;
    proxy.stop();
    run(&server, &["CREATE TABLE shop.two (a INT)"]);
    let following = Following {
        proxy: Proxy::start(&settings),
        settings,
        folder,
    };
    following.wait_change("CREATE TABLE", "two");
    let rows = following.rows("SELECT object FROM schema_changes ORDER BY id");
    assert_eq!(rows, [["shop"], ["one"], ["two"]]);
    assert!(following.file().exists());
    // No change is reported twice.
    let following = following.again();
    run(&server, &["CREATE TABLE shop.three (a INT)"]);
    following.wait_change("CREATE TABLE", "three");
    assert_eq!(
        following.rows("SELECT count(*) FROM schema_changes"),
        [["4"]]
    );
}

fn a_stream_continues_after_a_kill_of_the_server(product: Product) {
    let mut server = start(product);
    let following = Following::start(&server, &[]);
    run(&server, &["CREATE DATABASE shop"]);
    following.wait_change("CREATE DATABASE", "shop");
    server.kill();
    following.wait_for(
        "a failure",
        "SELECT count(*) FROM replication WHERE state = 'waiting'",
    );
    server.start_again();
    run(&server, &["CREATE TABLE shop.one (a INT)"]);
    following.wait_change("CREATE TABLE", "one");
    let errors = following.rows("SELECT errors > 0, last_error IS NOT NULL FROM replication");
    assert_eq!(errors, [["1", "1"]]);
    assert_eq!(
        following.rows("SELECT count(*) FROM schema_changes"),
        [["2"]]
    );
}

fn a_stream_continues_after_a_lost_connection(product: Product) {
    let server = start(product);
    let relay = Relay::start(server.tcp());
    let settings = Settings::default().backend(relay.tcp());
    let following = Following::start_with(settings, &[&server], &[]);
    run(&server, &["CREATE DATABASE shop"]);
    following.wait_change("CREATE DATABASE", "shop");
    relay.cut(Cut::Unanswered, "cut_me");
    run(
        &server,
        &[
            "CREATE TABLE shop.cut_me (a INT)",
            "CREATE TABLE shop.two (a INT)",
        ],
    );
    following.wait_change("CREATE TABLE", "two");
    let rows = following.rows("SELECT object FROM schema_changes ORDER BY id");
    assert_eq!(rows, [["shop"], ["cut_me"], ["two"]]);
}

fn a_stream_moves_to_the_new_primary(product: Product) {
    let cluster = Cluster::lease(product, 1);
    let servers = [&cluster.primary, &cluster.replicas[0]];
    let backend = |settings: Settings, server: &Server, name: &str| {
        let name = format!("{name:?}");
        let more = [("name", name.as_str()), ("role", "\"auto\"")];
        settings.backend_with(server.tcp(), &more)
    };
    let settings = Settings::default()
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD)
        .set("health.monitor_interval", "100ms")
        .set("health.replication_interval", "100ms");
    let settings = backend(settings, servers[0], "first");
    let settings = backend(settings, servers[1], "second");
    // The account is made on both.
    e2e::take_writes(servers[1]);
    servers.iter().for_each(|server| make_account(server));
    e2e::set_read_only(servers[1]);
    let following = Following::start_with(settings, &[], &[]);
    assert_eq!(
        following.rows("SELECT backend FROM replication"),
        [["first"]]
    );
    run(servers[0], &["CREATE DATABASE shop"]);
    following.wait_change("CREATE DATABASE", "shop");
    cluster.wait_caught_up();
    e2e::set_read_only(servers[0]);
    cluster.stop_replication(0);
    e2e::take_writes(servers[1]);
    following.wait_for(
        "the stream moves",
        "SELECT count(*) FROM replication WHERE backend = 'second' AND state = 'streaming'",
    );
    run(servers[1], &["CREATE TABLE shop.one (a INT)"]);
    following.wait_change("CREATE TABLE", "one");
    let rows = following.rows("SELECT object FROM schema_changes ORDER BY id");
    assert_eq!(rows, [["shop"], ["one"]]);
}

/// The second proxy is a copy of the first with its schema history, so MySQL knows both by the same UUID.
fn two_proxies_with_one_id_do_not_end_each_other_s_streams_all_the_time(product: Product) {
    let server = start(product);
    let Following {
        proxy,
        settings,
        folder,
    } = Following::start(&server, &[]);
    proxy.stop();
    let copy = Folder::new("files");
    let file = copy.path().join("schemas.db");
    std::fs::copy(folder.path().join("schemas.db"), &file).unwrap();
    let first = Proxy::start(&settings);
    first.wait_event("replication_begins", &[]);
    let address = format!("127.0.0.1:{}", free_port());
    let settings = settings
        .set("schema_history.file", file.to_str().unwrap())
        .set("admin.address", [address.as_str()]);
    let second = Proxy::start(&settings);
    second.wait_event("replication_begins", &[]);

    // The server ends the first proxy's stream, which reconnects, and so on.
    for (proxy, wait) in [(&first, "1s"), (&second, "1s"), (&first, "4s")] {
        let wait = format!("wait={wait}");
        let told = proxy.wait_event("replication_failed", &["cause=\"displaced\"", &wait]);
        assert!(told.contains("Give each its own server_id"), "{told}");
    }
    let following = Following {
        proxy: second,
        settings,
        folder: copy,
    };
    let shown = "SELECT count(*) FROM replication WHERE errors = 1 AND last_error LIKE 'another replica or proxy%'";
    following.wait_for("the reason", shown);
    // The remaining proxy follows the server.
    run(&server, &["CREATE DATABASE shop"]);
    following.wait_change("CREATE DATABASE", "shop");
}

fn purged_logs_give_an_error_and_can_be_skipped(product: Product) {
    let server = start(product);
    let following = Following::start(&server, &[]);
    run(&server, &["CREATE DATABASE shop"]);
    following.wait_change("CREATE DATABASE", "shop");
    let Following {
        proxy,
        settings,
        folder,
    } = following;
    proxy.stop();
    run(
        &server,
        &["CREATE TABLE shop.lost (a INT)", "FLUSH BINARY LOGS"],
    );
    let mut root = server.root();
    // The server cannot delete a log that it is sending.
    wait::until("the stream has ended", wait::SOON, || {
        let threads = root.run("SHOW PROCESSLIST").texts();
        threads.iter().all(|row| !row[4].starts_with("Binlog Dump"))
    });
    root.run("INSERT INTO shop.lost VALUES (1)");
    root.run("FLUSH BINARY LOGS");
    let logs = root.run("SHOW BINARY LOGS").texts();
    let last = logs.last().unwrap()[0].clone();
    // MariaDB keeps a log for crash recovery until a background thread has recorded that it is not needed.
    wait::until("the logs are deleted", wait::SOON, || {
        root.run(&format!("PURGE BINARY LOGS TO '{last}'"));
        root.run("SHOW BINARY LOGS").texts().len() == 1
    });
    let following = Following {
        proxy: Proxy::start(&settings),
        settings,
        folder,
    };
    let told = "SELECT count(*) FROM replication WHERE last_error LIKE '%deleted binary logs%missing%on_purged%'";
    following.wait_for("the gap is told", told);
    let missing = match product.is_mariadb() {
        true => "0-1-".to_owned(),
        false => root.value("SELECT @@server_uuid"),
    };
    let error = following.rows("SELECT last_error FROM replication");
    assert!(error[0][0].contains(&missing), "{error:?}");
    // The setting that the error message suggests.
    let text = following.settings.to_toml();
    let text = text.replace(
        "server_id = 4242",
        "server_id = 4242\non_purged = \"continue\"",
    );
    following.proxy.write_settings(&text);
    following.proxy.signal(e2e::Signal::HUP);
    following.wait_streaming();
    run(&server, &["CREATE TABLE shop.two (a INT)"]);
    following.wait_change("CREATE TABLE", "two");
    let rows = following.rows("SELECT object FROM schema_changes ORDER BY id");
    assert_eq!(rows, [["shop"], ["two"]]);
    // The object of the skipped statement is known all the same.
    let lost = "SELECT made_by IS NULL, until IS NULL FROM schema_versions WHERE object = 'lost'";
    assert_eq!(following.rows(lost), [["1", "1"]]);
}

#[test]
fn a_history_whose_disk_is_full_loses_no_change() {
    let server = start(Product::MariaDb);
    let disk = SmallDisk::new();
    let mut following = Following::start(&server, &[]);
    let file = disk.path().join("schemas.db");
    following.settings = following
        .settings
        .set("schema_history.file", file.to_str().unwrap());
    let following = following.again();
    following.wait_streaming();
    run(&server, &["CREATE DATABASE shop"]);
    following.wait_change("CREATE DATABASE", "shop");
    disk.fill(0);
    let comment = "x".repeat(1000);
    for number in 0..20 {
        let create = format!("CREATE TABLE shop.t{number} (a INT COMMENT '{comment}')");
        run(&server, &[&create]);
    }
    following.wait_for(
        "the full disk is shown",
        "SELECT count(*) FROM replication WHERE state = 'waiting' AND last_error LIKE '%disk is full%'",
    );
    disk.empty();
    following.wait_change("CREATE TABLE", "t19");
    let rows = following.rows("SELECT count(*), count(DISTINCT object) FROM schema_changes");
    assert_eq!(rows, [["21", "21"]]);
}

fn an_event_of_several_packets_is_read(product: Product) {
    let server = start_with(product, &["--max-allowed-packet=128M"]);
    let following = Following::start(&server, &[]);
    run(
        &server,
        &["CREATE DATABASE shop", "CREATE TABLE shop.t (a LONGBLOB)"],
    );
    let mut root = server.root();
    // Around the length of one packet, and longer than two. The crate's own tests have the exact lengths.
    let mut lengths = vec![16 << 20, (32 << 20) + 17];
    lengths.extend(((16 << 20) - 75..(16 << 20) - 40).step_by(7));
    for length in lengths {
        root.run(&format!(
            "INSERT INTO shop.t VALUES (REPEAT('x', {length}))"
        ));
        root.run("DELETE FROM shop.t");
    }
    root.run("CREATE TABLE shop.last_one (a INT)");
    following.wait_change("CREATE TABLE", "last_one");
    assert_eq!(following.rows("SELECT errors FROM replication"), [["0"]]);
}

fn a_reload_begins_and_ends_streams(product: Product) {
    let server = start(product);
    let following = Following::start(&server, &[]);
    let text = following.settings.to_toml();
    let without = text.split("[[replication]]").next().unwrap().to_owned();
    following.proxy.write_settings(&without);
    following.proxy.signal(e2e::Signal::HUP);
    following.wait_for("no stream", "SELECT count(*) = 0 FROM replication");
    run(&server, &["CREATE DATABASE shop"]);
    following.proxy.write_settings(&text);
    following.proxy.signal(e2e::Signal::HUP);
    following.wait_streaming();
    following.wait_change("CREATE DATABASE", "shop");
}

fn the_program_prints_what_a_server_changes_while_it_runs(product: Product) {
    let server = start(product);
    let following = Following::start(&server, &[]);
    let config = following.folder.path().join("live.toml");
    std::fs::write(&config, following.settings.to_toml()).unwrap();
    let mut program = Command::new(e2e::program())
        .args(["binlog", "main", "--ddl", "--server-id", "4343", "-c"])
        .arg(&config)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut root = server.root();
    wait::until("both are sent the log", wait::SOON, || {
        let threads = root.run("SHOW PROCESSLIST").texts();
        let dumps = threads
            .iter()
            .filter(|row| row[4].starts_with("Binlog Dump"));
        dumps.count() == 2
    });
    root.run("CREATE DATABASE shop");
    root.run("CREATE USER jane IDENTIFIED BY 'jane4711'");
    root.run("CREATE TABLE shop.one (a INT)");
    let output = BufReader::new(program.stdout.take().unwrap());
    let mut lines = output.lines().map(Result::unwrap);
    let printed: Vec<_> = lines.by_ref().take(6).collect();
    program.kill().unwrap();
    program.wait().unwrap();
    assert!(printed[0].starts_with("(DDL) thread-id = "), "{printed:?}");
    assert_eq!(printed[1], "QUERY: CREATE DATABASE shop");
    assert!(printed[3].contains("'<secret>'"), "{printed:?}");
    assert_eq!(printed[5], "QUERY: CREATE TABLE shop.one (a INT)");
    // Each has a server id of its own, so neither has ended the other's stream.
    assert_eq!(following.rows("SELECT errors FROM replication"), [["0"]]);
}
