//! The shipped scripts under sysbench: 64 threads over few connections, without errors and without growing memory.
//!
//! `make soak` gives it minutes: PILOTFISH_SCRIPT_SECONDS is the time for each, PILOTFISH_SCRIPTS names
//! scripts, those of one session joined by `+`; `rw-splitting@cluster` is that one over a primary with replicas.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use e2e::raw::{Login, RawConn};
use e2e::{Cluster, Folder, LeasedServer, PASSWORD, Product, Proxy, Server, Settings, sized, wait};

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

/// Scripts that run together under load.
const TOGETHER: &str = "keepalive+auditing+histogram";

/// How much memory may grow in the second half, which allows for noise. A leak of a hundred bytes a transaction is
/// more.
const RESIDENT_MAX_KIB: u64 = 16 << 10;
const LUA_MAX_KIB: f64 = 512.0;

/// The first script, which returns the memory that Lua uses.
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
    asked.map_or(sized(1, 2), |text| {
        text.parse().expect("PILOTFISH_SCRIPT_SECONDS")
    })
}

/// Transactions with reads and writes.
const WRITERS: &[&str] = &["oltp_read_write", "--threads=64"];

/// Half of the threads as above, and half with reads outside of transactions.
const SPLIT: [&[&str]; 2] = [
    &["oltp_read_write", "--threads=32"],
    &["oltp_read_only", "--skip-trx=on", "--threads=32"],
];

const OVER_CLUSTER: &str = "rw-splitting@cluster";

fn sysbench(port: u16, what: &[&str]) -> Command {
    let mut command = Command::new("sysbench");
    command
        .args(what)
        .args(["--tables=4", "--table-size=5000"])
        .args(["--mysql-host=127.0.0.1", "--mysql-db=sbtest"])
        .args(["--mysql-user=nopass", "--db-ps-mode=disable"])
        .arg(format!("--mysql-port={port}"));
    command
}

fn server(product: Product) -> LeasedServer {
    let server = Server::lease(product);
    prepare(&server);
    server
}

fn prepare(server: &Server) {
    server.root().run("CREATE DATABASE sbtest");
    let prepared = sysbench(server.port(), WRITERS).arg("prepare").output();
    let prepared = prepared.expect("sysbench is installed: run e2e/provision.sh first");
    assert!(prepared.status.success(), "{prepared:?}");
}

fn scripts_folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts"))
}

/// Waits for sysbench. Returns its outputs, and samples of the proxy's resident memory, in KiB.
fn run(mut loads: Vec<Child>, pid: u32, time: Duration) -> (Vec<String>, Vec<u64>) {
    let mut resident = vec![resident_kib(pid)];
    let pause = (time / 40).max(Duration::from_millis(50));
    while loads.iter_mut().any(|it| it.try_wait().unwrap().is_none()) {
        resident.push(resident_kib(pid));
        // The pause between two samples of memory.
        sleep(pause);
    }
    let texts = loads.into_iter().map(|load| {
        let output = load.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        text
    });
    (texts.collect(), resident)
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
    bears(Settings::pooled(server, 8), names, &[WRITERS]);
}

