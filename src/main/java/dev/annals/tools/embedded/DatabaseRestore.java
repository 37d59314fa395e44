package dev.annals.tools.embedded;

import dev.annals.tools.embedded.DumpManifest.Digest;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.jspecify.annotations.Nullable;

/**
 * Restores a file of {@link DatabaseDump}: all of it, or nothing.
 *
 * <p>PostgreSQL then replays the write-ahead log, and begins a new timeline. The timeline shows the service that this is another
 * database than the one that signed its logs. The service then signs nothing until an operator decides, so that it contradicts
 * nothing that was signed after the dump.
 */
public final class DatabaseRestore {

    private static final String PARTIAL = "restore.partial";
    private static final Duration REPLAY_LIMIT = Duration.ofHours(12);
    private static final long LOOK_AGAIN_MILLIS = 100;
    private static final int MAX_MANIFEST_BYTES = 256 << 20;

    private final Path directory;
    private final Path partial;
    private final byte[] part = new byte[1 << 16];

    private DatabaseRestore(Path directory) {
        this.directory = directory;
        this.partial = directory.resolve(PARTIAL);
    }

    /**
     * Creates the database of a directory from a dump.
     *
     * @param directory missing or empty
     * @return the number of files
     * @throws EmbeddedDatabaseException one sentence that names the fault and the remedy; the directory is unchanged then
     */
    public static int read(Path file, Path directory) throws IOException {
        Path absolute = directory.toAbsolutePath().normalize();
        boolean made = !Files.exists(absolute);
        if (!made && !DataDirectory.isEmpty(absolute)) {
            throw new EmbeddedDatabaseException(
                    "The data directory " + absolute + " is not empty. Annals does not touch it. Set"
                            + " ANNALS_DATA_DIR to a directory that is empty or does not exist.");
        }
        // First, because the name of the dump may be wrong.
        try (InputStream packed = Files.newInputStream(file)) {
            Files.createDirectories(absolute);
            boolean whole = false;
            try {
                int files = new DatabaseRestore(absolute.toRealPath()).read(file, packed);
                whole = true;
                return files;
            } finally {
                if (!whole) {
                    empty(absolute, made);
                }
            }
        }
    }

    private static void empty(Path directory, boolean made) throws IOException {
        if (made) {
            PostgresBinaries.deleteTree(directory);
            return;
        }
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.filter(each -> !each.endsWith("lost+found")).toList()) {
                PostgresBinaries.deleteTree(file);
            }
        }
    }

    private int read(Path file, InputStream packed) throws IOException {
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx------"));
        Files.createDirectory(partial);
        int files;
        try {
            files = unpack(packed);
        } catch (IOException | IllegalArgumentException e) {
            throw new EmbeddedDatabaseException(
                    "The file " + file + " is no complete dump, or is damaged (" + e.getMessage()
                            + "). Nothing was restored. Use another dump.",
                    e);
        }
        replay(file);
        Files.move(partial.resolve(DataDirectory.CLUSTER), directory.resolve(DataDirectory.CLUSTER));
        // Last, because this file marks a data directory.
        Files.move(
                partial.resolve(DataDirectory.URL_FILE),
                directory.resolve(DataDirectory.URL_FILE),
                StandardCopyOption.ATOMIC_MOVE);
        PostgresBinaries.deleteTree(partial);
        return files;
    }

    private int unpack(InputStream packed) throws IOException {
        Map<String, String> found = new HashMap<>();
        @Nullable DumpManifest manifest = null;
        GZIPInputStream unpacked = new GZIPInputStream(new BufferedInputStream(packed, part.length), part.length);
        TarArchiveInputStream tar = new TarArchiveInputStream(unpacked);
        for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
            if (manifest != null) {
                throw new IOException("it has " + entry.getName() + " behind its end");
            }
            if (entry.getName().equals(DumpManifest.NAME)) {
                manifest = DumpManifest.parse(tar.readNBytes(MAX_MANIFEST_BYTES));
            } else {
                unpack(tar, entry, found);
            }
        }
        // gzip has a checksum at its end.
        while (unpacked.read(part) >= 0) {
            // padding of tar
        }
        if (manifest == null) {
            throw new IOException("its end is missing");
        }
        compare(manifest.files(), found);
        return found.size();
    }

    private void unpack(TarArchiveInputStream tar, TarArchiveEntry entry, Map<String, String> found)
            throws IOException {
        String name = entry.getName();
        Path target = partial.resolve(name).normalize();
        boolean known = name.equals(DataDirectory.URL_FILE)
                || name.equals(DataDirectory.CLUSTER + "/")
                || name.startsWith(DataDirectory.CLUSTER + "/");
        if (!known || !target.startsWith(partial) || !(entry.isDirectory() || entry.isFile())) {
            throw new IOException("it has " + name + ", which no dump has");
        }
        if (entry.isDirectory()) {
            Files.createDirectory(
                    target, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            return;
        }
        Files.createFile(target, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        Digest digest = new Digest();
        long size = 0;
        try (OutputStream out = Files.newOutputStream(target, StandardOpenOption.WRITE)) {
            for (int length = tar.read(part); length >= 0; length = tar.read(part)) {
                out.write(part, 0, length);
                digest.update(part, length);
                size += length;
            }
        }
        found.put(name, DumpManifest.file(size, digest.hex()));
    }

    private static void compare(Map<String, String> expected, Map<String, String> found) throws IOException {
        for (Map.Entry<String, String> file : expected.entrySet()) {
            if (!file.getValue().equals(found.get(file.getKey()))) {
                throw new IOException(file.getKey() + (found.containsKey(file.getKey()) ? " differs" : " is missing"));
            }
        }
        if (!found.keySet().equals(expected.keySet())) {
            throw new IOException("it has files that are not in its list");
        }
    }

    /** Lets PostgreSQL replay the write-ahead log and begin a new timeline. */
    private void replay(Path file) throws IOException {
        Path cluster = partial.resolve(DataDirectory.CLUSTER);
        Path settings = cluster.resolve("postgresql.auto.conf");
        String before = Files.exists(settings) ? Files.readString(settings) : "";
        // The dump contains all of the write-ahead log, so nothing is fetched. The signal makes PostgreSQL begin a
        // timeline.
        Files.writeString(settings, before + "\nrestore_command = 'false'\n");
        Files.createFile(cluster.resolve("recovery.signal"));
        try (EmbeddedDatabase database = EmbeddedDatabase.start(partial, directory, Set.of());
                Connection connection = database.url().connect();
                Statement statement = connection.createStatement()) {
            long end = System.nanoTime() + REPLAY_LIMIT.toNanos();
            while (isReplaying(statement)) {
                if (System.nanoTime() - end > 0) {
                    throw new EmbeddedDatabaseException("The dump " + file + " was not replayed within "
                            + REPLAY_LIMIT.toHours() + " hours. Look at the machine's disk, and begin again.");
                }
                TimeUnit.MILLISECONDS.sleep(LOOK_AGAIN_MILLIS);
            }
            Files.writeString(settings, before);
        } catch (SQLException e) {
            throw new EmbeddedDatabaseException(
                    "The dump " + file + " cannot be replayed (" + e.getMessage() + ").", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EmbeddedDatabaseException("The restore was interrupted.", e);
        }
    }

    private static boolean isReplaying(Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery("select pg_is_in_recovery() as replaying")) {
            row.next();
            return row.getBoolean("replaying");
        }
    }
}
