//! The manual's requests, one by one.

use e2e::http::Http;
use e2e::{Product, Server, Settings};

use super::{ROOT, Watched};

const PAGE: &str = include_str!("../../../docs/manual/src/http.md");

/// The method, the path and the body of a line with `curl`.
fn request(line: &str) -> (String, String, Option<String>) {
    let words = line.split_once("4042").expect("it names the port").1;
    let path = words.split(['\'', ' ']).next().unwrap_or_default();
    let behind = |option: &str| line.split_once(option).map(|(_, rest)| rest);
    let body = behind(" --json '").and_then(|it| it.split('\'').next());
    let method = behind(" -X ").and_then(|it| it.split(' ').next());
    let method = method.unwrap_or(if body.is_some() { "POST" } else { "GET" });
    (method.to_owned(), path.to_owned(), body.map(str::to_owned))
}

#[test]
fn every_request_of_the_manual_is_answered() {
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 4);
    let watched = Watched::with_admin_port(settings);
    let mut client = watched.proxy.connect();
    client.run("SELECT 1");
    // `e2e/tests/manual.rs` tests the example above, which has servers of its own.
    let page = PAGE.split("## How it works").nth(1).unwrap();
    let lines = page.lines().filter_map(|line| line.strip_prefix("$ curl"));
    let lines: Vec<_> = lines.collect();
    assert!(lines.len() > 5, "{}", lines.len());
    for line in lines {
        let line = line.replace("1073741824", &client.id.to_string());
        let (method, path, body) = request(&line);
        let caller = Http::new(watched.port).basic(ROOT);
        let caller = match line.contains("application/json") || line.contains("--json") {
            true => caller.header("content-type", "application/json"),
            false => caller,
        };
        let answer = caller.ask(&method, &path, body.as_deref());
        assert!(
            answer.status < 300,
            "{line}: {} {}",
            answer.status,
            answer.text()
        );
    }
}
