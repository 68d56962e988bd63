//! Parses the output of a test binary: which tests passed and failed, and the output of the failed tests.

use std::collections::BTreeMap;

/// A binary's run.
#[derive(Debug, Default)]
pub struct Run {
    /// The binary's name.
    pub binary: String,
    /// Tests that passed.
    pub passed: usize,
    /// Tests that failed, in the order in which they ended, with what they printed.
    pub failed: Vec<(String, String)>,
    /// Whether the binary ended as it should with these tests.
    pub is_whole: bool,
}

/// Reads what a binary prints, and prints it.
#[derive(Debug, Default)]
pub struct Reader {
    run: Run,
    /// The output of failed tests, by name.
    told: BTreeMap<String, String>,
    /// The test whose output is being read.
    section: Option<String>,
    has_result: bool,
}

impl Reader {
    /// Begins to read what a binary prints.
    pub fn of(binary: &str) -> Self {
        println!("-- {binary}");
        let binary = binary.to_owned();
        Self {
            run: Run {
                binary,
                ..Run::default()
            },
            ..Self::default()
        }
    }

    /// Takes one line.
    pub fn line(&mut self, line: &str) {
        println!("{line}");
        if let Some(name) = section(line) {
            self.section = Some(name.to_owned());
        } else if line == "failures:" {
            self.section = None;
        } else if let Some(name) = &self.section {
            let told = self.told.entry(name.clone()).or_default();
            told.push_str(line);
            told.push('\n');
        } else if let Some((name, result)) = ended(line) {
            match result {
                "ok" => self.run.passed += 1,
                "FAILED" => self.run.failed.push((name.to_owned(), String::new())),
                _ => (),
            }
        }
        self.has_result |= line.starts_with("test result: ");
    }

    /// Takes the end of the binary, with success or without.
    pub fn ended(mut self, is_success: bool) -> Run {
        for (name, told) in &mut self.run.failed {
            *told = self.told.remove(name).unwrap_or_default();
        }
        self.run.is_whole = self.has_result && is_success == self.run.failed.is_empty();
        self.run
    }
}

/// The test whose output begins: `---- NAME stdout ----`.
fn section(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// A test that has ended, and how: `test NAME ... ok`. Other processes may have written into the same line.
fn ended(line: &str) -> Option<(&str, &str)> {
    let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    let results = ["ok", "FAILED", "ignored"];
    let result = results.into_iter().find(|&it| result.starts_with(it))?;
    (!name.contains(' ')).then_some((name, result))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
running 3 tests
test a::first ... ok
test a::second ... FAILED
test a::third - should panic ... ok

failures:

---- a::second stdout ----
thread 'a::second' panicked at x.rs:1:
left and right

failures:
    a::second

test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    fn read(text: &str, is_success: bool) -> Run {
        let mut reader = Reader::default();
        text.lines().for_each(|line| reader.line(line));
        reader.ended(is_success)
    }

    #[test]
    fn a_failed_test_has_its_output() {
        let run = read(PRINTED, false);
        assert!(run.is_whole);
        assert_eq!(run.passed, 2);
        assert_eq!(run.failed.len(), 1);
        let (name, told) = &run.failed[0];
        assert_eq!(name, "a::second");
        assert!(told.contains("left and right"), "{told}");
    }

    #[test]
    fn a_binary_that_ends_early_is_not_whole() {
        let cut: String = PRINTED
            .lines()
            .take(3)
            .map(|line| format!("{line}\n"))
            .collect();
        assert!(!read(&cut, false).is_whole);
        assert!(!read("", true).is_whole);
        assert!(!read(PRINTED, true).is_whole);
    }
}
