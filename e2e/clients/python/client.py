"""The scenario through Python's DB-API: `client.py pymysql` or `client.py MySQLdb`.

PyMySQL is pure Python, MySQLdb (mysqlclient) wraps libmariadb; both fill in parameters
themselves, so everything goes by the text protocol. Prints the transcript to stdout.
"""

import hashlib
import importlib
import os
import sys
import time

driver = importlib.import_module(sys.argv[1])
cursors = importlib.import_module(sys.argv[1] + ".cursors")
IS_PYMYSQL = sys.argv[1] == "pymysql"

SCENARIO = os.environ["CLIENT_SCENARIO"]
SCHEMA = os.environ["CLIENT_SCHEMA"]
LOAD_FILE = os.environ["CLIENT_LOAD_FILE"]
TLS = os.environ["CLIENT_TLS"] == "1"
COMPRESS = os.environ["CLIENT_COMPRESS"] == "1"

MULTI_STATEMENTS = 1 << 16
# libmariadb 3.3 loses its place in compressed payloads of more than one packet, on any connection.
BIG_BYTES = (12 if COMPRESS else 20) * 1024 * 1024
BIG_PARAMETER = (bytes(range(251)) * (BIG_BYTES // 251 + 1))[:BIG_BYTES]


# --- the transcript ---------------------------------------------------------------------------


def section(name):
    print(f"[{name}]", flush=True)


def say(label, value):
    print(f"{label}: {shown(value)}")


def shown(value):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (bytes, bytearray)):
        return "0x" + bytes(value).hex()
    if isinstance(value, (set, frozenset)):
        return "{" + ",".join(sorted(value)) + "}"
    return str(value)


def say_rows(cursor):
    """Prints the columns and rows of the cursor's current result, or its affected rows."""
    if cursor.description is None:
        say("affected", cursor.rowcount)
        return
    say("columns", " | ".join(f"{column[0]}#{column[1]}" for column in cursor.description))
    for row in cursor.fetchall():
        say("row", " | ".join(shown(value) for value in row))


def say_all_results(cursor):
    """Prints every result of a multi-statement or a CALL; an error in the middle is part of it."""
    try:
        while True:
            say_rows(cursor)
            if not cursor.nextset():
                break
    except driver.MySQLError as error:
        say("error", " ".join(str(part) for part in error.args))


def say_error(label, action):
    try:
        action()
    except driver.MySQLError as error:
        say(label, f"{type(error).__name__} " + " ".join(str(part) for part in error.args))
    else:
        sys.exit(f"{label}: an error was expected")


# --- connecting -------------------------------------------------------------------------------


def connect(**overrides):
    options = {
        "host": os.environ["CLIENT_HOST"],
        "port": int(os.environ["CLIENT_PORT"]),
        "user": os.environ["CLIENT_USER"],
        "password": os.environ["CLIENT_PASSWORD"],
        "database": os.environ["CLIENT_DATABASE"],
        "charset": "utf8mb4",
        "local_infile": True,
        "client_flag": MULTI_STATEMENTS,
    }
    if IS_PYMYSQL:
        options["ssl_disabled"] = not TLS
        if TLS:
            options["ssl"] = {"check_hostname": False, "verify_mode": False}
    else:
        options["ssl_mode"] = "REQUIRED" if TLS else "DISABLED"
        if COMPRESS:  # any value given switches it on
            options["compress"] = True
    options.update(overrides)
    return driver.connect(**options)


def run(connection, statement, arguments=None):
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        return cursor.fetchall() if cursor.description else cursor.rowcount


def value(connection, statement, arguments=None):
    return run(connection, statement, arguments)[0][0]


def prepare_schema(connection):
    run(connection, f"DROP DATABASE IF EXISTS {SCHEMA}")
    run(connection, f"CREATE DATABASE {SCHEMA} DEFAULT CHARACTER SET utf8mb4")
    connection.select_db(SCHEMA)
    with open(os.path.join(SCENARIO, "schema.sql"), encoding="utf-8") as file:
        for statement in file.read().strip().split("\n\n"):
            run(connection, statement)


# --- the steps --------------------------------------------------------------------------------


def login(connection):
    section("login")
    say("server", connection.get_server_info())
    say("protocol", connection.get_proto_info())
    say("character set", connection.character_set_name())
    say("thread id agrees", connection.thread_id() == value(connection, "SELECT CONNECTION_ID()"))
    say("user", value(connection, "SELECT CURRENT_USER()"))
    say("database", value(connection, "SELECT DATABASE()"))
    attributes = run(
        connection,
        "SELECT attr_name, IF(attr_name IN ('_pid', '_thread', '_server_host'), '', attr_value) FROM"
        " performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID()"
        " ORDER BY attr_name",
    )
    for name, text in attributes:
        say("attribute", f"{name}={text}")
    # MySQL forgets which passwords it has seen: the next login takes the long way.
    say("flush", run(connection, "FLUSH PRIVILEGES"))
    for times in ("forgotten", "remembered"):
        again = connect()
        say(f"login while {times}", value(again, "SELECT CURRENT_USER()"))
        again.close()
    say_error("wrong password", lambda: connect(password="not it"))
    say_error("no password", lambda: connect(password=""))
    say_error("unknown database", lambda: connect(database="no_such_database"))


def query(connection):
    section("query")
    with connection.cursor() as cursor:
        for statement in (
            "SELECT 1 AS one, 'two' AS two, NULL AS three",
            "SELECT d FROM digits WHERE d > 100",
            "DO 1",
            "SELECT '' AS blank, '🐟' AS fish",
            "SELECT @@character_set_client, @@character_set_results, @@collation_connection",
        ):
            cursor.execute(statement)
            say_rows(cursor)


def types(connection):
    section("types")
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM everything ORDER BY id")
        say_rows(cursor)


def parameters(connection):
    section("parameters")
    with connection.cursor() as cursor:
        for arguments in ((1, "two", None), ("1", 2.5, "\0\\"), (None, "🐟 it's", -(2**63))):
            cursor.execute("SELECT %s AS a, %s AS b, %s AS c", arguments)
            say_rows(cursor)
        cursor.execute("SELECT HEX(%s)", (bytes(range(256)),))
        say_rows(cursor)
        for key in (1, "2", None):
            cursor.execute("SELECT huge, words FROM everything WHERE id = %s", (key,))
            say_rows(cursor)


def writes(connection):
    section("writes")
    with connection.cursor() as cursor:
        for statement, arguments in (
            ("INSERT INTO ledger (name, amount) VALUES (%s, %s)", ("ann", 1)),
            ("INSERT INTO ledger (name, amount) VALUES ('bob', 2), ('cid', 3), ('dee', 4)", None),
            ("UPDATE ledger SET amount = amount + 1 WHERE amount > 1", None),
            ("UPDATE ledger SET amount = amount WHERE amount > 1", None),
            ("INSERT INTO ledger (name, amount) VALUES ('ann', 9) ON DUPLICATE KEY UPDATE amount = 9", None),
            ("DELETE FROM ledger WHERE name = 'dee'", None),
        ):
            cursor.execute(statement, arguments)
            say("affected, last id", f"{cursor.rowcount}, {cursor.lastrowid}")
        many = [(f"many {i}", i) for i in range(100)]
        cursor.executemany("INSERT INTO ledger (name, amount) VALUES (%s, %s)", many)
        say("many affected", cursor.rowcount)
        cursor.execute("SELECT COUNT(*), SUM(amount) FROM ledger")
        say_rows(cursor)


def transactions(connection):
    section("transactions")
    for end, name in ((connection.rollback, "rolled back"), (connection.commit, "committed")):
        connection.begin()
        run(connection, "INSERT INTO ledger (name, amount) VALUES (%s, 100)", (name,))
        end()
        say(name, value(connection, "SELECT COUNT(*) FROM ledger WHERE name = %s", (name,)))
    connection.autocommit(False)
    run(connection, "INSERT INTO ledger (name, amount) VALUES ('implicit', 5)")
    connection.rollback()
    connection.autocommit(True)
    say("implicit", value(connection, "SELECT COUNT(*) FROM ledger WHERE name = 'implicit'"))


def errors(connection):
    section("errors")
    for label, statement in (
        ("duplicate key", "INSERT INTO ledger (name, amount) VALUES ('ann', 1)"),
        ("syntax", "SELEC 1"),
        ("unknown table", "SELECT * FROM no_such_table"),
        ("unknown column", "SELECT nothing FROM ledger"),
        ("empty", ""),
        ("signal", "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'Grüße 🐟', MYSQL_ERRNO = 30001"),
    ):
        say_error(label, lambda: run(connection, statement))
    say("alive afterwards", value(connection, "SELECT 42"))


def warnings(connection):
    section("warnings")
    with connection.cursor() as cursor:
        cursor.execute("SELECT CAST('12abc' AS SIGNED), 1 / 0")
        say_rows(cursor)
        if IS_PYMYSQL:
            say("count", cursor.warning_count)
        cursor.execute("SHOW WARNINGS")
        say_rows(cursor)
        cursor.execute("SHOW COUNT(*) WARNINGS")
        say_rows(cursor)


def many_statements(connection):
    section("many statements")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 AS a; INSERT INTO ledger (name, amount) VALUES ('multi', 1); DO 0;"
            " SELECT 2 AS b UNION SELECT 3; UPDATE ledger SET amount = 2 WHERE name = 'multi'"
        )
        say_all_results(cursor)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 AS a; SELECT * FROM no_such_table; SELECT 2 AS b")
        say_all_results(cursor)
    say("alive afterwards", value(connection, "SELECT 42"))


