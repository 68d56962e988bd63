//! The program's life: start, faulty settings, reload, drain, signals.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use e2e::raw::{Login, RawConn, Shape};
use e2e::{Folder, Process, Product, Proxy, Server, Settings, Signal, free_port, wait, written};

fn server() -> &'static Server {
    Server::shared(Product::MariaDb)
}

fn settings() -> Settings {
    Settings::in_front_of([server()])
}

/// Sends a statement that runs until the returned connection is dropped.
fn run_on(conn: &mut RawConn) -> RawConn {
    let mut root = server().root();
    let id = conn.id;
    root.run(&format!("SELECT GET_LOCK('held against {id}', 0)"));
    conn.send_query(&format!("SELECT 'ran', GET_LOCK('held against {id}', 600)"))
        .unwrap();
    let ask = format!("SELECT state FROM information_schema.processlist WHERE id = {id}");
    wait::until("it runs", wait::SOON, || root.value(&ask) == "User lock");
    root
}

#[test]
fn a_stop_lets_a_running_statement_finish() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut proxy = Proxy::start(&settings().set("timeout_drain", "60s"));
        let mut running = proxy.connect();
        let mut idle = proxy.connect();
        let holder = run_on(&mut running);
        proxy.signal(signal);
        assert!(idle.is_closed_by_server() || idle.try_query("DO 1").is_err());
        drop(holder);
        let reply = running.reply(Shape::Results);
        assert_eq!(reply.text(0, 0).unwrap(), "ran");
        let status = proxy.process().wait_ended(wait::SOON);
        assert!(status.success(), "{status}");
    }
}

#[test]
fn a_stop_refuses_new_clients() {
    let proxy = Proxy::start(&settings().set("timeout_drain", "60s"));
    let mut running = proxy.connect();
    let holder = run_on(&mut running);
    proxy.signal(Signal::TERM);
    proxy.wait_event("stopping", &[]);
    assert!(std::net::TcpStream::connect(proxy.tcp()).is_err());
    drop(holder);
    assert_eq!(running.reply(Shape::Results).text(0, 0).unwrap(), "ran");
}

#[test]
fn a_stop_lets_a_transaction_finish() {
    let mut proxy = Proxy::start(&settings().set("timeout_drain", "60s"));
    let mut conn = proxy.connect();
    conn.run("BEGIN");
    conn.run("SELECT 1");
    proxy.signal(Signal::TERM);
    proxy.wait_event("stopping", &[]);
    conn.run("SELECT 'still there'");
    conn.send_query("COMMIT").unwrap();
    assert!(conn.reply(Shape::Results).error().is_none());
    let status = proxy.process().wait_ended(wait::SOON);
    assert!(status.success());
}

#[test]
fn a_stop_ends_sessions_that_take_too_long() {
    for tls in [false, true] {
        let mut proxy = Proxy::start(&settings().set("timeout_drain", "300ms"));
        let mut login = Login::app();
        login.tls = tls.then(Default::default);
        let mut conn = proxy.connect_as(&login);
        let _holder = run_on(&mut conn);
        proxy.signal(Signal::TERM);
        assert_eq!(conn.reply(Shape::Results).error().unwrap().code, 1053);
        let status = proxy.process().wait_ended(wait::SOON);
        assert!(status.success(), "{status}");
    }
}

#[test]
fn a_reload_takes_other_backends() {
    let (one, two) = (
        Server::shared(Product::MariaDb),
        Server::shared(Product::MySql),
    );
    let proxy = Proxy::start(&Settings::in_front_of([one]));
    let mut before = proxy.connect();
    assert!(before.version.contains("MariaDB"));
    proxy.reload(&Settings::in_front_of([two]));
    wait::until("new sessions go to the other", wait::SOON, || {
        !proxy.connect().version.contains("MariaDB")
    });
    // Running sessions are not disturbed.
    before.run("SELECT 1");
}

#[test]
fn a_faulty_reload_changes_nothing() {
    let proxy = Proxy::start(&settings());
    let mut before = proxy.connect();
    proxy.write_settings("listen = [\"127.0.0.1:1\"]\n[balance]\npolicy = \"wishful\"\n");
    proxy.signal(Signal::HUP);
    proxy.wait_event("config_faulty", &["wishful"]);
    before.run("SELECT 1");
    proxy.connect().run("SELECT 1");
    proxy.reload(&settings().set("limits.sessions_max", 77));
    proxy.wait_event("config_changed", &["sessions_max", "77"]);
    before.run("SELECT 1");
}

