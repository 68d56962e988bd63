//! `pilotfish schema export --git`: a schema history as a Git repository. Each object is a file, each change a commit.
//!
//! ```text
//!   schemas/shop/schema.sql          schemas/shop/table/goods.sql          accounts/app@%25.sql
//! ```
//!
//! The commits go through `git fast-import`, so a history of any length is one process. Each commit says in its last
//! line which revision of the history it is. A later export goes on from there.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use replication::{ObjectVersion, Revision, RevisionMark, SavedChange, SavedHistory};

/// The start of each commit's last line, which names the change, or the time at which objects were read without a
/// change.
const TRAILER: &str = "Schema-History:";

/// The committer; also the author of changes for which the server logged no account.
const NOBODY: &str = "Pilotfish";

/// Writes the commits that the repository does not have yet.
///
/// # Errors
/// The history cannot be read, Git is missing or reports an error, or the folder holds something else.
pub fn export(
    history: &SavedHistory,
    cluster: &str,
    schema: Option<&str>,
    folder: &Path,
) -> Result<usize, String> {
    make_repository(folder)?;
    let changed = git(folder, &["status", "--porcelain"])?;
    if !changed.is_empty() {
        return Err(format!(
            "{} has files that are not committed; commit or remove them, then export again",
            folder.display()
        ));
    }
    let branch = git(folder, &["symbolic-ref", "HEAD"])?;
    let last = last_mark(folder, &branch)?;
    let marks = history.revision_marks(cluster, schema, last)?;
    let mut input = Vec::new();
    for (number, mark) in marks.iter().enumerate() {
        let revision = history.revision(cluster, schema, *mark)?;
        let follows = (number == 0 && last.is_some()).then_some(branch.as_str());
        put_commit(&mut input, &branch, follows, &revision);
    }
    if !marks.is_empty() {
        import(folder, &input)?;
        git(folder, &["reset", "--quiet", "--hard"])?;
    }
    Ok(marks.len())
}

fn make_repository(folder: &Path) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(told)?;
    if folder.join(".git").exists() {
        return Ok(());
    }
    if std::fs::read_dir(folder).map_err(told)?.next().is_some() {
        return Err(format!(
            "{} is not empty and is no Git repository; name a folder of its own",
            folder.display()
        ));
    }
    git(folder, &["init", "--quiet"]).map(drop)
}

/// The revision of the last commit; `None` in a repository without commits.
fn last_mark(folder: &Path, branch: &str) -> Result<Option<RevisionMark>, String> {
    let Ok(message) = git(folder, &["log", "-1", "--format=%B", branch]) else {
        return Ok(None);
    };
    let line = message.lines().rev().find(|line| !line.is_empty());
    let numbers = line.and_then(|line| line.strip_prefix(TRAILER));
    let mark = numbers.and_then(|numbers| {
        let (change, read_at) = numbers.trim().split_once(' ')?;
        Some(RevisionMark {
            change: change.parse().ok()?,
            read_at: read_at.parse().ok()?,
        })
    });
    let fault = || {
        format!(
            "the last commit in {} is not of a schema history (its last line does not begin with \"{TRAILER}\")",
            folder.display()
        )
    };
    mark.map(Some).ok_or_else(fault)
}

/// Runs Git; returns its output without the last line break.
fn git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("git cannot be started: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!("git {}: {}", arguments[0], text(&output.stderr))),
    }
}

fn import(folder: &Path, input: &[u8]) -> Result<(), String> {
    let mut child = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["fast-import", "--quiet", "--date-format=raw"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("git cannot be started: {error}"))?;
    // If Git ends early, its own message says why.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input));
    let output = child.wait_with_output().map_err(|it| it.to_string())?;
    let errors = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("git fast-import: {}", errors.trim_end())),
    }
}

fn put_commit(input: &mut Vec<u8>, branch: &str, follows: Option<&str>, revision: &Revision) {
    let seconds = revision.time.div_euclid(1_000_000).max(0);
    let author = author(revision.change.as_ref());
    let mut line = |text: String| {
        input.extend_from_slice(text.as_bytes());
        input.push(b'\n');
    };
    line(format!("commit {branch}"));
    line(format!("author {author} {seconds} +0000"));
    line(format!("committer {NOBODY} <> {seconds} +0000"));
    line(data(&message(revision)));
    if let Some(parent) = follows {
        line(format!("from {parent}^0"));
    }
    let is_there = |old: &ObjectVersion| revision.created.iter().any(|new| path(new) == path(old));
    for object in revision.ended.iter().filter(|old| !is_there(old)) {
        line(format!("D {}", path(object)));
    }
    for object in &revision.created {
        line(format!("M 100644 inline {}", path(object)));
        let text = match &object.definition {
            Some(definition) => format!("{definition};\n"),
            None => "-- The account of the proxy may not see the definition.\n".to_owned(),
        };
        line(data(&text));
    }
}

/// A text in the form of fast-import: its length in bytes before it.
fn data(text: &str) -> String {
    format!("data {}\n{text}", text.len())
}

/// `user <user@host>`, as an author of Git.
fn author(change: Option<&SavedChange>) -> String {
    let known = change.and_then(|change| change.account.as_deref().map(|user| (user, change)));
    let Some((user, change)) = known else {
        return format!("{NOBODY} <>");
    };
    let plain = |text: &str| text.replace(['<', '>', '\n', '\r', '\0'], "?");
    let host = change.host.as_deref().unwrap_or_default();
    format!("{} <{}@{}>", plain(user), plain(user), plain(host))
}

/// The commit message: `ALTER TABLE shop.goods`, the statement, then where the change came from.
fn message(revision: &Revision) -> String {
    let mut text = String::new();
    match &revision.change {
        Some(change) => {
            let object = change.object.as_deref().unwrap_or_default();
            let subject = format!("{} {object}", change.kind).replace('\n', " ");
            let statement = &change.statement;
            text += &format!("{}\n\n{statement}\n\n", subject.trim_end());
            text += &format!("GTID: {}\n", change.gtid);
            text += &format!(
                "Connection: {} of server {}\n",
                change.thread_id, change.server_id
            );
            if let Some(tool) = &change.tool {
                text += &format!("Tool: {tool}\n");
            }
        }
        None if revision.mark.read_at == 0 => text += "A change whose row is gone\n\n",
        None => text += "Objects as the proxy has read them\n\n",
    }
    let RevisionMark { change, read_at } = revision.mark;
    text += &format!("{TRAILER} {change} {read_at}\n");
    text.replace('\0', "?")
}

/// The file of an object.
fn path(object: &ObjectVersion) -> String {
    let name = encoded(&object.name);
    match object.kind.as_str() {
        "account" => format!("accounts/{name}.sql"),
        "schema" => format!("schemas/{name}/schema.sql"),
        kind => format!(
            "schemas/{}/{}/{name}.sql",
            encoded(&object.schema),
            encoded(kind)
        ),
    }
}

/// A file name for a name: letters, digits, `_`, `-`, `@`, and `.` except at the start; other characters by their
/// bytes, `%2F`.
fn encoded(name: &str) -> String {
    let mut encoded = String::new();
    for (at, character) in name.char_indices() {
        let is_plain = character.is_alphanumeric()
            || matches!(character, '_' | '-' | '@')
            || character == '.' && at > 0;
        if is_plain {
            encoded.push(character);
            continue;
        }
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            encoded += &format!("%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
