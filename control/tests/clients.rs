//! The proxy's client with real servers: logins with each password plugin, and prepared statements.

use std::net::Ipv4Addr;
use std::time::Duration;

use config::{BackendAddress, BackendTlsMode, Secret};
use e2e::{PASSWORD, Product, Server};
use pilotfish_control::{BackendClient, ClientOptions, ResultBounds, ResultSet, StatementResult};
use system::Entropy;
use wire::bound_values::BoundValue;

const PRODUCTS: [Product; 3] = [Product::MySql, Product::MariaDb, Product::MariaDbNext];

const ENOUGH: ResultBounds = ResultBounds {
    rows: 100,
    bytes: 1 << 20,
};

fn options(server: &Server, user: &str, password: &str) -> ClientOptions {
    ClientOptions {
        address: BackendAddress::Tcp {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: server.port(),
        },
        user: user.to_owned(),
        password: Secret::new(password),
        schema: None,
        tls: BackendTlsMode::Off,
        timeout: Duration::from_secs(60),
    }
}

async fn connect(server: &Server) -> BackendClient {
    let options = options(server, "app", PASSWORD);
    BackendClient::connect(&options, &Entropy::seeded(7))
        .await
        .unwrap()
}

/// The rows of a result as texts; NULL is `None`.
fn texts(result: &ResultSet) -> Vec<Vec<Option<String>>> {
    let text = |value: &Option<Vec<u8>>| {
        let value = value.as_ref()?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    let rows = result.rows.iter();
    rows.map(|row| row.iter().map(text).collect()).collect()
}

#[tokio::test]
async fn a_client_is_let_in_with_each_plugin_in_clear_over_tls_and_over_a_socket() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        for (user, password) in product.answerable() {
            let tcp = options(&server, user, password);
            let over_tls = ClientOptions {
                tls: BackendTlsMode::Required,
                ..tcp.clone()
            };
            let over_socket = ClientOptions {
                address: BackendAddress::Unix(server.socket()),
                tls: BackendTlsMode::Preferred,
                schema: Some("information_schema".to_owned()),
                ..tcp.clone()
            };
            let in_clear = (*user != "tls_only").then_some(tcp);
            for options in in_clear.into_iter().chain([over_tls, over_socket]) {
                let client = BackendClient::connect(&options, &Entropy::seeded(7)).await;
                let mut client = client.unwrap_or_else(|error| {
                    panic!(
                        "{product:?} {user} {:?} {:?}: {error}",
                        options.tls, options.address
                    )
                });
                let asked = "SELECT CONNECTION_ID(), DATABASE()";
                let row = texts(&client.query(asked, ENOUGH).await.unwrap()).remove(0);
                let thread_id = client.thread_id().to_string();
                assert_eq!(row, [Some(thread_id), options.schema], "{product:?} {user}");
                client.quit().await;
            }
        }
        let wrong =
            BackendClient::connect(&options(&server, "app", "wrong"), &Entropy::seeded(7)).await;
        assert_eq!(wrong.err().unwrap().number(), Some(1045), "{product:?}");
    }
}

/// Both protocols return the same values.
#[tokio::test]
async fn rows_of_a_prepared_statement_are_those_of_the_same_statement_as_text() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        let mut client = connect(&server).await;
        for statement in [
            "CREATE DATABASE prepared",
            "USE prepared",
            "CREATE TABLE t (a TINYINT UNSIGNED, b SMALLINT, c MEDIUMINT, d INT, e BIGINT UNSIGNED, f FLOAT, g DOUBLE, \
             h DECIMAL(10,3), i DATE, j DATETIME(6), k TIME, l TIMESTAMP NULL, m YEAR, n VARCHAR(9), o BLOB, p BIT(9), \
             q ENUM('x', 'y'), r SET('x', 'y'), s TEXT)",
            "INSERT INTO t VALUES (255, -32768, -8388608, -2147483648, 18446744073709551615, 0.1, -0.25, -1.5, \
             '2026-11-27', '2026-11-27 23:59:01.000007', '-51:04:05', '2026-11-27 01:02:03', 2026, 'ä', X'616263', \
             b'101000001', 'y', 'x,y', '')",
            "INSERT INTO t VALUES (0, 0, 0, 0, 0, 0, 0, 0, '1000-01-01', '1000-01-01 00:00:00.5', '838:59:59', NULL, 1901, \
             '', '', b'1', 'x', '', 's')",
            "INSERT INTO t (a) VALUES (NULL)",
        ] {
            client.run(statement).await.unwrap();
        }
        let question = "SELECT * FROM t ORDER BY e DESC";
        let asked = client.query(question, ENOUGH).await.unwrap();
        let prepared = client.prepare(question).await.unwrap();
        let executed = client.execute(&prepared, &[], ENOUGH).await.unwrap();
        let StatementResult::Rows(executed) = executed else {
            panic!("{product:?}: {executed:?}");
        };
        assert_eq!(asked.rows.len(), 3);
        assert_eq!(texts(&executed), texts(&asked), "{product:?}");
        assert_eq!(executed, asked, "{product:?}");
    }
}

#[tokio::test]
async fn a_server_reads_each_kind_of_bound_value() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        let mut client = connect(&server).await;
        let echo = client.prepare("SELECT ?, ?, ?, ?, ?, ?").await.unwrap();
        for least in [i64::MIN, 7] {
            let values = [
                BoundValue::Signed(least),
                BoundValue::Unsigned(u64::MAX),
                BoundValue::Double(0.25),
                BoundValue::Text("it's ä".as_bytes()),
                BoundValue::Boolean(true),
                BoundValue::Null,
            ];
            let executed = client.execute(&echo, &values, ENOUGH).await.unwrap();
            let StatementResult::Rows(executed) = executed else {
                panic!("{product:?}: {executed:?}");
            };
            let least = least.to_string();
            let expected = [&*least, "18446744073709551615", "0.25", "it's ä", "1"];
            let mut expected = expected.map(|it| Some(it.to_owned())).to_vec();
            expected.push(None);
            assert_eq!(texts(&executed), [expected], "{product:?}");
        }
        let before = statements(&mut client).await;
        client.close(echo).await.unwrap();
        assert_eq!(statements(&mut client).await, before - 1, "{product:?}");
    }
}

/// The number of prepared statements that the server keeps.
async fn statements(client: &mut BackendClient) -> u64 {
    let question = "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'";
    let rows = texts(&client.query(question, ENOUGH).await.unwrap());
    rows[0][1].as_ref().unwrap().parse().unwrap()
}

#[tokio::test]
async fn an_error_leaves_a_client_and_its_statements_usable() {
    for product in PRODUCTS {
        let server = Server::lease(product);
        let mut client = connect(&server).await;
        let refused = client.prepare("SELECT * FROM mysql.none").await;
        assert_eq!(refused.unwrap_err().number(), Some(1146), "{product:?}");
        let text = "SET @changed = (SELECT user FROM mysql.user WHERE user > ?)";
        let change = client.prepare(text).await.unwrap();
        let all = [BoundValue::Text(b"")];
        let refused = client.execute(&change, &all, ENOUGH).await;
        assert_eq!(refused.unwrap_err().number(), Some(1242), "{product:?}");
        let none = [BoundValue::Text(b"zzz")];
        let done = client.execute(&change, &none, ENOUGH).await.unwrap();
        assert_eq!(done, StatementResult::Done { affected_rows: 0 });
    }
}
