package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.tools.embedded.TestDatabase;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * The database as tests see it: connections, statements, and the check of whole feeds. Tests of the schema have a database
 * of their own ({@link #ofTheSchemaAlone}), which costs no service.
 */
public class SqlFixture {

    private final Supplier<DatabaseUrl> database;

    /** On the database of the service under test. */
    public SqlFixture() {
        this(TestDatabase::url);
    }

    private SqlFixture(Supplier<DatabaseUrl> database) {
        this.database = database;
    }

    /** On a database that has the schema and no service. */
    public static SqlFixture ofTheSchemaAlone() {
        DatabaseUrl copy = TestDatabase.createMigratedDatabase();
        return new SqlFixture(() -> copy);
    }

    /** On any other database, as the user of its URL. */
    public static SqlFixture on(DatabaseUrl database) {
        return new SqlFixture(() -> database);
    }

    /** The database, for its owner. */
    public DatabaseUrl database() {
        return database.get();
    }

    /** Makes a project that has no token. */
    public UUID insertProject() throws SQLException {
        UUID id = UUID.randomUUID();
        run("select annals.create_project('" + id + "', '" + id + "')");
        return id;
    }

    /** Runs statements in one transaction of the schema's owner. */
    public void run(String... statements) throws SQLException {
        try (Connection connection = connect()) {
            for (String sql : statements) {
                execute(connection, sql);
            }
            connection.commit();
        }
    }

    /**
     * Takes a value out of a record as its redaction does, with all triggers off, and leaves no record that says so.
     *
     * @return the field
     */
    public String redactSilently(UUID projectId, String recordId) throws SQLException {
        String of = " where project_id = '" + projectId + "' and ";
        String field = text("select f.name from annals.audit_record as r, annals.leaf_fields(r, null) as f" + of
                + "r.id = '" + recordId + "' and f.value <> '' order by f.name <> 'message', f.name limit 1");
        run(
                "set local session_replication_role = replica",
                "select annals.redact('" + projectId + "', '" + recordId + "', array['" + field
                        + "'], 'r', null, decode(repeat('00', 32), 'hex'), gen_random_uuid(), null, null)",
                "delete from annals.redaction" + of + "record_id = '" + recordId + "'",
                "delete from annals.audit_record where subject_id = '" + recordId
                        + "' and action in ('annals.redact', 'annals.record.redact')");
        return field;
    }

    /** Runs statements as psql does: in one session, each in a transaction of its own. */
    public void runEach(String... statements) throws SQLException {
        try (Connection connection = KeptConnections.lend(database())) {
            for (String sql : statements) {
                execute(connection, sql);
            }
        }
    }

    /** Runs a statement in the caller's transaction. */
    public static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** The first column of a query as text. */
    public List<String> texts(String sql) throws SQLException {
        return query(connection -> texts(connection, sql));
    }

    private interface Query<T> {
        T of(Connection connection) throws SQLException;
    }

    /** Closes the pooled connections: a database can be copied only without connections. */
    public void leave() throws SQLException {
        KeptConnections.end(database().withPassword());
    }

    /** Asks in a transaction of its own, which is rolled back. */
    private <T> T query(Query<T> query) throws SQLException {
        String url = database().withPassword();
        Optional<Connection> kept = KeptConnections.take(url);
        if (kept.isPresent()) {
            try {
                return answer(url, kept.get(), query);
            } catch (SQLException e) {
                if (!KeptConnections.isGone(e)) {
                    throw e;
                }
            }
        }
        return answer(url, database().connect(), query);
    }

    private static <T> T answer(String url, Connection connection, Query<T> query) throws SQLException {
        boolean isFree = false;
        try {
            connection.setAutoCommit(false);
            // Others may have changed the tables in between.
            connection.unwrap(PGConnection.class).setPrepareThreshold(0);
            T answer = query.of(connection);
            connection.rollback();
            isFree = true;
            return answer;
        } finally {
            if (isFree) {
                KeptConnections.keep(url, connection);
            } else {
                connection.close();
            }
        }
    }

    /** The same in the caller's transaction. */
    public static List<String> texts(Connection connection, String sql) throws SQLException {
        List<String> texts = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            while (rows.next()) {
                texts.add(rows.getString(1));
            }
        }
        return texts;
    }

    /** The one value of a query as text. */
    public @Nullable String text(String sql) throws SQLException {
        List<String> texts = texts(sql);
        assertThat(texts).as(sql).hasSize(1);
        return texts.get(0);
    }

    /** The one value of a query as a number. */
    public long number(String sql) throws SQLException {
        return Long.parseLong(text(sql));
    }

    /** The first column of a query as numbers. */
    public List<Long> numbers(String sql) throws SQLException {
        return texts(sql).stream().map(SqlFixture::parsed).toList();
    }

    /** The same in the caller's transaction. */
    public static List<Long> numbers(Connection connection, String sql) throws SQLException {
        return texts(connection, sql).stream().map(SqlFixture::parsed).toList();
    }

    private static @Nullable Long parsed(@Nullable String text) {
        return text == null ? null : Long.valueOf(text);
    }

    /** A connection as the schema's owner, with auto-commit off. The caller closes it. */
    public Connection connect() throws SQLException {
        Connection connection = KeptConnections.lend(database());
        connection.setAutoCommit(false);
        return connection;
    }

    /** Removes, as the owner, what a project that has moved has left. */
    public void removeLeft(UUID projectId) throws SQLException {
        String remove = "select annals.remove_left('" + projectId + "', 700)";
        try (Connection owner = database().connect()) {
            while (numbers(owner, remove).get(0) > 0) {
                // Removed in steps.
            }
        }
    }

    /** Runs statements as a role, in one transaction: {@code done}, or the SQLSTATE of the first that fails. */
    public String as(String role, String... statements) throws SQLException {
        try (Connection connection = connect()) {
            execute(connection, "set role " + role);
            try {
                for (String sql : statements) {
                    execute(connection, sql);
                }
                connection.commit();
                return "done";
            } catch (SQLException e) {
                connection.rollback();
                return e.getSQLState();
            }
        }
    }

    /** A connection as the role that plain SQL writers have. */
    public Connection connectAsWriter() throws SQLException {
        Connection connection = connect();
        try (Statement statement = connection.createStatement()) {
            statement.execute("set role annals_writer");
            connection.commit();
        }
        return connection;
    }

    /**
     * Inserts records as plain SQL writers do, in one transaction.
     *
     * @param actionAndMessage two expressions, in which {@code n} is the number of the record
     */
    public void insertAsWriter(UUID project, String actionAndMessage, int count) throws SQLException {
        try (Connection connection = connectAsWriter();
                PreparedStatement insert = connection.prepareStatement(
                        "insert into annals.audit_record (project_id, action, message) select ?, " + actionAndMessage
                                + " from generate_series(1, ?) n")) {
            insert.setObject(1, project);
            insert.setInt(2, count);
            insert.executeUpdate();
            connection.commit();
        }
    }

    /** Counts the transactions that wait for the lock of a feed: the first one holds the tuple lock, the others wait for it. */
    public static final String WAITING_COMMITS = """
            select count(distinct pid) from pg_locks join pg_database d on d.oid = database and datname = current_database()
            where locktype = 'tuple' and relation = 'annals.project'::regclass
            """;

    /** Takes the lock of a feed, as only the schema's owner can, until the connection's transaction ends. */
    public static void lockFeed(Connection owner, UUID projectId) throws SQLException {
        try (PreparedStatement lock =
                owner.prepareStatement("select from annals.project where id = ? for no key update")) {
            lock.setObject(1, projectId);
            lock.execute();
        }
    }

    /** Appends one record by plain SQL, in the caller's transaction, and returns its id. */
    public static UUID insert(Connection connection, UUID projectId, String action) throws SQLException {
        UUID id = UUID.randomUUID();
        try (PreparedStatement insert = connection.prepareStatement(
                "insert into annals.audit_record (project_id, id, action) values (?, ?, ?)")) {
            insert.setObject(1, projectId);
            insert.setObject(2, id);
            insert.setString(3, action);
            insert.executeUpdate();
        }
        return id;
    }

    /** The record ids of a feed in their order, read from the view. */
    public List<UUID> feed(UUID projectId) throws SQLException {
        return texts("select id from annals.feed where project_id = '" + projectId + "' order by sequence_id").stream()
                .map(UUID::fromString)
                .toList();
    }

    /**
     * Checks a whole feed: sequence ids 1 … n without gap or duplicate, every record in it once, and the way from a
     * record to its sequence id.
     *
     * @return n
     */
    public long checkFeed(UUID projectId) throws SQLException {
        return query(connection -> checkFeed(connection, projectId));
    }

    private static long checkFeed(Connection connection, UUID projectId) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement("""
                        select count(*), count(distinct sequence_id), coalesce(min(sequence_id), 1), coalesce(max(sequence_id), 0),
                          count(distinct id),
                          (select count(*) from annals.audit_record where project_id = f.project_id),
                          count(*) filter (where sequence_id is distinct from
                            (select annals.sequence_id(r.project_id, r.id, r.placed_with) from annals.audit_record r
                             where r.project_id = f.project_id and r.id = f.id))
                        from annals.feed f where project_id = ? group by project_id
                        """)) {
            select.setObject(1, projectId);
            try (ResultSet row = select.executeQuery()) {
                if (!row.next()) {
                    assertThat(recordsOf(connection, projectId))
                            .as("records without a place")
                            .isZero();
                    return 0;
                }
                long records = row.getLong(1);
                assertThat(row.getLong(2)).as("distinct sequence ids").isEqualTo(records);
                assertThat(row.getLong(3)).as("first sequence id").isEqualTo(1);
                assertThat(row.getLong(4)).as("last sequence id").isEqualTo(records);
                assertThat(row.getLong(5)).as("distinct records").isEqualTo(records);
                assertThat(row.getLong(6)).as("records stored").isEqualTo(records);
                assertThat(row.getLong(7))
                        .as("records whose sequence id is found wrongly")
                        .isZero();
                return records;
            }
        }
    }

    private static long recordsOf(Connection connection, UUID projectId) throws SQLException {
        try (PreparedStatement count =
                connection.prepareStatement("select count(*) from annals.audit_record where project_id = ?")) {
            count.setObject(1, projectId);
            try (ResultSet row = count.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        }
    }
}
