package dev.annals.bench.search;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.NumberedStatement;
import dev.annals.bench.Progress;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.UUID;

/**
 * A project with many records, in its own database. Steps that are done are not repeated, so an interrupted run can continue. The
 * database stores the time of each step.
 */
final class SearchFeed {

    private static final String PROJECT = "search";
    private static final int STATEMENT = 50_000;
    private static final int TRANSACTION = 4 * STATEMENT;
    private static final int PROGRESS = 1_048_576;

    private static final NumberedStatement INSERT = NumberedStatement.ofResource("search_records.sql");

    private final BenchDatabase database;
    private final UUID project;

    /** The records and the time of a step, over all runs. */
    record Step(long records, double seconds) {

        double rate() {
            return records / seconds;
        }
    }

    SearchFeed(BenchDatabase database) throws SQLException {
        this.database = database;
        database.migrate();
        database.execute("create table if not exists public.bench_step"
                + " (step text not null, records bigint not null, seconds double precision not null)");
        if (database.queryLong("select count(*) from annals.project where name = '" + PROJECT + "'") == 0) {
            database.execute("select annals.create_project(id => gen_random_uuid(), name => '" + PROJECT + "')");
        }
        try (Connection connection = database.connect();
                PreparedStatement select =
                        connection.prepareStatement("select id from annals.project where name = ?")) {
            select.setString(1, PROJECT);
            try (ResultSet row = select.executeQuery()) {
                row.next();
                project = row.getObject(1, UUID.class);
            }
        }
    }

    UUID project() {
        return project;
    }

    /** Inserts records of a project; see {@code search_records.sql}. */
    static void insert(Connection connection, UUID project, int first, int last, int batch) throws SQLException {
        try (PreparedStatement insert = INSERT.prepare(connection)) {
            for (int from = first; from <= last; from += batch) {
                INSERT.bind(insert, List.of(project, from, Math.min(last, from + batch - 1)));
                insert.executeUpdate();
            }
        }
    }

    /** Writes the records that are missing, in transactions of 200,000. */
    void load(int records) throws SQLException {
        long there = database.queryLong(
                "select coalesce(max(last_sequence_id), 0) from annals.feed_segment where project_id = '" + project
                        + "'");
        long begin = System.nanoTime();
        try (Connection connection = database.connect()) {
            connection.setAutoCommit(false);
            BenchDatabase.execute(connection, "set synchronous_commit = off");
            for (long from = there + 1; from <= records; from += TRANSACTION) {
                insert(
                        connection,
                        project,
                        Math.toIntExact(from),
                        Math.toIntExact(Math.min(records, from + TRANSACTION - 1)),
                        STATEMENT);
                connection.commit();
                if ((from - 1) / PROGRESS != (from + TRANSACTION - 1) / PROGRESS) {
                    Progress.say(String.format("  %,d records", from + TRANSACTION - 1));
                }
            }
        }
        if (records > there) {
            note("load", records - there, begin);
            database.execute("vacuum analyze annals.audit_record, annals.append, annals.feed_segment");
        }
    }

    /** Writes the blocks of the index that are missing, by the service's projection, as it would: one after the other. */
    void index(SearchPages pages) throws SQLException {
        long there = database.queryLong(
                "select coalesce(max(block) + 1, 0) * 1024 from annals.search_block where project_id = '" + project
                        + "'");
        long begin = System.nanoTime();
        long noted = there;
        long through = there;
        for (long next = pages.index(project, through); next > through; next = pages.index(project, through)) {
            if (through / PROGRESS != next / PROGRESS) {
                Progress.say(String.format(
                        "  %,d records indexed, %,.0f per second",
                        next, (next - noted) * 1e9 / (System.nanoTime() - begin)));
                // A run that is ended has noted what it did.
                note("index", next - noted, begin);
                noted = next;
                begin = System.nanoTime();
            }
            through = next;
        }
        if (through > noted) {
            note("index", through - noted, begin);
        }
        database.execute(String.format(
                "insert into annals.projection_checkpoint (project_id, projection, sequence_id, generation, mark)"
                        + " values ('%s', 'search', %d, 1, annals.search_mark())"
                        + " on conflict (project_id, projection) do update set sequence_id = excluded.sequence_id",
                project, through));
        if (through > there) {
            database.execute("vacuum analyze annals.search_block");
        }
    }

    /** Makes what a statement makes, unless that was done before. */
    void once(String step, long records, String statement) throws SQLException {
        if (database.queryLong("select count(*) from public.bench_step where step = '" + step + "'") == 0) {
            Progress.say("  " + step);
            long begin = System.nanoTime();
            try (Connection connection = database.connect()) {
                BenchDatabase.execute(connection, "set statement_timeout = 0");
                BenchDatabase.execute(connection, "set maintenance_work_mem = '512MB'");
                BenchDatabase.execute(connection, statement);
            }
            note(step, records, begin);
        }
    }

    void note(String step, long records, long begin) throws SQLException {
        database.execute(String.format(
                "insert into public.bench_step values ('%s', %d, %f)",
                step, records, (System.nanoTime() - begin) / 1e9));
    }

    /** Questions about what its records have. */
    Question.Draw draw(int records, int samples) throws SQLException {
        Random random = new Random(0);
        Integer[] numbers = new Integer[samples];
        Arrays.setAll(numbers, i -> random.nextInt(1, records + 1));
        List<Question.Sample> drawn = new ArrayList<>();
        try (Connection connection = database.connect();
                PreparedStatement select = connection.prepareStatement("""
                        select (metadata ->> 'request_id') as request_id, subject_id, host(ip_address) as address
                        from unnest(?::integer[]) as n
                        cross join lateral annals.places(?, n, n) as place
                        cross join lateral (
                          select * from annals.audit_record where project_id = ? and id = place.record_id offset 0) as r""")) {
            select.setArray(1, connection.createArrayOf("int4", numbers));
            select.setObject(2, project);
            select.setObject(3, project);
            try (ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    drawn.add(new Question.Sample(
                            row.getString("request_id"), row.getString("subject_id"), row.getString("address")));
                }
            }
        }
        return new Question.Draw(random, records, drawn);
    }

    /** The records and the time of a step so far. */
    Step step(String step) throws SQLException {
        try (Connection connection = database.connect();
                PreparedStatement select = connection.prepareStatement(
                        "select coalesce(sum(records), 0), coalesce(sum(seconds), 0) from public.bench_step"
                                + " where step = ?")) {
            select.setString(1, step);
            try (ResultSet row = select.executeQuery()) {
                row.next();
                return new Step(row.getLong(1), row.getDouble(2));
            }
        }
    }
}
