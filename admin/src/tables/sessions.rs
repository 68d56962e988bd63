//! The clients' sessions, and what they do.

use worker::{SessionState, SessionView};

use super::digests::hexadecimal;
use crate::table::{Asks, Schema, TableDefinition, columns, seconds, text_or_null};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<SessionRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "sessions",
    about: "Clients' sessions, those in login included.",
    asks: Asks::Sessions,
    columns: columns! {
        integer "id",
            "The id that KILL takes here. It is the connection id that the client sees, if the proxy has answered its \
             login; otherwise a number of the proxy's own.", |it| it.session.id.into();
        text "user", "The account of the session; NULL before its login.", |it| text_or_null(&it.session.user);
        text "client", "The client's address.", |it| it.session.client.to_string().into();
        text "listener", "The address that it has connected to.", |it| it.session.listener.clone().into();
        integer "worker", "The worker that it lives on.", |it| it.session.worker.into();
        text "db", "Its default schema. Of a session that is not pooled it is what the login named.",
            |it| it.session.schema.clone().into();
        text "state",
            "login, idle or running; joined if the kernel passes its bytes, so that the proxy sees no statement.",
            |it| it.session.state.name().into();
        measure "state_seconds" ["s"],
            "For how long nothing has moved in it, in whole seconds; its age if it is joined.",
            |it| it.session.state_seconds.into();
        text "mode",
            "For how long it keeps a backend connection: statement, transaction or transparent. A session that is \
             joined has kernel, one with a script has script. It is login before that is known.",
            |it| it.session.mode.into();
        text "backend", "The backend that it uses now, or whose connection it keeps.", |it| it.backend.clone().into();
        integer "thread_id",
            "The id at the backend of the connection that it uses now, or keeps, unless others use that as well.",
            |it| it.session.thread_id.into();
        text "digest", "The digest of the statement that it runs now, where digests are kept.",
            |it| it.session.digest.map(hexadecimal).into();
        text "statement", "That statement, without its values.", |it| it.session.statement.as_deref().into();
        integer "in_transaction", "Whether a transaction is open, as of the last reply that the client has had.",
            |it| it.session.is_in_transaction.into();
        text "pins",
            "The names of the pins that keep a pooled session on its connection, with commas between; NULL: it keeps \
             none.", |it| it.session.pins.map(|pins| pins.to_string()).into();
        measure "age_seconds" ["s"], "How long ago it began.", |it| seconds(it.session.age);
        measure "bytes_sent" ["bytes"], "Bytes that have come from its client, if it is joined.",
            |it| it.bytes().map(|[from_client, _]| from_client).into();
        measure "bytes_received" ["bytes"], "Bytes that have come from its backend, if it is joined.",
            |it| it.bytes().map(|[_, from_backend]| from_backend).into();
    },
    items,
};

/// One session.
pub struct SessionRow {
    session: SessionView,
    backend: Option<String>,
}

impl SessionRow {
    fn bytes(&self) -> Option<[u64; 2]> {
        match self.session.state {
            SessionState::Joined(bytes) => Some(bytes),
            SessionState::Login | SessionState::Idle | SessionState::Running => None,
        }
    }
}

fn items(input: &TableInput) -> Vec<SessionRow> {
    let sessions = input.sessions().map(|session| SessionRow {
        backend: session
            .backend
            .and_then(|id| input.backend(id))
            .map(|backend| backend.name.clone()),
        session: session.clone(),
    });
    sessions.collect()
}
