//! Which statements may be injected, and their purpose: statements that only read, and SET of variables
//! that do not change what a statement does.

use std::borrow::Cow;

use sql::{
    Access, Effects, Explain, Facts, Flags, Marks, Scope, Show, StatementKind, Target, Uses, Value,
};

/// Why a statement may not be injected.
pub(super) type Refusal = Cow<'static, str>;

/// The placeholder for the client's statement.
pub(super) const STATEMENT: &str = "{statement}";

/// Whether a statement is injected before or after the client's statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InjectionSide {
    Before,
    After,
}

/// The purpose of an injected statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Its result.
    Result,
    /// Its result, which is that of SHOW STATUS.
    Status,
    /// The warnings of the client's statement.
    Warnings,
    /// The errors among these warnings.
    Errors,
    /// The data of performance_schema about the client's statement.
    Events,
    /// It explains the client's statement, whose text follows this text.
    Explain(Box<str>),
    /// It sets these variables; the proxy sets them back afterwards.
    Set(Box<[Box<str>]>),
}

/// Variables that change how a statement is observed or planned, but not what it does.
const VARIABLES: &[&str] = &[
    "end_markers_in_json",
    "join_buffer_size",
    "log_slow_admin_statements",
    "log_slow_filter",
    "log_slow_min_examined_row_limit",
    "log_slow_query",
    "log_slow_query_time",
    "log_slow_rate_limit",
    "log_slow_verbosity",
    "long_query_time",
    "min_examined_row_limit",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "optimizer_trace",
    "optimizer_trace_features",
    "optimizer_trace_limit",
    "optimizer_trace_max_mem_size",
    "optimizer_trace_offset",
    "profiling",
    "profiling_history_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "slow_query_log",
    "sort_buffer_size",
];

/// EXPLAIN … {statement}
pub(super) fn explained(text: &str) -> Result<Purpose, Refusal> {
    let head = text.trim_end_matches(';').trim_end();
    let head = head.strip_suffix(STATEMENT).unwrap_or_default();
    // Tried with a DELETE, because few other statements than EXPLAIN can have one at this place.
    let tried = format!("{head}DELETE FROM t");
    let facts = sql::facts(tried.as_bytes(), Flags::default());
    let is_plan = facts.kind == StatementKind::Explain(Explain::Plan)
        && facts.explained == Some(StatementKind::Delete)
        && facts.effects.is_empty()
        && facts.marks == sql::facts(b"EXPLAIN DELETE FROM t", Flags::default()).marks;
    match is_plan {
        true => Ok(Purpose::Explain(head.into())),
        false => Err("is not EXPLAIN with {statement} at its end".into()),
    }
}

/// Any other statement.
pub(super) fn purpose(
    facts: &Facts,
    text: &[u8],
    place: InjectionSide,
) -> Result<Purpose, Refusal> {
    const UNCLEAR: Marks = Marks::LOST.with(Marks::CROWDED).with(Marks::CONDITIONAL);
    if facts.marks.has(UNCLEAR) || facts.marks.has(Marks::PLACEHOLDERS) {
        return Err("is not understood".into());
    }
    match facts.kind {
        StatementKind::Set => return set(facts, text, place),
        StatementKind::Show(Show::Warnings | Show::Errors) if place == InjectionSide::Before => {
            return Err(
                "would show what the statement before has left: it is of use in rule.after".into(),
            );
        }
        StatementKind::Show(Show::Warnings) => return Ok(Purpose::Warnings),
        StatementKind::Show(Show::Errors) => return Ok(Purpose::Errors),
        _ => {}
    }
    let asks = Uses::LAST_INSERT_ID
        .with(Uses::FOUND_ROWS)
        .with(Uses::ROW_COUNT)
        .with(Uses::DIAGNOSTICS);
    if facts.uses.has(asks) {
        return Err(
            "asks about the statement before it, which would be one of the proxy's own".into(),
        );
    }
    let locks = Marks::LOCKING
        .with(Marks::INTO_FILE)
        .with(Marks::INTO_VARIABLES)
        .with(Marks::UNKNOWN_FUNCTION);
    let is_own = Uses::USER_VARIABLES
        .with(Uses::NAMED_LOCKS)
        .with(Uses::SEQUENCE);
    let reads = match facts.kind {
        StatementKind::Show(_) | StatementKind::Describe => true,
        StatementKind::Explain(Explain::Plan | Explain::Connection) => true,
        StatementKind::Select | StatementKind::Table | StatementKind::Values => {
            facts.access == Access::Read
        }
        _ => false,
    };
    let does_nothing = facts.effects.is_empty() && !facts.marks.has(locks);
    match facts.kind {
        _ if !reads || !does_nothing || facts.uses.has(is_own) => Err(
            "is none that may be sent: SELECT, SHOW or EXPLAIN that only reads, or SET of a \
                 variable that only looks on"
                .into(),
        ),
        StatementKind::Show(Show::Status) => Ok(Purpose::Status),
        _ => Ok(Purpose::Result),
    }
}

/// Whether it reads other tables than those of the servers' own schemas, which have no transactions.
pub(super) fn reads_data(facts: &Facts, text: &[u8]) -> bool {
    let is_own = |schema: &[u8]| {
        [&b"information_schema"[..], b"performance_schema"]
            .iter()
            .any(|it| schema.eq_ignore_ascii_case(it))
    };
    let reads = matches!(
        facts.kind,
        StatementKind::Select | StatementKind::Table | StatementKind::Explain(_)
    );
    reads
        && facts
            .tables()
            .any(|table| !is_own(&table.schema.name(text)))
}

/// Checks a SET: it may only set variables of [`VARIABLES`].
fn set(facts: &Facts, text: &[u8], place: InjectionSide) -> Result<Purpose, Refusal> {
    if place == InjectionSide::After {
        return Err("sets what is set back at once: it is of use in rule.before".into());
    }
    let is_plain = |value: &Value| matches!(value, Value::Default | Value::Literal(_));
    let mut names: Vec<Box<str>> = Vec::new();
    for assignment in &facts.assignments {
        let Target::Variable {
            scope: Scope::Implicit | Scope::Session,
            base,
            name,
        } = assignment.target
        else {
            return Err(no_variable());
        };
        let name = name.name(text).to_ascii_lowercase();
        let known = VARIABLES.iter().find(|it| it.as_bytes() == name);
        match known.filter(|_| base.is_empty() && is_plain(&assignment.value)) {
            Some(known) => names.push((*known).into()),
            None => return Err(no_variable()),
        }
    }
    let effects = Effects::VARIABLES.with(Effects::BOUND_VARIABLES);
    match names.is_empty() || !facts.effects.without(effects).is_empty() {
        true => Err(no_variable()),
        false => Ok(Purpose::Set(names.into())),
    }
}

fn no_variable() -> Refusal {
    let names = VARIABLES.join(", ");
    format!("sets what may change the statement: these variables only look on: {names}").into()
}
