//! Lines, sections, and the servers that each section leads to.

use std::collections::BTreeMap;

use crate::output::{Origin, Output};
use crate::source::Refusal;

/// A line, split into words.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its number.
    pub number: usize,
    /// Its words, without quotes.
    pub words: Vec<String>,
}

impl Line {
    /// The line's place, for notes.
    pub fn origin(&self) -> Origin {
        Origin::named(self.number, self.words.join(" "))
    }
}

/// A section such as `listen NAME`, with the lines below it.
#[derive(Debug)]
pub struct ProxySection {
    /// `global`, `defaults`, `frontend`, `backend`, `listen`, and others.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its line.
    pub number: usize,
    /// The lines below it.
    pub lines: Vec<Line>,
    /// The section `defaults` before it.
    defaults: Option<usize>,
}

/// A server of a section.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Whether it is used only if no other is up.
    pub is_backup: bool,
    /// Its line, followed by the options of `default-server`.
    pub line: Line,
}

/// The addresses to which clients connect, and their servers.
#[derive(Debug)]
pub struct Proxy {
    /// `listen` or `frontend`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The section of the servers.
    pub backend: String,
    /// Its `bind` lines.
    pub binds: Vec<Line>,
    /// Its servers.
    pub servers: Vec<Server>,
}

const KINDS: &[&str] = &[
    "global",
    "defaults",
    "frontend",
    "backend",
    "listen",
    "peers",
    "resolvers",
    "userlist",
    "mailers",
    "program",
    "cache",
    "http-errors",
    "ring",
    "log-forward",
    "fcgi-app",
    "crt-store",
    "traces",
    "acme",
];
/// The most lines that are read.
const LINES_MAX: usize = 100_000;

/// All sections.
///
/// # Errors
/// A line outside a section, or a quote without its end.
pub fn sections(text: &str) -> Result<Vec<ProxySection>, Refusal> {
    let mut sections: Vec<ProxySection> = Vec::new();
    let mut defaults = None;
    for (index, raw) in text.lines().enumerate() {
        let number = index + 1;
        if number > LINES_MAX {
            let text = format!("the file has more than {LINES_MAX} lines");
            return Err(Refusal::at(
                number,
                text,
                "name the configuration file itself",
            ));
        }
        let words = words(raw, number)?;
        let Some(first) = words.first() else { continue };
        if first.starts_with('.') {
            // A condition in the file is ignored: the lines inside it are read.
            continue;
        }
        if KINDS.contains(&first.as_str()) && !raw.starts_with([' ', '\t']) || first == "listen" {
            let name = words.get(1).cloned().unwrap_or_default();
            let mut section = ProxySection {
                kind: first.clone(),
                name,
                number,
                lines: Vec::new(),
                defaults,
            };
            // `listen NAME ADDRESS` is an old form of `bind`.
            if matches!(first.as_str(), "listen" | "frontend")
                && words.len() > 2
                && words[2] != "from"
            {
                let words = vec!["bind".to_owned(), words[2].clone()];
                section.lines.push(Line { number, words });
            }
            sections.push(section);
            if first == "defaults" {
                defaults = Some(sections.len() - 1);
            }
            continue;
        }
        match sections.last_mut() {
            Some(section) => section.lines.push(Line { number, words }),
            None => {
                let text = format!("\"{first}\" stands before the first section");
                return Err(Refusal::at(
                    number,
                    text,
                    "write global, defaults, listen, frontend or backend above it",
                ));
            }
        }
    }
    Ok(sections)
}

/// A line's words. Quotes and backslashes keep blanks; # begins a comment.
fn words(raw: &str, number: usize) -> Result<Vec<String>, Refusal> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = raw.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(end), it) if it == end => quote = None,
            (Some('\''), it) => word.get_or_insert_default().push(it),
            (_, '\\') => word.get_or_insert_default().extend(letters.next()),
            (Some(_), it) => word.get_or_insert_default().push(it),
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') => break,
            (None, it) if it.is_whitespace() => words.extend(word.take()),
            (None, it) => word.get_or_insert_default().push(it),
        }
    }
    if quote.is_some() {
        return Err(Refusal::at(
            number,
            "a quote has no end",
            "write the quote behind the text",
        ));
    }
    words.extend(word);
    Ok(words)
}

