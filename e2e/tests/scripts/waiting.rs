//! Parts of `pilotfish` that MySQL Proxy does not have: hooks that wait, statements of a script, and places for them.

use e2e::{Cluster, Leased, PASSWORD};

use super::*;

in_both_ways! {
    a_waiting_hook_delays_no_other_session
    a_script_asks_in_the_session_itself
    an_error_is_told_with_its_number
    a_result_hook_may_ask_as_well
    scripts_in_a_row_may_all_wait
    a_wait_outside_a_hook_gives_an_error_with_the_reason
    a_client_may_leave_while_its_hook_waits
}

both! {
    a_script_queries_the_backend_that_it_names
    a_query_on_another_connection_does_not_change_the_session
    a_route_holds_for_one_command_only
    each_queued_query_has_its_own_route
    an_invalid_route_gives_an_error
    a_tag_is_seen_by_rules
}

/// A Lua function for a reply of one value.
pub(super) const TELLS: &str = r#"
    function tell(value)
        proxy.response = {
            type = proxy.MYSQLD_PACKET_OK,
            resultset = { fields = { { name = "told", type = proxy.MYSQL_TYPE_STRING } }, rows = { { tostring(value) } } },
        }
        return proxy.PROXY_SEND_RESULT
    end
"#;

fn telling(script: &str) -> String {
    format!("{TELLS}{script}")
}

fn a_waiting_hook_delays_no_other_session(product: Product) {
    let script = telling(
        r#"
        function read_query(packet)
            if packet:sub(2) == "DO wait" then
                local mine = packet
                while not proxy.global.go do pilotfish.sleep(0.01) end
                return tell(mine:sub(2))
            elseif packet:sub(2) == "DO go" then
                proxy.global.go = true
                return tell("gone")
            end
        end
        "#,
    );
    let scripted = Scripted::start(product, &script);
    let mut waiting = scripted.connect();
    waiting.send_query("DO wait").unwrap();
    let mut other = scripted.connect();
    for number in 1..=10 {
        assert_eq!(other.value(&format!("SELECT {number}")), number.to_string());
    }
    assert_eq!(other.value("DO go"), "gone");
    assert_eq!(waiting.reply(Shape::Results).texts(), [["DO wait"]]);
    assert_eq!(waiting.value("SELECT 7"), "7");
}

fn a_script_asks_in_the_session_itself(product: Product) {
    let script = telling(
        r#"
        function read_query(packet)
            if packet:sub(2) == "DO ask" then
                local result = assert(pilotfish.query(nil, "SELECT @mine AS mine, DATABASE() UNION ALL SELECT 'x', NULL"))
                local first, second = result.rows[1], result.rows[2]
                return tell(("%s %s %s %s %s"):format(
                    first[1], first[2], second[1], tostring(second[2]), result.fields[1].name))
            elseif packet:sub(2) == "DO insert" then
                local result = assert(pilotfish.query(nil, "INSERT INTO mysql.pf_kept (n) VALUES (NULL), (NULL)"))
                return tell(result.affected_rows .. " " .. result.insert_id)
            end
        end
        "#,
    );
    let scripted = Scripted::start(product, &script);
    let mut conn = scripted.connect_as(&Login::app().schema("information_schema"));
    conn.run("SET @mine = 'kept'");
    assert_eq!(conn.value("DO ask"), "kept information_schema x nil mine");
    conn.run("CREATE TEMPORARY TABLE mysql.pf_kept (n INT PRIMARY KEY AUTO_INCREMENT)");
    assert_eq!(conn.value("DO insert"), "2 1");
    assert_eq!(conn.value("SELECT COUNT(*) FROM mysql.pf_kept"), "2");
}

fn an_error_is_told_with_its_number(product: Product) {
    let script = telling(
        r#"
        function read_query(packet)
            if packet:sub(2) == "DO ask" then
                local result, text, number, sqlstate = pilotfish.query(nil, "SELECT * FROM nowhere.at_all")
                return tell(("%s %s %s %s"):format(tostring(result), type(text), number, sqlstate))
            end
        end
        "#,
    );
    let scripted = Scripted::start(product, &script);
    let mut conn = scripted.connect();
    let told = conn.value("DO ask");
    assert!(
        ["nil string 1146 42S02", "nil string 1049 42000"].contains(&&*told),
        "{told}"
    );
    assert_eq!(conn.value("SELECT 7"), "7");
}

fn a_result_hook_may_ask_as_well(product: Product) {
    let script = telling(
        r#"
        function read_query(packet)
            if packet:sub(2) == "SELECT 'sent'" then
                proxy.queries:append(1, packet, { resultset_is_needed = true })
                return proxy.PROXY_SEND_QUERY
            end
        end
        function read_query_result(inj)
            pilotfish.sleep(0)
            local asked = assert(pilotfish.query(nil, "SELECT 'asked'"))
            for row in inj.resultset.rows do
                return tell(row[1] .. " " .. asked.rows[1][1])
            end
        end
        "#,
    );
    let scripted = Scripted::start(product, &script);
    let mut conn = scripted.connect();
    for _ in 0..3 {
        assert_eq!(conn.value("SELECT 'sent'"), "sent asked");
    }
}

