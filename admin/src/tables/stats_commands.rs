//! Statements by kind, and how long they took, as ProxySQL's statistics show them: computed from the
//! digests.

use std::collections::BTreeMap;

use sql::{Facts, Flags, Object, StatementKind};
use stats::Counts;

use super::digests::us;
use crate::table::{Asks, Cell, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<StatsCommandRow> = TableDefinition {
    schema: Schema::Stats,
    name: "stats_mysql_commands_counters",
    about: "Statements by what they are, by the names of ProxySQL, as far as digests are kept. How long they took is \
            counted in steps: what took up to a quarter longer than a limit may be counted below it.",
    asks: Asks::Insight,
    columns: columns! {
        text "Command",
            "The kind of the statements; UNKNOWN: statements for which ProxySQL has no name, and statements whose \
             digest was dropped.", |it| it.command.into();
        measure "Total_Time_us" ["us"], "All of their time, from when they came to when their replies had ended.",
            |it| us(it.counts.whole_ns());
        integer "Total_cnt", "How many.", |it| it.counts.count.into();
        integer "cnt_100us", "Those that took up to 100 µs.", |it| it.step(0);
        integer "cnt_500us", "Longer, and up to 500 µs.", |it| it.step(1);
        integer "cnt_1ms", "Longer, and up to 1 ms.", |it| it.step(2);
        integer "cnt_5ms", "Longer, and up to 5 ms.", |it| it.step(3);
        integer "cnt_10ms", "Longer, and up to 10 ms.", |it| it.step(4);
        integer "cnt_50ms", "Longer, and up to 50 ms.", |it| it.step(5);
        integer "cnt_100ms", "Longer, and up to 100 ms.", |it| it.step(6);
        integer "cnt_500ms", "Longer, and up to 500 ms.", |it| it.step(7);
        integer "cnt_1s", "Longer, and up to 1 s.", |it| it.step(8);
        integer "cnt_5s", "Longer, and up to 5 s.", |it| it.step(9);
        integer "cnt_10s", "Longer, and up to 10 s.", |it| it.step(10);
        integer "cnt_INFs", "Longer than that.", |it| it.step(11);
    },
    items,
};

/// The upper ends of the steps, in microseconds; the last step has no end.
const ENDS_US: [u64; 11] = [
    100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000,
];

/// The name for kinds that ProxySQL has no name for.
const UNKNOWN: &str = "UNKNOWN";

/// Statements of one kind.
pub struct StatsCommandRow {
    command: &'static str,
    counts: Counts,
    steps: [u64; ENDS_US.len() + 1],
}

impl StatsCommandRow {
    fn step(&self, step: usize) -> Cell {
        self.steps[step].into()
    }
}

fn items(input: &TableInput) -> Vec<StatsCommandRow> {
    let statement_stats = &input.statement_stats;
    let mut facts = Facts::default();
    let mut sums: BTreeMap<&'static str, Counts> = BTreeMap::new();
    let mut add = |command, counts: &Counts| sums.entry(command).or_default().add(counts);
    for row in &statement_stats.digests {
        facts.read(row.text.as_bytes(), Flags::default());
        add(command(facts.kind, &row.text), &row.counts);
    }
    let (remainder, evicted) = &statement_stats.remainder;
    if *evicted > 0 {
        add(UNKNOWN, remainder);
    }
    let sums = sums.into_iter();
    sums.map(|(command, counts)| StatsCommandRow {
        command,
        steps: steps(&counts),
        counts,
    })
    .collect()
}

/// How many statements took no longer than the end of each step. A bar of the histogram is at most a quarter wide. It
/// counts for the step that contains its beginning, so no bar counts for a later step than its statements belong to.
fn steps(counts: &Counts) -> [u64; ENDS_US.len() + 1] {
    let mut steps = [0; ENDS_US.len() + 1];
    for (end, count) in counts.histogram() {
        let begin = end.map(|end| end / 5 * 4);
        let fits = |limit: &u64| begin.is_some_and(|begin| begin <= limit * 1000);
        let step = ENDS_US.iter().position(fits);
        steps[step.unwrap_or(ENDS_US.len())] += count;
    }
    steps
}

/// ProxySQL's name for a statement, by its kind and its digest's text.
fn command(kind: StatementKind, text: &str) -> &'static str {
    match kind {
        StatementKind::Select if text.ends_with("FOR UPDATE") || text.contains(" FOR UPDATE ") => {
            "SELECT_FOR_UPDATE"
        }
        StatementKind::Select => "SELECT",
        StatementKind::Insert => "INSERT",
        StatementKind::Replace => "REPLACE",
        StatementKind::Update => "UPDATE",
        StatementKind::Delete => "DELETE",
        StatementKind::Load => "LOAD",
        StatementKind::Call => "CALL",
        StatementKind::Set => "SET",
        StatementKind::Use => "USE",
        StatementKind::Begin(_) if text.starts_with("START") => "START_TRANSACTION",
        StatementKind::Begin(_) => "BEGIN",
        StatementKind::Commit(_) => "COMMIT",
        StatementKind::Rollback(_) => "ROLLBACK",
        StatementKind::Savepoint => "SAVEPOINT",
        StatementKind::RollbackTo => "ROLLBACK_SAVEPOINT",
        StatementKind::ReleaseSavepoint => "RELEASE_SAVEPOINT",
        StatementKind::LockTables => "LOCK_TABLE",
        StatementKind::UnlockTables => "UNLOCK_TABLES",
        StatementKind::Prepare => "PREPARE",
        StatementKind::Execute | StatementKind::ExecuteImmediate => "EXECUTE",
        StatementKind::Deallocate => "DEALLOCATE",
        StatementKind::Show(_) if text.starts_with("SHOW TABLE STATUS") => "SHOW_TABLE_STATUS",
        StatementKind::Show(_) => "SHOW",
        StatementKind::Describe => "DESCRIBE",
        StatementKind::Explain(_) => "EXPLAIN",
        StatementKind::Kill(_) => "KILL",
        StatementKind::Truncate => "TRUNCATE_TABLE",
        StatementKind::Grant => "GRANT",
        StatementKind::Revoke => "REVOKE",
        StatementKind::Maintain if text.starts_with("ANALYZE") => "ANALYZE_TABLE",
        StatementKind::Maintain if text.starts_with("OPTIMIZE") => "OPTIMIZE",
        StatementKind::Flush(_) => "FLUSH",
        StatementKind::Purge => "PURGE",
        StatementKind::Create(object) => created(object),
        StatementKind::Alter(Object::Table) => "ALTER_TABLE",
        StatementKind::Alter(Object::View) => "ALTER_VIEW",
        StatementKind::Drop(object) => dropped(object),
        StatementKind::Rename(Object::Table) => "RENAME_TABLE",
        _ => UNKNOWN,
    }
}

