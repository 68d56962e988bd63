//! A change file that is cut off at any byte, that rotates, and that only one writer may open.

use std::path::{Path, PathBuf};

use config::ChangeFileConfig;
use serde_json::Value;
use tokio::sync::watch;

use super::writer::ChangeFileWriter;
use crate::changes::error::ChangeError;
use crate::changes::reader::{ChangeReader, ChangeStart, Progress};
use crate::changes::sink::Sink;
use crate::changes::tests::Captured;

fn settings(path: &Path, bytes_max: u64) -> ChangeFileConfig {
    ChangeFileConfig {
        path: path.to_owned(),
        bytes_max,
        ..ChangeFileConfig::default()
    }
}

/// Appends all changes of a capture to the file, from the file's position on.
fn write(captured: &Captured, settings: &ChangeFileConfig) {
    let (_stop, stopped) = watch::channel(());
    let mut writer = ChangeFileWriter::open(settings, stopped).unwrap();
    let start = match writer.position() {
        Some(position) => ChangeStart::Behind(position.to_owned()),
        None => ChangeStart::Oldest,
    };
    let mut reader = ChangeReader::begin(&captured.source, &start, &[]).unwrap();
    writer.begin(reader.position()).unwrap();
    while reader.step(&mut writer).unwrap() == Progress::Goes {}
    writer.sync().unwrap();
}

/// Each change by its transaction and its number in the transaction.
fn changes(file: &Path) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    let id = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let transaction = &value["transaction"];
        let id = transaction["id"].as_str().unwrap().to_owned();
        (id, transaction["total_order"].as_u64().unwrap())
    };
    text.lines().map(id).collect()
}

fn path(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("changes.jsonl")
}

#[test]
fn a_file_that_is_cut_off_anywhere_gets_all_changes_in_order_and_whole_lines_only() {
    let captured = Captured::new("mariadb-11.8", 1);
    let folder = tempfile::tempdir().unwrap();
    write(&captured, &settings(&path(&folder), 1 << 30));
    let whole = std::fs::read(path(&folder)).unwrap();
    let all = changes(&path(&folder));
    assert!(all.len() > 20);
    // After a power failure the file may end with zero bytes.
    for (length, tail) in (0..whole.len())
        .step_by(97)
        .zip([&b""[..], b"\0\0", b"\n\0\n"].iter().cycle())
    {
        let folder = tempfile::tempdir().unwrap();
        let left = [&whole[..length], tail].concat();
        std::fs::write(path(&folder), left).unwrap();
        write(&captured, &settings(&path(&folder), 1 << 30));
        let mut got = changes(&path(&folder));
        let mut last: Vec<(String, u64)> = Vec::new();
        // The changes of the transaction that was cut off are written twice.
        got.retain(|it| {
            let is_new = !last.contains(it);
            last.push(it.clone());
            is_new
        });
        assert_eq!(got, all, "{length}");
    }
}

#[test]
fn the_position_file_says_where_to_go_on_when_there_is_no_line() {
    let captured = Captured::new("mysql-9.7", 1);
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(&path(&folder), 1 << 30);
    write(&captured, &settings);
    // A consumer of the file may have moved it away.
    std::fs::remove_file(path(&folder)).unwrap();
    write(&captured, &settings);
    assert_eq!(changes(&path(&folder)), []);
}

#[test]
fn a_file_rotates_between_transactions_and_the_oldest_are_deleted() {
    let captured = Captured::new("mysql-9.7", 1);
    let folder = tempfile::tempdir().unwrap();
    write(&captured, &settings(&path(&folder), 1 << 30));
    let all = changes(&path(&folder));
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(&path(&folder), 2000);
    settings.files_max = 1000;
    write(&captured, &settings);
    let rotated = super::rotation::rotated(&path(&folder)).unwrap();
    assert!(rotated.len() > 3, "{rotated:?}");
    for (_, file) in &rotated {
        assert_eq!(changes(file)[0].1, 1, "{}", file.display());
    }
    assert_eq!(in_all_files(&folder), all);
    // After a crash before the first line of the newest file, the last renamed file has the position.
    std::fs::remove_file(folder.path().join("changes.jsonl.position")).unwrap();
    std::fs::remove_file(path(&folder)).unwrap();
    write(&captured, &settings);
    assert_eq!(in_all_files(&folder), all);

    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings.clone();
    (settings.path, settings.files_max) = (path(&folder), 2);
    write(&captured, &settings);
    let few = super::rotation::rotated(&path(&folder)).unwrap();
    let numbers: Vec<_> = few.iter().map(|(number, _)| *number).collect();
    let newest = rotated.last().unwrap().0;
    assert_eq!(numbers, [newest - 1, newest]);
}

fn in_all_files(folder: &tempfile::TempDir) -> Vec<(String, u64)> {
    let rotated = super::rotation::rotated(&path(folder)).unwrap();
    let rotated = rotated.into_iter().map(|(_, file)| file);
    let files = rotated.chain([path(folder)]);
    files.flat_map(|it| changes(&it)).collect()
}

#[test]
fn a_file_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(&path(&folder), 1 << 30);
    let (_stop, stopped) = watch::channel(());
    let first = ChangeFileWriter::open(&settings, stopped.clone()).unwrap();
    let second = ChangeFileWriter::open(&settings, stopped.clone()).err();
    assert!(matches!(second, Some(ChangeError::InUse(_))), "{second:?}");
    drop(first);
    assert!(ChangeFileWriter::open(&settings, stopped).is_ok());
}
