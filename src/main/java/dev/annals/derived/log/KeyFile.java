package dev.annals.derived.log;

import dev.annals.derived.proof.MasterKey;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** Writes files with secrets that only their owner can read. */
public final class KeyFile {

    private static final Set<OpenOption> NEW = Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);

    private KeyFile() {}

    /**
     * Creates a file with mode 0600.
     *
     * @throws FileAlreadyExistsException if it exists
     */
    public static void write(Path file, MasterKey key) throws IOException {
        write(file, key.secretText());
    }

    /** Writes any secret of one line, as {@link #write(Path, MasterKey)} does. */
    public static void write(Path file, String secret) throws IOException {
        try (FileChannel channel = FileChannel.open(file, NEW, ownerOnly(file))) {
            channel.write(StandardCharsets.UTF_8.encode(secret + "\n"));
            channel.force(true);
        }
    }

    private static FileAttribute<?>[] ownerOnly(Path file) throws IOException {
        boolean posix = Files.getFileStore(file.toAbsolutePath().getParent()).supportsFileAttributeView("posix");
        return posix
                ? new FileAttribute<?>[] {
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
                }
                : new FileAttribute<?>[0];
    }
}
