//! Mistakes of scripts: the client gets a clear error or the usual behaviour, the log has a line, and no other
//! client is affected.

use std::io::ErrorKind;

use super::*;

in_both_ways! {
    answers_that_cannot_be_built_are_errors
    decisions_that_mean_nothing_let_the_command_pass
    errors_of_scripts_are_logged_with_their_line
    a_runaway_script_costs_its_own_client_only
    endless_recursion_is_an_error_of_lua
    queries_queued_before_an_error_are_not_sent
    a_script_that_cannot_be_loaded_refuses_clients
    a_changed_script_applies_to_new_sessions
    malformed_packets_of_a_script_disturb_no_other_session
    objects_that_outlive_their_hook_are_harmless
    an_error_in_a_hook_is_as_if_it_were_not_there
    the_default_instruction_limit_ends_an_endless_hook
    script_time_max_ends_a_hook_that_runs_a_shell_command
    a_hook_reads_an_empty_standard_input
}

/// A script with a mistake in its hook for "DO wrong".
fn wrong(body: &str) -> String {
    wrongs(&[body]).replace("DO wrong1", "DO wrong")
}

/// A script with several mistakes: "DO wrong1" and so on.
fn wrongs(bodies: &[&str]) -> String {
    let mut script = "local wrongs = {}\n".to_owned();
    for (body, number) in bodies.iter().zip(1..) {
        script += &format!("wrongs['DO wrong{number}'] = function() {body} end\n");
    }
    script
        + "function read_query(packet)
            local wrong = wrongs[packet:sub(2)]
            if wrong then return wrong() end
        end"
}

const FAILED: &str = "(lua) handling proxy.response failed, check error-log";

fn answers_that_cannot_be_built_are_errors(product: Product) {
    let answers = [
        ("proxy.response = 5", "has to be a table"),
        ("proxy.response = {}", "type is nil"),
        ("proxy.response = { type = 'x' }", "type is nil"),
        ("proxy.response = { type = 77 }", "type is 77"),
        (
            "proxy.response = { type = 250 }",
            "packets has to be a table",
        ),
        (
            "proxy.response = { type = 250, packets = {} }",
            "packets is empty",
        ),
        (
            "proxy.response = { type = 250, packets = { {} } }",
            "packets[1]",
        ),
        (
            "proxy.response = { type = 0, resultset = { } }",
            "fields has to be a table",
        ),
        (
            "proxy.response = { type = 0, resultset = { fields = {}, rows = {} } }",
            "fields is empty",
        ),
        (
            "proxy.response = { type = 0, resultset = { fields = { 5 } } }",
            "fields[1]",
        ),
        (
            "proxy.response = { type = 0, resultset = { fields = { { name = 'a' } }, rows = 1 } }",
            "rows has to be a table",
        ),
        (
            "proxy.response = { type = 0, resultset = { fields = { { name = 'a' } }, rows = { 1 } } }",
            "rows[1]",
        ),
    ];
    let bodies = answers.map(|(response, _)| format!("{response} return proxy.PROXY_SEND_RESULT"));
    let scripted = Scripted::start(product, &wrongs(&bodies.each_ref().map(String::as_str)));
    let mut conn = scripted.connect();
    for ((response, logged), number) in answers.into_iter().zip(1..) {
        let reply = conn.query(&format!("DO wrong{number}"));
        let error = reply
            .error()
            .unwrap_or_else(|| panic!("{response}: no error"));
        let told = (error.code, error.text.as_str());
        assert_eq!(told, (1105, FAILED), "{response}");
        scripted.proxy.wait_logged(&[logged]);
        assert_eq!(conn.value("SELECT 'next'"), "next");
    }
}

fn decisions_that_mean_nothing_let_the_command_pass(product: Product) {
    let decisions = [
        "3", "4", "-1", "99", "0/0", "{}", "true", "'word'", "nil", "1",
    ];
    let bodies = decisions.map(|decision| format!("return {decision}"));
    let scripted = Scripted::start(product, &wrongs(&bodies.each_ref().map(String::as_str)));
    let mut conn = scripted.connect();
    for (decision, number) in decisions.into_iter().zip(1..) {
        let reply = conn.query(&format!("DO wrong{number}"));
        assert_eq!(reply.error().unwrap().code, 1054, "{decision}");
        assert_eq!(conn.value("SELECT 'next'"), "next", "{decision}");
    }
}

