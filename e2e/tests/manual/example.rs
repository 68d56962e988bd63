//! The example of one page: its file, its commands and their output.

use e2e::collector::Collector;
use e2e::page::{blocks, section, text};

use super::addresses::Addresses;
use super::output::is_as_shown;
use super::servers::Servers;
use super::terminal::Terminal;

/// The heading of the section.
pub const HEADING: &str = "An example";

/// The address of the manual's OpenTelemetry collector.
const COLLECTOR: &str = "http://127.0.0.1:4318";

/// A command and the lines that the page shows below it.
#[derive(Debug)]
struct Step<'a> {
    command: String,
    shown: Vec<&'a str>,
}

/// Runs the example of a page. `_` in the name is `-` in the file's.
pub fn run(page: &str, product: e2e::Product) {
    let page = text(&page.replace('_', "-"));
    let example = section(&page, HEADING).expect("the page has the section");
    let steps = steps(example);
    assert!(!steps.is_empty(), "the example has no command");
    let servers = Servers::lend(product);
    let addresses = Addresses::of(servers.cluster());
    let mut terminal = Terminal::new();
    let file = with_listeners(&blocks(example, "toml").join("\n"));
    let collector = Collector::start();
    let file = file.replace(COLLECTOR, &collector.endpoint());
    terminal.write_file(&addresses.to_test(&file));
    for step in steps {
        take(&step, &addresses, &mut terminal);
    }
    terminal.end();
}

fn take(step: &Step<'_>, addresses: &Addresses, terminal: &mut Terminal) {
    let command = addresses.to_test(&step.command);
    let is_done = |output: &str| is_as_shown(&addresses.to_page(output), &step.shown);
    let output = terminal.run(&command, is_done);
    // A failed test shows the whole output, and so does the option --nocapture.
    println!("$ {}\n{}", step.command, addresses.to_page(&output));
    assert!(
        is_done(&output),
        "the page has\n{}\n{}",
        step.shown.join("\n"),
        terminal.log_tail()
    );
}

/// The commands of the blocks `console`.
fn steps(example: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    for line in blocks(example, "console").into_iter().flat_map(str::lines) {
        if let Some(command) = line.strip_prefix("$ ") {
            let command = command.to_owned();
            let shown = Vec::new();
            steps.push(Step { command, shown });
            continue;
        }
        let step = steps.last_mut();
        let step = step.unwrap_or_else(|| panic!("no command is above {line}"));
        match line.strip_prefix("> ") {
            Some(more) if step.shown.is_empty() => {
                step.command.push('\n');
                step.command.push_str(more);
            }
            _ => step.shown.push(line),
        }
    }
    steps
}

/// Adds the proxy's default addresses to a file that has none.
fn with_listeners(file: &str) -> String {
    let mut file = file.to_owned();
    for (table, port) in [("[admin]", 4041), ("[http]", 4042)] {
        let address = format!("{table}\naddress = [\"127.0.0.1:{port}\"]\n");
        let begin = format!("{table}\n");
        match file.split_once(&*begin) {
            None => file = format!("{file}\n{address}"),
            Some((_, rest)) if has_key(rest, "address") => {}
            Some((before, rest)) => file = format!("{before}{address}{rest}"),
        }
    }
    if !has_key(&file, "listen") {
        file.insert_str(0, "listen = [\"127.0.0.1:4040\"]\n");
    }
    file
}

/// Whether a table has a key. `text` begins within the table.
fn has_key(text: &str, key: &str) -> bool {
    let table = text.lines().take_while(|line| !line.starts_with('['));
    let mut keys = table.filter_map(|line| line.split_once('='));
    keys.any(|(found, _)| found.trim() == key)
}
