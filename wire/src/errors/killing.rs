//! Errors of KILL. The ids that clients see are the proxy's own, so the proxy must read every KILL.

use super::definition::define;

define! {
    NO_SUCH_THREAD no_such_session(id) =
        "Unknown thread id: {id}"
        when "`KILL` names an id that no session of this proxy has."
        advice "Take the id from `SHOW PROCESSLIST` on the admin port: see [KILL](pooling.md#kill-and-the-process-list).";
    KILL_DENIED not_owner(id) =
        "You are not owner of thread {id}"
        when "The session belongs to another user, and this account may not kill it."
        advice "Give the account the privilege to kill: see [KILL](pooling.md#kill-and-the-process-list).";
    NOT_SUPPORTED kill_in_block() =
        "The proxy does not support KILL inside a compound statement: the ids that clients see are the proxy's own, and \
            the server does not know them. Send KILL as a statement of its own"
        when "`KILL` stands in a block, such as `BEGIN NOT ATOMIC … END`."
        advice "Send `KILL` as a statement of its own.";
    NOT_SUPPORTED kill_among_others() =
        "The proxy cannot split this command into its statements, and one of them is or may be KILL. Send KILL as a \
            command of its own"
        when "Several statements in one command, one of which may be `KILL`."
        advice "Send `KILL` as a command of its own.";
    NOT_SUPPORTED kill_with_long_data() =
        "The proxy does not support KILL with a value that was sent by COM_STMT_SEND_LONG_DATA. Send the value with the \
            command"
        when "A prepared `KILL` whose value was sent in pieces."
        advice "Send the value with the command.";
    NOT_SUPPORTED kill_in_bulk() =
        "The proxy does not support KILL by COM_STMT_BULK_EXECUTE. Send each by COM_STMT_EXECUTE"
        when "A prepared `KILL` with several rows of values."
        advice "Execute it once for each value.";
    NOT_SUPPORTED kill_not_ascii() =
        "The proxy cannot prepare this text, which may be a KILL that the proxy must read first: the text is not ASCII. \
            Give the text as a literal"
        when "`PREPARE` or `EXECUTE IMMEDIATE` from a variable or an expression whose value is not ASCII."
        advice "Give the text as a literal.";
    NOT_SUPPORTED kill_user_with_host() =
        "The proxy does not support KILL USER with a host. Name the user alone, or connect to the server directly"
        when "`KILL USER 'name'@'host'`."
        advice "Name the user alone, or connect to the server directly.";
    NOT_SUPPORTED kill_unclear() =
        "The proxy cannot tell which session this KILL names, because the ids that clients see are the proxy's own. Send \
            KILL with a number, or with an expression of variables"
        when "The id in `KILL` is an expression that the proxy cannot compute."
        advice "Send `KILL` with a number or with variables.";
}
