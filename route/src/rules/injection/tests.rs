//! Statements that the proxy may send in addition to the client's.

use sql::Flags;

use super::*;

fn purpose_of(text: &str, place: InjectionSide) -> Result<Purpose, String> {
    let read = Injected::read(text, place).map(|it| it.purpose);
    read.map_err(Cow::into_owned)
}

#[test]
fn statements_that_read_may_be_injected() {
    for (text, purpose) in [
        ("SHOW SESSION STATUS", Purpose::Status),
        ("show status like 'Handler%';", Purpose::Status),
        ("SHOW PROFILE", Purpose::Result),
        ("SHOW ENGINE INNODB STATUS", Purpose::Result),
        (
            "SELECT * FROM information_schema.optimizer_trace",
            Purpose::Result,
        ),
        ("EXPLAIN SELECT 1", Purpose::Result),
        ("DESCRIBE t", Purpose::Result),
        (
            "EXPLAIN FORMAT=JSON {statement}",
            Purpose::Explain("EXPLAIN FORMAT=JSON ".into()),
        ),
        (
            "SET profiling = 1, SESSION long_query_time=0",
            Purpose::Set(["profiling".into(), "long_query_time".into()].into()),
        ),
        (
            "SET @@optimizer_trace='enabled=on'",
            Purpose::Set(["optimizer_trace".into()].into()),
        ),
    ] {
        assert_eq!(
            purpose_of(text, InjectionSide::Before),
            Ok(purpose),
            "{text}"
        );
    }
    let after = purpose_of("SHOW WARNINGS", InjectionSide::After);
    assert_eq!(after, Ok(Purpose::Warnings));
    assert_eq!(
        purpose_of("SHOW ERRORS", InjectionSide::After),
        Ok(Purpose::Errors)
    );
}

#[test]
fn statements_that_may_write_are_not_injected() {
    for text in [
        "",
        "BEGIN",
        "COMMIT",
        "INSERT INTO t VALUES (1)",
        "CREATE TABLE t (n INT)",
        "ANALYZE TABLE t",
        "FLUSH STATUS",
        "DO SLEEP(1)",
        "CALL p()",
        "SELECT 1; SELECT 2",
        "SHOW STATUS; DROP TABLE t",
        "SELECT * FROM t FOR UPDATE",
        "SELECT 1 INTO @a",
        "SELECT 1 INTO OUTFILE 'x'",
        "SELECT @a := 1",
        "SELECT @a",
        "SELECT f(1)",
        "SELECT GET_LOCK('a', 1)",
        "SELECT IS_FREE_LOCK('a')",
        "SELECT LAST_INSERT_ID()",
        "SELECT LAST_INSERT_ID(5)",
        "SELECT FOUND_ROWS()",
        "SELECT ROW_COUNT()",
        "SELECT @@warning_count",
        "SELECT SQL_CALC_FOUND_ROWS 1",
        "SELECT NEXTVAL(s)",
        "SELECT ?",
        "SELECT 'unfinished",
        "SHOW COUNT(*) WARNINGS",
        "SHOW WARNINGS LIMIT 1",
        "GET DIAGNOSTICS @a = NUMBER",
        "EXPLAIN ANALYZE SELECT 1",
        "ANALYZE SELECT 1",
        "EXPLAIN ANALYZE {statement}",
        "ANALYZE {statement}",
        "{statement}",
        "SELECT '{statement}'",
        "EXPLAIN SELECT '{statement}",
        "EXPLAIN SELECT * FROM t WHERE a = {statement}",
        "EXPLAIN {statement} LIMIT 1",
        "EXPLAIN {statement}; {statement}",
        "EXPLAIN SELECT 1; EXPLAIN {statement}",
        "EXPLAIN INTO @a {statement}",
        "SELECT 1 -- {statement}",
        "EXPLAIN /* {statement}",
        "SET autocommit = 1",
        "SET SESSION TRANSACTION READ ONLY",
        "SET GLOBAL profiling = 1",
        "SET sql_mode = ''",
        "SET NAMES utf8mb4",
        "SET @a = 1",
        "SET profiling = @a",
        "SET profiling = (SELECT n FROM t)",
        "SET profiling = 1, autocommit = 1",
        "SET ROLE r",
    ] {
        assert!(purpose_of(text, InjectionSide::Before).is_err(), "{text}");
    }
    assert!(purpose_of("SHOW WARNINGS", InjectionSide::Before).is_err());
    assert!(purpose_of("SET profiling = 0", InjectionSide::After).is_err());
}

#[test]
fn a_statement_that_planning_may_run_is_not_explained() {
    let may = |text: &str| Injection::may_explain(&sql::facts(text.as_bytes(), Flags::default()));
    for text in [
        "SELECT * FROM t WHERE n = 1",
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET n = 1",
        "DELETE FROM t",
    ] {
        assert!(may(text), "{text}");
    }
    for text in [
        "SELECT 1; DROP TABLE t",
        "SELECT f(1)",
        "SELECT @a := 1",
        "SELECT LAST_INSERT_ID(7)",
        "SELECT GET_LOCK('a', 1)",
        "SELECT SLEEP(9)",
        "SELECT MASTER_POS_WAIT('a', 4)",
        "SELECT INNODB_REDO_LOG_SHARP_CHECKPOINT()",
        // A stored one, where a server is older than these.
        "SELECT JSON_VALUE('1', '$')",
        "SELECT UUID_V7()",
        "SELECT 1 INTO @a",
        "SELECT 'open",
        "CALL p()",
        "SET a = 1",
        "SHOW TABLES",
        "EXPLAIN SELECT 1",
    ] {
        assert!(!may(text), "{text}");
    }
}
