import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Scanner;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.postgresql.util.PSQLException;

/**
 * Appends a record for each line, an action, by plain SQL. When the project moves to another database, it goes on there. For a trial:
 *
 * <pre>
 * java -cp postgresql.jar examples/sql/Writer.java PROJECT_ID main=jdbc:postgresql://… east=jdbc:postgresql://…
 * </pre>
 */
public final class Writer {

    /** In the JSON of the error's detail. */
    private static final Pattern DATABASE = Pattern.compile("\"database\": \"([^\"]+)\"");

    public static void main(String... arguments) throws Exception {
        UUID project = UUID.fromString(arguments[0]);
        Map<String, String> databases = new LinkedHashMap<>();
        for (int i = 1; i < arguments.length; i++) {
            databases.put(arguments[i].split("=", 2)[0], arguments[i].split("=", 2)[1]);
        }
        String database = databases.keySet().iterator().next();
        Connection connection = DriverManager.getConnection(databases.get(database));
        Scanner actions = new Scanner(System.in);
        while (actions.hasNextLine()) {
            String action = actions.nextLine();
            for (String moved = append(connection, project, action); moved != null; ) {
                // While the project moves, both databases name the other one.
                Thread.sleep(20);
                connection.close();
                connection = DriverManager.getConnection(databases.get(moved));
                moved = append(connection, project, action);
            }
        }
        connection.close();
    }

    /** Runs the application's transaction. Returns the database to which the project has moved, or null. */
    private static String append(Connection connection, UUID project, String action) throws SQLException {
        connection.setAutoCommit(false);
        try (PreparedStatement insert = connection.prepareStatement(
                "insert into annals.audit_record (project_id, action) values (?, ?)")) {
            insert.setObject(1, project);
            insert.setString(2, action);
            insert.execute();
            connection.commit();
            return null;
        } catch (PSQLException e) {
            if (!"AN307".equals(e.getSQLState())) {
                throw e;
            }
            Matcher database = DATABASE.matcher(e.getServerErrorMessage().getDetail());
            database.find();
            return database.group(1);
        }
    }
}
