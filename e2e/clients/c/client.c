/* The scenario through the C API, the widest of all: it reaches nearly every command there is.
 * The same source is compiled against libmariadb and, where there is one, MySQL's libmysqlclient. */

#include <errmsg.h>
#include <mysql.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef MARIADB_BASE_VERSION
#define IS_LIBMARIADB 1
typedef my_bool flag;
#else
#define IS_LIBMARIADB 0
typedef bool flag;
#endif

enum { MIB = 1024 * 1024, COLUMNS_MAX = 64, PATIENCE_ROUNDS = 250 };

/* --- the transcript --------------------------------------------------------------------------- */

static void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

static void section(const char *name) {
  printf("[%s]\n", name);
  fflush(stdout);
}

static void say(const char *label, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("%s: ", label);
  vprintf(format, arguments);
  va_end(arguments);
  putchar('\n');
}

static const char *yes_no(bool value) { return value ? "yes" : "no"; }

/* Text as it is; anything unprintable as \xNN, so that a line stays a line. */
static void print_value(const char *bytes, unsigned long length) {
  if (bytes == NULL) {
    fputs("NULL", stdout);
    return;
  }
  for (unsigned long i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    if (byte < 0x20 || byte == 0x7f)
      printf("\\x%02x", byte);
    else
      putchar(byte);
  }
}

static void say_sha256(const char *label, const char *bytes, size_t length) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(bytes, length, digest, &size, EVP_sha256(), NULL);
  printf("%s: %zu ", label, length);
  for (unsigned int i = 0; i < size; i++) printf("%02x", digest[i]);
  putchar('\n');
}

static void say_error(const char *label, MYSQL *mysql) {
  if (mysql_errno(mysql) == 0) die("%s: an error was expected", label);
  say(label, "%u %s %s", mysql_errno(mysql), mysql_sqlstate(mysql), mysql_error(mysql));
}

static void say_statement_error(const char *label, MYSQL_STMT *statement) {
  if (mysql_stmt_errno(statement) == 0) die("%s: an error was expected", label);
  say(label, "%u %s %s", mysql_stmt_errno(statement), mysql_stmt_sqlstate(statement),
      mysql_stmt_error(statement));
}

static void say_columns(MYSQL_RES *result) {
  MYSQL_FIELD *fields = mysql_fetch_fields(result);
  printf("columns:");
  for (unsigned int i = 0; i < mysql_num_fields(result); i++)
    printf(" %s.%s.%s#%d/%u/%u/%lu/%u", fields[i].db, fields[i].org_table, fields[i].name,
           fields[i].type, fields[i].charsetnr, fields[i].flags, fields[i].length,
           fields[i].decimals);
  putchar('\n');
}

static void say_result(MYSQL_RES *result) {
  say_columns(result);
  MYSQL_ROW row;
  while ((row = mysql_fetch_row(result)) != NULL) {
    unsigned long *lengths = mysql_fetch_lengths(result);
    printf("row: ");
    for (unsigned int i = 0; i < mysql_num_fields(result); i++) {
      if (i > 0) fputs(" | ", stdout);
      print_value(row[i], lengths[i]);
    }
    putchar('\n');
  }
  mysql_free_result(result);
}

/* --- running statements ------------------------------------------------------------------------ */

static void check(MYSQL *mysql, const char *what, int failed) {
  if (failed)
    die("%s: %u %s %s", what, mysql_errno(mysql), mysql_sqlstate(mysql), mysql_error(mysql));
}

static void check_statement(MYSQL_STMT *statement, const char *what, int failed) {
  if (failed)
    die("%s: %u %s %s", what, mysql_stmt_errno(statement), mysql_stmt_sqlstate(statement),
        mysql_stmt_error(statement));
}

static void run(MYSQL *mysql, const char *query) { check(mysql, query, mysql_query(mysql, query)); }

