//! Direct uses of the clock, of entropy and of threads. Only the worker and the binary may have them: all others are
//! handed time and random numbers, so that they can run under a seed.

use proc_macro2::TokenStream;
use syn::visit::{self, Visit};
use syn::{Macro, Path};

use super::Figures;
use super::source::{Crate, Module};

/// The last two names of the paths that count.
const USES: &[[&str; 2]] = &[
    ["Instant", "now"],
    ["SystemTime", "now"],
    ["Timestamp", "now"],
    ["Zoned", "now"],
    ["thread", "spawn"],
    ["Builder", "spawn"],
    ["rand", "fill"],
    ["getrandom", "fill"],
    ["rng", "fill"],
];

/// How often a crate uses them outside its worker. The binary may.
pub fn direct_uses(of: &Crate) -> Figures {
    let uses = measured_modules(of).map(uses_of).sum();
    Figures::from([(of.name.clone(), uses)])
}

/// How often each file uses them outside the worker, a line each.
pub fn list_direct_uses(of: &Crate) -> Vec<String> {
    let uses = measured_modules(of).map(|module| (module, uses_of(module)));
    uses.filter(|(_, uses)| *uses > 0)
        .map(|(module, uses)| format!("{} ({uses})", module.file(&of.name)))
        .collect()
}

/// The files whose uses count.
fn measured_modules(of: &Crate) -> impl Iterator<Item = &Module> {
    let is_binary = of.name == "pilotfish";
    let is_worker = |module: &Module| module.path.iter().any(|part| part == "worker");
    of.modules
        .iter()
        .filter(move |module| !is_binary && !is_worker(module))
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
        let mut last = path.segments.iter().rev().map(|it| it.ident.to_string());
        let (name, owner) = (last.next(), last.next());
        if let (Some(owner), Some(name)) = (owner, name) {
            self.uses += usize::from(USES.contains(&[owner.as_str(), name.as_str()]));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, it: &'ast Macro) {
        self.uses += in_tokens(&it.tokens);
    }
}

/// Uses within a macro's arguments, which are no syntax tree.
fn in_tokens(tokens: &TokenStream) -> usize {
    let text = tokens.to_string();
    let of_use = |[owner, name]: &[&str; 2]| text.matches(&format!("{owner} :: {name}")).count();
    USES.iter().map(of_use).sum()
}
