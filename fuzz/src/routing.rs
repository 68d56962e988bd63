//! Routing. Hints and tags that are read from a statement lie within its text and its limits. Rules
//! give the same result with their index and without it. No write goes to a replica.

use std::sync::OnceLock;
use std::time::Duration;

use config::{Config, Day, HintStyle, RuleConfig, TimeOfDay};
use route::rules::{
    Attribute, Chance, Client, Compiled, Counters, Hints, LocalTime, Occasion, Record, Rules,
};
use route::{Transaction, Wanted};
use sql::{Access, Analysis, Facts};

use crate::input::Input;

/// Input: settings of the reader, the accepted styles, a query attribute, and a statement.
pub fn routing(data: &[u8]) {
    let mut input = Input::new(data);
    let flags = crate::statement::flags(input.u8());
    let styles = input.u8();
    let length = usize::from(input.u8() % 32);
    let attribute = input.bytes(length);
    let text = input.rest();
    let mut analysis = Analysis::default();
    analysis.read(text, flags);
    let facts = &analysis.facts;
    check_hints(text, facts, styles);
    check_route(facts);
    let (name, value) = attribute.split_at(attribute.len() / 2);
    check_rules(&Occasion {
        text,
        flags,
        facts,
        digest: Some(&analysis.digest),
        digest_hash: None,
        client: Client {
            user: b"app",
            schema: b"shop",
            ..Client::default()
        },
        attributes: &[Attribute { name, value }],
        prepared: &(),
        time: LocalTime {
            day: Day::Monday,
            time: TimeOfDay::NOON,
        },
        chance: Chance::Thrown {
            session: 1,
            statement: u64::from(styles),
        },
    });
}

const HOSTGROUPS: [&str; 3] = [
    "0: primary",
    "1: replica",
    "20: cluster=archive, backend=db3",
];

/// Returns the rules for every input: one rule for each condition that looks at the statement's bytes.
fn compiled() -> &'static Compiled {
    static COMPILED: OnceLock<Compiled> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let rule = |name: &str, condition: &dyn Fn(&mut RuleConfig)| {
            let mut rule = RuleConfig {
                name: name.to_owned(),
                stop: false,
                ..RuleConfig::default()
            };
            condition(&mut rule);
            rule
        };
        let mut config = Config::default();
        config.hints.hostgroups = words(&HOSTGROUPS);
        config.rules = vec![
            rule("digest", &|it| {
                it.digest = vec!["SELECT * FROM t WHERE id = 1".into()]
            }),
            rule("kind", &|it| it.kind = words(&["SELECT", "CREATE"])),
            rule("tables", &|it| it.tables = words(&["t", "s*.*", "!sys.*"])),
            rule("tag", &|it| it.tag = words(&["batch", "a*=b", "!slow"])),
            rule("digest_regex", &|it| {
                it.digest_regex = Some("^SELECT .* LIMIT".into())
            }),
            rule("regex", &|it| {
                it.regex = Some("force index \\((\\w*)\\)".into());
                it.rewrite = Some("use index ($1)".into());
            }),
            rule("next regex", &|it| {
                it.regex = Some("\\bwhere id\\s*=".into())
            }),
            rule("third regex", &|it| {
                it.regex = Some("(?-i)FROM (orders|t)".into())
            }),
            rule("fourth regex", &|it| it.regex = Some("union( all)?".into())),
            rule("fifth regex", &|it| it.regex = Some("^.{200,}$".into())),
            rule("next digest", &|it| {
                it.digest_regex = Some("insert into \\w+".into())
            }),
            rule("third digest", &|it| {
                it.digest_regex = Some("(?u)für update".into())
            }),
            rule("fourth digest", &|it| {
                it.digest_regex = Some("id = \\?".into())
            }),
            rule("percentage", &|it| it.percentage = Some(50.0)),
        ];
        Rules::compile(&config).expect("they are without a fault")
    })
}

fn check_hints(text: &[u8], facts: &Facts, styles: u8) {
    let all = [
        HintStyle::Pilotfish,
        HintStyle::ProxySql,
        HintStyle::MaxScale,
    ];
    let is_accepted = |place: &usize| styles >> place & 1 != 0;
    let accepted: Vec<_> = (0..3).filter(is_accepted).map(|place| all[place]).collect();
    let rules = &compiled().hints;
    let hints = rules.read(text, facts, &accepted);
    if accepted.is_empty() {
        assert_eq!(hints, Hints::default(), "nobody is obeyed");
    }
    for named in [hints.cluster, hints.backend, hints.gtid]
        .into_iter()
        .flatten()
    {
        let is_in = |text: &[u8]| text.windows(named.len()).any(|part| part == named);
        let is_ours = HOSTGROUPS.iter().any(|group| is_in(group.as_bytes()));
        assert!(!named.is_empty() && (is_in(text) || is_ours));
    }
    for limit in [hints.timeout, hints.lag_max].into_iter().flatten() {
        assert!(limit <= Duration::from_secs(24 * 60 * 60), "{limit:?}");
    }
}

fn check_route(facts: &Facts) {
    for transaction in [
        Transaction::None,
        Transaction::Implicit,
        Transaction::Reading,
    ] {
        let wanted = route::wanted(facts, transaction);
        if facts.access > Access::Read && transaction != Transaction::Reading {
            assert!(matches!(wanted, Wanted::Primary(_)), "{wanted:?}");
        }
    }
    if route::is_repeatable(facts) {
        assert!(facts.access <= Access::Read);
    }
    let wanted = route::wanted(facts, Transaction::Open);
    assert!(matches!(wanted, Wanted::Same(_)));
}

fn check_rules(occasion: &Occasion<'_>) {
    let rules = &compiled().rules;
    let counters = Counters::new(rules);
    let quick = rules.judge(occasion, &counters, &mut ());
    let mut record = Record::default();
    let slow = rules.judge(occasion, &counters, &mut record);
    assert_eq!(quick.matched, slow.matched);
    assert_eq!(quick.effects(), slow.effects());
    if let Some(rewritten) = &quick.rewritten {
        let facts = sql::facts(&rewritten.value.text, occasion.flags);
        assert_eq!(facts.statements.len(), 1, "one statement comes of it");
    }
}
