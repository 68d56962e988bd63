//! Replaces questions by their answers: `SELECT ROW_COUNT()` becomes a literal, so that a statement may
//! run on another connection than the previous one.
//!
//! The literals have the same types as the calls in both families, to the byte of the column's
//! definition (checked with MySQL 9.7 and MariaDB 10.11 and 11.8, as whole columns and inside
//! forty kinds of expressions). Columns keep their names: the original text becomes an alias.

mod alias;
mod column;

use crate::bounds::QUESTIONS_MAX;
use crate::facts::{Facts, Marks};
use crate::flags::Flags;
use crate::functions::Function;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::question::{About, Question, QuestionForm};
use crate::server::Server;
use crate::uses::Uses;
use alias::Writer;

/// The known answers for the connection on which a session believes to be. A question without a known
/// answer is not replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Answers {
    /// `CONNECTION_ID()`
    pub connection_id: Option<u64>,
    /// `@@pseudo_thread_id`: equal to the connection's id, unless the session has set it.
    pub pseudo_thread_id: Option<u64>,
    /// `ROW_COUNT()`: rows changed, 0 after a statement that changes none, -1 after a result or an
    /// error.
    pub row_count: Option<i64>,
    /// `FOUND_ROWS()`
    pub found_rows: Option<u64>,
    /// `LAST_INSERT_ID()` and its variables.
    pub last_insert_id: Option<u64>,
    /// `@@warning_count`
    pub warning_count: Option<u64>,
    /// `@@error_count`
    pub error_count: Option<u64>,
}

/// The uses that questions, SHOW WARNINGS and GET DIAGNOSTICS have.
const ASKED: Uses = Uses::CONNECTION_ID
    .with(Uses::ROW_COUNT)
    .with(Uses::FOUND_ROWS)
    .with(Uses::LAST_INSERT_ID)
    .with(Uses::DIAGNOSTICS);

/// A statement with answers in place of questions.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Rewritten {
    /// The new text; none if nothing changes.
    pub text: Option<Vec<u8>>,
    /// What the statement still asks of the connection on which it runs.
    pub left: Uses,
}

/// Reads a command and answers its questions; use [`Facts::rewrite`] if the facts are already known.
pub fn rewrite(text: &[u8], flags: Flags, answers: &Answers) -> Rewritten {
    crate::facts(text, flags).rewrite(text, flags, answers)
}

impl Facts {
    /// Answers the questions of the command with this text and these flags.
    ///
    /// Not replaced: questions after the command's first statement, which ask about the statements
    /// before them (except for the connection's id); `LAST_INSERT_ID()` if the command also has
    /// `LAST_INSERT_ID(expr)`, which changes it; the connection's id if the command uses the server's
    /// own threads, with which it may be compared; all questions if the text is not understood.
    pub fn rewrite(&self, text: &[u8], flags: Flags, answers: &Answers) -> Rewritten {
        let is_lost = self.marks.has(Marks::LOST);
        let moves_insert_id = self.moves_insert_id(text, flags);
        let mut writer = Writer::new(text, flags);
        let (mut answered, mut left) = (Uses::NONE, Uses::NONE);
        for question in &self.questions {
            let moves = moves_insert_id && question.about == About::LastInsertId;
            let is_whole = !moves && !is_lost && is_whole(question.span.of(text), flags);
            match self.literal(question, answers) {
                Some(literal) if is_whole => {
                    answered.add(question.about.uses());
                    let is_deprecated = question.about == About::FoundRows
                        && matches!(flags.server, Server::MySql(_));
                    match is_deprecated {
                        true => writer.replace(question.span, &still_warned_of(&literal)),
                        false => writer.replace(question.span, &literal),
                    }
                }
                _ => left.add(question.about.uses()),
            }
        }
        if self.questions.len() < QUESTIONS_MAX {
            answered.remove(left);
        } else {
            answered = Uses::NONE;
        }
        let mut left = self.uses.both(ASKED);
        left.remove(answered);
        Rewritten {
            text: writer.finish(),
            left,
        }
    }

    /// Whether the command calls both LAST_INSERT_ID() and LAST_INSERT_ID(expr).
    fn moves_insert_id(&self, text: &[u8], flags: Flags) -> bool {
        let asks = |question: &Question| question.about == About::LastInsertId;
        if !self.questions.iter().any(asks) {
            return false;
        }
        let mut tokens = Lexer::new(text, flags)
            .filter(|token| !matches!(token.kind, TokenKind::Comment | TokenKind::Hint));
        let mut is_called = false;
        let mut last = Function::None;
        tokens.any(|token| {
            let has_argument = is_called && token.kind != TokenKind::Close;
            is_called = last == Function::LastInsertId && token.kind == TokenKind::Open;
            last = token.function;
            has_argument
        })
    }

    /// Returns the literal of a question's answer; none if the question has to stay.
    fn literal(&self, question: &Question, answers: &Answers) -> Option<Vec<u8>> {
        let is_connection = matches!(question.about, About::ConnectionId | About::PseudoThreadId);
        if is_connection && self.uses.has(Uses::THREADS | Uses::NAMED_LOCKS) {
            return None;
        }
        if !is_connection && question.statement_index > 0 {
            return None;
        }
        let variable = question.form == QuestionForm::Variable;
        Some(match question.about {
            About::ConnectionId => unsigned_of_ten(answers.connection_id?),
            About::PseudoThreadId => nullable(answers.pseudo_thread_id?),
            About::RowCount => signed(answers.row_count?),
            About::FoundRows => signed(i64::try_from(answers.found_rows?).ok()?),
            About::LastInsertId if variable => nullable(answers.last_insert_id?),
            About::LastInsertId => unsigned(answers.last_insert_id?),
            About::WarningCount => nullable(answers.warning_count?),
            About::ErrorCount => nullable(answers.error_count?),
        })
    }
}

/// Whether no executable comment begins or ends inside a call.
fn is_whole(call: &[u8], flags: Flags) -> bool {
    let mut lexer = Lexer::new(call, flags);
    let is_mark = |token: &Token| matches!(token.kind, TokenKind::Star | TokenKind::Operator);
    !lexer.any(|token| is_mark(&token)) && !lexer.is_lost()
}

/// A connection's id: BIGINT(21) UNSIGNED NOT NULL for MySQL, which ignores leading zeros, and INT(10)
/// UNSIGNED NOT NULL for MariaDB, which counts them.
fn unsigned_of_ten(value: u64) -> Vec<u8> {
    format!("CAST({value:010} AS UNSIGNED)").into_bytes()
}

/// BIGINT(21) NOT NULL. MariaDB counts the digits and the sign, and makes nothing of either sign
/// that has no other: so a value that is not negative is written as ABS of a negative one.
fn signed(value: i64) -> Vec<u8> {
    let negative = format!("CAST(-{:020} AS SIGNED)", value.unsigned_abs());
    if value < 0 {
        negative.into_bytes()
    } else {
        format!("ABS({negative})").into_bytes()
    }
}

/// MySQL warns of the call when it parses it, so the call stays in the text; it is never evaluated. The type
/// stays the same.
fn still_warned_of(literal: &[u8]) -> Vec<u8> {
    [b"COALESCE(", literal, b",FOUND_ROWS())"].concat()
}

/// BIGINT(21) UNSIGNED NOT NULL.
fn unsigned(value: u64) -> Vec<u8> {
    format!("CAST({value:021} AS UNSIGNED)").into_bytes()
}

/// BIGINT(21) UNSIGNED that may be NULL, as system variables are.
fn nullable(value: u64) -> Vec<u8> {
    format!("NULLIF({value}|0,NULL)").into_bytes()
}
