package dev.annals.tools.ops;

import dev.annals.kernel.database.Sql;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.CompactRange;
import dev.annals.proof.Note;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Records of an archive that were brought back, and what proves them.
 *
 * @param signed what the original log has signed, as the database says
 * @param before stands for the records of the log before them
 * @param behind stands for those behind them
 */
record RestoredArchive(Checkpoint signed, CompactRange before, CompactRange behind) {

    private static final Sql FIND_RESTORED_ARCHIVE = Sql.named("tools/ops/find_restored_archive");

    /** The one that a project is; null if it is none. */
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
