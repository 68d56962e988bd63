//! Sessions that have much in common: an account, a schema, the statements that they read with. On shared lanes,
//! most of their statements are in flight together with those of other sessions.

use e2e::raw::{Login, capability};
use e2e::steps::{Execution, Rows, Step, Types, Value};
use e2e::{Dice, Product};

use super::data::{COMMON, COMMON_ROWS, schemas};
use super::script::{FIRST, Session};

/// Statements that read a row by its number.
const READS: &[&str] = &[
    "SELECT id, n, s FROM common WHERE id = ?",
    "SELECT s FROM common WHERE id = ?",
    "SELECT * FROM common WHERE id BETWEEN ? AND 60 ORDER BY id",
    "SELECT COUNT(*), MAX(s) FROM common WHERE n < ?",
    "SELECT c.s, o.n FROM common c JOIN common o ON o.id = c.n WHERE c.id = ?",
    "SELECT s FROM common WHERE n > ? ORDER BY id LIMIT 2",
    "SELECT REPEAT(s, 300) FROM common WHERE id = ?",
    // Some of these warn, or fail.
    "SELECT CAST(s AS SIGNED) FROM common WHERE id = ?",
    "SELECT nothing FROM common WHERE id = ?",
    "SELECT (SELECT n FROM common WHERE n < ?) FROM common",
];

/// The number of these statements that nearly all reads use.
const USUAL: usize = 3;

const LOOKS_BACK: &[&str] = &[
    "SHOW WARNINGS",
    "SHOW ERRORS",
    "SHOW COUNT(*) WARNINGS",
    "SELECT FOUND_ROWS()",
    "SELECT ROW_COUNT()",
    "SELECT LAST_INSERT_ID()",
];

/// Settings, each with the statement that undoes it.
const SETS: &[&str] = &[
    "SET @kept = 7;SET @kept = NULL",
    "SET sql_mode = 'PIPES_AS_CONCAT';SET sql_mode = DEFAULT",
    "SET NAMES latin1;SET NAMES utf8mb4",
    "SET sql_select_limit = 2;SET sql_select_limit = DEFAULT",
    "SET time_zone = '+05:00';SET time_zone = DEFAULT",
];

/// A session with so many steps.
pub fn session(dice: &mut Dice, product: Product, number: usize, length: usize) -> Session {
    let mut dice = Dice::new(dice.roll(u64::MAX));
    let mut crowd = Crowd {
        is_wild: dice.once_in(3),
        dice,
        schema: schemas(number)[0].clone(),
        steps: Vec::new(),
        prepared: Vec::new(),
        numbered: 0,
    };
    let login = crowd.login(product);
    crowd.say(FIRST);
    while crowd.steps.len() < length {
        crowd.topic();
    }
    crowd.steps.push(Step::Variables);
    let steps = crowd.steps;
    Session {
        number,
        login,
        steps,
    }
}

/// A session of the crowd in the making.
struct Crowd {
    dice: Dice,
    /// Whether the session sets state that differs from the others.
    is_wild: bool,
    /// The session's own schema, for writes.
    schema: String,
    steps: Vec<Step>,
    /// Statements that are prepared, and whether they have been executed.
    prepared: Vec<(usize, bool)>,
    numbered: usize,
}

impl Crowd {
    /// The login of one of a few kinds of clients.
    fn login(&mut self, product: Product) -> Login {
        let mut login = Login::app().schema(COMMON);
        login.collation = product.collation();
        match self.dice.roll(6) {
            0 => login.without(capability::DEPRECATE_EOF),
            1 => login.and(capability::SESSION_TRACK),
            2 => login.and(capability::QUERY_ATTRIBUTES),
            _ => login,
        }
    }

    fn topic(&mut self) {
        match self.dice.roll(100) {
            0..=44 => self.read(),
            45..=74 => self.execute(),
            75..=82 => self.look_back(),
            83..=88 => self.pipeline(),
            89..=92 => self.write(),
            93 => self.say("SELECT SLEEP(0.01)"),
            94 => self.count_rows(),
            95 => self.close(),
            _ if self.is_wild => self.go_wild(),
            _ => self.read(),
        }
    }

