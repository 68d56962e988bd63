//! Rules as they are evaluated: chains of flags unfolded, and in an order that means the same here.
//!
//! ProxySQL goes on after a rule without `apply`, and what a later rule says replaces what an earlier one said. Here
//! what is said first holds. So a rule without `apply` moves behind the rules that would replace it.

use std::collections::BTreeSet;

use super::tables::{Row, Tables};

/// A rule, with the rules that lead to it by their flags.
pub struct Chained<'a> {
    /// From the first to the last; the last one acts.
    pub rows: Vec<&'a Row>,
    /// Whether no rule behind it is asked.
    pub stops: bool,
}

/// The most rules that chains are unfolded into.
const RULES_MAX: usize = 10_000;
/// The most flags in a chain.
const LENGTH_MAX: usize = 8;

/// What a rule says beside what it matches.
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

/// All active rules in the order of this proxy. None, if chains grow beyond measure.
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
        // A statement that follows a flag meets no rule of the old flag any more.
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

    /// What its row says.
    pub fn actions(&self) -> BTreeSet<&'static str> {
        ACTIONS
            .iter()
            .copied()
            .filter(|it| self.get(it).is_some())
            .collect()
    }
}

/// Rules that go on and would be replaced move behind all others, the last of them first.
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
