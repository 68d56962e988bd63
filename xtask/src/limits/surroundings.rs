//! Direct uses of the clock, of entropy and of threads. Only the binary may have them: all others are handed time, random
//! bytes and threads (the crate `system`), so that they can run under a seed.
//!
//! A map of the standard library with its own hasher takes random keys, too, and is no use that counts. Its keys decide
//! only the order in which it is walked. Two runs of the simulation with one seed would differ if that order mattered.

use syn::visit::{self, Visit};
use syn::{ExprMethodCall, Macro, Path};

use super::Figures;
use super::source::{Crate, Module};

/// The last names of the paths that count.
const USES: &[&[&str]] = &[
    &["Instant", "now"],
    &["SystemTime", "now"],
    &["Timestamp", "now"],
    &["Zoned", "now"],
    &["thread", "spawn"],
    &["thread", "Builder", "new"],
    &["rand", "fill"],
    &["getrandom", "fill"],
    &["rng", "fill"],
    &["RandomState"],
    &["RandomState", "new"],
    &["RandomState", "default"],
    &["thread", "sleep"],
    &[BLOCKING],
];

/// A function of the runtime, and a method of its handle: it starts a thread.
const BLOCKING: &str = "spawn_blocking";

/// The crate that hands all of it to the others.
const BINARY: &str = "pilotfish";

/// Other files that may use the clock, entropy or threads: the crate, the file's path, and the last names of the paths
/// that it may use. An empty list allows all of them.
const FILES: &[(&str, &[&str], &[&str])] = &[
    // The clock of the runtime, which simulations stop.
    ("net", &["clock"], &[]),
    // The threads of workers, in whose place simulations have tasks.
    ("net", &["worker"], &[]),
    // Work that takes long and that a task waits for, on a thread of the runtime. The work sees no clock, and while it
    // runs a simulation's time stands.
    ("login", &["examine"], &[BLOCKING]),
    ("control", &["account_loader"], &[BLOCKING]),
    ("control", &["definitions", "fetch"], &[BLOCKING]),
    ("replication", &["receiver", "script"], &[BLOCKING]),
    ("admin", &["admin_session", "aside"], &[BLOCKING]),
    // A reader of changes has a thread of its own, and no simulation runs it.
    (
        "replication",
        &["changes", "subscription"],
        &["thread", "sleep"],
    ),
    ("replication", &["changes", "tables"], &["thread", "sleep"]),
    // A script says how long it sleeps.
    ("script", &["modules", "glib2"], &["thread", "sleep"]),
];

/// Returns the number of forbidden uses in a crate.
pub fn direct_uses(of: &Crate) -> Figures {
    let uses = of.modules.iter().map(|module| uses_of(&of.name, module));
    let uses = uses.sum();
    Figures::from([(of.name.clone(), uses)])
}

/// Returns the number of forbidden uses in each file, a line each.
pub fn list_direct_uses(of: &Crate) -> Vec<String> {
    let uses = of.modules.iter();
    let uses = uses.map(|module| (module, uses_of(&of.name, module)));
    uses.filter(|(_, uses)| *uses > 0)
        .map(|(module, uses)| format!("{} ({uses})", module.file(&of.name)))
        .collect()
}

/// Returns the number of forbidden uses in a file.
fn uses_of(crate_name: &str, module: &Module) -> usize {
    let mut files = FILES.iter();
    let found = files.find(|(name, path, _)| crate_name == *name && module.path == *path);
    let allowed = found.map(|(_, _, names)| *names);
    if crate_name == BINARY || allowed.is_some_and(<[&str]>::is_empty) {
        return 0;
    }
    let mut walk = Walk {
        allowed: allowed.unwrap_or_default(),
        uses: 0,
    };
    for item in &module.items {
        walk.visit_item(item);
    }
    walk.uses
}

struct Walk {
    /// The last names of the path that the file may use.
    allowed: &'static [&'static str],
    uses: usize,
}

impl Walk {
    fn counted(&self) -> impl Iterator<Item = &'static &'static [&'static str]> {
        USES.iter().filter(|names| **names != self.allowed)
    }
}

impl<'ast> Visit<'ast> for Walk {
    fn visit_path(&mut self, path: &'ast Path) {
        let names: Vec<_> = path
            .segments
            .iter()
            .map(|it| it.ident.to_string())
            .collect();
        let is_end = |it: &&&[&str]| {
            let names = names.iter().rev().map(String::as_str);
            names.len() >= it.len() && it.iter().rev().copied().eq(names.take(it.len()))
        };
        self.uses += self.counted().filter(is_end).count();
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.uses += usize::from(call.method == BLOCKING && self.allowed != [BLOCKING]);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, it: &'ast Macro) {
        let text = it.tokens.to_string();
        let of_use = |names: &&[&str]| text.matches(&names.join(" :: ")).count();
        self.uses += self.counted().map(of_use).sum::<usize>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is counted of a text that is a file of a crate.
    fn counted(name: &str, path: &[&str], text: &str) -> Option<usize> {
        let of = Crate::of_module(name, Module::of_text(path, text));
        direct_uses(&of).get(name).copied()
    }

    #[test]
    fn a_use_counts_however_it_is_written() {
        for text in [
            "fn f() { Instant::now(); }",
            "fn f() { since.get_or_insert_with(std::time::Instant::now); }",
            "fn f() { say!(at = SystemTime::now()); }",
            "fn f() { std::thread::Builder::new().name(name).spawn(work); }",
            "fn f() { aws_lc_rs::rand::fill(&mut bytes); }",
            "struct A { keys: std::hash::RandomState }",
            "fn f() { RandomState::new().hash_one(0); }",
            "fn f() { std::thread::sleep(time); }",
            "fn f() { tokio::task::spawn_blocking(work); }",
            "fn f() { handle.spawn_blocking(work); }",
        ] {
            assert_eq!(counted("house", &["room"], text), Some(1), "{text}");
        }
        let other = "fn f() { net::clock::now(); tokio::runtime::Builder::new(); Moment::now(); }";
        assert_eq!(counted("house", &["room"], other), Some(0));
    }

    #[test]
    fn a_use_within_a_test_does_not_count() {
        let text = "#[cfg(test)] mod tests { fn f() { Instant::now(); } }";
        assert_eq!(counted("house", &["room"], text), Some(0));
    }

    #[test]
    fn the_binary_may_use_all_and_few_files_what_they_need() {
        let text = "fn f() { Instant::now(); }";
        assert_eq!(counted("pilotfish", &["room"], text), Some(0));
        assert_eq!(counted("net", &["clock"], text), Some(0));
        assert_eq!(counted("net", &["worker"], text), Some(0));
        assert_eq!(counted("net", &["socket"], text), Some(1));
        assert_eq!(counted("login", &["examine"], text), Some(1));
        let blocking = "fn f() { tokio::task::spawn_blocking(work); }";
        assert_eq!(counted("login", &["examine"], blocking), Some(0));
        assert_eq!(counted("login", &["login"], blocking), Some(1));
        assert_eq!(counted("house", &["worker"], text), Some(1));
        assert_eq!(counted("worker", &["serve"], text), Some(1));
    }
}
