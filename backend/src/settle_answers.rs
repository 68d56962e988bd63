//! Passes a connection from one session to another. First the proxy asks for the answers that the
//! earlier session may still want about its last statement.

use std::rc::Rc;

use wire::Command;

use crate::ask::text;
use crate::connection::BackendConn;
use crate::connection_error::ConnectionError;
use crate::pending_answers::{Owner, PendingAnswer, PendingAnswerList, PendingAnswers, Question};
use crate::pool_env::PoolEnv;

/// Claims the answers that the owner of a connection may still ask for, when another session takes it.
pub fn claim(conn: &mut BackendConn, own: &Rc<PendingAnswers>) -> Vec<Question> {
    match own.is_at(conn) {
        true => Vec::new(),
        false => questions(conn, Wanted::All),
    }
}

/// Claims the answers that the owner may still want, before other statements of the proxy run there
/// for the owner: afterwards the connection no longer gives the owner's answers.
pub fn claim_own(conn: &mut BackendConn) -> Vec<Question> {
    questions(conn, Wanted::Volatile)
}

/// Which answers are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    All,
    /// Only the answers that any other statement changes.
    Volatile,
}

fn questions(conn: &mut BackendConn, wanted: Wanted) -> Vec<Question> {
    let Some(owner) = conn.owner.take() else {
        return Vec::new();
    };
    let of = &owner.of;
    // If the session has used another connection since, the answers are of no use to it.
    if !owner.is_current() {
        return Vec::new();
    }
    of.is_disturbed.set(true);
    // The session may have ended. Nearly always there is nothing to ask.
    if Rc::strong_count(of) == 1 || !of.is_pending() {
        return Vec::new();
    }
    let kept = PendingAnswerList {
        insert_id: wanted == Wanted::Volatile && of.pending.get().insert_id,
        ..PendingAnswerList::default()
    };
    let mut pending_list = of.pending_list();
    pending_list.retain(|pending| !(kept.insert_id && *pending == PendingAnswer::InsertId));
    let is_mysql = matches!(conn.state.server(), sql::Server::MySql(_));
    if is_mysql && pending_list.contains(&PendingAnswer::FoundRows) {
        // MySQL adds a warning for that question, and would count it. So the length of the list serves as the count.
        pending_list.retain(|pending| *pending != PendingAnswer::Counts);
    }
    of.pending.set(PendingAnswerList::default());
    of.saving.set(of.saving.get() + pending_list.len() as u32);
    let question = |pending| Question {
        owner: Rc::clone(of),
        generation: owner.generation,
        pending,
        is_answered: false,
    };
    let questions = pending_list.into_iter().map(question).collect();
    if kept.insert_id {
        of.pending.set(kept);
        conn.owner = Some(owner);
    }
    questions
}

impl PendingAnswers {
    /// Makes this connection the one that runs the session's next statement.
    pub fn takes(self: &Rc<Self>, conn: &mut BackendConn) {
        if self.is_at(conn) {
            return;
        }
        if self.is_pending() {
            // The answers on the other connection were not asked for in time.
            self.lose();
        }
        self.generation.set(self.generation.get() + 1);
        self.has_others_list.set(true);
        conn.owner = Some(Owner {
            of: Rc::clone(self),
            generation: self.generation.get(),
        });
    }

    /// Whether this connection ran the session's last statement, and nothing since.
    pub fn is_at(self: &Rc<Self>, conn: &BackendConn) -> bool {
        conn.owner
            .as_ref()
            .is_some_and(|owner| Rc::ptr_eq(&owner.of, self) && owner.is_current())
    }

    /// Whether some answers are not available on this connection: other sessions are asking for
    /// them, or another connection knows them.
    pub fn is_apart_from(self: &Rc<Self>, conn: &BackendConn) -> bool {
        self.is_saving() || self.is_pending() && !self.is_at(conn)
    }

    /// Whether this connection would still give the same answers about the session's last statement.
    pub fn still_answers_on(self: &Rc<Self>, conn: &BackendConn) -> bool {
        self.is_at(conn) && !self.is_disturbed.get()
    }

    /// Returns how much the session should avoid this connection; 0 is best.
    pub fn distance(self: &Rc<Self>, conn: &BackendConn) -> u32 {
        const OTHERS: u32 = 4;
        // A difference in state is no reason to leave the only connection that knows the answers.
        const OWED: u32 = 1_000_000;
        match &conn.owner {
            Some(owner) if Rc::ptr_eq(&owner.of, self) && owner.is_current() => 0,
            _ if self.is_pending() => OWED,
            Some(owner) if owner.is_current() && owner.of.is_pending() => {
                OTHERS * u32::from(Rc::strong_count(&owner.of) > 1)
            }
            _ => 0,
        }
    }
}

/// Asks a connection for the answers that its last session may still want, unless that session is
/// `taker`. After an error the connection is of no use, because the reply may still come.
pub async fn settle(
    env: &PoolEnv,
    conn: &mut BackendConn,
    taker: &Rc<PendingAnswers>,
) -> Result<(), ConnectionError> {
    let questions = claim(conn, taker);
    ask(env, conn, questions).await
}

/// Asks the claimed questions.
pub async fn ask(
    env: &PoolEnv,
    conn: &mut BackendConn,
    questions: Vec<Question>,
) -> Result<(), ConnectionError> {
    for question in questions {
        let text = text(conn, question.pending.question());
        let own = conn.ask(env, Command::QUERY, &text).await?;
        question.answered(&own, conn.capabilities);
    }
    Ok(())
}
