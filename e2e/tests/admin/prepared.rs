//! Prepared statements, because most libraries prepare every statement that has a value.

use e2e::raw::Param::{Double, Int, Null, Sent, Text};
use e2e::raw::{Execute, Outcome, capability};
use e2e::raw::{Login, command};

use super::{Watched, name_in};

#[test]
fn prepared_statements_have_binary_values_and_results() {
    let watched = Watched::alone();
    let login = Login::with("look", "some");
    for login in [login.clone(), login.without(capability::DEPRECATE_EOF)] {
        let mut conn = watched.connect(&login);
        let sql = "SELECT ? AS a, ? || '!' AS b, ? AS c, name FROM backends WHERE weight >= ? AND name LIKE ?";
        let prepared = conn.prepare(sql);
        let [
            Outcome::Prepared {
                id,
                columns,
                parameters,
            },
        ] = prepared.outcomes[..]
        else {
            panic!("{prepared:?}");
        };
        assert_eq!((columns, parameters), (4, 5));
        let values = [Int(-7), Text("it's"), Null, Int(1), Text("127%")];
        let reply = conn.execute(&Execute::new(id, &values));
        let result = reply.results().next().unwrap();
        let names: Vec<_> = result.columns.iter().map(|it| name_in(it)).collect();
        assert_eq!(names, ["a", "b", "c", "name"]);
        let name = conn.value("SELECT name FROM backends");
        // OK, the NULL bitmap with two bits to spare, a BIGINT, two strings.
        let mut row = vec![0, 1 << 4];
        row.extend((-7i64).to_le_bytes());
        row.extend([5, b'i', b't', b'\'', b's', b'!']);
        row.push(name.len() as u8);
        row.extend(name.as_bytes());
        assert_eq!(result.rows, [row]);
        let again = conn.execute(
            &Execute::new(id, &[Int(1), Text("x"), Int(2), Int(2), Text("%")]).without_types(),
        );
        assert_eq!(
            again.error().map(|it| it.code),
            Some(1835),
            "types are those of the time before"
        );
        let none = conn.execute(&Execute::new(
            id,
            &[Double(0.5), Text("x"), Int(2), Int(2), Text("%")],
        ));
        assert!(none.results().next().unwrap().rows.is_empty());
        conn.close_statement(id);
        let gone = conn.execute(&Execute::new(id, &values));
        assert_eq!(gone.error().unwrap().code, 1243);
        assert_eq!(conn.value("SELECT 1"), "1");
    }
}

#[test]
fn statements_that_cannot_be_prepared_or_executed_give_an_error() {
    let watched = Watched::alone();
    let mut conn = watched.root();
    for (sql, code) in [
        ("DELETE FROM help", 1142),
        ("SELECT * FROM nowhere WHERE x = ?", 1146),
        ("SELECT ?; SELECT ?", 1064),
        ("", 1065),
    ] {
        let reply = conn.prepare(sql);
        assert_eq!(reply.error().unwrap().code, code, "{sql}");
    }
    let id = conn.prepare("SELECT ?").statement();
    conn.send_long_data(id, 0, b"a piece");
    let pieces = conn.execute(&Execute::new(id, &[Sent]));
    assert_eq!(pieces.error().unwrap().code, 1210);
    let short = conn.command(command::STMT_EXECUTE, &[1, 0]);
    assert_eq!(short.error().unwrap().code, 1835);
    // A statement that is no query takes effect when it is executed.
    let kill = conn.prepare("KILL 12").statement();
    let killed = conn.execute(&Execute::new(kill, &[]));
    assert_eq!(killed.error().unwrap().code, 1094);
    let reset = conn.command(command::RESET_CONNECTION, b"");
    assert!(reset.error().is_none());
    assert!(conn.execute(&Execute::new(id, &[Int(1)])).error().is_some());
}