fn errors_of_scripts_are_logged_with_their_line(product: Product) {
    let mistakes = [
        ("error('on purpose')", "on purpose"),
        ("error({})", "table: "),
        ("local x = nil + 1", "attempt to perform arithmetic"),
        ("coroutine.yield(1)", "attempt to yield"),
        ("os.exit(1)", "os.exit"),
        (
            "return wrong_name.x",
            "attempt to index global 'wrong_name'",
        ),
        (
            "proxy.queries:append('x', 'y')",
            "bad argument #1 to 'append' (number expected, got string)",
        ),
        (
            "proxy.queries:append(1)",
            "bad argument #2 to 'append' (string expected, got no value)",
        ),
        (
            "proxy.queries:append(1, 'x', 5)",
            "bad argument #3 to 'append' (table expected, got number)",
        ),
        (
            "proxy.connection.nothing = 1",
            "proxy.connection.nothing is not writable",
        ),
        (
            "proxy.connection.connection_close = 1",
            "has to be a boolean",
        ),
        ("proxy.connection.backend_ndx = 'x'", "has to be an integer"),
        (
            "proxy.global.backends[1].uuid = 5",
            "uuid has to be a string",
        ),
        (
            "proxy.global.backends[1].x = 5",
            "proxy.global.backends[...].x is not writable",
        ),
        (
            "return proxy.global.backends.x",
            "bad argument #2 to '?' (number expected, got string)",
        ),
        (
            "proxy.queries:append(1, 'x', { resultset_is_needed = 1 })",
            "bad argument #3 to 'append' (resultset_is_needed is a boolean, is number)",
        ),
        (
            "proxy.queries:prepend({}, 'x')",
            "bad argument #1 to 'prepend' (number expected, got table)",
        ),
        ("proxy.queries.x = 1", "proxy.queries.x is not writable"),
        (
            "proxy.connection.client.username = 'x'",
            "proxy.connection.(client|server).username is not writable",
        ),
        (
            "proxy.connection.client.src.port = 1",
            "address.port is not writable",
        ),
        (
            "proxy.global.backends[1].pool.x = 1",
            "proxy.backend[...].x is not writable",
        ),
        (
            "proxy.global.backends[1] = 1",
            "proxy.global.backends is not writable",
        ),
        (
            "proxy.global.backends[1].state = 3",
            "state is one of proxy.BACKEND_STATE_",
        ),
        (
            "proxy.connection.backend_ndx = 1.5",
            "has to be an integer, is 1.5",
        ),
    ];
    let bodies = mistakes.map(|(body, _)| body);
    let scripted = Scripted::start(product, &wrongs(&bodies));
    let mut conn = scripted.connect();
    for ((body, logged), number) in mistakes.into_iter().zip(1..) {
        // The server answers with its own error, as if there were no script.
        let reply = conn.query(&format!("DO wrong{number}"));
        assert_eq!(reply.error().unwrap().code, 1054, "{body}");
        // Bodies begin on the second line.
        let place = format!(":{}: ", number + 1);
        match body.contains("error({})") || body.contains("yield") {
            true => scripted.proxy.wait_logged(&["(read_query)", logged]),
            false => scripted
                .proxy
                .wait_logged(&["(read_query)", &place, logged]),
        };
        assert_eq!(conn.value("SELECT 'next'"), "next", "{body}");
    }
}

fn a_runaway_script_costs_its_own_client_only(product: Product) {
    for (body, limit) in [
        ("while true do end", "instructions"),
        ("while true do pcall(error) end", "instructions"),
        (
            "local function f() return f() end return f()",
            "instructions",
        ),
        (
            "local t = {} while true do t[#t + 1] = string.rep('x', 100000) .. #t end",
            "memory",
        ),
        ("return string.rep('x', 1e12)", "memory"),
    ] {
        let settings = usual(product)
            .set("script.instructions_max", 5_000_000)
            .set("script.time_max", "60s")
            .set("script.memory_bytes_max", 16 << 20);
        let scripted = Scripted::with(settings, &wrong(body));
        let mut conn = scripted.connect();
        let mut other = scripted.connect();
        // The hook may have been about to refuse the statement.
        let error = conn.query("DO wrong").error().unwrap().clone();
        let setting = match limit {
            "memory" => "memory_bytes_max",
            _ => "instructions_max",
        };
        let told = format!("(lua) read_query has passed its limit of {limit} (script.{setting})");
        assert_eq!((error.code, error.text), (1105, told), "{body}");
        scripted.proxy.wait_logged(&["(read_query)", limit]);
        assert_eq!(other.value("SELECT 'well'"), "well", "{body}");
        assert_eq!(conn.value("SELECT 'next'"), "next", "{body}");
    }
}

