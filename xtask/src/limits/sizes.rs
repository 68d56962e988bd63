//! How large crates, structs and functions are.

use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, ItemStruct, Signature};

use super::Figures;
use super::source::{Crate, Module, lines_of};

/// Structs that are rows of a table: of settings, or of the admin port. Each field of a `View` is a column of its table
/// (`sessions`, `replication`, `profiles`).
const TABLES: &[&str] = &[
    "config::",
    "admin::tables::",
    "registry::worker_view::SessionView",
    "replication::status::StreamView",
    "stats::profiles::ProfileView",
];

/// Functions that are tables: a `match` with a row for each variant, or for each setting of another proxy.
const MATCHES: &[&str] = &[
    "link::failure::verdict",
    "import::haproxy::settings::server_option",
    "import::maxscale::globals::monitor",
    "import::maxscale::globals::translate",
    "import::maxscale::services::listener",
    "import::maxscale::services::option",
];

/// The lines of a crate, tests excepted.
pub fn lines(of: &Crate) -> Figures {
    let lines = of.modules.iter().map(|module| module.lines).sum();
    Figures::from([(of.name.clone(), lines)])
}

/// The lines of the crates that show the proxy to administrators, tests excepted: one figure for both.
pub fn lines_of_admin_and_http(of: &Crate) -> Figures {
    if !["admin", "http"].contains(&of.name.as_str()) {
        return Figures::new();
    }
    let lines = lines(of).into_values();
    Figures::from([("admin and http".to_owned(), lines.sum())])
}

/// The fields of each struct, tables excepted.
pub fn fields(of: &Crate) -> Figures {
    let mut figures = measured(of, |walk| walk.structs);
    figures.retain(|name, _| !TABLES.iter().any(|table| name.starts_with(table)));
    figures
}

/// The lines of each function, tables excepted.
pub fn functions(of: &Crate) -> Figures {
    let mut figures = measured(of, |walk| walk.functions);
    figures.retain(|name, _| !MATCHES.contains(&name.as_str()));
    figures
}

fn measured(of: &Crate, chosen: fn(Walk) -> Figures) -> Figures {
    let mut figures = Figures::new();
    for module in &of.modules {
        let mut walk = Walk {
            crate_name: &of.name,
            module,
            structs: Figures::new(),
            functions: Figures::new(),
        };
        for item in &module.items {
            walk.visit_item(item);
        }
        figures.extend(chosen(walk));
    }
    figures
}

struct Walk<'a> {
    crate_name: &'a str,
    module: &'a Module,
    structs: Figures,
    functions: Figures,
}

impl Walk<'_> {
    fn function(&mut self, signature: &Signature, body: &Block) {
        let name = self
            .module
            .item(self.crate_name, &signature.ident.to_string());
        let lines = lines_of(body);
        let most = self.functions.entry(name).or_default();
        *most = lines.max(*most);
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_struct(&mut self, it: &'ast ItemStruct) {
        let name = self.module.item(self.crate_name, &it.ident.to_string());
        self.structs.insert(name, it.fields.len());
    }

    fn visit_item_fn(&mut self, it: &'ast ItemFn) {
        self.function(&it.sig, &it.block);
        visit::visit_item_fn(self, it);
    }

    fn visit_impl_item_fn(&mut self, it: &'ast ImplItemFn) {
        self.function(&it.sig, &it.block);
        visit::visit_impl_item_fn(self, it);
    }
}
