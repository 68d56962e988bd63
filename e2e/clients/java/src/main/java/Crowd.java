import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;

/**
 * Many sessions that stay open and idle, each with what its driver says at login. Each runs a statement; behind that
 * the program says "open", waits for a line, has each run another one, and says how many sessions there were.
 */
public final class Crowd {
  static final int SESSIONS = 200;

  public static void main(String[] arguments) throws Exception {
    String url = "jdbc:" + (arguments[0].equals("mariadb") ? "mariadb" : "mysql") + "://"
        + System.getenv("CLIENT_HOST") + ":" + System.getenv("CLIENT_PORT") + "/"
        + System.getenv("CLIENT_DATABASE");
    Properties properties = new Properties();
    properties.setProperty("user", System.getenv("CLIENT_USER"));
    properties.setProperty("password", System.getenv("CLIENT_PASSWORD"));
    if ("1".equals(System.getenv("CLIENT_TLS"))) {
      properties.setProperty("sslMode", arguments[0].equals("mariadb") ? "trust" : "REQUIRED");
      properties.setProperty("permitRedirect", "true"); // of MariaDB's driver
    } else {
      properties.setProperty("sslMode", arguments[0].equals("mariadb") ? "disable" : "DISABLED");
    }
    properties.setProperty("allowPublicKeyRetrieval", "true");
    List<Connection> sessions = new ArrayList<>();
    for (int at = 0; at < SESSIONS; at++) {
      sessions.add(DriverManager.getConnection(url, properties));
      run(sessions.get(at), "SELECT " + at, at);
    }
    System.out.println("open");
    System.out.flush();
    System.in.read();
    Set<Long> ids = new HashSet<>();
    for (Connection session : sessions) ids.add(value(session, "SELECT CONNECTION_ID()"));
    System.out.println("sessions: " + ids.size());
    for (Connection session : sessions) session.close();
    System.out.flush();
    System.exit(0); // drivers keep threads of their own
  }

  static long value(Connection session, String text) throws SQLException {
    try (Statement statement = session.createStatement(); ResultSet rows = statement.executeQuery(text)) {
      rows.next();
      return rows.getLong(1);
    }
  }

  static void run(Connection session, String text, long expected) throws SQLException {
    if (value(session, text) != expected) throw new SQLException(text + " has another's result");
  }
}
