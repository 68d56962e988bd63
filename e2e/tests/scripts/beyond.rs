//! Parts of `pilotfish` beyond the old API for what scripts share: a dictionary, metrics, timers, the log.

use std::time::Duration;

use e2e::raw::Address;
use e2e::wait::{SOON, until};

use super::*;

in_both_ways! {
    shared_entries_are_visible_to_all_sessions_and_expire
    timers_run_without_a_session
    an_error_in_a_timer_affects_no_session
    fields_are_logged_beside_a_line
    counters_of_scripts_are_a_table
}

const PATIENCE: Duration = e2e::wait::SOON;

fn telling(script: &str) -> String {
    format!("{}{script}", waiting::TELLS)
}

/// A proxy with two workers, each with an interpreter of its own.
fn apart(product: Product, script: &str) -> Scripted {
    let settings = usual(product).set("script.isolation", "worker");
    Scripted::with_workers(settings, 2, &telling(script))
}

fn shared_entries_are_visible_to_all_sessions_and_expire(product: Product) {
    let scripted = apart(
        product,
        r#"
        local shared = pilotfish.shared
        function read_query(packet)
            local what, seconds = packet:match("^\003DO (%w+) ?([%d.]*)")
            if what == "count" then
                return tell(shared:increase("visits"))
            elseif what == "keep" then
                return tell(shared:add("kept", "mine", tonumber(seconds)))
            elseif what == "look" then
                return tell(shared:get("kept"))
            elseif what == "brief" then
                return tell(shared:add("brief", 1, 0.05))
            end
        end
        "#,
    );
    let mut clients: Vec<RawConn> = (0..6).map(|_| scripted.connect()).collect();
    for (client, visit) in clients.iter_mut().zip(1..) {
        assert_eq!(client.value("DO count"), visit.to_string());
    }
    assert_eq!(clients[0].value("DO keep 1000"), "true");
    for client in &mut clients {
        assert_eq!(client.value("DO look"), "mine");
        assert_eq!(client.value("DO keep 0.001"), "false");
    }
    assert_eq!(clients[0].value("DO brief"), "true");
    until("it has expired", SOON, || {
        clients[1].value("DO brief") == "true"
    });
}

fn timers_run_without_a_session(product: Product) {
    let scripted = Scripted::start(
        product,
        &telling(
            r#"
            pilotfish.every("ticks", 0.01, function()
                pilotfish.shared:increase("ticks")
                proxy.global.knows = tostring(proxy.connection) .. tostring(pilotfish.session.id)
            end)
            function read_query(packet)
                if packet == "\003DO ticks" then return tell(pilotfish.shared:get("ticks"))
                elseif packet == "\003DO knows" then return tell(proxy.global.knows)
                elseif packet == "\003DO stop" then pilotfish.cancel("ticks") return tell("stopped")
                elseif packet == "\003DO after" then
                    pilotfish.after("once", 0.01, function() pilotfish.shared:set("after", "there") end)
                    return tell("set")
                elseif packet == "\003DO look" then return tell(pilotfish.shared:get("after"))
                end
            end
            "#,
        ),
    );
    let mut first = scripted.connect();
    let ticks = |conn: &mut RawConn| conn.value("DO ticks").parse::<f64>().unwrap_or_default();
    until("ticks", PATIENCE, || ticks(&mut first) >= 5.0);
    assert_eq!(first.value("DO knows"), "nilnil");
    // There is one timer, however many sessions set it, and it runs on when they have disconnected.
    let mut others: Vec<RawConn> = (0..5).map(|_| scripted.connect()).collect();
    drop(first);
    let before = ticks(&mut others[0]);
    until("more ticks", PATIENCE, || ticks(&mut others[0]) > before);
    assert_eq!(others[1].value("DO stop"), "stopped");
    let last = ticks(&mut others[0]);
    assert_eq!(others[0].value("DO after"), "set");
    until("the one after", PATIENCE, || {
        others[0].value("DO look") == "there"
    });
    assert_eq!(ticks(&mut others[0]), last);
}

fn an_error_in_a_timer_affects_no_session(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        pilotfish.every("fails", 0.01, function() error("by the clock") end)
        pilotfish.every("is long", 0.01, function() error(("x"):rep(100000), 0) end)
        pilotfish.every("waits", 0.01, function() pilotfish.sleep(1) end)
        pilotfish.every("spins", 0.01, function() while true do end end)
        "#,
    );
    let mut conn = scripted.connect();
    scripted.proxy.wait_logged(&["(timer)", "by the clock"]);
    // A line in the log has a maximum length.
    scripted
        .proxy
        .wait_logged(&["(timer)", "x... (100000 bytes)"]);
    scripted
        .proxy
        .wait_logged(&["(timer)", "only read_query and read_query_result can wait"]);
    scripted.proxy.wait_logged(&["(timer)", "its limit of"]);
    assert_eq!(conn.value("SELECT 7"), "7");
}

fn fields_are_logged_beside_a_line(product: Product) {
    let scripted = Scripted::start(
        product,
        r#"
        function read_query(packet)
            if packet == "\003DO log" then
                pilotfish.log("warning", "a line", { rows = 3, table = "t\"x", ok = true })
            end
        end
        "#,
    );
    scripted.connect().query("DO log");
    scripted
        .proxy
        .wait_logged(&["WARN", "a line", "rows", "3", "ok"]);
}

fn counters_of_scripts_are_a_table(product: Product) {
    let script = r#"
        function read_query(packet)
            pilotfish.count("commands_total", 1, { kind = packet:byte() == proxy.COM_QUERY and "query" or "other" })
            pilotfish.gauge("last_length", #packet)
            pilotfish.observe("lengths", #packet)
            if packet == "\003DO fail" then error("mine") end
        end
    "#;
    let port = e2e::free_port();
    let settings = usual(product)
        .set("script.isolation", "worker")
        .admin_on(port);
    let scripted = Scripted::with_workers(settings, 2, script);
    for _ in 0..3 {
        let mut conn = scripted.connect();
        conn.run("SELECT 7");
        conn.query("DO fail");
    }
    let address = Address::from(std::net::SocketAddr::from(([127, 0, 0, 1], port)));
    let mut admin = RawConn::connect(&address, &Login::with("root", "all")).unwrap();
    let counted =
        "SELECT value FROM script_metrics WHERE name = 'commands_total' AND labels = 'kind=query'";
    assert_eq!(admin.value(counted), "6");
    let lengths = "SELECT kind, count, value FROM script_metrics WHERE name = 'lengths'";
    let seen = rows(&admin.run(lengths));
    assert!(seen[0].starts_with("histogram|"), "{seen:?}");
    let named = "SELECT COUNT(*) FROM script_metrics WHERE labels LIKE '%le=%'";
    assert_eq!(admin.value(named), "0");
    let facts = "SELECT sessions, refused, faults, last_fault FROM scripts";
    let seen = rows(&admin.run(facts));
    assert!(seen[0].starts_with("3|0|3|(read_query)"), "{seen:?}");
    assert!(seen[0].ends_with("mine"), "{seen:?}");
}
