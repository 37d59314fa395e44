package dev.annals.tools.ops;

import dev.annals.derived.proof.MasterKey;
import dev.annals.edges.delivery.SinkSecrets;
import dev.annals.kernel.database.Sql;
import dev.annals.proof.Checkpoint;
import dev.annals.proof.Note;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Compares copies of the keys, which no database contains, with what a database says was made with them. */
final class KeyCopies {

    private static final Sql READ_SIGNED_LOGS = Sql.named("tools/ops/read_signed_logs");
    private static final Sql READ_STREAM_SECRETS = Sql.named("tools/ops/read_stream_secrets");
    private static final int MAX_FILE_BYTES = 1_024;

    private KeyCopies() {}

    /**
     * A comparison.
     *
     * @param things all logs that have signed, or all streams with a secret
     * @param unopened those of another key; without a key, all
     * @param first the name of an unopened one, or null
     */
    record Fit(long things, long unopened, @Nullable String first) {}

    /** @throws IllegalArgumentException if the file has no log key */
    static MasterKey readLogKey(Path file) {
        return MasterKey.parse(text(file));
    }

    private static String text(Path file) {
        try {
            if (Files.size(file) <= MAX_FILE_BYTES) {
                return Files.readString(file);
            }
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "The file " + file + " cannot be read (" + e.getClass().getSimpleName() + ").", e);
        }
        throw new IllegalArgumentException("The file " + file + " is too long for a key.");
    }

    /** @param key the copy; null for none */
    static Fit logs(Connection connection, @Nullable MasterKey key) throws SQLException {
        long logs = 0;
        long unopened = 0;
        String first = null;
        try (PreparedStatement select = connection.prepareStatement(READ_SIGNED_LOGS.text());
                ResultSet rows = select.executeQuery()) {
            while (rows.next()) {
                logs++;
                if (key == null || !signed(key, rows.getString("checkpoint"))) {
                    unopened++;
                    first = first == null ? rows.getString("name") : first;
                }
            }
        }
        return new Fit(logs, unopened, first);
    }

    private static boolean signed(MasterKey key, String note) {
        try {
            String origin = Checkpoint.of(Note.parse(note)).origin();
            Checkpoint.open(note, List.of(key.of(origin).verifier()));
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /** @param copy a file with the copy; null for none */
    static Fit streams(Connection connection, @Nullable Path copy) throws SQLException {
        SinkSecrets key = copy == null ? null : SinkSecrets.ofFile(copy);
        long streams = 0;
        long unopened = 0;
        String first = null;
        try (PreparedStatement select = connection.prepareStatement(READ_STREAM_SECRETS.text());
                ResultSet rows = select.executeQuery()) {
            while (rows.next()) {
                streams++;
                if (key == null
                        || !key.opens(
                                rows.getObject("project_id", UUID.class),
                                rows.getObject("id", UUID.class),
                                rows.getBytes("secret"))) {
                    unopened++;
                    first = first == null ? rows.getString("name") : first;
                }
            }
        }
        return new Fit(streams, unopened, first);
    }
}
