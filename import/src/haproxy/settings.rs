//! The meaning of the lines in HAProxy's sections, except servers.

use super::proxies::{Line, Proxy, ProxySection};
use crate::output::{Origin, Output, Toml};
use crate::units::milliseconds;

const ITSELF: &str = "the proxy does this by itself";

/// Writes the settings of one section.
pub fn translate(section: &ProxySection, proxies: &[Proxy], output: &mut Output<'_>) {
    let is_used = |it: &Proxy| it.name == section.name || it.backend == section.name;
    match section.kind.as_str() {
        "global" => section.lines.iter().for_each(|it| global(it, output)),
        "defaults" => section.lines.iter().for_each(|it| proxy(it, output)),
        "listen" | "frontend" | "backend" if proxies.iter().any(is_used) => {
            section.lines.iter().for_each(|it| proxy(it, output));
        }
        // The notes about these are made where the proxies are found.
        "listen" | "frontend" => {}
        "backend" => {
            let from = Origin::named(section.number, format!("backend {}", section.name));
            output.lost(
                &from,
                "no frontend leads there in every case",
                "a [[listener]] of its own",
            );
        }
        kind => {
            let from = Origin::named(section.number, format!("{kind} {}", section.name));
            let (reason, nearest) = match kind {
                "peers" => ("proxies share no state", ""),
                "resolvers" => ("the system's resolver is asked", "health.resolve_interval"),
                "userlist" => ("there are no users of HTTP alone", "[[admin_account]]"),
                "mailers" => ("the proxy sends no mail", "alerts on the metrics"),
                _ => ("there is nothing of the kind", ""),
            };
            output.lost(&from, reason, nearest);
        }
    }
}

fn time(line: &Line, text: Option<&String>, name: &'static str, output: &mut Output<'_>) {
    let from = line.origin();
    match text.and_then(|it| milliseconds(it, 1)) {
        Some(ms) => output.time(name, ms, &from),
        None => output.unreadable(&from, "a time"),
    }
}

fn count(line: &Line, name: &'static str, output: &mut Output<'_>) {
    let from = line.origin();
    match line.words.get(1).and_then(|it| it.parse().ok()) {
        Some(number) => output.count(name, number, &from),
        None => output.unreadable(&from, "a number"),
    }
}

fn global(line: &Line, output: &mut Output<'_>) {
    let from = line.origin();
    let second = line.words.get(1).map_or("", String::as_str);
    match line.words[0].as_str() {
        "maxconn" => count(line, "limits.sessions_max", output),
        "nbthread" | "nbproc" => count(line, "workers", output),
        "ulimit-n" => count(line, "open_files_max", output),
        "pidfile" => drop(output.new_file("pid_file", second, &from)),
        "log" => output.unneeded(
            &from,
            "the log goes to standard error, where the journal takes it",
        ),
        "user" | "group" | "uid" | "gid" | "chroot" | "daemon" | "quiet" | "master-worker"
        | "unix-bind" => {
            output.unneeded(&from, "the service manager says as whom the proxy runs");
        }
        "stats" => output.unneeded(
            &from,
            "the admin port and the HTTP port show and change the proxy",
        ),
        "ssl-default-bind-ciphers"
        | "ssl-default-bind-options"
        | "ssl-default-bind-ciphersuites"
        | "ssl-default-server-ciphers"
        | "ssl-default-server-options"
        | "ssl-default-server-ciphersuites"
        | "tune.ssl.default-dh-param"
        | "ssl-dh-param-file" => {
            output.unneeded(
                &from,
                "TLS 1.2 and 1.3 are spoken with the ciphers that are safe today",
            );
        }
        "ca-base" | "crt-base" | "setenv" | "presetenv" => {
            output.differs(&from, "paths are taken as they stand", "write whole paths");
        }
        "external-check" | "insecure-fork-wanted" => {
            output.lost(
                &from,
                "no program is run to look at servers",
                "health.monitor_user asks them for role and lag",
            );
        }
        "lua-load" | "lua-load-per-thread" => {
            output.lost(
                &from,
                "HAProxy's Lua sees bytes, Pilotfish's sees statements",
                "routing.script, see the page Scripts",
            );
        }
        _ => output.unneeded(&from, ITSELF),
    }
}

