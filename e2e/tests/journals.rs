//! The logs of statements and logins.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use e2e::raw::{Login, RawConn};
use e2e::{Folder, Product, Proxy, Server, Settings, free_port, wait};
use serde_json::Value;

/// A proxy, and a folder that its logs are in.
struct Logged {
    folder: Folder,
    proxy: Proxy,
    settings: Settings,
    admin: u16,
}

impl Logged {
    fn start(more: impl FnOnce(Settings, &dyn Fn(&str) -> PathBuf) -> Settings) -> Self {
        let folder = Folder::new("files");
        let admin = free_port();
        let settings = Settings::pooled(Server::shared(Product::MariaDb), 4).admin_on(admin);
        let settings = more(settings, &|name| folder.path().join(name));
        let proxy = Proxy::start(&settings);
        Self {
            folder,
            proxy,
            settings,
            admin,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn lines(&self, name: &str) -> Vec<Value> {
        self.written(name, 0)
    }

    /// The file's lines, once there are `count` of them.
    fn written(&self, name: &str, count: usize) -> Vec<Value> {
        e2e::written::json_lines(&self.path(name), count)
    }

    fn root(&self) -> RawConn {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], self.admin));
        RawConn::connect(&address.into(), &Login::with("root", "all")).unwrap()
    }

    /// The columns of a log's row in `logs`: entries written and dropped.
    fn counts(&self, log: &str) -> (u64, u64) {
        let sql = format!("SELECT written, dropped FROM logs WHERE log = '{log}'");
        let row = self.root().run(&sql).texts().remove(0);
        (row[0].parse().unwrap(), row[1].parse().unwrap())
    }
}

#[test]
fn statements_are_logged_as_json_without_their_values() {
    let logged = Logged::start(|settings, path| settings.set("query_log.file", &path("queries")));
    let mut client = logged.proxy.connect();
    client.run("SELECT 'secret', 7");
    client.query("SELECT 'secret' FROM nowhere.nothing");
    let lines = logged.written("queries", 2);
    assert!(!logged.text("queries").contains("secret"));
    let (good, bad) = (&lines[0], &lines[1]);
    assert_eq!(good["statement"], "SELECT ?, ...");
    assert_eq!(
        (&good["user"], &good["account"]),
        (&"app".into(), &"'app'@'%'".into())
    );
    assert_eq!(
        (&good["session"], &good["rows_sent"]),
        (&client.id.into(), &1.into())
    );
    assert_eq!(good["error"], Value::Null);
    assert!(good["total_us"].as_u64() >= good["backend_us"].as_u64());
    assert!(good["time"].as_str().unwrap().ends_with('Z'));
    assert_eq!(bad["error"], 1146);
    wait::until("both are counted", wait::SOON, || {
        logged.counts("query_log") == (2, 0)
    });
}

#[test]
fn include_values_logs_values_and_sample_one_in_logs_a_sample() {
    let logged = Logged::start(|settings, path| {
        settings
            .set("query_log.file", &path("queries"))
            .set("query_log.include_values", true)
            .set("query_log.sample_one_in", 10)
    });
    let mut client = logged.proxy.connect();
    for number in 0..1000 {
        client.run(&format!("SELECT {number}"));
    }
    let (written, dropped) = wait::for_some("a sample is written", wait::SOON, || {
        let counts = logged.counts("query_log");
        (counts.0 >= 20).then_some(counts)
    });
    let lines = logged.written("queries", 20);
    assert!(lines.iter().all(|line| line["statement"] != "SELECT ?"));
    assert!(written < 400 && dropped == 0, "{written} {dropped}");
    let mut settings = logged.settings.clone();
    settings = settings
        .set("query_log.sample_one_in", 1)
        .set("query_log.per_second_max", 4);
    settings = settings.set("query_log.file", &logged.path("few"));
    logged.proxy.reload(&settings);
    wait::until("the other file is there", wait::SOON, || {
        client.run("SELECT 1");
        logged.path("few").exists()
    });
    for number in 0..300 {
        client.run(&format!("SELECT {number}"));
    }
    let few = logged.written("few", 1).len();
    assert!(few < 200, "{few}");
}

