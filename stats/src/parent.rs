//! The trace that a statement says it belongs to: W3C's `traceparent`, in a query attribute of that name
//! or in a comment in sqlcommenter's style.

use sql::Facts;
use wire::attribute::QueryAttribute;

const NAME: &[u8] = b"traceparent";

/// The length of `00-` with 32 digits, `-` with 16 digits, `-` with 2 digits.
const TEXT_BYTES: usize = 55;

/// The client's span that a statement belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The id of the trace.
    pub trace_id: [u8; 16],
    /// The id of the parent span.
    pub span_id: [u8; 8],
    /// Whether the trace is sampled.
    pub is_sampled: bool,
}

impl TraceParent {
    /// The parent in a query attribute.
    pub fn of_attributes(attributes: &[QueryAttribute<'_>]) -> Option<Self> {
        let mut named = attributes.iter().filter(|it| it.name == NAME);
        Self::parse(&named.next()?.value)
    }

    /// The parent in a comment: `/*traceparent='00-...'*/`.
    pub fn of_comments(text: &[u8], facts: &Facts) -> Option<Self> {
        let comments = facts.comments.iter().filter(|it| !it.is_hint);
        comments
            .filter_map(|comment| Self::of_comment(comment.span.of(text)))
            .next()
    }

    fn of_comment(comment: &[u8]) -> Option<Self> {
        let at = memchr::memmem::find(comment, NAME)?;
        let value = comment.get(at + NAME.len()..)?.trim_ascii_start();
        let value = value.strip_prefix(b"=")?.trim_ascii_start();
        Self::parse(value.strip_prefix(b"'")?.get(..TEXT_BYTES)?)
    }

    /// Reads `00-TRACE-SPAN-FLAGS`. Later versions may have more after it.
    fn parse(text: &[u8]) -> Option<Self> {
        let (head, rest) = text.split_at_checked(TEXT_BYTES)?;
        let version = hexadecimal::<1>(head.get(..2)?)?;
        let is_whole = match version {
            [0xFF] => false,
            [0] => rest.is_empty(),
            _ => rest.is_empty() || rest.starts_with(b"-"),
        };
        let dashes = [2, 35, 52].iter().all(|at| head.get(*at) == Some(&b'-'));
        if !is_whole || !dashes {
            return None;
        }
        let trace_id = hexadecimal(head.get(3..35)?)?;
        let span_id = hexadecimal(head.get(36..52)?)?;
        let [flags] = hexadecimal::<1>(head.get(53..)?)?;
        let is_one = trace_id != [0; 16] && span_id != [0; 8];
        is_one.then_some(Self {
            trace_id,
            span_id,
            is_sampled: flags & 1 != 0,
        })
    }
}

/// Reads lower-case digits only, as the standard requires.
fn hexadecimal<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    (text.len() == 2 * N).then_some(bytes)
}

/// Whether a statement gets spans. For a statement that belongs to a client's trace, the client has decided.
pub fn is_traced(
    sample_one_in: u32,
    parent: Option<&TraceParent>,
    is_picked: impl FnOnce(u32) -> bool,
) -> bool {
    match parent {
        Some(parent) => parent.is_sampled,
        None => sample_one_in > 0 && is_picked(sample_one_in),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn of(statement: &str) -> Option<TraceParent> {
        let facts = sql::facts(statement.as_bytes(), sql::Flags::default());
        TraceParent::of_comments(statement.as_bytes(), &facts)
    }

    #[test]
    fn the_trace_parent_is_read_from_comments() {
        let parent = of(&format!("SELECT 1 /*db='x',traceparent='{TEXT}'*/"));
        let parent = parent.map(|it| {
            (
                it.trace_id[0],
                it.trace_id[15],
                it.span_id[7],
                it.is_sampled,
            )
        });
        assert_eq!(parent, Some((0x0A, 0x9C, 0x31, true)));
        let unsampled = TEXT.replace("-01", "-00");
        let parent = of(&format!("/* traceparent = '{unsampled}' */ SELECT 1"));
        assert_eq!(parent.map(|it| it.is_sampled), Some(false));
    }

    #[test]
    fn malformed_parents_are_ignored() {
        for statement in [
            "SELECT 1".to_owned(),
            format!("SELECT 'traceparent=''{TEXT}'"),
            format!("SELECT 1 /*traceparent='{}'*/", &TEXT[..54]),
            "SELECT 1 /*traceparent='00-00000000000000000000000000000000-b7ad6b7169203331-01'*/"
                .to_owned(),
            format!("SELECT 1 /*traceparent='{}'*/", TEXT.replace("00-", "ff-")),
            format!("SELECT 1 /*traceparent='{}'*/", TEXT.to_uppercase()),
            "SELECT 1 /*traceparent*/".to_owned(),
        ] {
            assert_eq!(of(&statement), None, "{statement}");
        }
        assert_eq!(TraceParent::parse(format!("{TEXT}-x").as_bytes()), None);
        let later = TEXT.replacen("00", "01", 1);
        assert!(TraceParent::parse(format!("{later}-x").as_bytes()).is_some());
    }
}
