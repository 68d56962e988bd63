import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;

/** The admin port through JDBC: {@code connectorj} or {@code mariadb}, and what it says of its tables. */
public final class Administration {

  interface Refused {
    void run() throws SQLException;
  }

  static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  static final String SETTING = "SELECT value FROM settings WHERE name = 'limits.sessions_max'";

  static Connection connect(boolean isMariadb, String password) throws SQLException {
    boolean isTls = "1".equals(System.getenv("CLIENT_TLS"));
    Properties properties = new Properties();
    properties.setProperty("user", System.getenv("CLIENT_USER"));
    properties.setProperty("password", password);
    properties.setProperty("allowPublicKeyRetrieval", "true");
    properties.setProperty("useServerPrepStmts", "true");
    properties.setProperty("dumpQueriesOnException", "true");
    properties.setProperty("maxQuerySizeToLog", "100000");
    properties.setProperty("sslMode", isMariadb ? (isTls ? "trust" : "disable") : (isTls ? "REQUIRED" : "DISABLED"));
    return DriverManager.getConnection("jdbc:" + (isMariadb ? "mariadb" : "mysql") + "://"
        + System.getenv("CLIENT_HOST") + ":" + System.getenv("CLIENT_PORT") + "/"
        + System.getenv("CLIENT_DATABASE"), properties);
  }

  static void say(String label, Object... values) {
    List<String> parts = new ArrayList<>();
    for (Object value : values) parts.add(String.valueOf(value));
    OUT.println(label + ": " + String.join(" | ", parts));
  }

  static void sayError(String label, Refused action) {
    try {
      action.run();
    } catch (SQLException error) {
      say(label, error.getErrorCode());
      return;
    }
    throw new IllegalStateException(label + ": an error was expected");
  }

  static String[] row(Connection connection, String text, Object... values) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(text)) {
      for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
      ResultSet rows = statement.executeQuery();
      rows.next();
      String[] found = new String[rows.getMetaData().getColumnCount()];
      for (int i = 0; i < found.length; i++) found[i] = rows.getString(i + 1);
      return found;
    }
  }

  static int change(Connection connection, String text) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      return statement.executeUpdate(text);
    }
  }

  static int update(Connection connection, int to) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement("UPDATE settings SET value = ? WHERE name = ?")) {
      statement.setInt(1, to);
      statement.setString(2, "limits.sessions_max");
      return statement.executeUpdate();
    }
  }

  /** What every library says. */
  static void common(boolean isMariadb, Connection connection) throws SQLException {
    say("user", (Object[]) row(connection, "SELECT USER()"));
    say("joined", (Object[]) row(connection,
        "SELECT b.weight, s.value FROM backends b JOIN settings s ON s.name = 'limits.sessions_max'"));
    say("tables", (Object[]) row(connection, "SHOW TABLES LIKE 'sess%'"));
    say("prepared", (Object[]) row(connection,
        "SELECT ? AS number, ? AS word, name FROM settings WHERE name = ?", 7, "it's 🐟", "limits.sessions_max"));
    connection.setCatalog("stats");
    say("schema", connection.getCatalog());
    connection.setCatalog("pilotfish");
    say("changed", update(connection, 888), row(connection, SETTING)[0]);
    change(connection, "BEGIN");
    update(connection, 999);
    change(connection, "ROLLBACK");
    say("rolled back", (Object[]) row(connection, SETTING));
    change(connection, "REVERT");
    say("reverted", (Object[]) row(connection, SETTING));
    sayError("unknown table", () -> row(connection, "SELECT * FROM nowhere"));
    sayError("syntax", () -> row(connection, "SELECT FROM"));
    sayError("wrong password", () -> connect(isMariadb, "not it").close());
    if (!connection.isValid(5)) throw new IllegalStateException("the connection is not valid");
    say("alive", (Object[]) row(connection, "SELECT 42"));
  }

  /** A column of a result: its values, each once. */
  static TreeSet<String> all(ResultSet rows, String column) throws SQLException {
    TreeSet<String> found = new TreeSet<>();
    while (rows.next()) found.add(rows.getString(column));
    rows.close();
    return found;
  }

  /** What tools ask of tables. */
  static void metadata(Connection connection) throws SQLException {
    DatabaseMetaData data = connection.getMetaData();
    say("catalogs", all(data.getCatalogs(), "TABLE_CAT"));
    say("table types", all(data.getTableTypes(), "TABLE_TYPE").isEmpty() ? "none" : "some");
    say("backends", all(data.getTables("pilotfish", null, "backends", null), "TABLE_NAME"));
    say("views", all(data.getTables("pilotfish", null, "back%", new String[] {"VIEW", "SYSTEM VIEW", "TABLE"}),
        "TABLE_NAME"));
    try (ResultSet columns = data.getColumns("pilotfish", null, "lanes", "%")) {
      while (columns.next())
        say("column", columns.getString("COLUMN_NAME"), columns.getString("TYPE_NAME"),
            columns.getInt("DATA_TYPE"), columns.getInt("ORDINAL_POSITION"), columns.getString("IS_NULLABLE"));
    }
    say("types", all(data.getTypeInfo(), "TYPE_NAME").contains("BIGINT"));
    say("product", data.getDatabaseProductName().isEmpty() ? "none" : "some",
        data.getDatabaseMajorVersion());
    say("isolation", connection.getTransactionIsolation());
    say("warnings", connection.getWarnings());
    connection.setReadOnly(true);
    connection.setReadOnly(false);
    connection.setAutoCommit(false);
    connection.commit();
    connection.setAutoCommit(true);
    say("afterwards", (Object[]) row(connection, "SELECT 43"));
  }

  public static void main(String[] arguments) throws Exception {
    boolean isMariadb = arguments[0].equals("mariadb");
    try (Connection connection = connect(isMariadb, System.getenv("CLIENT_PASSWORD"))) {
      common(isMariadb, connection);
      metadata(connection);
    }
    System.exit(0); // drivers keep threads of their own
  }
}
