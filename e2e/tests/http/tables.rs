//! Tables and statements over HTTP, and ends of sessions.

use std::collections::BTreeSet;

use e2e::raw::Shape;
use e2e::{Product, Server, wait};
use serde_json::{Value, json};

use super::{Watched, rows};

both! {
    sessions_are_seen_and_ended
}

#[test]
fn each_table_has_descriptions_of_its_columns() {
    let watched = Watched::pooled(Product::MariaDb);
    let look = watched.look();
    let tables = look.get("/api/tables").json();
    let tables = tables["tables"].as_array().unwrap();
    assert!(tables.len() > 20);
    for table in tables {
        let name = table["name"].as_str().unwrap();
        // The answer has a warning if a worker is too busy to answer.
        let answer = wait::for_some(&format!("{name} is whole"), wait::SOON, || {
            let answer = look.get(&format!("/api/tables/{name}?limit=3"));
            assert_eq!(answer.status, 200, "{name}: {}", answer.text());
            (answer.json()["warnings"] == json!([])).then_some(answer)
        });
        assert_eq!(answer.json()["columns"], table["columns"], "{name}");
        let width = table["columns"].as_array().unwrap().len();
        for row in rows(&answer) {
            assert_eq!(row.as_array().unwrap().len(), width, "{name}");
        }
    }
    let unit = |column: &Value| column["name"] == "age_seconds" && column["unit"] == "s";
    let sessions = look.get("/api/tables/sessions").json();
    assert!(sessions["columns"].as_array().unwrap().iter().any(unit));
}

#[test]
fn rows_are_filtered_sorted_and_limited() {
    let watched = Watched::pooled(Product::MariaDb);
    let look = watched.look();
    let of = |question: &str| rows(&look.get(&format!("/api/tables/{question}")));
    assert_eq!(
        of("workers?columns=worker&order=-worker"),
        [json!([1]), json!([0])]
    );
    assert_eq!(
        of("workers?columns=worker&order=worker&limit=1&offset=1"),
        [json!([1])]
    );
    assert_eq!(
        of("workers?worker=1&columns=worker&rows=objects"),
        [json!({"worker": 1})]
    );
    assert_eq!(of("pilotfish.workers?worker=7"), [] as [Value; 0]);
    let default = of("settings?name=http.connections_max&columns=default_value,IS_DEFAULT");
    assert_eq!(default, [json!(["256", 1])]);
    // A parameter is only a value, whatever characters it has.
    assert_eq!(
        of("settings?name=x%27%20OR%201%3D1%20--%20"),
        [] as [Value; 0]
    );
}

#[test]
fn unknown_tables_and_columns_give_an_error() {
    let watched = Watched::alone();
    let look = watched.look();
    for (path, status, words) in [
        ("/api/tables/users", 404, "There is no table \"users\""),
        (
            "/api/tables/sessions?colour=red",
            400,
            "sessions has no column \"colour\"",
        ),
        (
            "/api/tables/sessions?columns=id,colour",
            400,
            "no column \"colour\"",
        ),
        (
            "/api/tables/sessions?order=colour",
            400,
            "no column \"colour\"",
        ),
        (
            "/api/tables/sessions?limit=many",
            400,
            "limit is a whole number",
        ),
        (
            "/api/tables/sessions?limit=%ff",
            400,
            "limit is a whole number",
        ),
        ("/api/sessions", 404, "Nothing is here"),
        ("/api/query", 405, "That cannot be done with this"),
        ("/nowhere", 404, "Nothing is here"),
    ] {
        let answer = look.get(path);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert!(
            answer.complaint().contains(words),
            "{path}: {}",
            answer.text()
        );
    }
    for (sql, status, code) in [
        ("SELECT * FROM users", 404, 1146),
        ("SELECT colour FROM sessions", 400, 1054),
        ("SELEC 1", 400, 1064),
        ("SELECT FROM", 400, 1064),
        ("DROP TABLE sessions", 400, 1235),
        ("KILL 7", 403, 1227),
        ("SELECT ?", 400, 1210),
    ] {
        let answer = look.query(&json!({"sql": sql}));
        let told = answer.json()["error"]["code"].as_u64();
        assert_eq!(
            (answer.status, told),
            (status, Some(code)),
            "{sql}: {}",
            answer.text()
        );
    }
    let nobody = watched.root().ask("DELETE", "/api/sessions/7", None);
    assert_eq!(
        (nobody.status, nobody.json()["error"]["code"].as_u64()),
        (404, Some(1094))
    );
    let no_number = watched.root().ask("DELETE", "/api/sessions/x", None);
    assert_eq!(no_number.status, 400);
}

