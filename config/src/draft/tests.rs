#![allow(clippy::unwrap_used)]

use std::io::Write as _;

use super::*;
use crate::SourceLocation;

const TEXT: &str = "\
# The proxy of the shop.
workers = 2 # as many as cores

[limits]
# People complain below this.
sessions_max = 500 # for now

# The first one.
[[backend]]
address = \"db1\"
weight = 5

[[rule]]
name = \"one\"
regex = \"a\" # why

[[rule.test]]
statement = \"SELECT a\"

[[rule]]
name = \"two\"

# The second one.
[[backend]]
address = \"db2\"
name = \"second\"
";

fn draft(text: &str) -> Draft {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    Draft::of_file(file.path()).unwrap()
}

fn set(name: &str, value: &str) -> Edit {
    Edit::Set {
        setting: name.to_owned(),
        value: Some(value.to_owned()),
    }
}

fn take(name: &str) -> Edit {
    Edit::Set {
        setting: name.to_owned(),
        value: None,
    }
}

fn remove(list: &'static str, title: &str) -> Edit {
    Edit::Remove {
        list,
        title: title.to_owned(),
    }
}

fn faults(draft: &Draft, edit: Edit) -> String {
    let faults = draft.with(&[edit]).err().expect("it is faulty");
    let texts: Vec<_> = faults
        .iter()
        .map(|it| {
            let plain = Fault {
                location: SourceLocation::COMMAND_LINE,
                ..it.clone()
            };
            plain.to_string()
        })
        .collect();
    texts.join("\n")
}

#[test]
fn an_edit_changes_the_value_and_keeps_the_surrounding_text() {
    let changed = draft(TEXT).with(&[set("limits.sessions_max", "600"), set("workers", "4")]);
    let expected = TEXT
        .replace("= 500 # for now", "= 600 # for now")
        .replace("= 2 #", "= 4 #");
    assert_eq!(changed.unwrap().text(), expected);
}

#[test]
fn an_edit_to_the_current_value_changes_nothing() {
    let edits = [
        set("limits.sessions_max", "500"),
        set("limits.timeout_idle", "0s"),
        set("backend[db1:3306].weight", "5"),
        take("limits.packet_bytes_max"),
    ];
    assert_eq!(draft(TEXT).with(&edits).unwrap().text(), TEXT);
}

#[test]
fn edits_can_add_and_remove_settings() {
    let edits = [
        set("routing.lanes", "off"),
        set("backend[second].tags", "a, b"),
        set("zone", "north"),
        take("limits.sessions_max"),
        take("backend[db1:3306].weight"),
    ];
    let changed = draft(TEXT).with(&edits).unwrap();
    let config = changed.sketch().unwrap();
    assert_eq!(config.routing.lanes, crate::LaneUse::Off);
    assert_eq!(config.backends[1].tags, ["a", "b"]);
    assert_eq!(config.backends[0].weight, 1);
    assert_eq!(config.zone.as_deref(), Some("north"));
    assert!(!changed.text().contains("sessions_max"));
    assert!(
        changed.text().contains("# The first one."),
        "{}",
        changed.text()
    );
}

#[test]
fn tables_come_go_and_move_with_what_is_below_them() {
    let added = draft(TEXT)
        .with(&[
            Edit::Add {
                list: "rule",
                values: vec![
                    ("name".to_owned(), "zero".to_owned()),
                    ("digest".to_owned(), "SELECT a, b".to_owned()),
                    ("user".to_owned(), "x,y".to_owned()),
                ],
                place: Some(1),
            },
            remove("backend", "db1:3306"),
        ])
        .unwrap();
    let config = added.sketch().unwrap();
    let names: Vec<_> = config.rules.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["zero", "one", "two"]);
    assert_eq!(config.rules[0].digest.len(), 1);
    assert_eq!(config.rules[0].user, ["x", "y"]);
    assert_eq!(config.rules[1].tests.len(), 1);
    assert_eq!(config.backends.len(), 1);
    assert!(added.text().contains("regex = \"a\" # why"));
    let moved = added
        .with(&[Edit::Change {
            list: "rule",
            title: "two".to_owned(),
            values: vec![("name".to_owned(), Some("new".to_owned()))],
            place: Some(2),
        }])
        .unwrap();
    let config = moved.sketch().unwrap();
    let names: Vec<_> = config.rules.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["zero", "new", "one"]);
    assert_eq!(config.rules[2].tests.len(), 1);
    let none = moved.with(&[remove("backend", "second")]).unwrap();
    assert!(none.sketch().unwrap().backends.is_empty());
}