fn created(object: Object) -> &'static str {
    match object {
        Object::Table => "CREATE_TABLE",
        Object::TemporaryTable => "CREATE_TEMPORARY",
        Object::View => "CREATE_VIEW",
        Object::Index => "CREATE_INDEX",
        Object::Schema => "CREATE_DATABASE",
        Object::Trigger => "CREATE_TRIGGER",
        Object::Account => "CREATE_USER",
        Object::Routine | Object::Event | Object::Sequence | Object::Other => UNKNOWN,
    }
}

fn dropped(object: Object) -> &'static str {
    match object {
        Object::Table | Object::TemporaryTable => "DROP_TABLE",
        Object::View => "DROP_VIEW",
        Object::Index => "DROP_INDEX",
        Object::Schema => "DROP_DATABASE",
        Object::Trigger => "DROP_TRIGGER",
        Object::Account => "DROP_USER",
        Object::Routine | Object::Event | Object::Sequence | Object::Other => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> &'static str {
        // Only the digest's text is kept.
        let digest = sql::digest(text.as_bytes(), Flags::default());
        let kind = sql::facts(digest.text(), Flags::default()).kind;
        command(kind, &String::from_utf8_lossy(digest.text()))
    }

    #[test]
    fn stats_commands_has_the_command_names_of_proxysql() {
        for (text, expected) in [
            ("select 1", "SELECT"),
            ("(select a from t) union (select b from u)", "SELECT"),
            ("with c as (select 1) select * from c", "SELECT"),
            (
                "select * from t where id = 3 for update",
                "SELECT_FOR_UPDATE",
            ),
            ("select * from t for update nowait", "SELECT_FOR_UPDATE"),
            ("insert into t values (1), (2)", "INSERT"),
            ("begin", "BEGIN"),
            ("start transaction read only", "START_TRANSACTION"),
            ("rollback", "ROLLBACK"),
            ("rollback to savepoint a", "ROLLBACK_SAVEPOINT"),
            ("create table t (a int)", "CREATE_TABLE"),
            ("create temporary table t (a int)", "CREATE_TEMPORARY"),
            ("create schema s", "CREATE_DATABASE"),
            ("drop table if exists t", "DROP_TABLE"),
            ("truncate t", "TRUNCATE_TABLE"),
            ("lock tables t write", "LOCK_TABLE"),
            ("optimize table t", "OPTIMIZE"),
            ("show table status like 'x'", "SHOW_TABLE_STATUS"),
            ("show tables", "SHOW"),
            ("do sleep(1)", "UNKNOWN"),
            ("xyzzy", "UNKNOWN"),
            ("select 1; select 2", "UNKNOWN"),
        ] {
            assert_eq!(named(text), expected, "{text}");
        }
    }
}
