//! Streams log in by each authentication plugin that servers have, with TLS and without, and over a Unix socket.

use super::*;

both! {
    streams_log_in_by_each_authentication_plugin
    a_stream_logs_in_as_the_user_of_its_process_over_a_unix_socket
}

#[test]
fn streams_log_in_by_each_authentication_plugin_of_mariadb_11_8() {
    streams_log_in_by_each_authentication_plugin(Product::MariaDbNext);
}

/// Each plugin that takes a password, and how an account gets it.
fn plugins(product: Product) -> Vec<(&'static str, String)> {
    let mariadb = |name| (name, format!("VIA {name} USING PASSWORD('{SECRET}')"));
    let mysql = |name| (name, format!("WITH {name} BY '{SECRET}'"));
    match product {
        Product::MariaDb => ["mysql_native_password", "ed25519"].map(mariadb).to_vec(),
        Product::MariaDbNext => {
            let names = [
                "mysql_native_password",
                "ed25519",
                "parsec",
                "caching_sha2_password",
            ];
            names.map(mariadb).to_vec()
        }
        Product::MySql => ["caching_sha2_password", "sha256_password"]
            .map(mysql)
            .to_vec(),
    }
}

fn streams_log_in_by_each_authentication_plugin(product: Product) {
    let server = start(product);
    let plugins = plugins(product);
    let mut root = server.root();
    root.run("SET sql_log_bin = 0");
    for (name, how) in &plugins {
        root.run(&format!("CREATE USER f_{name} IDENTIFIED {how}"));
        root.run(&format!(
            "GRANT REPLICATION SLAVE, SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO f_{name}"
        ));
        if product.is_mariadb() {
            root.run(&format!("GRANT BINLOG MONITOR ON *.* TO f_{name}"));
        }
    }
    drop(root);
    // The first login by a plugin that keeps what it has seen is a full one. The server forgets between the proxies.
    let tls = [
        ("backend_tls.mode", "off"),
        ("backend_tls.mode", "required"),
    ];
    for (index, tls) in tls.into_iter().enumerate() {
        if !product.is_mariadb() {
            server.root().run("FLUSH PRIVILEGES");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("schemas.db");
        let password = format!("{SECRET:?}");
        let mut settings = Settings::in_front_of([&server])
            .admin_on(free_port())
            .set("schema_history.file", file.to_str().unwrap())
            .set(tls.0, tls.1);
        for (number, (name, _)) in plugins.iter().enumerate() {
            let (title, id) = (format!("{name:?}"), (4000 + number).to_string());
            let more = [
                ("name", &*title),
                ("password", &*password),
                ("server_id", &*id),
            ];
            settings = settings.replication(&format!("f_{name}"), &more);
        }
        let following = Following {
            proxy: Proxy::start(&settings),
            settings,
            folder,
        };
        let count = plugins.len();
        let all = |table: &str, state: &str| {
            format!("SELECT count(*) = {count} FROM {table} WHERE {state}")
        };
        following.wait_for(
            "all streams",
            &all("replication", "state = 'streaming' AND errors = 0"),
        );
        run(&server, &[&format!("CREATE DATABASE shop{index}")]);
        let object = format!("object = 'shop{index}'");
        following.wait_for("the change in all streams", &all("schema_changes", &object));
    }
}

/// With `unix_socket` and `auth_socket` a server asks the system for the user at the other end, and no password.
fn a_stream_logs_in_as_the_user_of_its_process_over_a_unix_socket(product: Product) {
    let server = start(product);
    let owner = rustix::process::geteuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let mut fields = users.lines().map(|it| it.split(':').collect::<Vec<_>>());
    let owner = fields.find(|it| it.get(2) == Some(&&*owner)).unwrap()[0].to_owned();
    let mut root = server.root();
    root.run("SET sql_log_bin = 0");
    // MariaDB 10.11 takes the account's own name for that of the process.
    let account = match product.is_mariadb() {
        true => format!("{owner}@localhost"),
        false => "f_socket".to_owned(),
    };
    let user = account.trim_end_matches("@localhost");
    if product.is_mariadb() {
        root.run(&format!(
            "CREATE OR REPLACE USER {account} IDENTIFIED VIA unix_socket"
        ));
    } else {
        root.run("INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'");
        root.run(&format!(
            "CREATE USER {account} IDENTIFIED WITH auth_socket AS '{owner}'"
        ));
    }
    root.run(&format!("GRANT ALL ON *.* TO {account}"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("schemas.db");
    let settings = Settings::default()
        .backend(server.socket().display())
        .admin_on(free_port())
        .set("schema_history.file", file.to_str().unwrap())
        .replication(user, &[("server_id", "4000")]);
    let following = Following {
        proxy: Proxy::start(&settings),
        settings,
        folder,
    };
    let streaming = "SELECT count(*) = 1 FROM replication WHERE state = 'streaming' AND errors = 0";
    following.wait_for("the stream", streaming);
    root.run("SET sql_log_bin = 1");
    root.run("CREATE DATABASE shop");
    let told = "SELECT count(*) = 1 FROM schema_changes WHERE object = 'shop'";
    following.wait_for("the change in the stream", told);
}
