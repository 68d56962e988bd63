//! Rules as they are evaluated: chains of flags are unfolded, and sorted into an order with the same effect.
//!
//! ProxySQL continues after a rule without `apply`, and a later rule's action replaces an earlier rule's. In Pilotfish
//! the first rule's action counts. So a rule without `apply` moves behind the rules that would replace its action.

use std::collections::BTreeSet;

use super::tables::{Row, Tables};

/// A rule, with the rules that lead to it by their flags.
pub struct Chained<'a> {
    /// The rows from the first to the last. The last row's rule acts.
    pub rows: Vec<&'a Row>,
    /// Whether no later rule is evaluated.
    pub stops: bool,
}

/// The most rules that chains are unfolded into.
const RULES_MAX: usize = 10_000;
/// The most flags in a chain.
const LENGTH_MAX: usize = 8;

/// The columns with a rule's actions.
const ACTIONS: &[&str] = &[
    "destination_hostgroup",
    "replace_pattern",
    "timeout",
    "retries",
    "delay",
    "mirror_hostgroup",
    "error_msg",
    "OK_msg",
    "multiplex",
    "log",
    "cache_ttl",
];

/// All active rules in Pilotfish's order. `None` if the chains have too many rules.
pub fn unfold(tables: &Tables) -> Option<Vec<Chained<'_>>> {
    let mut rows: Vec<&Row> = tables
        .rows("mysql_query_rules")
        .filter(|it| it.truth("active", true))
        .collect();
    rows.sort_by_key(|it| it.number("rule_id").unwrap_or(u64::MAX));
    let mut chained = Vec::new();
    follow(&rows, 0, &[], &mut chained)?;
    Some(reorder(chained))
}

fn flag(row: &Row, column: &str) -> u64 {
    row.number(column).unwrap_or(0)
}

fn follow<'a>(
    rows: &[&'a Row],
    flag_in: u64,
    path: &[&'a Row],
    chained: &mut Vec<Chained<'a>>,
) -> Option<()> {
    for (index, row) in rows
        .iter()
        .enumerate()
        .filter(|(_, row)| flag(row, "flagIN") == flag_in)
    {
        if chained.len() >= RULES_MAX {
            return None;
        }
        let rows_so_far: Vec<&Row> = path.iter().copied().chain([*row]).collect();
        let leads = row
            .number("flagOUT")
            .filter(|out| *out != flag_in && !row.truth("apply", false));
        if let Some(out) = leads {
            if rows_so_far.len() >= LENGTH_MAX {
                return None;
            }
            follow(&rows[index + 1..], out, &rows_so_far, chained)?;
        }
        // After a statement follows a flag, the rules of the old flag do not apply to it any more.
        let stops = leads.is_some() || row.truth("apply", false);
        chained.push(Chained {
            rows: rows_so_far,
            stops,
        });
    }
    Some(())
}

impl Chained<'_> {
    /// The row that acts.
    pub fn row(&self) -> Option<&Row> {
        self.rows.last().copied()
    }

    /// A column of the last row of the chain that has it.
    pub fn get(&self, column: &str) -> Option<&str> {
        self.rows.iter().rev().find_map(|it| it.get(column))
    }

    /// The actions of the chain.
    pub fn actions(&self) -> BTreeSet<&'static str> {
        ACTIONS
            .iter()
            .copied()
            .filter(|it| self.get(it).is_some())
            .collect()
    }
}

/// Moves rules that do not stop and whose actions are replaced later behind all other rules, the last of them first.
fn reorder(chained: Vec<Chained<'_>>) -> Vec<Chained<'_>> {
    let mut said_later: BTreeSet<&str> = BTreeSet::new();
    let mut stay = Vec::new();
    let mut moved = Vec::new();
    for rule in chained.into_iter().rev() {
        let actions = rule.actions();
        let is_replaced = !rule.stops && actions.iter().any(|it| said_later.contains(it));
        said_later.extend(actions);
        match is_replaced {
            true => moved.push(rule),
            false => stay.push(rule),
        }
    }
    stay.reverse();
    stay.into_iter().chain(moved).collect()
}
