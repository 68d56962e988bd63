//! What the admin port answers.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Result, TxOpts};

use crate::{options, say, shown_error, value};

pub async fn tell() -> Result<()> {
    let mut conn = Conn::new(options()).await?;
    say("user", value(&mut conn, "SELECT USER()").await?);
    let joined = "SELECT b.weight, s.value FROM backends b JOIN settings s ON s.name = 'limits.sessions_max'";
    let row: Option<(u32, String)> = conn.query_first(joined).await?;
    let (weight, limit) = row.expect("a row");
    say("joined", format!("{weight} | {limit}"));
    say(
        "tables",
        value(&mut conn, "SHOW TABLES LIKE 'sess%'").await?,
    );
    let prepared = "SELECT ? AS number, ? AS word, name FROM settings WHERE name = ?";
    let values = (7, "it's 🐟", "limits.sessions_max");
    let row: Option<(i64, String, String)> = conn.exec_first(prepared, values).await?;
    let (number, word, name) = row.expect("a row");
    say("prepared", format!("{number} | {word} | {name}"));
    conn.query_drop("USE stats").await?;
    say("schema", value(&mut conn, "SELECT DATABASE()").await?);
    conn.query_drop("USE pilotfish").await?;
    let setting = "SELECT value FROM settings WHERE name = 'limits.sessions_max'";
    let change = "UPDATE settings SET value = ? WHERE name = ?";
    conn.exec_drop(change, (888, "limits.sessions_max")).await?;
    let affected = conn.affected_rows();
    say(
        "changed",
        format!("{affected} | {}", value(&mut conn, setting).await?),
    );
    let mut transaction = conn.start_transaction(TxOpts::default()).await?;
    transaction
        .exec_drop(change, (999, "limits.sessions_max"))
        .await?;
    transaction.rollback().await?;
    say("rolled back", value(&mut conn, setting).await?);
    conn.query_drop("REVERT").await?;
    say("reverted", value(&mut conn, setting).await?);
    let error = conn.exec_drop("SELECT * FROM nowhere", ()).await;
    say("unknown table", code(error));
    say("syntax", code(conn.query_drop("SELECT FROM").await));
    let wrong = Conn::new(options().pass(Some("not it"))).await;
    say("wrong password", code(wrong.map(drop)));
    conn.ping().await?;
    say("alive", value(&mut conn, "SELECT 42").await?);
    conn.disconnect().await
}

fn code(outcome: Result<()>) -> u16 {
    match outcome {
        Err(Error::Server(refused)) => refused.code,
        Err(other) => panic!("{}", shown_error(&other)),
        Ok(()) => panic!("an error was expected"),
    }
}
