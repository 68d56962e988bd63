//! Changes by a statement that affect later statements of the same command: the default schema, `sql_mode`, the
//! client's character set. A server cuts a command into statements one by one, so it reads each statement with
//! the session's state after the previous ones.

use crate::charsets::Charset;
use crate::doubts::Doubts;
use crate::facts::Marks;
use crate::flags::Flags;
use crate::kind::StatementKind;
use crate::scan::{Scan, Watcher};
use crate::set::{Assignment, Scope, Target, Value};
use crate::span::Span;
use crate::unquote::unquote;

/// How the statements after this one are read.
enum Reading {
    As(Flags),
    /// With other settings than before, which are not known.
    Unknown,
}

impl<W: Watcher> Scan<'_, W> {
    /// Continues after a statement, which ends here, as a server does after it. `assigned` is the number of assignments
    /// before that statement.
    pub fn follow(&mut self, assigned: usize) {
        match self.facts.kind {
            StatementKind::Set => self.follow_assignments(assigned),
            StatementKind::Execute
            | StatementKind::ExecuteImmediate
            | StatementKind::Call
            | StatementKind::Compound
            | StatementKind::Unknown => {
                self.doubts_behind.add(Doubts::SCHEMA);
                self.doubt_reading();
            }
            _ => {}
        }
    }

    fn follow_assignments(&mut self, assigned: usize) {
        let mut reading = Reading::As(self.flags());
        let assignments = self.facts.assignments.get(assigned..).unwrap_or_default();
        for assignment in assignments {
            reading = self.reading_after(reading, assignment);
        }
        match reading {
            Reading::As(flags) if flags != self.flags() => self.read_on_as(flags),
            Reading::As(_) => {}
            Reading::Unknown => self.doubt_reading(),
        }
    }

    fn reading_after(&self, reading: Reading, assignment: &Assignment) -> Reading {
        let Reading::As(flags) = reading else {
            return reading;
        };
        let known = match assignment.target {
            Target::Variable {
                scope: Scope::Implicit | Scope::Session,
                name,
                ..
            } => match name.name(self.text).to_ascii_lowercase().as_slice() {
                b"sql_mode" => self.in_mode(flags, assignment.value),
                b"character_set_client" => self.charset_of(assignment.value).map(|it| Flags {
                    charset: it,
                    ..flags
                }),
                _ => Some(flags),
            },
            Target::Names | Target::CharacterSet => {
                self.charset_of(assignment.value).map(|it| Flags {
                    charset: it,
                    ..flags
                })
            }
            Target::Opaque => None,
            _ => Some(flags),
        };
        known.map_or(Reading::Unknown, Reading::As)
    }

    fn in_mode(&self, flags: Flags, value: Value) -> Option<Flags> {
        let Value::Literal(span) = value else {
            return None;
        };
        Some(flags.in_mode(&self.word_or_string(span)?))
    }

    fn charset_of(&self, value: Value) -> Option<Charset> {
        let name = match value {
            Value::Literal(name) | Value::Charset { charset: name, .. } => {
                self.word_or_string(name)?
            }
            _ => return None,
        };
        // A number is a collation's id.
        let is_name = name.first().is_some_and(u8::is_ascii_alphabetic);
        let charset = Charset::of_name(&name);
        (is_name && charset != Charset::UNKNOWN).then_some(charset)
    }

    fn word_or_string(&self, span: Span) -> Option<Vec<u8>> {
        let raw = span.of(self.text);
        match raw.first()? {
            b'\'' | b'"' => unquote(raw, self.flags()).map(std::borrow::Cow::into_owned),
            b'`' => Some(span.name(self.text).into_owned()),
            byte if byte.is_ascii_alphabetic() || raw == b"0" => Some(raw.to_vec()),
            _ => None,
        }
    }

    /// Notes a doubt if the remaining text has bytes that could be read in several ways.
    fn doubt_reading(&mut self) {
        let rest = self
            .text
            .get(self.here.span.start as usize..)
            .unwrap_or_default();
        let is_plain = |byte: &u8| byte.is_ascii() && !matches!(byte, b'"' | b'\\');
        if !rest.iter().all(is_plain) {
            self.doubts_behind.add(Doubts::READING);
            self.facts.marks.add(Marks::LOST);
        }
        // The meaning of a call with a space depends on the mode. Assume a stored function, which may do more.
        self.ignore_space = false;
    }
}
