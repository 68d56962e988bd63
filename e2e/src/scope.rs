//! How much a run checks: the checks for each change, or all checks, at night.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

/// The variable of the environment that chooses; `nightly` means everything.
const VARIABLE: &str = "PILOTFISH_TESTS";

/// True in a run that checks everything.
pub fn is_nightly() -> bool {
    static NIGHTLY: OnceLock<bool> = OnceLock::new();
    *NIGHTLY.get_or_init(|| std::env::var_os(VARIABLE).is_some_and(|value| value == "nightly"))
}

/// The size of a test: `each_change` for a change, `nightly` at night.
pub fn sized<T>(each_change: T, nightly: T) -> T {
    match is_nightly() {
        true => nightly,
        false => each_change,
    }
}

/// The seed in the variable `PILOTFISH_SEED`, or `known`, a seed with which the test is known to pass. It is printed,
/// so that a run can be repeated.
///
/// # Panics
/// The variable is not a number.
pub fn seed(known: u64) -> u64 {
    let given = std::env::var("PILOTFISH_SEED").ok();
    let seed = given.map_or(known, |text| {
        let seed = text.parse();
        seed.unwrap_or_else(|_| panic!("PILOTFISH_SEED is {text:?}, not a number"))
    });
    println!("PILOTFISH_SEED={seed}");
    seed
}

/// The variants of a test called `name` that this run plays. At night: all. Else: one variant, always the same, which
/// the name selects.
pub fn chosen<'a, T>(name: &str, variants: &'a [T]) -> &'a [T] {
    if is_nightly() {
        return variants;
    }
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let count = u64::try_from(variants.len()).expect("there are few");
    let index = usize::try_from(hasher.finish() % count).expect("there are few");
    &variants[index..=index]
}
