//! GET DIAGNOSTICS in all its forms, while another session uses the connection between any two commands.

use e2e::raw::{Execute, RawConn, command};
use e2e::{Product, Proxy, Server, Settings};

const PRODUCTS: [Product; 3] = [Product::MariaDb, Product::MariaDbNext, Product::MySql];

const WARNS: &str = "SELECT CAST('x' AS SIGNED), CAST('y' AS SIGNED)";

const TEXTS: &[&str] = &[
    "GET DIAGNOSTICS @a = NUMBER, @b = ROW_COUNT",
    "GET CURRENT DIAGNOSTICS CONDITION 1 @a = MESSAGE_TEXT, @b = MYSQL_ERRNO, @c = RETURNED_SQLSTATE",
    "GET DIAGNOSTICS CONDITION 2 @a = MESSAGE_TEXT, @b = CLASS_ORIGIN, @c = TABLE_NAME;",
    "GET DIAGNOSTICS CONDITION @n @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION @many @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION @nil @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION @text @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION '2' @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION 1.4 @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION 0x1 @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION TRUE @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION NULL @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION 0 @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION 99999999999999999999 @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION @@warning_count @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION @@session.max_error_count @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION foo @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION 1+1 @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION (1) @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION -1 @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION ? @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION (SELECT 1) @a = MESSAGE_TEXT",
    "GET STACKED DIAGNOSTICS @a = NUMBER",
    "GET STACKED DIAGNOSTICS CONDITION 1 @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS @a = FOO",
    "GET DIAGNOSTICS CONDITION 1 @a = FOO",
    "GET DIAGNOSTICS CONDITION 1 @a = NUMBER",
    "GET DIAGNOSTICS @a = MESSAGE_TEXT",
    "GET DIAGNOSTICS CONDITION 1 @a = `MESSAGE_TEXT`",
    "GET DIAGNOSTICS a = NUMBER",
    "GET DIAGNOSTICS CONDITION 1 a = MESSAGE_TEXT",
    "GET DIAGNOSTICS",
    "GET",
    "GET DIAGNOSTICS CONDITION",
    "GET DIAGNOSTICS CONDITION 1",
    "GET DIAGNOSTICS @a",
    "GET DIAGNOSTICS @a =",
    "GET DIAGNOSTICS @a = NUMBER,",
    "GET DIAGNOSTICS @a := NUMBER",
    "GET FOO DIAGNOSTICS @a = NUMBER",
    "/*! GET DIAGNOSTICS @a = NUMBER */",
    "GET DIAGNOSTICS @`a` = NUMBER, @'b' = ROW_COUNT",
    "GET DIAGNOSTICS @a = NUMBER; GET DIAGNOSTICS CONDITION 1 @b = MESSAGE_TEXT",
    "SELECT 1; GET DIAGNOSTICS @a = NUMBER",
    "SELECT CAST('z' AS SIGNED); GET DIAGNOSTICS CONDITION 1 @a = MESSAGE_TEXT; SELECT @a",
    "SET STATEMENT max_statement_time = 9 FOR GET DIAGNOSTICS @a = NUMBER",
    "EXECUTE IMMEDIATE 'GET DIAGNOSTICS @a = NUMBER, @b = ROW_COUNT'",
    "EXECUTE IMMEDIATE 'GET DIAGNOSTICS CONDITION 1 @a = MESSAGE_TEXT'",
    "EXECUTE IMMEDIATE 'GET DIAGNOSTICS CONDITION 9 @a = MESSAGE_TEXT'",
    "EXECUTE IMMEDIATE 'GET DIAGNOSTICS @a = FOO'",
    "EXECUTE IMMEDIATE @get",
];

/// The client's view of a statement and of its diagnostics.
fn seen(
    conn: &mut RawConn,
    mut between: impl FnMut(),
    run: impl FnOnce(&mut RawConn) -> String,
) -> String {
    conn.run(
        "SET @a = '-', @b = '-', @c = '-', @n = 2, @many = 9, @text = '1x', \
         @get = 'GET DIAGNOSTICS CONDITION 2 @a = MESSAGE_TEXT'",
    );
    between();
    conn.run(WARNS);
    between();
    let told = run(conn);
    between();
    let shown = conn.query("SHOW WARNINGS").texts();
    between();
    let values = conn.run("SELECT @a, @b, @c").texts();
    format!("{told} {shown:?} {values:?}")
}

fn told(reply: &e2e::raw::Reply) -> String {
    format!(
        "{:?} {:?}",
        reply.error().map(ToString::to_string),
        reply.texts()
    )
}

/// A client without a proxy, a client behind a proxy with few connections, and another client that uses these as
/// well. One connection is too few for a session that is pinned by what it has prepared.
struct Compared {
    product: Product,
    direct: RawConn,
    pooled: RawConn,
    other: RawConn,
    _proxy: Proxy,
}

