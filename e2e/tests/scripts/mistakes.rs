//! What scripts do wrong: a clear error for the client or the usual way, a line in the log, and no harm
//! to anybody else.

use super::*;

/// A script that does something wrong when it is asked "DO wrong".
fn wrong(body: &str) -> String {
    format!(
        r#"
        local function wrong() {body} end
        function read_query(packet)
            if packet:sub(2) == "DO wrong" then return wrong() end
        end
        "#
    )
}

const FAILED: &str = "(lua) handling proxy.response failed, check error-log";

#[test]
fn answers_that_cannot_be_built_are_errors() {
    for (response, logged) in [
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
    ] {
        let script = wrong(&format!("{response} return proxy.PROXY_SEND_RESULT"));
        let scripted = Scripted::start(Product::MariaDb, &script);
        let mut conn = scripted.connect();
        let reply = conn.query("DO wrong");
        let error = reply
            .error()
            .unwrap_or_else(|| panic!("{response}: no error"));
        assert_eq!(
            (error.code, error.text.as_str()),
            (1105, FAILED),
            "{response}"
        );
        scripted.proxy.wait_logged(&[logged]);
        assert_eq!(conn.value("SELECT 'next'"), "next");
    }
}

#[test]
fn decisions_that_mean_nothing_let_the_command_pass() {
    for decision in [
        "3", "4", "-1", "99", "0/0", "{}", "true", "'word'", "nil", "1",
    ] {
        let scripted = Scripted::start(Product::MariaDb, &wrong(&format!("return {decision}")));
        let mut conn = scripted.connect();
        assert!(conn.query("DO wrong").error().is_some(), "{decision}");
        assert_eq!(conn.value("SELECT 'next'"), "next", "{decision}");
    }
}

#[test]
fn what_is_raised_is_logged_with_its_line() {
    for (body, logged) in [
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
    ] {
        let scripted = Scripted::start(Product::MariaDb, &wrong(body));
        let mut conn = scripted.connect();
        // As if there were no script: the server's own word.
        assert_eq!(conn.query("DO wrong").error().unwrap().code, 1054, "{body}");
        scripted.proxy.wait_logged(&["(read_query)", logged]);
        assert_eq!(conn.value("SELECT 'next'"), "next", "{body}");
    }
}

#[test]
fn a_runaway_script_costs_its_own_client_only() {
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
        let settings = Settings::in_front_of([Server::shared(Product::MariaDb)])
            .set("script.instructions_max", 5_000_000)
            .set("script.time_max", "60s")
            .set("script.memory_bytes_max", 16 << 20);
        let scripted = Scripted::with(settings, &wrong(body));
        let mut conn = scripted.connect();
        let mut other = scripted.connect();
        // It may have been about to say no.
        let error = conn.query("DO wrong").error().unwrap().clone();
        let told = format!("(lua) read_query has passed its limit of {limit}");
        assert_eq!((error.code, error.text), (1105, told), "{body}");
        scripted.proxy.wait_logged(&["(read_query)", limit]);
        assert_eq!(other.value("SELECT 'well'"), "well", "{body}");
        assert_eq!(conn.value("SELECT 'next'"), "next", "{body}");
    }
}

#[test]
fn whichever_hook_passes_a_limit_it_lets_nothing_pass() {
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
        let told = format!("(lua) {hook} has passed its limit of instructions");
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
    let told = "(lua) read_query_result has passed its limit of instructions";
    assert_eq!((error.code, error.text.as_str()), (1105, told));
    assert_eq!(conn.value("SELECT 'next'"), "next");
}

#[test]
fn what_a_script_takes_from_all_is_put_back() {
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

#[test]
fn endless_recursion_is_an_error_of_lua() {
    let scripted = Scripted::start(
        Product::MariaDb,
        &wrong("local function f() return 1 + f() end return f()"),
    );
    let mut conn = scripted.connect();
    assert_eq!(conn.query("DO wrong").error().unwrap().code, 1054);
    scripted
        .proxy
        .wait_logged(&["(read_query)", "stack overflow"]);
}

#[test]
fn what_was_queued_before_an_error_is_not_sent() {
    let scripted = Scripted::start(
        Product::MariaDb,
        &wrong("proxy.queries:append(1, '\\003SELECT 1') error('late')"),
    );
    let mut conn = scripted.connect();
    assert_eq!(conn.query("DO wrong").error().unwrap().code, 1054);
    assert_eq!(conn.value("SELECT 'next'"), "next");
}

#[test]
fn a_script_that_cannot_be_loaded_refuses_clients() {
    let scripted = Scripted::start(Product::MariaDb, "function read_query() end");
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

#[test]
fn a_changed_script_is_for_those_who_come() {
    let say = |word: &str| {
        format!(
            r#"function read_query(packet)
                if packet:sub(2) ~= "SELECT which" then return end
                proxy.response = {{ type = 0, resultset = {{ fields = {{ {{ name = "w", type = 254 }} }}, rows = {{ {{ "{word}" }} }} }} }}
                return proxy.PROXY_SEND_RESULT
            end"#
        )
    };
    let scripted = Scripted::start(Product::MariaDb, &say("old"));
    let mut old = scripted.connect();
    fs::write(&scripted.script, say("newer")).unwrap();
    let mut new = scripted.connect();
    assert_eq!(new.value("SELECT which"), "newer");
    assert_eq!(old.value("SELECT which"), "old");
}