/* Prints every result of `query`; an error, at once or in the middle, is part of the transcript. */
static void show(MYSQL *mysql, const char *query) {
  int status = mysql_query(mysql, query);
  while (status == 0) {
    MYSQL_RES *result = mysql_store_result(mysql);
    if (result != NULL)
      say_result(result);
    else if (mysql_field_count(mysql) == 0)
      say("affected, last id, warnings", "%llu, %llu, %u, %s",
          (unsigned long long)mysql_affected_rows(mysql), (unsigned long long)mysql_insert_id(mysql),
          mysql_warning_count(mysql), mysql_info(mysql) ? mysql_info(mysql) : "-");
    else
      die("%s: %s", query, mysql_error(mysql));
    status = mysql_next_result(mysql);
  }
  if (status > 0) /* libmariadb forgets the error of a local file that it could not open */
    say("error", "%u %s %s", mysql_errno(mysql), mysql_sqlstate(mysql), mysql_error(mysql));
}

/* The first value of the first row, to be freed. */
static char *text_value(MYSQL *mysql, const char *query) {
  run(mysql, query);
  MYSQL_RES *result = mysql_store_result(mysql);
  if (result == NULL) die("%s: no result", query);
  MYSQL_ROW row = mysql_fetch_row(result);
  char *value = strdup(row != NULL && row[0] != NULL ? row[0] : "NULL");
  mysql_free_result(result);
  return value;
}

static void say_value(MYSQL *mysql, const char *label, const char *query) {
  char *value = text_value(mysql, query);
  say(label, "%s", value);
  free(value);
}

static MYSQL_STMT *prepare(MYSQL *mysql, const char *query) {
  MYSQL_STMT *statement = mysql_stmt_init(mysql);
  check_statement(statement, query, mysql_stmt_prepare(statement, query, strlen(query)));
  return statement;
}

/* Prints the current result of an executed statement, each value fetched as text. */
static void say_statement_rows(MYSQL_STMT *statement) {
  MYSQL_RES *metadata = mysql_stmt_result_metadata(statement);
  if (metadata == NULL) {
    say("affected, last id", "%llu, %llu", (unsigned long long)mysql_stmt_affected_rows(statement),
        (unsigned long long)mysql_stmt_insert_id(statement));
    return;
  }
  say_columns(metadata);
  static char values[COLUMNS_MAX][4096];
  unsigned long lengths[COLUMNS_MAX];
  flag nulls[COLUMNS_MAX];
  MYSQL_BIND binds[COLUMNS_MAX];
  unsigned int count = mysql_num_fields(metadata);
  memset(binds, 0, sizeof binds);
  for (unsigned int i = 0; i < count; i++) {
    binds[i].buffer_type = MYSQL_TYPE_STRING;
    binds[i].buffer = values[i];
    binds[i].buffer_length = sizeof values[i];
    binds[i].length = &lengths[i];
    binds[i].is_null = &nulls[i];
  }
  check_statement(statement, "bind result", mysql_stmt_bind_result(statement, binds));
  int status;
  while ((status = mysql_stmt_fetch(statement)) == 0) {
    printf("row: ");
    for (unsigned int i = 0; i < count; i++) {
      if (i > 0) fputs(" | ", stdout);
      print_value(nulls[i] ? NULL : values[i], lengths[i]);
    }
    putchar('\n');
  }
  if (status != MYSQL_NO_DATA) check_statement(statement, "fetch", status);
  mysql_free_result(metadata);
}

static void execute(MYSQL_STMT *statement, MYSQL_BIND *parameters) {
  if (parameters != NULL)
    check_statement(statement, "bind", mysql_stmt_bind_param(statement, parameters));
  check_statement(statement, "execute", mysql_stmt_execute(statement));
}

static MYSQL_BIND text_parameter(const char *text) {
  MYSQL_BIND bind;
  memset(&bind, 0, sizeof bind);
  bind.buffer_type = MYSQL_TYPE_STRING;
  bind.buffer = (void *)text;
  bind.buffer_length = strlen(text);
  return bind;
}

static MYSQL_BIND number_parameter(long long *number) {
  MYSQL_BIND bind;
  memset(&bind, 0, sizeof bind);
  bind.buffer_type = MYSQL_TYPE_LONGLONG;
  bind.buffer = number;
  return bind;
}

static MYSQL_BIND null_parameter(void) {
  MYSQL_BIND bind;
  memset(&bind, 0, sizeof bind);
  bind.buffer_type = MYSQL_TYPE_NULL;
  return bind;
}

/* --- connecting -------------------------------------------------------------------------------- */

