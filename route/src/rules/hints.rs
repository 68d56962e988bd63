//! Routing hints in a statement's own text, in three syntaxes:
//!
//! - `/* pilotfish: replica, cluster=shop, timeout=2s */`, in any comment
//! - ProxySQL's `/* ;hostgroup=1;query_timeout=2000 */`, in the first comment
//!   (`Query_Processor::query_parser_first_comment`)
//! - MaxScale's `-- maxscale route to slave`, in the first comment (`hintparser`)

use std::collections::HashMap;
use std::str::{self, FromStr};
use std::time::Duration;

use config::{Consistency, HintStyle, HintsConfig, ReplicaUse};
use sql::Facts;

use super::fault::{Fault, Spot};
use super::tags::{behind, inside, items};

/// The hints in a statement's comments. If a hint is given twice, the first one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints<'a> {
    /// The roles of backends that may be used.
    pub role: Option<ReplicaUse>,
    /// The cluster's name.
    pub cluster: Option<&'a [u8]>,
    /// The backend's name.
    pub backend: Option<&'a [u8]>,
    /// The longest time that the statement may run.
    pub timeout: Option<Duration>,
    /// The largest lag of a replica that may run the statement.
    pub lag_max: Option<Duration>,
    /// Which earlier writes a read has to see.
    pub consistency: Option<Consistency>,
    /// Transactions that a replica must have applied: a GTID or a set of GTIDs.
    pub gtid: Option<&'a [u8]>,
    /// Whether the statement is to be profiled.
    pub profile: bool,
    /// The number of hints that this proxy does not understand or support.
    pub unread: u32,
}

/// The meaning of ProxySQL's host group numbers.
#[derive(Clone, Debug, Default)]
pub struct HintRules {
    /// Host group number → a hint in Pilotfish's syntax.
    hostgroups: HashMap<u32, Box<str>>,
}

impl HintRules {
    /// Reads the host groups of the configuration.
    ///
    /// # Errors
    /// Every entry that is not a number, a colon and a hint.
    pub fn new(config: &HintsConfig) -> Result<Self, Vec<Fault>> {
        let mut hostgroups = HashMap::new();
        let mut faults = Vec::new();
        for entry in &config.hostgroups {
            match hostgroup(entry) {
                Ok((number, hint)) => {
                    if hostgroups.insert(number, hint.into()).is_some() {
                        faults.push(fault(format!("{number} is given twice")));
                    }
                }
                Err(text) => faults
                    .push(fault(text).hint("such as \"1: replica\" or \"20: cluster=archive\"")),
            }
        }
        match faults.is_empty() {
            true => Ok(Self { hostgroups }),
            false => Err(faults),
        }
    }

    /// Returns the hints of a statement. Hints in a syntax that is not in `accepted` are ignored.
    pub fn read<'a>(&'a self, text: &'a [u8], facts: &Facts, accepted: &[HintStyle]) -> Hints<'a> {
        let mut hints = Hints::default();
        if accepted.is_empty() || facts.comments.is_empty() {
            return hints;
        }
        let mut comments = facts.comments.iter().filter(|it| !it.is_hint);
        let first = comments.clone().next().map(|it| inside(*it, text));
        if accepted.contains(&HintStyle::Pilotfish) {
            comments
                .by_ref()
                .for_each(|it| hints.pilotfish(inside(*it, text)));
        }
        let Some(first) = first else { return hints };
        if accepted.contains(&HintStyle::ProxySql) {
            hints.proxysql(first, self);
        }
        if accepted.contains(&HintStyle::MaxScale) {
            hints.maxscale(first);
        }
        hints
    }
}

fn fault(text: String) -> Fault {
    Fault {
        spot: Spot::Hints,
        setting: "hostgroups",
        text,
        hint: None,
    }
}

/// `1: replica`
fn hostgroup(entry: &str) -> Result<(u32, &str), String> {
    let wrong = || format!("\"{entry}\" is no number with a hint behind it");
    let (number, hint) = entry.split_once(':').ok_or_else(wrong)?;
    let number = number.trim().parse().map_err(|_| wrong())?;
    let mut hints = Hints::default();
    hints.items(hint.as_bytes());
    match hints.unread > 0 || hints == Hints::default() {
        true => Err(format!("\"{}\" is no hint", hint.trim())),
        false => Ok((number, hint.trim())),
    }
}

impl<'a> Hints<'a> {
    /// Whether there is no hint.
    pub fn is_empty(&self) -> bool {
        Hints { unread: 0, ..*self } == Hints::default()
    }

