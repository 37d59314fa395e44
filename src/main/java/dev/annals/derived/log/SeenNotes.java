package dev.annals.derived.log;

import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The newest note of each log that this instance has released, in a file beside the key. A restore of the database does not take it back.
 * Methods block.
 */
@ApplicationScoped
public class SeenNotes {

    private final @Nullable Path directory;

    @Inject
    SeenNotes(LogKeys keys) {
        this(keys.seenDirectory().orElse(null));
    }

    /** @param directory null to store nothing */
    SeenNotes(@Nullable Path directory) {
        this.directory = directory;
    }

    Optional<String> read(UUID projectId) throws IOException {
        if (directory == null) {
            return Optional.empty();
        }
        try {
            return Optional.of(Files.readString(file(directory, projectId)));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /** The note is on disk when this returns. */
    void write(UUID projectId, String note) throws IOException {
        if (directory == null) {
            return;
        }
        Files.createDirectories(directory);
        Path file = file(directory, projectId);
        Path next = Files.createTempFile(directory, projectId.toString(), ".next");
        try (FileChannel channel = FileChannel.open(next, StandardOpenOption.WRITE)) {
            channel.write(StandardCharsets.UTF_8.encode(note));
            channel.force(true);
        }
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private static Path file(Path directory, UUID projectId) {
        return directory.resolve(projectId.toString());
    }
}
