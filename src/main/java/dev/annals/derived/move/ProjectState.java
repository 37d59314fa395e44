package dev.annals.derived.move;

import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.Sql;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What a project has besides its feed, in pages of rows. Both sides compute a digest of each table, and of the pages of tables that
 * differ: only other pages are copied.
 */
final class ProjectState {

    private static final Sql READ_DIGESTS = Sql.named("derived/move/read_digests");
    private static final Sql FIND_DIFFERENCES = Sql.named("derived/move/find_differences");
    private static final Sql READ_PAGE = Sql.named("derived/move/read_page");
    private static final Sql READ_DIGEST = Sql.named("derived/move/read_digest");
    private static final Sql READ_ROWS = Sql.named("derived/move/read_rows");
    private static final Sql TAKE_ROWS = Sql.named("derived/move/take_rows");
    private static final Sql READ_REST = Sql.named("derived/move/read_rest");
    private static final Sql TAKE_REST = Sql.named("derived/move/take_rest");

    private static final String DEAD_LETTERS = "stream_dead_letter";
    /** A saved view has at most 32 KiB. */
    private static final int ROWS = 500;
    /** At most 1.3 KB each. Their number has no limit. */
    private static final int SMALL_ROWS = 4_000;

    private final Connection source;
    private final Connection target;
    private final ProjectMove.Move move;

    ProjectState(Connection source, Connection target, ProjectMove.Move move) {
        this.source = source;
        this.target = target;
        this.move = move;
    }

    private record Differences(List<String> tables, List<String> parts) {}

    private static Differences differences(Connection target, UUID projectId, String digests) throws SQLException {
        return Jdbc.one(
                FIND_DIFFERENCES.bind("project_id", projectId).bind("digests", digests),
                target,
                row -> new Differences(List.of((String[]) row.getArray("tables").getArray()), List.of((String[])
                        row.getArray("parts").getArray())));
    }

    /** The names of all parts of a project that are not as the digests say. */
    static List<String> differing(Connection target, UUID projectId, String digests) throws SQLException {
        return differences(target, projectId, digests).parts();
    }

    /**
     * Copies what differs.
     *
     * @param name of the project, in home
     * @return the digests of all that moves, in the source before this
     */
    String copy(String name) throws SQLException {
        String digests = Jdbc.text(READ_DIGESTS.bind("project_id", move.projectId()), source, "digests");
        for (String table : differences(target, move.projectId(), digests).tables()) {
            copyTable(table);
        }
        String rest = Jdbc.text(READ_REST.bind("project_id", move.projectId()), source, "rest");
        Jdbc.run(
                TAKE_REST
                        .bind("project_id", move.projectId())
                        .bind("epoch", move.epoch())
                        .bind("name", name)
                        .bind("rest", rest),
                target);
        return digests;
    }

    /** @param through the key of the last row; null if the table ends before */
    private record Page(@Nullable String through, String digest) {}

    private void copyTable(String table) throws SQLException {
        @Nullable String after = null;
        do {
            Page page = Jdbc.one(
                    READ_PAGE
                            .bind("project_id", move.projectId())
                            .bind("table", table)
                            .bind("after", after)
                            .bind("most", table.equals(DEAD_LETTERS) ? SMALL_ROWS : ROWS),
                    source,
                    row -> new Page(row.getString("through"), row.getString("digest")));
            String arrived = Jdbc.text(range(READ_DIGEST, table, after, page.through), target, "digest");
            if (!arrived.equals(page.digest)) {
                String rows = Jdbc.text(range(READ_ROWS, table, after, page.through), source, "rows");
                Jdbc.run(
                        range(TAKE_ROWS, table, after, page.through)
                                .bind("epoch", move.epoch())
                                .bind("rows", rows),
                        target);
            }
            after = page.through;
        } while (after != null);
    }

    private Binds range(Sql sql, String table, @Nullable String after, @Nullable String through) {
        return sql.bind("project_id", move.projectId())
                .bind("table", table)
                .bind("after", after)
                .bind("through", through);
    }
}
