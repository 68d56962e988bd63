//! Topics of the text protocol: user variables, tables, transactions, locks, errors.

use e2e::raw::Login;
use e2e::steps::Step;

use super::script::{Clock, FIRST, Faults, Script};

const USER_VALUES: &[&str] = &[
    "1",
    "-7",
    "18446744073709551615",
    "1.50",
    "1e300",
    "NULL",
    "'text'",
    "'größe 🐟'",
    "'it''s; -- not a comment'",
    "x'00FF27'",
    "_latin1 0xE9 COLLATE latin1_german1_ci",
    "TRUE",
    "(SELECT COUNT(*) FROM a)",
    "@kept + 1",
    "CONCAT(@kept, 'x')",
    "@@sql_mode",
    "LAST_INSERT_ID()",
    "DATE '2024-02-29'",
    "REPEAT('long ', 300)",
    "b'1010'",
];

const USER_NAMES: &[&str] = &[
    "@kept",
    "@other",
    "@`in quotes`",
    "@'also so'",
    "@KEPT",
    "@a.b$c",
    "@ü",
];

const WRITES: &[&str] = &[
    "INSERT INTO counted (n) VALUES (1)",
    "INSERT INTO counted (n) VALUES (1), (2), (3)",
    "INSERT INTO counted (n) SELECT n FROM a ORDER BY id",
    "INSERT INTO counted (n) VALUES (LAST_INSERT_ID())",
    "INSERT INTO counted VALUES (NULL, @kept)",
    "INSERT INTO counted VALUES (0, 7)",
    "INSERT INTO a (n, s) VALUES (20, 'again') ON DUPLICATE KEY UPDATE s = 'updated'",
    "INSERT INTO a (n) VALUES (30) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)",
    "INSERT IGNORE INTO a (n) VALUES (10), (20), (11)",
    "REPLACE INTO a (id, n, s) VALUES (2, 20, 'replaced')",
    "UPDATE a SET s = CONCAT(s, '!') WHERE id = 1",
    "UPDATE a SET s = 'same' WHERE id = 1",
    "UPDATE counted SET n = n + 1",
    "UPDATE counted SET n = LAST_INSERT_ID(n) WHERE id = 1",
    "DELETE FROM counted WHERE id > 3",
    "DELETE FROM counted ORDER BY id LIMIT 1",
    "INSERT INTO b (d, t, dt) VALUES (1.23456, 'too long for twenty characters', '2024-02-30')",
    "INSERT INTO b (t) VALUES ('née'), (0xFF), ('€')",
    "INSERT INTO child VALUES (1, 99)",
    "DELETE FROM child",
    "TRUNCATE counted",
    "DO 1, SLEEP(0)",
];

const READS: &[&str] = &[
    "SELECT * FROM a ORDER BY id",
    "SELECT id, n, s, t FROM a JOIN b USING (id) ORDER BY id",
    "SELECT SQL_CALC_FOUND_ROWS n FROM a ORDER BY n LIMIT 2",
    "SELECT n FROM a WHERE id < 0",
    // Without a row to count, MariaDB's FOUND_ROWS() would be that of the previous statement.
    "SELECT COUNT(*), MAX(id), SUM(n) FROM (SELECT id, n FROM counted UNION ALL SELECT 0, 0) AS t",
    "SELECT GROUP_CONCAT(s ORDER BY id SEPARATOR '; ') FROM a",
    "SELECT n FROM a ORDER BY id LIMIT 1 INTO @kept",
    "SELECT id, n INTO @other, @kept FROM a WHERE id = 2",
    "SELECT @kept := @kept + 1 AS next, id FROM a ORDER BY id",
    "SELECT * FROM a WHERE id IS NULL",
    "SELECT * FROM a ORDER BY id FOR UPDATE",
    "SELECT * FROM v ORDER BY id",
    "SELECT 10 / 3, 7 DIV 2, 1 / 0",
    "SELECT FROM_UNIXTIME(86400), DAYNAME('2024-02-29'), WEEK('2024-01-01'), DATABASE()",
    "SELECT 'a' || 'b', \"double\", 'back\\\\slash', 'null' IS NULL",
    "SELECT CAST('12 monkeys' AS SIGNED), CAST('x' AS DECIMAL(5,2))",
    "SELECT CURRENT_USER(), USER() LIKE '%@%', DATABASE(), SCHEMA()",
    "SHOW TABLES",
    "SHOW CREATE TABLE a",
    "DESCRIBE b",
    "SHOW FULL COLUMNS FROM a LIKE 'n'",
    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1",
    "(SELECT n FROM a) UNION ALL (SELECT id FROM b) ORDER BY 1 LIMIT 3",
    "WITH c AS (SELECT n FROM a) SELECT COUNT(*) FROM c",
    "SELECT t, HEX(t), bl, dt FROM b ORDER BY id",
    "SELECT (SELECT n FROM a)",
    "SELECT REPEAT('x', 70000), LENGTH(@kept)",
    "EXPLAIN SELECT 1",
];

