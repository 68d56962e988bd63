//! A client's statement as a text that a server can explain, with the values of its parameters in it.

use std::borrow::Cow;

use sql::{Flags, Lexer, TokenKind};
use wire::Capabilities;

use crate::statement::Statement;

impl Statement<'_> {
    /// The command's name in MySQL's general log.
    pub fn command_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "Query",
            Self::Execution(_) => "Execute",
            Self::Bulk(_) => "Bulk execute",
            Self::Command(_) => "Command",
        }
    }

    /// The statement's text with all values. `None`: some value has no literal.
    pub fn text_with_values(
        &self,
        flags: Flags,
        capabilities: Capabilities,
    ) -> Option<Cow<'_, [u8]>> {
        let executing = match self {
            Self::Text(query) => return Some(Cow::Borrowed(query.text())),
            Self::Execution(executing) => executing,
            Self::Bulk(_) | Self::Command(_) => return None,
        };
        let text = executing.key.text.bytes();
        if executing.parameter_count == 0 {
            return Some(Cow::Borrowed(text));
        }
        let literals = executing.execute.literals(
            executing.parameter_count,
            executing.types.as_deref()?,
            |parameter| executing.long_data.of(parameter).is_some(),
            capabilities,
        );
        filled(text, flags, &literals.ok()?).map(Cow::Owned)
    }
}

/// Replaces the placeholders of a text by literals.
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
