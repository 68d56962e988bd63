//! The scenario through Rust's mysql_async: `query` goes by the text protocol, `exec` prepares on
//! the server and goes by the binary one. Prints the transcript to stdout.

mod administration;

use std::env;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use mysql_async::prelude::{Protocol, Queryable};
use mysql_async::{
    ChangeUserOpts, Column, Compression, Conn, Error, IsolationLevel, OptsBuilder, Params,
    QueryResult, Result, Row, SslOpts, TxOpts, Value, params,
};
use sha2::{Digest, Sha256};
use tokio_util::io::ReaderStream;

const BIG_BYTES: usize = 20 << 20;

// --- the transcript --------------------------------------------------------------------------

fn section(name: &str) {
    println!("[{name}]");
}

fn say(label: &str, value: impl std::fmt::Display) {
    println!("{label}: {value}");
}

/// Text as it is, other bytes in hexadecimal.
fn shown(value: &Value) -> String {
    match value {
        Value::NULL => "NULL".into(),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains(char::is_control) => text.into(),
            _ => format!("0x{}", hex(bytes)),
        },
        other => other.as_sql(true),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn shown_error(error: &Error) -> String {
    match error {
        Error::Server(refused) => format!("{} {} {}", refused.code, refused.state, refused.message),
        other => other.to_string(),
    }
}

fn say_error<T>(label: &str, outcome: Result<T>) {
    match outcome {
        Ok(_) => panic!("{label}: an error was expected"),
        Err(error) => say(label, shown_error(&error)),
    }
}

/// Prints every result, columns and rows or what changed; an error in the middle is part of it.
async fn say_results<P: Protocol>(mut results: QueryResult<'_, '_, P>) {
    while let Some(columns) = results.columns() {
        if columns.is_empty() {
            let (affected, id) = (results.affected_rows(), results.last_insert_id());
            let (warnings, info) = (results.warnings(), results.info().into_owned());
            say(
                "affected, last id, warnings, info",
                format!("{affected} {id:?} {warnings} {info}"),
            );
        } else {
            let columns: Vec<String> = columns.iter().map(shown_column).collect();
            say("columns", columns.join(" | "));
        }
        match results.collect::<Row>().await {
            Ok(rows) => rows.iter().for_each(say_row),
            Err(error) => say("error", shown_error(&error)),
        }
    }
    if let Err(error) = results.drop_result().await {
        say("error", shown_error(&error));
    }
}

fn shown_column(column: &Column) -> String {
    let (table, name) = (column.table_str(), column.name_str());
    let (kind, flags) = (column.column_type(), column.flags().bits());
    format!("{table}.{name}#{kind:?}/{flags}/{}", column.character_set())
}

fn say_row(row: &Row) {
    let values: Vec<String> = (0..row.len())
        .map(|i| shown(row.as_ref(i).expect("not taken")))
        .collect();
    say("row", values.join(" | "));
}

async fn show(conn: &mut Conn, query: &str) {
    match conn.query_iter(query).await {
        Ok(results) => say_results(results).await,
        Err(error) => say("error", shown_error(&error)),
    }
}

async fn show_exec(conn: &mut Conn, query: &str, params: impl Into<Params> + Send) -> Result<()> {
    say_results(conn.exec_iter(query, params.into()).await?).await;
    Ok(())
}

// --- connecting ------------------------------------------------------------------------------

fn setting(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn options() -> OptsBuilder {
    let tls = SslOpts::default().with_danger_accept_invalid_certs(true);
    let is_on = |name| setting(name) == "1";
    OptsBuilder::default()
        .ip_or_hostname(setting("CLIENT_HOST"))
        .tcp_port(
            setting("CLIENT_PORT")
                .parse()
                .expect("CLIENT_PORT is a port"),
        )
        .user(Some(setting("CLIENT_USER")))
        .pass(Some(setting("CLIENT_PASSWORD")))
        .db_name(Some(setting("CLIENT_DATABASE")))
        .prefer_socket(false) // it would leave the proxy for the server's own socket
        .ssl_opts(is_on("CLIENT_TLS").then_some(tls))
        .compression(is_on("CLIENT_COMPRESS").then(Compression::fast))
        .connect_attribute("program_name", "scenario")
        .local_infile_handler(Some(|name: &[u8]| {
            let name = String::from_utf8_lossy(name).into_owned();
            Box::pin(async move {
                let file = tokio::fs::File::open(name)
                    .await
                    .map_err(mysql_async::LocalInfileError::from)?;
                Ok(ReaderStream::new(file).boxed())
            }) as _
        }))
}

async fn connect() -> Result<Conn> {
    Conn::new(options()).await
}

async fn value(conn: &mut Conn, query: &str) -> Result<String> {
    let value: Option<Value> = conn.query_first(query).await?;
    Ok(value.as_ref().map_or("no row".into(), shown))
}

/// Sends schema.sql, whose statements are parted by blank lines.
async fn prepare_schema(conn: &mut Conn) -> Result<()> {
    let schema = setting("CLIENT_SCHEMA");
    conn.query_drop(format!("DROP DATABASE IF EXISTS {schema}"))
        .await?;
    conn.query_drop(format!(
        "CREATE DATABASE {schema} DEFAULT CHARACTER SET utf8mb4"
    ))
    .await?;
    conn.query_drop(format!("USE {schema}")).await?;
    let content = std::fs::read_to_string(format!("{}/schema.sql", setting("CLIENT_SCENARIO")))?;
    for statement in content.trim().split("\n\n") {
        conn.query_drop(statement).await?;
    }
    Ok(())
}

// --- the steps -------------------------------------------------------------------------------

async fn login(conn: &mut Conn) -> Result<()> {
    section("login");
    say("server", format!("{:?}", conn.server_version()));
    let thread = value(conn, "SELECT CONNECTION_ID()").await?;
    say("thread id agrees", thread == conn.id().to_string());
    say("user", value(conn, "SELECT CURRENT_USER()").await?);
    say("database", value(conn, "SELECT DATABASE()").await?);
    // Over TLS the library first says that it sends no attributes, and then sends them; servers go
    // by the former.
    say_attributes(conn).await;
    // MySQL forgets which passwords it has seen: the next login takes the long way.
    conn.query_drop("FLUSH PRIVILEGES").await?;
    for times in ["forgotten", "remembered"] {
        let mut again = connect().await?;
        say(
            &format!("login while {times}"),
            value(&mut again, "SELECT CURRENT_USER()").await?,
        );
        again.disconnect().await?;
    }
    say_error(
        "wrong password",
        Conn::new(options().pass(Some("not it"))).await,
    );
    say_error(
        "no password",
        Conn::new(options().pass(None::<String>)).await,
    );
    say_error(
        "unknown database",
        Conn::new(options().db_name(Some("no_such_database"))).await,
    );
    Ok(())
}

async fn say_attributes(conn: &mut Conn) {
    let attributes = "SELECT attr_name, IF(attr_name IN ('_pid', '_thread', '_server_host'), '', attr_value) \
        FROM performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID() ORDER BY attr_name";
    show(conn, attributes).await;
}

async fn query(conn: &mut Conn) -> Result<()> {
    section("query");
    show(conn, "SELECT 1 AS one, 'two' AS two, NULL AS three").await;
    show(conn, "SELECT d FROM digits WHERE d > 100").await;
    show(conn, "DO 1").await;
    show(conn, "SELECT '' AS blank, '🐟' AS fish").await;
    show(
        conn,
        "SELECT @@character_set_client, @@character_set_results, @@collation_connection",
    )
    .await;
    Ok(())
}

async fn types(conn: &mut Conn) -> Result<()> {
    section("types");
    show(conn, "SELECT * FROM everything ORDER BY id").await;
    show_exec(
        conn,
        "SELECT * FROM everything WHERE id > ? ORDER BY id",
        (0,),
    )
    .await
}

async fn parameters(conn: &mut Conn) -> Result<()> {
    section("parameters");
    let statement = conn.prep("SELECT ? AS a, ? AS b, ? AS c").await?;
    let moment = Value::Date(2024, 2, 29, 12, 30, 45, 123456);
    let sets: [Vec<Value>; 4] = [
        vec![1.into(), "two".into(), Value::NULL],
        vec!["1".into(), 2.5.into(), b"\0\\".as_slice().into()],
        vec![Value::NULL, "🐟 it's".into(), i64::MIN.into()],
        vec![u64::MAX.into(), Value::Time(true, 2, 3, 4, 5, 6), moment],
    ];
    for set in sets {
        say_results(conn.exec_iter(&statement, set).await?).await;
    }
    conn.close(statement).await?;
    for key in [1.into(), "2".into(), Value::NULL] {
        let by_key = "SELECT huge, words FROM everything WHERE id = :key";
        show_exec(conn, by_key, params! { "key" => key }).await?;
    }
    say_error(
        "cannot be prepared",
        conn.prep("SELECT * FROM no_such_table WHERE id = ?").await,
    );
    Ok(())
}

async fn writes(conn: &mut Conn) -> Result<()> {
    section("writes");
    let insert = "INSERT INTO ledger (name, amount) VALUES (?, ?)";
    show_exec(conn, insert, ("ann", 1)).await?;
    show(
        conn,
        "INSERT INTO ledger (name, amount) VALUES ('bob', 2), ('cid', 3), ('dee', 4)",
    )
    .await;
    show_exec(
        conn,
        "UPDATE ledger SET amount = amount + ? WHERE amount > ?",
        (1, 1),
    )
    .await?;
    show(conn, "UPDATE ledger SET amount = amount WHERE amount > 1").await;
    show(
        conn,
        "INSERT INTO ledger (name, amount) VALUES ('ann', 9) ON DUPLICATE KEY UPDATE amount = 9",
    )
    .await;
    show(conn, "DELETE FROM ledger WHERE name = 'dee'").await;
    conn.exec_batch(insert, (0..100).map(|i| (format!("many {i}"), i)))
        .await?;
    show(conn, "SELECT COUNT(*), SUM(amount) FROM ledger").await;
    Ok(())
}

async fn transactions(conn: &mut Conn) -> Result<()> {
    section("transactions");
    let insert = "INSERT INTO ledger (name, amount) VALUES (?, 100)";
    let mut serializable = TxOpts::default();
    serializable.with_isolation_level(IsolationLevel::Serializable);
    let mut transaction = conn.start_transaction(serializable).await?;
    transaction.exec_drop(insert, ("rolled back",)).await?;
    transaction.rollback().await?;
    let mut transaction = conn.start_transaction(TxOpts::default()).await?;
    transaction.exec_drop(insert, ("committed",)).await?;
    transaction.commit().await?;
    let mut transaction = conn.start_transaction(TxOpts::default()).await?;
    transaction.exec_drop(insert, ("dropped",)).await?;
    drop(transaction); // rolled back before the next command
    show(conn, "SELECT name FROM ledger WHERE amount = 100").await;
    let mut read_only = TxOpts::default();
    read_only.with_readonly(true);
    let mut transaction = conn.start_transaction(read_only).await?;
    say_error(
        "read only",
        transaction.query_drop("DELETE FROM ledger").await,
    );
    transaction.rollback().await
}

async fn errors(conn: &mut Conn) -> Result<()> {
    section("errors");
    for query in [
        "INSERT INTO ledger (name, amount) VALUES ('ann', 1)",
        "SELEC 1",
        "SELECT * FROM no_such_table",
        "SELECT nothing FROM ledger",
        "",
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'Grüße 🐟', MYSQL_ERRNO = 30001",
    ] {
        say_error("refused", conn.query_drop(query).await);
    }
    let insert = "INSERT INTO ledger (name, amount) VALUES (?, ?)";
    say_error("duplicate key", conn.exec_drop(insert, ("ann", 1)).await);
    say("alive afterwards", value(conn, "SELECT 42").await?);
    Ok(())
}

async fn warnings(conn: &mut Conn) -> Result<()> {
    section("warnings");
    show(conn, "SELECT CAST('12abc' AS SIGNED), 1 / 0").await;
    say("count", conn.get_warnings());
    show(conn, "SHOW WARNINGS").await;
    show(conn, "DROP TABLE IF EXISTS never_there").await;
    Ok(())
}

async fn many_statements(conn: &mut Conn) -> Result<()> {
    section("many statements");
    let many = "SELECT 1 AS a; INSERT INTO ledger (name, amount) VALUES ('multi', 1); DO 0; \
        SELECT 2 AS b UNION SELECT 3; UPDATE ledger SET amount = 2 WHERE name = 'multi'";
    show(conn, many).await;
    show(
        conn,
        "SELECT 1 AS a; SELECT * FROM no_such_table; SELECT 2 AS b",
    )
    .await;
    say("alive afterwards", value(conn, "SELECT 42").await?);
    // Only the first of two results is looked at; the library drains the other.
    say("first of two", value(conn, "SELECT 1; SELECT 2").await?);
    say("alive afterwards", value(conn, "SELECT 42").await?);
    Ok(())
}

async fn procedures(conn: &mut Conn) -> Result<()> {
    section("procedures");
    show_exec(conn, "CALL describe_number(?, ?, ?)", (4, "four", 0)).await?;
    conn.query_drop("SET @title = 'four'").await?;
    show(conn, "CALL describe_number(4, @title, @doubled)").await;
    show(conn, "SELECT @title, @doubled").await;
    show(conn, "CALL refuse()").await;
    say("alive afterwards", value(conn, "SELECT 42").await?);
    Ok(())
}

async fn big_result(conn: &mut Conn) -> Result<()> {
    section("big result");
    let mut digest = Sha256::new();
    let mut count = 0;
    let query = "SELECT n, word, seventh FROM numbers ORDER BY n";
    let mut rows = conn
        .exec_stream::<(u64, String, Option<u64>), _, _>(query, ())
        .await?;
    while let Some((n, word, seventh)) = rows.try_next().await? {
        let seventh = seventh.map_or("NULL".into(), |seventh| seventh.to_string());
        digest.update(format!("{n}|{word}|{seventh}\n"));
        count += 1;
    }
    say("rows", format!("{count} {}", hex(&digest.finalize())));
    Ok(())
}

async fn big_packets(conn: &mut Conn) -> Result<()> {
    section("big packets");
    let body: Vec<u8> = (0..=250).cycle().take(BIG_BYTES).collect();
    say("sent", sha256(&body));
    conn.exec_drop("INSERT INTO archive VALUES (?, ?)", (1, body))
        .await?;
    say(
        "stored",
        value(conn, "SELECT SHA2(body, 256) FROM archive WHERE id = 1").await?,
    );
    let read: Option<Vec<u8>> = conn
        .exec_first("SELECT body FROM archive WHERE id = ?", (1,))
        .await?;
    say("read", sha256(&read.unwrap_or_default()));
    // A row of length-prefixed text is 4 bytes more than the text: these straddle 2^24 - 1.
    for length in 16_777_210..16_777_214 {
        say(
            "row around 16 MiB",
            value(conn, &format!("SELECT REPEAT('x', {length})"))
                .await?
                .len(),
        );
    }
    // A query is its text and one byte more.
    for length in 16_777_212..16_777_218 {
        let (start, end) = ("SELECT LENGTH('", "')");
        let query = format!(
            "{start}{}{end}",
            "x".repeat(length - start.len() - end.len())
        );
        say("query around 16 MiB", value(conn, &query).await?);
    }
    Ok(())
}

async fn local_infile(conn: &mut Conn) -> Result<()> {
    section("local infile");
    show(
        conn,
        &format!(
            "LOAD DATA LOCAL INFILE '{}' INTO TABLE loaded",
            setting("CLIENT_LOAD_FILE")
        ),
    )
    .await;
    show(
        conn,
        "SELECT COUNT(*), SUM(id), SUM(CRC32(name)) FROM loaded",
    )
    .await;
    // The library gives up a connection whose file it cannot read.
    let mut other = connect().await?;
    let missing = "LOAD DATA LOCAL INFILE '/no/such/file' INTO TABLE loaded";
    other
        .query_drop(format!("USE {}", setting("CLIENT_SCHEMA")))
        .await?;
    say_error("missing file", other.query_drop(missing).await);
    say("alive afterwards", value(conn, "SELECT 42").await?);
    Ok(())
}

async fn session_commands(conn: &mut Conn) -> Result<()> {
    section("session");
    conn.ping().await?;
    conn.query_drop("SET @kept = 'yes'").await?;
    say("before", value(conn, "SELECT @kept").await?);
    say("reset", conn.reset().await?);
    say("after the reset", value(conn, "SELECT @kept").await?);
    conn.query_drop("SET @kept = 'yes'").await?;
    conn.change_user(ChangeUserOpts::new().with_db_name(Some(setting("CLIENT_DATABASE"))))
        .await?;
    say(
        "after the change of user",
        value(conn, "SELECT @kept").await?,
    );
    say("database", value(conn, "SELECT DATABASE()").await?);
    say_error("no database", conn.query_drop("USE no_such_database").await);
    let mut other = connect().await?;
    let wrong = ChangeUserOpts::new().with_pass(Some("not it".into()));
    say_error("change of user refused", other.change_user(wrong).await);
    conn.query_drop(format!("USE {}", setting("CLIENT_SCHEMA")))
        .await
}

/// Waits until the other connection's thread has ended on the server.
async fn is_gone(conn: &mut Conn, thread: u32) -> Result<bool> {
    for _ in 0..250 {
        let left = "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?";
        if conn.exec_first(left, (thread,)).await? == Some(0) {
            return Ok(true);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(false)
}

async fn close(mut conn: Conn) -> Result<()> {
    section("close");
    let other = connect().await?;
    let thread = other.id();
    other.disconnect().await?;
    say("gone from the server", is_gone(&mut conn, thread).await?);
    let mut victim = connect().await?;
    conn.query_drop(format!("KILL {}", victim.id())).await?;
    say("killed", victim.query_drop("SELECT 1").await.is_err());
    conn.query_drop(format!("DROP DATABASE {}", setting("CLIENT_SCHEMA")))
        .await?;
    conn.disconnect().await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    // Other programs of this workspace bring a second provider, so that none would be chosen by itself.
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.install_default().expect("there is none yet");
    if env::var("CLIENT_STORY").is_ok_and(|it| it == "administration") {
        return administration::tell().await;
    }
    let mut conn = connect().await?;
    prepare_schema(&mut conn).await?;
    login(&mut conn).await?;
    query(&mut conn).await?;
    types(&mut conn).await?;
    parameters(&mut conn).await?;
    writes(&mut conn).await?;
    transactions(&mut conn).await?;
    errors(&mut conn).await?;
    warnings(&mut conn).await?;
    many_statements(&mut conn).await?;
    procedures(&mut conn).await?;
    big_result(&mut conn).await?;
    big_packets(&mut conn).await?;
    local_infile(&mut conn).await?;
    session_commands(&mut conn).await?;
    close(conn).await
}
