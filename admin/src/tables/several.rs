//! Columns of ProxySQL's that have one value there and may have several here. One stands as it is; several stand as a
//! list, `["a", "b"]`, and so does one that looks like a list: what is written back is what was read.

use super::waiting::Value;
use crate::fault::Fault;
use crate::sheet::Cell;

/// The values as they are shown.
pub fn shown<T: ToString>(values: impl IntoIterator<Item = T>) -> Cell {
    let mut values: Vec<String> = values.into_iter().map(|it| it.to_string()).collect();
    match values.len() {
        0 => Cell::Null,
        1 if !is_list(&values[0]) && !values[0].is_empty() => Cell::Text(values.remove(0)),
        _ => {
            let values = values
                .into_iter()
                .map(|it| serde_json::json!(it).to_string());
            let values: Vec<_> = values.collect();
            Cell::Text(format!("[{}]", values.join(", ")))
        }
    }
}

/// The values that a text means.
///
/// # Errors
/// It begins like a list and is none of texts.
pub fn meant(column: &str, text: &str) -> Result<Vec<String>, Fault> {
    match (text.is_empty(), is_list(text)) {
        (true, _) => Ok(Vec::new()),
        (false, false) => Ok(vec![text.to_owned()]),
        (false, true) => serde_json::from_str(text).map_err(|_| {
            Fault::wrong_value(format!(
                "{column} begins like a list and is none: several are written [\"a\", \"b\"], one that begins with \
                 a bracket [\"[a\"]"
            ))
        }),
    }
}

/// A setting of these values; none: it goes.
pub fn said(key: &str, values: &[String]) -> Vec<Value> {
    // TOML wants this one escaped, and JSON does not.
    let list = || {
        serde_json::json!(values)
            .to_string()
            .replace('\u{7f}', "\\u007f")
    };
    vec![(key.to_owned(), (!values.is_empty()).then(list))]
}

fn is_list(text: &str) -> bool {
    text.trim_start().starts_with('[')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn what_is_written_back_is_what_was_read() {
        for (values, expected) in [
            (&["a"][..], "a"),
            (&["a, b"], "a, b"),
            (&["a", "b"], r#"["a", "b"]"#),
            (&["a, b", "c\"d"], r#"["a, b", "c\"d"]"#),
            (&["[a"], r#"["[a"]"#),
            (&[" [\"a\"]"], r#"[" [\"a\"]"]"#),
            (&["", "b"], r#"["", "b"]"#),
            (&[""], r#"[""]"#),
        ] {
            let Cell::Text(text) = shown(values) else {
                panic!("{values:?}");
            };
            assert_eq!(text, expected);
            assert_eq!(meant("username", &text).unwrap(), values);
        }
        assert!(matches!(shown([] as [String; 0]), Cell::Null));
        assert_eq!(meant("username", "").unwrap(), [] as [String; 0]);
        assert_eq!(said("user", &[]), [("user".to_owned(), None)]);
    }

    #[test]
    fn a_list_that_is_none_is_refused() {
        let deep = "[".repeat(100_000);
        for text in ["[", "[a, b]", "[1]", "[[\"a\"]]", "[\"a\"] x", &deep] {
            let fault = meant("username", text).unwrap_err();
            assert!(fault.text.contains("username"), "{fault}");
        }
    }
}
