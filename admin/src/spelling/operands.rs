//! Where a statement's operands begin and end: of comparisons, found in one reading of the whole, and of what
//! binds closer.

use sql::TokenKind;

use super::Text;
use crate::fault::Fault;

/// How deep parentheses may be: what SQLite takes, and what keeps looking for their ends cheap.
const DEPTH_MAX: usize = 200;

/// The operators that compare.
const COMPARISONS: [&str; 8] = ["=", "<", ">", "<=", ">=", "<>", "!=", "<=>"];

/// What compares as well, and stands no higher.
const TESTS: [&str; 8] = [
    "LIKE", "REGEXP", "RLIKE", "IN", "IS", "BETWEEN", "COLLATE", "GLOB",
];

/// In front of what an operand begins.
const STARTS: [&str; 20] = [
    "SELECT",
    "WHERE",
    "AND",
    "OR",
    "XOR",
    "NOT",
    "ON",
    "HAVING",
    "WHEN",
    "THEN",
    "ELSE",
    "CASE",
    "BY",
    "DISTINCT",
    "LIMIT",
    "RETURNING",
    "&&",
    "||",
    "!",
    "SET",
];

/// What no operand is that can be told without reading on.
const NO_OPERANDS: [&str; 18] = [
    "SELECT", "WHERE", "AND", "OR", "BY", "ON", "THEN", "ELSE", "WHEN", "BETWEEN", "IN", "NOT",
    "CASE", "END", "BINARY", "INTERVAL", "SET", "LIKE",
];

/// The operands of comparisons.
pub struct Operands {
    /// In front of each place: where the operand begins that ends there.
    starts: Vec<usize>,
    /// In front of each place: whether something is compared in that operand.
    chained: Vec<bool>,
    /// By the place where an operand begins: whether something is compared in all of it.
    compares: Vec<bool>,
    /// By place: whether an `=` of UPDATE's gives a column its value.
    assigns: Vec<bool>,
}

impl Operands {
    /// Finds them.
    pub fn of(text: Text<'_>) -> Self {
        let count = text.tokens.len();
        let mut found = Self {
            starts: Vec::with_capacity(count + 1),
            chained: Vec::with_capacity(count + 1),
            compares: vec![false; count + 1],
            assigns: vec![false; count + 1],
        };
        let mut outer: Vec<(usize, bool)> = Vec::new();
        let (mut start, mut chained) = (0, false);
        let mut is_set = false;
        for (at, token) in text.tokens.iter().enumerate() {
            found.starts.push(start);
            found.chained.push(chained);
            let word = text.written(token);
            let is = |other: &&str| other.eq_ignore_ascii_case(word);
            if outer.is_empty() && token.kind == TokenKind::Word {
                is_set = is(&"SET") || is_set && !is(&"WHERE") && !is(&"FROM");
            }
            match token.kind {
                TokenKind::Open => {
                    outer.push((start, chained));
                    (start, chained) = (at + 1, false);
                }
                TokenKind::Close => (start, chained) = outer.pop().unwrap_or((start, chained)),
                TokenKind::Comma => (start, chained) = (at + 1, false),
                _ if STARTS.iter().any(is) => (start, chained) = (at + 1, false),
                _ if word == "="
                    && is_set
                    && outer.is_empty()
                    && !chained
                    && start > 0
                    && (text.text_of(start - 1) == "," || text.is_word(start - 1, "SET")) =>
                {
                    (start, chained) = (at + 1, false);
                    if let Some(assigns) = found.assigns.get_mut(at) {
                        *assigns = true;
                    }
                }
                _ if is_comparison(word) || TESTS.iter().any(is) => {
                    chained = true;
                    if let Some(compares) = found.compares.get_mut(start) {
                        *compares = true;
                    }
                }
                _ => {}
            }
        }
        found.starts.push(start);
        found.chained.push(chained);
        found
    }

    /// Where the operand in front of this place begins, with all that is compared in it.
    pub fn start(&self, end: usize) -> usize {
        self.starts.get(end).copied().unwrap_or_default()
    }

