//! Errors that end a session, and errors of lost backend connections.

use super::definition::define;

define! {
    SERVER_SHUTDOWN shutting_down_within(what) =
        "The proxy is shutting down, and {what} did not end in time"
        when "The proxy was stopped, and the statement or transaction took longer than `timeout_drain` (`stopped`)."
        advice "Connect again. Raise [`timeout_drain`](service.md) if long statements are normal.";
    PACKET_TOO_LARGE payload_too_large(limit) =
        "Got a packet bigger than {limit} bytes (limits.packet_bytes_max)"
        when "A command of the client is longer than `limits.packet_bytes_max`. The session ends."
        advice "Raise it, together with the server's `max_allowed_packet`.";
    PACKET_TOO_LARGE packet_too_large() =
        "Got a packet bigger than 'max_allowed_packet' bytes"
        when "A command of the client is longer than the server's `max_allowed_packet`. The session ends, as on a server."
        advice "Raise `max_allowed_packet` at the server.";
    PACKET_TOO_LARGE command_too_large(command, limit) =
        "Got a {command} bigger than {limit} bytes (pool.long_data_bytes_max)"
        when "The proxy must hold the parameters of a prepared statement until it sends them. The session ends."
        advice "Raise `pool.long_data_bytes_max`.";
    PACKET_TOO_LARGE too_large_for_rules() =
        "A rule concerns this statement, which is longer than pool.statement_bytes_max"
        when "A rule answers or rewrites a statement that is too long to be held. The session ends."
        advice "Raise `pool.statement_bytes_max`, or send a shorter statement.";
    PACKETS_OUT_OF_ORDER out_of_order(violation) =
        "Got packets out of order: {violation}"
        when "The client, or something between it and the proxy, has broken the protocol. The session ends."
        advice "Please report it, with the client library's name and version.";
    BACKEND_LOST lost_during(backend, command, cause) =
        "Lost connection to backend {backend} during {command}: {cause}"
        when "The backend, or the network to it, has failed while it worked on the command (`backend_lost`). The end of \
            the text says what became of it: `it was not executed`, `it may have been executed`, or `the transaction \
            is rolled back`. If something [pinned](pooling.md#what-pins) the session, the text names it and the \
            session ends."
        advice "Look at the data, or repeat what may be repeated: the proxy executes nothing twice. See [what happens to \
            a statement](pooling.md#when-a-backend-breaks).";
    BACKEND_LOST lost(backend, cause) =
        "Lost connection to backend {backend}: {cause}"
        when "An administrator has [disabled](clusters.md#disabling) the backend (`backend_disabled`), or the server \
            hangs and has been down for `health.timeout_down`. The statement may have been executed."
        advice "Connect again. The new connection goes to another backend.";
    BACKEND_LOST lost_between_commands(backend) =
        "Lost connection to backend {backend} between two commands"
        when "A pinned session has lost its connection while it was idle (`held_backend_lost`). Mostly the proxy closes \
            the client's connection without an error. If the server gave a reason, the client gets that."
        advice "Connect again. The log names what was lost with the connection.";
    BACKEND_LOST lost_before_command(backend, cause) =
        "Lost connection to backend {backend} before it had the whole command: {cause}"
        when "The connection broke while the client was sending a command."
        advice "Connect again and repeat the command: the backend has not executed it.";
    BACKEND_LOST lost_after_reply(backend, cause) =
        "Lost connection to backend {backend} after the reply to a statement: {cause}"
        when "A rule or profiling sends a statement behind the client's, and the connection broke then. The client has \
            its reply."
        advice "Connect again. The log names what was lost with the connection.";
    BACKEND_LOST lost_in_hook() =
        "Lost connection to the backend while a script's hook waited"
        when "A hook of the session's script waited when the backend closed the connection."
        advice "Connect again.";
    BACKEND_LOST protocol_broken(backend, violation) =
        "Backend {backend} broke the protocol: {violation}"
        when "The proxy does not understand the backend's reply (`backend_protocol`). The session ends."
        advice "Please report it, with the server's version.";
    BACKEND_LOST state_not_restored(backend, cause) =
        "The session's state cannot be restored on backend {backend}: {cause}"
        when "A variable that the session has set does not take its value on another connection, or the session's schema \
            is not there (`state_not_restored`). The backends may have different versions, privileges or settings. \
            The proxy tries a later statement again."
        advice "Make the backends alike, or pin the session.";
    BACKEND_LOST state_lost(backend, cause) =
        "The session's state on backend {backend} is lost: {cause}"
        when "The same, in a transaction or a pinned session."
        advice "As for the error above.";
    BACKEND_LOST not_executed(why) =
        "Not executed, because the transaction has failed; send ROLLBACK first: {why}"
        when "The transaction that this statement belongs to has lost its connection."
        advice "Send `ROLLBACK`, `COMMIT` or `BEGIN`. After it, the session goes on.";
    BACKEND_LOST nothing_committed(why) =
        "Nothing was committed: {why}"
        when "`COMMIT` of a transaction that has lost its connection."
        advice "Begin the transaction again.";
    INTERACTION_TIMEOUT idle_timeout() =
        "The client was disconnected by the proxy because of inactivity (limits.timeout_idle)"
        when "The session was idle for `limits.timeout_idle`. Clients of MariaDB and of MySQL before 8.0.24 are \
            disconnected without an error, as by their servers."
        advice "Let the client's connection pool test or refresh connections in less time.";
    INTERACTION_TIMEOUT idle_transaction(limit) =
        "The transaction was idle for more than {limit} (limits.timeout_idle_transaction), and is rolled back"
        when "The client sent nothing for so long while a transaction was open. Its next statement gets this error \
            (`idle_transaction`). A pooled session goes on when the client has ended the transaction. Other sessions \
            end, and so does one that something else [pinned](pooling.md#what-pins)."
        advice "Do nothing slow within a transaction, or raise \
            [`limits.timeout_idle_transaction`](limits.md#idle-transactions), which an account or a listener can have \
            of its own.";
    INTERACTION_TIMEOUT kept_for_others(backend) =
        "An idle session has lost its connection to backend {backend} because its account keeps most of them and other \
            accounts wait (pool.account_kept_percent_max); its transaction is rolled back"
        when "More idle sessions of the account kept a connection, in a transaction or pinned, than \
            [`pool.account_kept_percent_max`](pooling.md#accounts-that-keep-most-connections) allows while others wait \
            (`kept_for_others`). The session goes on or ends as after a transaction that was idle for too long."
        advice "End transactions sooner, use fewer sessions, or raise `pool.backend_connections_max`.";
    INTERACTION_TIMEOUT wait_timeout() =
        "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for \
            configuring this behavior."
        when "The session was idle for its own `wait_timeout`."
        advice "As for the error above, or set `wait_timeout`.";
}
