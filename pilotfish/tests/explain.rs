//! The output of `explain` and `plan` on the command line.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const BACKENDS: &str = r#"
[accounts]
others = "refuse"

[[backend]]
name = "db1"
address = "127.0.0.1:3306"

[[backend]]
name = "db2"
address = "127.0.0.1:3307"
role = "replica"

[[backend]]
name = "db3"
address = "127.0.0.1:3308"
role = "replica"

[[backend]]
name = "old1"
address = "127.0.0.1:3309"
cluster = "archive"

[[account]]
user = "app"
password = "a"

[[account]]
user = "report"
password = "r"
hints = ["pilotfish"]
"#;

const RULES: &str = r#"
[[rule]]
name = "alive"
digest = "SELECT 'alive'"
answer = "rows"
answer_columns = ["alive"]
answer_rows = [["yes"]]

[[rule]]
name = "reports"
user = "report"
tables = "orders"
routing.cluster = "archive"
routing.replicas = "primary"
timeout = "1m"

    [[rule.test]]
    statement = "SELECT * FROM orders"
    user = "report"
    cluster = "archive"

[[rule]]
name = "half"
percentage = 50
log = true
"#;

/// A folder of files that is deleted when the value is dropped.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        let mut file = File::options()
            .create_new(true)
            .write(true)
            // The program warns of a file with passwords that all users can read.
            .mode(0o600)
            .open(&path)
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
        path
    }
}

fn run(arguments: &[&str], input: &str) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_pilotfish"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    // A program that does not read its input may have ended before.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    process.wait_with_output().unwrap()
}

/// The lines of the output, with one blank between columns.
fn printed(arguments: &[&str], input: &str) -> Vec<String> {
    let output = run(arguments, input);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    let narrow = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(narrow).collect()
}

fn explained(statement: &str, more: &[&str]) -> Vec<String> {
    let files = Files::new();
    let config = files.write("pilotfish.toml", &format!("{BACKENDS}{RULES}"));
    let arguments = ["explain", statement, "-c", config.to_str().unwrap()];
    printed(&[&arguments, more].concat(), "")
}

/// The line with the decision: the target, and then whether the statement uses a lane.
fn decision(told: &[String]) -> &str {
    let found = told.iter().find(|line| line.starts_with("decision"));
    found.unwrap()
}

#[test]
fn a_read_goes_to_one_of_the_replicas() {
    assert_eq!(
        explained("SELECT * FROM shop.orders WHERE id = 7", &["--user", "app"]),
        [
            "statement kind SELECT",
            "statement access read",
            "statement tables shop.orders",
            "statement digest SELECT * FROM shop.orders WHERE id = ?",
            "statement digest hash 0x6e5ccd1b6ad75dc5",
            "account app is configured",
            "rule alive digest does not match",
            "rule reports user does not match",
            "rule half percentage does not match",
            "role replica it reads, outside a transaction",
            "candidate db1 is a primary",
            "candidate old1 is in another cluster",
            "candidate db2 0 in flight, weight 1",
            "candidate db3 0 in flight, weight 1",
            "decision db2 or db3 as they are loaded at that moment",
            "lane uses a lane, once statements with its digest are known to be short",
        ]
    );
}

#[test]
fn a_rule_shows_its_target_and_its_actions() {
    let told = explained("SELECT * FROM orders", &["--user", "report"]);
    for line in [
        "rule reports user, tables match; no rule behind it is asked",
        "rule half is not asked: one before it decides",
        "rules say cluster archive (rule \"reports\")",
        "rules say role primary (rule \"reports\")",
        "rules say timeout 60s (rule \"reports\")",
        "role primary as a rule or a hint says",
        "decision old1",
    ] {
        assert!(told.iter().any(|it| it == line), "{line}: {told:#?}");
    }
}

#[test]
fn an_answer_of_the_proxys_asks_no_backend() {
    let told = explained("SELECT 'alive'", &[]);
    let last = &told[told.len() - 2..];
    assert_eq!(
        last,
        [
            "rules say answer 1 row of alive (rule \"alive\")",
            "decision (none) the proxy answers it itself",
        ]
    );
}

#[test]
fn a_hint_goes_before_the_rules_where_the_account_may_give_it() {
    let statement = "/* pilotfish: cluster=main, backend=db3, role=replica */ SELECT * FROM orders";
    let told = explained(statement, &["--user", "report"]);
    assert!(told.contains(&"hint backend db3".to_owned()), "{told:#?}");
    assert_eq!(decision(&told), "decision db3");
    let told = explained(statement, &["--user", "app"]);
    assert!(told.iter().all(|line| !line.starts_with("hint")));
    let both = "decision db2 or db3 as they are loaded at that moment";
    assert_eq!(decision(&told), both);
}

