//! Statements: the reader reads any bytes to the end, and all reported ranges lie within them.

use sql::{
    Analysis, Answers, Charset, Facts, Flags, Lexer, Schema, Server, Span, unquote,
    user_variable_name,
};

use crate::input::Input;

/// Input: a byte of settings, and a command's text.
pub fn statement(data: &[u8]) {
    let mut input = Input::new(data);
    let flags = flags(input.u8());
    let text = input.rest();
    check_tokens(text, flags);
    let mut analysis = Analysis::default();
    analysis.read(text, flags);
    let facts = &analysis.facts;
    assert_eq!(
        *facts,
        sql::facts(text, flags),
        "the digest changes nothing"
    );
    assert!(analysis.digest.text().len() <= sql::DIGEST_BYTES_MAX);
    check_spans(facts, text);
    let _ = facts.killed(text, flags);
    for mention in &facts.mentions {
        let _ = unquote(mention.name.of(text), flags);
        let _ = user_variable_name(mention.name.of(text), flags);
    }
    check_rewriting(facts, text, flags);
}

/// Returns the reader's settings for a byte.
pub(crate) fn flags(settings: u8) -> Flags {
    Flags {
        no_backslash_escapes: settings & 1 != 0,
        ansi_quotes: settings & 2 != 0,
        ignore_space: settings & 3 == 3,
        charset: [
            Charset::UTF8MB4,
            Charset::GBK,
            Charset::LATIN1,
            Charset::of_name(b"swe7"),
        ][usize::from(settings >> 2 & 3)],
        server: [
            Server::Unknown,
            Server::MySql(80_036),
            Server::MySql(90_704),
            Server::MariaDb(101_119),
        ][usize::from(settings >> 4 & 3)],
        schema: [
            Schema::Plain,
            Schema::Information,
            Schema::Performance,
            Schema::MySql,
        ][usize::from(settings >> 6)],
    }
}

fn check_tokens(text: &[u8], flags: Flags) {
    let mut end = 0;
    for token in Lexer::new(text, flags) {
        assert!(token.span.start >= end && !token.span.is_empty());
        end = token.span.end;
        assert!(end as usize <= text.len());
    }
}

fn check_spans(facts: &Facts, text: &[u8]) {
    let is_inside = |span: Span| span.start <= span.end && span.end as usize <= text.len();
    for mention in &facts.mentions {
        assert!(is_inside(mention.schema) && is_inside(mention.name));
    }
    for assignment in &facts.assignments {
        assert!(is_inside(assignment.span));
    }
    assert!(facts.comments.iter().all(|comment| is_inside(comment.span)));
    let mut end = 0;
    for part in &facts.statements {
        assert!(is_inside(part.span) && part.span.start >= end && !part.span.is_empty());
        end = part.span.end;
    }
    let mut end = 0;
    for question in &facts.questions {
        assert!(is_inside(question.span) && question.span.start >= end);
        assert!(!question.span.is_empty());
        end = question.span.end;
    }
}

/// Checks that a rewrite without answers changes nothing, and that other rewrites remove only the questions.
fn check_rewriting(facts: &Facts, text: &[u8], flags: Flags) {
    let nothing = facts.rewrite(text, flags, &Answers::default());
    assert_eq!(nothing.text, None);
    let answers = Answers {
        connection_id: Some(7),
        pseudo_thread_id: Some(7),
        row_count: Some(-1),
        found_rows: Some(u64::MAX),
        last_insert_id: Some(u64::MAX),
        warning_count: Some(0),
        error_count: Some(0),
    };
    let rewritten = facts.rewrite(text, flags, &answers);
    let asked: usize = facts
        .questions
        .iter()
        .map(|question| question.span.of(text).len())
        .sum();
    if let Some(new) = rewritten.text {
        assert!(asked > 0 && new.len() + asked >= text.len());
        sql::facts(&new, flags);
    }
}
