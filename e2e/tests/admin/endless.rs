//! Statements of the role `stats` that run until their time limit.

use e2e::raw::Shape;
use e2e::{Product, Server, Settings};

use super::Watched;

const ENDLESS: &str =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n";

#[test]
fn endless_statements_of_others_do_not_delay_an_administrator() {
    let settings = Settings::in_front_of([Server::shared(Product::MariaDb)])
        .set("admin.timeout_statement", "5s");
    let watched = Watched::start(settings);
    let mut others: Vec<_> = (0..8).map(|_| watched.look()).collect();
    for other in &mut others {
        other.send_query(ENDLESS).unwrap();
    }
    let mut root = watched.root();
    for _ in 0..20 {
        assert_eq!(root.value("SELECT COUNT(*) > 0 FROM settings"), "1");
    }
    // The login needs a thread as well.
    watched.root().run("SELECT 1");
    for other in &mut others {
        let error = other.reply(Shape::Results);
        assert_eq!(error.error().unwrap().code, 3024);
    }
}
