//! Scripts of filters, on binary log files of real servers.

use std::path::Path;

use binlog::{Column, Event, Limits, Value};
use config::{FilteredChange, ReplicationFilterConfig};

use super::captured::{Passed, files, filter};
use super::{drops, names, on};
use crate::error::StreamError;

/// The events of a file after a script that handles some tables.
fn scripted(file: &Path, tables: &[&str], script: &str) -> Result<Passed, StreamError> {
    with_script(file, tables, script, &[])
}

fn with_script(
    file: &Path,
    tables: &[&str],
    script: &str,
    others: &[ReplicationFilterConfig],
) -> Result<Passed, StreamError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter.lua");
    std::fs::write(&path, script).unwrap();
    let own = ReplicationFilterConfig {
        script: Some(path),
        ..on(tables)
    };
    filter(file, &[others, &[own]].concat())
}

/// Files of all servers whose events have column names, with all kinds of columns and changes.
fn with_names() -> Vec<std::path::PathBuf> {
    let mut files = files();
    files.retain(|it| it.ends_with("bin.000001"));
    assert_eq!(files.len(), 3);
    files
}

/// Calls a function for each row image of a table, with the values by column name.
fn each_image(
    passed: &Passed,
    name: &str,
    mut take: impl FnMut(&dyn Fn(&str) -> Option<Value<'static>>),
) {
    passed.each(|_, event| {
        let Event::Rows(rows, Some(table)) = event else {
            return;
        };
        if table.table != name {
            return;
        }
        for change in rows.changes(table, Limits::default()).unwrap() {
            let change = change.unwrap();
            for row in [change.before, change.after].into_iter().flatten() {
                take(&|name: &str| {
                    let is_it = |it: &Column| it.name.as_deref() == Some(name);
                    let index = table.columns.iter().position(is_it).unwrap();
                    let value = row.values[index].clone()?;
                    Some(match value {
                        Value::Text(text) => Value::Text(text.into_owned().into()),
                        Value::Signed(number) => Value::Signed(number),
                        Value::Null => Value::Null,
                        other => panic!("{other:?}"),
                    })
                });
            }
        }
    });
}

#[test]
fn a_script_that_changes_nothing_leaves_all_events_as_they_are() {
    for file in with_names() {
        let seen = "assert(change.type and change.gtid and change.schema and change.table)
            if change.type == 'insert' then assert(change.after and not change.before) end
            if change.type == 'delete' then assert(change.before and not change.after) end
            if change.statement then assert(#change.objects > 0 or change.type == 'ddl') end";
        let script = format!("function on_change(change) {seen} end");
        let passed = scripted(&file, &[], &script).unwrap();
        passed.check(&file);
        let other = filter(&file, &[drops(&["elsewhere.t"], &[])]).unwrap();
        assert!(passed.bodies() == other.bodies(), "{}", file.display());
        assert_eq!(passed.filtered, other.filtered);
    }
}

#[test]
fn a_script_changes_values_and_drops_rows() {
    for file in with_names() {
        let script = "function on_change(change)
              if change.statement then return end
              for _, row in pairs({change.before or {}, change.after or {}}) do
                if row.id == 2 then return false end
                if row.c then row.c = string.upper(row.c) end
                row.d = nil
              end
            end";
        let passed = scripted(&file, &["shop.texts"], script).unwrap();
        passed.check(&file);
        let mut seen = 0;
        each_image(&passed, "texts", |value| {
            assert_ne!(value("id"), Some(Value::Signed(2)));
            assert_eq!(value("d"), Some(Value::Null));
            if value("id") == Some(Value::Signed(1)) {
                assert_eq!(value("c"), Some(Value::Text("VARCHAR".into())));
                seen += 1;
            }
        });
        assert!(seen > 0);
        assert!(passed.filtered.changed > 0);
    }
}

#[test]
fn columns_are_masked_behind_the_script() {
    for file in with_names() {
        let script = "function on_change(change)
              if change.after and change.after.id == 1 then assert(change.after.c == 'varchar') end
            end";
        let masks = ReplicationFilterConfig {
            columns_constant: names(&["c=x"]),
            ..on(&["shop.texts"])
        };
        let passed = with_script(&file, &["shop.texts"], script, &[masks]).unwrap();
        passed.check(&file);
        each_image(&passed, "texts", |value| {
            let masked = value("c");
            assert!([Some(Value::Text("x".into())), Some(Value::Null)].contains(&masked));
        });
        // A script is not called for changes that an action of a filter has dropped.
        let all = "function on_change(change) error('asked') end";
        let dropped = [drops(&["shop.texts"], &[])];
        with_script(&file, &["shop.texts"], all, &dropped).unwrap();
    }
}

#[test]
fn a_script_drops_and_changes_statements() {
    for file in with_names() {
        let script = "function on_change(change)
              if change.type ~= 'ddl' then return false end
              change.statement = string.gsub(change.statement, 'CREATE TABLE', 'CREATE /* seen */ TABLE')
            end";
        let passed = scripted(&file, &["shop.*"], script).unwrap();
        passed.check(&file);
        let (mut rows, mut seen) = (0, 0);
        passed.each(|_, event| match event {
            Event::Rows(_, Some(table)) if table.schema == "shop" => rows += 1,
            Event::Query(query) => {
                let text = String::from_utf8_lossy(&query.text).into_owned();
                assert!(!text.contains("CREATE TABLE"), "{text}");
                seen += usize::from(text.contains("CREATE /* seen */ TABLE"));
            }
            _ => {}
        });
        assert_eq!(rows, 0);
        assert!(seen > 0);
    }
}

#[test]
fn a_script_that_fails_stops_the_stream() {
    for (script, expected) in [
        (
            "function on_change(change) error('no') end",
            "filter.lua\"]:1: no",
        ),
        (
            "function on_change(change) while true do end end",
            "passed its limit",
        ),
        (
            "function on_change(change) return 'drop' end",
            "has returned a string",
        ),
        ("x = 1", "has no function on_change"),
        ("function", "filter.lua"),
        (
            "function on_change(change) if change.after then change.after.emial = 'x' end end",
            "change.after.emial: table shop.",
        ),
        (
            "function on_change(change) if change.after then change.after.id = nil end end",
            "change.after.id cannot be so: the column is NOT NULL",
        ),
        (
            "function on_change(change) if change.after then change.after.id = 'x' end end",
            "change.after.id cannot be so: the value is no integer",
        ),
        (
            "function on_change(change) if change.after then change.after = 1 end end",
            "change.after is a ",
        ),
        (
            "function on_change(change) if change.after then change.after.id = {} end end",
            "a table is no value",
        ),
        (
            "function on_change(change) if change.statement then change.statement = nil end end",
            "change.statement is a nil",
        ),
    ] {
        for file in with_names() {
            let refused = scripted(&file, &["shop.*"], script).err().unwrap();
            let text = refused.to_string();
            assert!(text.contains(expected), "{script}: {text}");
        }
    }
}

#[test]
fn columns_without_names_are_not_given_to_a_script() {
    for file in files().iter().filter(|it| it.ends_with("bin.000003")) {
        let refused = scripted(file, &["shop.*"], "function on_change() end")
            .err()
            .unwrap();
        assert!(
            refused.to_string().contains("binlog_row_metadata = FULL"),
            "{refused}"
        );
    }
}

#[test]
fn kinds_of_changes_have_the_names_of_the_settings() {
    assert_eq!(FilteredChange::Insert.to_string(), "insert");
    assert_eq!(FilteredChange::Ddl.to_string(), "ddl");
}