static const char *setting(const char *name) {
  const char *value = getenv(name);
  if (value == NULL) die("%s is not set", name);
  return value;
}

static bool is_on(const char *name) { return strcmp(setting(name), "1") == 0; }

static void set_tls(MYSQL *mysql) {
#if IS_LIBMARIADB
  flag enforce = is_on("CLIENT_TLS"), verify = 0;
  if (enforce) mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &enforce);
  mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
#else
  unsigned int mode = is_on("CLIENT_TLS") ? SSL_MODE_REQUIRED : SSL_MODE_DISABLED;
  flag ask_for_key = 1;
  mysql_options(mysql, MYSQL_OPT_SSL_MODE, &mode);
  mysql_options(mysql, MYSQL_OPT_GET_SERVER_PUBLIC_KEY, &ask_for_key);
#endif
}

/* A connection that may have failed: see mysql_errno. */
static MYSQL *try_connect(const char *password, const char *database) {
  MYSQL *mysql = mysql_init(NULL);
  unsigned int local_infile = 1;
  mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &local_infile);
  mysql_options4(mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "scenario");
  if (is_on("CLIENT_COMPRESS")) mysql_options(mysql, MYSQL_OPT_COMPRESS, NULL);
  set_tls(mysql);
  mysql_real_connect(mysql, setting("CLIENT_HOST"), setting("CLIENT_USER"), password, database,
                     (unsigned)atoi(setting("CLIENT_PORT")), NULL, CLIENT_MULTI_RESULTS);
  return mysql;
}

static MYSQL *connect_as_told(void) {
  MYSQL *mysql = try_connect(setting("CLIENT_PASSWORD"), setting("CLIENT_DATABASE"));
  if (mysql_errno(mysql) == CR_AUTH_PLUGIN_CANNOT_LOAD) {
    fprintf(stderr, "left out: %s\n", mysql_error(mysql)); /* MySQL's has no native password now */
    exit(77);
  }
  check(mysql, "connect", mysql_errno(mysql));
  return mysql;
}

static char *file_content(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) die("cannot open %s", path);
  char *content = calloc(1, MIB);
  if (fread(content, 1, MIB - 1, file) == 0) die("cannot read %s", path);
  fclose(file);
  return content;
}

/* Creates the schema anew and sends schema.sql, whose statements are parted by blank lines. */
static void prepare_schema(MYSQL *mysql) {
  char path[4096], query[4096];
  snprintf(query, sizeof query, "DROP DATABASE IF EXISTS %s", setting("CLIENT_SCHEMA"));
  run(mysql, query);
  snprintf(query, sizeof query, "CREATE DATABASE %s DEFAULT CHARACTER SET utf8mb4",
           setting("CLIENT_SCHEMA"));
  run(mysql, query);
  check(mysql, "select database", mysql_select_db(mysql, setting("CLIENT_SCHEMA")));
  snprintf(path, sizeof path, "%s/schema.sql", setting("CLIENT_SCENARIO"));
  char *content = file_content(path);
  for (char *statement = content; statement != NULL;) {
    char *end = strstr(statement, "\n\n");
    if (end != NULL) *end = '\0';
    run(mysql, statement);
    statement = end == NULL ? NULL : end + 2;
  }
  free(content);
}

/* --- the steps --------------------------------------------------------------------------------- */

