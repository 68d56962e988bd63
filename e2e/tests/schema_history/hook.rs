//! A program, a webhook and a script that receive each change.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use super::*;

both! {
    a_hook_gets_each_change_until_it_succeeds
    a_webhook_and_a_script_get_changes_independently
}

fn a_hook_gets_each_change_until_it_succeeds(product: Product) {
    let server = start(product);
    let hook = Folder::new("files");
    let [told, ready] = ["told", "ready"].map(|name| hook.path().join(name));
    let script = format!(
        "test -e {} || {{ echo not yet >&2; exit 3; }}; cat >> {}",
        ready.display(),
        told.display()
    );
    let settings =
        Settings::in_front_of([&*server]).set("schema_history.hook", ["sh", "-c", &script]);
    let following = Following::start_with(settings, &[&server], &[]);
    run(
        &server,
        &["CREATE DATABASE shop", "CREATE TABLE shop.goods (id INT)"],
    );
    following
        .proxy
        .wait_event("schema_hook_failed", &["not yet", "exit status: 3"]);
    assert!(!told.exists());
    std::fs::write(&ready, "").unwrap();
    // A change is sent again if the proxy ends after the program took it and before the proxy recorded that.
    let changes = || -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(&told).unwrap_or_default();
        let lines = text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        let mut changes: Vec<serde_json::Value> = lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        changes.dedup_by(|next, change| next["id"] == change["id"]);
        changes
    };
    let wait_changes = |count: usize| {
        wait::until("the hook is told", wait::SOON, || changes().len() >= count);
    };
    wait_changes(2);
    let following = following.again();
    run(&server, &["ALTER TABLE shop.goods ADD stock INT"]);
    wait_changes(3);
    let changes = changes();
    let kinds: Vec<_> = changes
        .iter()
        .map(|it| it["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["CREATE DATABASE", "CREATE TABLE", "ALTER TABLE"]);
    assert_eq!(
        changes[2]["statement"],
        "ALTER TABLE shop.goods ADD stock INT"
    );
    assert_eq!(changes[2]["schema"], "shop");
    assert_eq!(changes[2]["object"], "goods");
    let gtid = following.rows("SELECT gtid FROM schema_changes ORDER BY id DESC LIMIT 1");
    assert_eq!(changes[2]["gtid"], gtid[0][0]);
}

/// An HTTP server that refuses its first request, and keeps the bodies of all requests.
struct Listener {
    port: u16,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let mut length = 0;
                let mut line = String::new();
                while reader.read_line(&mut line).unwrap() > 2 {
                    if let Some(value) = line.strip_prefix("content-length: ") {
                        length = value.trim().parse().unwrap();
                    }
                    line.clear();
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                let mut bodies = kept.lock().unwrap();
                let answer = match bodies.is_empty() {
                    true => "HTTP/1.1 503 Later\r\ncontent-length: 0\r\n\r\n",
                    false => "HTTP/1.1 204 No Content\r\n\r\n",
                };
                bodies.push(String::from_utf8(body).unwrap());
                reader.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        });
        Self { port, bodies }
    }

    fn kinds(&self) -> Vec<String> {
        let bodies = self.bodies.lock().unwrap();
        let kind = |body: &String| {
            let change: serde_json::Value = serde_json::from_str(body).unwrap();
            change["kind"].as_str().unwrap().to_owned()
        };
        bodies.iter().map(kind).collect()
    }
}

fn a_webhook_and_a_script_get_changes_independently(product: Product) {
    let server = start(product);
    let folder = Folder::new("files");
    let [script, told] = ["change.lua", "told"].map(|name| folder.path().join(name));
    let text = |body: &str| format!("function on_schema_change(change)\n{body}\nend\n");
    std::fs::write(&script, text("error('not yet')")).unwrap();
    let listener = Listener::start();
    let webhook = format!("http://127.0.0.1:{}/changes", listener.port);
    let settings = Settings::in_front_of([&*server])
        .set("schema_history.webhook", webhook.as_str())
        .set("schema_history.script", script.to_str().unwrap());
    let following = Following::start_with(settings, &[&server], &[]);
    run(
        &server,
        &["CREATE DATABASE shop", "CREATE TABLE shop.goods (id INT)"],
    );
    following
        .proxy
        .wait_event("schema_hook_failed", &["receiver=\"webhook\"", "503"]);
    following
        .proxy
        .wait_event("schema_hook_failed", &["receiver=\"script\"", "not yet"]);
    // The first change is sent again, then the second. The failing script delays no other receiver.
    wait::until("the webhook is told", wait::SOON, || {
        listener.kinds().len() >= 3
    });
    let kinds = listener.kinds();
    assert_eq!(
        kinds,
        ["CREATE DATABASE", "CREATE DATABASE", "CREATE TABLE"]
    );
    let body = format!(
        "local file = io.open('{}', 'a')\nfile:write(change.kind, ' ', change.object, '\\n')\nfile:close()",
        told.display()
    );
    std::fs::write(&script, text(&body)).unwrap();
    let lines = || std::fs::read_to_string(&told).unwrap_or_default();
    wait::until("the script is told", wait::SOON, || {
        lines() == "CREATE DATABASE shop\nCREATE TABLE goods\n"
    });
}
