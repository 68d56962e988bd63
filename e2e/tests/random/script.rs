//! A random session: what is said in it, topic by topic. It is made without a look at any reply, so
//! it can be held twice; what the servers say to nonsense is as good as any other reply.

use e2e::raw::{Login, capability};
use e2e::steps::{Rows, Step};
use e2e::{Dice, Product};

use super::data::schemas;

/// A session.
#[derive(Clone)]
pub struct Session {
    /// Which of those that are held at once; it has the schemas with this number.
    pub number: usize,
    /// How it logs in.
    pub login: Login,
    /// What it says.
    pub steps: Vec<Step>,
}

/// A session of so many steps.
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
    /// How many were prepared so far.
    pub numbered: usize,
    /// What others would wait for, and the statement that ends it.
    pub begun: Vec<&'static str>,
    pub clock: Clock,
    pub language: Language,
    pub faults: Faults,
}

/// What is known to differ through a pool, and not by nature.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Faults {
    /// Such statements are not said, or nobody looks at what they leave behind: what prepared
    /// statements' own commands leave in the diagnostics; counts of warnings and GET DIAGNOSTICS in all
    /// their spellings; a statement prepared in one character set and executed in another;
    /// `session_track_…` and `lc_messages`. Each of them differs seldom, in some 5,000 statements once.
    LeftOut,
    /// `PILOTFISH_WANTING=1`: they are said like all others.
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

/// Whether NOW() says the same whenever it is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    Running,
    Stopped,
}

/// That of the session's errors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
    /// Perhaps: errors that the proxy itself makes are in English.
    Other,
}

/// A statement prepared by command.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Steps know it by this number.
    pub number: usize,
    pub sql: &'static str,
    /// It has been executed with types, so they may be left out.
    pub is_known: bool,
    /// Once by a cursor, always by a cursor: executed without one afterwards, MySQL 9.7 answers with
    /// what no client understands.
    pub rows: Rows,
    /// One of its parameters was sent in pieces.
    pub has_long_data: bool,
}

/// The first statement on a connection: before it, MariaDB's FOUND_ROWS() is another client's.
pub const FIRST: &str = "SELECT 'hello'";

/// A topic and how often it comes up.
type Topic = (u64, fn(&mut Script));

/// Topics that leave nothing behind that others would wait for.
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

/// Topics that have a beginning and an end, with light ones between.
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

    /// A few light topics.
    pub fn meanwhile(&mut self, most: u64) {
        for _ in 0..self.dice.roll(most) {
            self.one_of(LIGHT);
        }
    }

    /// A statement.
    pub fn say(&mut self, sql: impl Into<String>) {
        let mut sql = sql.into();
        if self.product.is_mariadb() {
            // Its flag ANSI_QUOTES follows what prepared statements were last executed where, and not
            // sql_mode.
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

    /// Nobody may look back at what was before, where that is known to differ.
    pub fn look_away(&mut self) {
        if self.faults == Faults::LeftOut {
            self.stop_looking();
        }
    }

    /// Nobody may look back at what was before (docs/behaviours.md, "What a pooled session sees
    /// otherwise").
    pub fn stop_looking(&mut self) {
        // Without a table it would leave diagnostics as they are.
        let sql = "SELECT 'something else' FROM information_schema.engines LIMIT 1";
        self.steps.push(Step::query(sql));
    }

    /// Statements that were prepared before are not executed any more.
    pub fn forget_prepared(&mut self) {
        if self.faults == Faults::LeftOut {
            self.prepared.clear();
        }
    }

    /// One of these statements.
    pub fn say_one(&mut self, choice: &[&str]) {
        let sql = self.dice.pick(choice).to_owned();
        self.say(sql);
    }

    /// A small number.
    pub fn number(&mut self) -> u64 {
        self.dice.roll(60)
    }

    /// Ends what others, or the next session of this client, would wait for.
    pub fn settle(&mut self) {
        for end in std::mem::take(&mut self.begun) {
            self.say(end);
        }
    }

    /// Something begins that others would wait for; `end` ends it, now or never. What is said
    /// between is a topic of its own.
    pub fn begin(&mut self, end: &'static str) {
        self.begun.push(end);
    }

    /// Ends what began last.
    pub fn end(&mut self) {
        if let Some(end) = self.begun.pop() {
            self.say(end);
        }
    }

    pub fn schemas(&self) -> [String; 2] {
        schemas(self.number)
    }

    /// A way to log in.
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

    /// A user, a collation and a schema.
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

/// Whether a statement runs others that are not in its text: whether they have left FOUND_ROWS() and
/// MariaDB's warnings as they were cannot be told from outside.
pub fn runs_others(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    ["call ", "execute ", "f_insert", "f_lock", "f_set"]
        .iter()
        .any(|word| sql.contains(word))
}
