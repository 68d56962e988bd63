/* What the admin port answers, through the C API; compiled against both libraries as client.c is. */

#include <mysql.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *setting(const char *name) {
  const char *value = getenv(name);
  if (value == NULL) {
    fprintf(stderr, "%s is not set\n", name);
    exit(1);
  }
  return value;
}

static void check(MYSQL *mysql, const char *what, int failed) {
  if (!failed) return;
  fprintf(stderr, "%s: %u %s %s\n", what, mysql_errno(mysql), mysql_sqlstate(mysql), mysql_error(mysql));
  exit(1);
}

/* A connection that may have failed: see mysql_errno. */
static MYSQL *try_connect(const char *password) {
  MYSQL *mysql = mysql_init(NULL);
#ifdef MARIADB_BASE_VERSION
  my_bool enforce = strcmp(setting("CLIENT_TLS"), "1") == 0, verify = 0;
  if (enforce) mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &enforce);
  mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
#else
  bool is_tls = strcmp(setting("CLIENT_TLS"), "1") == 0, ask_for_key = true;
  unsigned int mode = is_tls ? SSL_MODE_REQUIRED : SSL_MODE_DISABLED;
  mysql_options(mysql, MYSQL_OPT_SSL_MODE, &mode);
  mysql_options(mysql, MYSQL_OPT_GET_SERVER_PUBLIC_KEY, &ask_for_key);
#endif
  mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_real_connect(mysql, setting("CLIENT_HOST"), setting("CLIENT_USER"), password,
                     setting("CLIENT_DATABASE"), (unsigned int)atoi(setting("CLIENT_PORT")), NULL, 0);
  return mysql;
}

static void run(MYSQL *mysql, const char *query) { check(mysql, query, mysql_query(mysql, query)); }

/* Prints the first row of a query. */
static void say(MYSQL *mysql, const char *label, const char *query) {
  run(mysql, query);
  MYSQL_RES *result = mysql_store_result(mysql);
  check(mysql, query, result == NULL);
  MYSQL_ROW row = mysql_fetch_row(result);
  check(mysql, query, row == NULL);
  printf("%s:", label);
  for (unsigned int i = 0; i < mysql_num_fields(result); i++)
    printf("%s%s", i == 0 ? " " : " | ", row[i] != NULL ? row[i] : "NULL");
  putchar('\n');
  mysql_free_result(result);
}

static MYSQL_BIND text(const char *value) {
  MYSQL_BIND bind;
  memset(&bind, 0, sizeof bind);
  bind.buffer_type = MYSQL_TYPE_STRING;
  bind.buffer = (void *)value;
  bind.buffer_length = strlen(value);
  return bind;
}

static MYSQL_BIND number(int *value) {
  MYSQL_BIND bind;
  memset(&bind, 0, sizeof bind);
  bind.buffer_type = MYSQL_TYPE_LONG;
  bind.buffer = value;
  return bind;
}

static MYSQL_STMT *execute(MYSQL *mysql, const char *query, MYSQL_BIND *values) {
  MYSQL_STMT *statement = mysql_stmt_init(mysql);
  bool failed = mysql_stmt_prepare(statement, query, strlen(query)) != 0 ||
                mysql_stmt_bind_param(statement, values) != 0 || mysql_stmt_execute(statement) != 0;
  if (failed) {
    fprintf(stderr, "%s: %s\n", query, mysql_stmt_error(statement));
    exit(1);
  }
  return statement;
}

static void say_prepared(MYSQL *mysql) {
  int seven = 7;
  MYSQL_BIND values[] = {number(&seven), text("it's 🐟"), text("limits.sessions_max")};
  MYSQL_STMT *statement =
      execute(mysql, "SELECT ? AS number, ? AS word, name FROM settings WHERE name = ?", values);
  static char found[3][100];
  unsigned long lengths[3];
  MYSQL_BIND places[3];
  memset(places, 0, sizeof places);
  for (int i = 0; i < 3; i++) {
    places[i].buffer_type = MYSQL_TYPE_STRING;
    places[i].buffer = found[i];
    places[i].buffer_length = sizeof found[i] - 1;
    places[i].length = &lengths[i];
  }
  if (mysql_stmt_bind_result(statement, places) != 0 || mysql_stmt_fetch(statement) != 0) {
    fprintf(stderr, "fetch: %s\n", mysql_stmt_error(statement));
    exit(1);
  }
  printf("prepared: %s | %s | %s\n", found[0], found[1], found[2]);
  mysql_stmt_close(statement);
}