    /// Returns the tag that a hint gives a statement.
    pub fn tag_of(hint: &[u8]) -> Option<&[u8]> {
        items(hint).find_map(|(key, value)| value.filter(|_| key.eq_ignore_ascii_case(b"tag")))
    }

    /// Fills the hints that are not set from `others`.
    pub fn or(self, others: Self) -> Self {
        Self {
            role: self.role.or(others.role),
            cluster: self.cluster.or(others.cluster),
            backend: self.backend.or(others.backend),
            timeout: self.timeout.or(others.timeout),
            lag_max: self.lag_max.or(others.lag_max),
            consistency: self.consistency.or(others.consistency),
            gtid: self.gtid.or(others.gtid),
            profile: self.profile || others.profile,
            unread: self.unread + others.unread,
        }
    }

    /// Reads the value of a query attribute named `pilotfish`. Hints in comments take precedence over it.
    pub fn attribute(&mut self, value: &'a [u8]) {
        self.items(value);
    }

    fn pilotfish(&mut self, comment: &'a [u8]) {
        if let Some(hint) = behind(comment, b"pilotfish") {
            self.items(hint);
        }
    }

    /// `replica, cluster=shop`
    fn items(&mut self, hint: &'a [u8]) {
        for (key, value) in items(hint) {
            if self.item(key, value).is_none() {
                self.unread += 1;
            }
        }
    }

    /// Reads one item of a hint. Returns none if the proxy does not understand the item.
    fn item(&mut self, key: &[u8], value: Option<&'a [u8]>) -> Option<()> {
        let key = str::from_utf8(key).ok()?.to_ascii_lowercase();
        let Some(value) = value else {
            if key == "profile" {
                self.profile = true;
                return Some(());
            }
            set(&mut self.role, role(&key)?);
            return Some(());
        };
        match key.as_str() {
            "role" => set(&mut self.role, role(str::from_utf8(value).ok()?)?),
            "cluster" => set(&mut self.cluster, named(value)?),
            "backend" => set(&mut self.backend, named(value)?),
            "gtid" => set(&mut self.gtid, named(value)?),
            "timeout" => set(&mut self.timeout, duration(value)?),
            "lag_max" => set(&mut self.lag_max, duration(value)?),
            "consistency" => set(&mut self.consistency, consistency(value)?),
            // The tag is no hint: conditions of rules compare it.
            "tag" => {}
            _ => return None,
        }
        Some(())
    }

    /// `;hostgroup=1;max_lag_ms=500`: keys and values between semicolons. Unknown keys are ignored, because
    /// a first comment may be an ordinary comment.
    fn proxysql(&mut self, comment: &'a [u8], rules: &'a HintRules) {
        for part in comment.split(|byte| *byte == b';') {
            let Some(equal) = part.iter().position(|byte| *byte == b'=') else {
                continue;
            };
            let (key, value) = (part[..equal].trim_ascii(), part[equal + 1..].trim_ascii());
            let is_read = match key {
                b"hostgroup" => self.hostgroup(value, rules),
                b"query_timeout" => milliseconds(value).map(|it| set(&mut self.timeout, it)),
                b"max_lag_ms" => milliseconds(value).map(|it| set(&mut self.lag_max, it)),
                b"min_gtid" => named(value).map(|it| set(&mut self.gtid, it)),
                b"cache_ttl"
                | b"query_retries"
                | b"query_delay"
                | b"mirror"
                | b"min_epoch_ms"
                | b"create_new_connection" => None,
                _ => Some(()),
            };
            if is_read.is_none() {
                self.unread += 1;
            }
        }
    }

    fn hostgroup(&mut self, value: &[u8], rules: &'a HintRules) -> Option<()> {
        let number: u32 = number(value)?;
        let hint = rules.hostgroups.get(&number)?;
        self.items(hint.as_bytes());
        Some(())
    }

    /// `maxscale route to slave`, `maxscale max_slave_replication_lag=5`
    fn maxscale(&mut self, comment: &'a [u8]) {
        let mut words = comment
            .split(u8::is_ascii_whitespace)
            .filter(|it| !it.is_empty());
        if !words
            .next()
            .is_some_and(|it| it.eq_ignore_ascii_case(b"maxscale"))
        {
            return;
        }
        let words: [&[u8]; 4] = std::array::from_fn(|_| words.next().unwrap_or_default());
        if self.maxscale_words(words).is_none() {
            self.unread += 1;
        }
    }

