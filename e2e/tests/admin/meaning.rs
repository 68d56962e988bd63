//! What statements mean on the port: what they mean on servers, or an error.

use e2e::{Product, Server};

use super::{Watched, refused, rows};

both!(expressions_mean_what_they_mean_on_servers);
fn expressions_mean_what_they_mean_on_servers(product: Product) {
    let watched = Watched::alone();
    let mut look = watched.look();
    let mut server = Server::shared(product).root();
    for expression in [
        "7 % 4",
        "-7 % 4",
        "7.5 % 2",
        "7 MOD 4 + 1",
        "7 MOD (4)",
        "MOD(7, 4)",
        "1 + 17 DIV 4 % 3",
        "19 % 7 % 3 * 2",
        "7 % 0",
        "'7' % 4",
        "TRIM(LEADING 'ab' FROM 'ababxab')",
        "TRIM(TRAILING 'ab' FROM 'ababxab')",
        "TRIM(BOTH 'ab' FROM 'ababxab')",
        "TRIM('ab' FROM 'ababx')",
        "CONCAT('<', TRIM(LEADING FROM '  x '), '>')",
        "CONCAT('<', TRIM('  x '), '>')",
        "CONVERT('12', SIGNED) + 1",
        "CONVERT('abc' USING utf8mb4)",
        "CONVERT(12, CHAR)",
        "CONVERT('1.256', DECIMAL(10, 2))",
    ] {
        let sql = format!("SELECT {expression}");
        assert_eq!(look.value(&sql), server.value(&sql), "{expression}");
    }
}

#[test]
fn what_cannot_be_meant_is_said() {
    let watched = Watched::alone();
    let mut root = watched.root();
    let told = root.run("SHOW GRANTS FOR 'look'@'%'").texts();
    assert!(told[0][0].ends_with("TO 'look'@'%'"), "{told:?}");
    assert!(root.value("SHOW GRANTS FOR root").contains("UPDATE"));
    for (sql, code) in [
        ("SHOW GRANTS FOR 'nobody'@'%'", 1141),
        ("SHOW GRANTS FOR 7", 1064),
        ("SELECT draining || disabled FROM backends", 1064),
        (
            "SELECT name FROM backends WHERE name = 'a' || draining",
            1064,
        ),
        ("SELECT * FROM events WHERE time > 20260131", 1231),
        ("SELECT MD5('a')", 1305),
        ("SELECT STR_TO_DATE('31.1.2026', '%d.%m.%Y')", 1305),
    ] {
        assert_eq!(refused(&mut root, sql), code, "{sql}");
    }
    // A text that is no number is not 0 where rows are changed, however it is made.
    let before = rows(&mut root, "SELECT name, weight FROM backends");
    for sql in [
        "UPDATE backends SET weight = 9 WHERE TRIM(name) = 0",
        "UPDATE backends SET weight = 9 WHERE 0 = CONCAT(name, 'x')",
        "DELETE FROM backends WHERE LOWER(name) IN (0, 1)",
        "DELETE FROM backends WHERE CONCAT('x', name) NOT BETWEEN 5 AND 7",
    ] {
        assert_eq!(refused(&mut root, sql), 1292, "{sql}");
    }
    assert_eq!(rows(&mut root, "SELECT name, weight FROM backends"), before);
    root.run("UPDATE backends SET weight = 9 WHERE LENGTH(name) > 0 AND TRIM(' 7 ') = 7");
    assert_eq!(root.value("SELECT weight FROM backends"), "9");
}

#[test]
fn what_rules_have_several_of_is_written_back_as_it_was_read() {
    let watched = Watched::alone();
    let mut root = watched.root();
    root.run(
        "INSERT INTO rules (name, user, `schema`, networks, digest, refuse) VALUES ('10 mine', '[\"a, b\", \"c\"]', \
         '[\"shop\"]', '10.0.0.0/8, 127.0.0.1', '[\"SELECT 1, 2\", \"SELECT \\'x\\'\"]', 'no')",
    );
    let columns = "username, schemaname, client_addr, digest";
    let shown = format!("SELECT {columns} FROM main.mysql_query_rules WHERE rule_id = 10");
    let shown = root.run(&shown).texts();
    assert_eq!(shown[0][..2], [r#"["a, b", "c"]"#, "shop"]);
    root.run(&format!(
        "INSERT INTO main.mysql_query_rules (rule_id, active, apply, error_msg, {columns}) \
         SELECT 20, 1, 1, 'no', {columns} FROM main.mysql_query_rules WHERE rule_id = 10"
    ));
    root.run(
        "UPDATE main.mysql_query_rules SET username = username, client_addr = client_addr, digest = digest, \
         schemaname = schemaname",
    );
    root.run("LOAD MYSQL QUERY RULES TO RUNTIME");
    let rules = "SELECT user, `schema`, networks, digest FROM rules ORDER BY place";
    let rules = root.run(rules).texts();
    assert_eq!(rules.len(), 2);
    assert_eq!(rules[0], rules[1]);
    assert_eq!(rules[0][0], r#"["a, b", "c"]"#);
    for list in ["[", "[1]", "[\"a\", [\"b\"]]", "[a]"] {
        let sql = format!("UPDATE main.mysql_query_rules SET username = '{list}'");
        assert_eq!(refused(&mut root, &sql), 1231, "{list}");
    }
}
