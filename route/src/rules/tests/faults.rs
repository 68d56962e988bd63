//! Faults of rules with their lines (the first line of a case is the second of the file), and tests
//! of rules that fail.

use super::*;

#[test]
fn each_fault_has_its_location() {
    for (lines, expected) in [
        (
            "regex = \"a(b\"",
            "4:9: rule.regex: is no regular expression: unclosed group, at character 2",
        ),
        (
            "digest_regex = \"*\"",
            "4:16: rule.digest_regex: is no regular expression: repetition operator missing expression, at character 1",
        ),
        (
            "regex = \"(a{1000}){1000}\"",
            "4:9: rule.regex: is too big: compiled it takes more than 1 MiB",
        ),
        (
            "kind = [\"SELCT\"]",
            "4:8: rule.kind: \"SELCT\" is no kind of statement; hint: such as \"SELECT\", \"INSERT\", \"CREATE TABLE\", \"SHOW\"",
        ),
        (
            "kind = \"FLUSH LOGS\"",
            "4:8: rule.kind: \"FLUSH LOGS\" is no kind of statement; hint: there are FLUSH TABLES WITH READ LOCK, FLUSH TABLES AND LOCK, FLUSH",
        ),
        (
            "digest = \"0xyz\"",
            "4:10: rule.digest: \"0xyz\" is no hash: \"0x\" and 16 hexadecimal digits",
        ),
        (
            "digest = \"-- x\"",
            "4:10: rule.digest: has an entry that is no statement",
        ),
        (
            "rewrite = \"SELECT 1\"",
            "4:11: rule.rewrite: needs rule.regex or rule.digest; hint: regex = \"(?s)^.*$\" is the whole of any statement",
        ),
        (
            "rewrite = \"$2\"\nregex = \"(a)\"",
            "4:11: rule.rewrite: names group 2, but rule.regex has 1",
        ),
        (
            "rewrite = \"SELECT 1; SELECT 2\"\ndigest = \"SELECT a\"",
            "4:11: rule.rewrite: yields no statement, or several",
        ),
        (
            "before = \"DROP TABLE t\"",
            "4:10: rule.before: \"DROP TABLE t\" is none that may be sent: SELECT, SHOW or EXPLAIN that only reads, or SET of a variable that only looks on",
        ),
        (
            "after = \"SELECT {statement}\"",
            "4:9: rule.after: \"SELECT {statement}\" is not EXPLAIN with {statement} at its end",
        ),
        // Warnings.
        (
            "user = [\"a\", \"!a\"]",
            "4:8: rule.user: takes out all that it lets in, so the rule never matches",
        ),
        (
            "kind = [\"SELECT\", \"!SELECT\"]",
            "4:8: rule.kind: takes out all that it lets in, so the rule never matches",
        ),
        (
            "percentage = 0",
            "4:14: rule.percentage: is 0, so the rule never matches",
        ),
        (
            "digest = \"SELECT a\"\nkind = \"INSERT\"",
            "5:8: rule.kind: and rule.digest exclude one another, so the rule never matches",
        ),
        (
            "digest = \"SELECT a\"\ndigest_regex = \"from\"",
            "5:16: rule.digest_regex: and rule.digest exclude one another, so the rule never matches",
        ),
        (
            "listener = \"/run/p.sock\"\nnetworks = \"10.0.0.0/8\"",
            "5:12: rule.networks: has no use beside rule.listener: clients on a Unix socket are in no network, so the rule never matches",
        ),
    ] {
        let found = faults_or_warnings(&format!("[[rule]]\nname = \"r\"\n{lines}\n"));
        assert_eq!(found, [expected], "{lines}");
    }
}

#[test]
fn host_groups_that_mean_nothing_are_faults() {
    assert_eq!(
        faults_or_warnings("[hints]\nhostgroups = [\"1: somewhere\"]\n"),
        [
            "3:14: hints.hostgroups: \"somewhere\" is no hint; hint: such as \"1: replica\" or \"20: cluster=archive\""
        ]
    );
}