static void login(MYSQL *mysql) {
  section("login");
  say("server", "%s, %lu", mysql_get_server_info(mysql), mysql_get_server_version(mysql));
  say("protocol", "%u", mysql_get_proto_info(mysql));
  say("character set", "%s", mysql_character_set_name(mysql));
  say("encrypted", "%s", yes_no(mysql_get_ssl_cipher(mysql) != NULL));
  char *thread = text_value(mysql, "SELECT CONNECTION_ID()");
  say("thread id agrees", "%s", yes_no(strtoul(thread, NULL, 10) == mysql_thread_id(mysql)));
  free(thread);
  say_value(mysql, "user", "SELECT CURRENT_USER()");
  say_value(mysql, "database", "SELECT DATABASE()");
  show(mysql, "SELECT attr_name, IF(attr_name IN ('_pid', '_thread', '_server_host'), '', attr_value) FROM"
              " performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID()"
              " ORDER BY attr_name");
  /* MySQL forgets which passwords it has seen: the next login takes the long way. */
  run(mysql, "FLUSH PRIVILEGES");
  const char *times[] = {"login while forgotten", "login while remembered"};
  for (int i = 0; i < 2; i++) {
    MYSQL *again = connect_as_told();
    say_value(again, times[i], "SELECT CURRENT_USER()");
    mysql_close(again);
  }
  struct {
    const char *label, *password, *database;
  } refused[] = {
      {"wrong password", "not it", setting("CLIENT_DATABASE")},
      {"no password", "", setting("CLIENT_DATABASE")},
      {"unknown database", setting("CLIENT_PASSWORD"), "no_such_database"},
  };
  for (int i = 0; i < 3; i++) {
    MYSQL *failed = try_connect(refused[i].password, refused[i].database);
    say_error(refused[i].label, failed);
    mysql_close(failed);
  }
}

static void query(MYSQL *mysql) {
  section("query");
  show(mysql, "SELECT 1 AS one, 'two' AS two, NULL AS three");
  show(mysql, "SELECT d FROM digits WHERE d > 100");
  show(mysql, "DO 1");
  show(mysql, "SELECT '' AS blank, '🐟' AS fish");
  show(mysql, "SELECT @@character_set_client, @@character_set_results, @@collation_connection");
}

static void types(MYSQL *mysql) {
  section("types");
  show(mysql, "SELECT * FROM everything ORDER BY id");
  MYSQL_STMT *statement = prepare(mysql, "SELECT * FROM everything ORDER BY id");
  execute(statement, NULL);
  say_statement_rows(statement);
  mysql_stmt_close(statement);
}

static void parameters(MYSQL *mysql) {
  section("parameters");
  long long lowest = (long long)(-9223372036854775807LL - 1), one = 1;
  MYSQL_BIND sets[3][3] = {
      {number_parameter(&one), text_parameter("two"), null_parameter()},
      {text_parameter("1"), null_parameter(), text_parameter("🐟 it's")},
      {null_parameter(), text_parameter(""), number_parameter(&lowest)},
  };
  MYSQL_STMT *statement = prepare(mysql, "SELECT ? AS a, ? AS b, ? AS c");
  say("parameters", "%lu", mysql_stmt_param_count(statement));
  for (int i = 0; i < 3; i++) {
    execute(statement, sets[i]);
    say_statement_rows(statement);
  }
  MYSQL_STMT *by_key = prepare(mysql, "SELECT huge, words FROM everything WHERE id = ?");
  for (int i = 0; i < 3; i++) {
    execute(by_key, sets[i]);
    say_statement_rows(by_key);
  }
  execute(by_key, sets[0]); /* executed, its rows never fetched */
  check_statement(by_key, "reset", mysql_stmt_reset(by_key));
  execute(by_key, NULL);
  say_statement_rows(by_key);
  mysql_stmt_close(by_key);
  mysql_stmt_close(statement);
  MYSQL_STMT *faulty = mysql_stmt_init(mysql);
  mysql_stmt_prepare(faulty, "SELECT * FROM no_such_table WHERE id = ?", 40);
  say_statement_error("cannot be prepared", faulty);
  mysql_stmt_close(faulty);
}

static void cursor(MYSQL *mysql) {
  section("cursor");
  MYSQL_STMT *statement = mysql_stmt_init(mysql);
  unsigned long type = CURSOR_TYPE_READ_ONLY, rows = 7;
  mysql_stmt_attr_set(statement, STMT_ATTR_CURSOR_TYPE, &type);
  mysql_stmt_attr_set(statement, STMT_ATTR_PREFETCH_ROWS, &rows);
  const char *text = "SELECT n, word, seventh FROM numbers WHERE n < ? ORDER BY n";
  check_statement(statement, text, mysql_stmt_prepare(statement, text, strlen(text)));
  long long limit = 100;
  MYSQL_BIND bind = number_parameter(&limit);
  execute(statement, &bind);
  say_value(mysql, "in between", "SELECT 'another query while the cursor is open'");
  say_statement_rows(statement);
  mysql_stmt_close(statement);
}

