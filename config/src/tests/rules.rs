//! Rules in the file: every setting, the text of each fault, tests of rules, reloads.

use std::time::Duration;

use super::{File, load, with_backend};
use crate::setting::{RULE, RULE_TEST};
use crate::*;

/// A rule with all settings that can be combined.
const FULL: &str = r#"
listen = [":4050"]

[[backend]]
address = "a"
cluster = "archive"

[[backend]]
address = "s"
cluster = "shadow"

[[rule]]
name = "reports"
user = ["report", "!root"]
schema = "shop"
networks = ["10.0.0.0/8"]
listener = [":4050"]
digest = ["SELECT 1", "0x1234"]
regex = """
select
  .*"""
digest_regex = "x"
kind = ["SELECT", "INSERT"]
tables = ["shop.*"]
tag = ["batch"]
time = "22:00-6:30"
days = ["sat", "Sunday"]
percentage = 12.5
percentage_of = "statement"
routing.cluster = "archive"
routing.replicas = "replica"
rewrite = "$0"
timeout = "5s"
delay = "100ms"
rate = 100
burst = 5
concurrency = 10
rate_by = "account"
on_limit = "refuse"
timeout_queue = "1s"
mirror = "shadow"
before = ["SHOW SESSION STATUS"]
after = ["SHOW SESSION STATUS", "SHOW WARNINGS"]
injected = "diff"
timeout_injected = "200ms"
profile = false
injected_bytes_max = "64KiB"
retry = 0
log = true
set_tag = "t"
routing.session = "transaction"
pin = ["variables"]
routing.consistency = "global"
stop = false
dry_run = true
when_unsure = "pass"

[[rule.test]]
statement = "SELECT 1"
user = "report"
schema = "shop"
client = "10.0.0.7"
listener = ":4050"
tag = ["batch"]
time = "23:00"
day = "sat"
expect = "pass"
rewritten = "SELECT 2"
cluster = "archive"
role = "replica"

[[rule.test]]
statement = "SELECT 2"

[[rule]]
name = "rest"
answer = "rows"
answer_columns = ["a", "b"]
answer_rows = [[1, "x"], ['\N', 2.5]]
"#;

#[test]
fn every_setting_of_a_rule_is_read() {
    let config = load(FULL);
    let (reports, rest) = (&config.rules[0], &config.rules[1]);
    let texts = |them: &[&str]| -> Vec<String> { them.iter().map(|it| (*it).to_owned()).collect() };
    let expected = RuleConfig {
        name: "reports".to_owned(),
        user: texts(&["report", "!root"]),
        schema: texts(&["shop"]),
        networks: vec!["10.0.0.0/8".parse().unwrap()],
        listener: vec![":4050".parse().unwrap()],
        digest: vec!["SELECT 1".into(), "0x1234".into()],
        regex: Some("select\n  .*".into()),
        digest_regex: Some("x".into()),
        kind: texts(&["SELECT", "INSERT"]),
        tables: texts(&["shop.*"]),
        tag: texts(&["batch"]),
        time: Some("22:00-06:30".parse().unwrap()),
        days: vec![Day::Saturday, Day::Sunday],
        percentage: Some(12.5),
        percentage_of: Share::Statement,
        backend: None,
        rewrite: Some("$0".into()),
        answer: None,
        answer_columns: Vec::new(),
        answer_rows: Vec::new(),
        answer_error: None,
        answer_sqlstate: None,
        answer_message: None,
        refuse: None,
        timeout: Some(Duration::from_secs(5)),
        delay: Some(Duration::from_millis(100)),
        rate: Some(100.0),
        burst: Some(5),
        concurrency: Some(10),
        rate_by: LimitBy::Account,
        on_limit: OnLimit::Refuse,
        timeout_queue: Duration::from_secs(1),
        mirror: Some("shadow".to_owned()),
        before: vec!["SHOW SESSION STATUS".into()],
        after: vec!["SHOW SESSION STATUS".into(), "SHOW WARNINGS".into()],
        injected: InjectedResults::Diff,
        timeout_injected: Duration::from_millis(200),
        profile: false,
        injected_bytes_max: 64 << 10,
        retry: Some(0),
        log: true,
        set_tag: Some("t".to_owned()),
        pin: vec![PinRule::Variables],
        stop: false,
        dry_run: true,
        when_unsure: Some(WhenUnsure::Pass),
        tests: reports.tests.clone(),
        routing: RoutingOverride {
            cluster: Some("archive".to_owned()),
            replicas: Some(ReplicaUse::Replica),
            session: Some(SessionMode::Transaction),
            consistency: Some(Consistency::Global),
            ..RoutingOverride::default()
        },
    };
    assert_eq!(*reports, expected);
    let one = |text: &str| Cell::Text(text.to_owned());
    assert_eq!(
        rest.answer_rows,
        [vec![one("1"), one("x")], vec![Cell::Null, one("2.5")]]
    );
    assert!(rest.tests.is_empty());
}