fn proxy(line: &Line, output: &mut Output<'_>) {
    let from = line.origin();
    let words = &line.words;
    let second = words.get(1).map_or("", String::as_str);
    match words[0].as_str() {
        "bind" | "server" | "mode" | "default_backend" | "description" => {}
        "timeout" => timeout(line, second, output),
        "option" => option(line, second, output),
        "balance" => balance(&from, second, output),
        "maxconn" => {
            let most: Option<u64> = second.parse().ok();
            match (most, output.number("limits.sessions_max")) {
                (Some(most), known) if known.is_none_or(|it| most < it) => {
                    output.count("limits.sessions_max", most, &from);
                    output.differs(&from, "the limit is of all sessions together", "backend.sessions_max");
                }
                _ => output.unneeded(&from, "a lower limit holds for all sessions"),
            }
        }
        "retries" => output.unneeded(&from, "clients wait for a backend for balance.timeout_backend_wait"),
        "default-server" => output.unneeded(&from, "the options are carried over with each server"),
        "log" | "log-format" | "log-tag" | "option-log" => {
            output.unneeded(&from, "logins and ends of sessions are in the audit log, statements in the query log");
        }
        "tcp-check" => output.lost(
            &from,
            "a check is what the monitor account asks: whether the server is up, its role and its lag",
            "health.monitor_user",
        ),
        "http-check" | "monitor-uri" => output.lost(
            &from,
            "no HTTP check beside the server is asked: Galera's state, role and lag are read from the server itself",
            "health.monitor_user",
        ),
        "acl" | "tcp-request" | "tcp-response" => output.lost(
            &from,
            "addresses are allowed by account, not by listener",
            "account.networks, or account.host",
        ),
        "use_backend" | "use-server" => output.lost(
            &from,
            "where a session goes depends on its listener and account",
            "a [[listener]] or [[account]] with cluster, or a [[rule]] with networks and cluster",
        ),
        "stick-table" | "stick" | "hash-type" | "source" => output.lost(
            &from,
            "a client is not bound to one server by its address",
            "balance.reads = \"sticky\" keeps a session's reads on one replica",
        ),
        "fullconn" | "backlog" | "maxqueue" => output.unneeded(&from, ITSELF),
        "stats" => output.unneeded(&from, "the admin port and the HTTP port show and change the proxy"),
        "server-template" => output.lost(&from, "servers are named one by one", "a [[backend]] for each"),
        "disabled" => output.differs(&from, "the section is carried over as if it were enabled", "leave its listener out"),
        "errorfile" | "http-request" | "http-response" | "cookie" | "redirect" => {
            output.unneeded(&from, "it is of HTTP");
        }
        _ => output.lost(&from, "this import does not know the word", "see the manual's page Settings"),
    }
}

fn timeout(line: &Line, which: &str, output: &mut Output<'_>) {
    let text = line.words.get(2);
    let from = line.origin();
    match which {
        "connect" => time(line, text, "health.timeout_connect", output),
        "client" | "server" | "tunnel" => {
            let Some(ms) = text.and_then(|it| milliseconds(it, 1)) else {
                return output.unreadable(&from, "a time");
            };
            // The shorter of the two timeouts ends an idle session.
            let known = output
                .get("limits.timeout_idle")
                .and_then(|it| milliseconds(it, 1));
            if known.is_none_or(|it| ms < it) {
                output.time("limits.timeout_idle", ms, &from);
            }
        }
        "queue" => {
            output.text("limits.over_limit", "wait", &from);
            time(line, text, "limits.timeout_over_limit", output);
        }
        _ => output.unneeded(
            &from,
            "the proxy has its own times for looking at servers, in [health]",
        ),
    }
}

fn option(line: &Line, which: &str, output: &mut Output<'_>) {
    let from = line.origin();
    match which {
        "mysql-check" => {
            let mut words = line.words.iter().skip_while(|it| *it != "user").skip(1);
            match words.next() {
                Some(user) => output.text("health.monitor_user", user, &from),
                None => output.unneeded(&from, "a backend that is down is found by its connections"),
            }
        }
        "httpchk" | "external-check" => output.lost(
            &from,
            "no HTTP check beside the server is asked: Galera's state, role and lag are read from the server itself",
            "health.monitor_user",
        ),
        "tcp-check" | "tcplog" | "dontlognull" | "dontlog-normal" | "redispatch" | "tcpka" | "clitcpka" | "srvtcpka"
        | "log-health-checks" | "allbackups" | "splice-auto" | "abortonclose" | "persist" | "logasap"
        | "tcp-smart-accept" | "tcp-smart-connect" | "ssl-hello-chk" | "contstats" | "nolinger" => {
            output.unneeded(&from, ITSELF);
        }
        _ => output.unneeded(&from, "it is of HTTP"),
    }
}

fn balance(from: &Origin, which: &str, output: &mut Output<'_>) {
    let policy = match which {
        "roundrobin" | "static-rr" => "round_robin",
        "leastconn" => "fewest_sessions",
        "first" => "ordered",
        _ if which.starts_with("random") => "random_of_two",
        _ => {
            let reason = "a client is not bound to one server by its address";
            return output.lost(from, reason, "balance.policy");
        }
    };
    match output.get("balance.policy").map(str::to_owned) {
        Some(other) if other != policy => {
            output.differs(
                from,
                format!("balance.policy is the same for all clusters: \"{other}\""),
                "",
            );
        }
        _ => output.text("balance.policy", policy, from),
    }
}

