//! Errors of logins, and of backend connections that cannot be opened or are not available.

use super::definition::define;

define! {
    CON_COUNT too_many_sessions(max) =
        "Too many connections: the proxy has {max} sessions, which is its limit (limits.sessions_max)"
        when "The proxy has as many sessions as [`limits.sessions_max`](limits.md) allows."
        advice "Close unused connections, or raise the limit. The same number without this text is the server's.";
    CON_COUNT all_backends_full() =
        "Too many connections: every backend has as many sessions as it takes"
        when "Every backend has `backend.sessions_max` sessions."
        advice "Raise `backend.sessions_max`, or add a backend.";
    CON_COUNT backend_full(backend) =
        "Too many connections: backend {backend} has as many sessions as it takes"
        when "A script has chosen a backend that has `backend.sessions_max` sessions."
        advice "Raise `backend.sessions_max`, or let the script choose another backend.";
    CON_COUNT no_connection_in_time(backend, limit) =
        "No connection to backend {backend} became free within {limit} (pool.timeout_wait); nothing was executed"
        when "All connections that [the pool may have](pooling.md#limits) are in use (`pool_exhausted`)."
        advice "Look for long statements, open transactions and [pinned sessions](pooling.md#what-pins), or raise \
            `pool.connections_max`.";
    CON_COUNT no_turn_in_time(backend, limit) =
        "Backend {backend} runs as many statements as pool.adaptive_limit allows, and the turn of this one did not come \
            within {limit} (pool.timeout_wait); nothing was executed"
        when "[As many statements run](pooling.md#statements-at-once) as the server does without a loss of throughput, and \
            more transactions wait for their turn than it serves in that time (`pool_exhausted`)."
        advice "The server has too much to do: look for its most frequent and longest statements (`digests`), raise \
            `pool.timeout_wait`, or `pool.adaptive_limit_min` if it could do more.";
    CON_COUNT too_many_waiters(backend) =
        "Too many sessions wait for a connection to backend {backend} (pool.waiters_max); nothing was executed"
        when "All connections of the pool are in use, and `pool.waiters_max` sessions wait for one (`pool_exhausted`)."
        advice "As for the error above.";
    HANDSHAKE login_malformed(cause) =
        "Bad handshake: {cause}"
        when "The client has sent something that is not a login, or a PROXY header that the proxy does not trust."
        advice "Check that the client speaks MySQL's protocol. A load balancer in front of the proxy must be in \
            [`proxy_protocol.trusted_networks`](proxy-protocol.md).";
    HANDSHAKE answer_malformed() =
        "Bad handshake"
        when "The client's answer to the password challenge has a length that its plugin never gives."
        advice "Update the client's library.";
    HANDSHAKE tls_not_offered() =
        "Bad handshake: the client asks for TLS, and the proxy does not offer it (client_tls.mode)"
        when "The client asks for TLS, and `client_tls` has no certificate or is off."
        advice "Configure [`client_tls`](tls.md), or connect without TLS.";
    HANDSHAKE key_exchange_failed(cause) =
        "Bad handshake: the exchange of the password's key has failed: {cause}"
        when "The client encrypts its password with a key, and the password cannot be decrypted."
        advice "Use TLS, or let the client ask for the key: see \
            [TLS on one side](tls.md#tls-on-one-side-and-passwords).";
    HANDSHAKE password_check_failed(cause) =
        "Bad handshake: the proxy has failed to check the password: {cause}"
        when "A fault in Pilotfish has ended the check of a password."
        advice "Please report it.";
    HANDSHAKE no_backend_login(account) =
        "The password of account {account} is right, but the proxy has no login for it at the backends (backend_user)"
        when "The account has a hash that proves the client, and that the proxy cannot log in with."
        advice "Set `backend_user` and `backend_password` of the [account](accounts.md).";
    HANDSHAKE collation_needs_own_login(user, collation) =
        "Bad handshake: only the backends know user {user}, and collation {collation} cannot be named at their login"
        when "A client changes to a user whom only the backends know, with a collation whose number is above 255."
        advice "Use another collation, or make the account known to the proxy.";
    ACCESS_DENIED access_denied(user, host, used) =
        "Access denied for user '{user}'@'{host}' (using password: {used})"
        when "If the address is the client's, the proxy has refused the login (`login_denied`), or a backend has refused \
            an account that the proxy has let in (`login_refused`). If it is the proxy's, the server has refused it."
        advice "Read the log line of the login: it has the reason. The account at the server must allow the proxy's \
            address, or the server must get the client's by the [PROXY protocol](proxy-protocol.md).";
    SERVER_SHUTDOWN shutting_down() =
        "The proxy is shutting down"
        when "A client logs in while the proxy stops."
        advice "Connect again.";
    HOST_IS_BLOCKED host_blocked(host) =
        "Host '{host}' is blocked because of many connection errors; unblock it with FLUSH HOSTS on the admin port of \
            the proxy (limits.connect_errors_max)"
        when "As many logins in a row from this host have failed as `limits.connect_errors_max` allows."
        advice "Correct the client, then say `FLUSH HOSTS` on the admin port. The same number without this text is the \
            server's, and concerns the proxy's address: empty its host cache and raise `max_connect_errors`.";
    READ_INTERRUPTED login_timeout(limit) =
        "Got timeout reading communication packets: no login within {limit} (limits.timeout_login)"
        when "The client, the network or the backend's authentication is slow."
        advice "Find out which of them is slow, or raise `limits.timeout_login`.";
    TOO_MANY_USER_CONNECTIONS account_sessions_max(user) =
        "User {user} already has more than 'max_user_connections' active connections"
        when "The account has as many sessions as it may: `account.connections_max`, or `MAX_USER_CONNECTIONS` of an \
            account that the proxy has read from the servers."
        advice "Close unused connections, or raise that limit.";
    NOT_SUPPORTED_AUTH_MODE client_too_old(product) =
        "Client does not support authentication protocol requested by server; consider upgrading {product} client"
        when "The account's plugin is not the one of the greeting, and the client cannot change to another."
        advice "Update the client's library.";
    NO_BACKEND cannot_connect(causes) =
        "Can't connect to MySQL server: tried {causes}"
        when "The proxy could reach no backend within `balance.timeout_backend_wait`. The text names each backend with \
            the reason."
        advice "Check that the server runs and that the proxy's machine reaches it. `no greeting within …` means that \
            the server hangs, that a firewall drops packets, or that `health.timeout_connect` is too short.";
    NO_BACKEND all_backends_down(causes) =
        "Can't connect to MySQL server: all backends are down, tried {causes}"
        when "All backends have been down for `balance.timeout_backend_wait`. The text names each with the reason."
        advice "As for the error above.";
    NO_BACKEND all_backends_tried() =
        "Can't connect to MySQL server: the proxy has tried every usable backend"
        when "No usable backend has taken the session. The log has a line for each of them."
        advice "As for the error above.";
    NO_BACKEND none_configured() =
        "No backend is configured for this session"
        when "The session's cluster has no backend of a role that the session may use."
        advice "Add a backend of that role, or change `listener.role` or the rule that asks for it.";
    NO_BACKEND no_usable_backend(causes) =
        "No backend can take this session or statement now: {causes}"
        when "For example, the statement writes, and the primary has been read-only for \
            `balance.timeout_backend_wait`. The text names each backend with the reason."
        advice "Correct what the text names.";
    NO_BACKEND cannot_open(backend, cause) =
        "Can't connect to MySQL server: backend {backend}: {cause}"
        when "A connection to the backend, or a login there, could not be completed."
        advice "Correct what the rest of the text names.";
    NO_BACKEND cannot_log_in(cause) =
        "Can't connect to MySQL server: a connection to it broke at the login: {cause}"
        when "The connection broke while the proxy prepared it for the session."
        advice "Connect again.";
    NO_BACKEND no_greeting_yet() =
        "Can't connect to MySQL server: no backend has sent a greeting yet"
        when "The proxy answers logins itself, and does not know yet what a server's greeting looks like."
        advice "Wait until a backend is up.";
    NO_BACKEND no_fitting_connection() =
        "Can't connect to MySQL server: no pooled connection fits this client, and the backend takes no new one"
        when "A script pools connections, and none has the capabilities that the client asks for."
        advice "Connect again.";
    NO_BACKEND backend_not_usable(backend, state) =
        "Backend {backend} {state}"
        when "The backend was disabled, drained, removed or down when a connection to it was due."
        advice "Run the statement again. The proxy then chooses another backend.";
    NO_BACKEND wait_cut() =
        "The wait for a connection to a backend has ended early; run the statement again"
        when "A statement waited for a connection, and the wait was broken off."
        advice "Run the statement again.";
    NO_BACKEND missing_capabilities(backend) =
        "Bad handshake: backend {backend} does not have all capabilities that the proxy has offered"
        when "The backends differ in version or settings, so the client has agreed on something that this one lacks."
        advice "Connect again. Give the backends of a cluster the same version and settings.";
    NO_BACKEND backend_tls_failed(backend, cause) =
        "TLS with backend {backend} has failed: {cause}"
        when "The TLS handshake with the backend has failed, or its certificate is not accepted."
        advice "Compare [`backend_tls.ca`](tls.md) with the certificate of the server. For `verify_identity` the name in \
            the backend's address must be in the certificate.";
    NO_BACKEND backend_tls_missing(backend) =
        "Backend {backend} does not offer TLS, which backend_tls.mode demands"
        when "`backend_tls.mode` demands TLS, and the server has none."
        advice "Turn TLS on at the server, or change [`backend_tls.mode`](tls.md).";
    VERSION old_protocol() =
        "4.0 protocol is not supported"
        when "The client's library is older than MySQL 4.1 (2004)."
        advice "Update the client's library.";
    ACCOUNT_LOCKED_MYSQL account_locked(user, host) =
        "Access denied for user '{user}'@'{host}'. Account is locked."
        when "The account is locked at the servers, which are MySQL."
        advice "Unlock it with `ALTER USER … ACCOUNT UNLOCK`.";
    SECURE_TRANSPORT_REQUIRED tls_required() =
        "Connections using insecure transport are prohibited by the proxy (client_tls.mode = required)"
        when "The client does not use TLS, and `client_tls.mode` demands it."
        advice "Connect with TLS: `--ssl`, or the library's option.";
    SECURE_TRANSPORT_REQUIRED tls_required_by_servers() =
        "Connections using insecure transport are prohibited while --require_secure_transport=ON."
        when "The client does not use TLS, the servers demand it, and \
            [`client_tls.mode = \"as_account\"`](tls.md#accounts-that-demand-tls). With MariaDB the SQLSTATE is 08004. \
            With other modes the error is a backend's, and the proxy itself must use TLS (`backend_tls.mode`)."
        advice "Connect with TLS.";
    ACCOUNT_LOCKED_MARIADB this_account_locked() =
        "Access denied, this account is locked"
        when "The account is locked at the servers, which are MariaDB."
        advice "Unlock it with `ALTER USER … ACCOUNT UNLOCK`.";
}