    /// Whether the operand in front of this place has a comparison in it.
    pub fn is_chained(&self, end: usize) -> bool {
        self.chained.get(end).copied().unwrap_or_default()
    }

    /// Whether the operand that begins at this place has one.
    pub fn compares(&self, start: usize) -> bool {
        self.compares.get(start).copied().unwrap_or_default()
    }

    /// Whether what stands here gives a column its value.
    pub fn assigns(&self, at: usize) -> bool {
        self.assigns.get(at).copied().unwrap_or_default()
    }
}

/// Whether an operand begins behind what stands here.
pub fn starts_operand(text: Text<'_>, at: usize) -> bool {
    STARTS.iter().any(|it| text.is_word(at, it))
}

/// Whether an operator compares.
pub fn is_comparison(word: &str) -> bool {
    COMPARISONS.contains(&word)
}

/// # Errors
/// Parentheses in too many others.
pub fn check_depth(text: Text<'_>) -> Result<(), Fault> {
    let mut depth = 0_usize;
    for token in text.tokens {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Err(Fault::syntax(format!(
                "Parentheses are nested deeper than {DEPTH_MAX}"
            )));
        }
    }
    Ok(())
}

/// The place of the parenthesis that ends what one at this place begins.
pub fn end(text: Text<'_>, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    (open..text.tokens.len()).find(|at| {
        match text.kind_of(*at) {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// The places of the tokens between a parenthesis and its end, but for what has parentheses of its own.
pub fn inside(text: Text<'_>, open: usize) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (at, token) in text.tokens.iter().enumerate().skip(open) {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            _ if depth == 1 => found.push(at),
            _ => {}
        }
    }
    found
}

/// Where the operand begins that ends with this token: a name, a constant, a call, or what is in parentheses.
pub fn operand(text: Text<'_>, last: usize) -> Option<usize> {
    let is_name = |at: usize| !NO_OPERANDS.iter().any(|it| text.is_word(at, it));
    let mut start = match text.kind_of(last) {
        TokenKind::Close => {
            let mut depth = 0_usize;
            let open = (0..=last).rev().find(|it| {
                match text.kind_of(*it) {
                    TokenKind::Close => depth += 1,
                    TokenKind::Open => depth -= 1,
                    _ => {}
                }
                depth == 0
            })?;
            let is_call = open > 0 && text.kind_of(open - 1) == TokenKind::Word;
            match is_call && is_name(open - 1) {
                true => open - 1,
                false => open,
            }
        }
        TokenKind::Word
        | TokenKind::Quoted
        | TokenKind::String
        | TokenKind::Number
        | TokenKind::SystemVariable
        | TokenKind::Placeholder => last,
        _ => return None,
    };
    while start > 1 && text.kind_of(start - 1) == TokenKind::Dot {
        start -= 2;
    }
    (!text.is_word(last, "END")).then_some(start)
}

/// The last token of such an operand that begins here, with its sign.
pub fn operand_end(text: Text<'_>, begin: usize) -> Option<usize> {
    let mut at = match text.text_of(begin) {
        "-" | "+" => begin + 1,
        _ => begin,
    };
    let last = match text.kind_of(at) {
        TokenKind::Open => end(text, at)?,
        TokenKind::Word | TokenKind::Quoted => {
            if NO_OPERANDS.iter().any(|it| text.is_word(at, it)) {
                return None;
            }
            while text.kind_of(at + 1) == TokenKind::Dot {
                at += 2;
            }
            match text.kind_of(at + 1) {
                TokenKind::Open => end(text, at + 1)?,
                TokenKind::String => return None,
                _ => at,
            }
        }
        TokenKind::String
        | TokenKind::Number
        | TokenKind::Placeholder
        | TokenKind::BackslashNull => at,
        TokenKind::SystemVariable if !matches!(text.text_of(at + 1), "." | "-") => at,
        _ => return None,
    };
    // What is inside JSON binds closer.
    let behind = text.text_of(last + 1);
    let is_arrow =
        behind.starts_with("->") || behind == "-" && text.text_of(last + 2).starts_with('>');
    (!is_arrow).then_some(last)
}
