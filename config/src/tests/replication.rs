//! Replication streams.

use super::{File, load, with_backend};
use crate::*;

fn faults(text: &str) -> Vec<String> {
    File::new(&with_backend(text)).faults()
}

#[test]
fn a_stream_is_named_after_its_cluster() {
    let config = load("[[replication]]\nuser = \"a\"\nserver_id = 7\non_purged = \"continue\"");
    let [stream] = &config.replications[..] else {
        unreachable!("{:?}", config.replications);
    };
    assert_eq!((&*stream.name, &*stream.cluster), ("main", "main"));
    assert_eq!(stream.from, ReplicationSource::Primary);
    assert_eq!(stream.on_purged, OnPurged::Continue);
}

#[test]
fn streams_have_names_and_ids_of_their_own_and_clusters_that_are_there() {
    let one = "[[replication]]\nuser = \"a\"\nserver_id = 7\n";
    for (text, expected) in [
        (
            format!("{one}name = \"x\"\n{one}"),
            "pilotfish.toml:7:13: replication.server_id: 7 is given twice; hint: a server ends the older of two \
             streams with one id",
        ),
        (
            format!("{one}[[replication]]\nuser = \"a\"\nserver_id = 8"),
            "replication[1].name: \"main\" is given twice; hint: give each stream a name of its own",
        ),
        (
            "[[replication]]\nuser = \"\"\nserver_id = 7".to_owned(),
            "pilotfish.toml:2:8: replication.user: must name a user",
        ),
        (
            "[[replication]]\nuser = \"a\"".to_owned(),
            "pilotfish.toml:1:1: replication.server_id: is missing from this replication",
        ),
        (
            "[[replication]]\nuser = \"a\"\nserver_id = 0".to_owned(),
            "pilotfish.toml:3:13: replication.server_id: must be from 1 to 4294967295, not 0",
        ),
        (
            format!("{one}cluster = \"other\"\nname = \"x\""),
            "pilotfish.toml:4:11: replication.cluster: no backend is in cluster \"other\"; hint: there is \"main\"",
        ),
    ] {
        let found = faults(&text);
        assert!(
            found.len() == 1 && found[0].ends_with(expected),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn a_missing_position_file_gives_a_warning() {
    let one = "[[replication]]\nuser = \"a\"\nserver_id = 7\n";
    let told = |text: &str| {
        let loaded = File::new(&with_backend(text)).load().unwrap();
        loaded
            .warnings
            .iter()
            .any(|it| it.to_string().contains("schema_history.file"))
    };
    assert!(told(one));
    assert!(!told(""));
    assert!(!told(&format!(
        "[schema_history]\nfile = \"/tmp/schemas.db\"\n{one}"
    )));
}

#[test]
fn a_listener_for_replicas_has_one_relay_an_account_and_no_settings_of_sessions() {
    let listener = "[[listener]]\naddress = \"127.0.0.1:4050\"\nserves = \"replication\"\n";
    let history = "[schema_history]\nfile = \"/tmp/schemas.db\"\n";
    let account = "[[account]]\nuser = \"r\"\nreplication = true\n";
    let stream = "[[replication]]\nuser = \"a\"\nserver_id = 7\nrelay_folder = \"/tmp/relay\"\n";
    let whole = format!("{history}{account}{stream}{listener}");
    assert_eq!(faults(&whole), Vec::<String>::new());
    for (text, expected) in [
        (
            format!("{account}{listener}"),
            "listener.serves: no [[replication]] of cluster \"main\" has a relay_folder",
        ),
        (
            format!("{history}{stream}{listener}"),
            "no [[account]] has replication = true",
        ),
        (
            format!("{account}{stream}{listener}"),
            "relay_folder: needs schema_history.file",
        ),
        (
            "[[replication]]\nuser = \"a\"\nserver_id = 7\nsemi_sync = true".to_owned(),
            "semi_sync: needs a relay_folder",
        ),
        (
            format!("{whole}lanes = \"off\""),
            "lanes: is of sessions, and a listener that serves replication has none",
        ),
        (
            format!("{whole}{stream}name = \"x\"").replacen("server_id = 7", "server_id = 8", 1),
            "several [[replication]] of cluster \"main\" have a relay_folder",
        ),
    ] {
        let found = faults(&text);
        assert!(
            found.iter().any(|it| it.contains(expected)),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn a_filter_has_one_task_and_tables_that_it_can_be_for() {
    let history = "[schema_history]\nfile = \"/tmp/schemas.db\"\n";
    let stream = "[[replication]]\nuser = \"a\"\nserver_id = 7\nrelay_folder = \"/tmp/relay\"\n";
    let filter = |text: &str| format!("{history}{stream}[[replication.filter]]\n{text}");
    for text in [
        "action = \"drop\"\nserver_ids = [7]",
        "tables = [\"shop.*\", \"!shop.a\"]\nrename_schema = \"store\"",
        "tables = [\"shop.a\"]\nrename_table = \"b\"\ncolumns_constant = [\"note=a=b\"]",
        "script = \"/etc/pilotfish/filter.lua\"",
        "tables = [\"a\"]\ncolumns_hashed = [\"email\"]\nhash_key = \"x\"",
    ] {
        assert_eq!(faults(&filter(text)), Vec::<String>::new(), "{text}");
    }
    for (text, expected) in [
        (
            "tables = [\"a\"]",
            "has no action and no script, and changes no tables",
        ),
        (
            "action = \"drop\"\ncolumns_null = [\"a\"]",
            "action: stands beside settings that change tables",
        ),
        (
            "action = \"drop\"\nscript = \"/a.lua\"",
            "script: stands beside settings for the same changes",
        ),
        (
            "script = \"/a.lua\"\nserver_ids = [1]",
            "server_ids: needs an action",
        ),
        (
            "columns_null = [\"a\"]\nchanges = [\"insert\"]",
            "changes: needs an action",
        ),
        (
            "tables = [\"a.b.c\"]\naction = \"drop\"",
            "\"a.b.c\" is no table",
        ),
        (
            "tables = [\"shop.*\", \"b.*\"]\nrename_schema = \"store\"",
            "rename_schema: needs tables of one schema",
        ),
        (
            "tables = [\"orders\"]\nrename_schema = \"store\"",
            "rename_schema: needs tables of one schema",
        ),
        (
            "tables = [\"shop.*\"]\nrename_table = \"b\"",
            "rename_table: needs one table",
        ),
        (
            &format!(
                "tables = [\"shop.a\"]\nrename_table = \"{}\"",
                "x".repeat(65)
            ),
            "rename_table: must have at most 64 characters",
        ),
        ("columns_constant = [\"a\"]", "\"a\" has no \"=\""),
        ("columns_hashed = [\"a\"]", "columns_hashed: needs hash_key"),
        (
            "columns_null = [\"a\"]\ncolumns_constant = [\"A=1\"]",
            "column \"a\" is given twice",
        ),
        ("tables = [1]\naction = \"drop\"", "tables"),
        ("action = \"keeps\"", "action"),
    ] {
        let found = faults(&filter(text));
        assert!(
            found.iter().any(|it| it.contains(expected)),
            "{text}: {found:?}"
        );
    }
    let bare = filter("action = \"drop\"").replace("relay_folder = \"/tmp/relay\"\n", "");
    assert!(faults(&bare)[0].contains("needs a relay_folder"));
}

#[test]
fn filters_come_back_from_the_written_file_and_a_change_of_them_is_seen() {
    let text = "[schema_history]\nfile = \"/tmp/schemas.db\"\n[[replication]]\nuser = \"a\"\nserver_id = 7\n\
                relay_folder = \"/tmp/relay\"\n[[replication.filter]]\ntables = [\"shop.a\"]\naction = \"drop\"\n\
                [[replication.filter]]\ntables = [\"shop.b\"]\nrename_table = \"c\"\n";
    let config = load(text);
    assert_eq!(config.replications[0].filters.len(), 2);
    let again = File::new(&crate::manual::to_toml(&config))
        .load()
        .unwrap()
        .config;
    assert_eq!(again.replications, config.replications);
    let other = load(&text.replace("shop.a", "shop.x"));
    let changes = diff(&config, &other);
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0].setting, "replication[main].filter");
}

#[test]
fn a_change_file_has_a_relay_and_a_path_of_its_own() {
    let history = "[schema_history]\nfile = \"/tmp/schemas.db\"\n";
    let stream = "[[replication]]\nuser = \"a\"\nserver_id = 7\nrelay_folder = \"/tmp/relay\"\n";
    let file = "[[replication.change_file]]\npath = \"/tmp/changes\"\n";
    let whole = format!("{history}{stream}{file}");
    assert_eq!(
        faults(&format!(
            "{whole}tables = [\"shop.*\", \"!shop.a\"]\nfrom = \"now\""
        )),
        Vec::<String>::new()
    );
    for (text, expected) in [
        (
            whole.replace("relay_folder = \"/tmp/relay\"\n", ""),
            "change_file.path: needs a relay_folder",
        ),
        (
            format!("{whole}{file}"),
            "change_file.path: \"/tmp/changes\" is given twice",
        ),
        (
            whole.replace("/tmp/changes", "/"),
            "change_file.path: must name a file",
        ),
        (
            format!("{history}{stream}[[replication.change_file]]\n"),
            "change_file.path: is missing",
        ),
        (
            format!("{whole}tables = [\"a.b.c\"]"),
            "\"a.b.c\" is no table",
        ),
    ] {
        let found = faults(&text);
        assert!(
            found.iter().any(|it| it.contains(expected)),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn change_files_come_back_from_the_written_file_and_a_change_of_them_is_seen() {
    let text = "[schema_history]\nfile = \"/tmp/schemas.db\"\n[[replication]]\nuser = \"a\"\nserver_id = 7\n\
                relay_folder = \"/tmp/relay\"\n[[replication.change_file]]\npath = \"/tmp/a\"\n\
                [[replication.change_file]]\npath = \"/tmp/b\"\nbytes_max = \"1M\"\n";
    let config = load(text);
    assert_eq!(config.replications[0].change_files.len(), 2);
    let again = File::new(&crate::manual::to_toml(&config))
        .load()
        .unwrap()
        .config;
    assert_eq!(again.replications, config.replications);
    let other = load(&text.replace("/tmp/a", "/tmp/x"));
    let changes = diff(&config, &other);
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0].setting, "replication[main].change_file");
}

/// A stream with one Kafka cluster below it.
fn with_kafka(lines: &str) -> String {
    format!(
        "[schema_history]\nfile = \"/tmp/schemas.db\"\n[[replication]]\nuser = \"a\"\nserver_id = 7\n\
         relay_folder = \"/tmp/relay\"\n[[replication.change_file]]\npath = \"/tmp/changes\"\n\
         [[replication.kafka]]\nbrokers = [\"k1:9092\", \"[::1]:9092\"]\nposition_file = \"/tmp/k\"\n{lines}"
    )
}

#[test]
fn a_kafka_cluster_has_brokers_topics_a_position_file_and_all_that_its_login_needs() {
    for lines in [
        "",
        "topic = \"all\"\ntables = [\"shop.*\"]\nfrom = \"now\"",
        "topic = \"x-{schema}_{table}\"\ntopic_statements = \"{cluster}.ddl\"",
        "sasl = \"scram_sha_256\"\nuser = \"u\"\npassword = \"p\"",
    ] {
        assert_eq!(faults(&with_kafka(lines)), Vec::<String>::new(), "{lines}");
    }
    let whole = with_kafka("");
    let twice = "[[replication.kafka]]\nbrokers = [\"k:1\"]\nposition_file = \"/tmp/k\"";
    for (text, expected) in [
        (
            whole.replace("relay_folder = \"/tmp/relay\"\n", ""),
            "kafka.brokers: needs a relay_folder",
        ),
        (
            whole.replace("k1:9092", "k1"),
            "kafka.brokers: \"k1\" is no broker",
        ),
        (
            whole.replace("k1:9092", "k1:0"),
            "kafka.brokers: \"k1:0\" is no broker",
        ),
        (
            whole.replace("brokers = [\"k1:9092\", \"[::1]:9092\"]\n", ""),
            "kafka.brokers: is missing",
        ),
        (
            whole.replace("position_file = \"/tmp/k\"\n", ""),
            "kafka.position_file: is missing",
        ),
        (
            whole.replace("/tmp/k\"", "/\""),
            "kafka.position_file: must name a file",
        ),
        (
            whole.replace("/tmp/k\"", "/no/such/k\""),
            "kafka.position_file: there is no folder",
        ),
        (
            whole.replace("/tmp/k\"", "/tmp/changes.position\""),
            "kafka.position_file: \"/tmp/changes.position\" is given twice",
        ),
        (
            with_kafka(twice),
            "kafka.position_file: \"/tmp/k\" is given twice",
        ),
        (
            with_kafka("topic = \"a b\""),
            "kafka.topic: \"a b\" is no name of a topic",
        ),
        (
            with_kafka("topic = \"{host}\""),
            "kafka.topic: \"{host}\" is no name of a topic",
        ),
        (
            with_kafka("topic_statements = \"{table}\""),
            "kafka.topic_statements: \"{table}\" is no name of a topic",
        ),
        (with_kafka("topic = \"\""), "kafka.topic: is empty"),
        (with_kafka("tables = [\"a.b.c\"]"), "\"a.b.c\" is no table"),
        (
            with_kafka("tls_ca = \"/tmp/ca\""),
            "kafka.tls_ca: is of no use without tls",
        ),
        (
            with_kafka("tls = true\ntls_ca = \"/no/such\""),
            "kafka.tls_ca: cannot read /no/such",
        ),
        (
            with_kafka("tls = true\ntls_key = \"/no/such\""),
            "kafka.tls_key: is of no use without tls_certificate",
        ),
        (
            with_kafka("sasl = \"plain\"\nuser = \"u\""),
            "kafka.sasl: needs password",
        ),
        (
            with_kafka("user = \"u\""),
            "kafka.user: is of no use without sasl",
        ),
    ] {
        let found = faults(&text);
        assert!(
            found.iter().any(|it| it.contains(expected)),
            "{expected}\n{text}: {found:?}"
        );
    }
}

#[test]
fn kafka_clusters_come_back_from_the_written_file_and_a_change_of_them_is_seen() {
    let text = with_kafka("compression = \"zstd\"\nbatch_bytes_max = \"64K\"");
    let config = load(&text);
    assert_eq!(config.replications[0].kafka.len(), 1);
    let again = File::new(&crate::manual::to_toml(&config))
        .load()
        .unwrap()
        .config;
    assert_eq!(again.replications, config.replications);
    let other = load(&text.replace("k1:9092", "k2:9092"));
    let changes = diff(&config, &other);
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0].setting, "replication[main].kafka");
}
