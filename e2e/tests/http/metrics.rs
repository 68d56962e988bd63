//! Metrics: Prometheus accepts them, and they count correctly.

use std::io::Write;
use std::process::{Command, Stdio};

use e2e::http::Http;
use e2e::{Product, Proxy, Server, free_port, wait};

use super::{Watched, unserved};

/// The output of `promtool` for an input; panics unless promtool accepts the input.
#[track_caller]
pub(super) fn promtool(arguments: &[&str], input: &str) {
    let mut child = Command::new(e2e::cache().join("promtool/usr/bin/promtool"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("e2e/provision.sh has brought it");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{said}\n{input}");
}

/// The number of a series, by the beginning of its line.
fn number(metrics: &str, series: &str) -> Option<f64> {
    let mut lines = metrics.lines();
    let line = lines.find_map(|line| line.strip_prefix(series));
    line?.trim().parse().ok()
}

#[test]
fn prometheus_reads_the_metrics_and_they_count() {
    let watched = Watched::pooled(Product::MariaDb);
    let look = watched.look();
    let mut client = watched.proxy.connect();
    for _ in 0..20 {
        client.run("SELECT 1");
    }
    for _ in 0..3 {
        client.query("SELECT nonsense");
    }
    client.query("SELECT 1 FROM");
    let backend = format!("127.0.0.1:{}", Server::shared(Product::MariaDb).port());
    let up = format!("pilotfish_backend_up{{cluster=\"main\",backend=\"{backend}\"}}");
    let answers = "pilotfish_worker_answers{worker=\"1\"}";
    let mut metrics = String::new();
    wait::until("twenty are counted, and all is well", wait::SOON, || {
        let answer = look.get("/metrics");
        assert_eq!(answer.status, 200);
        assert!(
            answer
                .header("content-type")
                .unwrap()
                .contains("version=0.0.4")
        );
        metrics = answer.text();
        let waited = "pilotfish_statement_wait_seconds_count";
        let counts = metrics.lines().filter(|line| line.starts_with(waited));
        let counts = counts.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        let is_counted = counts.sum::<u64>() >= 24 && metrics.contains("code=\"1064\"");
        is_counted && [&*up, answers].map(|it| number(&metrics, it)) == [Some(1.0); 2]
    });
    promtool(&["check", "metrics"], &metrics);
    for (series, expected) in [
        ("pilotfish_build_info{version=\"0.1.0\"}".to_owned(), 1.0),
        (
            format!(
                "pilotfish_listener_sessions{{address=\"127.0.0.1:{}\",purpose=\"clients\"}}",
                watched.proxy.port()
            ),
            1.0,
        ),
    ] {
        assert_eq!(
            number(&metrics, &series),
            Some(expected),
            "{series}\n{metrics}"
        );
    }
    for (code, sqlstate, expected) in [(1054, "42S22", 3.0), (1064, "42000", 1.0)] {
        let series = format!(
            "pilotfish_statement_errors_total{{code=\"{code}\",sqlstate=\"{sqlstate}\",backend=\"{backend}\"}}"
        );
        let counted = number(&metrics, &series);
        assert_eq!(counted, Some(expected), "{series}\n{metrics}");
    }
    let bucket = "pilotfish_statement_backend_seconds_bucket";
    let ends = metrics.lines().filter(|line| line.starts_with(bucket));
    let counts: Vec<u64> = ends
        .filter(|line| line.contains("own connection"))
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(counts.len() > 20 && counts.is_sorted(), "{counts:?}");
    assert!(number(&metrics, "process_resident_memory_bytes ").unwrap() > 1e6);
}

#[test]
fn access_to_the_metrics_is_configured() {
    let watched = Watched::alone();
    assert_eq!(watched.stranger().get("/metrics").status, 401);
    assert_eq!(watched.look().get("/metrics").status, 200);
    for (readers, elsewhere) in [("local", 401), ("everybody", 200)] {
        let port = free_port();
        let address = format!("0.0.0.0:{port}");
        let settings = unserved()
            .set("http.metrics", readers)
            .set("http.address", [address.as_str()]);
        let _proxy = Proxy::start(&settings);
        let stranger = Http::new(port);
        assert_eq!(stranger.get("/metrics").status, 200, "{readers}");
        assert_eq!(stranger.get("/api/tables").status, 401, "{readers}");
        // An attacker's DNS name that resolves to this machine.
        let evil = stranger.clone().header("host", "evil.example");
        assert_eq!(evil.get("/metrics").status, 421, "{readers}");
        if let Some(address) = own_address() {
            let answer = stranger.at(address).get("/metrics");
            assert_eq!(answer.status, elsewhere, "{readers}");
        }
    }
}

/// An address of this machine that other machines can reach, if there is one. No packet is sent to find it.
fn own_address() -> Option<std::net::IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_unspecified() && !address.is_loopback()).then_some(address)
}

#[test]
fn metrics_of_many_and_hostile_names_are_bounded() {
    let mut settings = unserved().rule("a\"} 1 {\\", &[("routing.replicas", "\"primary\"")]);
    for number in 0..200 {
        settings = settings.rule(
            &format!("rule {number:03}"),
            &[("routing.replicas", "\"primary\"")],
        );
    }
    let watched = Watched::start(settings);
    let metrics = watched.look().get("/metrics").text();
    promtool(&["check", "metrics"], &metrics);
    let hits = "pilotfish_rule_hits_total{";
    let hits: Vec<_> = metrics
        .lines()
        .filter(|line| line.starts_with(hits))
        .collect();
    assert_eq!(hits.len(), 101, "{hits:?}");
    assert!(
        hits.contains(&r#"pilotfish_rule_hits_total{rule="a\"} 1 {\\"} 0"#),
        "{hits:?}"
    );
    assert!(hits.contains(&r#"pilotfish_rule_hits_total{rule="other"} 0"#));
}