#[test]
fn every_setting_of_a_test_is_read() {
    let config = load(FULL);
    let expected = RuleTestConfig {
        statement: "SELECT 1".into(),
        user: Some("report".to_owned()),
        schema: Some("shop".to_owned()),
        client: Some("10.0.0.7".parse().unwrap()),
        listener: Some(":4050".parse().unwrap()),
        tag: vec!["batch".to_owned()],
        time: "23:00".parse().unwrap(),
        day: Day::Saturday,
        expect: Expect::Pass,
        rewritten: Some("SELECT 2".into()),
        cluster: Some("archive".to_owned()),
        role: Some(ReplicaUse::Replica),
        backend: None,
    };
    let plain = RuleTestConfig {
        statement: "SELECT 2".into(),
        ..RuleTestConfig::default()
    };
    assert_eq!(config.rules[0].tests, [expected, plain]);
}

#[test]
fn rules_are_written_as_they_are_read() {
    let config = load(FULL);
    for text in [manual::to_toml(&config), manual::differences(&config)] {
        let again = File::new(&text).load().unwrap().config;
        assert_eq!(again.rules, config.rules, "{text}");
    }
}

#[test]
fn every_setting_of_rules_and_tests_has_a_text() {
    let rule = RULE.settings.iter().map(|it| (it.name, it.about()));
    let test = RULE_TEST.settings.iter().map(|it| (it.name, it.about()));
    for (name, about) in rule.chain(test) {
        assert!(
            about.ends_with('.') || about.ends_with(':'),
            "{name}: {about}"
        );
    }
    assert!(
        RULE_TEST
            .settings
            .iter()
            .all(|it| it.name.starts_with("rule.test."))
    );
}