/// A schema's name or a statement's text that looks like the begin of an entry does not begin one.
#[test]
fn slow_statements_are_logged_in_the_servers_format() {
    let logged = Logged::start(|settings, path| {
        settings
            .set("slow_log.file", &path("slow"))
            .set("slow_log.threshold", "10m")
            .set("slow_log.include_values", true)
    });
    let mut root = Server::shared(Product::MariaDb).root();
    root.run("CREATE DATABASE IF NOT EXISTS `slow\n# log`");
    logged.proxy.connect().run("SELECT 'fast'");
    // The threshold is set after the fast statement, which may be slow on a busy machine.
    let threshold = "SET GLOBAL slow_log.threshold = '500ms'";
    logged.root().run(threshold);
    let login = Login::app().schema("slow\n# log");
    let mut client = logged.proxy.connect_as(&login);
    let hostile = "SELECT SLEEP(0.6) AS forged,\n# User@Host: forged[forged] @ [1.1.1.1]\n1";
    client.run(hostile);
    for seconds in ["0.6", "0.7"] {
        client.run(&format!("SELECT SLEEP({seconds}) AS nap;"));
    }
    wait::until("three entries", wait::SOON, || {
        logged.text("slow").matches("AS nap;\n").count() == 2
    });
    let text = logged.text("slow");
    root.run("DROP DATABASE `slow\n# log`");
    assert!(!text.contains("fast"), "{text}");
    let users = text
        .lines()
        .filter(|line| line.starts_with("# User@Host: "));
    let of_app = format!("# User@Host: app[app] @  [127.0.0.1]  Id: {}", client.id);
    assert_eq!(users.collect::<Vec<_>>(), [&*of_app; 3]);
    assert_eq!(
        text.lines()
            .filter(|line| line.starts_with("# Time: "))
            .count(),
        3
    );
    assert_eq!(
        text.lines()
            .filter(|line| line.starts_with("SET timestamp="))
            .count(),
        3
    );

    let digest = Command::new("pt-query-digest")
        .args(["--output", "json", "--no-version-check"])
        .arg(logged.path("slow"))
        .output()
        .expect("percona-toolkit is installed (e2e/provision.sh)");
    let told = String::from_utf8_lossy(&digest.stdout);
    assert!(digest.status.success(), "{digest:?}");
    let told: Value =
        serde_json::from_str(told.trim()).unwrap_or_else(|error| panic!("{error}: {told}"));
    let classes = told["classes"].as_array().unwrap();
    let nap = classes
        .iter()
        .find(|it| it["fingerprint"] == "select sleep(?) as nap");
    let nap = nap.unwrap_or_else(|| panic!("{classes:?}"));
    assert_eq!((&nap["query_count"], classes.len()), (&2.into(), 2));
    let sum: f64 = nap["metrics"]["Query_time"]["sum"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((0.13..60.0).contains(&sum), "{sum}");
}

#[test]
fn logins_ends_and_administration_are_in_the_audit_log() {
    let logged = Logged::start(|settings, path| settings.set("audit_log.file", &path("audit")));
    let client = logged.proxy.connect();
    let id = client.id;
    client.quit();
    let refused = RawConn::connect(
        &logged.proxy.address(),
        &Login::with("app", "not-the-password"),
    );
    assert!(refused.is_err());
    // Waits for the entries of both sessions.
    logged.written("audit", 3);
    let mut root = logged.root();
    root.run("RESET DIGESTS");
    root.query("KILL 12");
    root.run("UPDATE settings SET value = '7s' WHERE name = 'limits.timeout_login'");
    root.run("UPDATE backends SET weight = 4242");
    root.quit();
    let lines = logged.written("audit", 9);
    let events: Vec<_> = lines
        .iter()
        .map(|line| {
            let text = |name: &str| line[name].as_str().unwrap().to_owned();
            (text("event"), text("port"), text("user"))
        })
        .collect();
    let event = |event: &str, port: &str, user: &str| (event.into(), port.into(), user.into());
    for expected in [
        event("login", "clients", "app"),
        event("disconnect", "clients", "app"),
        event("login_failed", "clients", "app"),
        event("login", "admin", "root"),
        event("administration", "admin", "root@127.0.0.1"),
        event("disconnect", "admin", "root"),
    ] {
        assert!(events.contains(&expected), "{expected:?}: {events:?}");
    }
    assert_eq!(lines[0]["session"], id);
    let details: Vec<_> = lines
        .iter()
        .map(|line| line["detail"].as_str().unwrap())
        .collect();
    assert!(
        details.iter().any(|it| it.starts_with("login_denied: ")),
        "{details:?}"
    );
    assert!(details.contains(&"RESET DIGESTS"), "{details:?}");
    assert!(
        details.contains(&"KILL 12: refused, error 1094"),
        "{details:?}"
    );
    assert!(
        details[6].ends_with("-- limits.timeout_login"),
        "{details:?}"
    );
    assert!(details[7].ends_with(".weight"), "{details:?}");
    let text = logged.text("audit");
    assert!(!text.contains("not-the-password"), "{text}");
    // Only the details are searched, because a port or a time may have these digits.
    assert!(!details.concat().contains("4242"), "{text}");
    let is_from = |line: &Value| {
        line["client"]
            .as_str()
            .is_some_and(|it| it.contains("127.0.0.1:"))
    };
    assert!(lines.iter().all(is_from), "{text}");
}

#[test]
fn changes_of_user_and_failed_logins_over_http_are_in_the_audit_log() {
    let http = free_port();
    let logged = Logged::start(|settings, path| {
        settings
            .set("audit_log.file", &path("audit"))
            .set("http.address", [format!("127.0.0.1:{http}").as_str()])
    });
    let mut client = logged.proxy.connect();
    let id = client.id;
    client
        .change_user(&Login::with("app", "secret"))
        .unwrap_err();
    let mut client = logged.proxy.connect();
    client.change_user(&Login::app()).unwrap();
    let line = |words: &[&str]| {
        wait::for_some(&format!("{words:?} is noted"), wait::SOON, || {
            let text = logged.text("audit");
            let mut lines = text.lines();
            let line = lines.find(|line| words.iter().all(|word| line.contains(word)))?;
            serde_json::from_str::<Value>(line).ok()
        })
    };
    let refused = line(&["change_user_failed"]);
    assert_eq!(
        (&refused["session"], &refused["user"]),
        (&id.into(), &"app".into())
    );
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.starts_with("was app; login_denied: "), "{detail}");
    let changed = line(&["\"change_user\""]);
    assert_eq!(changed["detail"], "was app");
    assert_eq!(changed["port"], "clients");

    for (header, user) in [
        ("Basic cm9vdDpzZWNyZXQ=", "root"),
        ("Bearer secret", "token"),
        ("Basic ???", ""),
    ] {
        let answer = e2e::http::Http::new(http).header("authorization", header);
        assert_eq!(answer.get("/api/tables").status, 401);
        let user = format!("\"user\":\"{user}\"");
        let noted = line(&["login_failed", "\"port\":\"http\"", &user]);
        assert_eq!(noted["detail"], "/api/tables");
    }
    assert!(!logged.text("audit").contains("secret"));
}