def procedures(connection):
    section("procedures")
    with connection.cursor() as cursor:
        cursor.callproc("describe_number", (4, "four", 0))
        say_all_results(cursor)
    with connection.cursor() as cursor:
        cursor.execute("SELECT @_describe_number_1, @_describe_number_2")
        say_rows(cursor)
    with connection.cursor() as cursor:
        cursor.callproc("refuse")
        say_all_results(cursor)
    say("alive afterwards", value(connection, "SELECT 42"))


def big_result(connection):
    section("big result")
    digest, count = hashlib.sha256(), 0
    with connection.cursor(cursors.SSCursor) as cursor:
        cursor.execute("SELECT n, word, seventh FROM numbers ORDER BY n")
        for row in cursor:
            digest.update("|".join(shown(part) for part in row).encode() + b"\n")
            count += 1
    say("rows", count)
    say("sha256", digest.hexdigest())


def big_packets(connection):
    section("big packets")
    run(connection, "INSERT INTO archive VALUES (1, %s)", (BIG_PARAMETER,))
    say("sent", hashlib.sha256(BIG_PARAMETER).hexdigest())
    say("stored", value(connection, "SELECT SHA2(body, 256) FROM archive WHERE id = 1"))
    body = value(connection, "SELECT body FROM archive WHERE id = 1")
    say("read", f"{len(body)} {hashlib.sha256(body).hexdigest()}")
    if COMPRESS:
        return
    # A row of length-prefixed text is 4 bytes more than the text: these straddle 2^24 - 1.
    for length in range(16777210, 16777214):
        text = value(connection, f"SELECT REPEAT('x', {length})")
        say("row around 16 MiB", f"{len(text)} {text.count('x')}")
    # A query is its text and one byte more, and quotes and the like around the text.
    for length in range(16777212, 16777218):
        start, end = "SELECT LENGTH('", "')"
        text = start + "x" * (length - len(start) - len(end)) + end
        say("query around 16 MiB", value(connection, text))