const LOOKS_BACK: &[&str] = &[
    "SELECT LAST_INSERT_ID()",
    "SELECT last_insert_id ( ) AS id",
    "select @@last_insert_id, @@identity, @@session.last_insert_id",
    "SELECT /* of what? */ ROW_COUNT()",
    "SHOW WARNINGS",
    "SELECT LAST_INSERT_ID(4000 + n) FROM a WHERE id = 1",
    "DO LAST_INSERT_ID(9)",
    "SELECT * FROM counted WHERE id = LAST_INSERT_ID()",
    "SET @kept = LAST_INSERT_ID()",
    "SELECT * FROM (SELECT ROW_COUNT() AS c) AS t WHERE c > -5",
];

/// The same, if replies are known to differ.
const LOOKS_BACK_IN_VAIN: &[&str] = &[
    "SELECT FOUND_ROWS()",
    "SELECT FOUND_ROWS(), ROW_COUNT(), LAST_INSERT_ID()",
    "show warnings limit 1",
    "SHOW ERRORS",
    "SHOW COUNT(*) WARNINGS",
    "SHOW COUNT(*) ERRORS",
    "SELECT @@warning_count, @@error_count",
    "GET DIAGNOSTICS @conditions = NUMBER, @changed = ROW_COUNT",
    "GET DIAGNOSTICS CONDITION 1 @state = RETURNED_SQLSTATE, @text = MESSAGE_TEXT",
    "get current diagnostics condition 2 @state = mysql_errno",
    "SHOW ERRORS LIMIT 1, 5",
    "SELECT @conditions, @changed, @state, @text",
    "SELECT IF(FOUND_ROWS() > 1, 'many', 'few') FROM a ORDER BY id LIMIT 1",
];

const FAILURES: &[&str] = &[
    "SELEC 1",
    "SELECT 'unclosed",
    "SELECT * FROM missing",
    "SELECT missing FROM a",
    "INSERT INTO a (id) VALUES (1)",
    "INSERT INTO a (n) VALUES (901), (10), (902)",
    "INSERT INTO a (n) VALUES ('no number')",
    "UPDATE a SET n = 10",
    "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'mine', MYSQL_ERRNO = 4711",
    "CALL missing()",
    "SELECT missing_function()",
    "SELECT id, (SELECT b.id FROM b WHERE a.id > 2 OR b.id = 1) FROM a ORDER BY id",
    "KILL QUERY 4294967290",
    "DROP TABLE missing",
    "DROP TABLE IF EXISTS missing",
    ";",
    "-- nothing",
    "/* nothing */",
    "RELEASE SAVEPOINT missing",
    "EXECUTE missing",
    "SELECT 1 FROM a PROCEDURE nonsense()",
    "SET @@session.sql_mode",
    "SET PASSWORD",
    "USE",
];

const CALLS: &[&str] = &[
    "CALL p_out(1, @kept, @other)",
    "CALL p_out(@kept, @other, @kept)",
    "CALL p_set('ANSI_QUOTES')",
    "CALL p_set('')",
    "CALL p_names()",
    "call /* so */ p_rows",
    "CALL p_fails()",
    "CALL p_insert(5)",
    "CALL p_prepare()",
    "SELECT @by_procedure, @by_function, @counted, @@time_zone, @@sql_mode",
    "SELECT f_set(5), @@group_concat_max_len",
    "SELECT f_insert(id) FROM a ORDER BY id",
    "SET @kept = f_set(6)",
    "DO f_insert(3)",
];

impl Script {
    pub fn user_assignment(&mut self) -> String {
        let name = self.dice.pick(USER_NAMES);
        let sign = self.dice.pick(&[" = ", ":=", "="]);
        let value = self.dice.pick(USER_VALUES);
        format!("{name}{sign}{value}")
    }

