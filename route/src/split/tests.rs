//! The target that statements want: fixed cases.
#![allow(clippy::unwrap_used)]

use sql::Flags;

use super::*;

fn of(text: &str, transaction: Transaction) -> Wanted {
    wanted(&sql::facts(text.as_bytes(), Flags::default()), transaction)
}

#[test]
fn reads_of_data_want_a_replica() {
    for text in [
        "SELECT * FROM t WHERE id = 1",
        "(SELECT 1) UNION (SELECT a FROM t)",
        "WITH c AS (SELECT * FROM t) SELECT * FROM c",
        "SELECT SQL_CALC_FOUND_ROWS * FROM t LIMIT 10",
        "SELECT @a, a FROM t",
        "EXPLAIN SELECT * FROM t",
        "SHOW TABLES",
        "DESCRIBE t",
        "SELECT NOW(), USER(), DATABASE()",
        "SELECT 1; SELECT 2",
    ] {
        assert_eq!(
            of(text, Transaction::None),
            Wanted::Replica(Why::Reads),
            "{text}"
        );
    }
}

#[test]
fn statements_that_may_write_go_to_the_primary() {
    for (text, why) in [
        ("INSERT INTO t VALUES (1)", Why::Writes),
        ("SELECT * FROM t FOR UPDATE", Why::Writes),
        ("SELECT * FROM t LOCK IN SHARE MODE", Why::Writes),
        ("SELECT * FROM t INTO OUTFILE '/tmp/x'", Why::Writes),
        ("SELECT my_function(1)", Why::MayWrite),
        ("CALL p()", Why::MayWrite),
        ("SELECT 'no end", Why::NotUnderstood),
        ("CREATE TABLE t (a INT)", Why::Writes),
        ("SELECT GET_LOCK('a', 1)", Why::Writes),
        ("SELECT @a := 1", Why::LeavesSomething),
        ("SELECT LAST_INSERT_ID(7)", Why::LeavesSomething),
        ("SELECT @@read_only", Why::AsksServer),
        ("SHOW VARIABLES", Why::AsksServer),
        (
            "SELECT * FROM information_schema.processlist",
            Why::AsksServer,
        ),
        ("SELECT MASTER_POS_WAIT('a', 4)", Why::AsksServer),
        ("BEGIN", Why::BeginsWriting),
        ("START TRANSACTION READ WRITE", Why::BeginsWriting),
        ("SET TRANSACTION READ ONLY", Why::LeavesSomething),
        ("SET GLOBAL max_connections = 5", Why::Writes),
        ("INSERT INTO t VALUES (1); SELECT 1", Why::Writes),
    ] {
        assert_eq!(of(text, Transaction::None), Wanted::Primary(why), "{text}");
    }
}

#[test]
fn session_statements_stay_on_the_last_backend() {
    for (text, why) in [
        ("SET NAMES utf8mb4", Why::AboutSession),
        ("USE shop", Why::AboutSession),
        ("COMMIT", Why::AboutSession),
        ("SHOW WARNINGS", Why::AsksLast),
        ("SELECT FOUND_ROWS()", Why::AsksLast),
    ] {
        assert_eq!(of(text, Transaction::None), Wanted::Same(why), "{text}");
    }
}

#[test]
fn a_transaction_stays_where_it_began() {
    for text in ["SELECT 1", "INSERT INTO t VALUES (1)", "BEGIN"] {
        let wanted = of(text, Transaction::Open);
        assert_eq!(wanted, Wanted::Same(Why::InTransaction), "{text}");
    }
}

#[test]
fn a_read_without_autocommit_begins_a_transaction() {
    let wanted = of("SELECT a FROM t", Transaction::Implicit);
    assert_eq!(wanted, Wanted::Primary(Why::AutocommitOff));
}

#[test]
fn a_transaction_that_only_reads_wants_a_replica() {
    for text in [
        "START TRANSACTION READ ONLY",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    ] {
        let wanted = of(text, Transaction::None);
        assert_eq!(wanted, Wanted::Replica(Why::BeginsReading), "{text}");
    }
}