/// Rules with faults (each gets a backend appended), and the printed faults.
const CASES: &[(&str, &[&str])] = &[
    // Names and shapes.
    ("[[rule]]\n", &["1:1: rule.name: is missing from this rule"]),
    (
        "[[rule]]\nname = \"\"\n",
        &["2:8: rule.name: must name the rule"],
    ),
    (
        "[[rule]]\nname = \"a\"\n[[rule]]\nname = \"a\"\n",
        &["4:8: rule.name: \"a\" is given twice"],
    ),
    (
        "[[rule]]\nname = \"a\"\nusers = \"x\"\n",
        &["3:1: rule.users: is no setting; hint: did you mean \"user\"?"],
    ),
    (
        "[[rule]]\nname = \"a\"\ntests = 1\n",
        &["3:1: rule.tests: is no setting; hint: did you mean \"test\"?"],
    ),
    (
        "[[rules]]\nname = \"a\"\n",
        &["1:3: [[rules]]: is no table of settings; hint: did you mean [[rule]]?"],
    ),
    (
        "[rule]\nname = \"a\"\n",
        &["1:2: rule: must be a list of tables; hint: write [[rule]], once for each rule"],
    ),
    (
        "[[rule]]\nname = \"a\"\ntest = 1\n",
        &[
            "3:1: rule.test: must be a list of tables; hint: write [[rule.test]], once for each rule.test",
        ],
    ),
    (
        "[[rule]]\nname = \"a\"\n[[rule.test]]\nuser = \"x\"\n",
        &["3:1: rule.test.statement: is missing from this rule.test"],
    ),
    (
        "[[rule]]\nname = \"a\"\n[[rule.test]]\nstatement = \"SELECT 1\"\nexpected = \"match\"\n",
        &["5:1: rule.test.expected: is no setting; hint: did you mean \"expect\"?"],
    ),
    // Values.
    (
        "[[rule]]\nname = \"a\"\npercentage = 101\n",
        &["3:14: rule.percentage: must be from 0 to 100, not 101"],
    ),
    (
        "[[rule]]\nname = \"a\"\npercentage = -0.5\n",
        &["3:14: rule.percentage: must be from 0 to 100, not -0.5"],
    ),
    (
        "[[rule]]\nname = \"a\"\npercentage = nan\n",
        &["3:14: rule.percentage: must be from 0 to 100, not NaN"],
    ),
    (
        "[[rule]]\nname = \"a\"\ntime = \"22-6\"\n",
        &[
            "3:8: rule.time: must be a part of the day such as \"22:00-06:00\": it is hours and minutes with a colon between them",
        ],
    ),
    (
        "[[rule]]\nname = \"a\"\ntime = \"6:00-6:00\"\n",
        &[
            "3:8: rule.time: must be a part of the day such as \"22:00-06:00\": it ends when it begins",
        ],
    ),
    (
        "[[rule]]\nname = \"a\"\ndays = [\"sat\", \"sunnday\"]\n",
        &[
            "3:16: rule.days: must be one of \"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\", not \"sunnday\"",
        ],
    ),
    (
        "[[rule]]\nname = \"a\"\nregex = \"a\\u0000\"\n",
        &["3:9: rule.regex: must not contain control characters other than tabs and line ends"],
    ),
    (
        "[[rule]]\nname = \"a\"\nuser = [\"x\", \"!\"]\n",
        &["3:8: rule.user: has an entry that is empty"],
    ),
    (
        "[[rule]]\nname = \"a\"\ndigest = \" \"\n",
        &["3:10: rule.digest: has an entry that is empty"],
    ),
    // References to objects that do not exist.
    (
        "[[rule]]\nname = \"a\"\nbackend = \"db2:3306\"\n",
        &["3:11: rule.backend: there is no backend \"db2:3306\"; hint: did you mean \"db1:3306\"?"],
    ),
    (
        "[[rule]]\nname = \"a\"\nlistener = \":4041\"\n",
        &["3:12: rule.listener: nobody listens at 0.0.0.0:4041, only at 0.0.0.0:4040"],
    ),
    (
        "[[rule]]\nname = \"a\"\n[[rule.test]]\nstatement = \"SELECT 1\"\nlistener = \":4041\"\n",
        &["5:12: rule.test.listener: nobody listens at 0.0.0.0:4041, only at 0.0.0.0:4040"],
    ),
    (
        "[[rule]]\nname = \"a\"\nrouting.cluster = \"mian\"\n",
        &["3:19: rule.routing.cluster: no backend is in cluster \"mian\"; hint: there is \"main\""],
    ),
    (
        "[[rule]]\nname = \"a\"\nmirror = \"maim\"\n",
        &["3:10: rule.mirror: no backend is in cluster \"maim\"; hint: did you mean \"main\"?"],
    ),
    (
        "[[rule]]\nname = \"a\"\n[[rule.test]]\nstatement = \"SELECT 1\"\ncluster = \"x\"\n",
        &["5:11: rule.test.cluster: no backend is in cluster \"x\"; hint: there is \"main\""],
    ),
    // Settings that exclude one another.
    (
        "[[backend]]\naddress = \"x\"\ncluster = \"y\"\n[[rule]]\nname = \"a\"\nbackend = \"x:3306\"\nrouting.cluster = \"main\"\n",
        &[
            "7:19: rule.routing.cluster: is \"main\", but the backend \"x:3306\" is in cluster \"y\"",
        ],
    ),
    (
        "[[rule]]\nname = \"a\"\nbackend = \"db1:3306\"\nrouting.replicas = \"replica\"\n",
        &["4:20: rule.routing.replicas: is \"replica\", but the backend \"db1:3306\" is a primary"],
    ),
    (
        "[[rule]]\nname = \"a\"\ntimeout_injected = \"1s\"\n",
        &["3:20: rule.timeout_injected: is of no use without rule.before or rule.after"],
    ),
    (
        "[[rule]]\nname = \"a\"\nbefore = \"SHOW STATUS\"\ninjected = \"diff\"\n",
        &[
            "4:12: rule.injected: \"diff\" needs a statement that stands in rule.before and in rule.after; \
             hint: before = [\"SHOW SESSION STATUS\"], and the same after",
        ],
    ),
    (
        "[[rule]]\nname = \"a\"\nanswer = \"ok\"\nafter = \"SHOW STATUS\"\n",
        &["4:9: rule.after: is of no use beside rule.answer, which asks no backend"],
    ),
    (
        "[[rule]]\nname = \"a\"\nprofile = true\nafter = \"SHOW STATUS\"\n",
        &[
            "3:11: rule.profile: sends statements of its own; a rule with rule.before or rule.after cannot",
        ],
    ),
    (
        "[profiling]\ncollect = \"trace\"\n",
        &[
            "2:11: profiling.collect: \"trace\" tells values of statements, which profiling.include_values does not allow",
        ],
    ),
    (
        "[tracing]\nendpoint = \"127.0.0.1:4318\"\n",
        &[
            "2:12: tracing.endpoint: must begin with http:// or https://; hint: endpoint = \"http://127.0.0.1:4318\"",
        ],
    ),
    (
        "[tracing]\nendpoint = \"http://127.0.0.1:4318\"\nca = \"/ca.pem\"\n",
        &["3:6: tracing.ca: is for an endpoint that begins with https://"],
    ),
    (
        "[profiling]\ncollect = []\n",
        &["2:11: profiling.collect: is empty; hint: collect = [\"status\"]"],
    ),
    (
        "[[rule]]\nname = \"a\"\nafter = \"SHOW STATUS\"\ninjected = \"diffed\"\n",
        &[
            "4:12: rule.injected: must be one of \"discard\", \"log\", \"diff\", not \"diffed\"; hint: did you mean \"diff\"?",
        ],
    ),
    (
        "[[rule]]\nname = \"a\"\nrouting.cluster = \"main\"\nmirror = \"main\"\n",
        &["4:10: rule.mirror: \"main\" is where the statement goes anyway"],
    ),
    (
        "[[rule]]\nname = \"a\"\nanswer = \"ok\"\nrefuse = \"no\"\n",
        &["4:10: rule.refuse: stands beside rule.answer; hint: give one of the two"],
    ),
    (
        "[[rule]]\nname = \"a\"\nrefuse = \"no\"\nrouting.replicas = \"primary\"\n",
        &["4:20: rule.routing.replicas: is of no use beside rule.refuse, which asks no backend"],
    ),
    (
        "[[rule]]\nname = \"a\"\nanswer_columns = [\"a\"]\n",
        &["3:18: rule.answer_columns: is of no use without rule.answer = \"rows\""],
    ),
    (
        "[[rule]]\nname = \"a\"\nanswer = \"rows\"\n",
        &[
            "3:10: rule.answer: \"rows\" needs rule.answer_columns; hint: answer_columns = [\"a\"], and answer_rows = [[\"1\"]] for a row",
        ],
    ),
    (
        "[[rule]]\nname = \"a\"\nanswer = \"rows\"\nanswer_columns = [\"a\"]\nanswer_rows = [[1], [1, 2]]\n",
        &["5:15: rule.answer_rows: row 2 has 2 values for 1 columns"],
    ),
    (
        "[[rule]]\nname = \"a\"\nanswer = \"error\"\n",
        &["3:10: rule.answer: \"error\" needs rule.answer_message"],
    ),
    (
        "[[rule]]\nname = \"a\"\nanswer = \"error\"\nanswer_message = \"x\"\nanswer_sqlstate = \"00000\"\n",
        &[
            "5:19: rule.answer_sqlstate: \"00000\" is no SQLSTATE of an error; hint: five digits and capital letters, such as \"HY000\" or \"42000\"",
        ],
    ),
    (
        "[[rule]]\nname = \"a\"\nrate = 0\n",
        &["3:8: rule.rate: must be more than 0; hint: rule.refuse lets nothing through"],
    ),
    (
        "[[rule]]\nname = \"a\"\nburst = 1\n",
        &["3:9: rule.burst: is of no use without rule.rate"],
    ),
    (
        "[[rule]]\nname = \"a\"\non_limit = \"queue\"\n",
        &["3:12: rule.on_limit: is of no use without rule.rate or rule.concurrency"],
    ),
];

