use std::time::Duration;

use route::Family;

use super::*;
use crate::error::StreamError;
use crate::position::Position;
use crate::registration::{Identity, Registration};

fn identity() -> Identity {
    Identity {
        server_id: 4711,
        uuid: "11111111-2222-4333-8444-555555555555".to_owned(),
        heartbeat: Duration::from_secs(5),
        semi_sync: false,
    }
}

/// Serves `commands` commands: OK to SET and other commands, `values` in this order to SELECT. Returns the commands.
async fn served(mut server: ScriptedServer, values: &[&str], commands: usize) -> Vec<Vec<u8>> {
    let mut values = values.iter();
    let mut told = Vec::new();
    for _ in 0..commands {
        let command = server.command().await;
        if command.starts_with(b"\x03SELECT") || command.starts_with(b"\x03SHOW") {
            server.value(values.next().copied()).await;
        } else if command[0] == 0x03 || command[0] == 0x15 {
            server.ok().await;
        }
        told.push(command);
    }
    told
}

fn texts(told: &[Vec<u8>]) -> Vec<String> {
    let texts = told.iter().filter(|it| it[0] == 3);
    texts
        .map(|it| String::from_utf8_lossy(&it[1..]).into_owned())
        .collect()
}

#[tokio::test]
async fn a_replica_sets_capability_and_position_in_variables_of_mariadb() {
    let (mut client, server) = ScriptedServer::pair("5.5.5-10.11.14-MariaDB-log");
    let serving = tokio::spawn(served(server, &["1700000000", "NONE"], 10));
    let mut registration = Registration::new(&mut client);
    assert_eq!(registration.family(), Family::MariaDb);
    let greeted = registration.register(&identity()).await.unwrap();
    assert_eq!(
        (greeted.server_time, greeted.checksum),
        (1_700_000_000, Checksum::None)
    );
    let position = Position::parse(Family::MariaDb, "0-1-100,1-2-7").unwrap();
    registration.begin(&identity(), &position).await.unwrap();
    let told = serving.await.unwrap();
    let texts = texts(&told);
    assert!(
        texts.contains(&"SET @mariadb_slave_capability = 4".to_owned()),
        "{texts:?}"
    );
    assert!(texts.contains(&"SET @slave_connect_state = '0-1-100,1-2-7'".to_owned()));
    assert!(texts.contains(&"SET @master_heartbeat_period = 5000000000".to_owned()));
    let dump = told.last().unwrap();
    assert_eq!(dump[..], [0x12, 4, 0, 0, 0, 2, 0, 0x67, 0x12, 0, 0]);
    let register = told.iter().find(|it| it[0] == 0x15).unwrap();
    assert_eq!(register[1..5], [0x67, 0x12, 0, 0]);
}

#[tokio::test]
async fn a_replica_sends_its_identity_and_its_gtid_set_to_mysql() {
    let (mut client, server) = ScriptedServer::pair("9.7.0");
    let serving = tokio::spawn(served(server, &["1700000000", "CRC32"], 7));
    let mut registration = Registration::new(&mut client);
    let greeted = registration.register(&identity()).await.unwrap();
    assert_eq!(greeted.checksum, Checksum::Crc32);
    let set = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5";
    let position = Position::parse(Family::MySql, set).unwrap();
    registration.begin(&identity(), &position).await.unwrap();
    let told = serving.await.unwrap();
    let texts = texts(&told).join("\n");
    for part in [
        "@source_heartbeat_period = 5000000000",
        "@source_binlog_checksum = @@GLOBAL.binlog_checksum",
        "@replica_uuid = '11111111-2222-4333-8444-555555555555'",
    ] {
        assert!(texts.contains(part), "{texts}");
    }
    let dump = told.last().unwrap();
    assert_eq!(dump[..3], [0x1e, 4, 0]);
    // One source, and the end of its interval excluded.
    let data = &dump[23..];
    assert_eq!((data[0], data[24], data[32], data[40]), (1, 1, 1, 6));
}

#[tokio::test]
async fn a_server_without_gtids_cannot_be_followed() {
    let (mut client, server) = ScriptedServer::pair("9.7.0");
    let serving = tokio::spawn(served(server, &["OFF_PERMISSIVE"], 1));
    let end = Registration::new(&mut client).end_of_log().await;
    let text = end.unwrap_err().to_string();
    assert!(text.contains("gtid_mode = OFF_PERMISSIVE"), "{text}");
    serving.await.unwrap();
}

#[tokio::test]
async fn purged_transactions_are_reported() {
    let set = |text: &str| Position::parse(Family::MySql, text).unwrap();
    let uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    let (mut client, server) = ScriptedServer::pair("9.7.0");
    let purged = format!("{uuid}:1-100");
    let serving = tokio::spawn(async move { served(server, &[&purged, &purged], 2).await });
    let mut registration = Registration::new(&mut client);
    let found = registration.purged(&set(&format!("{uuid}:1-200"))).await;
    assert_eq!(found.unwrap(), None);
    let found = registration.purged(&set(&format!("{uuid}:1-90"))).await;
    let (told, begin) = found.unwrap().unwrap();
    assert_eq!(told.missing, format!("{uuid}:91-100"));
    assert_eq!(begin, set(&format!("{uuid}:1-100")));
    serving.await.unwrap();
}

#[tokio::test]
async fn an_error_of_the_server_ends_the_registration() {
    let (mut client, mut server) = ScriptedServer::pair("9.7.0");
    let serving = tokio::spawn(async move {
        server.statement().await;
        server.error(1, 1227, "Access denied").await;
    });
    let end = Registration::new(&mut client).register(&identity()).await;
    assert!(matches!(end, Err(StreamError::Client(error)) if error.number() == Some(1227)));
    serving.await.unwrap();
}
