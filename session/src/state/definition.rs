//! What a view, a routine, a trigger or the default of a column does, by its definition: whether it only reads,
//! and which objects it names. Those may do more.

use sql::{Does, Effects, Flags, Marks, Mention, Role, StatementKind, Uses};

use super::routine::{RoutineStatement, Taker, read_body};

/// How a definition uses an object that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Use {
    /// A table or view is read.
    Read,
    /// A table or view is written.
    Written,
    /// A function that is not built in is called.
    Function,
    /// A procedure is called.
    Procedure,
}

/// Something that a definition names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// How the definition uses it.
    pub how: Use,
    /// Its schema, if one is written.
    pub schema: Option<Vec<u8>>,
    /// Its name.
    pub name: Vec<u8>,
}

/// The effects of a definition itself, and the objects that it names.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Expression {
    /// The effects of the definition, without those of the objects that it names.
    pub does: Does,
    /// The objects that it names.
    pub names: Vec<Named>,
}

/// Marks of texts whose effects are uncertain.
const DARK: Marks = Marks::LOST
    .with(Marks::CONDITIONAL)
    .with(Marks::CROWDED)
    .with(Marks::INTO_FILE);

/// Uses of values that differ between servers, or of session state that the proxy restores.
const ASKS: Uses = Uses::VARIABLES
    .with(Uses::USER_VARIABLES)
    .with(Uses::NAMED_LOCKS)
    .with(Uses::REPLICATION)
    .with(Uses::STATISTICS)
    .with(Uses::SERVER_FILE)
    .with(Uses::THREADS)
    .with(Uses::SERVER);

/// Uses of values that only the previous statement's connection knows, or of objects of one connection.
const BOUND: Uses = Uses::LAST_INSERT_ID
    .with(Uses::FOUND_ROWS)
    .with(Uses::ROW_COUNT)
    .with(Uses::DIAGNOSTICS)
    .with(Uses::SEQUENCE)
    .with(Uses::PREPARED)
    .with(Uses::HANDLER);

/// Effects that end with the statement, or that each reply reports.
const HARMLESS: Effects = Effects::DIAGNOSTICS.with(Effects::FOUND_ROWS);

impl Expression {
    fn anything() -> Self {
        Self {
            does: Does::ANYTHING,
            names: Vec::new(),
        }
    }

    fn add(&mut self, said: &RoutineStatement<'_>, effects: Effects, is_bound: bool) {
        let facts = said.facts;
        let writes = matches!(
            facts.kind,
            StatementKind::Insert
                | StatementKind::Replace
                | StatementKind::Update
                | StatementKind::Delete
        );
        let reads = facts.access <= sql::Access::Read || is_unsure_by_calls(said);
        self.does = self.does.and(Does {
            writes: writes || !reads,
            asks: facts.uses.has(ASKS),
            leaves: !effects.is_empty()
                || is_bound
                || facts.marks.has(DARK)
                || !said.sets_locals()
                || facts.mentions_of(Role::UserVariableSet).next().is_some(),
        });
        let names = facts.mentions.iter().filter_map(|it| named(it, said.text));
        self.names.extend(names);
    }
}

/// Whether calls are all that may write in a statement.
fn is_unsure_by_calls(said: &RoutineStatement<'_>) -> bool {
    let facts = said.facts;
    let calls = facts.marks.has(Marks::UNKNOWN_FUNCTION) || facts.kind == StatementKind::Call;
    facts.access == sql::Access::Unsure && calls
}

fn named(mention: &Mention, text: &[u8]) -> Option<Named> {
    let how = match mention.role {
        Role::TableRead => Use::Read,
        Role::TableWritten | Role::TableDropped | Role::TemporaryCreated => Use::Written,
        Role::Function => Use::Function,
        Role::Procedure => Use::Procedure,
        _ => return None,
    };
    let schema = mention.schema.name(text).into_owned();
    Some(Named {
        how,
        schema: (!schema.is_empty()).then_some(schema),
        name: mention.name.name(text).into_owned(),
    })
}

/// Returns the effects without those of calls: a call is judged by what it calls.
fn without_calls(said: &RoutineStatement<'_>) -> Effects {
    let mut effects = said.facts.effects.without(HARMLESS);
    if said.facts.marks.has(Marks::UNKNOWN_FUNCTION) || said.facts.kind == StatementKind::Call {
        effects.remove(Effects::ANYTHING);
    }
    effects
}

/// Judges a SELECT: the definition of a view, or an expression behind `SELECT `.
pub fn of_expression(select: &[u8], flags: Flags) -> Expression {
    let facts = sql::facts(select, flags);
    let is_query = matches!(
        facts.kind,
        StatementKind::Select | StatementKind::Table | StatementKind::Values
    );
    if facts.statements.len() != 1 || !is_query {
        return Expression::anything();
    }
    let said = RoutineStatement {
        text: select,
        facts: &facts,
        locals: &Default::default(),
    };
    let mut expression = Expression::default();
    expression.add(&said, without_calls(&said), facts.uses.has(BOUND));
    expression
}

impl Taker for Expression {
    fn take(&mut self, said: &RoutineStatement<'_>) -> Option<()> {
        let mut effects = without_calls(said);
        // Both families undo the change of LAST_INSERT_ID() at the end of a function or trigger.
        effects.remove(Effects::LAST_INSERT_ID);
        match said.facts.kind {
            StatementKind::Set => effects.remove(Effects::VARIABLES),
            // A function or trigger may not contain these statements.
            StatementKind::Begin(_) | StatementKind::Commit(_) | StatementKind::Rollback(_) => {
                return None;
            }
            _ => {}
        }
        // ROW_COUNT() and similar functions are about the routine's own statements.
        let is_bound = said.facts.uses.has(
            BOUND
                .without(Uses::ROW_COUNT)
                .without(Uses::FOUND_ROWS)
                .without(Uses::DIAGNOSTICS),
        );
        self.add(said, effects, is_bound);
        Some(())
    }
}

