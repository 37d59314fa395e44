package dev.annals.tools.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.UUID;

/**
 * An archive's file. It gets its name only after it was checked and is on disk, and it never replaces another file.
 */
final class ArchiveFile implements ArchiveTarget {

    private static final int MAX_NAME = 100;

    private final Path path;

    /**
     * The file for a range of records.
     *
     * @param project the name of the project; {@code id} replaces a name without letters and digits
     */
    ArchiveFile(Path directory, String project, String id, long first, long last) {
        String name = project.replaceAll("[^A-Za-z0-9]+", "-").replaceAll("^-|-$", "");
        this.path = directory.resolve(
                "annals-" + (name.isEmpty() ? id : name.substring(0, Math.min(MAX_NAME, name.length()))) + "-" + first
                        + "-" + last + ".ndjson.gz");
    }

    @Override
    public String shown() {
        return path.toString();
    }

    /** The name without the directory. */
    @Override
    public String name() {
        return path.getFileName().toString();
    }

    @Override
    public long bytes() throws IOException {
        return Files.size(path);
    }

    @Override
    public String write(Contents contents, Check check) throws IOException, InterruptedException {
        if (Files.exists(path)) {
            Terminal.say("The file " + path + " exists already. It is checked, and recorded if it is complete.");
            return check(path, check);
        }
        Path partial = path.resolveSibling(name() + "." + UUID.randomUUID() + ".partial");
        try {
            try (FileChannel channel =
                    FileChannel.open(partial, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                contents.writePacked(Channels.newOutputStream(channel));
                channel.force(true);
            }
            String sha256 = check(partial, check);
            if (take(partial)) {
                return sha256;
            }
        } finally {
            Files.deleteIfExists(partial);
        }
        // Another process made the file meanwhile, with the same records and perhaps another checkpoint.
        return check(path, check);
    }

    private static String check(Path file, Check check) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            return check.check(in, file.toString());
        }
    }

    /** Names the file; false if the name exists. */
    private boolean take(Path partial) throws IOException {
        try {
            try {
                // Unlike a move, this never replaces a file.
                Files.createLink(path, partial);
            } catch (FileAlreadyExistsException e) {
                throw e;
            } catch (UnsupportedOperationException | FileSystemException e) {
                Files.move(partial, path);
            }
        } catch (FileAlreadyExistsException e) {
            return false;
        }
        Path parent = path.toAbsolutePath().getParent();
        if (parent != null) {
            force(parent);
        }
        return true;
    }

    /** Flushes the name to disk, if the system can flush directories. */
    private static void force(Path directory) throws IOException {
        FileChannel channel;
        try {
            channel = FileChannel.open(directory, StandardOpenOption.READ);
        } catch (FileSystemException e) {
            return; // Windows opens no directories.
        }
        try (channel) {
            channel.force(true);
        }
    }
}