#[test]
fn a_reload_changes_limits_while_sessions_run() {
    let proxy = Proxy::start(&settings());
    let mut kept: Vec<RawConn> = (0..3).map(|_| proxy.connect()).collect();
    proxy.reload(&settings().set("limits.sessions_max", 1));
    wait::until("new sessions are refused", wait::SOON, || {
        let refused = RawConn::connect(&proxy.address(), &Login::app());
        refused.is_err_and(|error| error.refusal().code == 1040)
    });
    kept.iter_mut().for_each(|conn| {
        conn.run("SELECT 1");
    });
}

#[test]
fn a_check_prints_every_fault_with_its_line() {
    let folder = Folder::new("check");
    let file = folder.write(
        "faulty.toml",
        "workers = \"many\"\n\n[limits]\nsessions_max = 0\nsesions_max = 5\n\n[balance]\npolicy = \"x\"\n",
    );
    let file = file.display().to_string();
    let (status, text) = Proxy::run_to_the_end(&["--check", "--config", &file]);
    assert_eq!(status.code(), Some(1), "{text}");
    for place in [":1:", ":4:", ":5:", ":8:"] {
        assert!(
            text.contains(&format!("faulty.toml{place}")),
            "no {place} in {text}"
        );
    }
    let sound = folder.write("sound.toml", settings().to_toml());
    let sound = sound.display().to_string();
    let (status, text) = Proxy::run_to_the_end(&["--check", "--config", &sound]);
    assert!(status.success(), "{text}");
    let (status, text) = Proxy::run_to_the_end(&["--config", &file]);
    assert_eq!(
        status.code(),
        Some(1),
        "it does not start with faults: {text}"
    );
}

#[test]
fn the_start_fails_with_the_address_that_is_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let listen = format!("--listen={address}");
    let backend = format!("--backend={}", server().tcp());
    let (status, text) = Proxy::run_to_the_end(&[&listen, &backend]);
    assert_eq!(status.code(), Some(1), "{text}");
    assert!(text.contains(&address) && text.contains("in use"), "{text}");
}

#[test]
fn the_pid_file_exists_while_the_proxy_runs() {
    let folder = Folder::new("pid");
    let file = folder.join("pid");
    let mut proxy = Proxy::start(&settings().set("pid_file", &file));
    let pid = std::fs::read_to_string(&file).unwrap();
    assert_eq!(pid.trim(), proxy.process().pid().to_string());
    proxy.stop();
    assert!(!file.exists());
}

#[test]
fn the_log_can_be_json_in_a_file() {
    let folder = Folder::new("log");
    let file = folder.join("log");
    let proxy = Proxy::start(&settings().set("log.format", "json").set("log.file", &file));
    assert!(RawConn::connect(&proxy.address(), &Login::with("app", "wrong")).is_err());
    let line = wait::for_some("the refused login is logged", wait::SOON, || {
        let mut lines = written::lines(&file).into_iter();
        lines.find(|line| line.contains("login_refused"))
    });
    let _: serde_json::Value = serde_json::from_str(&line).unwrap();
    // A reload reopens the log file after it was moved.
    let moved = folder.join("log.1");
    std::fs::rename(&file, &moved).unwrap();
    proxy.signal(Signal::HUP);
    wait::until("the file is there again", wait::SOON, || file.exists());
}

#[test]
fn systemd_can_pass_the_listening_sockets() {
    let listener = TcpListener::bind(("127.0.0.1", free_port())).unwrap();
    let address = listener.local_addr().unwrap();
    let folder = Folder::new("systemd");
    // The shell passes the socket as systemd does: as descriptor 3, with the variables that announce it.
    let script = "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(e2e::program());
    command.arg(format!("--backend={}", server().tcp()));
    command.stdin(Stdio::from(OwnedFd::from(listener)));
    let process = Process::start_with_input("pilotfish", command, &folder.join("log"));
    let mut conn = wait::for_some("it serves", wait::SOON, || {
        RawConn::connect(&address.into(), &Login::app()).ok()
    });
    conn.run("SELECT 1");
    drop(process);
}

#[test]
fn version_and_help_are_printed() {
    let (status, text) = Proxy::run_to_the_end(&["--version"]);
    assert!(status.success() && text.contains("ilotfish"), "{text}");
    let (status, text) = Proxy::run_to_the_end(&["--help"]);
    assert!(status.success() && text.contains("--backend"), "{text}");
    let (status, text) = Proxy::run_to_the_end(&["--no-such-option"]);
    assert!(
        !status.success() && text.contains("no-such-option"),
        "{text}"
    );
}