/// Judges the body of a function, a procedure or a trigger that has these parameters.
pub fn of_routine(body: &[u8], parameters: &[Vec<u8>], flags: Flags) -> Expression {
    // The body is empty if the account lacks the privilege to see it.
    let is_empty = body.trim_ascii().is_empty();
    let read = read_body(body, parameters, flags, Expression::default());
    read.filter(|_| !is_empty)
        .unwrap_or_else(Expression::anything)
}

#[cfg(test)]
mod tests {
    use super::*;

    const READS: Does = Does {
        writes: false,
        asks: false,
        leaves: false,
    };
    const WRITES: Does = Does {
        writes: true,
        ..READS
    };
    const ASKS: Does = Does {
        asks: true,
        ..READS
    };

    fn view(select: &str) -> Does {
        of_expression(select.as_bytes(), Flags::default()).does
    }

    fn body(body: &str) -> Does {
        of_routine(body.as_bytes(), &[b"p".to_vec()], Flags::default()).does
    }

    #[test]
    fn views_are_judged_by_their_text() {
        for (select, does) in [
            (
                "select `t`.`a` AS `a` from `d`.`t` where `t`.`a` > 5",
                READS,
            ),
            ("select `f`() AS `f()`, now() AS `n`", READS),
            ("(select 1 AS `1`) union (select 2 AS `2`)", READS),
            (
                "with `c` as (select 1 AS `a`) select `c`.`a` AS `a` from `c`",
                READS,
            ),
            ("select sleep(0) AS `s`,user() AS `u`", READS),
            (
                "select `processlist`.`ID` AS `ID` from `information_schema`.`processlist`",
                ASKS,
            ),
        ] {
            assert_eq!(view(select), does, "{select}");
        }
        for select in [
            "select get_lock('a',0) AS `g`",
            "select release_all_locks() AS `g`",
            "select last_insert_id(5) AS `l`",
            "select last_insert_id() AS `l`",
            "select row_count() AS `l`",
            "select nextval(`d`.`s`) AS `n`",
            "select lastval(`d`.`s`) AS `n`",
            "select @x:=1 AS `n`",
            "",
            "select 'never closed",
            "insert into t values (1)",
            "select 1; select 2",
        ] {
            assert!(view(select).leaves, "{select}");
        }
    }

    #[test]
    fn routines_are_judged_statement_by_statement() {
        for (text, does) in [
            ("RETURN p + 1", READS),
            (
                "RETURN CASE WHEN p > 1 THEN f(p) ELSE (SELECT MAX(a) FROM t) END",
                READS,
            ),
            (
                "BEGIN DECLARE x INT DEFAULT 0; SELECT a INTO x FROM t WHERE b = p; SET p = x; \
                 IF x > 1 THEN RETURN x; END IF; RETURN p; END",
                READS,
            ),
            ("SET NEW.a = OLD.a + 1, NEW.b = UPPER(NEW.b)", READS),
            ("BEGIN SET NEW.a = NOW(); END", READS),
            ("RETURN @x + @@server_id", ASKS),
            (
                "BEGIN INSERT INTO log (n) VALUES (p); RETURN 1; END",
                WRITES,
            ),
            ("UPDATE t SET a = NEW.a WHERE b = NEW.b", WRITES),
        ] {
            assert_eq!(body(text), does, "{text}");
        }
        for text in [
            "RETURN GET_LOCK('a', 0)",
            "SET @x = 1",
            "BEGIN SELECT 1 INTO @x; RETURN 1; END",
            "BEGIN SET q = 1; RETURN 1; END",
            "BEGIN SET SESSION sql_mode = ''; RETURN 1; END",
            "BEGIN CREATE TEMPORARY TABLE x (a INT); RETURN 1; END",
            "BEGIN DECLARE CONTINUE HANDLER FOR NOT FOUND DO GET_LOCK('a', 1); RETURN 1; END",
            "RETURN LAST_INSERT_ID()",
            "RETURN NEXTVAL(s)",
            "BEGIN COMMIT; END",
            "nothing that is known",
            "",
        ] {
            assert!(body(text).leaves, "{text}: {:?}", body(text));
        }
    }

    #[test]
    fn named_objects_are_listed_with_their_use() {
        let of = of_routine(
            b"BEGIN INSERT INTO log SELECT f(a) FROM `e`.`v`; CALL q(1); RETURN e.g(2); END",
            &[],
            Flags::default(),
        );
        let mut names: Vec<_> = of
            .names
            .iter()
            .map(|it| {
                let schema = it.schema.as_deref().map(String::from_utf8_lossy);
                let name = String::from_utf8_lossy(&it.name);
                (
                    it.how,
                    schema.unwrap_or_default().into_owned(),
                    name.into_owned(),
                )
            })
            .collect();
        names.sort();
        let expected = [
            (Use::Read, "e", "v"),
            (Use::Written, "", "log"),
            (Use::Function, "", "f"),
            (Use::Function, "e", "g"),
            (Use::Procedure, "", "q"),
        ];
        let expected =
            expected.map(|(how, schema, name)| (how, schema.to_owned(), name.to_owned()));
        assert_eq!(names, expected);
        assert_eq!(of.does, WRITES);
    }
}
