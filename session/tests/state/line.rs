//! A connection to a real server whose replies are parsed as the data plane parses them.

use e2e::Server;
use e2e::raw::{Address, Login, RawConn, capability, command};
use pilotfish_session::state::{Changes, Column};
use pilotfish_session::{Piece, Progress, Reply, Sequences, Tally};
use wire::column::ColumnDefinition;
use wire::result::TextRow;
use wire::session_track::{Change, OkTail};
use wire::{Capabilities, Command};

/// A row as text.
pub type Row = Vec<Option<Vec<u8>>>;

/// The login of a client, with the capability that session tracking needs.
pub fn login() -> Login {
    Login::app().schema("d1").and(capability::SESSION_TRACK)
}

/// The parts of a reply that the state model and the comparison need.
#[derive(Debug, Default)]
pub struct Heard {
    pub tally: Tally,
    pub changes: Changes,
    pub error: Option<u16>,
    /// The columns of the last result.
    pub columns: Vec<Column>,
    /// The rows of all results.
    pub rows: Vec<Row>,
}

impl Heard {
    /// Returns the rows as readable text.
    pub fn texts(&self) -> Vec<Vec<String>> {
        let text = |cell: &Option<Vec<u8>>| match cell {
            Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            None => "NULL".to_owned(),
        };
        self.rows
            .iter()
            .map(|row| row.iter().map(text).collect())
            .collect()
    }

    /// Notes the last OK or EOF and the changes that it reports.
    fn note(&mut self, packet: &[u8], capabilities: Capabilities) {
        let tail = OkTail::decode(packet, capabilities).expect("an OK packet");
        for change in tail.changes() {
            match change.expect("a change") {
                Change::Variable { name, value } => self.changes.variable(name, value),
                Change::Schema(name) => self.changes.schema(name),
                Change::StateChanged(true) => self.changes.state_changed(),
                Change::TransactionCharacteristics(statements) => {
                    self.changes.transaction_characteristics(statements);
                }
                _ => {}
            }
        }
    }
}

/// The position of the next packet in a reply.
enum Place {
    Head,
    Columns(u64),
    /// Before the EOF behind the columns.
    ColumnsEnd,
    Rows,
}

/// A connection.
pub struct Line {
    conn: RawConn,
}

impl Line {
    pub fn open(server: &Server, login: &Login) -> Self {
        let address: Address = server.tcp().into();
        let conn = RawConn::connect(&address, login);
        Self {
            conn: conn.expect("the server lets us in"),
        }
    }

    /// Runs a statement over the text protocol.
    pub fn query(&mut self, text: &[u8]) -> Heard {
        self.command(command::QUERY, text)
    }

    /// Runs a statement that must succeed.
    #[track_caller]
    pub fn run(&mut self, text: &str) -> Heard {
        let heard = self.query(text.as_bytes());
        assert_eq!(heard.error, None, "{text}");
        heard
    }

    /// Returns the only row of a statement that must succeed.
    #[track_caller]
    pub fn row(&mut self, text: &str) -> Row {
        self.run(text).rows.remove(0)
    }

    /// Sends a command and returns its whole reply.
    pub fn command(&mut self, byte: u8, argument: &[u8]) -> Heard {
        self.conn.send(&[&[byte], argument].concat());
        let capabilities = Capabilities(self.conn.capabilities);
        let sequences = Sequences::Renumbered;
        let mut reply = Reply::to(Command(byte), capabilities, sequences, 1).expect("a reply");
        let mut heard = Heard::default();
        let mut place = Place::Head;
        let mut body = self.conn.packet().expect("a reply");
        loop {
            place = heard.take(place, &body, capabilities);
            let length = u32::try_from(body.len()).expect("small").to_le_bytes();
            let mut packet = [&[length[0], length[1], length[2], 0], &body[..]].concat();
            let fed = reply.feed(&mut packet, |piece| {
                if let Piece::Changes(packet, result) = piece {
                    heard.changes.ends(result);
                    heard.note(&packet[4..], capabilities);
                }
            });
            fed.expect("the reply is followed");
            if let Progress::Over(_) = reply.progress() {
                heard.tally = *reply.tally();
                return heard;
            }
            body = self.conn.more().expect("more of the reply");
        }
    }
}

impl Heard {
    fn take(&mut self, place: Place, body: &[u8], capabilities: Capabilities) -> Place {
        let first = body.first().copied();
        if first == Some(0xFF) {
            self.error = Some(u16::from_le_bytes([body[1], body[2]]));
            return Place::Head;
        }
        match place {
            Place::Head if first == Some(0) => Place::Head,
            Place::Head => {
                self.columns.clear();
                Place::Columns(u64::from(body[0]))
            }
            Place::Columns(left) => {
                let definition = ColumnDefinition::decode(body, capabilities);
                self.columns.push((&definition.expect("a column")).into());
                match left {
                    1 if capabilities.contains(Capabilities::DEPRECATE_EOF) => Place::Rows,
                    1 => Place::ColumnsEnd,
                    left => Place::Columns(left - 1),
                }
            }
            Place::ColumnsEnd => Place::Rows,
            // No row of these tests has a cell of 16 MiB.
            Place::Rows if first == Some(0xFE) => Place::Head,
            Place::Rows => {
                self.rows.push(row(body));
                Place::Rows
            }
        }
    }
}

fn row(body: &[u8]) -> Row {
    let cells = TextRow::new(body).map(|cell| cell.expect("a cell").map(<[u8]>::to_vec));
    cells.collect()
}