static void writes(MYSQL *mysql) {
  section("writes");
  show(mysql, "INSERT INTO ledger (name, amount) VALUES ('ann', 1)");
  show(mysql, "INSERT INTO ledger (name, amount) VALUES ('bob', 2), ('cid', 3), ('dee', 4)");
  show(mysql, "UPDATE ledger SET amount = amount + 1 WHERE amount > 1");
  show(mysql, "UPDATE ledger SET amount = amount WHERE amount > 1");
  show(mysql, "INSERT INTO ledger (name, amount) VALUES ('ann', 9) ON DUPLICATE KEY UPDATE amount = 9");
  show(mysql, "DELETE FROM ledger WHERE name = 'dee'");
  MYSQL_STMT *statement = prepare(mysql, "INSERT INTO ledger (name, amount) VALUES (?, ?)");
  for (long long i = 0; i < 100; i++) {
    char name[32];
    snprintf(name, sizeof name, "many %lld", i);
    MYSQL_BIND binds[2] = {text_parameter(name), number_parameter(&i)};
    execute(statement, binds);
  }
  say_statement_rows(statement);
  mysql_stmt_close(statement);
  show(mysql, "SELECT COUNT(*), SUM(amount) FROM ledger");
}

/* MariaDB takes all rows of a bulk in one command; its client sends them singly to a MySQL. */
static void bulk(MYSQL *mysql) {
#if IS_LIBMARIADB
  section("bulk");
  char name_texts[500][20], *names[500];
  int amounts[500];
  for (int i = 0; i < 500; i++) {
    snprintf(name_texts[i], sizeof name_texts[i], "bulk %d", i);
    names[i] = name_texts[i];
    amounts[i] = i;
  }
  char name_kinds[500] = {0}, amount_kinds[500] = {0};
  unsigned long lengths[500];
  for (int i = 0; i < 500; i++) lengths[i] = strlen(names[i]);
  MYSQL_BIND binds[2];
  memset(binds, 0, sizeof binds);
  binds[0].buffer_type = MYSQL_TYPE_STRING;
  binds[0].buffer = names;
  binds[0].length = lengths;
  binds[0].u.indicator = name_kinds;
  binds[1].buffer_type = MYSQL_TYPE_LONG;
  binds[1].buffer = amounts;
  binds[1].u.indicator = amount_kinds;
  unsigned int rows = 500;
  MYSQL_STMT *statement = prepare(mysql, "INSERT INTO ledger (name, amount) VALUES (?, ?)");
  mysql_stmt_attr_set(statement, STMT_ATTR_ARRAY_SIZE, &rows);
  if (mysql_stmt_bind_param(statement, binds) != 0 || mysql_stmt_execute(statement) != 0)
    say_statement_error("bulk refused", statement);
  else
    say("affected", "%llu", (unsigned long long)mysql_stmt_affected_rows(statement));
  mysql_stmt_close(statement);
  show(mysql, "SELECT COUNT(*), SUM(amount) FROM ledger");
#else
  (void)mysql;
#endif
}

static void transactions(MYSQL *mysql) {
  section("transactions");
  check(mysql, "autocommit", mysql_autocommit(mysql, 0));
  run(mysql, "INSERT INTO ledger (name, amount) VALUES ('rolled back', 100)");
  check(mysql, "rollback", mysql_rollback(mysql));
  run(mysql, "INSERT INTO ledger (name, amount) VALUES ('committed', 100)");
  check(mysql, "commit", mysql_commit(mysql));
  say("server status", "%u", mysql->server_status);
  check(mysql, "autocommit", mysql_autocommit(mysql, 1));
  show(mysql, "SELECT name FROM ledger WHERE amount = 100");
  run(mysql, "START TRANSACTION READ ONLY");
  say("server status", "%u", mysql->server_status);
  show(mysql, "DELETE FROM ledger");
  run(mysql, "COMMIT");
  say("server status", "%u", mysql->server_status);
}

