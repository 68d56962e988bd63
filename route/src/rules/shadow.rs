//! Warnings about rules that are probably mistakes: rules that never match, and rules that are never
//! evaluated because an earlier rule always decides.

use config::{ListenAddress, RuleConfig};
use sql::{Analysis, Flags};

use super::condition::Condition;
use super::digest_entry::{DigestEntry, read_digest};
use super::fault::Fault;
use super::kinds::Kinds;
use super::rule::{Rule, Then};

/// Returns why a rule can never match, if that can be seen.
pub(crate) fn never(index: usize, config: &RuleConfig, rule: &Rule) -> Option<Fault> {
    let void = rule.conditions.iter().find(|it| is_void(it));
    if let Some(condition) = void {
        let text = match condition {
            Condition::Percentage(..) => "is 0, so the rule never matches",
            _ => "takes out all that it lets in, so the rule never matches",
        };
        return Some(Fault::rule(index, condition.name(), text));
    }
    no_client_has_an_address(index, rule).or_else(|| digest_of_another(index, config, rule))
}

fn is_void(condition: &Condition) -> bool {
    match condition {
        Condition::Kind(kinds) => kinds.is_void(),
        Condition::User(names) | Condition::Schema(names) | Condition::Tag(names) => {
            names.is_void()
        }
        Condition::Tables(tables) => tables.is_void(),
        Condition::Percentage(below, _) => *below == Some(0),
        _ => false,
    }
}

fn no_client_has_an_address(index: usize, rule: &Rule) -> Option<Fault> {
    let is_unix = |it: &ListenAddress| matches!(it, ListenAddress::Unix(_));
    let mut conditions = rule.conditions.iter();
    let all_unix =
        conditions.any(|it| matches!(it, Condition::Listener(all) if all.iter().all(is_unix)));
    let networks = rule
        .conditions
        .iter()
        .any(|it| matches!(it, Condition::Networks(_)));
    let text = "has no use beside rule.listener: clients on a Unix socket are in no network, so the \
                rule never matches";
    (all_unix && networks).then(|| Fault::rule(index, "networks", text))
}

/// Returns a fault if no statement in `digest` can meet the rule's kinds or `digest_regex`. If an entry is a
/// hash, nothing is known of its statement.
fn digest_of_another(index: usize, config: &RuleConfig, rule: &Rule) -> Option<Fault> {
    let mut culprit = None;
    for entry in &config.digest {
        let Ok(DigestEntry::Text(digest)) = read_digest(entry) else {
            return None;
        };
        let mut analysis = Analysis::default();
        analysis.read(entry.as_bytes(), Flags::default());
        let fails = |condition: &&Condition| match condition {
            Condition::Kind(kinds) => !kinds.meet(Kinds::of(&analysis.facts)),
            Condition::DigestRegex(pattern) => {
                !pattern.is_match(digest.text()) && !pattern.is_match(entry.trim().as_bytes())
            }
            _ => false,
        };
        culprit = Some(rule.conditions.iter().find(fails)?.name());
    }
    let text = "and rule.digest exclude one another, so the rule never matches";
    culprit.map(|setting| Fault::rule(index, setting, text))
}

/// Returns a fault for every rule that is never evaluated, because an earlier rule stops and matches at least the same.
pub(crate) fn shadowed(rules: &[Rule]) -> Vec<Fault> {
    let shadow = |place: usize, rule: &Rule| {
        let mut before = rules[..place].iter();
        let by = before.find(|earlier| earlier.then == Then::Stop && covers(earlier, rule))?;
        let text = format!(
            "is never asked: \"{}\" stands before it and takes all that it matches",
            by.name
        );
        let fault = Fault::rule(place, "name", text);
        Some(fault.hint("put the narrower rule first, or give the other one stop = false"))
    };
    let places = rules.iter().enumerate();
    places
        .filter_map(|(place, rule)| shadow(place, rule))
        .collect()
}

/// Whether `earlier` matches everything that `later` matches. It may return false although that is so.
fn covers(earlier: &Rule, later: &Rule) -> bool {
    let is_met = |own: &Condition| {
        matches!(own, Condition::Percentage(None, _))
            || later.conditions.iter().any(|other| is_implied(own, other))
    };
    earlier.conditions.iter().all(is_met)
}

/// Whether `own` holds for every statement for which `other` holds.
fn is_implied(own: &Condition, other: &Condition) -> bool {
    match (own, other) {
        (Condition::Kind(own), Condition::Kind(other)) => own.covers(*other),
        (Condition::Digest(own), Condition::Digest(other)) => {
            other.iter().all(|it| own.contains(it))
        }
        (Condition::User(own), Condition::User(other))
        | (Condition::Schema(own), Condition::Schema(other)) => own.covers(other),
        (Condition::Tag(own), Condition::Tag(other)) => own.covers(other),
        (Condition::Listener(own), Condition::Listener(other)) => {
            other.iter().all(|it| own.contains(it))
        }
        (Condition::Networks(own), Condition::Networks(other)) => other
            .iter()
            .all(|it| own.iter().any(|net| net.contains(it))),
        (Condition::Time(own_span, own_days), Condition::Time(span, days)) => {
            let days_are_in = own_days.is_empty()
                || !days.is_empty() && days.iter().all(|it| own_days.contains(it));
            (own_span.is_none() || own_span == span) && days_are_in
        }
        (Condition::Tables(own), Condition::Tables(other)) => own.covers(other),
        (Condition::DigestRegex(own), Condition::DigestRegex(other))
        | (Condition::Regex(own), Condition::Regex(other)) => own.source() == other.source(),
        _ => false,
    }
}
