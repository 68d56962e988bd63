//! Reads the definition of a stored procedure for the session state that it may change. If all of that is known, a CALL
//! does not pin the session. A definition with a token that is not understood counts as unknown.

use std::collections::BTreeSet;

use sql::{
    Effects, Facts, Flags, Lexer, Marks, Role, Scope, StatementKind, Target, Token, TokenKind,
};

use super::variables::{self, Policy};

/// A longer definition is not read.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Effects of a procedure that do not pin: the trackers and the status flags report them, or the proxy
/// asks for them after any CALL.
const TOLD: Effects = Effects::TRANSACTION_BEGUN
    .with(Effects::TRANSACTION_ENDED)
    .with(Effects::CHAINED)
    .with(Effects::LAST_INSERT_ID)
    .with(Effects::FOUND_ROWS)
    .with(Effects::DIAGNOSTICS)
    .with(Effects::USER_VARIABLES);

/// Words between a procedure's parameters and its body.
const CHARACTERISTICS: [&[u8]; 14] = [
    b"comment",
    b"language",
    b"sql",
    b"not",
    b"deterministic",
    b"contains",
    b"no",
    b"reads",
    b"data",
    b"modifies",
    b"security",
    b"definer",
    b"invoker",
    b"returns",
];

/// The session state that a procedure may change.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Leaves {
    /// User variables that the procedure sets, as they are written.
    pub user_variables: Vec<Vec<u8>>,
    /// Procedures that the procedure calls: the schema, if the text names one, and the name.
    pub calls: Vec<(Option<Vec<u8>>, Vec<u8>)>,
    /// The procedure reads or writes tables. Their views and triggers may do more.
    pub uses_tables: bool,
}

/// Reads a CREATE PROCEDURE in UTF-8. Returns none if anything in the definition is not understood, or
/// if its effects cannot be known.
pub(super) fn leaves(definition: &[u8], flags: Flags) -> Option<Leaves> {
    let tokens = tokens_of(definition, flags)?;
    let mut reader = Reader {
        text: definition,
        flags,
        locals: BTreeSet::new(),
        taker: Leaves::default(),
    };
    let body = reader.header(&tokens)?;
    reader.body(body)?;
    Some(reader.taker)
}

/// Reads the body of a routine or trigger with these parameters, statement by statement. Returns none
/// if anything in the body is not understood, or if `taker` rejects a statement.
pub(super) fn read_body<T: Taker>(
    body: &[u8],
    parameters: &[Vec<u8>],
    flags: Flags,
    taker: T,
) -> Option<T> {
    let tokens = tokens_of(body, flags)?;
    let mut reader = Reader {
        text: body,
        flags,
        locals: parameters
            .iter()
            .map(|it| it.to_ascii_lowercase())
            .collect(),
        taker,
    };
    reader.body(&tokens)?;
    Some(reader.taker)
}

/// Returns the tokens of a definition without its comments. Returns none if the definition is too long, or if
/// some servers read only a part of it.
fn tokens_of(definition: &[u8], flags: Flags) -> Option<Vec<Token>> {
    let is_conditional = |mark: &[u8]| definition.windows(mark.len()).any(|it| it == mark);
    if definition.len() > TEXT_BYTES_MAX || is_conditional(b"/*!") || is_conditional(b"/*M!") {
        return None;
    }
    let is_comment = |token: &Token| matches!(token.kind, TokenKind::Comment | TokenKind::Hint);
    let tokens = Lexer::new(definition, flags)
        .filter(|token| !is_comment(token))
        .take_while(|token| token.kind != TokenKind::End);
    Some(tokens.collect())
}

/// Records what the statements of a routine do.
pub(super) trait Taker {
    /// Records one statement. Returns none if the statement does something that cannot be recorded.
    fn take(&mut self, said: &RoutineStatement<'_>) -> Option<()>;
}

/// A statement of a routine.
pub(super) struct RoutineStatement<'a> {
    pub text: &'a [u8],
    pub facts: &'a Facts,
    /// Parameters and declared variables, in lower case.
    pub locals: &'a BTreeSet<Vec<u8>>,
}