#[test]
fn a_rule_that_is_never_evaluated_is_reported() {
    let rule = |name: &str, lines: &str| format!("[[rule]]\nname = \"{name}\"\n{lines}\n");
    for (first, second, is_told) in [
        ("", "user = \"a\"", true),
        (
            "user = \"a*\"",
            "user = [\"ab\", \"ac\"]\nkind = \"SELECT\"",
            true,
        ),
        ("kind = [\"SELECT\", \"INSERT\"]", "kind = \"SELECT\"", true),
        ("kind = \"CREATE\"", "kind = \"CREATE TABLE\"", true),
        (
            "networks = \"10.0.0.0/8\"",
            "networks = [\"10.1.0.0/16\", \"10.2.2.2\"]",
            true,
        ),
        (
            "tables = \"log_*\"",
            "tables = [\"log_1\", \"shop.log_2\"]",
            true,
        ),
        (
            "digest = [\"SELECT a\", \"SELECT b\"]",
            "digest = \"SELECT b\"",
            true,
        ),
        ("regex = \"x\"", "regex = \"x\"\nuser = \"a\"", true),
        (
            "days = [\"sat\", \"sun\"]",
            "days = \"sat\"\ntime = \"1:00-2:00\"",
            true,
        ),
        ("percentage = 100", "user = \"a\"", true),
        (
            "listener = [\":4050\", \"/run/p.sock\"]",
            "listener = \":4050\"",
            true,
        ),
        ("tag = \"*\"", "tag = \"batch\"", true),
        // Other sessions or statements still reach the second rule.
        ("user = \"a\"", "", false),
        ("user = \"a\"", "kind = \"SELECT\"", false),
        ("user = \"!a\"", "user = [\"a\", \"b\"]", false),
        ("percentage = 99", "percentage = 99", false),
        ("tables = \"shop.log_*\"", "tables = \"log_1\"", false),
        ("time = \"1:00-3:00\"", "days = \"sat\"", false),
        // The first rule does not stop evaluation.
        ("stop = false", "user = \"a\"", false),
        ("dry_run = true", "user = \"a\"", false),
    ] {
        let found = faults_or_warnings(&(rule("one", first) + &rule("two", second)));
        let line = 5 + first.lines().count().max(1);
        let expected = format!(
            "{line}:8: rule.name: is never asked: \"one\" stands before it and takes all that it matches; \
             hint: put the narrower rule first, or give the other one stop = false"
        );
        let expected: &[String] = if is_told { &[expected] } else { &[] };
        assert_eq!(found, expected, "{first} / {second}");
    }
}

/// Every failing test of the rules, with its line.
fn failing(rules: &str) -> Vec<String> {
    let loaded = load(rules);
    let compiled = Rules::compile(&loaded.config).unwrap();
    let failures = compiled.rules.run_tests(&loaded.config);
    let placed = failures
        .iter()
        .map(|fault| fault.placed(&loaded.written).to_string());
    placed
        .map(|text| text.split_once("pilotfish.toml:").unwrap().1.to_owned())
        .collect()
}

#[test]
fn passing_tests_are_not_reported() {
    let rules = r#"
[[rule]]
name = "nights"
user = "report"
networks = "10.0.0.0/8"
listener = ":4050"
tag = ["batch", "app=shop"]
time = "22:00-06:00"
days = "sat"
percentage = 1
routing.cluster = "archive"
routing.replicas = "replica"
[[rule.test]]
statement = "SELECT 1"
user = "report"
client = "10.0.0.7"
listener = ":4050"
tag = "app=shop"
time = "05:00"
day = "sun"
cluster = "archive"
role = "replica"
[[rule.test]]
statement = "SELECT 1"
user = "report"
expect = "pass"

[[rule]]
name = "old"
regex = "old_(\\w+)"
rewrite = "new_$1"
dry_run = false
[[rule.test]]
statement = "SELECT * FROM old_t /* tag: batch */"
schema = "shop"
rewritten = "SELECT * FROM new_t /* tag: batch */"

[[rule]]
name = "one"
backend = "db2"
dry_run = true
[[rule.test]]
statement = "SELECT 1"
[[rule.test]]
statement = "SELECT old_1"
expect = "pass"
"#;
    assert_eq!(failing(rules), [""; 0]);
}

#[test]
fn failing_tests_report_the_actual_result() {
    let rules = r#"[[rule]]
name = "first"
user = "a"
routing.cluster = "main"
[[rule.test]]
statement = "SELECT 1"
user = "b"
[[rule.test]]
statement = "SELECT 2"
user = "a"
expect = "pass"
[[rule]]
name = "second"
regex = "3"
rewrite = "4"
[[rule.test]]
statement = "SELECT 3"
user = "a"
[[rule.test]]
statement = "SELECT 3"
rewritten = "SELECT 5"
cluster = "archive"
[[rule.test]]
statement = "SELECT 2"
expect = "pass"
rewritten = "SELECT 2"
[[rule.test]]
statement = "SELECT 3"
user = "a"
expect = "pass"
cluster = "archive"
"#;
    assert_eq!(
        failing(rules),
        [
            "7:13: rule.test.statement: is not taken by the rule: its user does not match",
            "10:13: rule.test.statement: is taken by the rule, and was not to be",
            "18:13: rule.test.statement: does not come to the rule: \"first\" before it takes it",
            "22:13: rule.test.rewritten: becomes \"SELECT 4\"",
            "23:11: rule.test.cluster: the rules say nothing of it",
            "27:13: rule.test.rewritten: is not rewritten",
            "32:11: rule.test.cluster: the rules say \"main\"",
        ]
    );
}
