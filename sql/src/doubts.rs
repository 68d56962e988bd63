//! Doubts: why the proxy does not understand a statement or a part of it.

use crate::bits::bits;
use crate::bounds::{COMMENTS_MAX, MENTIONS_MAX, PARTS_MAX};

bits! {
    /// What the proxy does not understand of a command. Code that relies on a statement's facts checks the doubts
    /// first: if a bit is set, a server may see another statement than the facts describe.
    Doubts {
        /// A string, a quoted name or a comment does not end, or ends elsewhere for some server.
        LOST = 0,
        /// A part of it is in a comment that only some servers execute.
        CONDITIONAL = 1,
        /// A statement begins with an unknown word, or is nested too deep.
        UNKNOWN = 2,
        /// It prepares or runs a text that is not a literal.
        TEXT = 3,
        /// A compound statement: its statements are not read.
        BLOCK = 4,
        /// An earlier statement of the command may change how the bytes of a later one are read.
        READING = 5,
        /// An earlier statement of the command may change the default schema.
        SCHEMA = 6,
        /// More names than are kept.
        MANY_NAMES = 7,
        /// More statements than are kept.
        MANY_STATEMENTS = 8,
        /// More comments than are kept.
        MANY_COMMENTS = 9,
        /// Only its beginning was read.
        CUT = 10,
        /// Only the beginning of a single statement was read, but that tells its kind.
        TAIL = 12,
        /// Its session is relayed from here on: no later statement is read.
        RELAYED = 11,
        /// It touches tables that it does not name. Everything else is understood.
        UNNAMED = 13,
        /// It touches all tables of a schema. Everything else is understood.
        WHOLE_SCHEMA = 14,
    }
}

impl Doubts {
    /// The statement is understood except for the tables that it touches.
    pub const TABLES: Self = Self::UNNAMED.with(Self::WHOLE_SCHEMA);

    /// Returns the first reason, as the end of a sentence; empty if there is none.
    pub fn reason(self) -> String {
        let reasons = [
            (Self::CUT | Self::TAIL, "it is too long to be read whole".to_owned()),
            (
                Self::RELAYED,
                "it begins replication, and no statement behind it would be read".to_owned(),
            ),
            (
                Self::READING,
                "a statement before it in the same command may change sql_mode or the character set".to_owned(),
            ),
            (
                Self::LOST,
                "a string, a quoted name or a comment in it does not end, or does not end at the same place for \
                 every server"
                    .to_owned(),
            ),
            (
                Self::CONDITIONAL,
                "part of it stands in a comment that only some of the servers execute".to_owned(),
            ),
            (Self::UNKNOWN, "it begins like no statement that is known".to_owned()),
            (Self::TEXT, "it prepares or runs a text that is not a literal".to_owned()),
            (Self::BLOCK, "it is a compound statement".to_owned()),
            (
                Self::SCHEMA,
                "a statement before it in the same command may change the default schema".to_owned(),
            ),
            (Self::UNNAMED, "it touches tables that it does not name".to_owned()),
            (Self::WHOLE_SCHEMA, "it drops all tables of a schema".to_owned()),
            (Self::MANY_NAMES, format!("it has more than {MENTIONS_MAX} names")),
            (Self::MANY_STATEMENTS, format!("it has more than {PARTS_MAX} statements")),
            (Self::MANY_COMMENTS, format!("it has more than {COMMENTS_MAX} comments")),
        ];
        let found = reasons.into_iter().find(|(doubt, _)| self.has(*doubt));
        found.map_or_else(String::new, |(_, reason)| reason)
    }
}