    pub fn set_user_variables(&mut self) {
        let mut list = self.user_assignment();
        while self.dice.once_in(3) {
            list = format!("{list}, {}", self.user_assignment());
        }
        self.say(format!("SET {list}"));
    }

    pub fn look_at_user_variables(&mut self) {
        self.say_one(&[
            "SELECT @kept, @other, @`in quotes`, @'also so', @a.b$c, @ü, @never",
            "SELECT HEX(@kept), CHARSET(@kept), COLLATION(@kept), COERCIBILITY(@kept)",
            "SELECT @KEPT + 1, @other IS NULL, LENGTH(@`in quotes`)",
            "SELECT n FROM a WHERE n = @kept OR s = @other ORDER BY id",
            "SELECT @conditions, @changed, @state, @text, @by_procedure",
        ]);
    }

    pub fn change_schema(&mut self) {
        let [one, two] = self.schemas();
        let own = format!("r{}_own", self.number);
        let sql = match self.dice.roll(10) {
            0 => format!("USE `{one}`"),
            1 => format!("/* to */ use {two} -- and back"),
            2 => "USE no_such_schema".to_owned(),
            3 => {
                self.say(format!("CREATE DATABASE IF NOT EXISTS {own}"));
                self.say(format!("USE {own}"));
                self.say("SELECT DATABASE(), @@collation_database");
                self.meanwhile(2);
                self.say(format!("DROP DATABASE {own}"));
                self.forget_prepared();
                self.say("SELECT DATABASE()");
                self.say("SHOW TABLES");
                format!("USE {one}")
            }
            4..7 => format!("USE {one}"),
            _ => format!("USE {two}"),
        };
        self.say(sql);
        if self.dice.once_in(2) {
            self.say("SELECT DATABASE()");
        }
    }

    pub fn look_at_all_variables(&mut self) {
        self.steps.push(Step::Variables);
    }

    pub fn write(&mut self) {
        self.say_one(WRITES);
        if self.dice.once_in(3) {
            self.look_back();
        }
    }

    pub fn read(&mut self) {
        self.say_one(READS);
        if self.product.is_mariadb() && self.dice.once_in(6) {
            self.say("SELECT FOUND_ROWS()");
        }
    }

    pub fn look_back(&mut self) {
        match self.faults {
            Faults::In if self.dice.once_in(2) => self.say_one(LOOKS_BACK_IN_VAIN),
            _ => self.say_one(LOOKS_BACK),
        }
    }

    pub fn fail(&mut self) {
        if self.faults == Faults::In && self.dice.once_in(20) {
            self.say("");
        }
        self.say_one(FAILURES);
        if self.dice.once_in(2) {
            self.look_back();
        }
    }

    pub fn ping(&mut self) {
        self.look_away();
        self.steps.push(Step::Ping);
        self.look_away();
    }

    pub fn call(&mut self) {
        match self.dice.roll(6) {
            0 => {
                self.say("CALL p_temporary(3)");
                self.meanwhile(3);
                self.say("SELECT * FROM tp");
                self.say("CALL p_no_temporary()");
            }
            1 => {
                self.say("CALL p_begin()");
                self.meanwhile(2);
                self.say_one(&["COMMIT", "ROLLBACK"]);
            }
            _ => self.call_one(),
        }
    }

    /// Calls a routine. Some of them change character sets.
    fn call_one(&mut self) {
        self.forget_prepared();
        self.say_one(CALLS);
    }

    /// PREPARE, EXECUTE and DEALLOCATE in SQL text.
    pub fn prepare_text(&mut self) {
        self.say_one(&[
            "PREPARE s1 FROM 'SELECT ? + 1, @@sql_mode'",
            "PREPARE s1 FROM 'SELECT n, s FROM a WHERE id > ? ORDER BY id'",
            "PREPARE s2 FROM 'INSERT INTO counted (n) VALUES (?)'",
            "SET @sql = 'SELECT @kept, ?'",
            "PREPARE s2 FROM @sql",
            "PREPARE s3 FROM 'SET @kept = 5, sql_mode = \"ANSI\"'",
            "PREPARE s3 FROM 'SELEC'",
            "EXECUTE s1 USING @kept",
            "EXECUTE s2 USING @other",
            "EXECUTE s1",
            "EXECUTE s3",
            "DEALLOCATE PREPARE s1",
            "DROP PREPARE s2",
            "EXECUTE IMMEDIATE 'SELECT ?' USING @kept",
        ]);
        self.dice
            .once_in(2)
            .then(|| self.say("EXECUTE s1 USING @kept"));
    }

