//! All statements that a command runs: its own statements, and the statements in texts that it prepares or
//! runs. A rule that refuses has to see each of them as a server will.

use std::fmt::Debug;

use crate::doubts::Doubts;
use crate::facts::{Facts, Role};
use crate::flags::Flags;
use crate::kind::StatementKind;
use crate::set::Target;
use crate::span::Span;
use crate::unquote::unquote;

/// The largest depth of texts within texts that are read.
const DEPTH_MAX: u32 = 8;

/// The most statements of one command that are read, including those in texts.
const STATEMENTS_MAX: usize = 256;

/// The texts of statements that a session has prepared by PREPARE.
pub trait PreparedTexts: Debug {
    /// Returns the text of the statement with this name; none if it is not known.
    fn text(&self, name: &[u8]) -> Option<&[u8]>;
}

/// No prepared statement is known.
impl PreparedTexts for () {
    fn text(&self, _: &[u8]) -> Option<&[u8]> {
        None
    }
}

/// A statement inside a command.
#[derive(Clone, Debug)]
pub struct InsideStatement {
    /// Its text, with comments in front of it and without the semicolon.
    pub text: Vec<u8>,
    /// Its facts.
    pub facts: Facts,
    /// The settings with which it is read.
    pub flags: Flags,
    /// The default schema, if a USE in the command has changed it; none for the session's.
    pub schema: Option<Vec<u8>>,
    /// Whether it is in a text that a statement of the command prepares or runs.
    pub is_in_text: bool,
}

/// The statements inside a command, and the doubts about them.
#[derive(Clone, Debug, Default)]
pub struct Inside {
    /// The statements: empty if the command is one statement without a text.
    pub statements: Vec<InsideStatement>,
    /// The doubts about texts.
    pub doubts: Doubts,
}

impl Facts {
    /// Whether the command is one statement, runs no text, and is fully understood, so that its facts are complete.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.doubts.is_empty() && self.statements.len() <= 1 && !has_text(self.kind)
    }
}

const fn has_text(kind: StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Prepare | StatementKind::Execute | StatementKind::ExecuteImmediate
    )
}

impl Inside {
    /// Reads the statements inside a command with these facts.
    pub fn of(text: &[u8], flags: Flags, facts: &Facts, prepared: &dyn PreparedTexts) -> Self {
        let mut inside = Self::default();
        if !facts.is_plain() {
            let reader = Reader { prepared, depth: 0 };
            inside.read(text, flags, None, facts, reader);
        }
        inside
    }

    fn read(
        &mut self,
        text: &[u8],
        flags: Flags,
        schema: Option<&[u8]>,
        facts: &Facts,
        reader: Reader<'_>,
    ) {
        if facts.statements.len() <= 1 {
            return self.read_texts(text, flags, schema, facts, reader);
        }
        let mut start = 0;
        for part in &facts.statements {
            let span = Span {
                start,
                end: part.span.end,
            };
            start = part.span.end.saturating_add(1);
            let own_schema = match part.schema.is_empty() {
                true => schema.map(<[u8]>::to_vec),
                false => Some(part.schema.name(text).into_owned()),
            };
            let own_text = without_semicolon(span.of(text)).to_vec();
            let mut own = crate::facts(&own_text, part.flags);
            own.doubts.add(part.doubts);
            self.read_texts(&own_text, part.flags, own_schema.as_deref(), &own, reader);
            self.push(InsideStatement {
                text: own_text,
                facts: own,
                flags: part.flags,
                schema: own_schema,
                is_in_text: reader.depth > 0,
            });
        }
    }

    /// Reads the text that one statement prepares or runs.
    fn read_texts(
        &mut self,
        text: &[u8],
        flags: Flags,
        schema: Option<&[u8]>,
        facts: &Facts,
        reader: Reader<'_>,
    ) {
        if !has_text(facts.kind) {
            return;
        }
        let Some(inner) = reader.text_of(text, flags, facts) else {
            self.doubts.add(Doubts::TEXT);
            return;
        };
        let inner_facts = crate::facts(&inner, flags);
        self.doubts.add(inner_facts.doubts);
        let reader = Reader {
            depth: reader.depth + 1,
            ..reader
        };
        self.read(&inner, flags, schema, &inner_facts, reader);
        self.push(InsideStatement {
            text: inner,
            facts: inner_facts,
            flags,
            schema: schema.map(<[u8]>::to_vec),
            is_in_text: true,
        });
    }

    fn push(&mut self, statement: InsideStatement) {
        if self.statements.len() < STATEMENTS_MAX {
            self.statements.push(statement);
        } else {
            self.doubts.add(Doubts::MANY_STATEMENTS);
        }
    }
}

/// Finds the texts of prepared statements.
#[derive(Clone, Copy)]
struct Reader<'a> {
    prepared: &'a dyn PreparedTexts,
    depth: u32,
}

impl Reader<'_> {
    /// Returns the text that a statement prepares or runs; none if its exact bytes are not known.
    fn text_of(&self, text: &[u8], flags: Flags, facts: &Facts) -> Option<Vec<u8>> {
        // SET STATEMENT sql_mode = … FOR EXECUTE IMMEDIATE: the text is read in that mode.
        let is_read_alike = !facts.assignments.iter().any(|it| match it.target {
            Target::Variable { name, .. } => changes_reading(&name.name(text)),
            _ => false,
        });
        if self.depth >= DEPTH_MAX || !is_read_alike {
            return None;
        }
        if facts.kind == StatementKind::Execute {
            let name = facts.mentions_of(Role::Prepared).next()?;
            return self
                .prepared
                .text(&name.name.name(text))
                .map(<[u8]>::to_vec);
        }
        if facts.doubts.has(Doubts::TEXT) {
            return None;
        }
        let literal = facts.mentions_of(Role::PreparedText).next()?;
        let inner = unquote(literal.name.of(text), flags)?.into_owned();
        // A server converts a text to the client's character set and back.
        (inner.is_ascii() || flags.charset == crate::Charset::default()).then_some(inner)
    }
}

/// Whether a variable changes how a text is read.
fn changes_reading(variable: &[u8]) -> bool {
    let names = [
        "sql_mode",
        "character_set_client",
        "character_set_connection",
        "collation_connection",
    ];
    names
        .iter()
        .any(|it| variable.eq_ignore_ascii_case(it.as_bytes()))
}

fn without_semicolon(text: &[u8]) -> &[u8] {
    text.strip_prefix(b";").unwrap_or(text)
}
