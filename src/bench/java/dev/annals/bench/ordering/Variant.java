package dev.annals.bench.ordering;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.NumberedStatement;
import dev.annals.bench.RecordColumns;
import dev.annals.bench.SampleRecords;
import dev.annals.core.append.AppendBinds;
import dev.annals.core.record.AuditRecord;
import dev.annals.kernel.guid.SequentialGuid;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;

/** A way to keep records, with or without order: a schema, a role, and the statement that inserts. */
public enum Variant {
    UNORDERED("unordered identity column: the limit", "identity", "", false),
    PUBLISHED("published trigger: one lock, UPDATE per row", "published_trigger", "", false),
    LOCK_PER_PROJECT("lock per project, UPDATE per row", "lock_per_project", "", false),
    POSITION_ROW("lock per project, insert-only position row per record", "position_row", "", false),
    ANNALS("**Annals, as the service writes**", "annals", "annals_service", true),
    ANNALS_PLAIN_SQL("**Annals, plain SQL**", "annals", "annals_writer", false);

    private static final SequentialGuid GUIDS = new SequentialGuid();

    private final String title;
    private final String schema;
    private final String role;
    private final boolean asTheService;

    Variant(String title, String schema, String role, boolean asTheService) {
        this.title = title;
        this.schema = schema;
        this.role = role;
        this.asTheService = asTheService;
    }

    /** The schema in which its tables are. */
    public String schema() {
        return schema;
    }

    /** Whether its tables are those of Annals. */
    public boolean isAnnals() {
        return schema.equals("annals");
    }

    /** Makes its schema. Annals' own must be there. */
    public void create(BenchDatabase database) throws SQLException {
        if (!isAnnals()) {
            database.execute("drop schema if exists " + schema + " cascade; create schema " + schema
                    + "; set search_path = " + schema + ";\n" + NumberedStatement.resource("record_table.sql")
                    + NumberedStatement.resource(schema + ".sql"));
        }
    }

    /** Deletes all records, although the schema refuses deletions. */
    public void empty(BenchDatabase database) throws SQLException {
        String tables = isAnnals()
                ? "annals.audit_record, annals.append, annals.feed_segment"
                : this == POSITION_ROW
                        ? "position_row.audit_record, position_row.feed_position"
                        : schema + ".audit_record";
        database.execute("set session_replication_role = replica; truncate " + tables);
    }

    /** A connection that inserts as this variant's writers do. The caller closes it. */
    public Connection connect(BenchDatabase database, String settings) throws SQLException {
        Connection connection = database.connect();
        BenchDatabase.execute(connection, settings + "; set search_path = " + schema + ", public");
        if (!role.isEmpty()) {
            BenchDatabase.execute(connection, "set role " + role);
        }
        return connection;
    }

    /** The options with which a program of PostgreSQL's starts sessions that insert as this variant's writers do. */
    String sessionOptions() {
        return "-c search_path=" + schema + ",public" + (role.isEmpty() ? "" : " -c role=" + role);
    }

    /** The statement that inserts so many records. */
    NumberedStatement insert(int rows) {
        return new NumberedStatement(
                asTheService
                        ? AppendBinds.statement(new SampleRecords(0, GUIDS).next(rows), GUIDS)
                        : RecordColumns.insert(rows));
    }

    /** The values of {@link #insert}. */
    List<Object> binds(UUID projectId, List<AuditRecord> records) {
        return asTheService ? AppendBinds.of(projectId, records, GUIDS) : RecordColumns.of(projectId, records);
    }

    @Override
    public String toString() {
        return title;
    }
}
