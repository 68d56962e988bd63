//! Changes over HTTP: settings, backends, rules, accounts, the file, counters.

use std::fs;

use e2e::http::{Answer, Http};
use e2e::{Folder, Product, wait};
use serde_json::{Value, json};

use super::{LOOK, ROOT, Watched, rows, unserved};

/// A client that sends changes.
struct Doer(Http);

impl Doer {
    fn new(watched: &Watched, who: &str) -> Self {
        let http = Http::new(watched.port).basic(who);
        Self(http.header("content-type", "application/json"))
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.0.ask(method, path, Some(&body.to_string()))
    }

    /// Sends a change, and returns the answer's body.
    #[track_caller]
    fn does(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.ask(method, path, body);
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text());
        answer.json()
    }

    #[track_caller]
    fn refused(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let answer = self.0.ask(method, path, Some(body));
        assert!(answer.status >= 400, "{method} {path}: {}", answer.text());
        (answer.status, answer.complaint())
    }

    #[track_caller]
    fn rows(&self, question: &str) -> Vec<Value> {
        rows(&self.0.get(&format!("/api/{question}")))
    }
}

#[test]
fn settings_are_changed_listed_and_saved() {
    let watched = Watched::with_admin_port(unserved());
    let root = Doer::new(&watched, ROOT);
    let holds =
        || root.rows("tables/settings?name=limits.sessions_max&columns=value")[0][0].clone();
    let before = holds();
    let wanted = json!({"limits.sessions_max": 4321, "limits.timeout_login": "61s", "check": true});
    let foreseen = root.does("PATCH", "/api/settings", &wanted);
    let expected = json!([
        ["limits.sessions_max", before, "4321", "now"],
        ["limits.timeout_login", "1m", "61s", "now"],
    ]);
    assert_eq!(foreseen["rows"], expected);
    assert_eq!((holds(), root.rows("changes")), (before.clone(), vec![]));

    let wanted = json!({"limits.sessions_max": 4321, "limits.timeout_login": "61s"});
    assert_eq!(root.does("PATCH", "/api/settings", &wanted)["done"], true);
    assert_eq!(holds(), "4321");
    assert_eq!(root.rows("changes"), *expected.as_array().unwrap());
    // If one setting is invalid, no other setting changes either.
    let wanted = json!({"limits.sessions_max": 1, "limits.timeout_login": "never"});
    let (status, text) = root.refused("PATCH", "/api/settings", &wanted.to_string());
    assert!(
        status == 400 && text.contains("limits.timeout_login"),
        "{text}"
    );
    assert_eq!(holds(), "4321");

    root.does("POST", "/api/save", &json!({}));
    let file = fs::read_to_string(watched.proxy.config_file()).unwrap();
    assert!(file.contains("sessions_max = 4321"), "{file}");
    assert_eq!(root.rows("changes"), [] as [Value; 0]);
    root.does(
        "PATCH",
        "/api/settings",
        &json!({"limits.sessions_max": null, "workers": 3}),
    );
    assert_eq!(root.rows("changes").len(), 2);
    root.does("POST", "/api/revert", &json!({}));
    assert_eq!((holds(), root.rows("changes")), (json!("4321"), vec![]));
}

