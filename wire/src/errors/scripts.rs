//! Errors of sessions with [scripts](scripts.md), with the number and the SQLSTATE that MySQL Proxy gives them.

use super::definition::define;

define! {
    SCRIPT script_not_loaded() =
        "MySQL Proxy Lua script failed to load. Check the error log."
        when "The script cannot be read, or has an error of syntax. The session ends."
        advice "Read the log: it has the file, the line and the fault.";
    SCRIPT script_not_run() =
        "MySQL Proxy Lua script failed to execute. Check the error log."
        when "The script has raised an error while it was loaded. The session ends."
        advice "Read the log: it has the file, the line and the fault.";
    SCRIPT script_over_limit(part, limit, setting) =
        "(lua) {part} has passed its limit of {limit} ({setting})"
        when "A hook of the script has used too much time, memory or too many instructions. Nothing was executed."
        advice "Correct the script, or raise the setting.";
    SCRIPT script_without_hooks() =
        "(lua) the script cannot be asked for its hooks. Check the error log."
        when "The script has changed its environment so that the proxy cannot see which hooks it has."
        advice "Read the log, and correct the script.";
    SCRIPT response_unusable() =
        "(lua) handling proxy.response failed, check error-log"
        when "The script's `proxy.response` is not a reply."
        advice "Read the log: it has the field that is wrong.";
    SCRIPT no_scripts_loaded() =
        "(lua) this account has a script, and the proxy was started without any. Restart the proxy"
        when "A reload has given an account a script, and there was no script before."
        advice "Restart the proxy.";
    SCRIPT script_cannot_see_login() =
        "(lua) this account has a script, and its login passes through the proxy to a backend, so its script would see nothing"
        when "Only a backend knows the account, and the proxy does not read what comes after the login."
        advice "Make the [account](accounts.md) known to the proxy, or give it `routing.script = []`.";
    SCRIPT script_cannot_follow() =
        "(lua) accounts have scripts, and the proxy cannot follow the connection after this command. It closes the \
            connection"
        when "The client asks for the binary log, for instance, and scripts must see every command."
        advice "Use a listener or an account without scripts.";
    SCRIPT change_user_out_of_sight() =
        "(lua) COM_CHANGE_USER cannot change to an account that only a backend knows if scripts run; log in anew"
        when "The client changes to a user whose login passes through, and scripts must see every command."
        advice "Log in anew, or make the [account](accounts.md) known to the proxy.";
    SCRIPT own_change_user() =
        "(lua) a script cannot send a COM_CHANGE_USER of its own"
        when "The script has queued `COM_CHANGE_USER`."
        advice "Correct the script.";
    SCRIPT too_many_queries() =
        "(lua) the script has queued more queries for one command than script.statements_max allows"
        when "The script queues queries again and again for one command."
        advice "Correct the script, or raise `script.statements_max`.";
    SCRIPT result_too_long() =
        "(lua) the result of a query of the script is longer than script.result_bytes_max"
        when "The script asks for the result of a query, and it is too long."
        advice "Ask for fewer rows, or raise `script.result_bytes_max`.";
    SCRIPT cursor_rows() =
        "(lua) rows of a cursor cannot be rewritten"
        when "The script rewrites rows, and the client reads them through a cursor."
        advice "Let the client read without a cursor, or correct the script.";
    SCRIPT rows_not_rewritten(cause) =
        "(lua) {cause}"
        when "The script has failed to rewrite a row, or a row is longer than `script.result_bytes_max`. The error is in \
            the place of the row."
        advice "Read the log, and correct the script.";
    SCRIPT hook_ended() =
        "(lua) read_query was ended before it could decide, so the command is not executed"
        when "A hook was killed or has passed a limit, for a command whose client does not wait for a reply. The session \
            ends."
        advice "Connect again.";
    SCRIPT script_without_backend() =
        "I have no server backend, closing connection"
        when "The script has let a client in without a backend, and does not answer its command."
        advice "Correct the script.";
    SCRIPT backends_down() =
        "(proxy) all backends are down"
        when "The script has set no backend that is up."
        advice "Wait until a backend is up, or correct the script.";
    SCRIPT connection_moved() =
        "(lua) read-auth-old-password failed as backend_ndx got reset."
        when "The script has given the connection away before the login was done."
        advice "Correct the script.";
    SCRIPT change_user_broken() =
        "COM_CHANGE_USER is broken on 5.1.14-.17, please upgrade the MySQL Server"
        when "The server is one of these versions."
        advice "Update the server.";
    UNKNOWN script_query_timeout() =
        "A query of the session's script has not ended within script.timeout_query; the proxy closes the connection"
        when "The script waits for a query that runs for too long."
        advice "Make the query faster, or raise `script.timeout_query`.";
}
