//! Direct uses of the clock, of entropy and of threads. Only the binary may have them: all others are handed time, random
//! bytes and threads (the crate `system`), so that they can run under a seed.

use proc_macro2::TokenStream;
use syn::visit::{self, Visit};
use syn::{Macro, Path};

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
];

/// The crate that hands all of it to the others.
const BINARY: &str = "pilotfish";

/// The files that may use it besides, by their crates and their paths there: the clock of the runtime, which simulations
/// stop, and the threads of workers, in whose place simulations have tasks.
const FILES: &[(&str, &[&str])] = &[("net", &["clock"]), ("net", &["worker"])];

/// How often a crate uses them where it may not.
pub fn direct_uses(of: &Crate) -> Figures {
    let uses = measured_modules(of).map(uses_of).sum();
    Figures::from([(of.name.clone(), uses)])
}

/// How often each file uses them where it may not, a line each.
pub fn list_direct_uses(of: &Crate) -> Vec<String> {
    let uses = measured_modules(of).map(|module| (module, uses_of(module)));
    uses.filter(|(_, uses)| *uses > 0)
        .map(|(module, uses)| format!("{} ({uses})", module.file(&of.name)))
        .collect()
}

/// The files whose uses count.
fn measured_modules(of: &Crate) -> impl Iterator<Item = &Module> {
    let may_use = |module: &Module| {
        let mut files = FILES.iter();
        of.name == BINARY || files.any(|(name, path)| of.name == *name && module.path == *path)
    };
    of.modules.iter().filter(move |module| !may_use(module))
}

fn uses_of(module: &Module) -> usize {
    let mut walk = Walk::default();
    for item in &module.items {
        walk.visit_item(item);
    }
    walk.uses
}

#[derive(Default)]
struct Walk {
    uses: usize,
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
        self.uses += USES.iter().filter(is_end).count();
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, it: &'ast Macro) {
        self.uses += in_tokens(&it.tokens);
    }
}

/// Uses within a macro's arguments, which are no syntax tree.
fn in_tokens(tokens: &TokenStream) -> usize {
    let text = tokens.to_string();
    let of_use = |names: &&[&str]| text.matches(&names.join(" :: ")).count();
    USES.iter().map(of_use).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is counted of a text that is a file of a crate.
    fn counted(name: &str, path: &[&str], text: &str) -> Option<usize> {
        let of = Crate {
            name: name.to_owned(),
            modules: vec![Module::of_text(path, text)],
        };
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
    fn the_binary_may_use_all_and_of_the_rest_two_files() {
        let text = "fn f() { Instant::now(); }";
        assert_eq!(counted("pilotfish", &["room"], text), Some(0));
        assert_eq!(counted("net", &["clock"], text), Some(0));
        assert_eq!(counted("net", &["worker"], text), Some(0));
        assert_eq!(counted("net", &["socket"], text), Some(1));
        assert_eq!(counted("house", &["worker"], text), Some(1));
        assert_eq!(counted("worker", &["serve"], text), Some(1));
    }
}