#[test]
fn a_hook_beyond_its_instruction_limit_refuses_the_login_or_result() {
    let endless = "while true do end";
    for hook in [
        "connect_server",
        "read_handshake",
        "read_auth",
        "read_auth_result",
    ] {
        let settings = Settings::in_front_of([Server::shared(Product::MariaDb)])
            .set("script.instructions_max", 1_000_000);
        let scripted = Scripted::with(settings, &format!("function {hook}() {endless} end"));
        let (code, text) = scripted.refusal();
        let told =
            format!("(lua) {hook} has passed its limit of instructions (script.instructions_max)");
        assert_eq!((code, text), (1105, told));
    }
    let settings = Settings::in_front_of([Server::shared(Product::MariaDb)])
        .set("script.instructions_max", 1_000_000);
    let script = format!(
        "function read_query(packet)
            proxy.queries:append(1, packet, {{ resultset_is_needed = true }})
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result(inj) if inj.query:find('secret') then {endless} end end"
    );
    let scripted = Scripted::with(settings, &script);
    let mut conn = scripted.connect();
    let error = conn.query("SELECT 'secret'").error().unwrap().clone();
    let told =
        "(lua) read_query_result has passed its limit of instructions (script.instructions_max)";
    assert_eq!((error.code, error.text.as_str()), (1105, told));
    assert_eq!(conn.value("SELECT 'next'"), "next");
}

#[test]
fn changes_of_a_script_to_builtins_are_undone() {
    for body in [
        "proxy.global = nil",
        "proxy.global.backends = nil",
        "_G.proxy = nil",
        "_G.proxy = {}",
        "setmetatable(proxy, {})",
        "setmetatable(proxy, nil)",
        "proxy.PROXY_SEND_QUERY = 2",
        "proxy.queries = nil",
        "proxy.connection = 7",
        "proxy.response = 'x'",
        "string.sub = nil",
        "string.format = 5",
        "_G.type = nil",
        "_G.pairs = nil",
        "_G.string = nil",
        "getmetatable('').__index = nil",
        "for key in pairs(_G) do _G[key] = nil end",
        "for key in pairs(proxy) do proxy[key] = nil end",
        "coroutine.yield = nil",
        "_G.pilotfish = nil",
    ] {
        let script = format!(
            "function read_query(packet)
                if packet:sub(2) == 'DO wrong' then {body} return end
                if packet:sub(2) == 'DO fail' then error('now') end
                if packet:sub(2) == 'SELECT what' then
                    local backends = #proxy.global.backends
                    proxy.queries:append(1, string.char(proxy.COM_QUERY) .. ('SELECT ' .. backends))
                    return proxy.PROXY_SEND_QUERY
                end
            end"
        );
        let scripted = Scripted::start(Product::MariaDb, &script);
        let mut before = scripted.connect();
        assert_eq!(before.value("SELECT what"), "1", "{body}");
        assert!(
            scripted.connect().query("DO wrong").error().is_some(),
            "{body}"
        );
        assert_eq!(scripted.connect().value("SELECT what"), "1", "{body}");
        assert!(
            scripted.connect().query("DO wrong").error().is_some(),
            "{body}"
        );
        assert!(before.query("DO fail").error().is_some(), "{body}");
        assert_eq!(before.value("SELECT what"), "1", "{body}");
    }
}

fn endless_recursion_is_an_error_of_lua(product: Product) {
    let scripted = Scripted::start(
        product,
        &wrong("local function f() return 1 + f() end return f()"),
    );
    let mut conn = scripted.connect();
    assert_eq!(conn.query("DO wrong").error().unwrap().code, 1054);
    scripted
        .proxy
        .wait_logged(&["(read_query)", "stack overflow"]);
}

fn queries_queued_before_an_error_are_not_sent(product: Product) {
    let scripted = Scripted::start(
        product,
        &wrong("proxy.queries:append(1, '\\003SELECT 1') error('late')"),
    );
    let mut conn = scripted.connect();
    assert_eq!(conn.query("DO wrong").error().unwrap().code, 1054);
    assert_eq!(conn.value("SELECT 'next'"), "next");
}