#[test]
fn backends_are_added_changed_and_removed() {
    let watched = Watched::with_admin_port(unserved());
    let root = Doer::new(&watched, ROOT);
    let backend = || {
        let columns = "address,weight,draining,disabled,role";
        root.rows(&format!("tables/backends?name=db/2&columns={columns}"))
    };
    let added = json!({"name": "db/2", "address": "127.0.0.1:1", "role": "replica", "weight": 2});
    let checked = json!({"name": "db/2", "address": "127.0.0.1:1", "check": true});
    assert_eq!(
        root.does("POST", "/api/backends", &checked)["rows"][0][0],
        "backend[db/2]"
    );
    assert_eq!(backend(), [] as [Value; 0]);
    assert_eq!(root.does("POST", "/api/backends", &added)["changed"], 1);
    assert_eq!(backend(), [json!(["127.0.0.1:1", 2, 0, 0, "replica"])]);
    let path = "/api/backends/db%2F2";
    let changed = json!({"weight": 5, "drain": true, "role": "primary"});
    assert_eq!(root.does("PATCH", path, &changed)["changed"], 1);
    assert_eq!(backend(), [json!(["127.0.0.1:1", 5, 1, 0, "primary"])]);
    root.does(
        "PATCH",
        path,
        &json!({"weight": null, "drain": false, "disable": true}),
    );
    assert_eq!(backend(), [json!(["127.0.0.1:1", 1, 0, 1, "primary"])]);
    let lines = fs::read_to_string(watched.proxy.config_file()).unwrap();
    assert!(!lines.contains("db/2"), "{lines}");
    // Names are case-sensitive.
    for (named, body) in [
        ("DB%2F2", r#"{"weight": 7}"#),
        ("x'%20OR%201=1;--", r#"{"weight": 7}"#),
    ] {
        let path = format!("/api/backends/{named}");
        let (status, text) = root.refused("PATCH", &path, body);
        assert!(
            status == 404 && text.contains("There is no backend"),
            "{text}"
        );
        let foreseen = r#"{"weight": 7, "check": true}"#;
        assert_eq!(root.refused("PATCH", &path, foreseen).0, 404);
        assert_eq!(root.refused("DELETE", &path, "").0, 404);
    }
    assert_eq!(root.does("DELETE", path, &json!({}))["changed"], 1);
    assert_eq!(backend(), [] as [Value; 0]);
    assert_eq!(root.refused("DELETE", path, "").0, 404);
    // The last backend cannot be removed, as over SQL.
    let last = root.rows("tables/backends?columns=name")[0][0]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        root.refused("DELETE", &format!("/api/backends/{last}"), "")
            .0,
        400
    );
}

#[test]
fn rules_and_accounts_are_added_changed_and_removed() {
    let watched = Watched::pooled_with_admin_port(Product::MariaDb);
    let root = Doer::new(&watched, ROOT);
    let mut client = watched.proxy.connect();
    assert_eq!(client.value("SELECT 'a, b'"), "a, b");
    let answer = json!({
        "name": "first",
        "regex": "'a, b'",
        "user": ["app", "x, y"],
        "answer": "rows",
        "answer_columns": ["one"],
        "answer_rows": [["it's \"one\""]],
    });
    root.does("POST", "/api/rules", &answer);
    assert_eq!(client.value("SELECT 'a, b'"), "it's \"one\"");
    let users = root.rows("tables/rules?rule=first&columns=user");
    assert_eq!(users, [json!([r#"["app", "x, y"]"#])]);
    let refusing = json!({"name": "second", "regex": "'a, b'", "refuse": "not here", "place": 1});
    root.does("POST", "/api/rules", &refusing);
    assert_eq!(
        client.query("SELECT 'a, b'").error().unwrap().text,
        "not here"
    );
    root.does("PATCH", "/api/rules/second", &json!({"place": 2}));
    assert_eq!(client.value("SELECT 'a, b'"), "it's \"one\"");
    root.does("DELETE", "/api/rules/first", &json!({}));
    assert_eq!(
        client.query("SELECT 'a, b'").error().unwrap().text,
        "not here"
    );

    let batch = json!({"user": "batch", "host": "10.%", "password": "its password"});
    root.does("POST", "/api/accounts", &batch);
    root.does(
        "POST",
        "/api/accounts",
        &json!({"user": "batch", "password": "another"}),
    );
    root.does(
        "PATCH",
        "/api/accounts/batch@10.%25",
        &json!({"connections_max": 7}),
    );
    let limits = "tables/accounts?user=batch&columns=host,connections_max&order=host";
    assert_eq!(root.rows(limits), [json!(["%", null]), json!(["10.%", 7])]);
    root.does("DELETE", "/api/accounts/batch", &json!({}));
    assert_eq!(root.rows(limits), [json!(["10.%", 7])]);
    assert_eq!(
        root.refused("DELETE", "/api/accounts/batch@20.%25", "").0,
        404
    );

    let eve = json!({"user": "eve", "password": "hers", "role": "stats"});
    root.does("POST", "/api/admin_accounts", &eve);
    let of_eve = Doer::new(&watched, "ZXZlOmhlcnM=");
    assert_eq!(
        of_eve.refused("DELETE", "/api/admin_accounts/eve", "").0,
        403
    );
    root.does(
        "PATCH",
        "/api/admin_accounts/eve",
        &json!({"role": "admin"}),
    );
    // An administrator cannot remove the last account that may change settings.
    assert_eq!(
        of_eve.refused("DELETE", "/api/admin_accounts/eve", "").0,
        400
    );
    root.does("DELETE", "/api/admin_accounts/eve", &json!({}));
    assert_eq!(of_eve.0.get("/api/changes").status, 401);
}

#[test]
fn counts_can_be_reset_over_http() {
    let watched = Watched::pooled_with_admin_port(Product::MariaDb);
    let root = Doer::new(&watched, ROOT);
    let mut client = watched.proxy.connect();
    let digests = |text: &str| {
        let answer = root.rows("tables/digests?columns=digest_text&rows=objects");
        answer.iter().any(|row| row.to_string().contains(text))
    };
    client.run("SELECT 1 AS counted_once");
    wait::until("it is counted", wait::SOON, || digests("counted_once"));
    let answer = root.ask("POST", "/api/reset/digests", &json!({}));
    assert_eq!((answer.status, &*answer.body), (204, &b""[..]));
    assert!(!digests("counted_once"));
    for kept in ["errors", "slow_statements", "profiles", "index_usage"] {
        let path = format!("/api/reset/{kept}");
        assert_eq!(root.ask("POST", &path, &json!({})).status, 204, "{kept}");
    }
    root.does(
        "POST",
        "/api/rules",
        &json!({"name": "seen", "regex": "counted_twice", "dry_run": true}),
    );
    client.run("SELECT 1 AS counted_twice");
    let hits = || root.rows("tables/rules?columns=hits")[0][0].clone();
    wait::until("it is hit", wait::SOON, || hits() == 1);
    root.does("POST", "/api/reset/status", &json!({}));
    // A worker that is busy resets its counters later.
    wait::until("hits begin again", wait::SOON, || hits() == 0);
    assert_eq!(root.refused("POST", "/api/reset/settings", "{}").0, 404);
}

/// The document itself says which paths are for administrators. All others are for every user.
#[test]
fn a_user_with_the_role_stats_changes_nothing_and_the_attempt_is_logged() {
    let folder = Folder::new("files");
    let log = folder.path().join("audit");
    let settings = unserved().set("audit_log.file", log.to_str().unwrap());
    let watched = Watched::with_admin_port(settings);
    let look = Doer::new(&watched, LOOK);
    let document = look.0.get("/api/openapi.json").json();
    let mut count = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Some(role) = operation["x-role"].as_str() else {
                continue;
            };
            let open = path.split(['{', '}']).nth(1);
            let path = open.map_or(path.clone(), |it| path.replace(&format!("{{{it}}}"), "7"));
            let answer = look.ask(&method.to_uppercase(), &path, &json!({}));
            let expected = if role == "admin" { 403 } else { 200 };
            assert_eq!(
                answer.status,
                expected,
                "{method} {path}: {}",
                answer.text()
            );
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
    let root = Doer::new(&watched, ROOT);
    assert_eq!(root.rows("changes"), [] as [Value; 0]);
    let secret = json!({"user": "batch", "password": "very secret"});
    root.does("POST", "/api/accounts", &secret);
    wait::until("all of it is noted", wait::SOON, || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        let has = |words: &[&str]| {
            let mut lines = text.lines();
            lines.any(|line| words.iter().all(|word| line.contains(word)))
        };
        assert!(!text.contains("very secret"), "{text}");
        has(&[
            "SET GLOBAL",
            "refused, error 1142",
            "look@",
            "\"port\":\"http\"",
        ]) && has(&["KILL QUERY", "refused, error 1142"])
            && has(&["INSERT INTO accounts", "password", "root@"])
    });
}

#[test]
fn malformed_and_hostile_bodies_give_an_error() {
    let watched = Watched::with_admin_port(unserved());
    let root = Doer::new(&watched, ROOT);
    let deep = format!("{{\"zone\": {}", "[".repeat(200_000));
    let many: Vec<_> = (0..20_000)
        .map(|number| format!("\"a{number}\": 1"))
        .collect();
    let many = format!("{{{}}}", many.join(", "));
    let long = format!("{{\"{}\": 1}}", "x".repeat(500_000));
    for (method, path, body, words) in [
        ("PATCH", "/api/settings", "", "names no setting"),
        ("PATCH", "/api/settings", "[]", "no JSON object"),
        (
            "PATCH",
            "/api/settings",
            "{\"zone\": \"a\"",
            "no JSON object",
        ),
        ("PATCH", "/api/settings", "{} {}", "no JSON object"),
        ("PATCH", "/api/settings", &deep, "no JSON object"),
        ("PATCH", "/api/settings", &many, "is no setting"),
        ("PATCH", "/api/settings", &long, "is no setting"),
        (
            "PATCH",
            "/api/settings",
            r#"{"zone": "a", "zone": "b"}"#,
            "twice",
        ),
        (
            "PATCH",
            "/api/settings",
            r#"{"zone": {"a": 1}}"#,
            "\"zone\" is a text",
        ),
        (
            "PATCH",
            "/api/settings",
            r#"{"zone": ["a"]}"#,
            "\"zone\" is a text",
        ),
        (
            "PATCH",
            "/api/settings",
            r#"{"zone": "a", "check": 1}"#,
            "true or false",
        ),
        (
            "PATCH",
            "/api/settings",
            r#"{"workers": "2"}"#,
            "whole number",
        ),
        (
            "PATCH",
            "/api/settings",
            r#"{"workers": 1e9}"#,
            "whole number",
        ),
        (
            "PATCH",
            "/api/settings",
            r#"{"workers": 99999999999999999999}"#,
            "whole number",
        ),
        (
            "PATCH",
            "/api/settings",
            r#"{"workers": 18446744073709551615}"#,
            "workers",
        ),
        (
            "PATCH",
            "/api/settings",
            r#"{"http.names": "a"}"#,
            "is a list",
        ),
        (
            "PATCH",
            "/api/settings",
            r#"{"http.names": [1]}"#,
            "is a list, each entry of it a text",
        ),
        (
            "POST",
            "/api/save",
            r#"{"to": "/etc/passwd"}"#,
            "nothing is to be said",
        ),
        ("POST", "/api/backends", "{}", "needs \"address\""),
        (
            "POST",
            "/api/backends",
            r#"{"address": "a:1", "place": 1}"#,
            "\"place\" is not known",
        ),
        (
            "POST",
            "/api/backends",
            r#"{"address": "a:1", "backend_ndx": 0}"#,
            "from 1",
        ),
        (
            "POST",
            "/api/backends",
            r#"{"address": "a\u0000:1"}"#,
            "backend.address",
        ),
        (
            "POST",
            "/api/rules",
            r#"{"name": "x", "answer_rows": [[{}]]}"#,
            "is a list",
        ),
        (
            "PATCH",
            "/api/rules/x",
            r#"{"hits": 0}"#,
            "\"hits\" is not known",
        ),
        ("DELETE", "/api/sessions/x", "", "is a number"),
    ] {
        let (status, text) = root.refused(method, path, body);
        assert_eq!(status, 400, "{method} {path}: {text}");
        assert!(text.contains(words), "{method} {path}: {text:.300}");
        assert!(text.len() < 4_000, "{method} {path}: {}", text.len());
    }
    let long = format!("{{\"zone\": \"{}\"}}", "x".repeat(1 << 20));
    assert_eq!(root.refused("PATCH", "/api/settings", &long).0, 413);
    // A form of another web site could send this request.
    let form = watched.root().header("content-type", "text/plain");
    for path in [
        "/api/save",
        "/api/revert",
        "/api/reset/digests",
        "/api/backends",
    ] {
        assert_eq!(form.ask("POST", path, Some("{}")).status, 415, "{path}");
        assert_eq!(watched.root().ask("POST", path, None).status, 415, "{path}");
    }
    assert_eq!(
        watched
            .root()
            .ask("DELETE", "/api/backends/%ff", None)
            .status,
        400
    );
    assert_eq!(root.rows("changes"), [] as [Value; 0]);
    watched.proxy.assert_sound();
}
