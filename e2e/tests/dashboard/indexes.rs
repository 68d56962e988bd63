//! Index usage.

use super::*;

#[test]
fn indexes_are_listed_with_links_to_statements_that_scan_whole_tables() {
    const HOSTILE_INDEX: &str = "<img src=x onerror=document.title='owned'>";
    let mut root = Server::shared(Product::MariaDb).root();
    let rows: Vec<_> = (1..500)
        .map(|at| format!("({at},{},{at})", at % 50))
        .collect();
    for statement in [
        "DROP DATABASE IF EXISTS dashboard_indexes",
        "CREATE DATABASE dashboard_indexes",
        "CREATE TABLE dashboard_indexes.City (ID INT PRIMARY KEY, District INT, Population INT, \
         KEY Population (Population), KEY Twice (Population))",
        &format!("CREATE TABLE dashboard_indexes.Other (a INT, KEY `{HOSTILE_INDEX}` (a))"),
        &format!(
            "INSERT INTO dashboard_indexes.City VALUES {}",
            rows.join(",")
        ),
    ] {
        root.run(statement);
    }
    under_load(|browser, proxy, address| {
        let mut client = proxy.connect();
        client.run("USE dashboard_indexes");
        client.run("SELECT Population FROM City WHERE ID = 7");
        client.run("SELECT ID, Population FROM City WHERE District = 7");
        client.run("SELECT ID FROM City WHERE Population = 17");
        browser.open(&format!("{address}#overview"));
        browser.press("7");
        let part = |title: &str| {
            format!(
                "[...document.querySelectorAll('main section')].find(it => it.firstChild.textContent == '{title}')\
                 ?.querySelector('tbody')"
            )
        };
        for (title, words) in [
            ("Suggestions", "ADD INDEX (`District`)"),
            ("Full scans", "SELECT ID, Population FROM City"),
            ("Used indexes", "PRIMARY"),
            ("Unused indexes", "onerror"),
        ] {
            let shown = format!("{}?.textContent.includes({words:?})", part(title));
            browser.wait(&format!("{title} are told"), &shown);
        }
        assert_eq!(
            browser.run("return document.querySelectorAll('main img').length"),
            0
        );
        browser.press("/");
        browser.press("district");
        browser.wait(
            "what has it is left",
            &format!(
                "{}?.querySelectorAll('tr:not(.empty)').length == 0",
                part("Used indexes")
            ),
        );
        browser.press(&format!("{ESCAPE}{DOWN}"));
        browser.wait(
            "a row has the focus",
            "document.activeElement.matches('tr.open')",
        );
        browser.press(ENTER);
        browser.wait(
            "all that is suggested is told",
            "document.querySelector('dialog[open]')?.textContent.includes('ADD INDEX (`District`)')",
        );
        browser.press(&format!("{ESCAPE}{DOWN}{ENTER}"));
        browser.wait(
            "its page has the plan",
            "location.hash.startsWith('#digest/') && document.querySelector('.plan tbody')?.textContent.includes('ALL')",
        );
        browser.press(ESCAPE);
        browser.wait("Esc leads back", "location.hash == '#indexes'");
        assert_ne!(browser.run("return document.title"), "owned");
    });
}
