package dev.annals.bench.search;

import dev.annals.bench.BenchDatabase;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;

/** PostgreSQL alone: the same records by indexes on their columns, in the order of their timestamps. */
final class ColumnSearch implements AutoCloseable {

    /** The words of a message, as an index and a condition name them. */
    static final String TEXT = "to_tsvector('simple', coalesce(r.message, ''))";

    /** PostgreSQL's query_canceled. */
    private static final String CANCELLED = "57014";

    private static final String B_TREE = "create index %s on annals.audit_record (project_id, %s, \"timestamp\")";
    private static final String GIN = "create index %s on annals.audit_record using gin (%s)";

    /** By their names. */
    private static final Map<String, String> INDEXES = new LinkedHashMap<>();

    static {
        // Serves prefixes, too.
        INDEXES.put("bench_action", "b-tree action");
        INDEXES.put("bench_actor", "b-tree actor");
        INDEXES.put("bench_subject", "b-tree subject");
        INDEXES.put("bench_address", "b-tree address");
        INDEXES.put("bench_timestamp", "b-tree timestamp");
        INDEXES.put("bench_words", "GIN words");
        INDEXES.put("bench_metadata", "GIN metadata");
    }

    private final BenchDatabase database;
    private final UUID project;
    private final Connection connection;

    ColumnSearch(BenchDatabase database, UUID project, Duration limit) throws SQLException {
        this.database = database;
        this.project = project;
        connection = database.connect();
        BenchDatabase.execute(connection, "set statement_timeout = " + limit.toMillis());
        BenchDatabase.execute(connection, "set max_parallel_workers_per_gather = 0");
    }

    /** Makes the indexes that are missing. */
    static void makeIndexes(SearchFeed feed, int records) throws SQLException {
        for (Map.Entry<String, String> index : INDEXES.entrySet()) {
            feed.once(index.getValue(), records, statement(index.getKey()));
        }
        feed.once("analyze", records, "analyze annals.audit_record");
    }

    private static String statement(String index) {
        return switch (index) {
            case "bench_action" -> String.format(B_TREE, index, "action text_pattern_ops");
            case "bench_actor" -> String.format(B_TREE, index, "actor_id");
            case "bench_subject" -> String.format(B_TREE, index, "subject_id");
            case "bench_address" -> String.format(B_TREE, index, "ip_address");
            case "bench_timestamp" -> "create index bench_timestamp on annals.audit_record (project_id, \"timestamp\")";
            case "bench_words" -> String.format(GIN, index, TEXT.replace("r.", ""));
            case "bench_metadata" -> String.format(GIN, index, "metadata jsonb_path_ops");
            default -> throw new IllegalStateException(index);
        };
    }

    /** The total size of the indexes in bytes. */
    long bytes(String kind) throws SQLException {
        long bytes = 0;
        for (Map.Entry<String, String> index : INDEXES.entrySet()) {
            if (index.getValue().startsWith(kind)) {
                bytes += database.queryLong("select pg_relation_size('annals." + index.getKey() + "')");
            }
        }
        return bytes;
    }

    /** The time to build the indexes. */
    static double seconds(SearchFeed feed, String kind) throws SQLException {
        double seconds = 0;
        for (String step : INDEXES.values()) {
            seconds += step.startsWith(kind) ? feed.step(step).seconds() : 0;
        }
        return seconds;
    }

    SearchPages.Found find(boolean ascending, int wanted, Question question) throws SQLException {
        return count(String.format("""
                select r.* from annals.audit_record as r where r.project_id = '%s' and %s
                order by r."timestamp" %s limit %d""", project, question.condition(), ascending ? "" : "desc", wanted));
    }

    /** The same counts as facets have, of all values. */
    SearchPages.Found facets(Question question) throws SQLException {
        return count(String.format("""
                select r.action, r.actor_id, r.subject_id, r.outcome, r.ip_address, r.recorded_by_role,
                  date_trunc('hour', r."timestamp"), count(*)
                from annals.audit_record as r where r.project_id = '%s' and %s
                group by grouping sets ((1), (2), (3), (4), (5), (6), (7, 4), ())
                order by 8 desc limit 100""", project, question.condition()));
    }

    private SearchPages.Found count(String sql) throws SQLException {
        try (Statement select = connection.createStatement();
                ResultSet row = select.executeQuery(sql)) {
            int found = 0;
            while (row.next()) {
                found++;
            }
            return new SearchPages.Found(found, 1, true);
        } catch (SQLException e) {
            if (CANCELLED.equals(e.getSQLState())) {
                return new SearchPages.Found(0, 1, false);
            }
            throw e;
        }
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }
}