#[test]
fn a_missing_log_folder_is_logged_once_and_its_return_too() {
    let logged = Logged::start(|settings, path| {
        fs::create_dir(path("below")).unwrap();
        settings.set("query_log.file", &path("below/queries"))
    });
    let mut client = logged.proxy.connect();
    client.run("SELECT 'before'");
    logged.written("below/queries", 1);
    fs::rename(logged.path("below"), logged.path("moved")).unwrap();
    for _ in 0..20 {
        client.run("SELECT 'meanwhile'");
    }
    wait::until("they are dropped", wait::SOON, || {
        logged.counts("query_log").1 == 20
    });
    let trouble = "SELECT trouble FROM logs WHERE log = 'query_log'";
    logged.proxy.wait_event("log_write_failed", &[]);
    assert!(logged.root().value(trouble).contains("No such file"));
    assert_eq!(logged.proxy.count_events("log_write_failed"), 1);
    fs::create_dir(logged.path("below")).unwrap();
    wait::until("it is written again", wait::SOON, || {
        client.run("SELECT 'after'");
        !logged.text("below/queries").is_empty()
    });
    logged.proxy.wait_event("log_written_again", &[]);
    let is_well = "SELECT trouble IS NULL FROM logs WHERE log = 'query_log'";
    assert_eq!(logged.root().value(is_well), "1");
    assert_eq!(logged.lines("moved/queries").len(), 1);
}

