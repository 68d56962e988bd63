//! Parses a table's definition, as SHOW CREATE TABLE prints it.

/// The parts of a definition. It was read with `NO_BACKSLASH_ESCAPES`, so quotes within quotes are doubled.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Table<'a> {
    /// The columns in the table's order: the name as it is quoted, and the whole line.
    pub columns: Vec<Element<'a>>,
    /// Indexes; the primary key has no name.
    pub keys: Vec<Element<'a>>,
    /// Foreign keys.
    pub foreign_keys: Vec<Element<'a>>,
    /// CHECK constraints.
    pub checks: Vec<Element<'a>>,
    /// Other elements between the parentheses, such as `PERIOD FOR SYSTEM_TIME …`.
    pub other_elements: Vec<&'a str>,
    /// Options such as `ENGINE=InnoDB` and `DEFAULT CHARSET=utf8mb4`, each with its name.
    pub options: Vec<Element<'a>>,
    /// `PARTITION BY …`, with the comment that surrounds it.
    pub partitions: Option<&'a str>,
}

/// A named part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// The quoted name, or a keyword.
    pub name: &'a str,
    /// The whole text of the part.
    pub text: &'a str,
}

/// Parses a definition; none if SHOW CREATE TABLE does not print such a text.
pub fn parse(definition: &str) -> Option<Table<'_>> {
    let open = find(definition, '(')?;
    let body = &definition[open + 1..];
    let close = find(body, ')')?;
    let mut table = Table::default();
    for element in split(&body[..close], ',') {
        table.add(element.trim());
    }
    let tail = body[close + 1..].trim();
    let partitions = partitions(tail);
    let (options, partitions) = tail.split_at(partitions.unwrap_or(tail.len()));
    table.options = options_of(options.trim())?;
    table.partitions = Some(partitions.trim()).filter(|text| !text.is_empty());
    (!table.columns.is_empty()).then_some(table)
}

impl<'a> Table<'a> {
    fn add(&mut self, text: &'a str) {
        let first_name = || quoted_name(text).unwrap_or_default();
        let named = |name| Element { name, text };
        let word = text.split([' ', '(']).next().unwrap_or_default();
        match word {
            _ if text.starts_with('`') => self.columns.push(named(first_name())),
            "PRIMARY" => self.keys.push(named("")),
            "KEY" | "UNIQUE" | "FULLTEXT" | "SPATIAL" | "VECTOR" => {
                self.keys.push(named(first_name()));
            }
            "CONSTRAINT" if text.contains(" FOREIGN KEY ") => {
                self.foreign_keys.push(named(first_name()));
            }
            "CONSTRAINT" if text.contains(" CHECK ") => self.checks.push(named(first_name())),
            _ => self.other_elements.push(text),
        }
    }

    /// Returns the text of an option.
    pub fn option(&self, name: &str) -> Option<&'a str> {
        let found = self.options.iter().find(|option| option.name == name);
        found.map(|option| option.text)
    }
}

/// Returns the first name in backticks, with the backticks.
fn quoted_name(text: &str) -> Option<&str> {
    let begin = text.find('`')?;
    let length = quoted_length(&text[begin..]);
    text.get(begin..begin + length)
}

/// Returns where the partitions begin in the text after the columns.
fn partitions(tail: &str) -> Option<usize> {
    let mut words = UnquotedChars::of(tail);
    words.find_map(|(at, _)| {
        let rest = &tail[at..];
        let is_comment = rest.starts_with("/*!") && rest.contains(" PARTITION BY ");
        (is_comment || rest.starts_with("PARTITION BY ")).then_some(at)
    })
}

/// Parses options such as `ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='a b'`.
fn options_of(text: &str) -> Option<Vec<Element<'_>>> {
    let mut options = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix("WITH SYSTEM VERSIONING") {
            let text = &rest[..rest.len() - behind.len()];
            options.push(Element { name: text, text });
            rest = behind.trim_start();
            continue;
        }
        let equals = rest.find('=')?;
        let end = UnquotedChars::of(&rest[equals + 1..])
            .find(|(_, character)| *character == ' ')
            .map_or(rest.len(), |(at, _)| equals + 1 + at);
        options.push(Element {
            name: rest[..equals].trim(),
            text: &rest[..end],
        });
        rest = rest[end..].trim_start();
    }
    Some(options)
}