impl ProxySection {
    /// Finds a line by its first word, in the section or in its defaults.
    fn find<'a>(&'a self, sections: &'a [ProxySection], word: &str) -> Option<&'a Line> {
        let here = |it: &'a ProxySection| it.lines.iter().rev().find(|line| line.words[0] == word);
        here(self).or_else(|| sections.get(self.defaults?).and_then(here))
    }

    fn is_http(&self, sections: &[ProxySection]) -> bool {
        self.find(sections, "mode")
            .and_then(|it| it.words.get(1))
            .is_some_and(|it| it == "http")
    }

    /// Whether the section looks like MySQL: by its check, its ports, or its name.
    fn is_mysql(&self) -> bool {
        let says = |line: &Line| {
            let second = line.words.get(1).map_or("", String::as_str);
            let port = |it: &String| {
                it.rsplit_once(':')
                    .is_some_and(|(_, port)| port.starts_with("33"))
            };
            match line.words[0].as_str() {
                "option" => second == "mysql-check",
                "server" => line.words.get(2).is_some_and(port),
                "bind" => line.words.get(1).is_some_and(port),
                _ => false,
            }
        };
        let name = self.name.to_ascii_lowercase();
        let words = ["mysql", "maria", "galera", "pxc", "percona", "sql", "db"];
        self.lines.iter().any(says)
            || words.iter().any(|it| name.contains(it)) && !name.contains("pg")
    }

    fn servers(&self, sections: &[ProxySection], output: &mut Output<'_>) -> Vec<Server> {
        let defaults = self
            .find(sections, "default-server")
            .map(|it| it.words[1..].to_vec());
        let mut servers = Vec::new();
        for line in self.lines.iter().filter(|it| it.words[0] == "server") {
            let origin = Origin::named(line.number, line.words.join(" "));
            let (Some(name), Some(address)) = (line.words.get(1), line.words.get(2)) else {
                output.lost(
                    &origin,
                    "the server has no address",
                    "server NAME HOST:PORT",
                );
                continue;
            };
            let address = address
                .trim_start_matches("ipv4@")
                .trim_start_matches("ipv6@");
            let address = address.strip_prefix("unix@").unwrap_or(address);
            let Ok(address) = address.parse::<config::BackendAddress>() else {
                output.lost(
                    &origin,
                    "the address is none that can be connected to",
                    "HOST:PORT",
                );
                continue;
            };
            let mut line = line.clone();
            line.words.extend(defaults.clone().unwrap_or_default());
            servers.push(Server {
                name: name.clone(),
                address: address.to_string(),
                is_backup: line.words.iter().skip(3).any(|it| it == "backup"),
                line,
            });
        }
        servers
    }
}

/// Every address for clients, with its servers.
pub fn proxies(sections: &[ProxySection], output: &mut Output<'_>) -> Vec<Proxy> {
    let backends: BTreeMap<&str, &ProxySection> = sections
        .iter()
        .filter(|it| it.kind == "backend")
        .map(|it| (it.name.as_str(), it))
        .collect();
    let mut found = Vec::new();
    for section in sections
        .iter()
        .filter(|it| matches!(it.kind.as_str(), "listen" | "frontend"))
    {
        let origin = Origin::named(section.number, format!("{} {}", section.kind, section.name));
        if section.is_http(sections) {
            output.unneeded(
                &origin,
                "it serves HTTP: Pilotfish has a page and metrics of its own",
            );
            continue;
        }
        let target = section
            .find(sections, "default_backend")
            .and_then(|it| it.words.get(1));
        let backend = match target.and_then(|it| backends.get(it.as_str())) {
            Some(backend) => *backend,
            None => section,
        };
        let servers = backend.servers(sections, output);
        if servers.is_empty() {
            output.lost(&origin, "it leads to no server", "");
            continue;
        }
        let binds = section
            .lines
            .iter()
            .filter(|it| it.words[0] == "bind")
            .cloned()
            .collect();
        let is_mysql = section.is_mysql() || backend.is_mysql();
        let proxy = Proxy {
            kind: section.kind.clone(),
            name: section.name.clone(),
            backend: backend.name.clone(),
            binds,
            servers,
        };
        found.push((is_mysql, origin, proxy));
    }
    let some_are = found.iter().any(|(is_mysql, ..)| *is_mysql);
    let mut proxies = Vec::new();
    for (is_mysql, origin, proxy) in found {
        if is_mysql || !some_are {
            proxies.push(proxy);
        } else {
            output.lost(
                &origin,
                "it does not look like MySQL",
                "keep HAProxy for it",
            );
        }
    }
    proxies
}
