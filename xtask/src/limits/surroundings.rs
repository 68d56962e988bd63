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
    if of.name == "pilotfish" {
        return Figures::new();
    }
    let is_worker = |module: &&Module| module.path.iter().any(|part| part == "worker");
    let modules = of.modules.iter().filter(|module| !is_worker(module));
    let mut walk = Walk::default();
    for item in modules.flat_map(|module| &module.items) {
        walk.visit_item(item);
    }
    Figures::from([(of.name.clone(), walk.uses)])
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
