//! SQL text as bytes and facts: both dialects, one pass, nothing allocated on the hot path.
//!
//! ```text
//!   bytes + flags ──► Lexer ──► tokens ──┬──► Facts     kind, access, uses, effects, names, SET
//!                                        └──► Digest    normalised text, 64-bit hash
//!   bytes + flags ──► FactsCache ──► Facts   of a text that differs from a cached one only in its values
//!   bytes + facts + answers ──► rewrite   session functions become literals
//! ```
//!
//! This is no parser: it accepts any bytes, and marks statements that it does not understand as
//! unsure. It follows the servers' lexers to the byte (character sets with backslashes in their
//! second bytes, executable comments, `sql_mode`), because a statement that is cut at another place than
//! the server cuts it is a security hole. Tables of words and functions tell what a statement does. If the two
//! families or their versions differ, the careful reading is taken, unless
//! [`Flags::server`] names the server.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod bits;
mod bounds;
mod bytes;
mod charsets;
mod classify;
mod diagnostics;
mod digest;
mod does;
mod doubts;
mod dynamic;
mod eight;
mod facts;
mod facts_cache;
mod flags;
mod functions;
mod inside;
mod killed;
mod kind;
mod kinds;
mod lexer;
mod local_files;
mod multi_statement;
mod planned;
mod proxy_explain;
mod question;
mod rewrite;
mod scan;
mod secrets;
mod server;
mod set;
mod span;
mod system_tables;
mod trusted;
mod unquote;
mod uses;
mod words;
mod work;

#[cfg(test)]
mod tests;

pub use bounds::{ASSIGNMENTS_MAX, COMMENTS_MAX, MENTIONS_MAX, PARTS_MAX, QUESTIONS_MAX};
pub use charsets::Charset;
pub use diagnostics::{
    Condition, DiagnosticsItem, GetDiagnostics, GetForm, get_diagnostics, shown_conditions,
};
pub use digest::{DIGEST_BYTES_MAX, Digest};
pub use does::Does;
pub use doubts::Doubts;
pub use dynamic::{DynamicSource, code, source as dynamic_source};
pub use facts::{Access, Comment, Effects, Facts, Marks, Mention, Role, StatementFacts};
pub use facts_cache::{CachedText, FactsCache};
pub use flags::{Flags, Schema};
pub use inside::{Inside, InsideStatement, PreparedTexts};
pub use killed::{KillText, Killed};
pub use kind::{
    AccessMode, Begin, Explain, Finish, Flush, Handler, Kill, Object, Show, StatementKind, Xa,
};
pub use lexer::{Lexer, Token, TokenKind};
pub use local_files::{is_same_file, local_files};
pub use multi_statement::{parts_that_ask, parts_that_kill};
pub use planned::{Planned, PlannedTable, sources};
pub use proxy_explain::{ProxyExplain, proxy_explain};
pub use question::{About, Question, QuestionForm};
pub use rewrite::{Answers, Rewritten, rewrite};
pub use secrets::mask_secrets;
pub use server::Server;
pub use set::{Assignment, Constancy, Scope, Target, Value};
pub use span::Span;
pub use trusted::TrustedFunctions;
pub use unquote::{unquote, user_variable_name};
pub use uses::Uses;
pub use words::Word;

/// Facts and digest of a command, read in one pass. Keep one analysis and reuse it for each command.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// The facts of the command.
    pub facts: Facts,
    /// Its normalised text and hash.
    pub digest: Digest,
}

impl Analysis {
    /// Returns the analysis of a command's text.
    pub fn of(text: &[u8], flags: Flags) -> Self {
        let mut analysis = Self::default();
        analysis.read(text, flags);
        analysis
    }

    /// Reads a command's text, and replaces the results of the last command.
    pub fn read(&mut self, text: &[u8], flags: Flags) {
        self.digest.read(&mut self.facts, text, flags);
    }
}

impl Facts {
    /// Reads a command's text, and replaces the results of the last command.
    pub fn read(&mut self, text: &[u8], flags: Flags) {
        self.clear();
        scan::Scan::new(text, flags, self, &mut ()).command();
    }
}

/// Returns the facts of a command.
pub fn facts(text: &[u8], flags: Flags) -> Facts {
    let mut facts = Facts::default();
    facts.read(text, flags);
    facts
}

/// Returns the digest of a command.
pub fn digest(text: &[u8], flags: Flags) -> Digest {
    Analysis::of(text, flags).digest
}
