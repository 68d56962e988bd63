//! A crate's source, file by file, as syntax trees without tests.

use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, Meta};

use crate::read;

/// A crate of the workspace.
pub struct Crate {
    pub name: String,
    pub modules: Vec<Module>,
    /// The lines of its tests: in files of their own, within other files, and in the folder `tests`.
    pub test_lines: usize,
}

/// A file of a crate that holds no tests only.
pub struct Module {
    /// The names from the crate's root down: `["pooled", "kill"]`. Empty for the root.
    pub path: Vec<String>,
    /// What stands in it, without tests and without modules of its own.
    pub items: Vec<Item>,
    /// Its lines without tests.
    pub lines: usize,
    /// The file's name, from the crate's source folder.
    pub file: String,
}

impl Crate {
    /// Reads the files below `NAME/src` and `NAME/tests`. An error names the file that cannot be read or parsed.
    pub fn read(root: &Path, name: &str) -> Result<Self, Vec<String>> {
        let mut read = Self {
            name: name.to_owned(),
            modules: Vec::new(),
            test_lines: lines_below(&root.join(name).join("tests"))?,
        };
        let source = root.join(name).join("src");
        for file in files(&source)? {
            read.add(&source, &file)?;
        }
        Ok(read)
    }

    /// Adds a file of the source.
    fn add(&mut self, source: &Path, file: &Path) -> Result<(), Vec<String>> {
        let name = file.strip_prefix(source).unwrap_or(file);
        let path = module_path(name);
        let text = read(file)?;
        let lines = text.lines().count();
        let is_of_tests = |part: &String| part == "tests" || part.ends_with("_tests");
        if path.iter().any(is_of_tests) {
            self.test_lines += lines;
            return Ok(());
        }
        let parsed =
            syn::parse_file(&text).map_err(|error| vec![format!("{}: {error}", file.display())])?;
        if is_test(&parsed.attrs) {
            self.test_lines += lines;
            return Ok(());
        }
        let module = Module::of(path, parsed.items, lines);
        self.test_lines += lines - module.lines;
        self.modules.push(Module {
            file: name.display().to_string(),
            ..module
        });
        Ok(())
    }

    /// A crate of one module, for tests.
    #[cfg(test)]
    pub fn of_module(name: &str, module: Module) -> Self {
        Self {
            name: name.to_owned(),
            modules: vec![module],
            test_lines: 0,
        }
    }
}

/// The lines of the Rust files below a folder; none if there is no such folder.
pub fn lines_below(folder: &Path) -> Result<usize, Vec<String>> {
    if !folder.exists() {
        return Ok(0);
    }
    let texts = files(folder)?.into_iter().map(|file| read(&file));
    texts.map(|text| text.map(|it| it.lines().count())).sum()
}

impl Module {
    fn of(path: Vec<String>, items: Vec<Item>, lines: usize) -> Self {
        let (tests, items): (Vec<Item>, Vec<Item>) = items
            .into_iter()
            .partition(|item| is_test(attributes(item)));
        let lines_of_tests: usize = tests.iter().map(lines_of).sum();
        Self {
            path,
            items,
            lines: lines.saturating_sub(lines_of_tests),
            file: String::new(),
        }
    }

    /// A module of a text, for tests.
    #[cfg(test)]
    #[allow(clippy::unwrap_used)]
    pub fn of_text(path: &[&str], text: &str) -> Self {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        Self::of(
            path,
            syn::parse_file(text).unwrap().items,
            text.lines().count(),
        )
    }

    /// The full name of an item: `engine::kill::Target`.
    pub fn item(&self, crate_name: &str, item: &str) -> String {
        format!("{}::{item}", self.file(crate_name))
    }

    /// The full name of the file: `engine::kill`.
    pub fn file(&self, crate_name: &str) -> String {
        let path = self.path.iter().map(String::as_str);
        [crate_name]
            .into_iter()
            .chain(path)
            .collect::<Vec<_>>()
            .join("::")
    }
}

/// How many lines something takes.
pub fn lines_of(it: &impl syn::spanned::Spanned) -> usize {
    let span = it.span();
    span.end().line + 1 - span.start().line
}

/// Rust files below a folder, sorted. An error names a folder that cannot be read.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Vec<String>> {
    let unreadable = |error: std::io::Error| vec![format!("{}: {error}", folder.display())];
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// `pooled/kill/text.rs` is `["pooled", "kill", "text"]`.
fn module_path(file: &Path) -> Vec<String> {
    let parts = file.with_extension("");
    let mut parts: Vec<String> = parts
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if parts
        .last()
        .is_some_and(|last| last == "mod" || last == "lib" || last == "main")
    {
        parts.pop();
    }
    parts
}

fn is_test(attributes: &[Attribute]) -> bool {
    let is_cfg_test = |attribute: &Attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string().replace(' ', "");
            condition == "test" || condition.starts_with("all(test,")
        }
        _ => false,
    };
    attributes.iter().any(is_cfg_test)
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}
