package dev.annals.tools.cli;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.UUID;
import java.util.zip.GZIPOutputStream;

/**
 * A file that has its name only once it is whole, is on disk, and was checked. It is written beside it first, and never in the place
 * of another one.
 */
final class ArchiveFile {

    private static final int MAX_NAME = 100;
    private static final int BUFFER_BYTES = 65_536;

    private final Path path;

    /** Writes what a file is to have. */
    interface Contents {
        void write(OutputStream out) throws IOException, InterruptedException;
    }

    /** Reads a file, and gives its SHA-256; throws a {@link ClientFailure} if it is not what it has to be. */
    interface Check {
        String check(Path file) throws IOException;
    }

    /**
     * The file for some records.
     *
     * @param project its name, of which letters and digits are kept; where there are none, {@code id}
     */
    ArchiveFile(Path directory, String project, String id, long first, long last) {
        String name = project.replaceAll("[^A-Za-z0-9]+", "-").replaceAll("^-|-$", "");
        this.path = directory.resolve(
                "annals-" + (name.isEmpty() ? id : name.substring(0, Math.min(MAX_NAME, name.length()))) + "-" + first
                        + "-" + last + ".ndjson.gz");
    }

    Path path() {
        return path;
    }

    /** Its name in its directory. */
    String name() {
        return path.getFileName().toString();
    }

    /**
     * Makes the file; if it is there already, checks it.
     *
     * @return its SHA-256
     */
    String write(Contents contents, Check check) throws IOException, InterruptedException {
        if (Files.exists(path)) {
            Terminal.say("The file " + path + " is there already: it is checked, and noted if it is whole.");
            return check.check(path);
        }
        Path partial = path.resolveSibling(name() + "." + UUID.randomUUID() + ".partial");
        try {
            try (FileChannel channel =
                    FileChannel.open(partial, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                GZIPOutputStream packed = new GZIPOutputStream(Channels.newOutputStream(channel), BUFFER_BYTES);
                OutputStream out = new BufferedOutputStream(packed, BUFFER_BYTES);
                contents.write(out);
                out.flush();
                packed.finish();
                channel.force(true);
            }
            String sha256 = check.check(partial);
            if (take(partial)) {
                return sha256;
            }
        } finally {
            Files.deleteIfExists(partial);
        }
        // Somebody else was faster, with the same records and perhaps another checkpoint.
        return check.check(path);
    }

    /** Gives it its name; false if there is such a file. */
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

    /** The name is on disk, too, where directories can be flushed. */
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
