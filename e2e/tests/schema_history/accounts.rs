//! Users, roles and privileges in the history.

use super::*;

both! {
    users_roles_and_privileges_are_changes_with_versions
    secrets_of_every_form_are_masked
}

#[test]
fn users_roles_and_privileges_are_changes_with_versions_on_mariadb_11_8() {
    users_roles_and_privileges_are_changes_with_versions(Product::MariaDbNext);
}

impl Following {
    /// Runs statements that change objects, one after another; the server is asked about each before the next.
    #[track_caller]
    fn change(&self, server: &Server, statements: &[&str]) {
        let mut root = server.root();
        for statement in statements {
            let before = self.rows("SELECT count(*) FROM schema_changes")[0][0].clone();
            root.run(statement);
            let select = format!("SELECT count(*) > {before} FROM schema_changes");
            self.wait_for(statement, &select);
        }
    }
}

fn users_roles_and_privileges_are_changes_with_versions(product: Product) {
    let server = start(product);
    run(&server, &["CREATE USER elder IDENTIFIED BY 'elder4711'"]);
    let following = Following::start(&server, &[]);
    let is_mariadb = product.is_mariadb();
    let (role, password) = match is_mariadb {
        true => (
            "SET DEFAULT ROLE reader FOR jane",
            "SET PASSWORD FOR jane = PASSWORD('jane4712')",
        ),
        false => (
            "SET DEFAULT ROLE reader TO jane",
            "SET PASSWORD FOR jane = 'jane4712'",
        ),
    };
    let statements = [
        "CREATE USER jane IDENTIFIED BY 'jane4711'",
        "CREATE ROLE reader",
        "GRANT SELECT ON *.* TO reader",
        "GRANT reader TO jane",
        role,
        password,
        "REVOKE reader FROM jane",
        "RENAME USER jane TO joan",
        "DROP ROLE reader",
        "DROP USER joan",
    ];
    following.change(&server, &statements);
    // MySQL logs a password change as ALTER USER.
    let set = match is_mariadb {
        true => "SET PASSWORD",
        false => "ALTER USER",
    };
    let rows = following.rows("SELECT kind, object, object_kind FROM schema_changes ORDER BY id");
    let expected = [
        ["CREATE USER", "jane@%"],
        ["CREATE ROLE", "reader@%"],
        ["GRANT", "reader@%"],
        ["GRANT", "jane@%"],
        ["SET DEFAULT ROLE", "jane@%"],
        [set, "jane@%"],
        ["REVOKE", "jane@%"],
        ["RENAME USER", "jane@%"],
        ["DROP ROLE", "reader@%"],
        ["DROP USER", "joan@%"],
    ];
    assert_eq!(
        rows,
        expected.map(|[kind, object]| [kind, object, "account"])
    );
    let versions = |object: &str| {
        let select = format!(
            "SELECT definition FROM schema_versions WHERE kind = 'account' AND object = '{object}' ORDER BY id"
        );
        following.rows(&select).concat()
    };
    let of_role = versions("reader@%");
    assert!(
        of_role.len() == 2 && of_role[1].contains("GRANT SELECT ON *.*"),
        "{of_role:?}"
    );
    let of_user = versions("jane@%");
    assert!(of_user[0].contains("CREATE USER `jane`@`%`"), "{of_user:?}");
    assert!(of_user[1].contains("GRANT `reader`"), "{of_user:?}");
    assert!(
        !of_user.last().unwrap().contains("GRANT `reader`"),
        "{of_user:?}"
    );
    assert!(versions("joan@%")[0].contains("CREATE USER `joan`@`%`"));
    // An account that was there before is known.
    assert!(versions("elder@%")[0].contains("CREATE USER `elder`@`%`"));
    let left = "SELECT count(*) FROM schema_versions WHERE object IN ('jane@%', 'joan@%', 'reader@%') \
                AND until IS NULL";
    assert_eq!(following.rows(left), [["0"]]);
    assert_eq!(following.rows("SELECT errors FROM replication"), [["0"]]);
}

fn secrets_of_every_form_are_masked(product: Product) {
    let server = start(product);
    let following = Following::start(&server, &[]);
    let of_family: &[&str] = match product.is_mariadb() {
        true => &[
            "CREATE USER a IDENTIFIED VIA mysql_native_password USING PASSWORD('zq4711')",
            "CREATE USER b IDENTIFIED BY PASSWORD '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19'",
            "GRANT SELECT ON *.* TO c IDENTIFIED BY 'zq4711'",
            "SET PASSWORD FOR a = PASSWORD('zq4711')",
        ],
        false => &[
            "CREATE USER a IDENTIFIED WITH caching_sha2_password BY 'zq4711'",
            "ALTER USER a IDENTIFIED BY 'zq4712' RETAIN CURRENT PASSWORD",
            "ALTER USER a DISCARD OLD PASSWORD",
            "SET PASSWORD FOR a = 'zq4711'",
            "CREATE USER b IDENTIFIED BY 'zq4711', c IDENTIFIED BY 'zq4711' COMMENT 'x'",
        ],
    };
    following.change(&server, of_family);
    let mut texts = following
        .rows("SELECT statement FROM schema_changes")
        .concat();
    assert!(
        texts.iter().any(|it| it.contains("'<secret>'")),
        "{texts:?}"
    );
    texts.extend(
        following
            .rows("SELECT definition FROM schema_versions WHERE kind = 'account'")
            .concat(),
    );
    for text in texts {
        let is_clean =
            !text.contains("zq47") && !text.contains("2470C0C0") && !text.contains("$A$");
        assert!(is_clean, "{text}");
    }
}