/// Translates an option of a `server` line that is a setting of all backends in Pilotfish.
pub fn server_option<'w>(
    server: &str,
    line: usize,
    word: &str,
    words: &mut impl Iterator<Item = &'w str>,
    output: &mut Output<'_>,
) {
    let takes_value = matches!(
        word,
        "inter"
            | "fastinter"
            | "downinter"
            | "rise"
            | "fall"
            | "port"
            | "addr"
            | "slowstart"
            | "verify"
            | "ca-file"
            | "crt"
            | "cookie"
            | "maxqueue"
            | "minconn"
            | "on-error"
            | "on-marked-down"
            | "on-marked-up"
            | "observe"
            | "error-limit"
            | "resolvers"
            | "resolve-prefer"
            | "init-addr"
            | "source"
            | "track"
            | "id"
            | "sni"
            | "verifyhost"
            | "ciphers"
            | "ciphersuites"
            | "agent-port"
            | "agent-inter"
            | "agent-check"
            | "proto"
    );
    let value = if takes_value {
        words.next().unwrap_or("")
    } else {
        ""
    };
    let from = Origin::named(
        line,
        format!("server {server} {word} {value}")
            .trim_end()
            .to_owned(),
    );
    let ms = milliseconds(value, 1);
    match (word, ms) {
        ("inter", Some(ms)) => output.time("health.monitor_interval", ms, &from),
        ("slowstart", Some(ms)) => output.time("balance.slow_start", ms, &from),
        ("send-proxy" | "send-proxy-v2" | "send-proxy-v2-ssl" | "send-proxy-v2-ssl-cn", _) => {
            output.text("proxy_protocol.send", "v2", &from);
            output.differs(&from, "every backend gets the header, in version 2", "");
        }
        ("ssl", _) if !output.has("backend_tls.mode") => {
            output.text("backend_tls.mode", "required", &from);
            output.differs(
                &from,
                "the server itself speaks TLS, within MySQL's protocol",
                "",
            );
        }
        ("ca-file", _) if value != "@system-ca" => {
            if output.file("backend_tls.ca", value, &from) {
                output.text("backend_tls.mode", "verify_ca", &from);
            }
        }
        ("on-marked-down", _) => output.lost(
            &from,
            "a backend that hangs is given up after health.timeout_down",
            "disable = true ends the sessions of a backend",
        ),
        (
            "backup" | "check" | "ssl" | "verify" | "rise" | "fall" | "fastinter" | "downinter"
            | "enabled",
            _,
        ) => {}
        _ => output.unneeded(&from, ITSELF),
    }
}

/// The addresses of a `bind` line.
pub fn bind(line: &Line, proxy: &str, output: &mut Output<'_>) -> Vec<String> {
    let from = Origin::named(line.number, format!("{proxy}: {}", line.words.join(" ")));
    let mut words = line.words.iter().skip(2).map(String::as_str);
    let mut certificate = None;
    while let Some(word) = words.next() {
        match word {
            "crt" => certificate = words.next(),
            "accept-proxy" => {
                let all = vec!["0.0.0.0/0".to_owned(), "::/0".to_owned()];
                output.set("proxy_protocol.trusted_networks", Toml::List(all), &from);
                output.differs(
                    &from,
                    "headers are believed from everywhere",
                    "name the load balancers' networks only",
                );
            }
            "ssl" => output.differs(
                &from,
                "TLS begins within MySQL's protocol, as the servers have it",
                "",
            ),
            "name" | "maxconn" | "interface" | "mode" | "user" | "group" | "ca-file" | "verify"
            | "backlog" | "process" | "thread" | "mss" | "tfo" | "defer-accept" | "transparent"
            | "v4v6" | "v6only" | "nice" => {}
            _ => {}
        }
    }
    if let Some(path) = certificate {
        let has_certificate = output.file("client_tls.certificate", path, &from);
        // HAProxy's file contains the key as well.
        let has_key = output.file("client_tls.key", path, &from);
        if has_certificate && has_key {
            output.text("client_tls.mode", "required", &from);
        }
    }
    let addresses = line.words.get(1).map_or("", String::as_str).split(',');
    let address = |it: &str| {
        let it = it.trim_start_matches("ipv4@").trim_start_matches("unix@");
        match it.strip_prefix("ipv6@") {
            Some(rest) => rest.replace("*:", "[::]:"),
            None if it.starts_with(":::") => it.replacen(":::", "[::]:", 1),
            None => it.to_owned(),
        }
    };
    addresses
        .filter_map(|it| output.listen_address(&address(it), &from))
        .collect()
}
