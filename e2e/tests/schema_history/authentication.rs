//! Streams log in by each authentication plugin that servers have, with TLS and without, and over a Unix socket.

use e2e::Certs;

use super::*;

both! {
    streams_log_in_by_each_authentication_plugin
    a_stream_logs_in_as_the_user_of_its_process_over_a_unix_socket
}

#[test]
fn streams_log_in_by_each_authentication_plugin_of_mariadb_11_8() {
    streams_log_in_by_each_authentication_plugin(Product::MariaDbNext);
}

/// An account of a stream, named for its plugin.
struct Account {
    name: &'static str,
    /// The text after IDENTIFIED.
    how: String,
    needs_tls: bool,
}

/// Accounts for each plugin that takes a password, and one for a certificate with a password.
fn accounts(product: Product) -> Vec<Account> {
    let named = |names: &[&'static str]| -> Vec<Account> {
        let account = |name: &&'static str| Account {
            name,
            how: match product.is_mariadb() {
                true => format!("VIA {name} USING PASSWORD('{SECRET}')"),
                false => format!("WITH {name} BY '{SECRET}'"),
            },
            needs_tls: false,
        };
        names.iter().map(account).collect()
    };
    // The password is sent in clear text.
    let in_clear = |name| Account {
        name,
        how: match product.is_mariadb() {
            true => format!("VIA {name} USING '{SECRET}'"),
            false => format!("WITH {name} AS '{SECRET}'"),
        },
        needs_tls: true,
    };
    let mut accounts = named(match product {
        Product::MariaDb => &["mysql_native_password", "ed25519"],
        Product::MariaDbNext => &[
            "mysql_native_password",
            "ed25519",
            "parsec",
            "caching_sha2_password",
        ],
        Product::MySql => &["caching_sha2_password", "sha256_password"],
    });
    if product != Product::MariaDb {
        accounts.push(in_clear("cleartext_plugin_server"));
    }
    if product == Product::MariaDbNext {
        // The plugin `dialog`, which PAM uses.
        accounts.push(in_clear("three_attempts"));
    }
    accounts.push(Account {
        name: "with_certificate",
        how: format!("BY '{SECRET}' REQUIRE X509"),
        needs_tls: true,
    });
    accounts
}

fn make(accounts: &[Account], server: &Server) {
    let mut root = server.root();
    root.run("SET sql_log_bin = 0");
    for Account { name, how, .. } in accounts {
        root.run(&format!("CREATE USER f_{name} IDENTIFIED {how}"));
        root.run(&format!(
            "GRANT REPLICATION SLAVE, SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO f_{name}"
        ));
        if server.product.is_mariadb() {
            root.run(&format!("GRANT BINLOG MONITOR ON *.* TO f_{name}"));
        }
    }
}

/// The settings of the backend, and of its TLS.
fn settings(server: &Server, has_tls: bool) -> Settings {
    let settings = Settings::in_front_of([server]).admin_on(free_port());
    let client = &Certs::shared().client;
    match has_tls {
        false => settings.set("backend_tls.mode", "off"),
        true => settings
            .set("backend_tls.mode", "required")
            .set("backend_tls.certificate", &client.certificate)
            .set("backend_tls.key", &client.key),
    }
}

fn streams_log_in_by_each_authentication_plugin(product: Product) {
    let server = start(product);
    let accounts = accounts(product);
    make(&accounts, &server);
    for has_tls in [false, true] {
        if !product.is_mariadb() {
            // After FLUSH PRIVILEGES, the first login of a plugin with a cache is a full one.
            server.root().run("FLUSH PRIVILEGES");
        }
        let folder = Folder::new("files");
        let file = folder.path().join("schemas.db");
        let password = format!("{SECRET:?}");
        let mut settings =
            settings(&server, has_tls).set("schema_history.file", file.to_str().unwrap());
        let usable = accounts.iter().filter(|it| has_tls || !it.needs_tls);
        let usable: Vec<_> = usable.map(|it| it.name).collect();
        for (number, name) in usable.iter().enumerate() {
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
        let count = usable.len();
        let all = |table: &str, state: &str| {
            format!("SELECT count(*) = {count} FROM {table} WHERE {state}")
        };
        following.wait_for(
            "all streams",
            &all("replication", "state = 'streaming' AND errors = 0"),
        );
        run(&server, &[&format!("CREATE DATABASE shop_{has_tls}")]);
        let object = format!("object = 'shop_{has_tls}'");
        following.wait_for("the change in all streams", &all("schema_changes", &object));
    }
}

/// With `unix_socket` and `auth_socket` a server asks the operating system for the client's user, and for no password.
fn a_stream_logs_in_as_the_user_of_its_process_over_a_unix_socket(product: Product) {
    let server = start(product);
    let owner = rustix::process::geteuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let mut fields = users.lines().map(|it| it.split(':').collect::<Vec<_>>());
    let owner = fields.find(|it| it.get(2) == Some(&&*owner)).unwrap()[0].to_owned();
    let mut root = server.root();
    root.run("SET sql_log_bin = 0");
    // MariaDB 10.11 requires that the account has the name of the process's user.
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
    let folder = Folder::new("files");
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