fn a_script_that_cannot_be_loaded_refuses_clients(product: Product) {
    let scripted = Scripted::start(product, "function read_query() end");
    let mut before = scripted.connect();
    fs::write(&scripted.script, "function read_query( -- what now").unwrap();
    let (code, text) = scripted.refusal();
    assert_eq!(code, 1105);
    assert!(
        text.ends_with("failed to load. Check the error log."),
        "{text}"
    );
    scripted.proxy.wait_logged(&["lua_load_file(", "]:2:"]);
    fs::write(&scripted.script, "\nerror('at once, with more bytes')").unwrap();
    let (_, text) = scripted.refusal();
    assert!(
        text.ends_with("failed to execute. Check the error log."),
        "{text}"
    );
    scripted
        .proxy
        .wait_logged(&["(lua-error) [", "]:2: at once"]);
    fs::remove_file(&scripted.script).unwrap();
    assert_eq!(scripted.refusal().0, 1105);
    assert_eq!(before.value("SELECT 'still'"), "still");
}

fn a_changed_script_applies_to_new_sessions(product: Product) {
    let say = |word: &str| {
        format!(
            r#"function read_query(packet)
                if packet:sub(2) ~= "SELECT which" then return end
                proxy.response = {{ type = 0, resultset = {{ fields = {{ {{ name = "w", type = 254 }} }}, rows = {{ {{ "{word}" }} }} }} }}
                return proxy.PROXY_SEND_RESULT
            end"#
        )
    };
    let scripted = Scripted::start(product, &say("old"));
    let mut old = scripted.connect();
    fs::write(&scripted.script, say("newer")).unwrap();
    let mut new = scripted.connect();
    assert_eq!(new.value("SELECT which"), "newer");
    assert_eq!(old.value("SELECT which"), "old");
}

/// Commands that no server knows, or that are too short: only this session gets an error or ends.
fn malformed_packets_of_a_script_disturb_no_other_session(product: Product) {
    let script = r#"
        local garbage = { "", "\000", "\003", "\255", "\023", "\023\1\0", "\025\1", "\028x", "\002", "\005x", "\200abc",
            ("\3x"):rep(1000), "\022" }
        function read_query(packet)
            local number = packet:match("^\003DO garbage(%d+)$")
            if number then
                for _, needed in ipairs({ true, false }) do
                    proxy.queries:append(1, garbage[tonumber(number)], { resultset_is_needed = needed })
                end
                return proxy.PROXY_SEND_QUERY
            end
        end
        function read_query_result(inj) return proxy.PROXY_IGNORE_RESULT end
    "#;
    let scripted = Scripted::start(product, script);
    let mut other = scripted.connect();
    for number in 1..=13 {
        let mut conn = scripted.connect();
        conn.patience(e2e::wait::SOON);
        // The result is one reply, or the end of the session.
        let is_end = |error: &std::io::Error| {
            !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
        };
        match conn.try_query(&format!("DO garbage{number}")) {
            Err(error) => assert!(is_end(&error), "{number}: {error}"),
            Ok(_) => match conn.try_query("SELECT 'after'") {
                Ok(after) => {
                    let is_in_order = after.error().is_some() || rows(&after) == ["after"];
                    assert!(is_in_order, "{number}: {after:?}");
                }
                Err(error) => assert!(is_end(&error), "{number}: {error}"),
            },
        }
        assert_eq!(other.value("SELECT 'well'"), "well", "{number}");
    }
    scripted.proxy.assert_sound();
}