fn scripts_in_a_row_may_all_wait(product: Product) {
    let folder = Folder::new("files");
    let adds = |word: &str| {
        telling(&format!(
            r#"
            function read_query(packet)
                if packet:sub(2) == "DO all" then
                    pilotfish.sleep(0)
                    local result = assert(pilotfish.query(nil, "SELECT '{word}'"))
                    proxy.global.words = (proxy.global.words or "") .. result.rows[1][1]
                    if "{word}" == "c" then return tell(proxy.global.words) end
                end
            end
            "#
        ))
    };
    let files: Vec<String> = ["a", "b", "c"]
        .into_iter()
        .map(|word| {
            let path = folder.path().join(word);
            fs::write(&path, adds(word)).unwrap();
            path.display().to_string()
        })
        .collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let settings = usual(product).set("workers", 1);
    let proxy = Proxy::start(&settings.set("routing.script", &files[..]));
    let mut conn = proxy.connect_as(&Login::app());
    assert_eq!(conn.value("DO all"), "abc");
    assert_eq!(conn.value("DO all"), "abcabc");
}

fn a_wait_outside_a_hook_gives_an_error_with_the_reason(product: Product) {
    let script = telling(
        r#"
        local function said(run, ...)
            local ran, cause = pcall(run, ...)
            return not ran and cause or "fine"
        end
        local at_start = said(pilotfish.sleep, 0)
        function read_query(packet)
            if packet:sub(2) == "DO start" then
                return tell(at_start)
            elseif packet:sub(2) == "DO coroutine" then
                local _, cause = coroutine.resume(coroutine.create(function() pilotfish.sleep(0) end))
                return tell(cause)
            elseif packet:sub(2) == "DO pcall" then
                return tell(select(2, pcall(pilotfish.sleep, 0)))
            elseif packet:sub(2) == "DO protected" then
                local ran, cause = pilotfish.pcall(function() pilotfish.sleep(0) error("mine", 0) end)
                return tell(tostring(ran) .. " " .. cause)
            elseif packet:sub(2) == "DO yield" then
                coroutine.yield(1)
            end
        end
        "#,
    );
    let scripted = Scripted::start(product, &script);
    let mut conn = scripted.connect();
    let told =
        "only read_query and read_query_result can wait, and not in a coroutine of their own";
    assert!(conn.value("DO start").ends_with(told));
    assert!(conn.value("DO coroutine").ends_with(told));
    assert_eq!(
        conn.value("DO pcall"),
        "attempt to yield across metamethod/C-call boundary (pilotfish.pcall calls what may wait)"
    );
    assert_eq!(conn.value("DO protected"), "false mine");
    // The error is handled like any error of a hook: the command is forwarded.
    assert!(conn.query("DO yield").error().is_some());
    scripted
        .proxy
        .wait_logged(&["(read_query)", "attempt to yield from outside a coroutine"]);
}

fn a_client_may_leave_while_its_hook_waits(product: Product) {
    let script = r#"
        function read_query(packet)
            if packet:sub(2) == "DO wait" then pilotfish.sleep(3600) end
        end
    "#;
    let scripted = Scripted::start(product, script);
    let mut conn = scripted.connect();
    conn.send_query("DO wait").unwrap();
    drop(conn);
    scripted.proxy.wait_event("client_left", &[]);
    scripted.connect().run("SELECT 1");
}

fn error(conn: &mut RawConn, sql: &str) -> String {
    conn.query(sql).error().unwrap().text.clone()
}

const WHO: &str = "SELECT name FROM d.whoami";

fn cluster(product: Product) -> Leased {
    let cluster = Cluster::lease(product, 2);
    cluster.tell_apart(&["CREATE TABLE d.t (n INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20))"]);
    cluster
}

fn placed(cluster: &Cluster, settings: Settings, script: &str) -> (Scripted, RawConn) {
    let settings = settings
        .account("app", PASSWORD)
        .set("health.replication_interval", "50ms")
        .set("balance.timeout_consistency", "20s");
    let _ = cluster;
    let scripted = Scripted::with(settings, &telling(script));
    scripted
        .proxy
        .wait_event("backend_up", &["backend=\"replica1\""]);
    scripted
        .proxy
        .wait_event("backend_up", &["backend=\"replica2\""]);
    let conn = scripted.connect_as(&Login::app().schema("d"));
    (scripted, conn)
}

