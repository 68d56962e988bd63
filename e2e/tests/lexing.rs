//! Random texts, cut by the servers and by the crate `sql`: as many statements, as many columns, the same strings.
//!
//! The servers tell by their results. The crate tells by its example `cut`, which `cargo test --no-run` builds.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use e2e::raw::{RawConn, Reply, command};
use e2e::{Dice, Product, Server, sized};

const PRODUCTS: [(Product, &str); 3] = [
    (Product::MySql, "mysql\t90704"),
    (Product::MariaDb, "mariadb\t101119"),
    (Product::MariaDbNext, "mariadb\t110809"),
];

const MODES: [&str; 4] = [
    "",
    "ANSI_QUOTES",
    "NO_BACKSLASH_ESCAPES",
    "ANSI_QUOTES,NO_BACKSLASH_ESCAPES,IGNORE_SPACE",
];

/// Bytes that are a blank, a letter or half of a character in some character sets, and not in others.
const TELLING: [u8; 10] = [0x7f, 0x80, 0x81, 0x83, 0xa0, 0xb3, 0xbf, 0xca, 0xe0, 0xff];

/// The program that cuts as the crate does.
struct Cutter {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Cutter {
    fn start() -> Self {
        let test = std::env::current_exe().unwrap();
        let profile = test.parent().and_then(Path::parent).unwrap();
        let path = profile.join("examples/cut");
        let mut child = Command::new(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| {
                panic!(
                    "{}: {error} (cargo test --no-run builds it)",
                    path.display()
                )
            });
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers }
    }

    fn cut(&mut self, server: &str, charset: &str, mode: &str, text: &[u8]) -> String {
        let mut line = format!("{server}\t{charset}\t{mode}\t");
        text.iter()
            .for_each(|byte| write!(line, "{byte:02x}").unwrap());
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Makes texts.
struct Author(Dice);

impl Author {
    fn pick<'a>(&mut self, pieces: &[&'a str]) -> &'a [u8] {
        self.0.pick(pieces).as_bytes()
    }

    fn any(&mut self) -> u8 {
        u8::try_from(1 + self.0.roll(255)).unwrap()
    }

    fn high(&mut self) -> u8 {
        match self.0.once_in(2) {
            true => TELLING[self.0.index(TELLING.len())],
            false => self.any() | 0x80,
        }
    }

    fn pair(&mut self) -> Vec<u8> {
        let trail = self.pick(&["\\", "\\", "`", "'", "\"", "|", "@", "[", "{", "~", "^"]);
        [&[self.high()], trail].concat()
    }

    fn chunk(&mut self) -> Vec<u8> {
        match self.0.roll(12) {
            0..3 => vec![self.high()],
            3 | 4 => self.pair(),
            5 => [
                b"\\",
                self.pick(&["'", "\"", "\\", "n", "0", "%", "_", "Z", "`"]),
            ]
            .concat(),
            6 => self.pick(&["''", "\"\"", "``"]).to_vec(),
            7 => self
                .pick(&["--", "/*", "*/", "#", ";", ",", "/*!", "-- "])
                .to_vec(),
            8 => vec![self.any()],
            _ => self
                .pick(&["a", "1", " ", "x", "_", "$", ".", "\n", "'", "\"", "`"])
                .to_vec(),
        }
    }

    fn content(&mut self, chunks: u64) -> Vec<u8> {
        (0..self.0.roll(chunks))
            .flat_map(|_| self.chunk())
            .collect()
    }

    fn gap(&mut self) -> Vec<u8> {
        match self.0.roll(10) {
            0..5 => b" ".to_vec(),
            5 => self.pick(&["\t", "\n", "\r", "\u{b}", "\u{c}"]).to_vec(),
            6 => [b"/*", &self.content(3)[..], b"*/"].concat(),
            7 => {
                let opening = self.pick(&["--", "#", "-- "]);
                [opening, &[self.any()], &self.content(2), b"\n"].concat()
            }
            _ => vec![self.high()],
        }
    }

    fn maybe_gap(&mut self) -> Vec<u8> {
        match self.0.once_in(2) {
            true => self.gap(),
            false => Vec::new(),
        }
    }

    fn word(&mut self) -> Vec<u8> {
        let mut word = self.pick(&["a", "_a", "n", "x", "b"]).to_vec();
        for _ in 0..self.0.roll(4) {
            match self.0.roll(3) {
                0 => word.push(self.high()),
                1 => word.extend(self.pair()),
                _ => word.extend(self.pick(&["a", "1", "$", "|", "[", "\\"])),
            }
        }
        word
    }

    fn quoted(&mut self, quotes: &[&str], chunks: u64) -> Vec<u8> {
        let quote = self.pick(quotes);
        [quote, &self.content(chunks), quote].concat()
    }

    fn name(&mut self) -> Vec<u8> {
        match self.0.once_in(2) {
            true => self.word(),
            false => self.quoted(&["`", "\""], 4),
        }
    }

    fn variable(&mut self) -> Vec<u8> {
        let name = match self.0.once_in(2) {
            true => self.word(),
            false => self.quoted(&["`", "'", "\""], 3),
        };
        [b"@", &name[..], &self.maybe_gap()].concat()
    }

    fn executable(&mut self) -> Vec<u8> {
        let opening = self.pick(&[
            "/*!1",
            "/*!50000 1",
            "/*!99999 1, 2",
            "/*!100100 2,",
            "/*M!1,",
            "/*!090704",
        ]);
        let closing = self.pick(&["*/", "*/ 1", "*/2"]);
        let inside = match self.0.roll(4) {
            0 => vec![self.any()],
            1 => self.quoted(&["'", "\""], 3),
            _ => Vec::new(),
        };
        [opening, &inside, closing].concat()
    }

    fn item(&mut self) -> Vec<u8> {
        match self.0.roll(14) {
            0..5 => self.quoted(&["'", "'", "\""], 5),
            5 => self.variable(),
            6 => [b"1 AS ", &self.name()[..]].concat(),
            7 => [b"1 AS", &self.gap()[..], &self.name()].concat(),
            8 => [
                b"1--",
                &[self.any()][..],
                self.pick(&["1", "", "'"]),
                self.pick(&["", "\n"]),
            ]
            .concat(),
            9 => [b"1--", &[self.high()][..], self.pick(&["", "'"]), b"\n"].concat(),
            10 => self
                .pick(&[
                    "\\N",
                    "x'41'",
                    "b'01'",
                    "0x4a",
                    ".5",
                    "1e3",
                    "1.",
                    "1.5e-1",
                    "N'a'",
                    "_latin1'a'",
                    "NULL",
                    "$a$",
                    "$$a$$",
                    "1",
                ])
                .to_vec(),
            11 => self.executable(),
            12 => [b"@@sql_mode", &self.gap()[..], &self.word()].concat(),
            _ => [b"(", &self.gap()[..], &self.item(), &self.gap(), b")"].concat(),
        }
    }

    fn text(&mut self) -> Vec<u8> {
        let mut text = [b"SELECT", &self.gap()[..], &self.item()].concat();
        for _ in 0..self.0.roll(3) {
            text.extend([&self.maybe_gap()[..], b",", &self.maybe_gap(), &self.item()].concat());
        }
        if self.0.once_in(8) {
            let gaps = [self.maybe_gap(), self.maybe_gap(), self.gap()];
            text.extend(
                [
                    &gaps[0][..],
                    b";",
                    &gaps[1],
                    b"SELECT",
                    &gaps[2],
                    &self.item(),
                ]
                .concat(),
            );
        }
        if self.0.once_in(8) {
            text.extend(self.pick(&["-- ", "#", ";", " ", "\0", "/*"]));
        }
        text
    }
}

