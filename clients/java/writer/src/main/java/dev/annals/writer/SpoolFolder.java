package dev.annals.writer;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.file.LinkOption.NOFOLLOW_LINKS;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The folder of a spool. One process has it, and only its user may read it.
 *
 * <p>The process has made the file {@code owner-N} with the highest number: of two that start together, only one can make it. It renews the
 * file's time each second, which processes in other containers can see. Java, Python and Go also lock the file {@code lock}: the system
 * releases that with the process, at once. Node cannot lock files.
 */
final class SpoolFolder {

    private static final String LOCK = "lock";
    private static final String OWNER = "owner-";
    private static final Pattern OWNERS = Pattern.compile(OWNER + "(\\d{1,18})");
    private static final String LOCKS = "locks";

    /** The index of the start time in {@code /proc/PID/stat}, counted after the process's name. */
    private static final int BEGAN = 19;

    private static final Duration BEAT = Duration.ofSeconds(1);
    /** A process whose file is older has ended, or stands still. If it goes on, it finds that the folder is no longer its own. */
    private static final Duration STALE = Duration.ofSeconds(10);

    private final Path folder;
    private final CountDownLatch closed = new CountDownLatch(1);
    private FileChannel locked;
    private Path owner;
    private String note;

    private SpoolFolder(Path folder) {
        this.folder = folder;
    }

