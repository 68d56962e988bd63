//! A random session: its statements, topic by topic. It is made without reading any reply, so it can be run twice.
//! Replies to invalid statements count like all others.

use e2e::raw::{Login, capability};
use e2e::steps::{Rows, Step};
use e2e::{Dice, Product};

use super::data::schemas;

/// A session.
#[derive(Clone)]
pub struct Session {
    /// The session's number among those that run at once. Its schemas have this number.
    pub number: usize,
    /// The login of the session.
    pub login: Login,
    /// The steps of the session.
    pub steps: Vec<Step>,
}

/// A session with so many steps.
pub fn session(dice: &mut Dice, product: Product, number: usize, length: usize) -> Session {
    let mut script = Script {
        dice: Dice::new(dice.roll(u64::MAX)),
        product,
        number,
        steps: Vec::new(),
        prepared: Vec::new(),
        numbered: 0,
        begun: Vec::new(),
        clock: Clock::Running,
        language: Language::English,
        faults: Faults::asked_for(),
    };
    let login = script.login();
    script.say(FIRST);
    while script.steps.len() < length {
        script.topic();
    }
    script.settle();
    script.steps.push(Step::Variables);
    let steps = script.steps;
    Session {
        number,
        login,
        steps,
    }
}

/// A session in the making.
pub struct Script {
    pub dice: Dice,
    pub product: Product,
    pub number: usize,
    pub steps: Vec<Step>,
    /// Statements prepared by command.
    pub prepared: Vec<Prepared>,
    /// The number of statements that were prepared so far.
    pub numbered: usize,
    /// Statements that end states for which other sessions would wait.
    pub begun: Vec<&'static str>,
    pub clock: Clock,
    pub language: Language,
    pub faults: Faults,
}

/// Whether a session includes statements that are known to differ through a pool, though not by nature.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Faults {
    /// The session omits these statements, or does not read the diagnostics after them: statements prepared by command,
    /// counts of warnings and GET DIAGNOSTICS in all spellings; a statement prepared in one character set and executed
    /// in another; `session_track_…` and `lc_messages`. Each of them differs rarely, about once in 5,000 statements.
    LeftOut,
    /// `PILOTFISH_WANTING=1`: the session includes them like all others.
    In,
}

impl Faults {
    fn asked_for() -> Self {
        match std::env::var_os("PILOTFISH_WANTING") {
            Some(_) => Self::In,
            None => Self::LeftOut,
        }
    }
}

/// Whether NOW() always returns the same value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    Running,
    Stopped,
}

/// The language of the session's error messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
    /// Perhaps another language. Errors of the proxy itself are in English.
    Other,
}

/// A statement prepared by command.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The number that steps use for the statement.
    pub number: usize,
    pub sql: &'static str,
    /// Whether it was executed with types, so that later executions may omit them.
    pub is_known: bool,
    /// A statement that was executed with a cursor is always executed with one: otherwise MySQL 9.7 sends a reply
    /// that no client can read.
    pub rows: Rows,
    /// Whether one of its parameters was sent in pieces.
    pub has_long_data: bool,
}

/// The first statement on a connection: before it, MariaDB's FOUND_ROWS() is another client's.
pub const FIRST: &str = "SELECT 'hello'";

/// A topic and its weight.
type Topic = (u64, fn(&mut Script));

/// Topics that leave no state for which other sessions would wait.
const LIGHT: &[Topic] = &[
    (20, Script::set_variables),
    (8, Script::set_names),
    (10, Script::set_user_variables),
    (10, Script::look_at_user_variables),
    (5, Script::change_schema),
    (14, Script::look_at_variables),
    (2, Script::look_at_all_variables),
    (16, Script::write),
    (12, Script::read),
    (14, Script::look_back),
    (8, Script::prepare_text),
    (12, Script::prepare),
    (20, Script::execute),
    (4, Script::send_long_data),
    (3, Script::close_statement),
    (6, Script::several_statements),
    (6, Script::call),
    (8, Script::fail),
    (3, Script::ping),
    (2, Script::literals),
    (2, Script::pipeline),
    (2, Script::other_commands),
    (2, Script::stop_the_clock),
    (1, Script::random_numbers),
];

/// Topics that have a beginning and an end, with light topics between.
const HEAVY: &[Topic] = &[
    (8, Script::transaction),
    (4, Script::without_autocommit),
    (5, Script::temporary_table),
    (4, Script::user_lock),
    (2, Script::table_locks),
    (2, Script::handler),
    (1, Script::distributed_transaction),
    (4, Script::cursor),
    (2, Script::change_tables),
    (3, Script::begin_anew),
];

impl Prepared {
    pub fn new(number: usize, sql: &'static str, rows: Rows) -> Self {
        Self {
            number,
            sql,
            is_known: false,
            rows,
            has_long_data: false,
        }
    }
}

