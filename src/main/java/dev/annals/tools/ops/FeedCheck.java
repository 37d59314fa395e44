package dev.annals.tools.ops;

import dev.annals.kernel.database.Sql;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Note;
import dev.annals.tools.command.Progress;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Checks a project's feed, or a part of it. */
final class FeedCheck {

    private static final Sql CHOOSE_CHECK_PLAN = Sql.named("tools/ops/choose_check_plan");
    private static final Sql VERIFY_PROJECT = Sql.named("tools/ops/verify_project");
    private static final int FETCHED_ROWS = 200;
    /** A feed with so few places needs no plan for large tables. */
    private static final int FEW_PLACES = 1_000;

    /**
     * The joins read large parts of tables; compiling them would take longer. Time zone and search path appear in the schema's
     * expressions.
     */
    private static final List<String> SETTINGS = List.of(
            "work_mem = '64MB'",
            "jit = off",
            "enable_hashjoin = on",
            "enable_mergejoin = on",
            "timezone = 'UTC'",
            "search_path = pg_catalog");

    private final Connection connection;
    private final UUID projectId;
    private final int findings;
    private final Consumer<String> print;
    private final Progress progress;

    /** @param findings the number to print for each kind of check; more may be counted, or left out */
    FeedCheck(Connection connection, UUID projectId, int findings, Consumer<String> print, Progress progress) {
        this.connection = connection;
        this.projectId = projectId;
        this.findings = findings;
        this.print = print;
        this.progress = progress;
    }

    /**
     * The records to check, in whole appends.
     *
     * @param since the sequence id before the first
     * @param through the last sequence id; null for the end of the feed
     */
    record Range(long since, @Nullable Long through) {

        static final Range WHOLE = new Range(0, null);

        boolean whole() {
            return since == 0 && through == null;
        }
    }

    /**
     * A project that is a restored archive.
     *
     * @param signed the checkpoint of the original log
     * @param before the tree of the log's records before them
     * @param behind the tree of the log's records after them
     */
    private record RestoredArchive(Checkpoint signed, CompactRange before, CompactRange behind) {

        private static final Sql FIND_RESTORED_ARCHIVE = Sql.named("tools/ops/find_restored_archive");

        /** The restored archive that a project is; null if it is none. */
        static @Nullable RestoredArchive find(Connection connection, UUID projectId) throws SQLException {
            try (PreparedStatement select =
                            FIND_RESTORED_ARCHIVE.bind("project_id", projectId).prepare(connection);
                    ResultSet row = select.executeQuery()) {
                if (!row.next()) {
                    return null;
                }
                Checkpoint signed = Checkpoint.of(Note.parse(row.getString("checkpoint")));
                return new RestoredArchive(
                        signed,
                        CompactRange.of(0, row.getLong("first_sequence_id") - 1, row.getBytes("left_hashes")),
                        CompactRange.of(row.getLong("last_sequence_id"), signed.size(), row.getBytes("right_hashes")));
            }
        }
    }

    /** Begins a transaction that reads everything as of one moment. */
    static void begin(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement begin = connection.createStatement()) {
            begin.execute("set transaction isolation level repeatable read, read only");
            for (String setting : SETTINGS) {
                begin.execute("set local " + setting);
            }
        }
    }

    /**
     * Checks that places are consecutive, that places and records belong to each other, and that derived tables are complete.
     *
     * @return the number of findings
     */
    int places(Range range) throws SQLException {
        progress.show(projectId + ": places");
        choosePlan(range);
        int found = 0;
        try (PreparedStatement select = VERIFY_PROJECT
                .bind("project_id", projectId)
                .bind("whole", range.whole())
                .bind("since", range.since())
                .bind("through", range.through())
                .bind("most", findings + 1L)
                .prepare(connection)) {
            // With a fetch size the driver reads in parts, and PostgreSQL uses one process. Without, it reads all at
            // once.
            select.setFetchSize(findings < FETCHED_ROWS ? 0 : FETCHED_ROWS);
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    if (found == findings) {
                        print.accept("and more; see --findings");
                        break;
                    }
                    print.accept(rows.getString("finding"));
                    found++;
                }
            }
        }
        return found;
    }

    private void choosePlan(Range range) throws SQLException {
        try (PreparedStatement choose = CHOOSE_CHECK_PLAN
                .bind("project_id", projectId)
                .bind("whole", range.whole())
                .bind("few", FEW_PLACES)
                .prepare(connection)) {
            choose.execute();
        }
    }

    /** Compares records with their log, by the tree in the database. */
    int records(Range range) throws SQLException {
        RestoredArchive archive = RestoredArchive.find(connection, projectId);
        if (archive != null) {
            // Its parts have no hashes: the first part compares all of it.
            return range.since() <= archive.before().end() ? compare(archive, archive.signed()) : 0;
        }
        Checkpoint stored = SignedRecords.stored(connection, projectId);
        if (stored == null) {
            return 0;
        }
        SignedRecords records = new SignedRecords(connection, projectId, stored, progress);
        return range.whole()
                ? records.compare(findings, print)
                : records.compare(range.since(), range.through(), findings, print);
    }

    /** Compares records with their log, by a checkpoint that a reader has kept. */
    int records(Checkpoint signed) throws SQLException {
        RestoredArchive archive = RestoredArchive.find(connection, projectId);
        if (archive != null && archive.signed().size() != signed.size()) {
            print.accept("this is a restored archive: it knows the checkpoint of the log with "
                    + archive.signed().size() + " records, and not with " + signed.size());
            return 1;
        }
        return archive != null
                ? compare(archive, signed)
                : new SignedRecords(connection, projectId, signed, progress).compare(findings, print);
    }

    private int compare(RestoredArchive archive, Checkpoint signed) throws SQLException {
        return new SignedRecords(connection, projectId, signed, progress)
                .compareArchive(archive.before(), archive.behind(), findings, print);
    }
}