def local_infile(connection):
    section("local infile")
    statement = f"LOAD DATA LOCAL INFILE '{LOAD_FILE}' INTO TABLE loaded"
    say("loaded", run(connection, statement))
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*), SUM(id), SUM(CRC32(name)) FROM loaded")
        say_rows(cursor)
    missing = "LOAD DATA LOCAL INFILE '/no/such/file' INTO TABLE loaded"
    say_error("missing file", lambda: run(connection, missing))
    say("alive afterwards", value(connection, "SELECT 42"))


def session_commands(connection):
    section("session")
    connection.ping()
    run(connection, "SET @kept = 'yes'")
    say("before", value(connection, "SELECT @kept"))
    connection.select_db(os.environ["CLIENT_DATABASE"])
    say("database", value(connection, "SELECT DATABASE()"))
    say_error("no database", lambda: connection.select_db("no_such_database"))
    if not IS_PYMYSQL:
        user, password = os.environ["CLIENT_USER"], os.environ["CLIENT_PASSWORD"]
        connection.change_user(user, password, SCHEMA)
        say("after the change of user", value(connection, "SELECT @kept"))
        say("character set", value(connection, "SELECT @@character_set_client"))
        say("statistics", connection.stat().startswith("Uptime"))
    connection.select_db(SCHEMA)


def close(connection):
    section("close")
    other = connect()
    thread = other.thread_id()
    other.close()
    left = "SELECT COUNT(*) FROM information_schema.processlist WHERE id = %s"
    for _ in range(250):
        gone = value(connection, left, (thread,)) == 0
        if gone:
            break
        time.sleep(0.02)
    say("gone from the server", gone)
    victim = connect()
    run(connection, "KILL %s", (victim.thread_id(),))
    try:
        run(victim, "SELECT 1")
        sys.exit("a killed connection went on")
    except driver.MySQLError:  # which error depends on who is first to notice
        say("killed", True)
    run(connection, f"DROP DATABASE {SCHEMA}")
    connection.close()


def main():
    if COMPRESS and IS_PYMYSQL:
        print("left out: PyMySQL has no compression", file=sys.stderr)
        sys.exit(77)
    connection = connect(autocommit=True)
    prepare_schema(connection)
    for step in (
        login,
        query,
        types,
        parameters,
        writes,
        transactions,
        errors,
        warnings,
        many_statements,
        procedures,
        big_result,
        big_packets,
        local_infile,
        session_commands,
        close,
    ):
        step(connection)


main()
