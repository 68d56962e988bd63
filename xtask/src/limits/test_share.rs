//! How much of the data plane its tests are: unit tests, tests of a crate, and the scenes, which are dialogues of a session
//! in one process with scripted clients and servers.

use std::path::Path;

use super::sizes;
use super::source::{Crate, lines_below};
use crate::floors::DATA_PLANE;

/// Tests have at least so many percent of the lines.
const PERCENT_MIN: usize = 25;

/// Where the scenes are.
const SCENES: &str = "simulation/tests/scenes";

/// The lines of the data plane.
#[derive(Debug, PartialEq, Eq)]
pub struct TestShare {
    code: usize,
    tests: usize,
}

impl TestShare {
    /// Counts the lines of these crates, as far as they are the data plane's, and of the scenes.
    pub fn count(root: &Path, crates: &[Crate]) -> Result<Self, Vec<String>> {
        let scenes = lines_below(&root.join(SCENES))?;
        let mut share = Self {
            code: 0,
            tests: scenes,
        };
        for of in crates {
            if DATA_PLANE.contains(&of.name.as_str()) {
                share.code += sizes::lines(of).into_values().sum::<usize>();
                share.tests += of.test_lines;
            }
        }
        Ok(share)
    }

    /// What is wrong with it, if something is.
    pub fn fault(&self) -> Option<String> {
        let Self { code, tests } = self;
        let is_enough = tests * 100 >= (code + tests) * PERCENT_MIN;
        (!is_enough).then(|| {
            format!(
                "tests have {} of the data plane's lines ({tests}, and the code has {code}), and {PERCENT_MIN} % is the least",
                self.percent()
            )
        })
    }

    /// A line of the table of limits: the least share, whether it is missed, and the share.
    pub fn line(&self) -> String {
        format!(
            "{:46} {PERCENT_MIN:>6} {:>6}  {}",
            "tests in percent of the data plane, at least",
            usize::from(self.fault().is_some()),
            self.percent()
        )
    }

    fn percent(&self) -> String {
        let all = (self.code + self.tests).max(1);
        format!("{:.1} %", self.tests as f64 * 100.0 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::limits::source::Module;

    #[test]
    fn too_few_tests_are_a_fault() {
        let share = |code, tests| TestShare { code, tests };
        assert_eq!(share(75, 25).fault(), None);
        let fault = share(751, 249).fault().unwrap();
        assert!(fault.starts_with("tests have 24.9 %"), "{fault}");
        assert!(share(751, 249).line().ends_with("     1  24.9 %"));
    }

    #[test]
    fn only_crates_of_the_data_plane_count() {
        let of = |name: &str| {
            let module = Module::of_text(&["a"], "fn f() {}\n\n#[test]\nfn t() {}\n");
            Crate {
                test_lines: 2,
                ..Crate::of_module(name, module)
            }
        };
        let nowhere = Path::new("/nowhere");
        let counted = TestShare::count(nowhere, &[of("engine"), of("http")]);
        assert_eq!(counted, Ok(TestShare { code: 4, tests: 2 }));
    }
}