#[test]
fn a_checked_change_returns_its_effect_and_changes_nothing() {
    let watched = Watched::with_admin_port(super::unserved());
    let root = watched.root();
    let check =
        |sql: &str, value: &str| root.query(&json!({"sql": sql, "values": [value], "check": true}));
    let set = |name: &str| format!("UPDATE settings SET value = ? WHERE name = '{name}'");
    let max = "limits.sessions_max";
    let value = || rows(&root.get(&format!("/api/tables/settings?name={max}&columns=value")));
    let before = value();
    let told = rows(&check(&set(max), "4321"));
    assert_eq!(told, [json!([max, before[0][0], "4321", "now"])]);
    let told = check(&set("workers"), "7");
    assert_eq!(rows(&told)[0][3], "at a restart");
    assert!(
        told.json()["warnings"][0]
            .as_str()
            .unwrap()
            .contains("SAVE")
    );
    for (sql, value, words) in [
        (set(max), "many", max),
        ("SELECT ?".to_owned(), "1", "can be checked"),
        (set("admin.address"), "", "admin.address"),
    ] {
        let refused = check(&sql, value);
        assert!(refused.status >= 400, "{sql}: {}", refused.text());
        assert!(refused.text().contains(words), "{sql}: {}", refused.text());
    }
    let looks = watched
        .look()
        .query(&json!({"sql": set(max), "values": ["1"], "check": true}));
    assert_eq!(looks.status, 403, "{}", looks.text());
    assert_eq!(
        rows(&check(&set(max), before[0][0].as_str().unwrap())),
        [] as [Value; 0]
    );
    assert_eq!(value(), before);
    assert_eq!(
        rows(&root.query(&json!({"sql": "SHOW CHANGES"}))),
        [] as [Value; 0]
    );
}

#[test]
fn statements_are_answered_with_their_columns() {
    let watched = Watched::pooled(Product::MariaDb);
    let look = watched.look();
    let answer = look.query(&json!({
        "sql": "SELECT worker, 'a\"b' AS text, NULL AS missing, ? + 1 AS more FROM workers ORDER BY 1",
        "values": [41],
    }));
    assert_eq!(
        answer.json(),
        json!({
            "columns": [
                {"name": "worker", "type": "integer"},
                {"name": "text", "type": "string"},
                {"name": "missing", "type": "string"},
                {"name": "more", "type": "integer"},
            ],
            "warnings": [],
            "rows": [[0, "a\"b", null, 42], [1, "a\"b", null, 42]],
        })
    );
    let shown = look.query(&json!({"sql": "SHOW STATUS LIKE 'Workers'"}));
    assert_eq!(rows(&shown), [json!(["Workers", "2"])]);
    let done = look.query(&json!({"sql": "SET NAMES utf8mb4"}));
    assert_eq!(done.json(), json!({"done": true}));
}

fn sessions_are_seen_and_ended(product: Product) {
    let watched = Watched::pooled(product);
    let (look, root) = (watched.look(), watched.root());
    let mut client = watched.proxy.connect();
    client.run("SELECT 1");
    let id = client.id;
    let path = format!("/api/tables/sessions?id={id}&columns=state,user&rows=objects");
    let state = |expected: &str| {
        wait::until(&format!("it is {expected}"), wait::SOON, || {
            let rows = rows(&look.get(&path));
            rows.first().is_some_and(|row| row["state"] == expected)
        });
    };
    state("idle");
    assert_eq!(rows(&look.get(&path))[0]["user"], "app");
    client
        .send_query("SELECT SLEEP(60) FROM (SELECT 1 UNION SELECT 2) AS seen_and_ended")
        .unwrap();
    state("running");
    // The statement may still be on its way to the backend.
    let mut server = Server::shared(product).root();
    let sleeps = "SELECT COUNT(*) FROM information_schema.processlist \
                  WHERE state = 'User sleep' AND info LIKE '%seen_and_ended%'";
    wait::until("it sleeps", wait::SOON, || server.value(sleeps) != "0");
    let statement = format!("/api/sessions/{id}/statement");
    assert_eq!(look.ask("DELETE", &statement, None).status, 403);
    assert_eq!(root.ask("DELETE", &statement, None).status, 204);
    assert_eq!(client.reply(Shape::Results).error().unwrap().code, 1317);
    assert_eq!(client.value("SELECT 2"), "2");
    let session = format!("/api/sessions/{id}");
    assert_eq!(look.ask("DELETE", &session, None).status, 403);
    assert_eq!(root.ask("DELETE", &session, None).status, 204);
    // The client may get the reason before the connection is closed.
    let told = client.try_query("SELECT 3");
    assert!(told.map_or(true, |reply| reply.error().is_some()));
    wait::until("it is gone", wait::SOON, || {
        rows(&look.get(&path)).is_empty()
    });
    watched.proxy.wait_event("admin_kill", &["root@127.0.0.1"]);
}

/// No independent OpenAPI tool is available. The test checks that the document names all paths.
#[test]
fn the_openapi_document_describes_all_paths() {
    let watched = Watched::alone();
    let look = watched.look();
    let document = look.get("/api/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    for (path, item) in paths {
        let open = path.split(['{', '}']).nth(1);
        let path = open.map_or(path.clone(), |it| path.replace(&format!("{{{it}}}"), "7"));
        for (method, operation) in item.as_object().unwrap() {
            let answer = watched.root().ask(&method.to_uppercase(), &path, None);
            assert_ne!(answer.status, 405, "{path}");
            if path.starts_with("/api/tables/") {
                assert_eq!(answer.status, 200, "{path}");
            }
            assert!(operation["responses"].is_object());
        }
    }
    let tables = look.get("/api/tables").json();
    let names = tables["tables"].as_array().unwrap().iter();
    let names: BTreeSet<_> = names
        .map(|table| format!("/api/tables/{}", table["name"].as_str().unwrap()))
        .collect();
    let described = paths.keys().filter(|path| path.starts_with("/api/tables/"));
    assert_eq!(names, described.cloned().collect());
}