#[test]
fn session_statements_and_statements_without_a_backend_are_explained() {
    for (statement, more, last) in [
        (
            "COMMIT",
            &["--user", "app"],
            "decision db1 unless another has run its last command",
        ),
        ("DELETE FROM t", &["--user", "app"], "decision db1"),
        (
            "/* pilotfish: cluster=nowhere */ SELECT 1 FROM t",
            &["--user", "report"],
            "decision (none) A rule, a hint or a script sends this statement to cluster \"nowhere\", which does not exist",
        ),
        (
            "/* pilotfish: backend=db9 */ SELECT 1 FROM t",
            &["--user", "report"],
            "decision (none) A rule, a hint or a script sends this statement to backend \"db9\", which does not exist",
        ),
        (
            // The hint names a backend, which determines the cluster.
            "/* pilotfish: backend=old1 */ SELECT 1 FROM t",
            &["--user", "report"],
            "decision old1",
        ),
    ] {
        assert_eq!(decision(&explained(statement, more)), last);
    }
}

#[test]
fn a_session_that_is_relayed_is_asked_no_rule() {
    let files = Files::new();
    let backends = BACKENDS.split("[[account]]").next().unwrap();
    let config = files.write("pilotfish.toml", &format!("{backends}{RULES}"));
    let config = config.to_str().unwrap();
    let told = printed(&["explain", "SELECT 1", "-c", config], "");
    assert!(told.iter().all(|line| !line.starts_with("rule")));
    assert!(
        told.last()
            .unwrap()
            .starts_with("decision the session's backend its session is relayed")
    );
}

#[test]
fn without_a_configuration_only_the_statement_is_explained() {
    let told = printed(&["explain", "UPDATE t SET a = 1"], "");
    let last = &told[told.len() - 3..];
    assert_eq!(
        last,
        [
            "role primary it writes, locks or administers",
            "decision (none) no backend is configured",
            "lane uses no lane: it is not a single SELECT",
        ]
    );
}

#[test]
fn a_plan_tells_settings_and_statements() {
    let files = Files::new();
    let old = files.write("old.toml", &format!("{BACKENDS}{RULES}"));
    let new = RULES
        .replace("\"1m\"", "\"2m\"")
        .replace("reports", "all reports");
    let more =
        "[[rule]]\nname = \"customers\"\ntables = \"customers\"\nrouting.replicas = \"primary\"\n";
    let new = files.write("new.toml", &format!("{BACKENDS}{new}{more}"));
    let [old, new] = [&old, &new].map(|path| path.to_str().unwrap());
    let list =
        "SELECT * FROM customers\n\nSELECT * FROM items WHERE id = ?\nSELECT * FROM customers\n";
    let arguments = ["plan", new, "-c", old, "--statements", "-", "--user", "app"];
    assert_eq!(
        printed(&arguments, list),
        [
            "Settings that change: 3",
            "rule: reports goes",
            "rule: all reports is new",
            "rule: customers is new",
            "Statements that are treated otherwise: 2 of 4",
            "SELECT * FROM orders [user report] (a test of rule \"reports\")",
            "timeout: 60s becomes 120s",
            "SELECT * FROM customers [user app] (--statements)",
            "role: replica becomes primary",
            "consistency: session becomes (nothing)",
            "backend: db2 or db3 becomes db1",
        ]
    );
    assert_eq!(
        printed(&["plan", old, "-c", old], ""),
        [
            "No setting changes.",
            "Statements that are treated otherwise: 0 of 2",
        ]
    );
}

#[test]
fn settings_that_need_a_restart_are_not_planned_for_statements() {
    let files = Files::new();
    let listener = "[[listener]]\naddress = \"127.0.0.1:4050\"\nrouting.replicas = \"primary\"\n";
    let old = files.write("old.toml", BACKENDS);
    let new = files.write("new.toml", &format!("{BACKENDS}{listener}"));
    let list = files.write("list", "SELECT * FROM t\n");
    let [old, new, list] = [&old, &new, &list].map(|path| path.to_str().unwrap());
    let by = ["--statements", list, "--listener", "127.0.0.1:4050"];
    let told = printed(&[&["plan", new, "-c", old], &by[..]].concat(), "");
    assert!(told[1].ends_with("(needs a restart)"), "{told:#?}");
    assert_eq!(told[2], "Statements that are treated otherwise: 0 of 1");
}

#[test]
fn faults_are_printed_and_the_exit_code_is_a_failure() {
    let files = Files::new();
    let good = files.write("good.toml", BACKENDS);
    let faulty = files.write(
        "faulty.toml",
        &format!("{BACKENDS}[[rule]]\nname = \"x\"\nregex = \"(\"\n"),
    );
    let [good, faulty] = [&good, &faulty].map(|path| path.to_str().unwrap());
    for arguments in [
        &["explain", "SELECT 1", "-c", faulty][..],
        &["plan", faulty, "-c", good],
        &["plan", good, "-c", faulty],
        &["plan", good, "-c", good, "--statements", "/nowhere/at/all"],
    ] {
        let output = run(arguments, "");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(output.stdout.is_empty());
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(
            told.contains("faulty.toml:") || told.contains("/nowhere"),
            "{told}"
        );
    }
    let output = run(&["explain", "SELECT 1", "--day", "sumday"], "");
    assert_eq!(output.status.code(), Some(2));
}
