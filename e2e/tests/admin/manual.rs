//! The sessions that the manual shows, statement by statement.

use super::{Watched, columns_of};
use e2e::{Product, Server, Settings};

const PAGES: [&str; 6] = [
    include_str!("../../../docs/manual/src/admin.md"),
    include_str!("../../../docs/manual/src/insight.md"),
    include_str!("../../../docs/manual/src/mysql-proxy.md"),
    include_str!("../../../docs/manual/src/index-usage.md"),
    include_str!("../../../docs/manual/src/profiling.md"),
    include_str!("../../../docs/manual/src/runbook.md"),
];

const PROMPT: &str = "admin> ";

/// A statement of the page, and the names of the columns that are shown below it.
struct Shown {
    statement: String,
    columns: Vec<String>,
}

fn shown() -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for line in PAGES.iter().flat_map(|page| page.lines()) {
        if let Some(statement) = line.strip_prefix(PROMPT) {
            all.push(Shown {
                statement: statement.trim_end_matches(';').to_owned(),
                columns: Vec::new(),
            });
        } else if let (Some(last), Some(cells)) = (all.last_mut(), line.strip_prefix("| "))
            && last.columns.is_empty()
        {
            let cells = cells.trim_end_matches('|').split('|');
            last.columns = cells.map(|cell| cell.trim().to_owned()).collect();
        }
        if line == "```" {
            // A table that is part of the page's own text may follow.
            if let Some(last) = all.last_mut().filter(|last| last.columns.is_empty()) {
                last.columns.push(String::new());
            }
        }
    }
    all
}

#[test]
fn every_statement_of_the_manual_is_answered_as_it_says() {
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 4);
    let watched = Watched::start(settings.set("workers", 2));
    let mut root = watched.root();
    let mut client = watched.proxy.connect();
    client.run("SELECT 1");
    let all = shown();
    assert!(all.len() > 8, "{}", all.len());
    for Shown {
        statement,
        columns: expected,
    } in all
    {
        // The client's id differs from the page's.
        let id = client.id.to_string();
        let statement = statement.replace("1073741824", &id);
        let reply = root.run(&statement);
        let Some(found) = reply.results().next().map(columns_of) else {
            continue;
        };
        if !expected.is_empty() && expected != [""] {
            assert_eq!(found, expected, "{statement}");
        }
    }
}
