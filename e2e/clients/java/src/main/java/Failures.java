import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/** The step of {@link Client} about errors of many kinds: what the driver makes of each, and what works afterwards. */
final class Failures {
  static final String INSERT = "INSERT INTO unique_words (word) VALUES (?)";

  private Failures() {}

  static void run(Connection connection) throws Exception {
    Client.section("failures");
    makeTables(connection);
    texts(connection);
    prepared(connection);
    keys(connection);
    for (String option : List.of("none", "rewriteBatchedStatements", "useServerPrepStmts=false")) batches(option);
    manyStatements(connection);
    lockWait();
    deadlock();
    limits(connection);
    killedStatement(connection);
    killedSession(connection);
    transactions(connection);
  }

  static void makeTables(Connection connection) throws SQLException {
    for (String text : List.of(
        "CREATE TABLE unique_words (id INT PRIMARY KEY AUTO_INCREMENT, word VARCHAR(5) NOT NULL UNIQUE)"
            + " ENGINE=InnoDB",
        "CREATE TABLE of_words (id INT, FOREIGN KEY (id) REFERENCES unique_words (id)) ENGINE=InnoDB",
        "CREATE TABLE numbered (n INT PRIMARY KEY, v TINYINT) ENGINE=InnoDB",
        "INSERT INTO unique_words VALUES (1, 'one'), (2, 'two')",
        "INSERT INTO numbered VALUES (1, 1), (2, 2)"))
      Client.run(connection, text);
  }

  /** What the server tells of its last statement. */
  static void showDiagnostics(Connection connection) throws SQLException {
    Client.show(connection, "SHOW WARNINGS");
    Client.show(connection, "SHOW ERRORS");
    Client.show(connection, "SELECT @@warning_count, @@error_count");
  }

  static void sayWarnings(String label, SQLWarning first) {
    for (SQLWarning next = first; next != null; next = next.getNextWarning())
      Client.say(label, next.getErrorCode(), next.getSQLState(), next.getMessage());
  }

  static void sayChain(String label, SQLException first) {
    for (SQLException next = first; next != null; next = next.getNextException())
      Client.say(label, next.getClass().getSimpleName(), Client.shown(next));
  }

  /** Runs what is to fail. */
  static void fails(String label, Client.Refused action) {
    try {
      action.run();
    } catch (SQLException error) {
      sayChain(label, error);
      return;
    }
    throw new IllegalStateException(label + ": an error was expected");
  }

  static void texts(Connection connection) throws SQLException {
    for (String text : List.of(
        "SELEC 1",
        "SELECT 'not closed",
        "SELECT * FROM no_such_table",
        "SELECT * FROM no_such_schema.t",
        "SELECT no_such_column FROM numbered",
        "SELECT no_such_function(1)",
        "CALL no_such_procedure()",
        "INSERT INTO unique_words (word) VALUES ('one')",
        "INSERT INTO unique_words (word) VALUES ('three'), ('two'), ('four')",
        "INSERT INTO unique_words (word) VALUES ('longer than five')",
        "INSERT INTO unique_words (word) VALUES (NULL)",
        "INSERT INTO numbered VALUES (3, 1000)",
        "INSERT INTO numbered VALUES (1, 2, 3)",
        "INSERT INTO of_words VALUES (99)",
        "DROP TABLE unique_words",
        "DELETE FROM unique_words WHERE id = (SELECT id FROM unique_words)",
        "UPDATE numbered SET v = (SELECT n FROM numbered)",
        "SELECT (SELECT n FROM numbered)",
        "SELECT n FROM numbered UNION SELECT n, v FROM numbered",
        "CREATE TABLE numbered (n INT)",
        "DROP TABLE no_such_table",
        "KILL 4294967290",
        "SET no_such_variable = 1",
        "SET sql_mode = 'no_such_mode'",
        "GRANT SELECT ON no_such_schema.* TO no_such_user",
        "SIGNAL SQLSTATE '23000' SET MESSAGE_TEXT = 'refused 🐟', MYSQL_ERRNO = 1644",
        "SIGNAL SQLSTATE '40001'",
        "EXECUTE no_such_statement")) {
      try (Statement statement = connection.createStatement()) {
        fails(text, () -> statement.execute(text));
        sayWarnings("of the statement", statement.getWarnings());
        sayWarnings("of the connection", connection.getWarnings());
      }
      showDiagnostics(connection);
    }
    Client.showAlive(connection);
  }

