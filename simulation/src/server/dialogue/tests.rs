use std::path::{Path, PathBuf};

use super::*;

/// Returns the folder of the dialogues.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("dialogues")
}

/// Plays a dialogue with the model, on a clock that stands still while a task can run.
fn played(family: Family, text: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let place = ModelPlace::new(family);
        play(&place, text).await
    })
}

/// Asserts that the model gives the recorded replies of real servers.
fn compare(family: Family, recordings: &str) {
    let mut failed = Vec::new();
    let files = std::fs::read_dir(folder()).expect("the dialogues are there");
    let mut paths: Vec<PathBuf> = files.filter_map(|it| Some(it.ok()?.path())).collect();
    paths.sort();
    for path in paths
        .iter()
        .filter(|it| it.extension().is_some_and(|it| it == "txt"))
    {
        let name = path.file_name().unwrap_or_default();
        let text = std::fs::read_to_string(path).expect("a dialogue is a text");
        let recorded = std::fs::read_to_string(folder().join(recordings).join(name));
        let recorded = recorded.unwrap_or_default();
        if let Some(difference) = difference(&recorded, &played(family, &text)) {
            failed.push(format!("{}:\n{difference}", name.to_string_lossy()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_model_answers_like_mariadb() {
    compare(Family::MariaDb, "mariadb");
}

#[test]
fn the_model_answers_like_mysql() {
    compare(Family::MySql, "mysql");
}