    /// The statements of a few topics.
    fn some_statements(&mut self) -> Vec<Vec<u8>> {
        let before = std::mem::take(&mut self.steps);
        for _ in 0..2 + self.dice.roll(2) {
            match self.dice.roll(6) {
                0 => self.set_variables(),
                1 => self.set_user_variables(),
                2 => self.read(),
                3 => self.look_back(),
                4 => self.call_one(),
                _ => self.say_one(WRITES),
            }
        }
        let steps = std::mem::replace(&mut self.steps, before);
        let statement = |step| match step {
            Step::Query(sql) => Some(sql),
            _ => None,
        };
        steps.into_iter().filter_map(statement).collect()
    }

    pub fn several_statements(&mut self) {
        let all = self.some_statements();
        self.steps.push(Step::Query(all.join(&b"; "[..])));
    }

    pub fn pipeline(&mut self) {
        let all = self.some_statements();
        self.steps.push(Step::Queries(all));
    }

    /// Strings whose bytes have another meaning if the character set is not known.
    pub fn literals(&mut self) {
        let (names, literal): (&str, &[u8]) = match self.dice.roll(4) {
            0 => ("cp932", b"'\x83\\', 'x\x83\\'"),
            1 => ("gbk", b"'\xBF\\', '\xBF\x27'"),
            2 => ("latin1", b"'n\xE9e', '\xBF\\'''"),
            _ => ("utf8mb4", "'größe 🐟', N'ü', _latin1 0xE9".as_bytes()),
        };
        self.forget_prepared();
        self.say(format!("SET NAMES {names}"));
        let set = [
            b"SET @other = 'a', @kept = CONCAT(".as_slice(),
            literal,
            b")",
        ];
        self.steps.push(Step::Query(set.concat()));
        let select = [b"SELECT @kept, HEX(@kept), ".as_slice(), literal];
        self.steps.push(Step::Query(select.concat()));
        self.say("SET NAMES utf8mb4");
    }

    pub fn other_commands(&mut self) {
        let [one, two] = self.schemas();
        let step = match self.dice.roll(7) {
            0 => Step::InitDb(one),
            1 => Step::InitDb(two),
            2 => Step::InitDb("no_such_schema".into()),
            3 => Step::FieldList("a".into()),
            4 => Step::SetOption(1),
            5 => Step::SetOption(0),
            _ => Step::ConnectionId,
        };
        self.look_away();
        self.steps.push(step);
        self.look_away();
    }
}

/// States that have a beginning and an end.
impl Script {
    /// Begins a state for which other sessions would wait until `end`, which comes soon or at the end of the session.
    fn within(&mut self, end: &'static str) {
        self.begin(end);
        self.meanwhile(6);
        if !self.dice.once_in(8) {
            self.end();
        }
    }

    pub fn transaction(&mut self) {
        if self.dice.once_in(3) {
            self.say_one(&[
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
                "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                "SET TRANSACTION READ ONLY",
                "SET SESSION TRANSACTION READ WRITE",
                "SET @@transaction_isolation = 'READ-UNCOMMITTED'",
            ]);
            self.meanwhile(2);
        }
        self.say_one(&[
            "BEGIN",
            "START TRANSACTION",
            "begin work",
            "START TRANSACTION READ ONLY",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE",
        ]);
        if self.dice.once_in(2) {
            self.write();
            self.say("SAVEPOINT here");
            self.write();
            self.meanwhile(3);
            self.say_one(&[
                "ROLLBACK TO here",
                "RELEASE SAVEPOINT here",
                "ROLLBACK TO SAVEPOINT HERE",
            ]);
        }
        let ends = [
            "COMMIT",
            "ROLLBACK",
            "COMMIT AND CHAIN",
            "ROLLBACK AND NO CHAIN",
        ];
        let end = ends[self.dice.index(ends.len())];
        self.within(end);
        if end.ends_with("AND CHAIN") {
            self.within("COMMIT");
        }
    }

    pub fn without_autocommit(&mut self) {
        self.say_one(&[
            "SET autocommit = 0",
            "SET @@session.autocommit = OFF",
            "SET autocommit=0, @kept=1",
        ]);
        self.meanwhile(3);
        if self.dice.once_in(2) {
            self.write();
            self.say_one(&["COMMIT", "ROLLBACK"]);
        }
        self.within("SET autocommit = 1");
    }

