package dev.annals.client;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.client.model.AuditRecord;
import dev.annals.follower.PlaceFile;
import jakarta.annotation.Nullable;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * A copy of a feed in a file, one line per record (NDJSON). It holds every record once, in the feed's order, even if
 * the process or the machine dies.
 *
 * <p>Next to {@code records.ndjson} there is {@code records.ndjson.cursor}, with the number of bytes of the copy that
 * are valid, a space, and the cursor after them; the lines below are the log's newest checkpoint, if it is verified. The
 * file is replaced in one step once the records are on disk. Anything that a crash left after those bytes is cut off at
 * the next start.
 */
public final class FeedFile implements FeedFollower.VerifiedStore, Closeable {
    private final ObjectMapper json = ExactJson.mapper();
    private final FileChannel records;
    private final Path place;
    private long length;
    private String cursor;
    private String checkpoint;

    private FeedFile(FileChannel records, Path place, long length, String cursor, String checkpoint) {
        this.records = records;
        this.place = place;
        this.length = length;
        this.cursor = cursor;
        this.checkpoint = checkpoint;
    }

    /**
     * Opens a copy, or begins one if there is no file.
     *
     * @throws IOException also if another process writes to this copy, or if the file is not such a copy
     */
    public static FeedFile open(Path file) throws IOException {
        FileChannel records =
                FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
        try {
            FileLock lock = records.tryLock();
            if (lock == null) {
                throw new IOException("Another process writes " + file);
            }
            Path place = file.resolveSibling(file.getFileName() + ".cursor");
            String[] lines = (Files.exists(place) ? Files.readString(place) : "0").split("\n", 2);
            String[] said = lines[0].split(" ");
            FeedFile copy = new FeedFile(
                    records,
                    place,
                    Long.parseLong(said[0]),
                    said.length > 1 ? said[1] : "",
                    lines.length > 1 ? lines[1] : "");
            if (records.size() < copy.length || (!Files.exists(place) && records.size() > 0)) {
                throw new IOException(file + " does not belong to " + place + ". Restore both, or delete both.");
            }
            copy.keepPlace();
            records.truncate(copy.length);
            return copy;
        } catch (IOException | RuntimeException e) {
            records.close();
            throw e;
        }
    }

    @Override
    public @Nullable String cursor() {
        return cursor.isEmpty() ? null : cursor;
    }

    @Override
    public @Nullable String checkpoint() {
        return checkpoint.isEmpty() ? null : checkpoint;
    }

    @Override
    public void save(List<AuditRecord> page, String behind) throws IOException {
        save(page, behind, checkpoint);
    }

    @Override
    public void save(List<AuditRecord> page, String behind, String newest) throws IOException {
        ByteArrayOutputStream lines = new ByteArrayOutputStream();
        for (AuditRecord line : page) {
            lines.write(json.writeValueAsBytes(line));
            lines.write('\n');
        }
        // A save that failed halfway may have left more than this one will overwrite.
        records.truncate(length);
        ByteBuffer bytes = ByteBuffer.wrap(lines.toByteArray());
        long end = length;
        while (bytes.hasRemaining()) {
            end += records.write(bytes, end);
        }
        records.force(false);
        length = end;
        cursor = behind;
        checkpoint = newest;
        keepPlace();
    }

    @Override
    public void close() throws IOException {
        records.close();
    }

    private void keepPlace() throws IOException {
        // Each line ends once: the file adds the last end.
        PlaceFile.replace(place, (length + " " + cursor + "\n" + checkpoint).stripTrailing());
    }
}