static unsigned long long change(MYSQL *mysql, int to) {
  MYSQL_BIND values[] = {number(&to), text("limits.sessions_max")};
  MYSQL_STMT *statement =
      execute(mysql, "UPDATE settings SET value = ? WHERE name = ?", values);
  unsigned long long affected = mysql_stmt_affected_rows(statement);
  mysql_stmt_close(statement);
  return affected;
}

static void say_changes(MYSQL *mysql) {
  const char *value = "SELECT value FROM settings WHERE name = 'limits.sessions_max'";
  unsigned long long affected = change(mysql, 888);
  char query[200];
  snprintf(query, sizeof query, "SELECT %llu, value FROM settings WHERE name = 'limits.sessions_max'",
           affected);
  say(mysql, "changed", query);
  run(mysql, "BEGIN");
  change(mysql, 999);
  check(mysql, "rollback", mysql_rollback(mysql) != 0);
  say(mysql, "rolled back", value);
  run(mysql, "REVERT");
  say(mysql, "reverted", value);
}

static void say_error(MYSQL *mysql, const char *label, const char *query) {
  if (mysql_query(mysql, query) == 0) exit(1);
  printf("%s: %u\n", label, mysql_errno(mysql));
}

/* What pools do with a connection before they lend it again; nothing is printed. */
static void change_hands(MYSQL *mysql) {
  const char *user = setting("CLIENT_USER"), *password = setting("CLIENT_PASSWORD");
  check(mysql, "select db", mysql_select_db(mysql, "stats"));
  check(mysql, "reset", mysql_reset_connection(mysql));
  run(mysql, "SELECT * FROM stats_mysql_global");
  mysql_free_result(mysql_store_result(mysql));
  for (int round = 0; round < 2; round++)
    check(mysql, "change user", mysql_change_user(mysql, user, password, setting("CLIENT_DATABASE")));
  run(mysql, "SET GLOBAL limits.sessions_max = 888");
  run(mysql, "REVERT");
  MYSQL *wrong = try_connect(password);
  if (mysql_change_user(wrong, user, "not it", NULL) == 0 || mysql_errno(wrong) != 1045) {
    fprintf(stderr, "change user: %u\n", mysql_errno(wrong));
    exit(1);
  }
  mysql_close(wrong);
}

int main(void) {
  MYSQL *mysql = try_connect(setting("CLIENT_PASSWORD"));
  check(mysql, "connect", mysql_errno(mysql) != 0);
  say(mysql, "user", "SELECT USER()");
  say(mysql, "joined",
      "SELECT b.weight, s.value FROM backends b JOIN settings s ON s.name = 'limits.sessions_max'");
  say(mysql, "tables", "SHOW TABLES LIKE 'sess%'");
  say_prepared(mysql);
  check(mysql, "select db", mysql_select_db(mysql, "stats"));
  say(mysql, "schema", "SELECT DATABASE()");
  check(mysql, "select db", mysql_select_db(mysql, "pilotfish"));
  say_changes(mysql);
  say_error(mysql, "unknown table", "SELECT * FROM nowhere");
  say_error(mysql, "syntax", "SELECT FROM");
  MYSQL *wrong = try_connect("not it");
  printf("wrong password: %u\n", mysql_errno(wrong));
  mysql_close(wrong);
  change_hands(mysql);
  check(mysql, "ping", mysql_ping(mysql));
  say(mysql, "alive", "SELECT 42");
  mysql_close(mysql);
  return 0;
}
