//! HAVING without GROUP BY: servers take it for a condition on the result, SQLite for an error. Connector/J writes it
//! when an application asks for tables.

use sql::{Flags, Lexer, Token, TokenKind};

use crate::dialect::FLAGS;

/// The flags with which SQLite reads statements.
const SQLITE: Flags = Flags {
    no_backslash_escapes: true,
    ansi_quotes: true,
    ..FLAGS
};

/// SQLite's error for such a statement.
pub const REFUSAL: &str = "HAVING clause on a non-aggregate query";

/// Rewrites a query with HAVING and without GROUP BY as a query over its result. `None` if the HAVING is not at the top
/// level of the statement, or if the statement has several SELECTs.
pub fn without_lone_having(text: &str) -> Option<String> {
    let tokens: Vec<Token> = Lexer::new(text.as_bytes(), SQLITE).collect();
    let mut depth = 0_usize;
    let (mut having, mut order, mut limit) = (None, None, None);
    for token in &tokens {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            TokenKind::Word if depth == 0 => {
                let word = text.get(token.span.start as usize..token.span.end as usize)?;
                match &*word.to_ascii_uppercase() {
                    "UNION" | "INTERSECT" | "EXCEPT" | "GROUP" => return None,
                    "HAVING" => having = having.or(Some(token.span)),
                    "ORDER" => order = order.or(Some(token.span.start as usize)),
                    "LIMIT" => limit = limit.or(Some(token.span.start as usize)),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    let having = having?;
    let limit = limit.unwrap_or(text.len());
    let order = order.unwrap_or(limit);
    let query = text.get(..having.start as usize)?;
    let condition = text.get(having.end as usize..order)?;
    // ORDER BY stays with the inner query, because it may name a column that is not in the result.
    let (order, limit) = (text.get(order..limit)?, text.get(limit..)?);
    Some(format!(
        "SELECT * FROM ({query}{order}) WHERE{condition}{limit}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_having_without_group_by_becomes_a_where_around_the_query() {
        for (text, expected) in [
            (
                "SELECT a AS b FROM t HAVING b IN ('x ORDER', (1)) ORDER BY b LIMIT 2",
                Some(
                    "SELECT * FROM (SELECT a AS b FROM t ORDER BY b ) WHERE b IN ('x ORDER', (1)) LIMIT 2",
                ),
            ),
            (
                r"SELECT '\' AS b HAVING b",
                Some(r"SELECT * FROM (SELECT '\' AS b ) WHERE b"),
            ),
            ("SELECT a FROM t GROUP BY a HAVING a", None),
            ("SELECT a UNION SELECT b HAVING b", None),
            ("SELECT (SELECT a HAVING a)", None),
        ] {
            assert_eq!(without_lone_having(text).as_deref(), expected, "{text}");
        }
    }
}