const ASKS: &str = r#"
    local places = {
        primary = { role = "primary" },
        replica1 = "replica1",
        third = 3,
        cluster = { cluster = "nowhere" },
        word = { role = "nobody" },
        key = { rolle = "primary" },
        quoted = { backend = "a, primary" },
    }
    function read_query(packet)
        local place, text = packet:match("^\003ask (%w+): (.*)")
        if place then
            local result, cause = pilotfish.query(places[place], text)
            return tell(result and (result.rows[1] and result.rows[1][1] or "done") or cause)
        end
        local name = packet:match("^\003/%* to (%w+) %*/")
        if name then
            pilotfish.route(places[name])
        end
        local first, second = packet:match("^\003queue (%w+) (%w+)")
        if first then
            names = {}
            proxy.queries:append(1, "\003SELECT name FROM d.whoami", { resultset_is_needed = true, route = places[first] })
            proxy.queries:append(2, "\003SELECT name FROM d.whoami", { resultset_is_needed = true, route = places[second] })
            return proxy.PROXY_SEND_QUERY
        end
    end
    function read_query_result(inj)
        for row in inj.resultset.rows do table.insert(names, row[1]) end
        if inj.id == 1 then return proxy.PROXY_IGNORE_RESULT end
        return tell(table.concat(names, " "))
    end
"#;

fn a_script_queries_the_backend_that_it_names(product: Product) {
    let cluster = cluster(product);
    let (_scripted, mut conn) = placed(&cluster, Settings::of_cluster(&cluster), ASKS);
    for _ in 0..3 {
        assert_eq!(conn.value(&format!("ask primary: {WHO}")), "primary");
        assert_eq!(conn.value(&format!("ask replica1: {WHO}")), "replica1");
        assert_eq!(conn.value(&format!("ask third: {WHO}")), "replica2");
    }
    // The statement runs with the schema and the variables of the client.
    conn.run("SET time_zone = '+03:00'");
    assert_eq!(
        conn.value("ask replica1: SELECT CONCAT(@@time_zone, DATABASE())"),
        "+03:00d"
    );
}

fn a_query_on_another_connection_does_not_change_the_session(product: Product) {
    let cluster = cluster(product);
    let (_scripted, mut conn) = placed(&cluster, Settings::of_cluster(&cluster), ASKS);
    conn.run("BEGIN");
    conn.run("INSERT INTO t (name) VALUES ('mine')");
    assert_eq!(conn.value("ask primary: SELECT COUNT(*) FROM d.t"), "0");
    assert_eq!(
        conn.value("ask primary: INSERT INTO d.t (name) VALUES ('other')"),
        "done"
    );
    assert_eq!(conn.value("SELECT LAST_INSERT_ID()"), "1");
    conn.run("ROLLBACK");
    assert_eq!(
        conn.value("ask primary: SELECT GROUP_CONCAT(name) FROM d.t"),
        "other"
    );
}

fn a_route_holds_for_one_command_only(product: Product) {
    let cluster = cluster(product);
    let (_scripted, mut conn) = placed(&cluster, Settings::of_cluster(&cluster), ASKS);
    for _ in 0..3 {
        assert_eq!(conn.value(&format!("/* to replica1 */ {WHO}")), "replica1");
        assert_eq!(conn.value(&format!("/* to primary */ {WHO}")), "primary");
        assert_eq!(conn.value(&format!("/* to third */ {WHO}")), "replica2");
        // The next statement has no place.
        assert_ne!(conn.value(WHO), "primary");
    }
}

fn each_queued_query_has_its_own_route(product: Product) {
    let cluster = cluster(product);
    let (_scripted, mut conn) = placed(&cluster, Settings::of_cluster(&cluster), ASKS);
    for _ in 0..3 {
        assert_eq!(conn.value("queue replica1 third"), "replica1 replica2");
        assert_eq!(conn.value("queue primary replica1"), "primary replica1");
    }
}

fn an_invalid_route_gives_an_error(product: Product) {
    let cluster = cluster(product);
    let (scripted, mut conn) = placed(&cluster, Settings::of_cluster(&cluster), ASKS);
    let told = conn.value("ask cluster: SELECT 1");
    assert!(
        told.contains("sends this statement to cluster \"nowhere\""),
        "{told}"
    );
    let told = error(&mut conn, "/* to cluster */ SELECT 1");
    assert!(
        told.contains("sends this statement to cluster \"nowhere\""),
        "{told}"
    );
    // If a script makes a mistake, its hook is ignored.
    for (place, cause) in [
        ("word", "\"role=nobody\" is not understood"),
        ("key", "rolle is no part of a place"),
        ("quoted", "backend cannot be \"a, primary\""),
    ] {
        assert_eq!(conn.value(&format!("/* to {place} */ SELECT 7")), "7");
        scripted.proxy.wait_logged(&["pilotfish.route", cause]);
    }
    assert_eq!(conn.value("SELECT 7"), "7");
}

fn a_tag_is_seen_by_rules(product: Product) {
    let script = r#"
        function read_query(packet)
            if packet:find("tagged") then pilotfish.route({ tag = "mine" }) end
        end
    "#;
    let settings = Settings::pooled(Server::shared(product), 2)
        .rule("no", &[("tag", "\"mine\""), ("refuse", "\"by its tag\"")]);
    let scripted = Scripted::with(settings, script);
    let mut conn = scripted.connect();
    assert_eq!(conn.value("SELECT 7"), "7");
    assert_eq!(error(&mut conn, "SELECT 'tagged'"), "by its tag");
}