    pub fn temporary_table(&mut self) {
        let name = self.dice.pick(&["tt", "a", "tt"]).to_owned();
        self.say(format!(
            "CREATE TEMPORARY TABLE {name} (id INT PRIMARY KEY AUTO_INCREMENT, n INT)"
        ));
        self.say(format!("INSERT INTO {name} (n) VALUES (5), (6)"));
        self.meanwhile(4);
        self.say(format!("SELECT * FROM {name} ORDER BY id"));
        if self.dice.once_in(3) {
            self.say(format!("ALTER TABLE {name} ADD COLUMN more INT"));
            self.say(format!("SELECT * FROM {name} ORDER BY id"));
        }
        if !self.dice.once_in(6) {
            let word =
                self.dice
                    .pick(&["DROP TEMPORARY TABLE", "DROP TABLE", "drop table if exists"]);
            self.say(format!("{word} {name}"));
        }
        self.say(format!("SELECT COUNT(*) FROM {name}"));
    }

    pub fn user_lock(&mut self) {
        let name = format!("r{}", self.number);
        match self.dice.roll(3) {
            0 => self.say(format!("SELECT f_lock('{name}')")),
            1 => self.say(format!("DO GET_LOCK('{name}', 5), GET_LOCK('{name}', 5)")),
            _ => self.say(format!("SELECT GET_LOCK('{name}', 5)")),
        }
        self.meanwhile(3);
        self.say(format!(
            "SELECT IS_USED_LOCK('{name}') = CONNECTION_ID(), IS_FREE_LOCK('{name}')"
        ));
        self.dice
            .once_in(2)
            .then(|| self.say(format!("SELECT RELEASE_LOCK('{name}')")));
        self.within("SELECT RELEASE_ALL_LOCKS()");
    }

    pub fn table_locks(&mut self) {
        self.say_one(&[
            "LOCK TABLES a READ, counted WRITE",
            "LOCK TABLES a WRITE, v READ",
        ]);
        self.begin("UNLOCK TABLES");
        self.meanwhile(5);
        self.end();
    }

    pub fn handler(&mut self) {
        self.say("HANDLER a OPEN AS h");
        self.begin("HANDLER h CLOSE");
        self.say("HANDLER h READ FIRST");
        self.meanwhile(3);
        self.say("HANDLER h READ NEXT");
        self.end();
    }

    pub fn distributed_transaction(&mut self) {
        let xid = format!("'x{}'", self.number);
        self.say(format!("XA START {xid}"));
        self.write();
        self.meanwhile(3);
        self.say(format!("XA END {xid}"));
        if self.dice.once_in(2) {
            self.say(format!("XA PREPARE {xid}"));
            self.dice
                .once_in(2)
                .then(|| self.say(format!("XA COMMIT {xid}")));
        }
        self.say(format!("XA ROLLBACK {xid}"));
    }

    /// Changes tables that prepared statements read.
    pub fn change_tables(&mut self) {
        self.say_one(&[
            "ALTER TABLE b ADD COLUMN more INT DEFAULT 3",
            "ALTER TABLE b DROP COLUMN more",
            "ALTER TABLE counted MODIFY n BIGINT",
            "CREATE TABLE IF NOT EXISTS own AS SELECT * FROM a",
            "CREATE TABLE own (id INT)",
            "DROP TABLE IF EXISTS own",
            "CREATE OR REPLACE VIEW v AS SELECT id, n * 3 AS twice, s FROM a",
        ]);
    }

    /// Begins another session, on the same connection or on a new one.
    pub fn begin_anew(&mut self) {
        let step = match self.dice.roll(6) {
            0 | 1 => Step::ResetConnection,
            2 | 3 => {
                self.settle();
                let login = self.login();
                Step::Reconnect(login)
            }
            4 if self.dice.once_in(3) => {
                self.settle();
                let wrong = Login::with("other", "wrong");
                self.steps.push(Step::ChangeUser(wrong));
                let login = self.login();
                Step::Reconnect(login)
            }
            _ => Step::ChangeUser(self.account()),
        };
        self.begun.clear();
        self.steps.push(step);
        self.say(FIRST);
        self.prepared.clear();
        self.clock = Clock::Running;
    }
}