impl Compared {
    fn start(product: Product, connections: i32) -> Self {
        let server = Server::shared(product);
        let proxy = Proxy::start(&Settings::pooled(server, connections));
        Self {
            product,
            direct: server.connect(""),
            pooled: proxy.connect(),
            other: proxy.connect(),
            _proxy: proxy,
        }
    }

    /// Runs `run` three times: directly, with another session's statement between any two commands, and without.
    fn compare(&mut self, run: impl Fn(&mut RawConn) -> String, what: &str) {
        let product = self.product;
        let directly = seen(&mut self.direct, || (), &run);
        let other = &mut self.other;
        let intrude = || drop(other.run("SELECT CAST('other' AS SIGNED)"));
        let through = seen(&mut self.pooled, intrude, &run);
        assert_eq!(through, directly, "{product:?}, another between: {what}");
        let alone = seen(&mut self.pooled, || (), &run);
        assert_eq!(alone, directly, "{product:?}: {what}");
        self.pooled.command(command::RESET_CONNECTION, b"");
    }
}

#[test]
fn each_form_of_get_diagnostics_gives_the_servers_result() {
    for product in PRODUCTS {
        let mut compared = Compared::start(product, 1);
        // MySQL has no EXECUTE IMMEDIATE.
        let is_known = |text: &&&str| product.is_mariadb() || !text.starts_with("EXECUTE IMM");
        for text in TEXTS.iter().filter(is_known) {
            compared.compare(|conn| told(&conn.query(text)), text);
        }
    }
}

#[test]
fn get_diagnostics_works_in_a_prepared_text() {
    for product in PRODUCTS {
        let mut compared = Compared::start(product, 2);
        for text in [
            "GET DIAGNOSTICS @a = NUMBER, @b = ROW_COUNT",
            "GET DIAGNOSTICS CONDITION 1 @a = MESSAGE_TEXT",
            "GET DIAGNOSTICS CONDITION @n @a = MESSAGE_TEXT",
            "GET DIAGNOSTICS CONDITION 9 @a = MESSAGE_TEXT",
            "GET STACKED DIAGNOSTICS @a = NUMBER",
            "GET DIAGNOSTICS @a = FOO",
        ] {
            let run = |conn: &mut RawConn| {
                let prepared = told(&conn.query(&format!("PREPARE s FROM '{text}'")));
                conn.run(WARNS);
                let executed = told(&conn.query("EXECUTE s"));
                let again = told(&conn.query("EXECUTE s"));
                format!("{prepared} {executed} {again}")
            };
            compared.compare(run, text);
        }
    }
}

#[test]
fn get_diagnostics_works_in_a_prepared_command() {
    for product in PRODUCTS {
        let mut compared = Compared::start(product, 2);
        for text in [
            "GET DIAGNOSTICS @a = NUMBER, @b = ROW_COUNT",
            "GET DIAGNOSTICS CONDITION 1 @a = MESSAGE_TEXT, @b = MYSQL_ERRNO",
            "GET DIAGNOSTICS CONDITION @n @a = MESSAGE_TEXT",
            "GET DIAGNOSTICS CONDITION 9 @a = MESSAGE_TEXT",
            "GET DIAGNOSTICS CONDITION ? @a = MESSAGE_TEXT",
            "GET STACKED DIAGNOSTICS @a = NUMBER",
            "GET DIAGNOSTICS @a = FOO",
            "GET DIAGNOSTICS CONDITION foo @a = MESSAGE_TEXT",
        ] {
            let run = |conn: &mut RawConn| {
                let prepared = conn.prepare(text);
                let mut all = told(&prepared);
                if prepared.error().is_none() {
                    for _ in 0..2 {
                        conn.run(WARNS);
                        let execute = Execute::new(prepared.statement(), &[]);
                        all += &told(&conn.execute(&execute));
                    }
                }
                all
            };
            compared.compare(run, text);
        }
    }
}

/// A block runs on the server, which has only the list of its connection.
#[test]
fn a_block_reads_the_list_of_its_own_statements() {
    for product in [Product::MariaDb, Product::MariaDbNext] {
        let mut compared = Compared::start(product, 2);
        for text in [
            "BEGIN NOT ATOMIC DECLARE x INT; SELECT CAST('z' AS SIGNED); \
             GET DIAGNOSTICS x = NUMBER; SET @a = x; END",
            "BEGIN NOT ATOMIC DECLARE EXIT HANDLER FOR SQLEXCEPTION \
             GET DIAGNOSTICS CONDITION 1 @a = MESSAGE_TEXT; SELECT nope; END",
        ] {
            compared.compare(|conn| told(&conn.query(text)), text);
        }
    }
}