/// The contradiction between a server's results and the tokens of a text, if there is one. A refused text does not
/// contradict.
fn contradiction(reply: &Reply, cut: &str) -> Option<String> {
    let results: Vec<_> = reply.results().collect();
    if cut == "lost" {
        // A string or comment without its end, which the server refuses as well.
        return reply.error().is_none().then(|| "lost".to_owned());
    }
    let statements: Vec<_> = cut.split(';').collect();
    if reply.error().is_none() && statements.len() != results.len() {
        return Some(format!("{} results", results.len()));
    }
    results
        .iter()
        .zip(statements)
        .find_map(|(rows, statement)| {
            let items: Vec<_> = statement.split(',').collect();
            if items.len() != rows.columns.len() {
                return Some(format!("{} columns", rows.columns.len()));
            }
            let hex = |bytes: Vec<u8>| {
                bytes
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect::<String>()
            };
            let values = rows
                .fields(0)
                .into_iter()
                .map(|it| it.map(hex).unwrap_or_default());
            let is_other = |(item, value): &(&str, String)| {
                item.strip_prefix('=').is_some_and(|item| item != value)
            };
            let other = items.into_iter().zip(values).find(is_other);
            other.map(|(_, value)| format!("the string {value}"))
        })
}

fn charsets(conn: &mut RawConn) -> BTreeSet<String> {
    let rows = conn.run("SELECT CHARACTER_SET_NAME FROM information_schema.CHARACTER_SETS");
    rows.texts().into_iter().map(|row| row[0].clone()).collect()
}

/// Sets up the connection. Returns whether the server accepts this client character set.
fn set_up(conn: &mut RawConn, charset: &str, mode: &str) -> bool {
    let is_client = conn
        .query(&format!("SET NAMES {charset}"))
        .error()
        .is_none();
    if is_client {
        conn.run(&format!(
            "SET sql_mode = '{mode}', character_set_results = NULL"
        ));
    }
    is_client
}

#[test]
fn random_texts_are_cut_as_the_servers_cut_them() {
    let seed = e2e::seed(1);
    let texts = sized(12, 400);
    let mut author = Author(Dice::new(seed));
    let mut cutter = Cutter::start();
    let (mut accepted, mut wrong) = (0, Vec::new());
    for (product, server) in PRODUCTS {
        let mut conn = Server::shared(product).root();
        for charset in charsets(&mut conn) {
            for mode in MODES {
                if !set_up(&mut conn, &charset, mode) {
                    continue;
                }
                for _ in 0..texts {
                    let text = author.text();
                    conn.free_buffers();
                    let reply = conn.command(command::QUERY, &text);
                    accepted += usize::from(reply.results().next().is_some());
                    let cut = cutter.cut(server, &charset, mode, &text);
                    if let Some(cause) = contradiction(&reply, &cut) {
                        let text = text.escape_ascii();
                        wrong.push(format!(
                            "{product:?} {charset} {mode:?} \"{text}\": {cut}, not {cause}"
                        ));
                    }
                }
            }
        }
    }
    println!("{accepted} texts were accepted");
    assert!(
        accepted > texts * 37,
        "too few texts were accepted: {accepted}"
    );
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
