//! What replaces a rule's matches, as rules have it (`${1}`, `${name}`, `$$`) and as ProxySQL's tables do (`\1`, `\\`).

/// What a text replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Each match of an expression, whose groups it may name.
    Matches,
    /// The whole statement: a `$` is one.
    Whole,
}

impl Extent {
    /// By whether there is an expression.
    pub fn of(has_pattern: bool) -> Self {
        match has_pattern {
            true => Self::Matches,
            false => Self::Whole,
        }
    }
}

/// As rules have it; of what means nothing there either, a `\` stays as it is.
pub fn meant(text: &str, extent: Extent) -> String {
    let mut meant = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '$']) {
        meant.push_str(&rest[..at]);
        rest = &rest[at..];
        let behind = &rest[1..];
        let group = group_behind(behind).filter(|_| extent == Extent::Matches);
        rest = match (rest.starts_with('$'), group) {
            (true, _) => {
                meant.push_str(match extent {
                    Extent::Matches => "$$",
                    Extent::Whole => "$",
                });
                behind
            }
            (false, Some((name, behind))) => {
                meant.push_str(&format!("${{{name}}}"));
                behind
            }
            (false, None) => {
                meant.push('\\');
                behind.strip_prefix('\\').unwrap_or(behind)
            }
        };
    }
    meant + rest
}

/// A digit, or `g<name>`, at the start, and what stands behind.
fn group_behind(text: &str) -> Option<(&str, &str)> {
    if let Some(inner) = text.strip_prefix("g<") {
        let (name, behind) = inner.split_once('>')?;
        return (!name.is_empty()).then_some((name, behind));
    }
    let is_digit = text.starts_with(|it: char| it.is_ascii_digit());
    is_digit.then(|| text.split_at(1))
}

/// As ProxySQL's tables have it: what is shown means what it was made of.
pub fn shown(template: &str, extent: Extent) -> String {
    let mut shown = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find(['\\', '$']) {
        shown.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        rest = match (rest[at..].starts_with('\\'), group_named(behind)) {
            (true, _) => {
                shown.push_str(r"\\");
                behind
            }
            (false, Some((name, behind))) if extent == Extent::Matches => {
                let is_digit = name.len() == 1 && name.as_bytes()[0].is_ascii_digit();
                shown.push_str(&match is_digit {
                    true => format!(r"\{name}"),
                    false => format!(r"\g<{name}>"),
                });
                behind
            }
            (false, _) => {
                shown.push('$');
                match extent {
                    Extent::Matches => behind.strip_prefix('$').unwrap_or(behind),
                    Extent::Whole => behind,
                }
            }
        };
    }
    shown + rest
}

/// The digits or the name in braces at the start, and what stands behind.
fn group_named(text: &str) -> Option<(&str, &str)> {
    if let Some(inner) = text.strip_prefix('{') {
        let (name, behind) = inner.split_once('}')?;
        return (!name.is_empty()).then_some((name, behind));
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| text.split_at(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_proxysql_writes_is_written_as_rules_have_it() {
        for (text, expected) in [
            (r"a \1 b$ \x", r"a ${1} b$$ \x"),
            (r"\10", r"${1}0"),
            (r"\\1 \\", r"\1 \"),
            (r"\g<id> \g<12> \g<", r"${id} ${12} \g<"),
            (r"ends \", r"ends \"),
            ("\\\u{e9}\u{4e2d}$", "\\\u{e9}\u{4e2d}$$"),
        ] {
            assert_eq!(meant(text, Extent::Matches), expected, "{text}");
        }
        assert_eq!(meant(r"SELECT '$', \1", Extent::Whole), r"SELECT '$', \1");
    }

    #[test]
    fn what_is_shown_means_what_it_was_made_of() {
        for (template, expected) in [
            ("${1}0 $2", r"\10 \2"),
            ("${id} ${12}", r"\g<id> \g<12>"),
            (r"$$ $${1} \1 \\", r"$ ${1} \\1 \\\\"),
            ("no group", "no group"),
            (r"at the end \", r"at the end \\"),
        ] {
            let told = shown(template, Extent::Matches);
            assert_eq!(told, expected, "{template}");
            let braced = template.replace("$2", "${2}");
            assert_eq!(meant(&told, Extent::Matches), braced, "{template}");
        }
        for template in [
            "SELECT '$'",
            "SELECT '$$', '${1}'",
            r"SELECT '\\1', '\g<a>'",
        ] {
            let told = shown(template, Extent::Whole);
            assert_eq!(meant(&told, Extent::Whole), template, "{told}");
        }
    }
}
