//! The page `docs/import-reports.md` equals the reports of the import for every test configuration.

use pilotfish_import::{Imported, Level, Product, Source, import};

use crate::configurations;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/import-reports.md");

const HEAD: &str = "# Import reports

This page has the report of each test configuration of `pilotfish import`. The report lists the settings that were not carried
over, and those whose effect differs, with the reason and the nearest way. `cargo test -p pilotfish-import reports` compares
this page with what the import prints. With `PILOTFISH_WRITE=1` the test writes this page.

The configurations are in `import/tests/configurations`. They are modelled on public documentation and repositories. A number
behind a name is the line in that file. The reports are made as on a machine that has none of the files that the configurations
name. The manual has a page for each product, with a table of all settings.
";

#[test]
fn the_page_of_reports_has_the_output_of_the_import() {
    let mut page = HEAD.to_owned();
    for product in Product::ALL {
        page += &format!("\n## {}\n", product.title());
        for file in configurations(*product) {
            let text = std::fs::read_to_string(&file).unwrap();
            let name = file.file_name().unwrap().to_string_lossy();
            let source = Source {
                name: &name,
                text: &text,
                has_file: &|_| false,
            };
            let imported = import(*product, &source).unwrap();
            page += &format!(
                "\n### {}: {name}\n\n{}",
                product.word(),
                report(&name, &imported)
            );
        }
    }
    if std::env::var_os("PILOTFISH_WRITE").is_some() {
        return std::fs::write(PAGE, page).unwrap();
    }
    let kept = std::fs::read_to_string(PAGE).unwrap();
    assert!(
        kept == page,
        "PILOTFISH_WRITE=1 writes docs/import-reports.md"
    );
}

/// The report as the program prints it, without the lines about the output file.
fn report(name: &str, imported: &Imported) -> String {
    let count = |level| imported.notes.iter().filter(|it| it.level == level).count();
    let mut report = String::from("```text\n");
    let shown = imported
        .notes
        .iter()
        .filter(|it| it.level != Level::Unneeded);
    for note in shown {
        let separator = if note.line.is_some() { ":" } else { ": " };
        report += &format!("{name}{separator}{note}\n");
    }
    report += &format!(
        "{} settings were not carried over, {} differ, {} need nothing.\n```\n",
        count(Level::Lost),
        count(Level::Differs),
        count(Level::Unneeded)
    );
    report
}