    fn maxscale_words(&mut self, words: [&'a [u8]; 4]) -> Option<()> {
        let is = |word: &[u8], other: &[u8]| word.eq_ignore_ascii_case(other);
        match words {
            [route, to, what, name] if is(route, b"route") && is(to, b"to") => {
                if is(what, b"server") {
                    set(&mut self.backend, named(name)?);
                } else {
                    set(&mut self.role, role(str::from_utf8(what).ok()?)?);
                }
            }
            [setting, ..] => {
                let equal = setting.iter().position(|byte| *byte == b'=')?;
                if !is(&setting[..equal], b"max_slave_replication_lag") {
                    return None;
                }
                let seconds = number::<u64>(&setting[equal + 1..])?;
                let lag_max = Duration::from_secs(seconds).min(LONGEST);
                set(&mut self.lag_max, lag_max);
            }
        }
        Some(())
    }
}

fn set<T>(place: &mut Option<T>, value: T) {
    place.get_or_insert(value);
}

fn role(word: &str) -> Option<ReplicaUse> {
    match word.to_ascii_lowercase().as_str() {
        "primary" | "master" => Some(ReplicaUse::Primary),
        "replica" | "slave" => Some(ReplicaUse::Replica),
        "any" => Some(ReplicaUse::Any),
        "split" => Some(ReplicaUse::Split),
        _ => None,
    }
}

fn named(value: &[u8]) -> Option<&[u8]> {
    (!value.is_empty()).then_some(value)
}

fn consistency(value: &[u8]) -> Option<Consistency> {
    let levels = [Consistency::None, Consistency::Session, Consistency::Global];
    let is_meant = |it: &Consistency| value.eq_ignore_ascii_case(it.name().as_bytes());
    levels.into_iter().find(is_meant)
}

fn number<T: FromStr>(value: &[u8]) -> Option<T> {
    str::from_utf8(value).ok()?.parse().ok()
}

fn milliseconds(value: &[u8]) -> Option<Duration> {
    number(value).map(|number| Duration::from_millis(number).min(LONGEST))
}

/// The longest duration of a hint. A longer one in the syntax of another proxy is reduced to it; a longer
/// one in Pilotfish's syntax is not accepted.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Reads a duration in the configuration's format, such as `2s`.
fn duration(value: &[u8]) -> Option<Duration> {
    let duration = config::read_duration(str::from_utf8(value).ok()?)?;
    (duration <= LONGEST).then_some(duration)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ALL: [HintStyle; 3] = [
        HintStyle::Pilotfish,
        HintStyle::ProxySql,
        HintStyle::MaxScale,
    ];

    fn rules() -> HintRules {
        let config = HintsConfig {
            hostgroups: vec![
                "0: primary".to_owned(),
                "1: replica".to_owned(),
                "21:cluster=archive, replica".to_owned(),
            ],
            ..HintsConfig::default()
        };
        HintRules::new(&config).unwrap()
    }

    fn check(accepted: &[HintStyle], statement: &str, expected: Hints<'_>) {
        let facts = sql::facts(statement.as_bytes(), sql::Flags::default());
        let rules = rules();
        let hints = rules.read(statement.as_bytes(), &facts, accepted);
        assert_eq!(hints, expected, "{statement}");
    }

    const NONE: Hints<'static> = Hints {
        role: None,
        cluster: None,
        backend: None,
        timeout: None,
        lag_max: None,
        consistency: None,
        gtid: None,
        profile: false,
        unread: 0,
    };
    const PRIMARY: Hints<'static> = Hints {
        role: Some(ReplicaUse::Primary),
        ..NONE
    };
    const REPLICA: Hints<'static> = Hints {
        role: Some(ReplicaUse::Replica),
        ..NONE
    };

    #[test]
    fn pilotfish_hints_are_read_in_any_comment() {
        for (statement, expected) in [
            ("/* pilotfish: primary */ SELECT 1", PRIMARY),
            ("SELECT /* x */ 1 -- pilotfish: REPLICA", REPLICA),
            ("SELECT 1 # pilotfish:role=slave", REPLICA),
            ("SELECT '/* pilotfish: primary */'", NONE),
            ("/* pilotfishes: primary */ SELECT 1", NONE),
            ("/*+ pilotfish: primary */ SELECT 1", NONE),
            ("/* pilotfish: primary, replica */ SELECT 1", PRIMARY),
            ("/* pilotfish: tag=x */ SELECT 1", NONE),
            (
                "/* pilotfish: nowhere, timeout=soon, backend= */ SELECT 1",
                Hints { unread: 3, ..NONE },
            ),
            (
                "/* pilotfish: Profile */ SELECT 1",
                Hints {
                    profile: true,
                    ..NONE
                },
            ),
            (
                "/* pilotfish: backend=db3, timeout=2s; consistency=Global,gtid='a:1,b:2', lag_max = 500ms */ SELECT 1",
                Hints {
                    backend: Some(b"db3"),
                    timeout: Some(Duration::from_secs(2)),
                    lag_max: Some(Duration::from_millis(500)),
                    consistency: Some(Consistency::Global),
                    gtid: Some(b"a:1,b:2"),
                    ..NONE
                },
            ),
        ] {
            check(&ALL, statement, expected);
        }
    }

    #[test]
    fn proxysql_hints_are_read_in_the_first_comment() {
        let archive = Hints {
            cluster: Some(b"archive"),
            ..REPLICA
        };
        for (statement, expected) in [
            ("/* hostgroup=1 */ SELECT 1", REPLICA),
            ("/*hostgroup=0*/ SELECT 1", PRIMARY),
            ("SELECT /* ;hostgroup=21; */ 1", archive),
            ("/* x */ /* hostgroup=1 */ SELECT 1", NONE),
            ("/* hostgroup=9 */ SELECT 1", Hints { unread: 1, ..NONE }),
            (
                "/* query_timeout=18446744073709551615 */ SELECT 1",
                Hints {
                    timeout: Some(LONGEST),
                    ..NONE
                },
            ),
            ("/* hostgroup=-1 */ SELECT 1", Hints { unread: 1, ..NONE }),
            ("/* a=b */ SELECT 1", NONE),
            (
                "/* ;hostgroup=1;query_timeout=2000;max_lag_ms=500;min_gtid=a:1;cache_ttl=5 */ SELECT 1",
                Hints {
                    timeout: Some(Duration::from_secs(2)),
                    lag_max: Some(Duration::from_millis(500)),
                    gtid: Some(b"a:1"),
                    unread: 1,
                    ..REPLICA
                },
            ),
        ] {
            check(&ALL, statement, expected);
        }
    }

    #[test]
    fn maxscale_hints_are_read_in_the_first_comment() {
        for (statement, expected) in [
            ("SELECT 1 -- maxscale route to slave", REPLICA),
            ("SELECT 1 # MaxScale ROUTE TO master", PRIMARY),
            (
                "/* maxscale route to server db3 */ SELECT 1",
                Hints {
                    backend: Some(b"db3"),
                    ..NONE
                },
            ),
            (
                "SELECT 1 -- maxscale max_slave_replication_lag=5",
                Hints {
                    lag_max: Some(Duration::from_secs(5)),
                    ..NONE
                },
            ),
            (
                "SELECT 1 -- maxscale route to last",
                Hints { unread: 1, ..NONE },
            ),
            ("SELECT 1 -- maxscale begin", Hints { unread: 1, ..NONE }),
            ("SELECT 1 -- maxscale", Hints { unread: 1, ..NONE }),
            ("/* x */ SELECT 1 -- maxscale route to slave", NONE),
            ("SELECT 1 -- maxscales route to slave", NONE),
        ] {
            check(&ALL, statement, expected);
        }
    }

    #[test]
    fn hints_of_an_unaccepted_style_are_ignored() {
        let statements = [
            (HintStyle::Pilotfish, "/* pilotfish: primary */ SELECT 1"),
            (HintStyle::ProxySql, "/* hostgroup=0 */ SELECT 1"),
            (
                HintStyle::MaxScale,
                "/* maxscale route to master */ SELECT 1",
            ),
        ];
        for (style, statement) in statements {
            check(&[], statement, NONE);
            check(&[style], statement, PRIMARY);
            let others: Vec<_> = ALL.into_iter().filter(|it| *it != style).collect();
            check(&others, statement, NONE);
        }
    }

    #[test]
    fn host_groups_that_mean_nothing_are_faults() {
        for (entry, told) in [
            ("1", "\"1\" is no number with a hint behind it"),
            (
                "x: replica",
                "\"x: replica\" is no number with a hint behind it",
            ),
            ("1: nowhere", "\"nowhere\" is no hint"),
            ("1:", "\"\" is no hint"),
            ("0: primary", "0 is given twice"),
        ] {
            let config = HintsConfig {
                hostgroups: vec!["0: primary".to_owned(), entry.to_owned()],
                ..HintsConfig::default()
            };
            let faults = HintRules::new(&config).unwrap_err();
            assert_eq!(faults[0].text, told);
        }
    }
}