#[test]
fn which_transactions_may_begin_on_a_replica() {
    let begins = |text: &str| begins_on_replica(&sql::facts(text.as_bytes(), Flags::default()));
    for text in ["BEGIN", "BEGIN WORK", "START TRANSACTION", "/* a */ begin;"] {
        assert!(begins(text), "{text}");
        // Without optimistic transactions, it begins on the primary.
        assert_eq!(
            of(text, Transaction::None),
            Wanted::Primary(Why::BeginsWriting)
        );
    }
    for text in [
        "START TRANSACTION READ ONLY",
        "START TRANSACTION READ WRITE",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
        "BEGIN; INSERT INTO t VALUES (1)",
        "XA BEGIN 'a'",
        "BEGIN NOT ATOMIC SELECT 1; END",
        "SET autocommit = 0",
        "COMMIT AND CHAIN",
        "SELECT 1",
        "BEGIN 'no end",
    ] {
        assert!(!begins(text), "{text}");
    }
}

#[test]
fn an_optimistic_transaction_stays_as_long_as_it_reads() {
    for text in [
        "SELECT * FROM t WHERE id = 1",
        "SELECT 1",
        "(SELECT 1) UNION (SELECT a FROM t)",
        "WITH c AS (SELECT * FROM t) SELECT COUNT(*) FROM c",
        "COMMIT",
        "COMMIT AND NO CHAIN NO RELEASE",
        "ROLLBACK",
    ] {
        assert_eq!(
            of(text, Transaction::Optimistic),
            Wanted::Same(Why::InTransaction),
            "{text}"
        );
    }
    for text in [
        "INSERT INTO t VALUES (1)",
        "SELECT * FROM t FOR UPDATE",
        "SELECT * FROM t LOCK IN SHARE MODE",
        "SELECT a FROM t INTO @a",
        "SELECT * FROM t INTO OUTFILE '/tmp/x'",
        "SELECT my_function(1)",
        "SELECT NOW()",
        "SELECT CURRENT_TIMESTAMP",
        "SELECT CURRENT_DATE, a FROM t",
        "SELECT a FROM t ORDER BY RAND()",
        "SELECT UUID()",
        "SELECT SLEEP(1)",
        "SELECT USER()",
        "SELECT CONNECTION_ID()",
        "SELECT LAST_INSERT_ID()",
        "SELECT FOUND_ROWS()",
        "SELECT SQL_CALC_FOUND_ROWS * FROM t LIMIT 1",
        "SELECT @a",
        "SELECT @a := 1",
        "SELECT @@autocommit",
        "SELECT 1; SELECT 2",
        "EXPLAIN SELECT * FROM t",
        "SHOW TABLES",
        "SHOW WARNINGS",
        "SAVEPOINT a",
        "ROLLBACK TO SAVEPOINT a",
        "COMMIT AND CHAIN",
        "ROLLBACK RELEASE",
        "BEGIN",
        "CREATE TABLE t (a INT)",
        "SET @a = 1",
        "SET NAMES utf8mb4",
        "USE shop",
        "CALL p()",
        "DO 1",
        "PREPARE s FROM 'SELECT 1'",
        "EXECUTE s",
        "HANDLER t OPEN",
        "LOCK TABLES t READ",
        "KILL 5",
        "SELECT 'no end",
        "",
    ] {
        assert_eq!(
            of(text, Transaction::Optimistic),
            Wanted::Primary(Why::EndsOptimism),
            "{text}"
        );
    }
}

#[test]
fn writes_and_transactions_that_may_write_need_a_server_that_takes_writes() {
    let needs = |text: &str| needs_writable(&sql::facts(text.as_bytes(), Flags::default()));
    for text in [
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET a = 1",
        "BEGIN",
        "START TRANSACTION",
        "START TRANSACTION READ WRITE",
        "CREATE TABLE t (a INT)",
        "SELECT 1; DELETE FROM t",
        "CALL p()",
        "LOAD DATA LOCAL INFILE 'x' INTO TABLE t",
    ] {
        assert!(needs(text), "{text}");
    }
    for text in [
        "SELECT * FROM t",
        "START TRANSACTION READ ONLY",
        "SET GLOBAL read_only = 0",
        "SELECT @@read_only",
        "SHOW MASTER STATUS",
        "CREATE TEMPORARY TABLE t (a INT)",
        "FLUSH TABLES",
        "COMMIT",
        "SET autocommit = 0",
    ] {
        assert!(!needs(text), "{text}");
    }
}