struct Reader<'a, T> {
    text: &'a [u8],
    flags: Flags,
    /// Parameters and declared variables, in lower case.
    locals: BTreeSet<Vec<u8>>,
    taker: T,
}

impl<T: Taker> Reader<'_, T> {
    fn body(&mut self, tokens: &[Token]) -> Option<()> {
        for statement in tokens.split(|token| token.kind == TokenKind::Semicolon) {
            self.statement(statement)?;
        }
        Some(())
    }

    fn is(&self, token: Option<&Token>, word: &[u8]) -> bool {
        let text = self.text;
        let is_it = |token: &Token| token.span.of(text).eq_ignore_ascii_case(word);
        token.is_some_and(|token| token.kind == TokenKind::Word && is_it(token))
    }

    fn is_one_of(&self, token: Option<&Token>, words: &[&[u8]]) -> bool {
        words.iter().any(|word| self.is(token, word))
    }

    fn place_of(&self, tokens: &[Token], words: &[&[u8]]) -> Option<usize> {
        let mut all = tokens.iter();
        all.position(|token| self.is_one_of(Some(token), words))
    }

    /// Reads CREATE … PROCEDURE name (parameters) characteristics. Returns the tokens behind them.
    fn header<'t>(&mut self, tokens: &'t [Token]) -> Option<&'t [Token]> {
        let at = self.place_of(tokens, &[b"procedure"])?;
        let open = at
            + tokens
                .get(at..)?
                .iter()
                .position(|it| it.kind == TokenKind::Open)?;
        let mut depth = 0;
        let mut is_first = false;
        let mut behind = open;
        for token in tokens.get(open..)? {
            behind += 1;
            match token.kind {
                TokenKind::Open => {
                    depth += 1;
                    is_first = depth == 1;
                }
                TokenKind::Close => depth -= 1,
                TokenKind::Comma if depth == 1 => is_first = true,
                _ if is_first && !self.is_one_of(Some(token), &[b"in", b"out", b"inout"]) => {
                    self.local(token)?;
                    is_first = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let rest = tokens.get(behind..)?;
        let is_characteristic = |token: &Token| {
            token.kind == TokenKind::String || self.is_one_of(Some(token), &CHARACTERISTICS)
        };
        let begin = rest.iter().position(|token| !is_characteristic(token))?;
        rest.get(begin..)
    }

    /// Records a parameter or a declared variable of the procedure. Returns none if a session variable that the
    /// trackers do not report has the same name: a SET elsewhere in the procedure may mean that variable.
    fn local(&mut self, token: &Token) -> Option<()> {
        let is_name = matches!(token.kind, TokenKind::Word | TokenKind::Quoted);
        let name = token.span.name(self.text).to_ascii_lowercase();
        let is_told = variables::policy(&name) == Policy::Restored
            && !variables::is_placeless(&name, self.flags.server);
        (is_name && is_told).then(|| {
            self.locals.insert(name);
        })
    }

    /// Reads the tokens between two semicolons: openings of blocks, and a statement.
    fn statement(&mut self, mut tokens: &[Token]) -> Option<()> {
        while let Some(first) = tokens.first() {
            let second = tokens.get(1);
            let is_label = second.is_some_and(|token| token.kind == TokenKind::Colon);
            let word = Some(first);
            tokens = if is_label {
                tokens.get(2..)?
            } else if self.is(word, b"begin") && !self.is(second, b"not")
                || self.is_one_of(word, &[b"else", b"loop", b"repeat"])
                || self.is(word, b"case") && self.is(second, b"when")
            {
                tokens.get(1..)?
            } else if self.is_one_of(word, &[b"if", b"elseif", b"when"]) {
                self.behind_expression(tokens, b"then", 1)?
            } else if self.is(word, b"while") {
                self.behind_expression(tokens, b"do", 1)?
            } else if self.is(word, b"case") {
                self.behind_expression(tokens, b"when", 0)?
            } else if self.is(word, b"until") {
                self.behind_expression(tokens, b"end", 0)?
            } else if self.is(word, b"return") {
                let text = [b"SELECT ", self.slice(tokens.get(1..)?)?].concat();
                return self.take(&text, |kind| kind == StatementKind::Select);
            } else if self.is(word, b"declare") {
                self.declaration(tokens.get(1..)?)?
            } else {
                return self.plain_statement(tokens);
            };
        }
        Some(())
    }

    /// Reads the expression between the first word and the word `end`. Returns the tokens from that
    /// word on, without the first `passed` of them.
    fn behind_expression<'t>(
        &mut self,
        tokens: &'t [Token],
        end: &[u8],
        passed: usize,
    ) -> Option<&'t [Token]> {
        let at = self.place_of(tokens.get(1..)?, &[end])? + 1;
        self.expression(tokens.get(1..at)?)?;
        tokens.get(at + passed..)
    }

    fn expression(&mut self, tokens: &[Token]) -> Option<()> {
        // The THEN of a CASE would be taken for the end of the condition.
        if self.place_of(tokens, &[b"case"]).is_some() {
            return None;
        }
        let text = [b"SELECT ", self.slice(tokens)?].concat();
        self.take(&text, |kind| kind == StatementKind::Select)
    }

    fn slice(&self, tokens: &[Token]) -> Option<&[u8]> {
        let (first, last) = (tokens.first()?, tokens.last()?);
        let span = first.span.start as usize..last.span.end as usize;
        self.text.get(span)
    }

    /// Reads a DECLARE from its second word on. Returns what is left to read: a handler's statement.
    fn declaration<'t>(&mut self, tokens: &'t [Token]) -> Option<&'t [Token]> {
        let (first, second) = (tokens.first(), tokens.get(1));
        let none = tokens.get(..0);
        if self.is(second, b"handler") && self.is_one_of(first, &[b"continue", b"exit", b"undo"]) {
            return self.behind_conditions(tokens.get(3..)?);
        }
        if self.is(second, b"cursor") && self.is(tokens.get(2), b"for") {
            let text = self.slice(tokens.get(3..)?)?.to_vec();
            self.take(&text, |kind| kind == StatementKind::Select)?;
            return none;
        }
        if self.is(second, b"condition") {
            return none;
        }
        let mut names = tokens.iter();
        loop {
            self.local(names.next()?)?;
            if names.as_slice().first()?.kind != TokenKind::Comma {
                break;
            }
            names.next();
        }
        let kind = names.as_slice();
        match self.place_of(kind, &[b"default"]) {
            Some(at) => {
                self.expression(kind.get(at + 1..)?)?;
                is_harmless(kind.get(..at)?).then_some(none?)
            }
            None => is_harmless(kind).then_some(none?),
        }
    }

    /// Skips the conditions of a handler: SQLSTATE '…', NOT FOUND, a name. Returns the tokens behind them.
    fn behind_conditions<'t>(&self, mut tokens: &'t [Token]) -> Option<&'t [Token]> {
        loop {
            let length = match tokens.first() {
                first if self.is(first, b"sqlstate") => {
                    2 + usize::from(self.is(tokens.get(1), b"value"))
                }
                first if self.is(first, b"not") => 2,
                _ => 1,
            };
            tokens = tokens.get(length..)?;
            if tokens.first()?.kind != TokenKind::Comma {
                return Some(tokens);
            }
            tokens = tokens.get(1..)?;
        }
    }

    fn plain_statement(&mut self, tokens: &[Token]) -> Option<()> {
        let word = tokens.first();
        if self.is(word, b"end") {
            return (tokens.len() <= 3 && is_harmless(tokens)).then_some(());
        }
        if self.is_one_of(word, &[b"open", b"close", b"fetch", b"leave", b"iterate"]) {
            return is_harmless(tokens).then_some(());
        }
        let text = self.slice(tokens)?.to_vec();
        self.take(&text, |kind| {
            matches!(
                kind,
                StatementKind::Select
                    | StatementKind::Insert
                    | StatementKind::Replace
                    | StatementKind::Update
                    | StatementKind::Delete
                    | StatementKind::Do
                    | StatementKind::Set
                    | StatementKind::Begin(_)
                    | StatementKind::Commit(_)
                    | StatementKind::Rollback(_)
                    | StatementKind::Signal
                    | StatementKind::GetDiagnostics
                    | StatementKind::Call
            )
        })
    }

    /// Hands one statement to the taker, if the statement is of these kinds.
    fn take(&mut self, text: &[u8], is_known: impl Fn(StatementKind) -> bool) -> Option<()> {
        let facts = sql::facts(text, self.flags);
        if facts.statements.len() != 1 || !is_known(facts.kind) {
            return None;
        }
        self.taker.take(&RoutineStatement {
            text,
            facts: &facts,
            locals: &self.locals,
        })
    }
}

