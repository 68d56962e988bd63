//! Topics of the binary protocol: prepared statements in each of their states.

use e2e::steps::{Execution, Rows, Step, Types, Value};

use super::script::{Language, Prepared, Script, runs_others};

/// The statements to prepare. None has user variables: MySQL's type of such a column depends on the variable's
/// value when the statement was prepared, which on another connection was another time.
const STATEMENTS: &[&str] = &[
    "SELECT ? + 1, ?, @@sql_mode",
    "SELECT id, n, s FROM a WHERE id > ? ORDER BY id",
    "SELECT * FROM b ORDER BY id",
    "INSERT INTO counted (n) VALUES (?)",
    "UPDATE a SET s = ? WHERE id = ?",
    "SET @kept = ?",
    "SET time_zone = ?, group_concat_max_len = ?",
    "SET NAMES utf8mb4",
    "CALL p_out(?, ?, ?)",
    "SELECT LENGTH(?), HEX(?)",
    "SELECT LAST_INSERT_ID(), ROW_COUNT()",
    "SELECT nonsense",
    "SELECT 1; SELECT 2",
    "SELECT * FROM a WHERE n IN (?, ?, ?, ?, ?, ?, ?, ?, ?) ORDER BY id",
    "SELECT DATABASE(), ?",
    "CREATE TEMPORARY TABLE IF NOT EXISTS tt (n INT)",
    "SELECT * FROM tt",
    "COMMIT",
    "SHOW WARNINGS",
    "SELECT @@group_concat_max_len, GROUP_CONCAT(s) FROM a",
];

impl Script {
    pub fn prepare(&mut self) {
        let sql = self.dice.pick(STATEMENTS);
        let statement = self.prepare_one(sql, Rows::AtOnce);
        if self.dice.once_in(2) {
            self.execute_one(statement);
        }
    }

    /// Prepares a statement, and returns its number.
    fn prepare_one(&mut self, sql: &'static str, rows: Rows) -> usize {
        let number = self.numbered;
        self.numbered += 1;
        self.steps.push(Step::Prepare(number, sql.to_owned()));
        self.prepared.push(Prepared::new(number, sql, rows));
        number
    }

    /// One of the prepared statements, preferably one of the last.
    fn some_prepared(&mut self) -> Option<Prepared> {
        let back = self.dice.index(self.prepared.len().clamp(1, 6));
        let at = self.prepared.len().checked_sub(1 + back)?;
        Some(self.prepared[at].clone())
    }

    /// The prepared statement with this number, unless it was forgotten.
    fn known(&mut self, number: usize) -> Option<&mut Prepared> {
        self.prepared.iter_mut().find(|it| it.number == number)
    }

    pub fn execute(&mut self) {
        match self.some_prepared() {
            None => self.prepare(),
            Some(prepared) => self.execute_one(prepared.number),
        }
    }

    fn execute_one(&mut self, number: usize) {
        let Some(prepared) = self.known(number) else {
            return;
        };
        let Prepared { sql, rows, .. } = *prepared;
        let is_long = std::mem::take(&mut prepared.has_long_data);
        let is_known = prepared.is_known && !is_long;
        let types = match is_known && self.dice.once_in(3) {
            true => Types::Known,
            false => Types::Sent,
        };
        let mut values = self.values(sql, types);
        if is_long && let Some(first) = values.first_mut() {
            *first = Value::Sent;
        }
        let all_numbers = values.iter().all(|it| matches!(it, Value::Int(_)));
        if let Some(prepared) = self.known(number) {
            prepared.is_known = types == Types::Known || all_numbers;
        }
        self.steps.push(Step::Execute(Execution {
            statement: number,
            values,
            types,
            rows,
        }));
        self.look_away();
        if runs_others(sql) {
            self.stop_looking();
        }
        if rows == Rows::ByCursor && self.dice.once_in(2) {
            self.fetch(number, 100);
        }
    }

    fn fetch(&mut self, number: usize, rows: u32) {
        self.steps.push(Step::Fetch(number, rows));
        self.look_away();
    }

    /// Values for a statement's parameters. If the types were sent before, all values are numbers, because only
    /// then a statement counts as known.
    fn values(&mut self, sql: &str, types: Types) -> Vec<Value> {
        let count = sql.matches('?').count();
        (0..count)
            .map(|at| match types {
                Types::Sent => self.value(sql, at),
                Types::Known if self.dice.once_in(3) => Value::Null,
                Types::Known => Value::Int(7),
            })
            .collect()
    }