  static void prepared(Connection connection) throws SQLException {
    for (String text : List.of("SELEC ?", "SELECT * FROM no_such_table WHERE a = ?", "SELECT no_such_column = ?")) {
      fails("cannot be prepared: " + text, () -> {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
          statement.setInt(1, 1);
          statement.execute();
        }
      });
      showDiagnostics(connection);
    }
    try (PreparedStatement statement = connection.prepareStatement(INSERT)) {
      for (String word : Arrays.asList("one", "longer than five", null)) {
        statement.setString(1, word);
        fails("prepared " + word, statement::executeUpdate);
        showDiagnostics(connection);
      }
      statement.setString(1, "good");
      Client.say("afterwards", statement.executeUpdate());
      statement.clearParameters();
      fails("without its parameter", statement::executeUpdate);
    }
    try (PreparedStatement statement = connection.prepareStatement("SELECT v FROM numbered WHERE n = ?")) {
      Client.run(connection, "ALTER TABLE numbered RENAME COLUMN v TO w");
      statement.setInt(1, 1);
      fails("after its column was renamed", statement::executeQuery);
      Client.run(connection, "ALTER TABLE numbered RENAME COLUMN w TO v");
      Client.sayRows(statement.executeQuery());
    }
    Client.showAlive(connection);
  }

  static void keys(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      for (String word : List.of("five", "five", "six")) {
        String text = "INSERT INTO unique_words (word) VALUES ('" + word + "')";
        try {
          Client.say("inserted", statement.executeUpdate(text, Statement.RETURN_GENERATED_KEYS));
        } catch (SQLException error) {
          sayChain("not inserted", error);
        }
        try (ResultSet rows = statement.getGeneratedKeys()) {
          Client.say("has keys", rows.next());
        } catch (SQLException error) {
          Client.say("no keys", error.getSQLState());
        }
        Client.show(connection, "SELECT LAST_INSERT_ID() > 0, ROW_COUNT()");
      }
    }
  }

  /** A batch with a failure in the middle, as text, prepared, and of different texts. */
  static void batches(String option) throws SQLException {
    Properties properties = Client.properties();
    if (option.contains("=")) properties.setProperty(option.split("=")[0], option.split("=")[1]);
    else if (!option.equals("none")) properties.setProperty(option, "true");
    try (Connection other = Client.connect(Client.SCHEMA, properties)) {
      Client.run(other, "DELETE FROM unique_words WHERE id > 2");
      try (PreparedStatement statement = other.prepareStatement(INSERT, Statement.RETURN_GENERATED_KEYS)) {
        for (String word : List.of("a", "b", "one", "c", "longer than five", "d")) {
          statement.setString(1, word);
          statement.addBatch();
        }
        sayBatch(option + ", prepared", statement);
      }
      Client.show(other, "SELECT word FROM unique_words ORDER BY word");
      Client.run(other, "DELETE FROM unique_words WHERE id > 2");
      try (Statement statement = other.createStatement()) {
        for (String word : List.of("e", "two", "f"))
          statement.addBatch("INSERT INTO unique_words (word) VALUES ('" + word + "')");
        statement.addBatch("SELEC 1");
        statement.addBatch("UPDATE numbered SET v = 5 WHERE n < 3");
        sayBatch(option + ", texts", statement);
      }
      Client.show(other, "SELECT word FROM unique_words ORDER BY word");
      Client.showAlive(other);
    }
  }

  static void sayBatch(String label, Statement statement) throws SQLException {
    try {
      Client.say(label, Arrays.toString(statement.executeBatch()));
    } catch (BatchUpdateException error) {
      sayChain(label, error);
      Client.say("counts", Arrays.toString(error.getUpdateCounts()));
    }
  }

  static void manyStatements(Connection connection) throws SQLException {
    Client.show(connection, "INSERT INTO unique_words (word) VALUES ('g'); SELECT 1 AS a;"
        + " INSERT INTO unique_words (word) VALUES ('g'); SELECT 2 AS b");
    showDiagnostics(connection);
    Client.showAlive(connection);
  }

  static Connection inTransaction(Properties properties) throws SQLException {
    Connection connection = Client.connect(Client.SCHEMA, properties);
    Client.run(connection, "SET SESSION innodb_lock_wait_timeout = 1");
    connection.setAutoCommit(false);
    return connection;
  }

  static void lockWait() throws SQLException {
    try (Connection holder = inTransaction(Client.properties());
        Connection waiter = inTransaction(Client.properties())) {
      Client.run(holder, "UPDATE numbered SET v = 7 WHERE n = 1");
      Client.run(waiter, "UPDATE numbered SET v = 8 WHERE n = 2");
      fails("waits for a lock", () -> Client.run(waiter, "UPDATE numbered SET v = 8 WHERE n = 1"));
      try (PreparedStatement statement = waiter.prepareStatement("UPDATE numbered SET v = ? WHERE n = 1")) {
        statement.setInt(1, 8);
        fails("prepared, waits for a lock", statement::executeUpdate);
      }
      showDiagnostics(waiter);
      Client.show(waiter, "SELECT v FROM numbered WHERE n = 2");
      waiter.rollback();
      holder.rollback();
      Client.show(waiter, "SELECT v FROM numbered WHERE n = 2");
      waiter.rollback();
    }
  }

  /** Of two that wait for one another the server ends the one that has changed less. */
  static void deadlock() throws Exception {
    Properties properties = Client.properties();
    if (Client.isMariadb) {
      properties.setProperty("includeInnodbStatusInDeadlockExceptions", "true");
      properties.setProperty("dumpQueriesOnException", "true");
    } else {
      properties.setProperty("includeInnodbStatusInDeadlockExceptions", "true");
    }
    try (Connection stays = inTransaction(properties); Connection ends = inTransaction(properties)) {
      for (Connection each : List.of(stays, ends)) Client.run(each, "SET SESSION innodb_lock_wait_timeout = 50");
      for (int n = 10; n < 60; n++) Client.run(stays, "INSERT INTO numbered VALUES (" + n + ", 1)");
      Client.run(stays, "UPDATE numbered SET v = 7 WHERE n = 1");
      Client.run(ends, "UPDATE numbered SET v = 8 WHERE n = 2");
      FutureTask<Void> waits = begin(() -> {
        Client.run(stays, "UPDATE numbered SET v = 7 WHERE n = 2");
        return null;
      });
      try {
        Client.run(ends, "UPDATE numbered SET v = 8 WHERE n = 1");
        throw new IllegalStateException("no deadlock");
      } catch (SQLException error) {
        Client.say("deadlock", error.getClass().getSimpleName(), Client.shown(error));
        Client.say("tells of it", error.getMessage().toLowerCase().contains("innodb"));
      }
      waits.get();
      Client.show(ends, "SELECT v FROM numbered WHERE n = 2");
      ends.rollback();
      stays.rollback();
      Client.showAlive(ends);
    }
  }

  static <T> FutureTask<T> begin(Callable<T> work) {
    FutureTask<T> task = new FutureTask<>(work);
    new Thread(task).start();
    return task;
  }

  static void limits(Connection connection) throws SQLException {
    String text = Client.isMariadb
        ? "SET STATEMENT max_statement_time = 0.2 FOR SELECT n, SLEEP(5) FROM numbered"
        : "SELECT /*+ MAX_EXECUTION_TIME(200) */ n, SLEEP(5) FROM numbered";
    try (Statement statement = connection.createStatement()) {
      Client.say("over the server's limit");
      Client.sayResults(statement, statement.execute(text));
    } catch (SQLException error) {
      sayChain("over the server's limit", error);
    }
    try (Statement statement = connection.createStatement()) {
      statement.setMaxRows(1);
      Client.sayRows(statement.executeQuery("SELECT n FROM numbered ORDER BY n"));
    }
    Client.showAlive(connection);
  }

  /** Waits until a statement with this comment sleeps on the server. */
  static void awaitSleeping(Connection connection, String mark) throws Exception {
    String ask = "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep' AND info LIKE '%"
        + mark + "%'";
    for (int round = 0; round < 3000; round++) {
      try (Statement statement = connection.createStatement()) {
        ResultSet rows = statement.executeQuery(ask);
        rows.next();
        if (rows.getInt(1) == 1) return;
      }
      Thread.sleep(10);
    }
    throw new IllegalStateException("it never slept");
  }

  static void killedStatement(Connection connection) throws Exception {
    try (Connection victim = Client.connect(Client.SCHEMA, Client.properties())) {
      String id = Client.value(victim, "SELECT CONNECTION_ID()");
      FutureTask<Void> sleeps = begin(() -> {
        fails("killed", () -> {
          try (Statement statement = victim.createStatement()) {
            ResultSet rows = statement.executeQuery("SELECT /*k1*/ n, SLEEP(30) FROM numbered");
            while (rows.next()) Client.say("row", rows.getInt(1));
          }
        });
        return null;
      });
      awaitSleeping(connection, "k" + 1);
      Client.run(connection, "KILL QUERY " + id);
      sleeps.get();
      Client.showAlive(victim);
      Statement statement = victim.createStatement();
      FutureTask<Void> cancelled = begin(() -> {
        try {
          statement.execute("SELECT /*k2*/ n, SLEEP(30) FROM numbered");
          Client.say("cancelled", false);
        } catch (SQLException error) { // the driver's own or the server's: which one depends on who is first
          Client.say("cancelled", true);
        }
        return null;
      });
      awaitSleeping(connection, "k" + 2);
      statement.cancel();
      cancelled.get();
      Client.showAlive(victim);
    }
  }

  /** Texts of drivers about a lost connection tell times and addresses. */
  static void sayLost(String label, Connection victim, SQLException error) throws SQLException {
    Client.say(label, error.getClass().getSimpleName(), error.getErrorCode(), error.getSQLState());
    Client.say("valid", victim.isValid(5));
  }

  static void killedSession(Connection connection) throws Exception {
    for (boolean isIdle : List.of(true, false)) {
      Connection victim = Client.connect(Client.SCHEMA, Client.properties());
      String id = Client.value(victim, "SELECT CONNECTION_ID()");
      if (isIdle) {
        Client.run(connection, "KILL " + id);
        try {
          Client.run(victim, "SELECT 1");
          throw new IllegalStateException("a killed session went on");
        } catch (SQLException error) {
          sayLost("idle and killed", victim, error);
        }
        continue;
      }
      FutureTask<SQLException> sleeps = begin(() -> {
        try {
          Client.run(victim, "SELECT /*k3*/ n, SLEEP(30) FROM numbered");
          return null;
        } catch (SQLException error) {
          return error;
        }
      });
      awaitSleeping(connection, "k" + 3);
      Client.run(connection, "KILL " + id);
      sayLost("killed within a statement", victim, sleeps.get());
    }
  }

  static void transactions(Connection connection) throws SQLException {
    connection.setAutoCommit(false);
    Client.run(connection, "UPDATE numbered SET v = 9 WHERE n = 1");
    fails("within a transaction", () -> Client.run(connection, "INSERT INTO numbered VALUES (2, 2)"));
    fails("within it, too", () -> Client.run(connection, "SELECT * FROM no_such_table"));
    Client.show(connection, "SELECT v FROM numbered WHERE n = 1");
    fails("an unknown savepoint", () -> Client.run(connection, "ROLLBACK TO nowhere"));
    connection.rollback();
    connection.setAutoCommit(true);
    Client.show(connection, "SELECT v FROM numbered WHERE n < 3 ORDER BY n");
    connection.setReadOnly(true);
    fails("read only", () -> Client.run(connection, "DELETE FROM numbered"));
    connection.setReadOnly(false);
    Client.showAlive(connection);
  }
}
