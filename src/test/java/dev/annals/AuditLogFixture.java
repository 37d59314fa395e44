package dev.annals;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.contract.ContractFilter;
import dev.annals.embedded.TestDatabase;
import io.restassured.specification.RequestSpecification;
import jakarta.enterprise.context.ApplicationScoped;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;

/** Projects and tokens for tests, connections to the database beside the service, and the check of whole feeds. */
@ApplicationScoped
public class AuditLogFixture {

    /** The admin token that the tests configure. */
    public static final String ADMIN_TOKEN = "annals_admin_token_of_the_tests";

    /** Where one record is appended, and where pages are read. */
    public static final String LOGS = "/v1/project-logs";
    /** Where batches are appended. */
    public static final String BATCH = LOGS + "/batch";
    /** Where NDJSON is appended. */
    public static final String IMPORT = LOGS + "/import";

    private static final AtomicInteger PROJECTS = new AtomicInteger();

    /** A project of a test's own, with a token for it. */
    public record Project(UUID id, String token) {

        /** A request with this project's token, as a client should send it: it is held against the contract, too. */
        public RequestSpecification request() {
            return wrongRequest().filter(ContractFilter.ofRequestsAndAnswers());
        }

        /** A request with this project's token that may be wrong on purpose. The links of a page go out as they are. */
        public RequestSpecification wrongRequest() {
            return given().urlEncodingEnabled(false).header("Authorization", "Bearer " + token);
        }
    }

    /** A batch of these records, each given as its JSON. */
    public static String batch(String... records) {
        return "{\"records\": [" + String.join(", ", records) + "]}";
    }

    /** The path that takes this JSON, a batch or a single record. */
    public static String pathOf(String body) {
        return body.startsWith("{\"records\"") ? BATCH : LOGS;
    }

    /** Makes a project and a read-write token by way of the API. */
    public Project newProject() {
        return newProject("read", "write", "sequence");
    }

    /** Makes a project and a token with these scopes by way of the API. */
    public Project newProject(String... scopes) {
        String name = "project " + PROJECTS.incrementAndGet() + " " + UUID.randomUUID();
        UUID id = UUID.fromString(given().auth()
                .oauth2(ADMIN_TOKEN)
                .contentType("application/json")
                .body("{\"name\": \"" + name + "\"}")
                .post("/v1/projects")
                .then()
                .statusCode(201)
                .extract()
                .path("id"));
        return new Project(id, newToken(id, scopes));
    }

    /** Makes a token for a project by way of the API. */
    public String newToken(UUID projectId, String... scopes) {
        return given().auth()
                .oauth2(ADMIN_TOKEN)
                .contentType("application/json")
                .body("{\"scopes\": [\"" + String.join("\", \"", scopes) + "\"]}")
                .post("/v1/projects/" + projectId + "/tokens")
                .then()
                .statusCode(201)
                .extract()
                .path("token");
    }

    /** A connection as the schema's owner, with auto-commit off. The caller closes it. */
    public Connection connect() throws SQLException {
        Connection connection = TestDatabase.url().connect();
        connection.setAutoCommit(false);
        return connection;
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

    /** How many transactions wait for the lock of a feed: the first of them holds the tuple lock, the others await it. */
    public static final String WAITING_COMMITS =
            "select count(distinct pid) from pg_locks where locktype = 'tuple' and relation = 'annals.project'::regclass";

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
        List<UUID> ids = new ArrayList<>();
        try (Connection connection = connect();
                PreparedStatement select = connection.prepareStatement(
                        "select id from annals.feed where project_id = ? order by sequence_id")) {
            select.setObject(1, projectId);
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    ids.add(rows.getObject(1, UUID.class));
                }
            }
            connection.rollback();
        }
        return ids;
    }

    /**
     * Checks a whole feed: sequence ids 1 … n without gap or duplicate, every record in it once, and the way from a
     * record to its sequence id.
     *
     * @return n
     */
    public long checkFeed(UUID projectId) throws SQLException {
        try (Connection connection = connect();
                PreparedStatement select = connection.prepareStatement("""
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
