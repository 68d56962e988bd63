//! Several rules: which rule decides, which fills in, which is a dry run, and what is recorded of them.

use config::ReplicaUse;

use super::*;

const THREE: &str = r#"
[[rule]]
name = "log all"
log = true
stop = false

[[rule]]
name = "reads"
kind = "SELECT"
routing.replicas = "replica"
timeout = "5s"
stop = false

[[rule]]
name = "reports"
user = "report"
routing.cluster = "archive"
routing.replicas = "primary"
timeout = "1m"

[[rule]]
name = "rest"
routing.cluster = "main"
"#;

#[test]
fn the_first_rule_that_sets_an_action_decides_that_action() {
    let rules = compile(THREE).rules;
    let case = Case {
        user: "report",
        ..Case::of("SELECT 1")
    };
    case.judged(&rules, |it| {
        assert_eq!((it.log, it.matched.count()), (Some(RuleIndex(0)), 3));
        assert_eq!(it.route.role.unwrap().value, ReplicaUse::Replica);
        assert_eq!(it.route.role.unwrap().rule, RuleIndex(1));
        assert_eq!(it.timeout.unwrap().value.as_secs(), 5);
        assert_eq!(it.route.cluster.unwrap().value, "archive");
        assert_eq!(it.route.cluster.unwrap().rule, RuleIndex(2));
    });
    assert_eq!(
        Case::of("DELETE FROM t").matched(&rules),
        ["log all", "rest"]
    );
}

#[test]
fn a_rule_that_sets_the_backend_also_decides_cluster_and_role() {
    let rule =
        |name: &str, line: &str| format!("[[rule]]\nname = \"{name}\"\n{line}\nstop = false\n");
    let rules =
        compile(&(rule("a", "backend = \"db2\"") + &rule("b", "routing.replicas = \"primary\"")))
            .rules;
    Case::of("SELECT 1").judged(&rules, |it| {
        assert_eq!(
            (it.route.backend.unwrap().value, it.route.role),
            ("db2", None)
        );
    });
    let rules =
        compile(&(rule("a", "routing.replicas = \"primary\"") + &rule("b", "backend = \"db2\"")))
            .rules;
    Case::of("SELECT 1").judged(&rules, |it| {
        assert_eq!(
            (it.route.backend, it.route.role.unwrap().value),
            (None, ReplicaUse::Primary)
        );
    });
}

#[test]
fn no_rule_is_evaluated_after_an_answer() {
    let rules = compile(
        "[[rule]]\nname = \"a\"\nanswer = \"ok\"\nstop = false\n[[rule]]\nname = \"b\"\nlog = true\n",
    );
    assert_eq!(Case::of("SELECT 1").matched(&rules.rules), ["a"]);
}

#[test]
fn a_rule_with_dry_run_is_counted_and_changes_nothing() {
    let rules = compile(
        "[[rule]]\nname = \"a\"\nrefuse = \"no\"\ndry_run = true\n[[rule]]\nname = \"b\"\nrouting.replicas = \"replica\"\n",
    )
    .rules;
    let counters = Counters::new(&rules);
    for _ in 0..3 {
        Case::of("SELECT 1").ask(&rules, &counters, &mut (), |it| {
            assert!(it.reply.is_none() && it.route.role.is_some());
            assert_eq!(it.matched.iter().collect::<Vec<_>>(), [RuleIndex(1)]);
        });
    }
    let matched: Vec<_> = counters.tallies().iter().map(|it| it.matched).collect();
    assert_eq!(matched, [3, 3]);
}

#[test]
fn counts_go_on_after_a_reload_by_name() {
    let old =
        compile("[[rule]]\nname = \"a\"\nstop = false\n[[rule]]\nname = \"b\"\nstop = false\n")
            .rules;
    let counters = Counters::new(&old);
    Case::of("SELECT 1").ask(&old, &counters, &mut (), |_| ());
    counters.refused(RuleIndex(1));
    let new = compile("[[rule]]\nname = \"c\"\n[[rule]]\nname = \"b\"\n").rules;
    let carried = counters.carried_over(&new).tallies();
    let mut expected = vec![
        Tally {
            name: "c".into(),
            ..Tally::default()
        },
        Tally {
            name: "b".into(),
            matched: 1,
            refused: 1,
            ..Tally::default()
        },
    ];
    assert_eq!(carried, expected);
    expected[1].add(&carried[1]);
    assert_eq!((expected[1].matched, expected[1].refused), (2, 2));
}

#[test]
fn a_record_lists_each_evaluated_rule_with_the_reason() {
    let rules = compile(THREE).rules;
    let mut record = Record::default();
    let case = Case {
        user: "report",
        ..Case::of("DELETE FROM t")
    };
    case.ask(&rules, &Counters::default(), &mut record, |_| ());
    let told: Vec<_> = record
        .rules
        .iter()
        .map(|it| (it.name.as_str(), it.failed, it.why.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (
                "log all",
                None,
                "every statement matches; those behind it are asked"
            ),
            ("reads", Some("kind"), "kind does not match"),
            ("reports", None, "user match; no rule behind it is asked"),
        ]
    );
    let unasked: Vec<_> = record.unasked(&rules).map(|it| &*it.name).collect();
    assert_eq!(unasked, ["rest"]);
}

#[test]
fn the_needs_of_rules_follow_from_their_settings() {
    for (lines, needs) in [
        (
            "user = \"a\"\nkind = \"SELECT\"\nregex = \"x\"",
            Needs::default(),
        ),
        (
            "digest = \"SELECT 1\"",
            Needs {
                digest: true,
                ..Needs::default()
            },
        ),
        (
            "digest_regex = \"x\"",
            Needs {
                digest: true,
                ..Needs::default()
            },
        ),
        (
            "tag = \"x\"",
            Needs {
                attributes: true,
                ..Needs::default()
            },
        ),
        (
            "days = \"sat\"",
            Needs {
                time: true,
                ..Needs::default()
            },
        ),
    ] {
        let rules = compile(&format!("[[rule]]\nname = \"r\"\n{lines}\n")).rules;
        assert_eq!(rules.needs(), needs, "{lines}");
    }
}

#[test]
fn without_rules_the_record_is_empty() {
    let rules = Rules::default();
    Case::of("SELECT 1").judged(&rules, |it| {
        assert!(it.matched.count() == 0 && it.route.role.is_none() && it.reply.is_none());
    });
}
