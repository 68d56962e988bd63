import java.io.IOException;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.sql.BatchUpdateException;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDateTime;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.StringJoiner;

/**
 * The scenario through JDBC: {@code connectorj} (MySQL Connector/J) or {@code mariadb} (MariaDB
 * Connector/J), with statements prepared on the server. Prints the transcript to stdout.
 */
public final class Client {

  /** A piece of the scenario; what it throws ends the program. */
  interface Step {
    void run(Connection connection) throws Exception;
  }

  /** Something that the server is to refuse. */
  interface Refused {
    void run() throws SQLException;
  }

  static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);
  static final String SCHEMA = System.getenv("CLIENT_SCHEMA");
  static final boolean TLS = "1".equals(System.getenv("CLIENT_TLS"));
  static final boolean COMPRESS = "1".equals(System.getenv("CLIENT_COMPRESS"));
  static final int BIG_BYTES = 20 * 1024 * 1024;

  static boolean isMariadb;

  // --- the transcript --------------------------------------------------------------------------

  static void section(String name) {
    OUT.println("[" + name + "]");
  }

  static void say(String label, Object... values) {
    StringJoiner line = new StringJoiner(" | ", label + ": ", "");
    for (Object value : values) line.add(shown(value));
    OUT.println(line);
  }

  static String shown(Object value) {
    if (value == null) return "NULL";
    if (value instanceof byte[] bytes) return "0x" + HexFormat.of().formatHex(bytes);
    return value.toString();
  }

  /** The first line, without the connection's number that MariaDB's driver puts in front. */
  static String shown(SQLException error) {
    String text = error.getMessage().lines().findFirst().orElse("").replaceAll("\\(conn=\\d+\\) ", "");
    return error.getErrorCode() + " " + error.getSQLState() + " " + text;
  }

  static void sayError(String label, Refused action) {
    try {
      action.run();
    } catch (SQLException error) {
      say(label, shown(error));
      return;
    }
    throw new IllegalStateException(label + ": an error was expected");
  }

  static void sayRows(ResultSet rows) throws SQLException {
    ResultSetMetaData columns = rows.getMetaData();
    int count = columns.getColumnCount();
    Object[] values = new Object[count];
    for (int i = 0; i < count; i++) {
      values[i] = columns.getTableName(i + 1) + "." + columns.getColumnLabel(i + 1) + "#"
          + columns.getColumnTypeName(i + 1) + "/" + columns.getPrecision(i + 1) + "/"
          + columns.getScale(i + 1) + "/" + columns.isNullable(i + 1);
    }
    say("columns", values);
    while (rows.next()) {
      for (int i = 0; i < count; i++) {
        values[i] = switch (columns.getColumnType(i + 1)) {
          case Types.BINARY, Types.VARBINARY, Types.LONGVARBINARY, Types.BIT, Types.BLOB ->
            rows.getBytes(i + 1);
          default -> rows.getString(i + 1);
        };
      }
      say("row", values);
    }
    rows.close();
  }

  /** Prints every result of a statement that was executed; an error in the middle is part of it. */
  static void sayResults(Statement statement, boolean isRows) throws SQLException {
    try {
      while (true) {
        if (isRows) {
          sayRows(statement.getResultSet());
        } else {
          int affected = statement.getUpdateCount();
          if (affected == -1) break;
          say("affected", affected);
        }
        isRows = statement.getMoreResults();
      }
    } catch (SQLException error) {
      say("error", shown(error));
    }
  }

  static void show(Connection connection, String text) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      boolean isRows;
      try {
        isRows = statement.execute(text);
      } catch (SQLException error) {
        say("error", shown(error));
        return;
      }
      sayResults(statement, isRows);
    }
  }

  static void showPrepared(Connection connection, String text, Object... parameters)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(text)) {
      bind(statement, parameters);
      sayResults(statement, statement.execute());
    }
  }

  static void bind(PreparedStatement statement, Object... parameters) throws SQLException {
    for (int i = 0; i < parameters.length; i++) {
      if (parameters[i] == null) statement.setNull(i + 1, Types.VARCHAR);
      else statement.setObject(i + 1, parameters[i]);
    }
  }

  // --- connecting ------------------------------------------------------------------------------

  static Properties properties() {
    Properties properties = new Properties();
    properties.setProperty("user", System.getenv("CLIENT_USER"));
    properties.setProperty("password", System.getenv("CLIENT_PASSWORD"));
    properties.setProperty("allowPublicKeyRetrieval", "true");
    properties.setProperty("allowMultiQueries", "true");
    properties.setProperty("useServerPrepStmts", "true");
    properties.setProperty("useCompression", String.valueOf(COMPRESS));
    if (isMariadb) {
      properties.setProperty("sslMode", TLS ? "trust" : "disable");
      properties.setProperty("allowLocalInfile", "true");
      properties.setProperty("useBulkStmts", "true");
      properties.setProperty("useResetConnection", "true");
      properties.setProperty("maxAllowedPacket", String.valueOf(64 * 1024 * 1024));
    } else {
      properties.setProperty("sslMode", TLS ? "REQUIRED" : "DISABLED");
      properties.setProperty("allowLoadLocalInfile", "true");
      properties.setProperty("connectionAttributes", "program_name:scenario");
    }
    return properties;
  }

  static Connection connect(String database, Properties properties) throws SQLException {
    String url = "jdbc:" + (isMariadb ? "mariadb" : "mysql") + "://" + System.getenv("CLIENT_HOST")
        + ":" + System.getenv("CLIENT_PORT") + "/" + database;
    return DriverManager.getConnection(url, properties);
  }

  static Connection connect() throws SQLException {
    return connect(System.getenv("CLIENT_DATABASE"), properties());
  }

  static void run(Connection connection, String text) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(text);
    }
  }

  static String value(Connection connection, String text, Object... parameters)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(text)) {
      bind(statement, parameters);
      ResultSet rows = statement.executeQuery();
      rows.next();
      return rows.getString(1);
    }
  }

  /** Sends schema.sql, whose statements are parted by blank lines. */
  static void prepareSchema(Connection connection) throws SQLException, IOException {
    run(connection, "DROP DATABASE IF EXISTS " + SCHEMA);
    run(connection, "CREATE DATABASE " + SCHEMA + " DEFAULT CHARACTER SET utf8mb4");
    connection.setCatalog(SCHEMA);
    String content = Files.readString(Path.of(System.getenv("CLIENT_SCENARIO"), "schema.sql"));
    for (String statement : content.strip().split("\n\n")) run(connection, statement);
  }

  // --- the steps -------------------------------------------------------------------------------

  static void login(Connection connection) throws SQLException {
    section("login");
    say("server", connection.getMetaData().getDatabaseProductName(),
        connection.getMetaData().getDatabaseProductVersion());
    say("isolation", connection.getTransactionIsolation());
    say("user", value(connection, "SELECT CURRENT_USER()"));
    say("catalog", connection.getCatalog());
    show(connection, "SELECT attr_name, IF(attr_name IN ('_pid', '_thread', '_server_host'), '',"
        + " attr_value) FROM performance_schema.session_connect_attrs"
        + " WHERE processlist_id = CONNECTION_ID() ORDER BY attr_name");
    // MySQL forgets which passwords it has seen: the next login takes the long way.
    run(connection, "FLUSH PRIVILEGES");
    for (String times : List.of("forgotten", "remembered")) {
      try (Connection again = connect()) {
        say("login while " + times, value(again, "SELECT CURRENT_USER()"));
      }
    }
    String database = System.getenv("CLIENT_DATABASE");
    for (String password : List.of("not it", "")) {
      Properties wrong = properties();
      wrong.setProperty("password", password);
      sayError("wrong password", () -> connect(database, wrong).close());
    }
    sayError("unknown database", () -> connect("no_such_database", properties()).close());
  }

  static void query(Connection connection) throws SQLException {
    section("query");
    show(connection, "SELECT 1 AS one, 'two' AS two, NULL AS three");
    show(connection, "SELECT d FROM digits WHERE d > 100");
    show(connection, "DO 1");
    show(connection, "SELECT '' AS blank, '🐟' AS fish");
    show(connection,
        "SELECT @@character_set_client, @@character_set_results, @@collation_connection");
  }

  static void types(Connection connection) throws SQLException {
    section("types");
    show(connection, "SELECT * FROM everything ORDER BY id");
    showPrepared(connection, "SELECT * FROM everything WHERE id > ? ORDER BY id", 0);
    try (PreparedStatement statement =
            connection.prepareStatement("SELECT huge, moment, wide, bits, words FROM everything WHERE id = ?")) {
      statement.setInt(1, 1);
      ResultSet rows = statement.executeQuery();
      rows.next();
      say("typed", rows.getObject(1).getClass().getName(), rows.getBigDecimal(1),
          rows.getObject(2, LocalDateTime.class), rows.getDouble(3), rows.getBytes(4),
          rows.getBytes(5));
    }
    try (ResultSet columns = connection.getMetaData().getColumns(SCHEMA, null, "everything", "%")) {
      while (columns.next())
        say("column", columns.getString("COLUMN_NAME"), columns.getString("TYPE_NAME"),
            columns.getInt("COLUMN_SIZE"), columns.getInt("NULLABLE"));
    }
  }

  static void parameters(Connection connection) throws SQLException {
    section("parameters");
    Object[][] sets = {
      {1, "two", null},
      {"1", 2.5, "\0\\"},
      {null, "🐟 it's", Long.MIN_VALUE},
      {new BigDecimal("18446744073709551615.5"), true, LocalDateTime.of(2024, 2, 29, 12, 30, 45, 123456000)},
    };
    try (PreparedStatement statement = connection.prepareStatement("SELECT ? AS a, ? AS b, ? AS c")) {
      for (Object[] set : sets) {
        bind(statement, set);
        sayRows(statement.executeQuery());
      }
    }
    showPrepared(connection, "SELECT HEX(?)", (Object) new byte[] {0, -1, 39, 34, 92});
    for (Object key : new Object[] {1, "2", null})
      showPrepared(connection, "SELECT huge, words FROM everything WHERE id = ?", key);
    sayError("cannot be prepared", () ->
        connection.prepareStatement("SELECT * FROM no_such_table").executeQuery());
  }

  /** Rows are fetched by the cursor, a few at a time. */
  static void cursor(Connection connection) throws SQLException {
    section("cursor");
    Properties properties = properties();
    if (!isMariadb) properties.setProperty("useCursorFetch", "true");
    try (Connection other = connect(SCHEMA, properties);
        PreparedStatement statement = other.prepareStatement(
            "SELECT n, word, seventh FROM numbers WHERE n < ? ORDER BY n")) {
      statement.setFetchSize(7);
      statement.setInt(1, 100);
      sayRows(statement.executeQuery());
    }
  }

  static void sayKeys(Statement statement) throws SQLException {
    StringJoiner keys = new StringJoiner(" ");
    try (ResultSet rows = statement.getGeneratedKeys()) {
      while (rows.next()) keys.add(rows.getString(1));
    }
    say("affected, keys", statement.getUpdateCount(), keys);
  }

  static void writes(Connection connection) throws SQLException {
    section("writes");
    String insert = "INSERT INTO ledger (name, amount) VALUES (?, ?)";
    try (PreparedStatement statement =
            connection.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
      bind(statement, "ann", 1);
      statement.executeUpdate();
      sayKeys(statement);
    }
    try (Statement statement = connection.createStatement()) {
      for (String text : List.of(
          "INSERT INTO ledger (name, amount) VALUES ('bob', 2), ('cid', 3), ('dee', 4)",
          "UPDATE ledger SET amount = amount + 1 WHERE amount > 1",
          "UPDATE ledger SET amount = amount WHERE amount > 1",
          "INSERT INTO ledger (name, amount) VALUES ('ann', 9) ON DUPLICATE KEY UPDATE amount = 9",
          "DELETE FROM ledger WHERE name = 'dee'")) {
        statement.executeUpdate(text, Statement.RETURN_GENERATED_KEYS);
        sayKeys(statement);
      }
    }
    try (PreparedStatement statement = connection.prepareStatement(insert)) {
      for (int i = 0; i < 100; i++) {
        bind(statement, "many " + i, i);
        statement.addBatch();
      }
      say("batch", Arrays.toString(statement.executeBatch()));
    }
    show(connection, "SELECT COUNT(*), SUM(amount) FROM ledger");
  }

  static void transactions(Connection connection) throws SQLException {
    section("transactions");
    connection.setAutoCommit(false);
    String insert = "INSERT INTO ledger (name, amount) VALUES ('%s', 100)";
    run(connection, insert.formatted("rolled back"));
    connection.rollback();
    run(connection, insert.formatted("committed"));
    Savepoint savepoint = connection.setSavepoint("here");
    run(connection, insert.formatted("rolled back to the savepoint"));
    connection.rollback(savepoint);
    connection.commit();
    connection.setAutoCommit(true);
    show(connection, "SELECT name FROM ledger WHERE amount = 100");
    connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
    say("isolation", connection.getTransactionIsolation());
    connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
    connection.setReadOnly(true);
    sayError("read only", () -> run(connection, "DELETE FROM ledger"));
    connection.setReadOnly(false);
  }

  static void errors(Connection connection) throws SQLException {
    section("errors");
    for (String text : List.of(
        "INSERT INTO ledger (name, amount) VALUES ('ann', 1)",
        "SELEC 1",
        "SELECT * FROM no_such_table",
        "SELECT nothing FROM ledger",
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'Grüße 🐟', MYSQL_ERRNO = 30001"))
      sayError("refused", () -> run(connection, text));
    try (PreparedStatement statement =
            connection.prepareStatement("INSERT INTO ledger (name, amount) VALUES (?, 1)")) {
      for (String name : List.of("before", "ann", "after")) {
        statement.setString(1, name);
        statement.addBatch();
      }
      statement.executeBatch();
    } catch (BatchUpdateException error) {
      say("batch", shown(error));
    }
    show(connection, "SELECT COUNT(*) FROM ledger");
  }

  static void warnings(Connection connection) throws SQLException {
    section("warnings");
    try (Statement statement = connection.createStatement()) {
      sayRows(statement.executeQuery("SELECT CAST('12abc' AS SIGNED), 1 / 0"));
      statement.executeUpdate("DROP TABLE IF EXISTS never_there");
      for (SQLWarning next = statement.getWarnings(); next != null; next = next.getNextWarning())
        say("warning", next.getErrorCode(), next.getMessage());
    }
    show(connection, "SELECT CAST('12abc' AS SIGNED), 1 / 0");
    show(connection, "SHOW WARNINGS");
  }

  /** By text: MariaDB's driver awaits more results if a prepared statement follows such an error. */
  static void showAlive(Connection connection) throws SQLException {
    show(connection, "SELECT 42 AS alive_afterwards");
  }

  static void manyStatements(Connection connection) throws SQLException {
    section("many statements");
    show(connection, "SELECT 1 AS a; INSERT INTO ledger (name, amount) VALUES ('multi', 1); DO 0;"
        + " SELECT 2 AS b UNION SELECT 3; UPDATE ledger SET amount = 2 WHERE name = 'multi'");
    show(connection, "SELECT 1 AS a; SELECT * FROM no_such_table; SELECT 2 AS b");
    showAlive(connection);
  }

  static void procedures(Connection connection) throws SQLException {
    section("procedures");
    try (CallableStatement call = connection.prepareCall("{CALL describe_number(?, ?, ?)}")) {
      call.setInt(1, 4);
      call.setString(2, "four");
      call.registerOutParameter(2, Types.VARCHAR);
      call.registerOutParameter(3, Types.BIGINT);
      sayResults(call, call.execute());
      say("out", call.getString(2), call.getLong(3));
    }
    showPrepared(connection, "CALL describe_number(3, @title, @doubled)");
    show(connection, "SELECT @title, @doubled");
    show(connection, "CALL refuse()");
    showAlive(connection);
  }

  static void sayDigest(String label, long count, MessageDigest digest) {
    say(label, count, HexFormat.of().formatHex(digest.digest()));
  }

  static void bigResult(Connection connection) throws Exception {
    section("big result");
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    long count = 0;
    try (Statement statement = connection.createStatement(
            ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
      statement.setFetchSize(isMariadb ? 100 : Integer.MIN_VALUE);
      ResultSet rows = statement.executeQuery("SELECT n, word, seventh FROM numbers ORDER BY n");
      while (rows.next()) {
        String line = rows.getString(1) + "|" + rows.getString(2) + "|" + shown(rows.getString(3)) + "\n";
        digest.update(line.getBytes(StandardCharsets.UTF_8));
        count++;
      }
      rows.close();
    }
    sayDigest("rows", count, digest);
  }

  static void bigPackets(Connection connection) throws Exception {
    section("big packets");
    byte[] body = new byte[BIG_BYTES];
    for (int i = 0; i < BIG_BYTES; i++) body[i] = (byte) (i % 251);
    try (PreparedStatement statement = connection.prepareStatement("INSERT INTO archive VALUES (?, ?)")) {
      bind(statement, 1, body);
      say("inserted", statement.executeUpdate());
      statement.setInt(1, 2);
      statement.setBinaryStream(2, new java.io.ByteArrayInputStream(body), BIG_BYTES);
      say("streamed", statement.executeUpdate());
    }
    for (int id = 1; id <= 2; id++) {
      say("stored", value(connection, "SELECT SHA2(body, 256) FROM archive WHERE id = ?", id));
      try (PreparedStatement statement = connection.prepareStatement("SELECT body FROM archive WHERE id = ?")) {
        statement.setInt(1, id);
        ResultSet rows = statement.executeQuery();
        rows.next();
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] read = rows.getBytes(1);
        digest.update(read);
        sayDigest("read", read.length, digest);
      }
    }
    // A row of length-prefixed text is 4 bytes more than the text: these straddle 2^24 - 1.
    for (int length = 16777210; length < 16777214; length++) {
      String text = value(connection, "SELECT REPEAT('x', " + length + ")");
      say("row around 16 MiB", text.length());
    }
    if (isMariadb && COMPRESS) return; // its packets of such a query are numbered wrongly
    // A query is its text and one byte more.
    for (int length = 16777212; length < 16777218; length++) {
      String start = "SELECT LENGTH('", end = "')";
      String text = start + "x".repeat(length - start.length() - end.length()) + end;
      try (Statement statement = connection.createStatement()) {
        ResultSet rows = statement.executeQuery(text);
        rows.next();
        say("query around 16 MiB", rows.getString(1));
      }
    }
  }

  static void localInfile(Connection connection) throws SQLException {
    section("local infile");
    if (isMariadb && COMPRESS) return; // its packets of the file are numbered wrongly
    String load = "LOAD DATA LOCAL INFILE '%s' INTO TABLE loaded";
    show(connection, load.formatted(System.getenv("CLIENT_LOAD_FILE")));
    show(connection, "SELECT COUNT(*), SUM(id), SUM(CRC32(name)) FROM loaded");
    sayError("missing file", () -> run(connection, load.formatted("/no/such/file")));
    say("alive afterwards", value(connection, "SELECT 42"));
  }

  static void sessionCommands(Connection connection) throws SQLException {
    section("session");
    say("valid", connection.isValid(5));
    run(connection, "SET @kept = 'yes'");
    connection.setCatalog(System.getenv("CLIENT_DATABASE"));
    say("kept, database", value(connection, "SELECT @kept"), value(connection, "SELECT DATABASE()"));
    sayError("no database", () -> connection.setCatalog("no_such_database"));
    if (isMariadb) {
      connection.unwrap(org.mariadb.jdbc.Connection.class).reset();
      say("after the reset", value(connection, "SELECT @kept"));
    } else {
      var own = connection.unwrap(com.mysql.cj.jdbc.JdbcConnection.class);
      own.resetServerState();
      say("after the reset", value(connection, "SELECT @kept"));
      own.changeUser(System.getenv("CLIENT_USER"), System.getenv("CLIENT_PASSWORD"));
      say("after the change of user", value(connection, "SELECT CURRENT_USER()"));
    }
    connection.setCatalog(SCHEMA);
    // Over its time, the statement is killed through another connection or by the server.
    try (Statement statement = connection.createStatement()) {
      statement.setQueryTimeout(1);
      sayError("over its time", () -> statement.executeQuery("SELECT d, SLEEP(3) FROM digits"));
    }
    say("alive afterwards", value(connection, "SELECT 42"));
  }

  /** Waits until the other connection's thread has ended on the server. */
  static boolean isGone(Connection connection, String thread) throws Exception {
    String left = "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?";
    for (int round = 0; round < 250; round++) {
      if (value(connection, left, thread).equals("0")) return true;
      Thread.sleep(20);
    }
    return false;
  }

  static void closeAll(Connection connection) throws Exception {
    section("close");
    Connection other = connect();
    String thread = value(other, "SELECT CONNECTION_ID()");
    other.close();
    say("gone from the server", isGone(connection, thread));
    Connection victim = connect();
    run(connection, "KILL " + value(victim, "SELECT CONNECTION_ID()"));
    try {
      run(victim, "DO 1");
      throw new IllegalStateException("a killed connection went on");
    } catch (SQLException expected) { // which error depends on who is first to notice
      say("killed", true);
    }
    run(connection, "DROP DATABASE " + SCHEMA);
    connection.close();
  }

  public static void main(String[] arguments) throws Exception {
    isMariadb = arguments[0].equals("mariadb");
    Connection connection = connect();
    prepareSchema(connection);
    List<Step> steps = List.of(
        Client::login, Client::query, Client::types, Client::parameters, Client::cursor,
        Client::writes, Client::transactions, Client::errors, Failures::run, Client::warnings,
        Client::manyStatements, Client::procedures, Client::bigResult, Client::bigPackets,
        Client::localInfile, Client::sessionCommands, Client::closeAll);
    try {
      for (Step step : steps) step.run(connection);
    } finally {
      OUT.flush();
    }
    System.exit(0); // drivers keep threads of their own
  }
}