static void errors(MYSQL *mysql) {
  section("errors");
  show(mysql, "INSERT INTO ledger (name, amount) VALUES ('ann', 1)");
  show(mysql, "SELEC 1");
  show(mysql, "SELECT * FROM no_such_table");
  show(mysql, "SELECT nothing FROM ledger");
  show(mysql, "");
  show(mysql, "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'Grüße 🐟', MYSQL_ERRNO = 30001");
  MYSQL_STMT *statement = prepare(mysql, "INSERT INTO ledger (name, amount) VALUES ('ann', 1)");
  mysql_stmt_execute(statement);
  say_statement_error("duplicate key", statement);
  mysql_stmt_close(statement);
  say_value(mysql, "alive afterwards", "SELECT 42");
}

static void warnings(MYSQL *mysql) {
  section("warnings");
  show(mysql, "SELECT CAST('12abc' AS SIGNED), 1 / 0");
  say("count", "%u", mysql_warning_count(mysql));
  show(mysql, "SHOW WARNINGS");
  show(mysql, "DROP TABLE IF EXISTS never_there");
}

static void many_statements(MYSQL *mysql) {
  section("many statements");
  show(mysql, "SELECT 1; SELECT 2");
  check(mysql, "set option", mysql_set_server_option(mysql, MYSQL_OPTION_MULTI_STATEMENTS_ON));
  show(mysql, "SELECT 1 AS a; INSERT INTO ledger (name, amount) VALUES ('multi', 1); DO 0;"
              " SELECT 2 AS b UNION SELECT 3; UPDATE ledger SET amount = 2 WHERE name = 'multi'");
  show(mysql, "SELECT 1 AS a; SELECT * FROM no_such_table; SELECT 2 AS b");
  check(mysql, "set option", mysql_set_server_option(mysql, MYSQL_OPTION_MULTI_STATEMENTS_OFF));
  show(mysql, "SELECT 1; SELECT 2");
}

static void procedures(MYSQL *mysql) {
  section("procedures");
  long long number = 4, nothing = 0;
  MYSQL_BIND binds[3] = {number_parameter(&number), text_parameter("four"), number_parameter(&nothing)};
  MYSQL_STMT *statement = prepare(mysql, "CALL describe_number(?, ?, ?)");
  execute(statement, binds);
  do {
    if (mysql->server_status & SERVER_PS_OUT_PARAMS) say("out parameters", "follow");
    say_statement_rows(statement);
  } while (mysql_stmt_next_result(statement) == 0);
  mysql_stmt_close(statement);
  run(mysql, "SET @title = 'four'");
  show(mysql, "CALL describe_number(4, @title, @doubled)");
  show(mysql, "SELECT @title, @doubled");
  show(mysql, "CALL refuse()");
  say_value(mysql, "alive afterwards", "SELECT 42");
}

static void say_big_result(MYSQL *mysql) {
  MYSQL_RES *result = mysql_use_result(mysql);
  EVP_MD_CTX *hash = EVP_MD_CTX_new();
  EVP_DigestInit_ex(hash, EVP_sha256(), NULL);
  MYSQL_ROW row;
  unsigned long count = 0;
  while ((row = mysql_fetch_row(result)) != NULL) {
    char line[256];
    int length = snprintf(line, sizeof line, "%s|%s|%s\n", row[0], row[1], row[2] ? row[2] : "NULL");
    EVP_DigestUpdate(hash, line, (size_t)length);
    count++;
  }
  check(mysql, "fetch", (int)mysql_errno(mysql));
  mysql_free_result(result);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_DigestFinal_ex(hash, digest, &size);
  EVP_MD_CTX_free(hash);
  printf("rows: %lu\nsha256: ", count);
  for (unsigned int i = 0; i < size; i++) printf("%02x", digest[i]);
  putchar('\n');
}

static void big_result(MYSQL *mysql) {
  section("big result");
  run(mysql, "SELECT n, word, seventh FROM numbers ORDER BY n");
  say_big_result(mysql);
}