impl Taker for Leaves {
    fn take(&mut self, said: &RoutineStatement<'_>) -> Option<()> {
        let (facts, text) = (said.facts, said.text);
        let dark = Marks::LOST
            .with(Marks::CONDITIONAL)
            .with(Marks::CROWDED)
            .with(Marks::UNKNOWN_FUNCTION)
            .with(Marks::INTO_FILE);
        let mut effects = facts.effects;
        effects.remove(TOLD);
        match facts.kind {
            StatementKind::Call => effects.remove(Effects::ANYTHING),
            StatementKind::Set => effects.remove(Effects::VARIABLES),
            _ => {}
        }
        if !effects.is_empty() || facts.marks.has(dark) || !said.sets_locals() {
            return None;
        }
        self.uses_tables |= facts.tables().next().is_some();
        for mention in facts.mentions_of(Role::UserVariableSet) {
            let name = mention.name.of(text).to_vec();
            self.user_variables.push(name);
        }
        for mention in facts.mentions_of(Role::Procedure) {
            let named = !mention.schema.is_empty();
            let schema = named.then(|| mention.schema.name(text).into_owned());
            let name = mention.name.name(text).into_owned();
            self.calls.push((schema, name));
        }
        Some(())
    }
}

impl RoutineStatement<'_> {
    /// Whether SET sets only variables of the routine and user variables.
    pub fn sets_locals(&self) -> bool {
        self.facts.assignments.iter().all(|it| match it.target {
            Target::User(_) => true,
            Target::Variable {
                scope: Scope::Implicit,
                base,
                name,
            } => match base.is_empty() {
                true => {
                    let name = name.name(self.text).to_ascii_lowercase();
                    self.locals.contains(&name)
                }
                // A column of a trigger's row.
                false => base.name(self.text).eq_ignore_ascii_case(b"new"),
            },
            _ => false,
        })
    }
}

