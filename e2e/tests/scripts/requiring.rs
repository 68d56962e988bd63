//! `require` and `print` in scripts.

use super::*;

in_both_ways! {
    a_required_module_may_have_the_hooks
    a_module_writes_into_the_proxy_table_of_its_first_client
    print_writes_to_standard_output_until_chassis_is_required
    get_stats_returns_the_memory_of_the_interpreter
}

/// A script in a folder with these modules.
fn with_modules(product: Product, script: &str, modules: &[(&str, &str)]) -> (Scripted, Folder) {
    let folder = Folder::new("files");
    for (name, text) in modules {
        fs::write(folder.path().join(format!("{name}.lua")), text).unwrap();
    }
    let path = folder.path().join("?.lua").display().to_string();
    let settings = usual(product).set("script.lua_path", path.as_str());
    (Scripted::with(settings, script), folder)
}

/// Hooks in `_G`, as a module defines them: all clients share them and their locals.
fn a_required_module_may_have_the_hooks(product: Product) {
    let module = r#"
        local count = 0
        function read_query(packet)
            if packet:sub(2) ~= "SELECT count" then return end
            count = count + 1
            proxy.response = {
                type = proxy.MYSQLD_PACKET_OK,
                resultset = {
                    fields = { { name = "n", type = proxy.MYSQL_TYPE_STRING } },
                    rows = { { count .. " " .. proxy.connection.client.username .. " " .. proxy.connection.client.src.port } },
                },
            }
            return proxy.PROXY_SEND_RESULT
        end
    "#;
    let script = "require('counting')";
    let (scripted, _folder) = with_modules(product, script, &[("counting", module)]);
    let (mut one, mut two) = (scripted.connect(), scripted.connect());
    let told = |conn: &mut RawConn| conn.value("SELECT count");
    let first = told(&mut one);
    let second = told(&mut two);
    let third = told(&mut one);
    assert!(first.starts_with("1 app "), "{first}");
    assert!(second.starts_with("2 app "), "{second}");
    // Each hook sees the connection for which it is called.
    assert_eq!(third, first.replacen('1', "3", 1));
    assert_ne!(first[5..], second[5..]);
}

/// `module("proxy.x")` writes into `proxy` of the client that has required it first. Other clients get the value
/// that `require` returns.
fn a_module_writes_into_the_proxy_table_of_its_first_client(product: Product) {
    let module = "module('proxy.own', package.seeall)\nfunction name() return 'own' end";
    let script = seeing(
        r#"
        local own = require("proxy.own")
        function read_query(packet)
            if is_asked(packet) then return seen() end
            see(own.name(), proxy.own ~= nil, require("proxy.commands").parse(packet).type_name)
        end
        "#,
    );
    let folder = Folder::new("files");
    fs::create_dir(folder.path().join("proxy")).unwrap();
    fs::write(folder.path().join("proxy/own.lua"), module).unwrap();
    let path = folder.path().join("?.lua").display().to_string();
    let settings = usual(product).set("script.lua_path", path.as_str());
    let scripted = Scripted::with(settings, &script);
    let (mut one, mut two) = (scripted.connect(), scripted.connect());
    one.run("SELECT 1");
    two.run("SELECT 1");
    assert_eq!(
        seen(&mut one),
        ["own true COM_QUERY", "own false COM_QUERY"]
    );
}

/// Until a script requires `chassis`. After that, `print` writes its first argument into the log.
fn print_writes_to_standard_output_until_chassis_is_required(product: Product) {
    let script = r#"
        function read_query(packet)
            if packet == "\003DO print" then print("printed", 1, nil)
            elseif packet == "\003DO write" then io.write("written", 2, "\n") io.stdout:flush()
            elseif packet == "\003DO errors" then io.stderr:write("errors are written\n")
            elseif packet == "\003DO require" then
                local old = print
                require("chassis")
                if os.print ~= old or print == old then error("print is what it was") end
            elseif packet == "\003DO log" then print("logged", "not this")
            elseif packet == "\003DO old" then os.print("as before", 3)
            elseif packet == "\003DO tables" then print({}) end
        end
    "#;
    let settings = usual(product).set("log.level", "info");
    let scripted = Scripted::with(settings, script);
    let mut conn = scripted.connect();
    let line = |text: &str| {
        let log = scripted.proxy.log();
        let found = log.lines().find(|line| line.contains(text));
        found.map(str::to_owned)
    };
    for (ask, text, whole) in [
        ("DO print", "printed", "printed\t1\tnil"),
        ("DO write", "written", "written2"),
        ("DO errors", "errors are", "errors are written"),
    ] {
        conn.query(ask);
        scripted.proxy.wait_logged(&[text]);
        assert_eq!(line(text).unwrap(), whole);
    }
    conn.query("DO require");
    conn.query("DO log");
    scripted.proxy.wait_logged(&["INFO", "logged"]);
    assert!(line("not this").is_none());
    conn.query("DO old");
    scripted.proxy.wait_logged(&["as before"]);
    assert_eq!(line("as before").unwrap(), "as before\t3");
    conn.query("DO tables");
    scripted.proxy.wait_logged(&["INFO", "table: 0x"]);
    // In all cases the hook has made no decision.
    assert_eq!(conn.value("SELECT 7"), "7");
    assert!(line("print is what it was").is_none());
}

fn get_stats_returns_the_memory_of_the_interpreter(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                local stats = require("chassis").get_stats().chassis
                see(stats.lua_mem_bytes > 10000, stats.lua_mem_alloc - stats.lua_mem_free == stats.lua_mem_bytes,
                    stats.lua_mem_bytes_max >= stats.lua_mem_bytes)
            end
            "#,
        ),
    );
    let mut conn = scripted.connect();
    conn.run("SELECT 1");
    assert_eq!(seen(&mut conn), ["true true true"]);
}
