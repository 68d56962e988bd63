//! Imports every test configuration; the result passes a check. Settings without a counterpart are listed.
#![allow(clippy::unwrap_used, clippy::panic)]

mod mistakes;
mod reports;
mod results;

use std::path::{Path, PathBuf};

use config::Config;
use pilotfish_import::{Imported, Product, Refusal, Source, import};
use route::rules::Rules;

fn configurations(product: Product) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/configurations");
    let files = std::fs::read_dir(folder.join(product.word())).unwrap();
    let mut files: Vec<PathBuf> = files.map(|it| it.unwrap().path()).collect();
    files.sort();
    files
}

fn on_this_machine(path: &Path) -> bool {
    path.exists()
}

fn taken_over(product: Product, text: &str) -> Result<Imported, Refusal> {
    import(
        product,
        &Source {
            name: "test.cnf",
            text,
            has_file: &on_this_machine,
        },
    )
}

fn named(product: Product, beginning: &str) -> Imported {
    let files = configurations(product);
    let name = |it: &&PathBuf| {
        it.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with(beginning)
    };
    let text = std::fs::read_to_string(files.iter().find(name).unwrap()).unwrap();
    taken_over(product, &text).unwrap()
}

/// The settings of a result, with its rules compiled.
fn loaded(imported: &Imported) -> Config {
    let loaded = Config::load_text(None, &imported.toml, &[], |_, _| Vec::new());
    let config = loaded
        .unwrap_or_else(|faults| panic!("{faults:#?}\n{}", imported.toml))
        .config;
    if let Err(faults) = Rules::compile(&config) {
        panic!("{faults:#?}\n{}", imported.toml);
    }
    config
}

#[test]
fn every_test_configuration_becomes_a_file_that_passes_a_check() {
    for product in Product::ALL {
        let files = configurations(*product);
        assert!(
            files.len() >= 10,
            "{} configurations of {}",
            files.len(),
            product.title()
        );
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let imported = taken_over(*product, &text);
            let imported =
                imported.unwrap_or_else(|refusal| panic!("{}: {refusal}", file.display()));
            let config = loaded(&imported);
            assert!(!config.backends.is_empty(), "{}", file.display());
        }
    }
}

/// The manual's examples are valid: the import accepts the first block of each page.
#[test]
fn the_examples_of_the_manual_are_taken_over() {
    for (product, page) in [
        (Product::ProxySql, "proxysql.md"),
        (Product::MaxScale, "maxscale.md"),
        (Product::Haproxy, "haproxy.md"),
        (Product::MysqlRouter, "mysql-router.md"),
        (Product::MysqlProxy, "mysql-proxy.md"),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/manual/src");
        let text = std::fs::read_to_string(folder.join(page)).unwrap();
        let (_, example) = text.split_once("```text\n").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let config = loaded(&taken_over(product, example).unwrap());
        assert!(config.backends.len() >= 2, "{page}");
    }
}
