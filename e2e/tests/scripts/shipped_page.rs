//! The manual's page about the shipped scripts: each of its dialogues is played, and prints what the page shows.

use std::collections::BTreeMap;

use e2e::page::blocks;
use e2e::raw::Address;

use super::*;

both! { every_dialogue_of_the_page_is_held }

const PAGE: &str = include_str!("../../../docs/manual/src/shipped-scripts.md");

/// The character that stands for any text.
const ANYTHING: char = '…';

/// The clients of a dialogue by their names. After a client has quit, its name stands for a new client.
struct Clients<'a> {
    scripted: &'a Proxy,
    login: Login,
    /// The address for administrators.
    admin: Address,
    by_name: BTreeMap<String, RawConn>,
}

impl Clients<'_> {
    fn named(&mut self, name: &str) -> &mut RawConn {
        let (proxy, login, admin) = (self.scripted, &self.login, &self.admin);
        let known = self.by_name.entry(name.to_owned());
        known.or_insert_with(|| match name {
            "admin" => RawConn::connect(admin, &Login::with("root", "all")).unwrap(),
            _ => proxy.connect_as(login),
        })
    }

    /// The output of a line, in the format of the page.
    fn say(&mut self, name: &str, text: &str) -> Vec<String> {
        if text == "QUIT" {
            self.named(name);
            self.by_name.remove(name).unwrap().quit();
            return Vec::new();
        }
        let text = text.strip_suffix(';').unwrap();
        let text = text.replace(
            "scripts/",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/"),
        );
        let reply = self.named(name).query(&text);
        if let Some(error) = reply.error() {
            return vec![format!("ERROR {}", error.code)];
        }
        if reply.results().next().is_none() {
            return Vec::new();
        }
        let rows = reply.texts().into_iter();
        rows.map(|row| format!("| {} |", row.join(" | ").replace("  ", " ")))
            .collect()
    }
}

/// Whether a line matches the page.
fn is_like(line: &str, page: &str) -> bool {
    let Some((first, more)) = page.split_once(ANYTHING) else {
        return line == page;
    };
    let (between, last) = more.rsplit_once(ANYTHING).unwrap_or(("", more));
    let inner = line
        .strip_prefix(first)
        .and_then(|it| it.strip_suffix(last));
    let Some(mut rest) = inner else {
        return false;
    };
    between.split(ANYTHING).all(|part| {
        let found = rest.find(part);
        rest = found.map_or("", |at| &rest[at + part.len()..]);
        found.is_some()
    })
}

fn hold(product: Product, name: &str, section: &str) {
    let schema = format!("t_page_{}", name.replace('-', "_"));
    let mut root = Server::shared(product).root();
    root.run(&format!("DROP DATABASE IF EXISTS {schema}"));
    root.run(&format!("CREATE DATABASE {schema}"));
    let file = format!("{}/../scripts/{name}.lua", env!("CARGO_MANIFEST_DIR"));
    let port = e2e::free_port();
    let settings = usual(product).set("workers", 1).admin_on(port);
    let proxy = Proxy::start(&match name {
        "admin" => settings.set("admin.script", file.as_str()),
        _ => settings.set("routing.script", file.as_str()),
    });
    proxy.wait_event("backend_up", &[]);
    let mut clients = Clients {
        scripted: &proxy,
        login: Login::app().schema(&schema),
        admin: std::net::SocketAddr::from(([127, 0, 0, 1], port)).into(),
        by_name: BTreeMap::new(),
    };
    for dialogue in blocks(section, "console") {
        let mut expected = Vec::new();
        for line in dialogue.lines().filter(|line| !line.starts_with('$')) {
            match line.split_once("> ") {
                Some((who @ ("app" | "other" | "admin"), text)) => {
                    assert!(expected.is_empty(), "{name}: {expected:?} before {line}");
                    expected = clients.say(who, text);
                    expected.reverse();
                }
                _ => {
                    let told = expected.pop().unwrap_or_default();
                    assert!(is_like(&told, line), "{name}: {told} is not {line}");
                }
            }
        }
        assert!(expected.is_empty(), "{name}: {expected:?}");
    }
    for line in blocks(section, "text").iter().flat_map(|it| it.lines()) {
        let parts: Vec<&str> = line.split(ANYTHING).map(str::trim).collect();
        proxy.wait_logged(&parts);
    }
}

fn every_dialogue_of_the_page_is_held(product: Product) {
    let example = e2e::page::section(PAGE, "An example").unwrap();
    hold(product, "histogram", example);
    let sections = PAGE.split("\n### ").skip(1);
    let mut names = Vec::new();
    for section in sections {
        let name = section.split(".lua\n").next().unwrap();
        let section = section.split("\n## ").next().unwrap();
        hold(product, name, section);
        names.push(format!("{name}.lua"));
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts");
    let found = fs::read_dir(folder).unwrap();
    let mut found: Vec<String> = found
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    found.sort();
    assert_eq!(names, found);
}
