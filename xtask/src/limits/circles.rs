//! Modules of a crate that refer to each other in a circle, each file being a module.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{ItemUse, Macro, Path, UseTree, Visibility};

use super::Figures;
use super::source::{Crate, Module};

/// A line for each module: which modules of the crate it refers to. Those of a circle stand together, and a module
/// stands below all that it refers to but for its circle.
pub fn references(of: &Crate) -> String {
    let graph = graph(of);
    let name = |number: &usize| of.modules[*number].path.join("::");
    let mut lines = Vec::new();
    for circle in tarjan_scc(&graph) {
        if circle.len() > 1 {
            lines.push(format!("a circle of {}:", circle.len()));
        }
        let indent = if circle.len() > 1 { "  " } else { "" };
        for number in &circle {
            let others: Vec<_> = graph.neighbors(*number).map(|it| name(&it)).collect();
            lines.push(format!("{indent}{}: {}", name(number), others.join(" ")));
        }
    }
    lines.join("\n")
}

/// How many modules the largest circle of a crate has.
pub fn largest(of: &Crate) -> Figures {
    let circles = tarjan_scc(&graph(of));
    let largest = circles.iter().map(Vec::len).max().unwrap_or(0);
    Figures::from([(of.name.clone(), largest)])
}

/// The modules of a crate by their paths, and their numbers.
type Known<'a> = BTreeMap<&'a [String], usize>;

/// Which module refers to which, by their numbers.
fn graph(of: &Crate) -> DiGraphMap<usize, ()> {
    let paths = of.modules.iter().enumerate();
    let known: Known = paths
        .map(|(number, module)| (module.path.as_slice(), number))
        .collect();
    let mut graph = DiGraphMap::new();
    for (number, module) in of.modules.iter().enumerate() {
        graph.add_node(number);
        let found = References::of(module, &known).found;
        for other in found.iter().filter_map(|path| owner(&known, path)) {
            if other != number {
                graph.add_edge(number, other, ());
            }
        }
    }
    graph
}

/// The module that has the item of a path: the longest beginning of it that is a module. The root owns nothing here,
/// because each module stands below it.
fn owner(known: &Known, path: &[String]) -> Option<usize> {
    (1..=path.len())
        .rev()
        .find_map(|length| known.get(&path[..length]).copied())
}

/// The paths of the own crate that a module names, from the root down.
struct References<'a> {
    module: &'a Module,
    known: &'a Known<'a>,
    found: BTreeSet<Vec<String>>,
}

impl<'a> References<'a> {
    fn of(module: &'a Module, known: &'a Known<'a>) -> Self {
        let mut references = Self {
            module,
            known,
            found: BTreeSet::new(),
        };
        for item in &module.items {
            references.visit_item(item);
        }
        references
    }

    /// Notes a path that begins with `crate`, `super`, `self` or a module of this one.
    fn note(&mut self, path: &[String]) {
        let own = &self.module.path;
        let above = path.iter().take_while(|part| *part == "super").count();
        let (base, rest) = match path.first().map(String::as_str) {
            Some("crate") => (&own[..0], &path[1..]),
            Some("self") => (&own[..], &path[1..]),
            Some("super") => (&own[..own.len().saturating_sub(above)], &path[above..]),
            Some(name) if self.is_module(name) => (&own[..], path),
            _ => return,
        };
        self.found.insert([base, rest].concat());
    }

    /// A name that stands alone is a variable, though a module may be called the same.
    fn note_path(&mut self, path: &[String]) {
        if path.len() > 1 {
            self.note(path);
        }
    }

    fn is_module(&self, name: &str) -> bool {
        let path = [self.module.path.as_slice(), &[name.to_owned()]].concat();
        self.known.contains_key(path.as_slice())
    }

    fn is_below(&self, tree: &UseTree) -> bool {
        matches!(tree, UseTree::Path(it) if self.is_module(&it.ident.to_string()))
    }

    fn note_tree(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(it) => self.note_tree(&it.tree, &with(it.ident.to_string())),
            UseTree::Name(it) => self.note(&with(it.ident.to_string())),
            UseTree::Rename(it) => self.note(&with(it.ident.to_string())),
            UseTree::Glob(_) => self.note(before),
            UseTree::Group(it) => it
                .items
                .iter()
                .for_each(|tree| self.note_tree(tree, before)),
        }
    }

    fn note_tokens(&mut self, tokens: &TokenStream) {
        let mut path = Vec::new();
        for token in tokens.clone() {
            match token {
                TokenTree::Ident(name) => path.push(name.to_string()),
                TokenTree::Punct(mark) if mark.as_char() == ':' => {}
                other => {
                    self.note_path(&std::mem::take(&mut path));
                    if let TokenTree::Group(group) = other {
                        self.note_tokens(&group.stream());
                    }
                }
            }
        }
        self.note_path(&path);
    }
}

impl<'ast> Visit<'ast> for References<'_> {
    /// A title page that only names what is below it for others does not depend on that.
    fn visit_item_use(&mut self, it: &'ast ItemUse) {
        let hands_on = !matches!(it.vis, Visibility::Inherited);
        if !(hands_on && self.is_below(&it.tree)) {
            self.note_tree(&it.tree, &[]);
        }
    }

    /// A visibility says who may see an item, and names nothing that the module uses.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast Path) {
        let names = path.segments.iter().map(|it| it.ident.to_string());
        self.note_path(&names.collect::<Vec<_>>());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, it: &'ast Macro) {
        self.note_tokens(&it.tokens);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn circle(files: &[(&str, &str)]) -> Option<usize> {
        let module = |(path, text): &(&str, &str)| Module {
            path: path.split('/').map(str::to_owned).collect(),
            items: syn::parse_file(text).unwrap().items,
            lines: 0,
            file: String::new(),
        };
        let of = Crate {
            name: "house".to_owned(),
            modules: files.iter().map(module).collect(),
            test_lines: 0,
        };
        largest(&of).get("house").copied()
    }

    #[test]
    fn two_files_that_use_each_other_are_a_circle() {
        let b = ("b", "fn f(_: super::a::A) {}");
        assert_eq!(circle(&[("a", "use crate::b::{B, C};"), b]), Some(2));
        assert_eq!(circle(&[("a", "use crate::c::B;"), b]), Some(1));
    }

    #[test]
    fn a_reference_within_a_macro_counts() {
        let b = ("b", "use crate::a::A;");
        assert_eq!(
            circle(&[("a", "fn f() { say!(x, crate::b::B); }"), b]),
            Some(2)
        );
    }

    #[test]
    fn a_visibility_is_not_a_reference() {
        let below = ("a/below", "pub(super) struct B { pub(super) c: C }");
        assert_eq!(circle(&[("a", "use below::B;"), below]), Some(1));
    }

    #[test]
    fn a_variable_is_not_the_module_of_the_same_name() {
        let below = ("a/below", "use super::A;");
        let variable = "fn f(below: B) { g(below); say!(below) }";
        assert_eq!(circle(&[("a", variable), below]), Some(1));
        let below = ("a/below", "use super::A;");
        assert_eq!(circle(&[("a", "fn f() { below::g() }"), below]), Some(2));
    }

    #[test]
    fn a_re_export_is_no_dependency_of_a_module() {
        let below = ("a/below", "use super::A;");
        assert_eq!(circle(&[("a", "pub use below::B;"), below]), Some(1));
        assert_eq!(circle(&[("a", "use below::B;"), below]), Some(2));
    }
}
