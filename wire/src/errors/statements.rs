//! Errors that end a statement of a pooled session.

use super::definition::define;

define! {
    OUT_OF_MEMORY memory_full(what) =
        "Out of memory: the proxy keeps as many bytes of clients and servers as it may (limits.memory_bytes_max), and no \
            room is left for {what}; nothing was executed"
        when "All sessions together keep as much as [`limits.memory_bytes_max`](limits.md#memory) allows \
            (`memory_full`). The session goes on, except for a login, and for a statement of a session with a script."
        advice "See the table `admission` of the admin port, and the log for the sessions that kept most. Raise the limit, or lower `pool.statement_bytes_max` and `pool.long_data_bytes_max`.";
    UNKNOWN_COM unknown_command() =
        "Unknown command"
        when "The command is none that servers of this family know, or the client has failed to change its user too often."
        advice "Update the client's library, or connect again.";
    UNKNOWN no_such_place(place) =
        "A rule, a hint or a script sends this statement to {place}, which does not exist"
        when "The cluster, backend or GTID that a [rule](rules.md), a hint or a script names is not there."
        advice "Correct the name in the rule, the hint or the script.";
    UNKNOWN rewrite_unfit(rule) =
        "Rule '{rule}' does not rewrite this statement to a single statement, so it was not executed"
        when "The rule's `rewrite` yields no statement, or several."
        advice "Correct the rule.";
    UNKNOWN diagnostics_gone() =
        "The proxy no longer has this about the last statement, because its connection has served another session (an \
            account with pin = [\"warnings\"] keeps it)"
        when "`GET DIAGNOSTICS` asks for something that the list of warnings does not have, such as a condition's class."
        advice "Ask at once, in a transaction, or set `pin = [\"warnings\"]` for the account.";
    UNKNOWN last_insert_id_lost() =
        "LAST_INSERT_ID() is no longer known: the only connection that knew it was lost. The next row that is inserted \
            makes it known again"
        when "The connection was killed or its server was restarted while no session used it. Nothing was executed."
        advice "Read the value with the reply to the `INSERT`, or insert again.";
    UNKNOWN warnings_lost() =
        "The warnings of the last statement are no longer known: the only connection that knew them was lost"
        when "`SHOW WARNINGS` comes after the connection was killed or its server was restarted. The statement before had \
            warnings. Nothing was executed."
        advice "Ask in a transaction, or set `pin = [\"warnings\"]` for the account.";
    UNKNOWN long_data_too_long() =
        "Parameter of prepared statement which is set through mysql_send_long_data() is longer than 'max_allowed_packet' \
            bytes"
        when "The value that a client has sent in pieces is longer than `pool.long_data_bytes_max`."
        advice "Raise `pool.long_data_bytes_max`.";
    WRONG_ARGUMENTS wrong_arguments(function) =
        "Incorrect arguments to {function}"
        when "An execution has other parameters than its prepared statement."
        advice "Correct the program, or update the client's library.";
    LOCK_DEADLOCK reads_changed(how) =
        "The primary has other data than the replica that the transaction has read from ({how}). The transaction is \
            rolled back and has written nothing; try restarting transaction"
        when "An [optimistic transaction](splitting.md#transactions-that-may-write) was about to write \
            (`reads_changed`). Until `ROLLBACK`, `COMMIT` or `BEGIN` every statement gets the same number."
        advice "Begin the transaction again.";
    USER_LIMIT rule_limit(rule) =
        "Rule '{rule}' has reached its limit of statements for now; try again later"
        when "A [rule](rules.md) with a limit lets no more statements through."
        advice "Try again later, or raise the rule's limit.";
    SPECIFIC_ACCESS_DENIED replication_denied() =
        "Access denied: this account may not replicate through the proxy. Give it replication = true in its [[account]], \
            or let the replica connect to a backend"
        when "A client asks for the binary log."
        advice "Set `replication = true` for the account, or let the replica connect to a backend.";
    SPECIFIC_ACCESS_DENIED replication_with_script() =
        "A session with a script cannot replicate. Give the account routing.script = []"
        when "A client whose account has a script asks for the binary log."
        advice "Use an account without a script.";
    SPECIFIC_ACCESS_DENIED rule_concerns_command(rule) =
        "Rule '{rule}' answers or rewrites the statement that this command stands for. Send the statement"
        when "The client sends a command such as `COM_INIT_DB` in place of a statement that a rule concerns."
        advice "Send the statement.";
    SPECIFIC_ACCESS_DENIED rule_concerns_part(rule, does) =
        "Rule '{rule}' {does} a statement that stands inside this command. Send that statement as a command of its own"
        when "Several statements in one command, and a rule concerns one of them."
        advice "Send that statement as a command of its own.";
    SPECIFIC_ACCESS_DENIED rule_may_concern(rule, reason) =
        "Rule '{rule}' may concern this statement: {reason}"
        when "The rule refuses statements, and the proxy cannot rule out that it [concerns this \
            one](rule-guarantees.md)."
        advice "Write the statement so that its tables are clear, or make the rule narrower.";
    SPECIFIC_ACCESS_DENIED rule_not_understood(rule, reason) =
        "Rule '{rule}' may concern this statement, which the proxy does not understand: {reason}"
        when "The same, and the proxy does not understand all of the statement (`not_understood`)."
        advice "Write the statement in another way, or make the rule narrower.";
    NOT_SUPPORTED replication_only() =
        "This listener serves replication only: it answers the questions of replicas, and no other statements"
        when "A client of a listener that [feeds replicas](feeding-replicas.md) sends another statement."
        advice "Connect to another listener.";
    UNKNOWN_STMT_HANDLER unknown_handler(id) =
        "Unknown prepared statement handler ({id})"
        when "The client names a prepared statement that it does not have."
        advice "Correct the program: the statement was closed, or never prepared.";
    UNKNOWN_STMT_HANDLER unknown_handler_given(id, function) =
        "Unknown prepared statement handler ({id}) given to {function}"
        when "The same, in another command."
        advice "As for the error above.";
    OPTION_PREVENTS_STATEMENT held_at_replica(replica, pins) =
        "This statement writes, and the session is held at replica {replica} by: {pins}. End that first, or begin with \
            START TRANSACTION READ WRITE"
        when "A session that splits reads and writes keeps a connection to a replica, for a lock for instance \
            (`held_at_replica`). The statement was not executed."
        advice "End the lock, or the other reason that the text names.";
    QUERY_INTERRUPTED interrupted() =
        "Query execution was interrupted"
        when "`KILL QUERY` with this session's id, before the statement was sent or while a script's hook waited \
            (`statement_killed`). Otherwise the error is the server's. `KILL` without `QUERY` closes the connection \
            without an error (`killed`)."
        advice "Run the statement again if it was killed by mistake.";
    NO_OPEN_CURSOR no_cursor(id) =
        "The statement ({id}) has no open cursor"
        when "The client fetches rows of a cursor that is closed."
        advice "Execute the statement again.";
    MAX_PREPARED_STMT_COUNT too_many_statements(max) =
        "Can't create more than max_prepared_stmt_count statements (current value: {max})"
        when "One session has that many prepared statements open."
        advice "Close prepared statements.";
    MALFORMED_PACKET malformed_packet() =
        "Malformed communication packet."
        when "A command of the client does not hold what it must."
        advice "Update the client's library.";
}
