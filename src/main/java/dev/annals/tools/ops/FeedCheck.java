package dev.annals.tools.ops;

import dev.annals.kernel.database.Sql;
import dev.annals.proof.Checkpoint;
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

/** Looks for what breaks one project's feed, or a stretch of it. */
final class FeedCheck {

    private static final Sql CHOOSE_CHECK_PLAN = Sql.named("tools/ops/choose_check_plan");
    private static final Sql VERIFY_PROJECT = Sql.named("tools/ops/verify_project");
    private static final int FETCHED_ROWS = 200;
    /** A feed of so few places is checked sooner than a plan is made for it. */
    private static final int FEW_PLACES = 1_000;

    /**
     * The joins read whole tables, or a stretch of them; compiling them takes longer. Times and names show in the expressions of the
     * schema.
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

    /** @param findings how many to print of each kind of reading; what is beyond may be counted, or not be looked for */
    FeedCheck(Connection connection, UUID projectId, int findings, Consumer<String> print, Progress progress) {
        this.connection = connection;
        this.projectId = projectId;
        this.findings = findings;
        this.print = print;
        this.progress = progress;
    }

    /**
     * What is looked at: the records behind one and up to another, in whole appends.
     *
     * @param since the sequence id before the first
     * @param through the last; null: the feed's
     */
    record Stretch(long since, @Nullable Long through) {

        static final Stretch WHOLE = new Stretch(0, null);

        boolean whole() {
            return since == 0 && through == null;
        }
    }

    /** Begins to read, all of it as of one moment. */
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
     * Whether places follow each other, belong to records, and records to places; and whether what is derived has all of it.
     *
     * @return how many findings there were
     */
    int places(Stretch stretch) throws SQLException {
        progress.show(projectId + ": places");
        choosePlan(stretch);
        int found = 0;
        try (PreparedStatement select = VERIFY_PROJECT
                .bind("project_id", projectId)
                .bind("whole", stretch.whole())
                .bind("since", stretch.since())
                .bind("through", stretch.through())
                .bind("most", findings + 1L)
                .prepare(connection)) {
            // With auto-commit off, the driver fetches as it is read, and not all at once. But what is fetched in parts
            // PostgreSQL reads with one process.
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

    private void choosePlan(Stretch stretch) throws SQLException {
        try (PreparedStatement choose = CHOOSE_CHECK_PLAN
                .bind("project_id", projectId)
                .bind("whole", stretch.whole())
                .bind("few", FEW_PLACES)
                .prepare(connection)) {
            choose.execute();
        }
    }

    /** Whether records are as their log has taken them in, by what the database itself says of the log. */
    int records(Stretch stretch) throws SQLException {
        RestoredArchive archive = RestoredArchive.find(connection, projectId);
        if (archive != null) {
            // Nothing is stored of its parts: the first stretch has it compared as a whole.
            return stretch.since() <= archive.before().end() ? compare(archive, archive.signed()) : 0;
        }
        Checkpoint stored = SignedRecords.stored(connection, projectId);
        if (stored == null) {
            return 0;
        }
        SignedRecords records = new SignedRecords(connection, projectId, stored, progress);
        return stretch.whole()
                ? records.compare(findings, print)
                : records.compare(stretch.since(), stretch.through(), findings, print);
    }

    /** Whether records are as their log has taken them in, by a checkpoint that somebody has kept. */
    int records(Checkpoint signed) throws SQLException {
        RestoredArchive archive = RestoredArchive.find(connection, projectId);
        if (archive != null && archive.signed().size() != signed.size()) {
            print.accept("this is a restored archive: of the log, it knows what was signed with "
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
