//! A rule that refuses a table, and random statements that try to reach the table. The server decides whether a
//! statement touches the table, because it denies an account without privileges there. Through the proxy, the rule must
//! refuse such a statement first.

use e2e::raw::{Address, Login, Outcome, RawConn, Reply, Shape};
use e2e::{Dice, Product, Proxy, Server, Settings, sized};

use crate::names::{DENIED, NO_SEQUENCE, PRODUCTS, names_secret, set_up};

/// How many times a statement is wrapped at most.
const DEPTH_MAX: u64 = 4;

/// The error number of the rule's refusal.
const REFUSED: u16 = 1227;

/// Writes commands that may touch the table `secret`.
struct Author {
    dice: Dice,
    forms: Vec<&'static str>,
}

impl Author {
    fn new(seed: u64) -> Self {
        let lines = include_str!("../../sql/tests/names.tsv").lines();
        let lines = lines.filter(|line| !line.starts_with('#'));
        Self {
            dice: Dice::new(seed),
            forms: lines
                .filter_map(|line| line.split('\t').next_back())
                .collect(),
        }
    }

    fn command(&mut self) -> String {
        let mut text = self.forms[self.dice.index(self.forms.len())].to_owned();
        if self.dice.once_in(3) {
            text = self.spaced(&text);
        }
        for _ in 0..self.dice.roll(DEPTH_MAX) {
            text = self.wrapped(&text);
        }
        text
    }

    /// Replaces the blanks between words, if the text has no strings.
    fn spaced(&mut self, text: &str) -> String {
        if text.contains(['\'', '"', '`', '-', '#', '/']) {
            return text.to_owned();
        }
        let words = text.split(' ').map(str::to_owned);
        let joined = words.reduce(|all, word| {
            let blank = self
                .dice
                .pick(&[" ", "\n", "\t", "/**/", "/* ; */ ", " -- '\n", " # \"\n"]);
            all + blank + &word
        });
        joined.unwrap_or_default()
    }

    fn wrapped(&mut self, text: &str) -> String {
        let literal = format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
        match self.dice.roll(21) {
            0 => format!("DO 1; {text}"),
            1 => format!("{text}; DO 1"),
            2 => format!("PREPARE p FROM {literal}; EXECUTE p"),
            3 => format!("EXECUTE IMMEDIATE {literal}"),
            4 => format!("/* a comment ' */ {text}"),
            5 => format!("SET NAMES utf8mb4; {text}"),
            6 => format!("USE names; {text}"),
            7 => format!("SET @a = 1, sql_mode = ''; {text}"),
            8 => format!("CALL p(1); {text}"),
            9 => format!("BEGIN NOT ATOMIC {text}; END"),
            10 => format!("EXECUTE IMMEDIATE CONCAT({literal})"),
            11 => format!("SET @text = {literal}; PREPARE p FROM @text; EXECUTE p"),
            12 => format!("/*! {text} */"),
            13 => format!("/*!50000 {text} */"),
            14 => format!("/*!99999 DO 1; */ {text}"),
            // In front of a compound statement, this crashes a MariaDB server (10.11, 11.8).
            15 if !text.starts_with("BEGIN") && !text.starts_with("IF ") => {
                format!("SET STATEMENT sort_buffer_size = 1048576 FOR {text}")
            }
            16 => format!("EXPLAIN {text}"),
            17 => format!("SET NAMES gbk; DO '\u{bf}\\'; {text}"),
            18 => format!("SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'; DO '\\'; {text}"),
            19 => format!("IF 1 THEN {text}; END IF"),
            _ => format!("EXECUTE IMMEDIATE 'EXECUTE IMMEDIATE ?' USING {literal}"),
        }
    }
}

/// How a command is sent.
#[derive(Clone, Copy)]
enum Way {
    Query,
    Prepare,
}

fn reply(conn: &mut RawConn, way: Way, text: &str) -> Reply {
    let reply = match way {
        Way::Query => conn.query(text),
        Way::Prepare => conn.prepare(text),
    };
    match reply.outcomes.last() {
        Some(Outcome::LocalFile(_)) => {
            conn.send_on(&[]);
            conn.reply(Shape::Results)
        }
        _ => reply,
    }
}

/// Whether the statement touched the table, by the server's error.
fn touches(reply: &Reply) -> bool {
    let is_denied = |code: u16| DENIED.contains(&code) || code == NO_SEQUENCE;
    let error = reply.error();
    error.is_some_and(|error| is_denied(error.code) && names_secret(error))
}

fn proxy_of(server: &Server) -> Proxy {
    let rule = [("tables", "\"secret\""), ("refuse", "\"no secrets here\"")];
    let settings = Settings::default()
        .backend(format!("unix:{}", server.socket().display()))
        .account("low", "")
        .rule("no secrets", &rule)
        .set("workers", 1);
    Proxy::start(&settings)
}

#[test]
fn random_statements_that_reach_for_a_table_do_not_pass_its_rule() {
    let seed = e2e::seed(1);
    for product in PRODUCTS {
        let server = set_up(product);
        let proxy = proxy_of(&server);
        let (mut author, mut counts) = (Author::new(seed), Counts::default());
        for _ in 0..sized(250, 10_000) {
            let text = author.command();
            let way = match author.dice.once_in(5) {
                true => Way::Prepare,
                false => Way::Query,
            };
            counts.ask(&server, &proxy, way, &text);
        }
        counts.assert_sound(product);
    }
}

/// The counts of the commands' results.
#[derive(Default)]
struct Counts {
    touched: usize,
    refused: usize,
    all: usize,
    passed: Vec<String>,
}

impl Counts {
    fn ask(&mut self, server: &Server, proxy: &Proxy, way: Way, text: &str) {
        let login = Login::with("low", "").schema("names");
        let address = Address::Unix(server.socket());
        let mut direct = RawConn::connect(&address, &login).unwrap();
        direct.run("SET sql_mode = ''");
        let touched = touches(&reply(&mut direct, way, text));
        drop(direct);
        let mut client = proxy.connect_as(&login);
        client.run("SET sql_mode = ''");
        let through = reply(&mut client, way, text);
        let is_refused = through.error().is_some_and(|error| error.code == REFUSED);
        self.all += 1;
        self.touched += usize::from(touched);
        self.refused += usize::from(touched && is_refused);
        if touches(&through) {
            self.passed.push(text.to_owned());
        }
    }

    /// Checks that the rule refused every command that touches the table, and that enough commands touch it.
    fn assert_sound(&self, product: Product) {
        let Self { touched, all, .. } = *self;
        assert!(self.passed.is_empty(), "{product:?}: {:#?}", self.passed);
        assert!(
            touched * 4 > all,
            "{product:?}: {touched} of {all} touch it"
        );
        assert_eq!(self.refused, touched, "{product:?}");
    }
}