/// Finds a character outside quotes and inner parentheses. The text's own closing parenthesis can be found.
fn find(text: &str, wanted: char) -> Option<usize> {
    let mut places = UnquotedChars::of(text);
    places.find_map(|(at, character)| (character == wanted).then_some(at))
}

/// Splits a text at a separator outside quotes and parentheses.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut begin = 0;
    for (at, character) in UnquotedChars::of(text) {
        if character == separator {
            pieces.push(&text[begin..at]);
            begin = at + 1;
        }
    }
    pieces.push(&text[begin..]);
    pieces
}

/// The characters outside quotes and inner parentheses, with their offsets. Includes each opening parenthesis.
struct UnquotedChars<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> UnquotedChars<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns the length of the parenthesised text that begins here, with both parentheses.
    fn parentheses(&self) -> usize {
        let rest = &self.text[self.at..];
        let mut depth = 0_usize;
        let mut at = 0;
        while let Some(character) = rest[at..].chars().next() {
            match character {
                '(' => depth += 1,
                ')' => depth -= 1,
                '\'' | '"' | '`' => {
                    at += quoted_length(&rest[at..]);
                    continue;
                }
                _ => (),
            }
            at += character.len_utf8();
            if depth == 0 {
                return at;
            }
        }
        rest.len()
    }
}

impl Iterator for UnquotedChars<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.text[self.at..];
        let character = rest.chars().next()?;
        let at = self.at;
        self.at += match character {
            '(' => self.parentheses(),
            '\'' | '"' | '`' => quoted_length(rest),
            _ => character.len_utf8(),
        };
        Some((at, character))
    }
}

/// Returns the length of the quoted text that begins here, with its quotes. A doubled quote is part of the text.
fn quoted_length(text: &str) -> usize {
    let Some(quote) = text.chars().next() else {
        return 0;
    };
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character != quote {
            continue;
        }
        if characters.peek().is_some_and(|(_, next)| *next == quote) {
            characters.next();
            continue;
        }
        return at + 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_create_table_is_parsed_into_its_parts() {
        let table = parse(
            "CREATE TABLE `t` (\n  `a` int(11) NOT NULL COMMENT 'x, `y` ('')',\n  `b,c` enum('p','q)') DEFAULT NULL,\n  \
             PRIMARY KEY (`a`),\n  UNIQUE KEY `k``1` (`b,c`(3),`a`),\n  \
             CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `o` (`id`) ON DELETE CASCADE,\n  \
             CONSTRAINT `c` CHECK (`a` > 0)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='a b=c'\n\
             /*!50100 PARTITION BY HASH (`a`)\nPARTITIONS 4 */",
        )
        .unwrap();
        let names = |of: &[Element<'_>]| -> Vec<String> {
            of.iter().map(|it| it.name.to_owned()).collect()
        };
        assert_eq!(names(&table.columns), ["`a`", "`b,c`"]);
        assert_eq!(names(&table.keys), ["", "`k``1`"]);
        assert_eq!(names(&table.foreign_keys), ["`f`"]);
        assert_eq!(names(&table.checks), ["`c`"]);
        assert_eq!(
            names(&table.options),
            ["ENGINE", "DEFAULT CHARSET", "COLLATE", "COMMENT"]
        );
        assert_eq!(table.option("COMMENT"), Some("COMMENT='a b=c'"));
        assert!(
            table
                .partitions
                .is_some_and(|it| it.starts_with("/*!50100 PARTITION BY HASH"))
        );
        assert_eq!(table.other_elements, [] as [&str; 0]);
    }

    #[test]
    fn malformed_definitions_are_refused_without_a_panic() {
        for text in [
            "",
            "CREATE VIEW v AS SELECT 1",
            "CREATE TABLE t (",
            "CREATE TABLE t (`a",
            "((((",
            "()",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
