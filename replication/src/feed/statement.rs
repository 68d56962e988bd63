//! Parses the few statements that replicas and similar programs send before they ask for events.

/// A parsed statement.
#[derive(Debug, PartialEq, Eq)]
pub enum Statement {
    /// SET: the names of variables, and their new values.
    Set(Vec<(String, Value)>),
    /// SELECT: one row; the names of its columns, and their values.
    Select(Vec<(String, Value)>),
    /// SHOW VARIABLES LIKE: a row with the variable of that name, if it exists.
    ShowVariable(String),
    /// Any other statement.
    Unknown,
}

/// An expression for a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A literal.
    Literal(String),
    /// The name of a system variable.
    System(String),
    /// The name of a session variable.
    User(String),
    /// The clock, in seconds since 1970.
    Clock,
    /// The server's version.
    Version,
}

/// Reads a statement.
pub fn read(text: &str) -> Statement {
    let text = text.trim().trim_end_matches(';').trim_end();
    let (verb, rest) = text
        .split_once(|it: char| it.is_ascii_whitespace())
        .unwrap_or((text, ""));
    match verb.to_ascii_uppercase().as_str() {
        "SET" => set(rest),
        "SELECT" => select(rest),
        "SHOW" => show(rest),
        _ => Statement::Unknown,
    }
}

fn set(text: &str) -> Statement {
    let mut all = Vec::new();
    for part in split_at_commas(text) {
        // SET NAMES and similar clauses have no equals sign. They are ignored, because no text here depends on a
        // character set.
        let Some((name, value)) = part.split_once('=') else {
            continue;
        };
        let name = name.trim_end_matches(':').trim();
        let Some(value) = read_value(value.trim()) else {
            return Statement::Unknown;
        };
        all.push((name.to_ascii_lowercase(), value));
    }
    Statement::Set(all)
}

fn select(text: &str) -> Statement {
    let upper = text.to_ascii_uppercase();
    let text = match upper.rfind(" LIMIT ") {
        Some(at) => text.get(..at).unwrap_or(text),
        None => text,
    };
    let mut all = Vec::new();
    for part in split_at_commas(text) {
        let Some(value) = read_value(part.trim()) else {
            return Statement::Unknown;
        };
        all.push((part.trim().to_owned(), value));
    }
    match all.is_empty() {
        true => Statement::Unknown,
        false => Statement::Select(all),
    }
}

/// `[GLOBAL|SESSION] VARIABLES LIKE 'name'`
fn show(text: &str) -> Statement {
    let mut words = text.split_ascii_whitespace().peekable();
    words.next_if(|it| it.eq_ignore_ascii_case("GLOBAL") || it.eq_ignore_ascii_case("SESSION"));
    let is =
        |word: Option<&str>, wanted: &str| word.is_some_and(|it| it.eq_ignore_ascii_case(wanted));
    if !is(words.next(), "VARIABLES") || !is(words.next(), "LIKE") {
        return Statement::Unknown;
    }
    match (words.next().and_then(read_value), words.next()) {
        (Some(Value::Literal(name)), None) => {
            Statement::ShowVariable(name.replace('\\', "").to_ascii_lowercase())
        }
        _ => Statement::Unknown,
    }
}

/// Splits a text at commas outside string literals.
fn split_at_commas(text: &str) -> impl Iterator<Item = &str> {
    let mut quote = None;
    text.split(move |letter: char| {
        match quote {
            Some(open) if open == letter => quote = None,
            None if matches!(letter, '\'' | '"') => quote = Some(letter),
            _ => {}
        }
        letter == ',' && quote.is_none()
    })
}

fn read_value(text: &str) -> Option<Value> {
    if let Some(name) = text.strip_prefix("@@") {
        let lower = name.to_ascii_lowercase();
        let scopes = ["global.", "session.", "local."];
        let name = scopes.iter().find_map(|it| lower.strip_prefix(it));
        let name = name.unwrap_or(&lower);
        return is_word(name).then(|| Value::System(name.to_owned()));
    }
    if text.starts_with('@') {
        let name = text.get(1..).unwrap_or_default();
        return is_word(name).then(|| Value::User(text.to_ascii_lowercase()));
    }
    for quote in ['\'', '"'] {
        if let Some(inner) = text
            .strip_prefix(quote)
            .and_then(|it| it.strip_suffix(quote))
        {
            return (!inner.contains(quote)).then(|| Value::Literal(inner.to_owned()));
        }
    }
    match text.to_ascii_uppercase().as_str() {
        "UNIX_TIMESTAMP()" => Some(Value::Clock),
        "VERSION()" => Some(Value::Version),
        _ => is_word(text).then(|| Value::Literal(text.to_owned())),
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'.' | b'-' | b'+'))
}
