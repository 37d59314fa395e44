package dev.annals.tools.embedded;

import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.IntConsumer;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;

/**
 * Copies an embedded database into one file while it is in use, by PostgreSQL's low-level backup protocol. The copy contains the
 * files, which change meanwhile, and the write-ahead log that makes them consistent as of the end of the copy. {@link
 * DatabaseRestore} restores it.
 *
 * <p>The file is a tar archive packed with gzip. Its last entry is a {@link DumpManifest}. It never contains the key of the logs:
 * database and key together allow forging what readers verify.
 */
public final class DatabaseDump {

    /** Directories copied empty: their content belongs to this run of the server, or is copied later. */
    private static final Set<String> EMPTY = Set.of(
            "log",
            "pg_dynshmem",
            "pg_notify",
            "pg_replslot",
            "pg_serial",
            "pg_snapshots",
            "pg_stat_tmp",
            "pg_subtrans",
            "pg_wal");

    private static final Set<String> LEFT_OUT = Set.of(
            "postmaster.pid",
            "postmaster.opts",
            "current_logfiles",
            "backup_label",
            "backup_label.old",
            "tablespace_map",
            "tablespace_map.old",
            "recovery.signal",
            "standby.signal",
            // Last, so that no checkpoint is newer than the files.
            "global/pg_control");

    /**
     * Retains the write-ahead log until it is copied. The slot ends with the session.
     */
    private static final String KEEP_WAL =
            "select pg_create_physical_replication_slot('annals_dump_' || pg_backend_pid(), true, true)";

    private static final String BEGIN = """
            select pg_walfile_name(pg_backup_start('annals dump', fast => true)) as wal,
              (select count(*) from pg_tablespace where spcname not in ('pg_default', 'pg_global')) as tablespaces,
              current_setting('data_directory') as directory, current_setting('server_version') as version
            """;

    private static final String END = """
            select pg_walfile_name(lsn) as wal, labelfile from pg_backup_stop(wait_for_archive => false)
            """;

    private final Path cluster;
    private final IntConsumer progress;
    private final DumpManifest.Builder manifest = new DumpManifest.Builder();
    private final byte[] part = new byte[1 << 16];
    private long expected;
    private long copied;

    private DatabaseDump(Path directory, IntConsumer progress) {
        this.cluster = directory.resolve(DataDirectory.CLUSTER);
        this.progress = progress;
    }

    /**
     * Copies the database of a directory, with or without a running service. The file has its name only once it is complete and on
     * disk.
     *
     * @param target the file, which must not exist
     * @param progress receives the percentage that is copied
     * @return the bytes of the file
     * @throws EmbeddedDatabaseException one sentence that names the fault and the remedy
     */
    public static long write(Path directory, Path target, IntConsumer progress) throws IOException {
        if (Files.exists(target)) {
            throw new EmbeddedDatabaseException("The file " + target + " exists already: name another one.");
        }
        if (!Files.exists(directory.resolve(DataDirectory.URL_FILE))) {
            throw new EmbeddedDatabaseException("There is no database in " + directory.toAbsolutePath()
                    + ": set ANNALS_DATA_DIR to the directory of the service's own. Use pg_dump for another one.");
        }
        Path real = directory.toRealPath();
        try (RunningDatabase database = RunningDatabase.in(real);
                Connection connection = database.url().connect()) {
            return new DatabaseDump(real, progress).write(connection, target);
        } catch (SQLException e) {
            throw new EmbeddedDatabaseException(
                    "The database in " + real + " cannot be dumped (" + e.getMessage()
                            + "). Check whether its service was stopped meanwhile, and begin again.",
                    e);
        }
    }

    private long write(Connection connection, Path target) throws IOException, SQLException {
        Path partial = target.resolveSibling(target.getFileName() + ".partial");
        Files.deleteIfExists(partial);
        try {
            Files.createFile(
                    partial, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            try (FileChannel channel = FileChannel.open(partial, StandardOpenOption.WRITE)) {
                OutputStream packed = new GZIPOutputStream(
                        new BufferedOutputStream(Channels.newOutputStream(channel), part.length), part.length);
                TarArchiveOutputStream tar = new TarArchiveOutputStream(packed, StandardCharsets.UTF_8.name());
                tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
                tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_POSIX);
                copy(connection, tar);
                tar.finish();
                tar.flush();
                ((GZIPOutputStream) packed).finish();
                packed.flush();
                channel.force(true);
            }
            // Fails if another dump has made the file meanwhile.
            Files.createLink(target, partial);
            return Files.size(target);
        } finally {
            Files.deleteIfExists(partial);
        }
    }