    static SpoolFolder open(Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            Path absolute = folder.toAbsolutePath();
            if (absolute.getParent() != null) {
                Files.createDirectories(absolute.getParent());
            }
            Files.createDirectory(absolute, mode(folder, "rwx------"));
        }
        SpoolFolder opened = new SpoolFolder(folder.toRealPath());
        opened.requireOfThisUser();
        // The whole process shares these: closing a second channel on a file would release the lock that another class
        // loader has.
        if (System.getProperties().putIfAbsent(opened.property(), "in use") != null) {
            throw opened.taken();
        }
        try {
            opened.take();
        } catch (IOException | RuntimeException e) {
            opened.close();
            throw e;
        }
        Thread beat = new Thread(opened::beat, "annals-spool");
        beat.setDaemon(true);
        beat.start();
        return opened;
    }

    private String property() {
        return "dev.annals.spool:" + folder;
    }

    private void requireOfThisUser() throws IOException {
        if (!isPosix(folder)) {
            return;
        }
        Set<PosixFilePermission> mode = Files.getPosixFilePermissions(folder);
        if (mode.contains(PosixFilePermission.GROUP_WRITE) || mode.contains(PosixFilePermission.OTHERS_WRITE)) {
            throw new IOException("Others may write to the spool " + folder + ": run chmod go-w on it");
        }
        Path own = Files.createTempFile(folder, "user-", "", mode(folder, "rw-------"));
        try {
            if (!Files.getOwner(folder).equals(Files.getOwner(own))) {
                throw new IOException("The spool " + folder + " belongs to the user " + Files.getOwner(folder)
                        + ", who could add records: name a folder of " + Files.getOwner(own));
            }
        } finally {
            Files.delete(own);
        }
    }

    private void take() throws IOException {
        String[] self = {Long.toString(ProcessHandle.current().pid()), "0"};
        String space = "-";
        try {
            self = process("self");
            space = Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString();
        } catch (IOException | RuntimeException e) {
            // Not Linux.
        }
        note = String.join(
                        " ", self[0], self[1], space, LOCKS, UUID.randomUUID().toString()) + "\n";
        TreeMap<Long, Path> before = owners();
        Path last = before.isEmpty() ? null : before.lastEntry().getValue();
        String noted = Objects.requireNonNullElse(last == null ? null : read(last), "");
        // Another copy of this client in this process has it: opening and closing the file would release its lock.
        if (noted.startsWith(self[0] + " " + self[1] + " " + space + " ") && (!space.equals("-") || beats(last))) {
            throw taken();
        }
        lock();
        if (last != null && isAlive(last, noted.split(" ", -1), space)) {
            throw taken();
        }
        long number = before.isEmpty() ? 1 : before.lastKey() + 1;
        Path made = folder.resolve(OWNER + number);
        try (FileChannel file = FileChannel.open(made, Set.of(CREATE_NEW, WRITE), mode(folder, "rw-------"))) {
            owner = made;
            write(file);
        } catch (FileAlreadyExistsException e) {
            throw taken();
        }
        // The process that wrote down its list before this one began may be slower than those after it.
        TreeMap<Long, Path> now = owners();
        if (now.lastKey() > number) {
            throw taken();
        }
        for (Path older : now.headMap(number).values()) {
            Files.deleteIfExists(older);
        }
    }

    /** On a full disk the file stays empty: what the spool has can still be sent. */
    private void write(FileChannel file) throws IOException {
        try {
            Spool.writeFully(file, US_ASCII.encode(note), 0);
        } catch (IOException e) {
            file.truncate(0);
            note = "";
        }
    }

    private void lock() throws IOException {
        locked = openFile(LOCK);
        try {
            if (locked.tryLock() == null) {
                throw taken();
            }
        } catch (OverlappingFileLockException e) {
            throw taken();
        }
    }

    /** The number and start time, which tells processes with the same number apart. Empty if it has ended. */
    private static String[] process(String pid) throws IOException {
        String state = Files.readString(Path.of("/proc", pid, "stat"), ISO_8859_1);
        String[] fields = state.substring(state.lastIndexOf(')') + 1).strip().split(" ", -1);
        // A zombie is still listed.
        return fields[0].equals("Z") || fields[0].equals("X")
                ? new String[] {"", ""}
                : new String[] {state.substring(0, state.indexOf(' ')), fields[BEGAN]};
    }

    /** Whether the process that made this file has not ended. */
    private static boolean isAlive(Path file, String[] noted, String space) throws IOException {
        if (noted.length > 3 && noted[3].equals(LOCKS)) {
            // It would still have the lock that this process has now.
            return false;
        }
        if (noted.length > 3 && noted[2].equals(space) && !space.equals("-")) {
            try {
                return process(noted[0])[1].equals(noted[1]);
            } catch (IOException | RuntimeException e) {
                return false;
            }
        }
        return beats(file);
    }

    private static boolean beats(Path file) throws IOException {
        try {
            FileTime seen = Files.getLastModifiedTime(file);
            while (Duration.between(seen.toInstant(), Instant.now()).abs().compareTo(STALE) < 0) {
                TimeUnit.MILLISECONDS.sleep(100);
                if (!Files.getLastModifiedTime(file).equals(seen)) {
                    return true;
                }
            }
        } catch (NoSuchFileException e) {
            // It has closed the spool.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return true;
        }
        return false;
    }

    private TreeMap<Long, Path> owners() throws IOException {
        TreeMap<Long, Path> owners = new TreeMap<>();
        for (Path file : files()) {
            Matcher name = OWNERS.matcher(file.getFileName().toString());
            if (name.matches()) {
                owners.put(Long.parseLong(name.group(1)), file);
            }
        }
        return owners;
    }

    /** Null if there is no such file. */
    private static String read(Path file) throws IOException {
        try {
            return Files.readString(file, ISO_8859_1);
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    private void beat() {
        try {
            while (!closed.await(BEAT.toMillis(), TimeUnit.MILLISECONDS)) {
                try {
                    Files.setLastModifiedTime(owner, FileTime.from(Instant.now()));
                } catch (IOException e) {
                    // If the file is gone, requireOwned() says so.
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    boolean isOwned() throws IOException {
        return note.equals(read(owner));
    }

    /** Another process takes the folder if this one stood still for long. It sends what is there. */
    void requireOwned() throws IOException {
        if (!isOwned()) {
            throw new IOException("The spool " + folder + " was taken by another process, or its files were removed:"
                    + " start this process again, with a folder of its own");
        }
    }

    private IOException taken() {
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
        closed.countDown();
        try {
            if (owner != null && isOwned()) {
                Files.deleteIfExists(owner);
            }
            if (locked != null) {
                locked.close();
            }
        } finally {
            System.getProperties().remove(property());
        }
    }
}