/* Writes `body` with one parameter, in pieces of 1 MiB if `in_pieces`, and reads it back. */
static void store_and_read(MYSQL *mysql, long long id, const char *body, unsigned long length,
                           bool in_pieces) {
  MYSQL_STMT *statement = prepare(mysql, "INSERT INTO archive VALUES (?, ?)");
  MYSQL_BIND binds[2] = {number_parameter(&id), text_parameter("")};
  binds[1].buffer_type = MYSQL_TYPE_LONG_BLOB;
  binds[1].buffer = (void *)body;
  binds[1].buffer_length = length;
  binds[1].length = &length;
  check_statement(statement, "bind", mysql_stmt_bind_param(statement, binds));
  for (unsigned long sent = 0; in_pieces && sent < length; sent += MIB)
    check_statement(statement, "long data", mysql_stmt_send_long_data(statement, 1, body + sent, MIB));
  check_statement(statement, "execute", mysql_stmt_execute(statement));
  mysql_stmt_close(statement);
  char query[100];
  snprintf(query, sizeof query, "SELECT SHA2(body, 256) FROM archive WHERE id = %lld", id);
  say_value(mysql, "stored", query);
  snprintf(query, sizeof query, "SELECT body FROM archive WHERE id = %lld", id);
  run(mysql, query);
  MYSQL_RES *result = mysql_store_result(mysql);
  MYSQL_ROW row = mysql_fetch_row(result);
  say_sha256("read", row[0], mysql_fetch_lengths(result)[0]);
  mysql_free_result(result);
}

/* Lengths that straddle 2^24 - 1 bytes, where one packet is no longer enough for a payload. */
static void around_16_mib(MYSQL *mysql) {
  for (int length = 16777210; length < 16777214; length++) {
    char query[100];
    snprintf(query, sizeof query, "SELECT REPEAT('x', %d)", length);
    run(mysql, query);
    MYSQL_RES *result = mysql_store_result(mysql);
    MYSQL_ROW row = mysql_fetch_row(result);
    say_sha256("row around 16 MiB", row[0], mysql_fetch_lengths(result)[0]);
    mysql_free_result(result);
  }
  for (size_t length = 16777212; length < 16777218; length++) {
    const char start[] = "SELECT LENGTH('", end[] = "')";
    char *query = malloc(length + 1);
    memset(query, 'x', length);
    memcpy(query, start, sizeof start - 1);
    memcpy(query + length - (sizeof end - 1), end, sizeof end);
    say_value(mysql, "query around 16 MiB", query);
    free(query);
  }
}

static void big_packets(MYSQL *mysql) {
  section("big packets");
  /* libmariadb 3.3 loses its place in compressed payloads of more than one packet. */
  bool only_one_packet = IS_LIBMARIADB && is_on("CLIENT_COMPRESS");
  unsigned long length = (only_one_packet ? 12 : 20) * MIB;
  char *body = malloc(length);
  for (unsigned long i = 0; i < length; i++) body[i] = (char)(i % 251);
  say_sha256("sent", body, length);
  store_and_read(mysql, 1, body, length, false);
  store_and_read(mysql, 2, body, length, true);
  free(body);
  if (!only_one_packet) around_16_mib(mysql);
}

static void local_infile(MYSQL *mysql) {
  section("local infile");
  char query[4200];
  snprintf(query, sizeof query, "LOAD DATA LOCAL INFILE '%s' INTO TABLE loaded",
           setting("CLIENT_LOAD_FILE"));
  show(mysql, query);
  show(mysql, "SELECT COUNT(*), SUM(id), SUM(CRC32(name)) FROM loaded");
  show(mysql, "LOAD DATA LOCAL INFILE '/no/such/file' INTO TABLE loaded");
  say_value(mysql, "alive afterwards", "SELECT 42");
}

static void say_trackers(MYSQL *mysql) {
  for (int type = SESSION_TRACK_BEGIN; type <= SESSION_TRACK_END; type++) {
    const char *data;
    size_t length;
    if (mysql_session_track_get_first(mysql, type, &data, &length) != 0) continue;
    do say("tracked", "%d %.*s", type, (int)length, data);
    while (mysql_session_track_get_next(mysql, type, &data, &length) == 0);
  }
}

static void trackers(MYSQL *mysql) {
  section("trackers");
  run(mysql, "SET SESSION session_track_state_change = ON, session_track_system_variables = 'sort_buffer_size,sql_mode',"
             " session_track_transaction_info = 'CHARACTERISTICS'");
  const char *statements[] = {"SET SESSION sort_buffer_size = 262144", "START TRANSACTION",
                              "INSERT INTO ledger (name, amount) VALUES ('tracked', 1)", "ROLLBACK"};
  for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
    run(mysql, statements[i]);
    say_trackers(mysql);
  }
  check(mysql, "select database", mysql_select_db(mysql, setting("CLIENT_DATABASE")));
  say_trackers(mysql);
  check(mysql, "select database", mysql_select_db(mysql, setting("CLIENT_SCHEMA")));
}

