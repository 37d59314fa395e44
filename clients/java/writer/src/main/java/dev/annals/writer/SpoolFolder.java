package dev.annals.writer;

import static java.nio.file.LinkOption.NOFOLLOW_LINKS;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The folder of a spool. One process locks it, and only its user may read it. */
final class SpoolFolder {

    private static final String LOCK = "lock";
    private static final String OWNER = "owner";

    /** The index of the start time in {@code /proc/PID/stat}, counted after the process's name. */
    private static final int BEGAN = 19;

    /** Closing a second channel on a file would release the lock of the first. */
    private static final Set<Path> IN_USE = ConcurrentHashMap.newKeySet();

    private final Path folder;
    private final FileChannel locked;

    private SpoolFolder(Path folder, FileChannel locked) {
        this.folder = folder;
        this.locked = locked;
    }

    static SpoolFolder open(Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            Path absolute = folder.toAbsolutePath();
            if (absolute.getParent() != null) {
                Files.createDirectories(absolute.getParent());
            }
            Files.createDirectory(absolute, mode(folder, "rwx------"));
        }
        if (isPosix(folder)) {
            Set<PosixFilePermission> mode = Files.getPosixFilePermissions(folder);
            if (mode.contains(PosixFilePermission.GROUP_WRITE) || mode.contains(PosixFilePermission.OTHERS_WRITE)) {
                throw new IOException("Others may write to the spool " + folder + ": run chmod go-w on it");
            }
        }
        Path real = folder.toRealPath();
        if (!IN_USE.add(real)) {
            throw taken(folder);
        }
        try {
            return new SpoolFolder(real, lock(real));
        } catch (IOException | RuntimeException e) {
            IN_USE.remove(real);
            throw e;
        }
    }

    private static FileChannel lock(Path folder) throws IOException {
        FileChannel channel = FileChannel.open(
                folder.resolve(LOCK), Set.of(CREATE, WRITE, NOFOLLOW_LINKS), mode(folder, "rw-------"));
        try {
            if (channel.tryLock() == null) {
                throw taken(folder);
            }
            if (isOwned(folder.resolve(OWNER))) {
                throw taken(folder);
            }
            return channel;
        } catch (IOException | OverlappingFileLockException e) {
            channel.close();
            throw e;
        }
    }

    /** Node has no file locks: its process writes its id and its start time into a file. */
    private static boolean isOwned(Path owner) {
        try {
            String[] noted = Files.readString(owner).strip().split(" ", 2);
            Path process = Path.of("/proc", Long.toString(Long.parseLong(noted[0])), "stat");
            String state = Files.readString(process, StandardCharsets.ISO_8859_1);
            String[] fields =
                    state.substring(state.lastIndexOf(')') + 1).strip().split(" ", -1);
            // A zombie is still listed.
            boolean isAlive = fields.length > BEGAN && !fields[0].equals("Z") && !fields[0].equals("X");
            return isAlive && noted.length > 1 && fields[BEGAN].equals(noted[1]);
        } catch (IOException | NumberFormatException e) {
            // No process is noted, or the process has ended.
            return false;
        }
    }

    private static IOException taken(Path folder) {
        return new IOException("The spool " + folder + " is in use: give each process a folder of its own");
    }

    private static boolean isPosix(Path path) {
        return path.getFileSystem().supportedFileAttributeViews().contains("posix");
    }

    private static FileAttribute<?>[] mode(Path path, String mode) {
        return isPosix(path)
                ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(mode))}
                : new FileAttribute<?>[0];
    }

    Path path(String name) {
        return folder.resolve(name);
    }

    List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.collect(Collectors.toList());
        }
    }

    FileChannel openFile(String name) throws IOException {
        return openFile(folder, name);
    }

    static FileChannel openFile(Path folder, String name) throws IOException {
        return FileChannel.open(
                folder.resolve(name), Set.of(CREATE, READ, WRITE, NOFOLLOW_LINKS), mode(folder, "rw-------"));
    }

    FileChannel createFile(String name) throws IOException {
        return open(name, Set.of(CREATE_NEW, WRITE));
    }

    FileChannel readFile(String name) throws IOException {
        return open(name, Set.of(READ, NOFOLLOW_LINKS));
    }

    private FileChannel open(String name, Set<? extends OpenOption> options) throws IOException {
        return FileChannel.open(path(name), options, mode(folder, "rw-------"));
    }

    /** Forces the names of new files to disk, if the system supports it. */
    void force() throws IOException {
        if (isPosix(folder)) {
            try (FileChannel directory = FileChannel.open(folder, READ)) {
                directory.force(true);
            }
        }
    }

    void close() throws IOException {
        locked.close();
        IN_USE.remove(folder);
    }
}
