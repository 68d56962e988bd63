//! The table of digests, and a test that digests are equal in every release.

use pilotfish_sql::{DIGEST_BYTES_MAX, Flags, digest};

fn text_of(statement: &str) -> String {
    String::from_utf8_lossy(digest(statement.as_bytes(), Flags::default()).text()).into_owned()
}

#[test]
fn every_statement_has_its_digest() {
    let mut wrong = Vec::new();
    for (index, line) in include_str!("digests.tsv").lines().enumerate() {
        let Some((expected, statement)) = line.split_once('\t') else {
            assert!(line.starts_with('#'), "line {}", index + 1);
            continue;
        };
        let told = text_of(&statement.replace('⏎', "\n"));
        if told != expected.trim() {
            wrong.push(format!(
                "line {}: {statement}\n  expected {expected}\n  told     {told}",
                index + 1
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn hashes_are_those_of_the_first_release() {
    // Computed from the texts by another implementation of XXH3.
    let forty_columns: Vec<_> = (0..40).map(|n| format!("column_{n}")).collect();
    let forty_columns = format!("select {} from t", forty_columns.join(","));
    for (statement, hash) in [
        ("", 0x2d06_8005_38d3_94c2),
        ("SELECT c FROM sbtest1 WHERE id=1", 0x5fbc_6591_2aea_4495),
        (
            "INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y')",
            0x0562_6d13_a5ce_30e6,
        ),
        (&forty_columns, 0x7faf_6b53_c279_fdd5),
    ] {
        let digest = digest(statement.as_bytes(), Flags::default());
        assert_eq!(digest.hash(), hash, "{statement}: {:#018x}", digest.hash());
    }
}

#[test]
fn a_digest_is_bounded() {
    let columns: Vec<_> = (0..100_000).map(|n| format!("column_{n}")).collect();
    let statement = format!("SELECT {} FROM t", columns.join(", "));
    assert_eq!(text_of(&statement).len(), DIGEST_BYTES_MAX);
}

#[test]
fn digests_of_lists_do_not_depend_on_how_they_are_passed() {
    // Comments keep the lexer from passing values without a token each.
    let rows = [
        "(1, 'a', NULL)",
        "(-2, 'b', 3.5)",
        "(NULL, '', 0x41)",
        "(4, 'x''y', 5)",
    ];
    for count in 1..=8 {
        let rows: Vec<_> = rows.iter().cycle().take(count).copied().collect();
        let plain = format!("INSERT INTO t VALUES {}", rows.join(","));
        let slow = plain.replace(',', "/**/,/**/");
        assert_eq!(text_of(&plain), text_of(&slow), "{plain}");
        let plain = format!(
            "SELECT f(1, {}) FROM t WHERE a IN ({0})",
            vec!["2"; count].join(",")
        );
        let slow = plain.replace(',', "/**/,/**/");
        assert_eq!(text_of(&plain), text_of(&slow), "{plain}");
    }
}
