//! Several scripts in one session, and listeners that have their own scripts.

use super::*;

in_both_ways! {
    scripts_are_asked_in_their_order
    a_reply_goes_to_the_script_that_sent_the_command
    an_error_in_one_script_does_not_stop_the_next_script
    a_queue_without_a_decision_is_logged_with_its_script
}

/// A proxy that runs these scripts in order.
fn all(product: Product, scripts: &[&str]) -> (Proxy, Folder) {
    let folder = Folder::new("files");
    let files = written(&folder, scripts);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let settings = usual(product).set("workers", 1);
    (
        Proxy::start(&settings.set("routing.script", &files[..])),
        folder,
    )
}

fn written(folder: &Folder, scripts: &[&str]) -> Vec<String> {
    let files = scripts.iter().zip(1..).map(|(script, number)| {
        let path = folder.path().join(format!("{number}.lua"));
        fs::write(&path, script).unwrap();
        path.display().to_string()
    });
    files.collect()
}

fn answers(word: &str, to: &str) -> String {
    format!(
        r#"
        mine = "{word}"
        function read_query(packet)
            if packet:sub(2) == "{to}" then
                proxy.response = {{
                    type = proxy.MYSQLD_PACKET_OK,
                    resultset = {{ fields = {{ {{ name = "w", type = 254 }} }}, rows = {{ {{ mine }} }} }},
                }}
                return proxy.PROXY_SEND_RESULT
            end
        end
        "#
    )
}

fn scripts_are_asked_in_their_order(product: Product) {
    let scripts = [
        answers("first", "DO both"),
        answers("second", "DO both"),
        answers("third", "DO last"),
    ];
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    let (proxy, _folder) = all(product, &scripts);
    let mut conn = proxy.connect_as(&Login::app());
    // Each script has its own globals.
    assert_eq!(conn.value("DO both"), "first");
    assert_eq!(conn.value("DO last"), "third");
    assert_eq!(conn.value("SELECT 7"), "7");
}

fn a_reply_goes_to_the_script_that_sent_the_command(product: Product) {
    let sends = |word: &str| {
        format!(
            r#"
            function read_query(packet)
                if packet:find("{word}", 1, true) then
                    proxy.queries:append(1, packet, {{ resultset_is_needed = true }})
                    return proxy.PROXY_SEND_QUERY
                end
            end
            function read_query_result(inj)
                proxy.response = {{ type = proxy.MYSQLD_PACKET_ERR, errmsg = "by {word}" }}
                return proxy.PROXY_SEND_RESULT
            end
            "#
        )
    };
    let (proxy, _folder) = all(product, &[&sends("one"), &sends("two")]);
    let mut conn = proxy.connect_as(&Login::app());
    assert_eq!(conn.query("SELECT 'two'").error().unwrap().text, "by two");
    assert_eq!(conn.query("SELECT 'one'").error().unwrap().text, "by one");
    assert_eq!(conn.value("SELECT 'three'"), "three");
}

fn an_error_in_one_script_does_not_stop_the_next_script(product: Product) {
    let wrong = r#"
        function read_query(packet)
            proxy.queries:append(1, "\003SELECT 'never'")
            error("oops")
        end
    "#;
    let (proxy, _folder) = all(product, &[wrong, &answers("right", "DO it")]);
    let mut conn = proxy.connect_as(&Login::app());
    assert_eq!(conn.value("DO it"), "right");
    assert_eq!(conn.value("SELECT 1"), "1");
    proxy.wait_logged(&["(read_query)", "oops"]);
}

fn a_queue_without_a_decision_is_logged_with_its_script(product: Product) {
    let silent = r#"
        function read_query(packet)
            proxy.queries:append(1, "\003SELECT 'never'")
            proxy.queries:append(2, packet)
        end
    "#;
    let (proxy, folder) = all(product, &[silent, &answers("right", "DO it")]);
    let mut conn = proxy.connect_as(&Login::app());
    assert_eq!(conn.value("DO it"), "right");
    assert_eq!(conn.value("SELECT 1"), "1");
    let file = folder.path().join("1.lua").display().to_string();
    proxy.wait_logged(&[&file, "2 queries queued without PROXY_SEND_QUERY"]);
}

#[test]
fn a_listener_has_scripts_of_its_own() {
    let folder = Folder::new("files");
    let files = written(
        &folder,
        &[&answers("all", "DO it"), &answers("own", "DO it")],
    );
    let server = Server::shared(Product::MariaDb);
    let ports = [e2e::free_port(), e2e::free_port()];
    let own = format!("[{:?}]", files[1]);
    let settings = Settings::in_front_of([server])
        .set("workers", 1)
        .set("routing.script", files[0].as_str())
        .listener_with(
            format!("127.0.0.1:{}", ports[0]),
            &[("routing.script", &own)],
        )
        .listener_with(
            format!("127.0.0.1:{}", ports[1]),
            &[("routing.script", "[]")],
        );
    let proxy = Proxy::start(&settings);
    assert_eq!(proxy.connect_as(&Login::app()).value("DO it"), "all");
    let at = |port: u16| {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
        RawConn::connect(&address.into(), &Login::app()).unwrap()
    };
    assert_eq!(at(ports[0]).value("DO it"), "own");
    assert!(at(ports[1]).query("DO it").error().is_some());
}