/// Objects of one hook that another hook uses, or another session, or a hook after the session's end.
fn objects_that_outlive_their_hook_are_harmless(product: Product) {
    let script = r#"
        local kept = proxy.global
        function read_query(packet)
            if is_asked(packet) then return seen() end
            if packet == "\003DO look" then
                local set = kept.set
                for _, key in ipairs({ "rows", "fields", "raw" }) do
                    local ok, why = pcall(function() return set[key] end)
                    see(key, ok, (tostring(why):gsub("^.-%.resultset", ".resultset")))
                end
                see("row", pcall(kept.row))
                see(kept.inj.id, kept.inj.query, kept.client.username, kept.client.src.address)
                see(#kept.queries, kept.connection.client.username, kept.field.name, #kept.fields)
                kept.queries:append(1, packet)
                kept.connection.backend_ndx = 1
                return
            end
            proxy.queries:append(7, packet, { resultset_is_needed = true })
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result(inj)
            kept.inj, kept.set, kept.row = inj, inj.resultset, inj.resultset.rows
            kept.fields = inj.resultset.fields
            kept.field = kept.fields[1]
            kept.client, kept.connection, kept.queries = proxy.connection.client, proxy.connection, proxy.queries
        end
    "#;
    let scripted = Scripted::start(product, &seeing(script));
    let mut first = scripted.connect();
    assert_eq!(first.value("SELECT 'mine' AS a"), "mine");
    let look = |conn: &mut RawConn| {
        let _ = conn.query("DO look");
        assert_eq!(conn.value("SELECT 5 AS a"), "5");
    };
    let is_told = |lines: &[String]| {
        for (at, key) in ["rows", "fields", "raw"].into_iter().enumerate() {
            let why = "is gone: a result lives as long as its read_query_result";
            assert_eq!(lines[at], format!("{key} false .resultset.{key} {why}"));
        }
        assert!(lines[3].starts_with("row false"), "{lines:?}");
        assert_eq!(lines[5], "0 app a 1");
    };
    look(&mut first);
    let lines = seen(&mut first);
    is_told(&lines);
    assert!(
        lines[4].starts_with("7 \u{3}SELECT 'mine' AS a app 127.0.0.1"),
        "{lines:?}"
    );
    // Another session uses the object, while its own session exists and after its end.
    let mut second = scripted.connect();
    first.run("SELECT 6 AS a");
    look(&mut second);
    is_told(&seen(&mut second));
    first.run("SELECT 7 AS a");
    first.quit();
    look(&mut second);
    is_told(&seen(&mut second));
    scripted.proxy.assert_sound();
}

/// The login continues, the command is forwarded, the result is sent.
fn an_error_in_a_hook_is_as_if_it_were_not_there(product: Product) {
    for hook in [
        "connect_server",
        "read_handshake",
        "read_auth",
        "read_auth_result",
        "read_query",
        "read_query_result",
        "disconnect_client",
    ] {
        let script = format!(
            "function read_query(packet)
                proxy.queries:append(1, packet, {{ resultset_is_needed = true }})
                return proxy.PROXY_SEND_QUERY
            end
            local function fail() error('in {hook}') end
            function {hook}() fail() end"
        );
        let scripted = Scripted::start(product, &script);
        let mut conn = scripted.connect();
        assert_eq!(conn.value("SELECT 'well'"), "well", "{hook}");
        conn.quit();
        let place = format!("({hook})");
        scripted.proxy.wait_logged(&[&place, &format!("in {hook}")]);
    }
    // A hook that is no function is ignored.
    let scripted = Scripted::start(
        product,
        "read_query = 5 read_auth = 'x' connect_server = {}",
    );
    assert_eq!(scripted.connect().value("SELECT 'well'"), "well");
    scripted
        .proxy
        .wait_logged(&["read_query is a number and no function: ignored"]);
}

/// A hook without a configured limit ends as well, by a number of instructions and not by time.
fn the_default_instruction_limit_ends_an_endless_hook(product: Product) {
    let settings = usual(product).set("script.time_max", "1h");
    let scripted = Scripted::with(settings, &wrong("while true do end"));
    let mut conn = scripted.connect();
    let mut other = scripted.connect();
    conn.send_query("DO wrong").unwrap();
    assert_eq!(other.value("SELECT 'well'"), "well");
    let error = conn.reply(Shape::Results).error().unwrap().clone();
    let told = "(lua) read_query has passed its limit of instructions (script.instructions_max)";
    assert_eq!((error.code, error.text.as_str()), (1105, told));
    scripted
        .proxy
        .wait_logged(&["its limit of 20000000 instructions"]);
}

fn script_time_max_ends_a_hook_that_runs_a_shell_command(product: Product) {
    let settings = usual(product).set("script.time_max", "2s");
    let scripted = Scripted::with(settings, &wrong("os.execute('sleep 3600; true')"));
    let mut conn = scripted.connect();
    let mut other = scripted.connect();
    conn.send_query("DO wrong").unwrap();
    assert_eq!(other.value("SELECT 'well'"), "well");
    let error = conn.reply(Shape::Results).error().unwrap().clone();
    let told = "(lua) read_query has passed its limit of time (script.time_max)";
    assert_eq!((error.code, error.text.as_str()), (1105, told));
    assert_eq!(conn.value("SELECT 'next'"), "next");
}

/// The proxy's own standard input never ends.
fn a_hook_reads_an_empty_standard_input(product: Product) {
    let body = "assert(io.read() == nil and io.stdin:read(1) == nil and io.read('*a') == '') error('read all')";
    let scripted = Scripted::start(product, &wrong(body));
    let mut conn = scripted.connect();
    conn.query("DO wrong");
    scripted.proxy.wait_logged(&["(read_query)", "read all"]);
}