#[test]
fn tables_written_in_one_line_can_be_changed() {
    let draft = draft("backend = [{ address = \"db1\" }, { address = \"db2\" }]\n");
    let changed = draft.with(&[set("backend[db2:3306].weight", "7")]).unwrap();
    let config = changed.sketch().unwrap();
    assert_eq!((config.backends.len(), config.backends[1].weight), (2, 7));
    let inline = super::tests::draft("limits = { sessions_max = 5 }\n");
    let changed = inline.with(&[set("limits.sessions_max", "6")]).unwrap();
    assert_eq!(changed.text(), "limits = { sessions_max = 6 }\n");
    let dotted = super::tests::draft("limits.sessions_max = 5\n");
    let changed = dotted.with(&[set("limits.sessions_max", "6")]).unwrap();
    assert_eq!(changed.text(), "limits.sessions_max = 6\n");
}

#[test]
fn invalid_edits_give_the_faults_of_the_file() {
    let draft = draft(TEXT);
    for (edit, expected) in [
        (
            set("limits.sesions_max", "5"),
            "did you mean \"limits.sessions_max\"?",
        ),
        (
            set("limits.sessions_max", "many"),
            "limits.sessions_max: must be a whole number",
        ),
        (set("limits.sessions_max", "0"), "must be from 1"),
        (set("backend[db3].weight", "5"), "there is none"),
        (
            set("backend[secnd].weight", "5"),
            "did you mean \"second\"?",
        ),
        (
            set("backend[second].wight", "5"),
            "backend.wight: is no setting; hint: did you mean \"weight\"?",
        ),
        (set("backend[second].tags", "[1"), "must be a list"),
        (
            set("balance.policy", "fewest"),
            "balance.policy: must be one of",
        ),
        (remove("rule", "three"), "rule[three]: there is none"),
        (remove("nothing", "x"), "no list of tables"),
        (set("admin.password", "file:/nowhere/at/all"), "cannot read"),
    ] {
        let told = faults(&draft, edit);
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn the_text_of_a_value_adds_no_other_setting() {
    let hostile = "x\"\nworkers = 9\n[admin]\nusername = \"me\" # '";
    let changed = draft(TEXT)
        .with(&[Edit::Add {
            list: "rule",
            values: vec![
                ("name".to_owned(), "three".to_owned()),
                ("refuse".to_owned(), hostile.to_owned()),
            ],
            place: None,
        }])
        .unwrap();
    let config = changed.sketch().unwrap();
    assert_eq!(config.workers, 2);
    assert_eq!(config.admin.username, None);
    assert_eq!(config.rules[2].refuse.as_deref(), Some(hostile));
}

#[test]
fn a_configuration_without_a_file_is_read_back_as_it_was() {
    let text = format!("{TEXT}\n[admin]\nusername = \"root\"\npassword = \"se\\\"cret\"\n");
    let config = draft(&text).sketch().unwrap();
    let draft = Draft::of_config(&config);
    assert_eq!(draft.sketch().unwrap(), config);
    let told = faults(
        &draft,
        Edit::Add {
            list: "account",
            values: vec![("password".to_owned(), "…".to_owned())],
            place: None,
        },
    );
    assert!(told.contains("not one itself"), "{told}");
    let kept = draft.with(&[set("admin.password", "…")]).unwrap();
    assert_eq!(kept.sketch().unwrap(), config);
}

/// Edits of all kinds. Some of them depend on the result of earlier edits.
fn many_edits() -> Vec<Edit> {
    let add = |list: &'static str, values: &[(&str, &str)], place| Edit::Add {
        list,
        values: values
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        place,
    };
    let rename = |list: &'static str, title: &str, name: &str, place| Edit::Change {
        list,
        title: title.to_owned(),
        values: vec![("name".to_owned(), Some(name.to_owned()))],
        place,
    };
    vec![
        add("rule", &[("name", "three"), ("regex", "c")], None),
        add("backend", &[("address", "db3"), ("name", "third")], Some(1)),
        rename("rule", "one", "uno", None),
        rename("rule", "three", "one", None),
        set("rule[one].regex", "d"),
        remove("rule", "uno"),
        rename("rule", "two", "due", None),
        add("rule", &[("name", "four"), ("regex", "e")], Some(1)),
        rename("rule", "due", "two", Some(3)),
        remove("backend", "db1:3306"),
        set("backend[second].weight", "3"),
        rename("backend", "second", "third ", None),
        remove("backend", "third"),
        set("limits.sessions_max", "7"),
        set("rule[two].regex", "f"),
        remove("rule", "four"),
        add("rule", &[("name", "four"), ("regex", "g")], None),
        set("rule[four].stop", "false"),
    ]
}

#[test]
fn many_edits_at_once_equal_the_same_edits_one_by_one() {
    let edits = many_edits();
    let mut one_by_one = draft(TEXT);
    for edit in &edits {
        one_by_one = one_by_one.with(std::slice::from_ref(edit)).unwrap();
    }
    let at_once = draft(TEXT).with(&edits).unwrap();
    assert_eq!(at_once.text(), one_by_one.text());
    assert!(!at_once.text().contains("db1"), "{}", at_once.text());
}
