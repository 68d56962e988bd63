//! A client's statement as text that a server can explain: an execution's parameters stand in it.

use std::borrow::Cow;

use pool::LongData;
use sql::{Flags, Lexer, TokenKind};
use wire::Capabilities;

use crate::pooled::lanes::candidate::Executing;

/// What the client has said.
pub(crate) enum Said<'a> {
    /// COM_QUERY: its text, as it is sent.
    Text(&'a [u8]),
    /// COM_STMT_EXECUTE
    Execution(&'a Executing<'a>, &'a LongData),
    /// COM_STMT_BULK_EXECUTE: the statement's text.
    Bulk(&'a [u8]),
}

impl<'a> Said<'a> {
    /// Its text, without the values of parameters.
    pub(crate) fn text(&self) -> &'a [u8] {
        match self {
            Self::Text(text) | Self::Bulk(text) => text,
            Self::Execution(executing, _) => executing.key.text.bytes(),
        }
    }

    pub(crate) fn command(&self) -> &'static str {
        match self {
            Self::Text(_) => "Query",
            Self::Execution(..) => "Execute",
            Self::Bulk(_) => "Bulk execute",
        }
    }

    /// Its text with all values; none where some have no literal.
    pub(crate) fn statement(
        &self,
        flags: Flags,
        capabilities: Capabilities,
    ) -> Option<Cow<'a, [u8]>> {
        let (executing, long_data) = match self {
            Self::Text(text) => return Some(Cow::Borrowed(text)),
            Self::Execution(executing, long_data) => (executing, long_data),
            Self::Bulk(_) => return None,
        };
        let text = executing.key.text.bytes();
        if executing.parameter_count == 0 {
            return Some(Cow::Borrowed(text));
        }
        let literals = executing.execute.literals(
            executing.parameter_count,
            executing.types.as_deref()?,
            |parameter| long_data.of(parameter).is_some(),
            capabilities,
        );
        filled(text, flags, &literals.ok()?).map(Cow::Owned)
    }
}

/// A text with literals where it has placeholders.
fn filled(text: &[u8], flags: Flags, literals: &[Option<Vec<u8>>]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut behind = 0;
    let mut literals = literals.iter();
    let tokens = Lexer::new(text, flags);
    for token in tokens.filter(|token| token.kind == TokenKind::Placeholder) {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        out.extend_from_slice(text.get(behind..start)?);
        out.extend_from_slice(literals.next()?.as_deref()?);
        behind = end;
    }
    out.extend_from_slice(text.get(behind..)?);
    literals.next().is_none().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_take_the_placeholders_places() {
        let filled = |text: &str, literals: &[Option<&str>]| {
            let literals: Vec<_> = literals
                .iter()
                .map(|it| it.map(|it| it.as_bytes().to_vec()))
                .collect();
            let filled = filled(text.as_bytes(), Flags::default(), &literals)?;
            Some(String::from_utf8_lossy(&filled).into_owned())
        };
        assert_eq!(
            filled(
                "SELECT '?', ? FROM t WHERE n=? -- ?",
                &[Some("1"), Some("'a'")]
            )
            .as_deref(),
            Some("SELECT '?', 1 FROM t WHERE n='a' -- ?")
        );
        assert_eq!(filled("SELECT ?", &[None]), None);
        assert_eq!(filled("SELECT ?", &[]), None);
        assert_eq!(filled("SELECT 1", &[Some("1")]), None);
    }
}
