//! KILL, KILL QUERY and COM_PROCESS_KILL from another session.

use e2e::raw::{RawConn, Shape, Transcript, command};
use e2e::{Site, wait};

/// Connects a client that sleeps. Returns it with its connection id.
fn sleeper(site: &Site) -> (RawConn, u32) {
    let mut victim = site.connect();
    let id: u32 = victim
        .unrecorded(|conn| conn.value("SELECT CONNECTION_ID()"))
        .parse()
        .unwrap();
    assert_eq!(victim.id, id, "the greeting names the connection id");
    victim
        .send_query("SELECT 'slept', SLEEP(60) FROM (SELECT 1 UNION SELECT 2) AS two")
        .unwrap();
    let mut root = site.server.root();
    let ask = format!(
        "SELECT COUNT(*) FROM information_schema.processlist \
         WHERE state = 'User sleep' AND db = '{}'",
        site.schema
    );
    wait::until("it sleeps", wait::SOON, || root.value(&ask) == "1");
    (victim, id)
}

scenario!(kill_query_ends_the_statement_only on mariadb, mysql);
fn kill_query_ends_the_statement_only(site: &Site) -> Transcript {
    let (mut victim, id) = sleeper(site);
    site.connect().run(&format!("KILL QUERY {id}"));
    let reply = victim.reply(Shape::Results);
    assert_eq!(reply.error().unwrap().code, 1317);
    assert_eq!(victim.value("SELECT 1"), "1");
    victim.transcript()
}

scenario!(kill_ends_the_session on mariadb, mysql);
fn kill_ends_the_session(site: &Site) -> Transcript {
    let (mut victim, id) = sleeper(site);
    site.connect().run(&format!("KILL {id}"));
    ended(&mut victim)
}

scenario!(process_kill_ends_the_session_or_is_unknown on mariadb, mysql);
fn process_kill_ends_the_session_or_is_unknown(site: &Site) -> Transcript {
    let (mut victim, id) = sleeper(site);
    let reply = site
        .connect()
        .command(command::PROCESS_KILL, &id.to_le_bytes());
    let mut transcript = Transcript::default();
    match reply.error() {
        Some(error) => transcript.note(format!("{error}")),
        None => transcript.extend(ended(&mut victim)),
    }
    site.connect().query(&format!("KILL {id}"));
    transcript
}

scenario!(an_idle_session_may_be_killed on mariadb, mysql);
fn an_idle_session_may_be_killed(site: &Site) -> Transcript {
    let mut victim = site.connect();
    let id = victim.id;
    site.connect().run(&format!("KILL {id}"));
    let mut transcript = Transcript::default();
    assert!(
        victim
            .try_query("SELECT 1")
            .map_or(true, |reply| reply.error().is_some())
    );
    transcript.note("ended");
    transcript
}

scenario!(a_session_may_kill_itself on mariadb, mysql);
fn a_session_may_kill_itself(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let reply = conn.unrecorded(|conn| conn.query("KILL CONNECTION_ID()"));
    let mut transcript = Transcript::default();
    transcript.note(reply.error().unwrap().to_string());
    let next = conn.try_query("SELECT 1");
    assert!(next.map_or(true, |reply| reply.error().is_some()));
    transcript
}

scenario!(killing_an_unknown_session_is_an_error on mariadb, mysql);
fn killing_an_unknown_session_is_an_error(site: &Site) -> Transcript {
    let mut conn = site.connect();
    assert_eq!(conn.query("KILL 4294967290").error().unwrap().code, 1094);
    conn.transcript()
}

/// The ERR may or may not arrive before the connection ends, so only the end is compared.
fn ended(victim: &mut RawConn) -> Transcript {
    let reply = victim.try_reply(Shape::Results);
    assert!(reply.map_or(true, |reply| reply.error().is_some()));
    assert!(victim.is_closed_by_server());
    let mut transcript = Transcript::default();
    transcript.note("ended");
    transcript
}