    private void copy(Connection connection, TarArchiveOutputStream tar) throws IOException, SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(KEEP_WAL);
            String firstWal;
            try (ResultSet begun = statement.executeQuery(BEGIN)) {
                begun.next();
                requireThisDatabase(Path.of(begun.getString("directory")), begun.getInt("tablespaces"));
                firstWal = begun.getString("wal");
                manifest.version(begun.getString("version"));
            }
            List<Path> files = files();
            bytes(tar, DataDirectory.URL_FILE, Files.readAllBytes(cluster.resolveSibling(DataDirectory.URL_FILE)));
            for (Path file : files) {
                file(tar, file);
            }
            file(tar, cluster.resolve("global/pg_control"));
            String lastWal;
            String label;
            try (ResultSet ended = statement.executeQuery(END)) {
                ended.next();
                lastWal = ended.getString("wal");
                label = ended.getString("labelfile");
            }
            for (Path segment : wal(firstWal, lastWal)) {
                file(tar, segment);
            }
            bytes(tar, DataDirectory.CLUSTER + "/backup_label", label.getBytes(StandardCharsets.UTF_8));
            entry(tar, DumpManifest.NAME, manifest.build());
        }
    }

    private void requireThisDatabase(Path served, int tablespaces) throws IOException {
        if (!Files.isSameFile(served, cluster)) {
            throw new EmbeddedDatabaseException("The database in " + served + " answers at the address of the one in "
                    + cluster + ". Start the service on that directory, and begin again.");
        }
        if (tablespaces > 0) {
            throw new EmbeddedDatabaseException("The database in " + cluster
                    + " has tablespaces outside of its directory. Use pg_basebackup of PostgreSQL.");
        }
    }

    /** Files and directories, each directory before its content. */
    private List<Path> files() throws IOException {
        List<Path> found = new ArrayList<>();
        Files.walkFileTree(cluster, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
                String name = name(directory);
                if (name.endsWith("pgsql_tmp")) {
                    return FileVisitResult.SKIP_SUBTREE;
                }
                found.add(directory);
                return EMPTY.contains(name) ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                String last = file.getFileName().toString();
                if (!LEFT_OUT.contains(name(file))
                        && !last.startsWith("pgsql_tmp")
                        && !last.equals("pg_internal.init")
                        && attributes.isRegularFile()) {
                    found.add(file);
                    expected += attributes.size();
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
                // A file that was dropped meanwhile: the write-ahead log drops it again.
                if (e instanceof NoSuchFileException) {
                    return FileVisitResult.CONTINUE;
                }
                throw e;
            }
        });
        return found;
    }

    private String name(Path file) {
        return cluster.relativize(file).toString().replace('\\', '/');
    }

    /** The segments from the first to the last, and the histories of timelines. */
    private List<Path> wal(String first, String last) throws IOException {
        List<Path> needed;
        try (Stream<Path> all = Files.list(cluster.resolve("pg_wal"))) {
            needed = all.filter(file -> {
                        String name = file.getFileName().toString();
                        return name.endsWith(".history")
                                || (name.matches("[0-9A-F]{24}")
                                        && name.compareTo(first) >= 0
                                        && name.compareTo(last) <= 0);
                    })
                    .sorted()
                    .toList();
        }
        for (String end : List.of(first, last)) {
            if (needed.stream().noneMatch(file -> file.endsWith(end))) {
                throw new IOException("the segment " + end + " of the write-ahead log is missing");
            }
        }
        return needed;
    }

    private void file(TarArchiveOutputStream tar, Path file) throws IOException {
        String name = file.equals(cluster) ? DataDirectory.CLUSTER : DataDirectory.CLUSTER + "/" + name(file);
        if (Files.isDirectory(file)) {
            tar.putArchiveEntry(entry(name + "/", 0, 0700));
            tar.closeArchiveEntry();
            return;
        }
        try (InputStream in = Files.newInputStream(file)) {
            // The current size: the write-ahead log repeats later growth and truncation.
            content(tar, name, in, Files.size(file));
        } catch (NoSuchFileException e) {
            if (name.endsWith("pg_control") || name.contains("/pg_wal/")) {
                throw e;
            }
            // Dropped meanwhile.
        }
    }

    private void bytes(TarArchiveOutputStream tar, String name, byte[] bytes) throws IOException {
        content(tar, name, new ByteArrayInputStream(bytes), bytes.length);
    }

    private void entry(TarArchiveOutputStream tar, String name, byte[] bytes) throws IOException {
        tar.putArchiveEntry(entry(name, bytes.length, 0600));
        tar.write(bytes);
        tar.closeArchiveEntry();
    }

    private void content(TarArchiveOutputStream tar, String name, InputStream in, long size) throws IOException {
        tar.putArchiveEntry(entry(name, size, 0600));
        DumpManifest.Digest digest = new DumpManifest.Digest();
        long left = size;
        while (left > 0) {
            int length = in.readNBytes(part, 0, (int) Math.min(part.length, left));
            if (length == 0) {
                // The file was truncated meanwhile. The write-ahead log truncates it again.
                length = (int) Math.min(part.length, left);
                Arrays.fill(part, 0, length, (byte) 0);
            }
            tar.write(part, 0, length);
            digest.update(part, length);
            left -= length;
            advance(length);
        }
        tar.closeArchiveEntry();
        manifest.add(name, size, digest);
    }

    private void advance(int length) {
        long before = percent();
        copied += length;
        if (percent() > before) {
            progress.accept((int) percent());
        }
    }

    private long percent() {
        return expected == 0 ? 0 : Math.min(100, copied * 100 / expected);
    }

    private static TarArchiveEntry entry(String name, long size, int mode) {
        TarArchiveEntry entry = new TarArchiveEntry(name);
        entry.setSize(size);
        entry.setMode(mode);
        return entry;
    }
}