    fn value(&mut self, sql: &str, at: usize) -> Value {
        let number = i64::try_from(self.number()).expect("it is small");
        match self.kind_of_value(sql, at) {
            _ if self.warns_by_turn(sql, at) => Value::Int(number),
            _ if sql.starts_with("SET time_zone") => match at {
                0 => Value::Text("+04:00".into()),
                _ => Value::Int(10 + number),
            },
            0 => Value::Null,
            1 => Value::Text("größer".into()),
            2 => Value::Bytes(vec![0, 255, 39]),
            3 => Value::Double(2.5),
            4 => Value::Text(String::new()),
            _ => Value::Int(number),
        }
    }

    /// Whether the server's warning about a text that is no number depends on earlier executions: it may warn once
    /// or for each row, name another row, write the row in another way, or report a value out of range. Through a
    /// proxy, the earlier executions may be of another session, or on another connection.
    fn warns_by_turn(&self, sql: &str, parameter: usize) -> bool {
        let everywhere = sql.contains("id > ?") || sql.contains("(n) VALUES (?)");
        let on_mysql = sql.contains("n IN (?")
            || sql.starts_with("SELECT ? + 1") && parameter == 0
            || sql.ends_with("WHERE id = ?") && parameter == 1;
        everywhere || on_mysql && !self.product.is_mariadb()
    }

    /// The kind of a parameter's value. MySQL's result depends on the types that the parameter had before on the
    /// same connection, so on MySQL each session uses one type for each parameter, or NULL.
    fn kind_of_value(&mut self, sql: &str, at: usize) -> u64 {
        match self.dice.roll(8) {
            rolled if rolled == 0 || self.product.is_mariadb() => rolled,
            _ => (self.number + sql.len() + at) as u64 % 7 + 1,
        }
    }

    pub fn send_long_data(&mut self) {
        let Some(Prepared { number, sql, .. }) = self.some_prepared() else {
            return self.prepare();
        };
        let is_mistake = !sql.contains('?');
        let is_string =
            self.product.is_mariadb() || matches!(self.kind_of_value(sql, 0), 1 | 2 | 4);
        // If a procedure gets a parameter as long data, MariaDB reads memory that was not set: an address if the
        // parameter was a number before, and for an OUT parameter if no byte was sent.
        let is_at_random = self.product.is_mariadb() && runs_others(sql);
        if self.warns_by_turn(sql, 0)
            || is_at_random
            || is_mistake && self.language == Language::Other
            || !is_string
        {
            return;
        }
        let length = [0, 10, 5000, 100_000][self.dice.index(4)];
        let piece = vec![b'l'; length];
        self.steps.push(Step::LongData(number, 0, piece.clone()));
        if self.dice.once_in(2) {
            self.steps.push(Step::LongData(number, 0, piece));
        }
        if let Some(prepared) = self.known(number) {
            prepared.has_long_data = true;
        }
        self.meanwhile(2);
        match self.dice.roll(5) {
            0 => self.leave_off(number, Step::ResetStatement(number)),
            _ => self.execute_one(number),
        }
    }

    pub fn close_statement(&mut self) {
        let Some(Prepared { number, .. }) = self.some_prepared() else {
            return;
        };
        self.leave_off(number, Step::CloseStatement(number));
        if self.dice.once_in(2) {
            self.execute_one(number);
        }
    }

    fn leave_off(&mut self, number: usize, how: Step) {
        self.look_away();
        self.steps.push(how);
        self.look_away();
        if let Some(prepared) = self.known(number) {
            prepared.has_long_data = false;
        }
    }

    /// A result that is read in pieces, with other statements between.
    pub fn cursor(&mut self) {
        let sql = "SELECT id, n, s FROM a WHERE id > ? ORDER BY id";
        let number = self.prepare_one(sql, Rows::ByCursor);
        self.execute_one(number);
        for rows in [1, 2, 0, 100] {
            self.fetch(number, rows);
            if self.dice.once_in(2) {
                self.meanwhile(2);
            }
            if self.dice.once_in(8) {
                break;
            }
        }
        let end = match self.dice.roll(3) {
            0 => Step::CloseStatement(number),
            _ => Step::ResetStatement(number),
        };
        self.leave_off(number, end);
    }
}
