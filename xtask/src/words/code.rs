//! The texts in the code that people read: the messages of log lines at WARN and ERROR, the texts of the proxy's own
//! errors, and the descriptions of the admin port's tables and columns.

use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Expr, FieldValue, Lit, LitStr, Macro, Member};

use super::blocks::Block;
use crate::limits::source::Crate;

/// The crates whose log lines are read.
const CRATES: &[&str] = &[
    "system",
    "wire",
    "link",
    "kafka",
    "registry",
    "backend",
    "control",
    "login",
    "lanes",
    "relay",
    "session_parts",
    "script_hooks",
    "command",
    "engine",
    "explain",
    "scripted",
    "worker",
    "script_host",
    "replication",
    "history",
    "admin",
    "http",
    "pilotfish",
];

/// The texts of one crate, by file.
pub fn texts(root: &Path) -> Result<Vec<(String, Vec<Block>)>, Vec<String>> {
    let mut texts = Vec::new();
    for name in CRATES {
        for module in Crate::read(root, name)?.modules {
            let mut found = Found {
                describes_tables: *name == "admin",
                ..Found::default()
            };
            for item in &module.items {
                found.visit_item(item);
            }
            texts.push((format!("{name}/src/{}", module.file), found.blocks));
        }
    }
    texts.retain(|(_, blocks)| !blocks.is_empty());
    Ok(texts)
}

#[derive(Default)]
struct Found {
    blocks: Vec<Block>,
    /// Whether columns and fields describe tables here.
    describes_tables: bool,
}

impl Found {
    fn add(&mut self, text: &LitStr) {
        self.blocks.push(Block {
            line: text.span().start().line,
            text: text.value(),
        });
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_macro(&mut self, it: &'ast Macro) {
        let name = it.path.segments.last().map(|last| last.ident.to_string());
        let texts = match name.as_deref() {
            Some("warn" | "error") => literals(&it.tokens, None).pop().into_iter().collect(),
            Some("define") => literals(&it.tokens, Some('=')),
            Some("columns") if self.describes_tables => {
                let mut texts = literals(&it.tokens, None);
                texts.retain(|text| text.value().ends_with('.'));
                texts
            }
            _ => Vec::new(),
        };
        for text in &texts {
            self.add(text);
        }
        visit::visit_macro(self, it);
    }

    fn visit_field_value(&mut self, it: &'ast FieldValue) {
        let is_about = matches!(&it.member, Member::Named(name) if name == "about");
        if let (true, Some(about)) = (self.describes_tables && is_about, string(&it.expr)) {
            self.add(about);
        }
        visit::visit_field_value(self, it);
    }
}

fn string(it: &Expr) -> Option<&LitStr> {
    match it {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The strings among a macro's tokens, or those behind a sign.
fn literals(tokens: &TokenStream, behind: Option<char>) -> Vec<LitStr> {
    let mut found = Vec::new();
    let mut sign = None;
    for token in tokens.clone() {
        if let TokenTree::Literal(literal) = &token
            && (behind.is_none() || behind == sign)
            && let Ok(text) = syn::parse2::<LitStr>(TokenTree::from(literal.clone()).into())
        {
            found.push(text);
        }
        sign = match &token {
            TokenTree::Punct(punct) => Some(punct.as_char()),
            _ => None,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str) -> Vec<String> {
        let mut found = Found {
            describes_tables: true,
            ..Found::default()
        };
        found.visit_file(&syn::parse_file(code).expect("the code is whole"));
        found.blocks.into_iter().map(|block| block.text).collect()
    }

    #[test]
    fn messages_of_warnings_and_errors_are_found_and_their_fields_are_not() {
        let code = r#"fn f() {
            tracing::warn!(kind = "backend_down", cause, "a backend is down");
            match it { _ => tracing::error!("{text}") }
            tracing::info!("a backend is up");
        }"#;
        assert_eq!(found(code), ["a backend is down", "{text}"]);
    }

    #[test]
    fn texts_of_errors_are_found_without_cause_and_advice() {
        let code = r#"define! { CODE name(id) = "Unknown {id}" when "It is." advice "Ask."; }"#;
        assert_eq!(found(code), ["Unknown {id}"]);
    }

    #[test]
    fn descriptions_of_tables_and_columns_are_found() {
        let code = r#"static TABLE: Sheet = Sheet { name: "pools", about: "Pools.", columns: columns! {
            integer "idle", "Connections.", |it| it.idle.into();
            measure "wait_us" ["us"], "How long.", |it| it.wait.into();
        } };"#;
        assert_eq!(found(code), ["Pools.", "Connections.", "How long."]);
    }
}
