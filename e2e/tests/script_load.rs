//! The shipped scripts under sysbench: 64 threads over few connections, no error, and nothing that grows.
//!
//! `make soak` gives it minutes: PILOTFISH_SCRIPT_SECONDS is the time for each, PILOTFISH_SCRIPTS names
//! scripts, those of one session joined by `+`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use e2e::raw::{Login, RawConn};
use e2e::{Product, Proxy, Server, Settings};

const SHIPPED: &[&str] = &[
    "active-queries",
    "active-transactions",
    "auditing",
    "histogram",
    "keepalive",
    "load-multi",
    "rewrite",
    "rw-splitting",
    "union",
    "warnings",
    "xtab",
];

/// Those that are under load together.
const TOGETHER: &str = "keepalive+auditing+histogram";

/// What memory may grow by in the second half, beside noise: a leak of a hundred bytes a transaction is more.
const RESIDENT_MAX_KIB: u64 = 16 << 10;
const LUA_MAX_KIB: f64 = 512.0;

/// Stands in front of the others and tells how much Lua has in use.
const PROBE: &str = r#"
    function read_query(packet)
        if packet:sub(2) ~= "SELECT lua_kib" then return end
        collectgarbage()
        proxy.response = {
            type = proxy.MYSQLD_PACKET_OK,
            resultset = {
                fields = { { name = "kib", type = proxy.MYSQL_TYPE_STRING } },
                rows = { { ("%.1f"):format(collectgarbage("count")) } },
            },
        }
        return proxy.PROXY_SEND_RESULT
    end
"#;

fn seconds() -> u64 {
    let asked = std::env::var("PILOTFISH_SCRIPT_SECONDS").ok();
    asked.map_or(2, |text| text.parse().expect("PILOTFISH_SCRIPT_SECONDS"))
}

fn sysbench(port: u16) -> Command {
    let mut command = Command::new("sysbench");
    command
        .args(["oltp_read_write", "--tables=4", "--table-size=5000"])
        .args(["--mysql-host=127.0.0.1", "--mysql-db=sbtest"])
        .args(["--mysql-user=nopass", "--db-ps-mode=disable"])
        .arg(format!("--mysql-port={port}"));
    command
}

fn server(product: Product) -> Server {
    let server = Server::start(product, &[]);
    server.root().run("CREATE DATABASE sbtest");
    let prepared = sysbench(server.port()).arg("prepare").output();
    let prepared = prepared.expect("sysbench is installed: run e2e/provision.sh first");
    assert!(prepared.status.success(), "{prepared:?}");
    server
}

fn scripts_folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts"))
}

/// Sysbench's run, and the proxy's resident memory meanwhile, in KiB.
fn run(mut load: Child, pid: u32, time: Duration) -> (String, Vec<u64>) {
    let mut resident = Vec::new();
    let pause = (time / 40).max(Duration::from_millis(50));
    while load.try_wait().unwrap().is_none() {
        resident.push(resident_kib(pid));
        sleep(pause);
    }
    let output = load.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    (text, resident)
}

fn resident_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let words = line.unwrap().split_whitespace().nth(1);
    words.unwrap().parse().unwrap()
}

fn lua_kib(conn: &mut RawConn) -> f64 {
    conn.value("SELECT lua_kib").parse().unwrap()
}

fn bears_a_load(server: &Server, names: &str) {
    let folder = tempfile::tempdir().unwrap();
    let probe = folder.path().join("probe.lua");
    fs::write(&probe, PROBE).unwrap();
    let mut files = vec![probe.display().to_string()];
    for name in names.split('+') {
        let file = scripts_folder().join(format!("{name}.lua"));
        assert!(file.exists(), "{}", file.display());
        files.push(file.display().to_string());
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let settings = Settings::pooled(server, 8)
        .set("workers", 2)
        .set("pool.timeout_wait", "30s")
        .set("script.file", &files[..]);
    let mut proxy = Proxy::start(&settings);
    let mut conn = proxy.connect_as(&Login::app());
    if names == "load-multi" {
        let loaded = scripts_folder().join("histogram.lua");
        conn.run(&format!("PLOAD {}", loaded.display()));
    }
    let time = Duration::from_secs(seconds());
    let (port, pid) = (proxy.port(), proxy.process().pid());
    let started = |seconds: u64| {
        let mut command = sysbench(port);
        command.args(["--threads=64", "run"]);
        command.arg(format!("--time={seconds}"));
        command.stdout(Stdio::piped());
        command.spawn().unwrap()
    };
    run(started(1), pid, Duration::from_secs(1));
    let lua_before = lua_kib(&mut conn);
    let (text, resident) = run(started(time.as_secs()), pid, time);
    let lua_after = lua_kib(&mut conn);
    let said = |name: &str| {
        let line = text.lines().find(|line| line.contains(name));
        line.unwrap_or_else(|| panic!("{text}"))
    };
    // Sessions come and go at both ends.
    let (half, end) = (resident.len() / 2, resident.len() * 9 / 10);
    let (half, end) = (resident[half], resident[end]);
    println!(
        "{:?} {names}: {} in {time:?}; resident KiB at half time {half}, at the end {end}; \
         Lua KiB {lua_before}, then {lua_after}",
        server.product,
        said("transactions:").trim(),
    );
    assert!(said("reconnects:").contains(" 0 "), "{text}");
    assert!(end < half + RESIDENT_MAX_KIB, "{names}: {resident:?}");
    assert!(lua_after < lua_before + LUA_MAX_KIB, "{names}: {lua_after}");
    for line in proxy.log().lines() {
        assert!(
            !line.contains(" ERROR ") && !line.contains("panicked"),
            "{line}"
        );
    }
}

#[test]
fn shipped_scripts_bear_a_load() {
    let asked = std::env::var("PILOTFISH_SCRIPTS").ok();
    let names: Vec<&str> = match &asked {
        Some(names) => names.split_whitespace().collect(),
        None => SHIPPED.to_vec(),
    };
    let server = server(Product::MariaDb);
    for names in names {
        bears_a_load(&server, names);
    }
}

#[test]
fn several_scripts_bear_a_load_together() {
    if std::env::var("PILOTFISH_SCRIPTS").is_err() {
        bears_a_load(&server(Product::MySql), TOGETHER);
    }
}

#[test]
fn every_shipped_script_is_named() {
    let found = fs::read_dir(scripts_folder()).unwrap();
    let names = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".lua").map(str::to_owned))
        // That is for administrators, who are few.
        .filter(|name| name != "admin")
        .collect();
    names.sort();
    assert_eq!(names, SHIPPED);
}
