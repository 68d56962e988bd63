//! Sections by their type, and what they have in common.

use std::collections::BTreeMap;

use crate::ini::{self, Section};
use crate::output::{Origin, Output, Toml};
use crate::source::Refusal;

/// All sections.
pub struct Objects {
    sections: Vec<Section>,
    /// The cluster of each server, by the server's name.
    clusters: BTreeMap<String, String>,
}

const TYPES: &[&str] = &["server", "monitor", "service", "listener", "filter"];

impl Objects {
    /// Reads a file. A section with `@include` gets the entries of the included section.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        let mut sections = ini::read(text)?;
        include(&mut sections);
        let mut objects = Self {
            sections,
            clusters: BTreeMap::new(),
        };
        let monitors: Vec<&Section> = objects.of("monitor").collect();
        let is_one = monitors.len() <= 1;
        let mut clusters = BTreeMap::new();
        for monitor in monitors {
            for server in words(monitor.value("servers").unwrap_or("")) {
                let name = if is_one {
                    "main".to_owned()
                } else {
                    plain(&monitor.name)
                };
                clusters.entry(server).or_insert(name);
            }
        }
        objects.clusters = clusters;
        Ok(objects)
    }

    /// Sections of a type.
    pub fn of(&self, kind: &'static str) -> impl Iterator<Item = &Section> {
        self.sections.iter().filter(move |it| {
            it.value("type")
                .is_some_and(|it| it.eq_ignore_ascii_case(kind))
        })
    }

    /// A section by its name.
    pub fn named(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|it| it.name == name)
    }

    /// The section `[maxscale]`.
    pub fn global(&self) -> Option<&Section> {
        self.sections.iter().find(|it| {
            matches!(
                it.name.to_ascii_lowercase().as_str(),
                "maxscale" | "gateway"
            )
        })
    }

    /// Sections of an unknown type.
    pub fn unknown(&self) -> impl Iterator<Item = &Section> {
        self.sections.iter().filter(|it| {
            let kind = it.value("type").unwrap_or("").to_ascii_lowercase();
            let is_global = matches!(
                it.name.to_ascii_lowercase().as_str(),
                "maxscale" | "gateway"
            );
            !is_global && kind != "include" && !TYPES.contains(&kind.as_str())
        })
    }

    /// The cluster of a server.
    pub fn cluster(&self, server: &str) -> &str {
        self.clusters.get(server).map_or("main", String::as_str)
    }

    /// The servers of a service: its own servers, the servers of its monitor, or the servers of the service behind it.
    pub fn servers_of(&self, service: &Section) -> Vec<String> {
        let mut names = Vec::new();
        let mut services = vec![service];
        let mut seen = 0;
        while let Some(service) = services.pop() {
            seen += 1;
            if seen > 64 {
                break;
            }
            let monitor = service.value("cluster").and_then(|it| self.named(it));
            let direct = service.value("servers").or(service.value("targets"));
            let of_monitor = monitor.and_then(|it| it.value("servers"));
            for name in words(direct.or(of_monitor).unwrap_or("")) {
                match self.named(&name) {
                    Some(target) if target.value("type") == Some("service") => {
                        services.push(target)
                    }
                    _ => names.push(name),
                }
            }
        }
        names
    }
}

/// Copies the entries of sections that `@include` names.
fn include(sections: &mut [Section]) {
    let mut given = BTreeMap::new();
    for section in sections
        .iter()
        .filter(|it| it.value("type") == Some("include"))
    {
        given.insert(section.name.clone(), section.entries.clone());
    }
    for section in sections {
        let Some(names) = section.value("@include").map(words) else {
            continue;
        };
        for name in names {
            for entry in given.get(&name).into_iter().flatten() {
                let key = ini::plain(&entry.key);
                if key != "type" && section.entry(&key).is_none() {
                    section.entries.push(entry.clone());
                }
            }
        }
    }
}

/// Words between commas.
pub fn words(text: &str) -> Vec<String> {
    let words = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    words.map(str::to_owned).collect()
}

/// A section's password. An encrypted password is left out, with a note.
pub fn password(section: &Section, output: &mut Output<'_>) -> Option<Toml> {
    let entry = section
        .entry("password")
        .or_else(|| section.entry("passwd"))?;
    let from = Origin::named(entry.line, format!("[{}] password", section.name));
    let is_hex = entry.value.len() >= 32 && entry.value.bytes().all(|it| it.is_ascii_hexdigit());
    if is_hex {
        let reason = "the password is encrypted with MaxScale's own key";
        output.lost(
            &from,
            reason,
            "write the password into a file, and give \"file:PATH\"",
        );
        return None;
    }
    output.secret(&entry.value, &from)
}

/// A cluster's name from a section's.
fn plain(name: &str) -> String {
    let letter = |it: char| {
        if it.is_ascii_alphanumeric() || "_-.".contains(it) {
            it
        } else {
            '-'
        }
    };
    name.chars().take(40).map(letter).collect()
}