    /// Statements that pin the session, some of them until its end.
    fn go_wild(&mut self) {
        match self.dice.roll(4) {
            0 => self.transaction(),
            1 => self.set(),
            2 => self.go_home(),
            _ => self.temporary_table(),
        }
    }

    fn say(&mut self, sql: impl Into<String>) {
        self.steps.push(Step::query(sql));
    }

    fn some_read(&mut self) -> usize {
        match self.dice.once_in(6) {
            true => self.dice.index(READS.len()),
            false => self.dice.index(USUAL),
        }
    }

    fn number(&mut self) -> u64 {
        self.dice.roll(COMMON_ROWS + 10)
    }

    fn text(&mut self) -> String {
        let read = self.some_read();
        let number = self.number().to_string();
        READS[read].replace('?', &number)
    }

    fn read(&mut self) {
        let text = self.text();
        self.say(text);
    }

    fn look_back(&mut self) {
        self.read();
        let sql = self.dice.pick(LOOKS_BACK);
        self.say(sql);
    }

    fn pipeline(&mut self) {
        let count = 2 + self.dice.roll(4);
        let all = (0..count).map(|_| self.text().into_bytes()).collect();
        self.steps.push(Step::Queries(all));
    }

    fn execute(&mut self) {
        if self.prepared.len() < 2 || self.dice.once_in(12) {
            let read = self.some_read();
            self.steps
                .push(Step::Prepare(self.numbered, READS[read].to_owned()));
            // A statement that cannot be prepared is not executed.
            if !READS[read].contains("nothing") {
                self.prepared.push((self.numbered, false));
            }
            self.numbered += 1;
            return;
        }
        let number = self.number();
        let at = self.dice.index(self.prepared.len());
        let (statement, is_known) = &mut self.prepared[at];
        let types = match *is_known && self.dice.once_in(3) {
            true => Types::Known,
            false => Types::Sent,
        };
        *is_known = true;
        let execution = Execution {
            statement: *statement,
            values: vec![Value::Int(number as i64)],
            types,
            rows: Rows::AtOnce,
        };
        self.steps.push(Step::Execute(execution));
    }

    fn close(&mut self) {
        if let Some((statement, _)) = self.prepared.pop() {
            self.steps.push(Step::CloseStatement(statement));
        }
    }

    fn write(&mut self) {
        let (schema, number) = (self.schema.clone(), self.number());
        self.say(format!("INSERT INTO {schema}.b (d) VALUES ({number})"));
        if self.dice.once_in(2) {
            self.read();
        }
        self.say("SELECT LAST_INSERT_ID()");
        self.say(format!("SELECT COUNT(*), MAX(d) FROM {schema}.b"));
    }

    fn transaction(&mut self) {
        self.say("BEGIN");
        self.read();
        self.write();
        self.execute();
        let end = self.dice.pick(&["COMMIT", "ROLLBACK"]);
        self.say(end);
        self.read();
    }

    fn set(&mut self) {
        let set = self.dice.pick(SETS);
        let (set, unset) = set.split_once(';').expect("there are two");
        self.say(set);
        self.read();
        self.execute();
        self.say("SELECT @kept, @@sql_mode, 'a' || 'b', 'größe' FROM common WHERE id = 1");
        self.say(unset);
    }

    fn go_home(&mut self) {
        let schema = self.schema.clone();
        self.say(format!("USE {schema}"));
        self.say("SELECT * FROM a WHERE id = 1");
        self.execute();
        self.say(format!("USE {COMMON}"));
    }

    fn temporary_table(&mut self) {
        self.say("CREATE TEMPORARY TABLE common (id INT, n INT, s VARCHAR(50))");
        self.say("INSERT INTO common VALUES (1, 2, 'mine')");
        self.read();
        self.read();
        self.say("DROP TEMPORARY TABLE common");
    }

    fn count_rows(&mut self) {
        let number = self.number();
        self.say(format!(
            "SELECT SQL_CALC_FOUND_ROWS s FROM common WHERE n > {number} ORDER BY id LIMIT 2"
        ));
        self.say("SELECT FOUND_ROWS()");
    }
}