both! {
    an_account_has_scripts_of_its_own
    a_change_of_user_switches_to_the_new_accounts_scripts
    a_script_query_after_a_change_of_user_runs_as_the_new_user
    an_accounts_script_that_fails_refuses_its_clients_alone
}

/// Accounts with these names and scripts. All of them are one user of the servers.
fn accounts(product: Product, scripts: &[&str], accounts: &[(&str, &str)]) -> (Proxy, Folder) {
    let folder = Folder::new("files");
    let files = written(&folder, scripts);
    let mut settings = Settings::pooled(Server::shared(product), 4);
    if !scripts[0].is_empty() {
        settings = settings.set("routing.script", files[0].as_str());
    }
    for (user, scripts) in accounts {
        let mut scripts = (*scripts).to_owned();
        for (at, file) in files.iter().enumerate() {
            scripts = scripts.replace(&format!("${at}"), &format!("{file:?}"));
        }
        let (password, backend_password) = ("\"secret\"", format!("{:?}", e2e::PASSWORD));
        settings = settings.account_with(
            user,
            &[
                ("password", password),
                ("backend_user", "\"app\""),
                ("backend_password", &backend_password),
                ("routing.script", &scripts),
            ],
        );
    }
    (Proxy::start(&settings), folder)
}

fn an_account_has_scripts_of_its_own(product: Product) {
    let own = format!(
        "{}
        proxy.global.verdict = '-'
        function read_auth_result(auth) proxy.global.verdict = auth.packet:byte() end
        function disconnect_client()
            pilotfish.log('message', proxy.global.verdict .. ' ' .. proxy.connection.client.username .. ' has left')
        end",
        answers("its own", "DO who")
    );
    for everybodys in [answers("everybody's", "DO who"), String::new()] {
        let (proxy, _folder) = accounts(
            product,
            &[&everybodys, &own, &answers("another", "DO other")],
            &[("own", "[$1, $2]"), ("none", "[]")],
        );
        for _ in 0..3 {
            let mut own =
                proxy.connect_as(&Login::with("own", "secret").schema("information_schema"));
            assert_eq!(own.value("DO who"), "its own");
            assert_eq!(own.value("DO other"), "another");
            assert_eq!(own.value("SELECT DATABASE()"), "information_schema");
            let mut none = proxy.connect_as(&Login::with("none", "secret"));
            assert!(none.query("DO who").error().is_some());
            let mut app = proxy.connect_as(&Login::app());
            match everybodys.is_empty() {
                true => assert!(app.query("DO who").error().is_some()),
                false => assert_eq!(app.value("DO who"), "everybody's"),
            }
        }
        proxy.wait_logged(&["0 own has left"]);
    }
}

fn a_change_of_user_switches_to_the_new_accounts_scripts(product: Product) {
    let (proxy, _folder) = accounts(
        product,
        &[
            &answers("everybody's", "DO who"),
            &answers("its own", "DO who"),
        ],
        &[("own", "[$1]"), ("none", "[]")],
    );
    let mut conn = proxy.connect_as(&Login::app());
    for _ in 0..2 {
        assert_eq!(conn.value("DO who"), "everybody's");
        conn.change_user(&Login::with("own", "secret")).unwrap();
        assert_eq!(conn.value("DO who"), "its own");
        conn.change_user(&Login::with("none", "secret")).unwrap();
        assert!(conn.query("DO who").error().is_some());
        conn.change_user(&Login::app()).unwrap();
    }
    // If an account's script cannot be loaded, its session ends.
    fs::write(_folder.path().join("2.lua"), "error('mine')").unwrap();
    conn.change_user(&Login::with("own", "secret")).unwrap();
    assert!(conn.try_query("DO who").is_err());
    proxy.wait_logged(&["mine"]);
}

fn a_script_query_after_a_change_of_user_runs_as_the_new_user(product: Product) {
    let server = Server::lease(product);
    let mut root = server.root();
    root.run("CREATE USER bob@'%' IDENTIFIED BY 'secret'");
    let folder = Folder::new("files");
    let script = r#"
        function read_query(packet)
            if packet == "\003DO ask" then
                local result = assert(pilotfish.query({ role = "primary" }, "SELECT CURRENT_USER()"))
                proxy.response = {
                    type = proxy.MYSQLD_PACKET_OK,
                    resultset = { fields = { { name = "u", type = 254 } }, rows = { { result.rows[1][1] } } },
                }
                return proxy.PROXY_SEND_RESULT
            end
        end
    "#;
    let files = written(&folder, &[script]);
    let settings = Settings::pooled(&server, 4)
        .account("bob", "secret")
        .set("routing.script", files[0].as_str());
    let proxy = Proxy::start(&settings);
    let mut conn = proxy.connect_as(&Login::app());
    assert_eq!(conn.value("DO ask"), "app@%");
    conn.change_user(&Login::with("bob", "secret")).unwrap();
    assert_eq!(conn.value("DO ask"), "bob@%");
}

fn an_accounts_script_that_fails_refuses_its_clients_alone(product: Product) {
    let (proxy, _folder) = accounts(product, &["", "error('mine')"], &[("own", "[$1]")]);
    let refused = RawConn::connect(&proxy.address(), &Login::with("own", "secret"));
    let error = refused.unwrap_err().refusal();
    assert_eq!(
        error.text,
        "MySQL Proxy Lua script failed to execute. Check the error log."
    );
    assert_eq!(proxy.connect_as(&Login::app()).value("SELECT 7"), "7");
}