/// Names, types and similar ones: nothing that could call or set something.
fn is_harmless(tokens: &[Token]) -> bool {
    tokens.iter().all(|token| {
        matches!(
            token.kind,
            TokenKind::Word
                | TokenKind::Quoted
                | TokenKind::Comma
                | TokenKind::Dot
                | TokenKind::Open
                | TokenKind::Close
                | TokenKind::Number
                | TokenKind::String
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Option<Leaves> {
        let text = format!(
            "CREATE DEFINER=`root`@`%` PROCEDURE `p`(IN a INT, OUT b VARCHAR(20), c DECIMAL(5,2))\n    \
             READS SQL DATA\n    COMMENT 'PREPARE'\n{body}"
        );
        leaves(text.as_bytes(), Flags::default())
    }

    #[test]
    fn a_routine_that_only_computes_and_writes_changes_no_session_state() {
        for body in [
            "SELECT 1",
            "BEGIN END",
            "INSERT INTO t (x, y) VALUES (a, CONCAT(b, 'x'))",
            "BEGIN SET b = CONCAT(a, 'x'), c = 1.5; START TRANSACTION; UPDATE t SET x = a; COMMIT; END",
            "main: BEGIN DECLARE x, y INT DEFAULT LENGTH(b); DECLARE z VARCHAR(10) CHARACTER SET latin1; \
             DECLARE stop CONDITION FOR SQLSTATE '45000'; \
             DECLARE k CURSOR FOR SELECT n FROM t WHERE n > a; \
             DECLARE EXIT HANDLER FOR SQLEXCEPTION, SQLSTATE VALUE '23000', NOT FOUND, stop \
             BEGIN ROLLBACK; RESIGNAL; END; \
             OPEN k; again: LOOP FETCH k INTO x; IF x > 5 THEN LEAVE again; ELSEIF x = 2 THEN ITERATE again; \
             ELSE SET y = x; END IF; END LOOP again; CLOSE k; \
             WHILE x > 0 DO SET x = x - 1; END WHILE; REPEAT SET x = x + 1; UNTIL x > 3 END REPEAT; \
             CASE x WHEN 1 THEN SELECT 1; ELSE SELECT CASE WHEN x THEN 1 ELSE 2 END; END CASE; \
             CASE WHEN x = 1 THEN DO 0; END CASE; SIGNAL stop; END main",
        ] {
            let left = of(body);
            assert!(left.is_some(), "{body}");
            assert_eq!(left.unwrap().user_variables, [b""; 0]);
        }
    }

    #[test]
    fn unknown_effects_are_reported_as_unknown() {
        for body in [
            "DO GET_LOCK('a', 1)",
            "BEGIN IF GET_LOCK('a', 1) THEN SELECT 1; END IF; END",
            "BEGIN DECLARE x INT DEFAULT GET_LOCK('a', 1); END",
            "BEGIN WHILE GET_LOCK('a', 1) DO SELECT 1; END WHILE; END",
            "BEGIN REPEAT SELECT 1; UNTIL GET_LOCK('a', 1) END REPEAT; END",
            "BEGIN DECLARE CONTINUE HANDLER FOR NOT FOUND DO GET_LOCK('a', 1); END",
            "BEGIN DECLARE k CURSOR FOR SELECT GET_LOCK('a', 1); OPEN k; END",
            "BEGIN DECLARE timestamp INT; SET timestamp = 5; END",
            "SELECT own_function(1)",
            "SET sql_mode = ''",
            "SET SESSION b = 1",
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "BEGIN PREPARE s FROM 'SELECT 1'; END",
            "EXECUTE s",
            "EXECUTE IMMEDIATE 'SELECT 1'",
            "CREATE TEMPORARY TABLE t (n INT)",
            "HANDLER t OPEN",
            "FLUSH TABLES WITH READ LOCK",
            "XA START 'x'",
            "SAVEPOINT s",
            "SET ROLE NONE",
            "BEGIN FOR i IN 1..3 DO SELECT i; END FOR; END",
            "SELECT 1 /*!99999 , GET_LOCK('a', 1) */",
            "LANGUAGE JAVASCRIPT AS $$ anything $$",
            "BEGIN IF CASE WHEN a THEN 1 END THEN SELECT 1; END IF; END",
            "SELECT 'never closed",
            "",
        ] {
            assert_eq!(of(body), None, "{body}");
        }
        assert_eq!(leaves(b"", Flags::default()), None);
        assert_eq!(leaves(b"CREATE PROCEDURE p(", Flags::default()), None);
    }

    #[test]
    fn user_variables_and_calls_are_named() {
        let left = of(
            "BEGIN SET @x = 1, b = 2; SELECT 1, 2 INTO @`y z`, b; CALL q(@o); \
                       CALL other.`r`(); END",
        )
        .unwrap();
        let names: Vec<&[u8]> = left.user_variables.iter().map(|name| &**name).collect();
        assert_eq!(names, [&b"@x"[..], b"@`y z`", b"@o"]);
        let calls = [
            (None, b"q".to_vec()),
            (Some(b"other".to_vec()), b"r".to_vec()),
        ];
        assert_eq!(left.calls, calls);
        assert!(!left.uses_tables);
        assert!(of("SELECT 1 FROM t").unwrap().uses_tables);
    }
}
