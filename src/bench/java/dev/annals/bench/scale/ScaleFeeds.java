package dev.annals.bench.scale;

import dev.annals.access.tokens.DrawnToken;
import dev.annals.bench.BenchDatabase;
import dev.annals.bench.NumberedStatement;
import dev.annals.bench.Progress;
import java.security.SecureRandom;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Projects and records that become more and more: a large project, a hundred busy ones, and very many small ones. Records go through
 * the schema's own triggers, as those of any writer of plain SQL.
 */
final class ScaleFeeds {

    static final int BUSY = 100;
    /** The large project and the busy ones. */
    private static final int NOT_SMALL = BUSY + 1;
    /** The large project's share of the records that the small projects leave. */
    private static final double LARGE_PART = 5 / 8.0;

    private static final int STATEMENT = 50_000;
    private static final int PROJECTS_AT_ONCE = 2_500;
    /** The records that a small project gets per turn. Its records lie apart, because the others have their turns between. */
    private static final int TURN = 4;

    private static final int PROGRESS = 1_000_000;

    private static final NumberedStatement ADD_PROJECTS = NumberedStatement.ofResource("scale_projects.sql");
    private static final NumberedStatement INSERT = NumberedStatement.ofResource("scale_records.sql");
    private static final NumberedStatement BEHIND = NumberedStatement.ofResource("scale_behind.sql");
    private static final NumberedStatement HEADS = NumberedStatement.ofResource("scale_heads.sql");

    private final BenchDatabase database;
    private final int recordsOfSmall;
    private final SecureRandom random = new SecureRandom();
    /** The busy ones, the large one, and then the small ones. */
    private final List<UUID> projects = new ArrayList<>();

    private final List<String> tokens = new ArrayList<>();
    private int recordsOfLarge;
    private int recordsOfBusy;

    /** @param recordsOfSmall how many records each small project gets */
    ScaleFeeds(BenchDatabase database, int recordsOfSmall) {
        this.database = database;
        this.recordsOfSmall = recordsOfSmall;
    }

    /** A token for each project, those of the busy ones first. */
    List<String> tokens() {
        return tokens;
    }

    List<UUID> small() {
        return projects.subList(NOT_SMALL, projects.size());
    }

    List<String> tokensOfSmall() {
        return tokens.subList(NOT_SMALL, tokens.size());
    }

    String tokenOfLarge() {
        return tokens.get(BUSY);
    }

    int recordsOfLarge() {
        return recordsOfLarge;
    }

    /** The number of records, including those of the administration. */
    long records() throws SQLException {
        try (Connection connection = database.connect();
                PreparedStatement select = HEADS.prepare(connection);
                ResultSet row = select.executeQuery()) {
            row.next();
            return row.getLong(1);
        }
    }

    /** Adds projects and records until there are so many. */
    void growTo(int projectCount, long recordCount) throws Exception {
        int before = Math.max(NOT_SMALL, projects.size());
        addProjects(projectCount - projects.size());
        database.execute("analyze");
        List<UUID> added = projects.subList(before, projects.size());
        long rest = Math.max(0, recordCount - records() - (long) added.size() * recordsOfSmall);
        AtomicLong written = new AtomicLong();
        ExecutorService writers = Executors.newFixedThreadPool(2);
        try {
            List<Future<Void>> ends = List.of(
                    writers.submit(write(connection -> insertSingly(connection, added, written))),
                    writers.submit(write(connection -> insertBatches(connection, rest, written))));
            for (Future<Void> end : ends) {
                end.get();
            }
        } finally {
            writers.shutdownNow();
        }
        database.execute("analyze");
    }

    private void addProjects(int count) throws SQLException {
        try (Connection connection = database.connect();
                PreparedStatement add = ADD_PROJECTS.prepare(connection)) {
            for (int left = count; left > 0; left -= PROJECTS_AT_ONCE) {
                UUID[] ids = new UUID[Math.min(left, PROJECTS_AT_ONCE)];
                String[] hashes = new String[ids.length];
                for (int i = 0; i < ids.length; i++) {
                    DrawnToken token = DrawnToken.draw(random);
                    ids[i] = UUID.randomUUID();
                    hashes[i] = token.hash();
                    projects.add(ids[i]);
                    tokens.add(token.text());
                }
                ADD_PROJECTS.bind(add, List.of(ids, hashes));
                add.execute();
            }
        }
    }

    @FunctionalInterface
    private interface Writer {
        void write(Connection connection) throws SQLException;
    }

    private Callable<Void> write(Writer writer) {
        return () -> {
            try (Connection connection = database.connect()) {
                BenchDatabase.execute(connection, "set synchronous_commit = off");
                writer.write(connection);
            }
            return null;
        };
    }

    private void insertSingly(Connection connection, List<UUID> small, AtomicLong written) throws SQLException {
        for (int first = 1; first <= recordsOfSmall; first += TURN) {
            int last = Math.min(recordsOfSmall, first + TURN - 1);
            for (int from = 0; from < small.size(); from += PROJECTS_AT_ONCE) {
                List<UUID> some = small.subList(from, Math.min(small.size(), from + PROJECTS_AT_ONCE));
                insert(connection, some, first, last, true, written);
            }
        }
    }

    private void insertBatches(Connection connection, long count, AtomicLong written) throws SQLException {
        int ofLarge = (int) (count * LARGE_PART);
        int ofBusy = (int) ((count - ofLarge) / BUSY);
        insertBatches(connection, projects.get(BUSY), recordsOfLarge, ofLarge, written);
        for (UUID busy : projects.subList(0, BUSY)) {
            insertBatches(connection, busy, recordsOfBusy, ofBusy, written);
        }
        recordsOfLarge += ofLarge;
        recordsOfBusy += ofBusy;
    }

    private static void insertBatches(Connection connection, UUID project, int before, int count, AtomicLong written)
            throws SQLException {
        for (int done = 0; done < count; done += STATEMENT) {
            int last = before + Math.min(count, done + STATEMENT);
            insert(connection, List.of(project), before + done + 1, last, false, written);
        }
    }

    private static void insert(
            Connection connection, List<UUID> some, int first, int last, boolean singly, AtomicLong written)
            throws SQLException {
        try (PreparedStatement insert = INSERT.prepare(connection)) {
            INSERT.bind(insert, List.of(some.toArray(UUID[]::new), first, last, singly));
            long inserted = insert.executeUpdate();
            long all = written.addAndGet(inserted);
            if (all / PROGRESS != (all - inserted) / PROGRESS) {
                Progress.say(String.format("  %,d records written", all));
            }
        }
    }

    /** Whether projections have records of these projects to take in. */
    boolean isBehind(List<UUID> some) throws SQLException {
        try (Connection connection = database.connect();
                PreparedStatement select = BEHIND.prepare(connection)) {
            BEHIND.bind(select, List.of((Object) some.toArray(UUID[]::new)));
            try (ResultSet row = select.executeQuery()) {
                row.next();
                return row.getBoolean(1);
            }
        }
    }

    /** The same of all projects. */
    boolean isBehind() throws SQLException {
        return isBehind(projects);
    }
}
