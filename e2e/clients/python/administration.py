"""The admin port through Python's DB-API: `administration.py pymysql` or `administration.py MySQLdb`.

Both fill in parameters themselves, so everything goes by the text protocol.
"""

import importlib
import os
import sys

driver = importlib.import_module(sys.argv[1])


def connect(**overrides):
    is_tls = os.environ["CLIENT_TLS"] == "1"
    options = {
        "host": os.environ["CLIENT_HOST"],
        "port": int(os.environ["CLIENT_PORT"]),
        "user": os.environ["CLIENT_USER"],
        "password": os.environ["CLIENT_PASSWORD"],
        "database": os.environ["CLIENT_DATABASE"],
        "charset": "utf8mb4",
        "autocommit": True,
    }
    if driver.__name__ == "pymysql":
        options["ssl_disabled"] = not is_tls
        if is_tls:
            options["ssl"] = {"check_hostname": False, "verify_mode": False}
    else:
        options["ssl_mode"] = "REQUIRED" if is_tls else "DISABLED"
    return driver.connect(**(options | overrides))


def rows(connection, statement, arguments=None):
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        return cursor.fetchall()


def value(connection, statement):
    return rows(connection, statement)[0][0]


def say(label, *values):
    print(f"{label}:", " | ".join(str(value) for value in values))


def say_error(label, action):
    try:
        action()
    except driver.MySQLError as error:
        say(label, error.args[0])
    else:
        sys.exit(f"{label}: an error was expected")


def main():
    connection = connect()
    say("user", value(connection, "SELECT USER()"))
    joined = "SELECT b.weight, s.value FROM backends b JOIN settings s ON s.name = 'limits.sessions_max'"
    say("joined", *rows(connection, joined)[0])
    say("tables", *(row[0] for row in rows(connection, "SHOW TABLES LIKE 'sess%'")))
    prepared = "SELECT %s AS number, %s AS word, name FROM settings WHERE name = %s"
    say("prepared", *rows(connection, prepared, (7, "it's 🐟", "limits.sessions_max"))[0])
    connection.select_db("stats")
    say("schema", value(connection, "SELECT DATABASE()"))
    connection.select_db("pilotfish")
    setting = "SELECT value FROM settings WHERE name = 'limits.sessions_max'"
    change = "UPDATE settings SET value = %s WHERE name = %s"
    with connection.cursor() as cursor:
        affected = cursor.execute(change, (888, "limits.sessions_max"))
        say("changed", affected, value(connection, setting))
        connection.begin() if hasattr(connection, "begin") else cursor.execute("BEGIN")
        cursor.execute(change, (999, "limits.sessions_max"))
        connection.rollback()
    say("rolled back", value(connection, setting))
    rows(connection, "REVERT")
    say("reverted", value(connection, setting))
    say_error("unknown table", lambda: rows(connection, "SELECT * FROM nowhere"))
    say_error("syntax", lambda: rows(connection, "SELECT FROM"))
    say_error("wrong password", lambda: connect(password="not it"))
    connection.ping()
    say("alive", value(connection, "SELECT 42"))


main()