static void session_commands(MYSQL *mysql) {
  section("session");
  check(mysql, "ping", mysql_ping(mysql));
  say("statistics", "%.6s", mysql_stat(mysql));
  run(mysql, "SET @kept = 'yes'");
  say_value(mysql, "before", "SELECT @kept");
  check(mysql, "reset", mysql_reset_connection(mysql));
  say_value(mysql, "after the reset", "SELECT @kept");
  say_value(mysql, "database", "SELECT DATABASE()");
  run(mysql, "SET @kept = 'yes'");
  if (mysql_change_user(mysql, setting("CLIENT_USER"), "not it", NULL) == 0) die("wrong password taken");
  say_error("change of user refused", mysql);
  MYSQL *fresh = connect_as_told();
  run(fresh, "SET @kept = 'yes'");
  check(fresh, "change user", mysql_change_user(fresh, setting("CLIENT_USER"),
                                                setting("CLIENT_PASSWORD"), setting("CLIENT_SCHEMA")));
  say_value(fresh, "after the change of user", "SELECT @kept");
  say_value(fresh, "character set", "SELECT @@character_set_client");
  say_value(fresh, "database", "SELECT DATABASE()");
  if (mysql_select_db(fresh, "no_such_database") == 0) die("no_such_database selected");
  say_error("no database", fresh);
  mysql_close(fresh);
}

/* Commands that only the C API still sends; a server may refuse them, by the proxy as without. */
static void rare_commands(MYSQL *mysql) {
  section("rare commands");
  MYSQL_RES *fields = mysql_list_fields(mysql, "everything", "%");
  if (fields == NULL) {
    say_error("list fields", mysql);
  } else {
    say_columns(fields);
    mysql_free_result(fields);
  }
  MYSQL_RES *processes = mysql_list_processes(mysql);
  if (processes == NULL) {
    say_error("list processes", mysql);
  } else {
    say("processes", "%s", yes_no(mysql_num_rows(processes) > 0));
    mysql_free_result(processes);
  }
  say_value(mysql, "alive afterwards", "SELECT 42");
}

static void pause_briefly(void) {
  struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
  nanosleep(&pause, NULL);
}

/* The other connection's thread is seen to end on the server. */
static bool is_gone(MYSQL *mysql, unsigned long thread) {
  char query[100];
  snprintf(query, sizeof query, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = %lu",
           thread);
  for (int round = 0; round < PATIENCE_ROUNDS; round++) {
    char *count = text_value(mysql, query);
    bool gone = strcmp(count, "0") == 0;
    free(count);
    if (gone) return true;
    pause_briefly();
  }
  return false;
}

static void close_all(MYSQL *mysql) {
  section("close");
  MYSQL *other = connect_as_told();
  unsigned long thread = mysql_thread_id(other);
  mysql_close(other);
  say("gone from the server", "%s", yes_no(is_gone(mysql, thread)));
  MYSQL *victim = connect_as_told();
  if (mysql_kill(mysql, mysql_thread_id(victim)) != 0) die("kill: %s", mysql_error(mysql));
  say("killed", "%s", yes_no(mysql_query(victim, "SELECT 1") != 0));
  mysql_close(victim);
  char query[4200];
  snprintf(query, sizeof query, "DROP DATABASE %s", setting("CLIENT_SCHEMA"));
  run(mysql, query);
  mysql_close(mysql);
}

int main(void) {
  MYSQL *mysql = connect_as_told();
  prepare_schema(mysql);
  void (*steps[])(MYSQL *) = {login,    query,      types,           parameters,   cursor,
                              writes,   bulk,       transactions,    errors,       warnings,
                              many_statements, procedures, big_result, big_packets, local_infile,
                              trackers, rare_commands, session_commands};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) steps[i](mysql);
  mysql_close(mysql);
  close_all(connect_as_told());
  return 0;
}
