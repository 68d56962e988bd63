//! Licence expressions: `MIT OR Apache-2.0`, `(MIT OR Zlib) AND Unicode-3.0`, and the older `MIT/Apache-2.0`.

use std::iter::Peekable;
use std::vec::IntoIter;

/// Whether the licences that are allowed satisfy the expression.
pub fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<String> = spaced.split_whitespace().map(str::to_owned).collect();
    let mut reader = Reader {
        words: words.into_iter().peekable(),
        allowed,
    };
    reader.either() == Some(true) && reader.words.next().is_none()
}

/// Reads an expression. `None`: it cannot be read.
struct Reader<'a> {
    words: Peekable<IntoIter<String>>,
    allowed: &'a [String],
}

impl Reader<'_> {
    /// Parts with `OR` between them: one must be allowed.
    fn either(&mut self) -> Option<bool> {
        let mut is_allowed = self.all()?;
        while self.skip("OR") {
            is_allowed |= self.all()?;
        }
        Some(is_allowed)
    }

    /// Parts with `AND` between them: all must be allowed.
    fn all(&mut self) -> Option<bool> {
        let mut is_allowed = self.one()?;
        while self.skip("AND") {
            is_allowed &= self.one()?;
        }
        Some(is_allowed)
    }

    fn one(&mut self) -> Option<bool> {
        let mut name = self.words.next()?;
        if name == "(" {
            let is_allowed = self.either()?;
            return self.skip(")").then_some(is_allowed);
        }
        if self.skip("WITH") {
            name = format!("{name} WITH {}", self.words.next()?);
        }
        Some(self.allowed.contains(&name))
    }

    fn skip(&mut self, word: &str) -> bool {
        self.words.next_if(|next| next == word).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    fn with_mit_and_isc(expression: &str) -> bool {
        let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        is_allowed(expression, &allowed)
    }

    #[test]
    fn licence_check_accepts_one_side_of_or_and_needs_both_sides_of_and() {
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "MIT AND ISC",
            "MIT AND (GPL-3.0 OR ISC)",
            "GPL-3.0 AND BSD-3-Clause OR ISC",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(with_mit_and_isc(good), "{good}");
        }
        for bad in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR ISC) AND GPL-3.0",
            "Apache-2.0",
        ] {
            assert!(!with_mit_and_isc(bad), "{bad}");
        }
    }

    #[test]
    fn an_expression_that_cannot_be_read_is_not_allowed() {
        for broken in ["", "(MIT", "MIT)", "MIT OR", "MIT ISC", "MIT WITH"] {
            assert!(!with_mit_and_isc(broken), "{broken}");
        }
    }
}