/// Runs the loads twice. Returns sysbench's output for each load, of both runs.
fn bears(settings: Settings, names: &str, loads: &[&[&str]]) -> Vec<String> {
    let folder = Folder::new("files");
    let probe = folder.path().join("probe.lua");
    fs::write(&probe, PROBE).unwrap();
    let mut files = vec![probe.display().to_string()];
    for name in names.split('+') {
        let name = name.split('@').next().unwrap();
        let file = scripts_folder().join(format!("{name}.lua"));
        assert!(file.exists(), "{}", file.display());
        files.push(file.display().to_string());
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let settings = settings
        .set("workers", 2)
        .set("pool.timeout_wait", "30s")
        .set("routing.script", &files[..]);
    let mut proxy = Proxy::start(&settings);
    let mut conn = proxy.connect_as(&Login::app());
    if names == "load-multi" {
        let loaded = scripts_folder().join("histogram.lua");
        conn.run(&format!("PLOAD {}", loaded.display()));
    }
    let time = Duration::from_secs(seconds());
    let (port, pid) = (proxy.port(), proxy.process().pid());
    let started = |seconds: u64| {
        let commands = loads.iter().map(|what| {
            let mut command = sysbench(port, what);
            command.arg(format!("--time={seconds}")).arg("run");
            command.stdout(Stdio::piped()).spawn().unwrap()
        });
        commands.collect()
    };
    let (mut all, _) = run(started(1), pid, Duration::from_secs(1));
    let lua_before = lua_kib(&mut conn);
    let (texts, resident) = run(started(time.as_secs()), pid, time);
    // Sessions of disconnected clients may not have ended yet.
    let lua_max = lua_before + LUA_MAX_KIB;
    let what = format!("{names}: Lua has less than {lua_max} KiB in use");
    let lua_after = wait::for_some(&what, wait::SOON, || {
        Some(lua_kib(&mut conn)).filter(|kib| *kib < lua_max)
    });
    // The first and last samples are left out, because sessions begin and end then.
    let (half, end) = (resident.len() / 2, resident.len() * 9 / 10);
    let (half, end) = (resident[half], resident[end]);
    for text in &texts {
        let said = |name: &str| {
            let line = text.lines().find(|line| line.contains(name));
            line.unwrap_or_else(|| panic!("{text}")).trim()
        };
        println!("{names}: {}; {}", said("transactions:"), said("errors:"));
        assert!(said("reconnects:").contains(" 0 "), "{text}");
    }
    println!(
        "{names}: {time:?}; resident KiB at half time {half}, at the end {end}; Lua KiB {lua_before}, \
         then {lua_after}"
    );
    assert!(end < half + RESIDENT_MAX_KIB, "{names}: {resident:?}");
    for line in proxy.log().lines() {
        assert!(
            !line.contains(" ERROR ") && !line.contains("panicked"),
            "{line}"
        );
    }
    all.extend(texts);
    all
}

/// The scripts named in PILOTFISH_SCRIPTS; none: all scripts.
fn asked() -> Option<Vec<String>> {
    let names = std::env::var("PILOTFISH_SCRIPTS").ok()?;
    Some(names.split_whitespace().map(str::to_owned).collect())
}

/// How many SELECTs a server has run.
fn selects(server: &Server) -> u64 {
    let shown = server.root().run("SHOW GLOBAL STATUS LIKE 'Com_select'");
    shown.texts()[0][1].parse().unwrap()
}

/// How many SELECTs sysbench has run.
fn reads(text: &str) -> u64 {
    let mut lines = text.lines().map(str::trim);
    let count = lines.find_map(|line| line.strip_prefix("read:"));
    count
        .unwrap_or_else(|| panic!("{text}"))
        .trim()
        .parse()
        .unwrap()
}

#[test]
fn shipped_scripts_serve_under_load() {
    let shipped = || SHIPPED.iter().map(|&name| name.to_owned()).collect();
    let mut names: Vec<String> = asked().unwrap_or_else(shipped);
    names.retain(|name| name != OVER_CLUSTER);
    if names.is_empty() {
        return;
    }
    let server = server(Product::MariaDb);
    for name in names {
        bears_a_load(&server, &name);
    }
}

#[test]
fn several_scripts_serve_under_load_together() {
    if asked().is_none() {
        bears_a_load(&server(Product::MySql), TOGETHER);
    }
}

#[test]
fn reads_and_writes_are_split_under_load() {
    if asked().is_some_and(|names| !names.iter().any(|name| name == OVER_CLUSTER)) {
        return;
    }
    let cluster = Cluster::start(Product::MariaDb, 2);
    prepare(&cluster.primary);
    cluster.wait_caught_up();
    let before: Vec<u64> = cluster.replicas.iter().map(selects).collect();
    let settings = Settings::of_cluster(&cluster)
        .account("nopass", "")
        .account("app", PASSWORD)
        // On a busy machine, a slow backend must not count as down.
        .set("health.timeout_connect", "60s")
        .set("pool.backend_connections_max", 8);
    let texts = bears(settings, OVER_CLUSTER, &SPLIT);
    // The number of reads outside of transactions.
    let reads: u64 = texts.iter().skip(1).step_by(2).map(|it| reads(it)).sum();
    assert!(reads > 0, "{texts:?}");
    for (replica, before) in cluster.replicas.iter().zip(before) {
        let read = selects(replica) - before;
        println!("{OVER_CLUSTER}: {read} SELECTs of {reads} at a replica");
        assert!(read > reads / 5, "{read} of {reads}");
    }
    cluster.wait_caught_up();
}

#[test]
fn every_shipped_script_is_named() {
    let found = fs::read_dir(scripts_folder()).unwrap();
    let names = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".lua").map(str::to_owned))
        // The script `admin` is for administrators, so it has no load.
        .filter(|name| name != "admin")
        .collect();
    names.sort();
    assert_eq!(names, SHIPPED);
}