#[test]
fn a_moved_log_file_is_reopened() {
    let logged = Logged::start(|settings, path| settings.set("query_log.file", &path("queries")));
    let mut client = logged.proxy.connect();
    client.run("SELECT 1");
    logged.written("queries", 1);
    fs::rename(logged.path("queries"), logged.path("moved")).unwrap();
    logged.proxy.reload(&logged.settings);
    wait::until("a new file is there", wait::SOON, || {
        client.run("SELECT 2");
        logged.path("queries").exists()
    });
}

/// A device that accepts no byte, from the first entry on.
#[test]
fn a_full_disk_stops_no_session_and_is_logged_once() {
    const LOGS: [&str; 3] = ["query_log", "slow_log", "audit_log"];
    let logged = Logged::start(|settings, _| {
        let full =
            |settings: Settings, log: &str| settings.set(&format!("{log}.file"), "/dev/full");
        let settings = LOGS.into_iter().fold(settings, full);
        settings
            .set("slow_log.threshold", "0s")
            .set("profiling.file", "/dev/full")
            .set("profiling.sample_one_in", 1)
    });
    let mut client = logged.proxy.connect();
    for number in 0..50 {
        assert_eq!(
            client.value(&format!("SELECT {number}")),
            number.to_string()
        );
    }
    for log in LOGS {
        wait::until(&format!("{log} drops"), wait::SOON, || {
            let (written, dropped) = logged.counts(log);
            assert_eq!(written, 0, "{log}");
            dropped >= if log == "audit_log" { 1 } else { 50 }
        });
        let warned = format!("log=\"{log}\"");
        logged.proxy.wait_event("log_write_failed", &[&warned]);
        let trouble = format!("SELECT trouble FROM logs WHERE log = '{log}'");
        let trouble = logged.root().value(&trouble);
        assert!(trouble.contains("No space left"), "{trouble}");
    }
    wait::until("profiles are dropped", wait::SOON, || {
        logged
            .root()
            .value("SELECT dropped > 0 FROM logs WHERE log = 'profiling'")
            == "1"
    });
    logged
        .proxy
        .wait_event("log_write_failed", &["log=\"profiling\""]);
    assert_eq!(logged.proxy.count_events("log_write_failed"), 4);
    // The proxy still accepts new sessions.
    assert_eq!(logged.proxy.connect().value("SELECT 1"), "1");
    logged.proxy.assert_sound();
}

#[test]
fn a_missing_log_folder_does_not_stop_the_start() {
    let logged = Logged::start(|settings, path| {
        settings
            .set("query_log.file", &path("later/queries"))
            .set("audit_log.file", &path("later/audit"))
    });
    let mut client = logged.proxy.connect();
    for _ in 0..20 {
        client.run("SELECT 'too early'");
    }
    wait::until("they are dropped", wait::SOON, || {
        logged.counts("query_log") == (0, 20)
    });
    fs::create_dir(logged.path("later")).unwrap();
    wait::until("it is written", wait::SOON, || {
        client.run("SELECT 'in time'");
        !logged.text("later/queries").is_empty()
    });
    logged.proxy.assert_sound();
}
