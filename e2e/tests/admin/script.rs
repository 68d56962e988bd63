//! The script of the admin port.

use std::fs;

use e2e::Folder;

use super::*;

both! {
    the_shipped_script_answers_as_mysql_proxys_did
    the_admin_script_shares_the_tables_of_session_scripts
    the_admin_port_answers_statements_that_the_script_leaves
}

const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/admin.lua");

fn the_shipped_script_answers_as_mysql_proxys_did(product: Product) {
    let server = Server::shared(product);
    let settings = Settings::in_front_of([server]).set("admin.script", SHIPPED);
    let watched = Watched::start(settings);
    let mut look = watched.look();
    e2e::wait::until("the backend is up", e2e::wait::SOON, || {
        look.run("select * from backends").texts()[0][2] == "up"
    });
    let _client = watched.proxy.connect();
    let address = server.tcp().to_string();
    let reply = look.run("select * from backends");
    let backend = &reply.texts()[0];
    assert_eq!(backend.len(), 6);
    assert_eq!(backend[..4], ["1", &*address, "up", "rw"]);
    assert_eq!(backend[5], "1");
    assert_eq!(look.run("SELECT * FROM help;").texts().len(), 2);
    // The admin port answers the statements that the script does not.
    assert_eq!(look.value("SELECT COUNT(*) FROM sessions"), "1");
}

/// A folder with a script, and the path of the script.
fn written(text: &str) -> (Folder, String) {
    let folder = Folder::new("files");
    let file = folder.path().join("admin.lua");
    fs::write(&file, text).unwrap();
    let name = file.display().to_string();
    (folder, name)
}

const TELLS: &str = r#"
    local function tell(value)
        proxy.response = {
            type = proxy.MYSQLD_PACKET_OK,
            resultset = { fields = { { name = "told", type = proxy.MYSQL_TYPE_STRING } }, rows = { { value } } },
        }
        return proxy.PROXY_SEND_RESULT
    end
    function read_query(packet)
        local text = packet:sub(2)
        if text == "COUNT" then
            return tell(tostring(proxy.global.count))
        elseif text == "WHO" then
            return tell(proxy.connection.client.username)
        elseif text == "NUMBER" then
            return 5
        elseif text == "WAIT" then
            pilotfish.sleep(1)
        elseif text == "SELECT 41 + 1" then
            error("raised on purpose")
        elseif text == "TWO" then
            proxy.queries:append(1, packet)
            return proxy.PROXY_SEND_QUERY
        end
    end
"#;

fn the_admin_script_shares_the_tables_of_session_scripts(product: Product) {
    let counts = r#"
        function read_query() proxy.global.count = (proxy.global.count or 0) + 1 end
    "#;
    let (_one, sessions) = written(counts);
    let (_other, admins) = written(TELLS);
    for (isolation, told) in [("shared", "2"), ("worker", "nil")] {
        let settings = Settings::pooled(Server::shared(product), 4)
            .set("workers", 2)
            .set("routing.script", &[sessions.as_str()][..])
            .set("script.isolation", isolation)
            .set("admin.script", admins.as_str());
        let watched = Watched::start(settings);
        let mut client = watched.proxy.connect();
        client.run("SELECT 1");
        client.run("SELECT 2");
        assert_eq!(watched.root().value("COUNT"), told, "{isolation}");
    }
}

fn the_admin_port_answers_statements_that_the_script_leaves(product: Product) {
    let (_folder, file) = written(TELLS);
    let settings = Settings::in_front_of([Server::shared(product)]);
    let watched = Watched::start(settings.clone().set("admin.script", file.as_str()));
    let mut root = watched.root();
    assert_eq!(root.value("WHO"), "root");
    for (text, behind) in [
        ("NUMBER", " ... got something else"),
        ("WAIT", ""),
        ("TWO", " ... got something else"),
    ] {
        let reply = root.query(text);
        let error = reply.error().unwrap();
        let told = format!("need a resultset + proxy.PROXY_SEND_RESULT{behind}");
        assert_eq!((error.code, &error.text), (1105, &told), "{text}");
    }
    // If a hook fails, the admin port answers as if there were no hook.
    assert_eq!(root.value("SELECT 41 + 1"), "42");
    watched.proxy.wait_logged(&["raised on purpose"]);
    assert_eq!(root.value("SELECT COUNT(*) FROM backends"), "1");
    drop(root);
    let watched = Watched::start(settings.set("admin.script", "/no/such/admin.lua"));
    assert_eq!(watched.root().value("SELECT COUNT(*) FROM backends"), "1");
    watched
        .proxy
        .wait_event("admin_script_failed", &["/no/such/admin.lua"]);
}
