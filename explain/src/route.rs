//! EXPLAIN ROUTE: where a statement would go now, and why. It shows the statement's facts, the rules and hints that
//! apply, the role that it wants, and the findings about each backend. Nothing is sent.

use route::{Arrival, BackendId, Considered, Explanation, Roles, Wish};
use sql::Facts;

use crate::written::shown;
use command::target::CommandTarget;
use engine::session::PooledSession;

/// Explains the route that a statement would take.
pub(crate) fn explain_route(session: &mut PooledSession, text: &[u8]) -> Explanation {
    let mut told = Explanation::default();
    let mut facts = sql::facts(text, session.sql_state.session().flags());
    session.trust(&mut facts, text);
    let digest = sql::digest(text, session.sql_state.session().flags());
    session.name_more(&mut facts, text);
    session.doubt_refused(&mut facts, || digest.hash());
    told.statement(&facts, text);
    told.digest(&digest);
    let order = session.explain_rules(&mut told, &facts, text);
    session.command.policy = Some(Box::new(order));
    let backend = tell_way(session, &mut told, &facts);
    let lane = match session.would_use_lane(text, &facts, backend) {
        Ok(()) => "uses a lane, when other statements are under way there".to_owned(),
        Err(why) => format!("uses no lane: {why}"),
    };
    told.find("lane", "", lane);
    session.command.policy = None;
    told
}

/// Returns the backend that the statement would go to.
fn tell_way(
    session: &mut PooledSession,
    told: &mut Explanation,
    facts: &Facts,
) -> Option<BackendId> {
    if let Some(unknown) = session
        .command
        .policy
        .as_ref()
        .and_then(|it| it.unknown.as_ref())
    {
        told.find("decision", "(none)", wire::errors::no_such_place(unknown));
        return None;
    }
    let command_target = session.command_target(facts);
    let is_ordered = session
        .command
        .policy
        .as_ref()
        .is_some_and(|it| it.directs());
    let roles = match command_target {
        CommandTarget::Ordered(roles) => Some(roles),
        // The session's own backend fits.
        CommandTarget::Home if is_ordered => Some(session.routing.settings().roles()),
        _ => None,
    };
    match roles {
        Some(roles) => {
            let role = format!("{roles:?}").to_lowercase();
            told.find("role", role, "as a rule or a hint says");
        }
        None => told.wanted(session.wanted(facts)),
    }
    match session.held.connection() {
        Some(_)
            if session.routing.optimistic().is_some() && command_target == CommandTarget::Home =>
        {
            tell_candidates(session, told, command_target)
        }
        Some(conn) => {
            let pins = format!("pinned by {}", session.pins());
            told.find("decision", &conn.backend.name, pins);
            Some(conn.backend.id)
        }
        None => tell_candidates(session, told, command_target),
    }
}

fn tell_candidates(
    session: &PooledSession,
    told: &mut Explanation,
    command_target: CommandTarget,
) -> Option<BackendId> {
    if let (CommandTarget::Same, Some(last)) = (command_target, session.last_backend(&[])) {
        let why = "it ran the session's last command";
        told.find("decision", &last.name, why);
        return Some(last.id);
    }
    let home = session.routing.home().map(|home| home.id);
    let goes_home = matches!(
        command_target,
        CommandTarget::Home | CommandTarget::Same | CommandTarget::Any
    );
    let written = match goes_home {
        true => Default::default(),
        false => session.must_see(),
    };
    told.find("must see", "", shown(&written));
    let roles = match command_target {
        CommandTarget::Replica | CommandTarget::Optimistic => Roles::Replica,
        CommandTarget::Ordered(roles) => roles,
        CommandTarget::Home | CommandTarget::Same | CommandTarget::Any => {
            session.routing.settings().roles()
        }
    };
    let wish = Wish {
        sticky: home.filter(|_| goes_home).or(session.sticky()),
        ..session.ordered(roles, &[], home.as_slice(), &written)
    };
    let topology = session.env.pool_env.topology.borrow();
    let now = session.env.now();
    let dice = &mut session.env.relay.login.dice.borrow().clone();
    let mut heard: Vec<Considered> = Vec::new();
    let placed = route::select_backend(&topology, &wish, &session.env.loads, now, dice, &mut heard);
    told.candidates(&heard);
    match placed {
        Ok(placed) => {
            let how = match placed.arrival {
                Arrival::Now => "at once",
                Arrival::AfterWait => "behind a wait for what it must see",
            };
            told.find("decision", &placed.backend.name, how);
            Some(placed.backend.id)
        }
        Err(none) => {
            told.find("decision", "(none)", none.to_string());
            None
        }
    }
}