#[test]
fn each_fault_has_its_location() {
    for (text, expected) in CASES {
        let faults = File::new(&with_backend(text)).faults();
        let expected: Vec<_> = expected
            .iter()
            .map(|it| format!("pilotfish.toml:{it}"))
            .collect();
        assert_eq!(faults, expected, "{text}");
    }
}

#[test]
fn faults_found_after_parsing_have_line_and_column() {
    let text = "[[rule]]\nname = \"a\"\n[[rule.test]]\nstatement = \"1\"\n\
                [[rule]]\nname = \"b\"\n[[rule.test]]\nstatement = \"2\"\n";
    let file = File::new(&with_backend(text));
    let written = file.load().unwrap().written;
    let fault = |list, index, key| {
        let fault = written
            .fault(&Written::of(list, index, key), "x")
            .to_string();
        fault.split_once(".toml").unwrap().1.to_owned()
    };
    assert_eq!(fault("rule", 1, "name"), ":6:8: rule.name: x");
    assert_eq!(
        fault("rule.test", 1, "statement"),
        ":8:13: rule.test.statement: x"
    );
    assert_eq!(fault("rule", 0, "regex"), ": rule[0].regex: x");
}

#[test]
fn a_reload_tells_which_rules_came_changed_and_went() {
    let rule = |name: &str, more: &str| format!("[[rule]]\nname = \"{name}\"\n{more}\n");
    let old = load(&(rule("a", "") + &rule("b", "") + &rule("c", "log = true")));
    let new = load(&(rule("c", "log = false") + &rule("a", "") + &rule("d", "")));
    let changes: Vec<_> = diff(&old, &new).iter().map(ToString::to_string).collect();
    assert_eq!(
        changes,
        [
            "rule: b goes",
            "rule[c].log: true becomes false",
            "rule: d is new",
            "the order of rules: a, c becomes c, a",
        ]
    );
}