impl Script {
    fn topic(&mut self) {
        match self.dice.once_in(8) {
            true => self.one_of(HEAVY),
            false => self.one_of(LIGHT),
        }
    }

    fn one_of(&mut self, topics: &[Topic]) {
        let mut at = self
            .dice
            .roll(topics.iter().map(|(weight, _)| weight).sum());
        for (weight, topic) in topics {
            if at < *weight {
                return topic(self);
            }
            at -= weight;
        }
    }

    /// Adds a few light topics.
    pub fn meanwhile(&mut self, most: u64) {
        for _ in 0..self.dice.roll(most) {
            self.one_of(LIGHT);
        }
    }

    /// Adds a statement.
    pub fn say(&mut self, sql: impl Into<String>) {
        let mut sql = sql.into();
        if self.product.is_mariadb() {
            // MariaDB's flag for ANSI_QUOTES follows the last prepared statement that was executed on the
            // connection, and not sql_mode.
            sql = sql.replace("ANSI_QUOTES", "PIPES_AS_CONCAT");
            for quote in ["'", "\""] {
                let ansi = format!("{quote}ANSI{quote}");
                sql = sql.replace(&ansi, &format!("{quote}IGNORE_SPACE{quote}"));
            }
        }
        let runs_others = runs_others(&sql);
        self.steps.push(Step::query(sql));
        if runs_others {
            self.stop_looking();
        }
    }

    /// If replies are known to differ here, clears the values of the previous statement.
    pub fn look_away(&mut self) {
        if self.faults == Faults::LeftOut {
            self.stop_looking();
        }
    }

    /// Clears the values of the previous statement (docs/behaviours.md, "What a pooled session sees otherwise").
    pub fn stop_looking(&mut self) {
        // A statement without a table would not clear the diagnostics.
        let sql = "SELECT 'something else' FROM information_schema.engines LIMIT 1";
        self.steps.push(Step::query(sql));
    }

    /// Statements that were prepared before are not executed again.
    pub fn forget_prepared(&mut self) {
        if self.faults == Faults::LeftOut {
            self.prepared.clear();
        }
    }

    /// Adds one of these statements.
    pub fn say_one(&mut self, choice: &[&str]) {
        let sql = self.dice.pick(choice).to_owned();
        self.say(sql);
    }

    /// A small number.
    pub fn number(&mut self) -> u64 {
        self.dice.roll(60)
    }

    /// Ends each state for which other sessions, or the client's next session, would wait.
    pub fn settle(&mut self) {
        for end in std::mem::take(&mut self.begun) {
            self.say(end);
        }
    }

    /// Begins a state for which other sessions would wait; `end` ends it, now or never. The statements between are
    /// a topic of their own.
    pub fn begin(&mut self, end: &'static str) {
        self.begun.push(end);
    }

    /// Ends the state that was begun last.
    pub fn end(&mut self) {
        if let Some(end) = self.begun.pop() {
            self.say(end);
        }
    }

    pub fn schemas(&self) -> [String; 2] {
        schemas(self.number)
    }

    /// A random login.
    pub fn login(&mut self) -> Login {
        let mut login = self.account();
        for (once_in, asked) in [
            (3, capability::SESSION_TRACK),
            (5, capability::FOUND_ROWS),
            (8, capability::INTERACTIVE),
            (8, capability::QUERY_ATTRIBUTES),
            (9, capability::OPTIONAL_RESULTSET_METADATA),
        ] {
            if self.dice.once_in(once_in) {
                login = login.and(asked);
            }
        }
        for (once_in, missing) in [
            (4, capability::DEPRECATE_EOF),
            (10, capability::MULTI_STATEMENTS),
        ] {
            if self.dice.once_in(once_in) {
                login = login.without(missing);
            }
        }
        if self.dice.once_in(8) {
            login = login.over_tls();
        }
        if self.dice.once_in(8) {
            login = login.compressed(false);
        }
        login
    }

    /// A random user, collation and schema.
    pub fn account(&mut self) -> Login {
        let mut login = match self.dice.roll(6) {
            0 => Login::with("other", "another password"),
            1 => Login::with("nopass", ""),
            _ => Login::app(),
        };
        let usual = self.product.collation();
        let collations = [usual, usual, usual, 33, 8, 63, 45, 192, 46];
        login.collation = collations[self.dice.index(collations.len())];
        let schemas = self.schemas();
        if !self.dice.once_in(8) || self.faults == Faults::LeftOut {
            login = login.schema(&schemas[self.dice.index(2)]);
        }
        login
    }
}

/// Whether a statement runs others that are not in its text: the test cannot know whether these have changed
/// FOUND_ROWS() and MariaDB's warnings.
pub fn runs_others(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    ["call ", "execute ", "f_insert", "f_lock", "f_set"]
        .iter()
        .any(|word| sql.contains(word))
}
