//! Floods of equal events: the log stays short, and its lines give the number of all events.

use std::collections::HashMap;

use e2e::raw::{Login, RawConn};
use e2e::{Proxy, Scripted, Settings, sized, wait};

const CLIENTS: u64 = 8;

/// Logins of a flood.
fn logins() -> u64 {
    sized(2_000, 5_000)
}

/// The lines of one kind within a second of the log's clock. Two of the proxy's own seconds may fall into it, each with
/// 100 lines, and with the summaries of the other events.
const LINES_OF_A_SECOND_MAX: usize = 2 * 100 + 2 * 100;

/// Logs in as many times as the flood has events. Every login fails.
fn flood(proxy: &Proxy) {
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                for _ in 0..logins() / CLIENTS {
                    RawConn::connect(&proxy.address(), &Login::app())
                        .expect_err("nobody gets in there");
                }
            });
        }
    });
}

/// The value of a field of a log line.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let start = line.find(&format!(" {name}="))? + name.len() + 2;
    let rest = &line[start..];
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split_whitespace().next(),
    }
}

fn number(line: &str, name: &str) -> Option<u64> {
    field(line, name)?.parse().ok()
}

/// How many events of these kinds the log reports: lines for one event, lines with a number of repetitions, and lines
/// with the number of left out lines.
fn accounted(proxy: &Proxy, kinds: &[&str]) -> u64 {
    let is_meant = |kind: Option<&str>| kind.is_some_and(|kind| kinds.contains(&kind));
    let of_line = |line: &String| match field(line, "kind") {
        kind if is_meant(kind) => number(line, "repeated").unwrap_or(1),
        Some("lines_left_out") if is_meant(field(line, "of")) => {
            number(line, "left_out").expect("it says how many")
        }
        _ => 0,
    };
    proxy.log_lines().iter().map(of_line).sum()
}

/// Checks the number of lines of each kind in each second.
fn assert_short(proxy: &Proxy) {
    let mut by_second: HashMap<(String, String), usize> = HashMap::new();
    let lines = proxy.log_lines();
    for line in &lines {
        let kind = field(line, "kind").unwrap_or("none");
        let second = line.split('.').next().unwrap_or_default();
        *by_second
            .entry((second.to_owned(), kind.to_owned()))
            .or_default() += 1;
    }
    let most = by_second.values().max().copied().unwrap_or_default();
    assert!(most <= LINES_OF_A_SECOND_MAX, "{by_second:#?}");
}

fn run(backend: &Scripted, kinds: &[&str]) {
    let settings = Settings::default()
        .backend(backend.tcp())
        .set("log.level", "info");
    let proxy = Proxy::start(&settings);
    flood(&proxy);
    wait::until("the log accounts for each login", wait::SOON, || {
        accounted(&proxy, kinds) >= logins()
    });
    assert_eq!(accounted(&proxy, kinds), logins());
    assert_short(&proxy);
}

#[test]
fn logins_that_a_backend_refuses_do_not_flood_the_log() {
    let backend = Scripted::start(|dialogue| {
        dialogue.greet("mysql_native_password")?;
        dialogue.read()?;
        dialogue.send_error(1045, "Access denied")
    });
    run(&backend, &["login_refused"]);
}

#[test]
fn a_backend_that_closes_after_its_greeting_does_not_flood_the_log() {
    let backend = Scripted::start(|dialogue| {
        dialogue.greet("mysql_native_password")?;
        match is_probe(&dialogue.read()?) {
            true => dialogue.send_error(1045, "Access denied"),
            false => Ok(()),
        }
    });
    run(&backend, &["backend_login", "backend_lost"]);
}

#[test]
fn logins_that_find_no_backend_do_not_flood_the_log() {
    let backend = Scripted::start(|dialogue| dialogue.greet("mysql_native_password"));
    run(&backend, &["no_backend"]);
}

/// Whether this login comes from the proxy's own probe.
fn is_probe(response: &[u8]) -> bool {
    const USER: &[u8] = b"pilotfish_probe";
    response.windows(USER.len()).any(|it| it == USER)
}
