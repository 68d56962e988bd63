//! Clients that read beside the client of a scenario, so that several reads are in flight at once. The proxy then puts
//! their reads and the scenario's reads on shared lanes.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::product::Product;
use crate::raw::{Address, Login, RawConn, Shape};
use crate::server::Server;
use crate::wait::SOON;

/// The schema that the companions read.
const SCHEMA: &str = "companions";

/// The number of companions.
const COUNT: u32 = 3;

/// Clients with one read in flight each.
#[derive(Debug)]
pub struct Companions(Vec<Companion>);

#[derive(Debug)]
struct Companion {
    conn: RawConn,
    number: u32,
    is_waiting: bool,
}

impl Companions {
    /// Logs the companions in.
    pub fn connect(product: Product, address: &Address) -> Self {
        make_table(product);
        let login = Login::app().schema(SCHEMA).collation(product.collation());
        let companion = |number| Companion {
            conn: RawConn::connect(address, &login)
                .unwrap_or_else(|error| panic!("a companion: {error}")),
            number,
            is_waiting: false,
        };
        Self((1..=COUNT).map(companion).collect())
    }

    /// Sends each companion's read, unless its previous read has no reply yet: while the scenario's client is pinned,
    /// the companion may have no connection.
    pub fn read(&mut self) {
        for companion in &mut self.0 {
            companion.send();
        }
    }

    /// Waits for all replies.
    pub fn finish(&mut self) {
        for companion in &mut self.0 {
            companion.conn.patience(SOON);
            companion.finish();
        }
    }
}

impl Companion {
    fn send(&mut self) {
        if self.is_waiting && !self.conn.is_answered_within(Duration::ZERO) {
            return;
        }
        self.finish();
        let sql = format!("SELECT n, t FROM numbers WHERE n = {}", self.number);
        self.conn.send_query(&sql).expect("the proxy reads on");
        self.is_waiting = true;
    }

    /// Waits for the reply, and checks that it has the companion's own row.
    fn finish(&mut self) {
        if std::mem::take(&mut self.is_waiting) {
            let reply = self.conn.reply(Shape::Results);
            assert!(reply.error().is_none(), "{:?}", reply.error());
            let number = self.number.to_string();
            let text = format!("of companion {number}");
            assert_eq!(reply.texts(), [[number, text]]);
        }
    }
}

/// Makes the table that the companions read, once for each product.
fn make_table(product: Product) {
    static MADE: Mutex<Vec<Product>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if made.contains(&product) {
        return;
    }
    let mut root = Server::shared(product).root();
    root.run(&format!("CREATE DATABASE {SCHEMA}"));
    root.run(&format!(
        "CREATE TABLE {SCHEMA}.numbers (n INT PRIMARY KEY, t VARCHAR(20))"
    ));
    for number in 1..=COUNT {
        root.run(&format!(
            "INSERT INTO {SCHEMA}.numbers VALUES ({number}, 'of companion {number}')"
        ));
    }
    made.push(product);
}
