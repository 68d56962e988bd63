//! Checks the rules of a configuration before it is applied: rules that cannot be compiled, and rules whose tests fail,
//! are faults like any other, with file and line.

mod boundary_gaps;

use config::{Config, Fault, Loaded, Written};
use route::rules::{Compiled, Fault as RuleFault, Rules};

/// The compiled rules of a configuration that has been [`checked`].
///
/// # Errors
/// The first fault, if the configuration was not checked.
pub fn ready(config: &Config) -> Result<Compiled, String> {
    let told =
        |faults: Vec<RuleFault>| faults.first().map(|it| it.text.clone()).unwrap_or_default();
    Rules::compile(config).map_err(told)
}

/// The faults of the rules, for a configuration that has other faults as well.
pub fn faults(config: &Config, written: &Written) -> Vec<Fault> {
    let faults = Rules::compile(config).err().unwrap_or_default();
    faults.iter().map(|it| it.placed(written)).collect()
}

/// The same configuration, with remarks on its rules added to the warnings.
///
/// # Errors
/// Every fault of the rules; if there is none, every test that fails.
pub fn checked(loaded: Loaded) -> Result<Loaded, Vec<Fault>> {
    compiled(loaded).map(|(loaded, _)| loaded)
}

/// As [`checked`], and also returns the compiled rules.
///
/// # Errors
/// As of [`checked`].
pub fn compiled(mut loaded: Loaded) -> Result<(Loaded, Compiled), Vec<Fault>> {
    let placed = |faults: &[RuleFault]| -> Vec<Fault> {
        let mut placed: Vec<_> = faults.iter().map(|it| it.placed(&loaded.written)).collect();
        placed.sort_by(|one, other| one.location.cmp(&other.location));
        placed
    };
    let compiled = Rules::compile(&loaded.config).map_err(|faults| placed(&faults))?;
    let failed = compiled.rules.run_tests(&loaded.config);
    if !failed.is_empty() {
        return Err(placed(&failed));
    }
    let warnings = placed(&compiled.warnings);
    loaded.warnings.extend(warnings);
    let ways = boundary_gaps::boundary_gaps(&loaded.config, &loaded.written, &compiled.rules);
    loaded.warnings.extend(ways);
    Ok((loaded, compiled))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write as _;

    use super::*;

    #[test]
    fn faults_of_settings_and_of_rules_are_reported_together() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(
            b"[[backend]]\naddress = \"127.0.0.1:1\"\n\
              [[rule]]\nname = \"one\"\ncluster = \"nowhere\"\n\
              [[rule]]\nname = \"two\"\nregex = \"(\"\nrefuse = \"no\"\n",
        )
        .unwrap();
        let found = Config::load_and_ask(Some(file.path()), &[], faults).unwrap_err();
        let texts: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 2, "{texts:#?}");
        assert!(texts[0].contains("rule.routing.cluster"), "{texts:#?}");
        assert!(texts[1].contains("rule.regex"), "{texts:#?}");
    }
}
