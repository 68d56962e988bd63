//! Keeps the log from being flooded. Lines that are equal except for their time are merged: the first is written at
//! once, the repetitions are counted and reported once a second. Of one kind of line, a limited number is written per
//! second, and the number of the others is reported. Not limited are lines for developers (debug, trace), and records
//! of statements, because settings limit those.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::{self, Write as _};
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};

/// The most lines of one kind that are written in a second.
const LINES_OF_KIND_MAX: u32 = 100;

/// The most different lines that new lines are compared with.
const LINES_MAX: usize = 4096;

/// The most repeated lines that are reported in a second; of the others only a total is.
const REPEATED_MAX: usize = 100;

/// Records of statements, and statements that rules log: settings limit their number.
const RECORDS: [&str; 2] = ["statement_recorded", "rule_statement"];

/// The filter; clones share the counts.
#[derive(Clone, Default)]
pub(super) struct LineBound {
    lines_of_second: Arc<Mutex<SecondOfLines>>,
}

/// The lines of the present second, and the lines that still repeat.
#[derive(Default)]
struct SecondOfLines {
    lines: HashMap<UntimedLine, u64>,
    kinds: HashMap<String, OfKind>,
}

/// The lines that were held back in a second.
struct Kept {
    repeated: Vec<(UntimedLine, u64)>,
    /// The number of lines that were left out, by kind.
    left_out: Vec<(String, u64)>,
}

/// Lines of one kind in this second.
#[derive(Default)]
struct OfKind {
    written: u32,
    left_out: u64,
}

/// A line without its time.
#[derive(Clone, PartialEq, Eq, Hash)]
struct UntimedLine {
    level: Level,
    kind: Option<String>,
    text: String,
}

impl LineBound {
    /// Reports each second the lines that were held back, until the log is dropped.
    ///
    /// # Errors
    /// The kernel's error: no thread can be started.
    pub(super) fn log_each_second(&self) -> io::Result<()> {
        let seen = Arc::downgrade(&self.lines_of_second);
        let run = move || {
            while let Some(seen) = Weak::upgrade(&seen) {
                LineBound {
                    lines_of_second: seen,
                }
                .log_kept();
                std::thread::sleep(Duration::from_secs(1));
            }
        };
        let thread = std::thread::Builder::new().name("log".to_owned());
        thread.spawn(run).map(drop)
    }

    /// Reports the lines that were held back, and begins another second.
    pub(super) fn log_kept(&self) {
        let Kept { repeated, left_out } = self.take();
        for (line, count) in repeated {
            line.log_kept(count);
        }
        for (of, count) in left_out {
            tracing::warn!(
                kind = "lines_left_out",
                of,
                left_out = count,
                "more than 100 lines of one kind in a second: the log has left out the others"
            );
        }
    }

    fn take(&self) -> Kept {
        let mut seen = self
            .lines_of_second
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // A line that has not come again is forgotten.
        seen.lines.retain(|_, count| *count > 0);
        let mut repeated = Vec::new();
        let mut rest = 0;
        for (line, count) in &mut seen.lines {
            match repeated.len() < REPEATED_MAX {
                true => repeated.push((line.clone(), *count)),
                false => rest += *count,
            }
            *count = 0;
        }
        let kinds = std::mem::take(&mut seen.kinds).into_iter();
        let left_out = kinds.filter(|(_, of)| of.left_out > 0);
        let mut left_out: Vec<_> = left_out.map(|(kind, of)| (kind, of.left_out)).collect();
        if rest > 0 {
            left_out.push(("lines that are repeated".to_owned(), rest));
        }
        Kept { repeated, left_out }
    }

    /// Whether a line may be written now.
    fn admits(&self, line: UntimedLine, callsite: &str) -> bool {
        let mut seen = self
            .lines_of_second
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let SecondOfLines { lines, kinds } = &mut *seen;
        if let Some(count) = lines.get_mut(&line) {
            *count += 1;
            return false;
        }
        let name = line.kind.as_deref().unwrap_or(callsite);
        let of_kind = match kinds.entry(name.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(OfKind::default()),
        };
        if of_kind.written >= LINES_OF_KIND_MAX {
            of_kind.left_out += 1;
            return false;
        }
        of_kind.written += 1;
        if lines.len() < LINES_MAX {
            lines.insert(line, 0);
        }
        true
    }
}

impl UntimedLine {
    /// Reports that the line came this many more times.
    fn log_kept(&self, repeated: u64) {
        let (kind, text) = (self.kind.as_deref(), &*self.text);
        match self.level {
            Level::ERROR => tracing::error!(kind, repeated, "{text}"),
            Level::WARN => tracing::warn!(kind, repeated, "{text}"),
            _ => tracing::info!(kind, repeated, "{text}"),
        }
    }
}

impl<S: Subscriber> Filter<S> for LineBound {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        let level = *event.metadata().level();
        if level > Level::INFO {
            return true;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let is_record = fields
            .kind
            .as_deref()
            .is_some_and(|it| RECORDS.contains(&it));
        if fields.is_own || is_record {
            return true;
        }
        let line = UntimedLine {
            level,
            kind: fields.kind,
            text: fields.message + &fields.other_fields,
        };
        self.admits(line, event.metadata().name())
    }
}

/// The fields of a line.
#[derive(Default)]
struct Fields {
    kind: Option<String>,
    message: String,
    other_fields: String,
    /// The line reports lines that were held back.
    is_own: bool,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "kind" => self.kind = Some(value.to_owned()),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a text does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            "repeated" | "left_out" => {
                self.is_own = true;
                Ok(())
            }
            name => write!(self.other_fields, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: &str, text: &str) -> UntimedLine {
        UntimedLine {
            level: Level::WARN,
            kind: Some(kind.to_owned()),
            text: text.to_owned(),
        }
    }

    #[test]
    fn equal_lines_are_merged_and_counted() {
        let bound = LineBound::default();
        assert!(bound.admits(line("a", "down"), ""));
        for _ in 0..10_000 {
            assert!(!bound.admits(line("a", "down"), ""));
        }
        assert!(bound.admits(line("a", "up"), ""));
        let told = |bound: &LineBound| -> Vec<u64> {
            bound
                .take()
                .repeated
                .into_iter()
                .map(|(_, count)| count)
                .collect()
        };
        assert_eq!(told(&bound), [10_000]);
        // In the next second the line occurs again, and is reported again.
        assert!(!bound.admits(line("a", "down"), ""));
        assert_eq!(told(&bound), [1]);
        // After a second without the line, its next occurrence is written at once.
        assert!(told(&bound).is_empty());
        assert!(bound.admits(line("a", "down"), ""));
    }

    #[test]
    fn lines_of_a_kind_are_bounded_and_counted() {
        let bound = LineBound::default();
        let lines = (0..63_365).map(|number| line("no_backend", &number.to_string()));
        let written = lines.filter(|it| bound.admits(it.clone(), "")).count();
        assert_eq!(written, LINES_OF_KIND_MAX as usize);
        assert!(
            bound.admits(line("other", "1"), ""),
            "another kind has its own"
        );
        let Kept { repeated, left_out } = bound.take();
        assert!(repeated.is_empty());
        assert_eq!(left_out, [("no_backend".to_owned(), 63_265)]);
    }

    #[test]
    fn the_memory_for_lines_is_bounded() {
        let bound = LineBound::default();
        for number in 0..100_000 {
            bound.admits(line(&format!("{}", number % 1000), &number.to_string()), "");
        }
        let seen = bound
            .lines_of_second
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        assert!(seen.lines.len() <= LINES_MAX && seen.kinds.len() <= 1000);
    }
}
