use super::*;

fn object(kind: &str, schema: &str, name: &str) -> ObjectVersion {
    ObjectVersion {
        schema: schema.to_owned(),
        name: name.to_owned(),
        kind: kind.to_owned(),
        definition: Some("CREATE …".to_owned()),
    }
}

fn change() -> SavedChange {
    SavedChange {
        kind: "ALTER TABLE".to_owned(),
        object: Some("shop.goods".to_owned()),
        statement: "ALTER TABLE goods ADD stock INT".to_owned(),
        gtid: "0-1-7".to_owned(),
        server_id: 1,
        thread_id: 42,
        account: None,
        host: None,
        tool: None,
    }
}

#[test]
fn object_names_are_escaped_in_git_paths() {
    assert_eq!(encoded("../../etc/passwd"), "%2E.%2F..%2Fetc%2Fpasswd");
    assert_eq!(encoded(".git"), "%2Egit");
    assert_eq!(encoded("a\nb \"c\""), "a%0Ab%20%22c%22");
    assert_eq!(encoded("größe_1.alt"), "größe_1.alt");
    let hostile = object("table", "..", "x/../../.git/config");
    assert_eq!(
        path(&hostile),
        "schemas/%2E./table/x%2F..%2F..%2F.git%2Fconfig.sql"
    );
}

#[test]
fn each_schema_object_has_its_path_in_the_git_repository() {
    let of = |kind, schema, name| path(&object(kind, schema, name));
    assert_eq!(of("schema", "shop", "shop"), "schemas/shop/schema.sql");
    assert_eq!(of("table", "shop", "goods"), "schemas/shop/table/goods.sql");
    assert_eq!(
        of("package body", "shop", "p"),
        "schemas/shop/package%20body/p.sql"
    );
    assert_eq!(of("account", "", "app@%"), "accounts/app@%25.sql");
}

#[test]
fn an_account_is_an_author_and_cannot_be_another_line() {
    assert_eq!(author(Some(&change())), "Pilotfish <>");
    let account = Some("ann".to_owned());
    let host = Some("%".to_owned());
    let known = SavedChange {
        account,
        host,
        ..change()
    };
    assert_eq!(author(Some(&known)), "ann <ann@%>");
    let account = Some("a>\ncommit refs/heads/x\n<".to_owned());
    let hostile = SavedChange {
        account,
        ..change()
    };
    assert!(!author(Some(&hostile)).contains('\n'));
}

#[test]
fn a_commit_has_the_statement_and_its_position() {
    let revision = Revision {
        mark: RevisionMark {
            change: 7,
            read_at: 0,
        },
        time: 1_700_000_000_500_000,
        change: Some(change()),
        ended: vec![
            object("table", "shop", "goods"),
            object("table", "shop", "old"),
        ],
        created: vec![object("table", "shop", "goods")],
    };
    let mut input = Vec::new();
    put_commit(&mut input, "refs/heads/main", None, &revision);
    let text = String::from_utf8(input).expect("it is a text");
    assert!(text.starts_with("commit refs/heads/main\nauthor Pilotfish <> 1700000000 +0000\n"));
    assert!(
        text.contains(
            "\nALTER TABLE shop.goods\n\nALTER TABLE goods ADD stock INT\n\nGTID: 0-1-7\n"
        )
    );
    assert!(text.contains("\nSchema-History: 7 0\n"));
    assert!(text.contains(
        "\nD schemas/shop/table/old.sql\nM 100644 inline schemas/shop/table/goods.sql\n"
    ));
    assert!(!text.contains("D schemas/shop/table/goods.sql"));
}
