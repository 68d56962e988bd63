//! Properties of any rules and any statement.

use proptest::prelude::*;

use super::*;

const LINES: &[&str] = &[
    "user = \"app\"",
    "user = \"!app\"",
    "kind = \"SELECT\"",
    "kind = [\"INSERT\", \"DELETE\"]",
    "tables = \"orders\"",
    "tables = \"shop.*\"",
    "schema = \"shop\"",
    "digest = \"SELECT * FROM orders WHERE id = 1\"",
    "digest = [\"DELETE FROM lines\", \"SELECT 1\"]",
    "digest_regex = \"WHERE\"",
    "regex = \"orders\"",
    "percentage = 50",
    "tag = \"batch\"",
    "networks = \"10.0.0.0/8\"",
];

const STATEMENTS: &[&str] = &[
    "SELECT * FROM orders WHERE id = 7",
    "SELECT 2",
    "DELETE FROM lines",
    "INSERT INTO other.orders VALUES (1)",
    "SELECT 1 /* tag: batch */",
    "SELECT 'orders' -- WHERE",
    "",
];

fn a_rule() -> impl Strategy<Value = String> {
    let lines = proptest::sample::subsequence(LINES.to_vec(), 0..4);
    let then = proptest::sample::select(vec!["", "stop = false", "dry_run = true"]);
    let action = proptest::sample::select(vec![
        "routing.replicas = \"replica\"",
        "routing.cluster = \"main\"",
        "log = true",
    ]);
    (lines, then, action).prop_map(|(lines, then, action)| {
        // Each setting may occur only once.
        let mut seen = std::collections::HashSet::new();
        let lines = lines
            .into_iter()
            .filter(|it| seen.insert(it.split(' ').next()));
        format!(
            "{}\n{then}\n{action}\n",
            lines.collect::<Vec<_>>().join("\n")
        )
    })
}

/// The parts of a judgement that these rules can set, as text.
fn shown(it: &Judgement<'_>) -> String {
    format!(
        "{:?} {:?} {:?} {:?}",
        it.matched, it.route.role, it.route.cluster, it.log
    )
}

proptest! {
    #[test]
    fn the_index_finds_the_same_rules_as_a_full_scan(
        rules in proptest::collection::vec(a_rule(), 0..12),
        statement in proptest::sample::select(STATEMENTS.to_vec()),
        user in proptest::sample::select(vec!["app", "root"]),
        session in any::<u64>(),
    ) {
        let file: String = rules.iter().enumerate().map(|(place, rule)| format!("[[rule]]\nname = \"r{place}\"\n{rule}")).collect();
        let rules = compile(&file).rules;
        let case = Case { user, chance: Chance::Thrown { session, statement: 0 }, ..Case::of(statement) };
        let mut record = Record::default();
        let (quick, slow) = (Counters::new(&rules), Counters::new(&rules));
        let found = case.ask(&rules, &quick, &mut (), shown);
        let looked = case.ask(&rules, &slow, &mut record, shown);
        prop_assert_eq!(found, looked, "{}", file);
        prop_assert_eq!(quick.tallies(), slow.tallies());
    }

    #[test]
    fn a_rule_reported_as_shadowed_never_matches(
        rules in proptest::collection::vec(a_rule(), 2..6),
        statement in proptest::sample::select(STATEMENTS.to_vec()),
        user in proptest::sample::select(vec!["app", "root"]),
        session in any::<u64>(),
    ) {
        let file: String = rules.iter().enumerate().map(|(place, rule)| format!("[[rule]]\nname = \"r{place}\"\n{rule}")).collect();
        let Compiled { rules, warnings, .. } = compile(&file);
        let case = Case { user, chance: Chance::Thrown { session, statement: 0 }, ..Case::of(statement) };
        let mut record = Record::default();
        case.ask(&rules, &Counters::default(), &mut record, |_| ());
        for warning in &warnings {
            let Spot::Rule(place) = warning.spot else { continue };
            let seen = record.rules.iter().find(|it| it.rule == RuleIndex(place as u32));
            prop_assert!(seen.is_none_or(|it| it.failed.is_some()), "{file}: {warning:?}");
        }
    }

    #[test]
    fn rules_can_judge_any_bytes(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let file: String = LINES.iter().enumerate().map(|(place, line)| format!("[[rule]]\nname = \"r{place}\"\n{line}\nstop = false\n")).collect();
        let rules = compile(&file).rules;
        let case = Case { text: &text, ..Case::of("") };
        case.judged(&rules, |_| ());
    }
}
