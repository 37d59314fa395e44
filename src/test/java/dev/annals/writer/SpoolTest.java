package dev.annals.writer;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import dev.annals.writer.Buffer.Batching;
import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@BesideTheService
@Timeout(60)
class SpoolTest {

    private static final Batching BATCHES = new Batching(100, 100_000);
    private static final String FIRST = "00000000000000000001.spool";
    // Python's zlib.crc32 of the bytes 0, 0, 0, 2, and of the record.
    private static final int CHECKSUM = 0x5039d871;
    // And of the bytes 0, 0, 0, 2, and of those of the checksum.
    private static final int HEADER_CHECKSUM = 0x91b65309;

    private final Ids ids = new Ids();

    @TempDir
    Path parent;

    @Test
    void whatIsWrittenIsReadInOrderAndAfterACrashOnceMore() throws Exception {
        Path folder = parent.resolve("spool");
        List<Entry> entries = entries(250);
        Spool spool = open(folder);
        spool.write(entries);
        List<String> read = new ArrayList<>();
        for (int batch = 0; batch < 2; batch++) {
            spool.next().forEach(entry -> read.add(text(entry)));
            spool.settled();
        }
        // As the process would be killed: the third batch is under way.
        assertThat(spool.next()).hasSize(50);
        spool.letGo();

        Spool next = open(folder);
        assertThat(drain(next)).containsExactlyElementsOf(texts(entries.subList(200, 250)));
        assertThat(read).containsExactlyElementsOf(texts(entries.subList(0, 200)));
        next.close();
        assertThat(segments(folder)).isEmpty();
    }

    @Test
    void aRecordThatIsCutOffAnywhereIsNotRead() throws Exception {
        Path folder = parent.resolve("spool");
        Spool spool = open(folder);
        List<Entry> entries = entries(3);
        spool.write(entries);
        spool.letGo();
        byte[] whole = Files.readAllBytes(folder.resolve(FIRST));
        int last = Spool.FRAME_HEADER + entries.get(2).json.length;
        for (int cut = 1; cut <= last; cut++) {
            Path torn = Files.createDirectory(parent.resolve("torn" + cut));
            Files.write(torn.resolve(FIRST), Arrays.copyOf(whole, whole.length - cut));
            Spool reopened = open(torn);
            List<Entry> more = entries(1);
            reopened.write(more);
            assertThat(drain(reopened))
                    .as("cut by %d bytes", cut)
                    .containsExactly(text(entries.get(0)), text(entries.get(1)), text(more.get(0)));
            reopened.close();
            assertThat(names(torn)).containsExactlyInAnyOrder("lock", Spool.PLACE);
        }
    }

    @Test
    void damageIsKeptAsideAndHidesNothingBehindIt() throws Exception {
        Path folder = parent.resolve("spool");
        Spool spool = open(folder);
        List<Entry> entries = entries(3);
        spool.write(entries);
        spool.letGo();
        byte[] bytes = Files.readAllBytes(folder.resolve(FIRST));
        int second = Spool.MAGIC.length + Spool.FRAME_HEADER + entries.get(0).json.length;
        bytes[second + Spool.FRAME_HEADER + 60] ^= 1;
        Files.write(folder.resolve(FIRST), bytes);

        Spool next = open(folder);
        List<Entry> more = entries(1);
        next.write(more);
        assertThat(drain(next)).containsExactly(text(entries.get(0)), text(entries.get(2)), text(more.get(0)));
        next.close();
        assertThat(Files.readAllBytes(folder.resolve(FIRST + ".damaged"))).isEqualTo(bytes);
    }

    @Test
    void aPlaceBehindTheEndHidesNoLaterRecord() throws Exception {
        Path folder = parent.resolve("spool");
        Spool spool = open(folder);
        spool.write(entries(20));
        spool.next();
        spool.settled();
        spool.letGo();
        // The power failed: the place is on disk, the end of the file is not.
        Path file = folder.resolve(FIRST);
        Files.write(file, Arrays.copyOf(Files.readAllBytes(file), 100));

        Spool next = open(folder);
        List<Entry> more = entries(2);
        next.write(more);
        assertThat(drain(next)).containsExactlyElementsOf(texts(more));
        next.close();
    }

    @Test
    void filesAreDeletedAsSoonAsAllOfThemIsStored() throws Exception {
        Path folder = parent.resolve("spool");
        Spool spool = new Spool(SpoolOptions.in(folder).segmentBytes(524_288), BATCHES);
        for (int i = 0; i < 40; i++) {
            spool.write(entries(500));
        }
        assertThat(segments(folder)).hasSizeGreaterThan(3);
        int read = 0;
        while (read < 20_000) {
            read += spool.next().size();
            spool.settled();
        }
        assertThat(segments(folder)).hasSize(1);
        spool.close();
    }

    @Test
    void aFullSpoolWaitsUntilSomethingIsStored() throws Exception {
        Spool spool = new Spool(
                SpoolOptions.in(parent.resolve("spool")).segmentBytes(524_288).maxBytes(1_048_576), BATCHES);
        int group = 500;
        int written = 0;
        CompletableFuture<Boolean> write = CompletableFuture.completedFuture(true);
        while (write.isDone()) {
            assertThat(write.get()).isTrue();
            written += group;
            List<Entry> more = entries(group);
            if (spool.bytes() + 500L * (more.get(0).json.length + 20) > 1_048_576) {
                write = CompletableFuture.supplyAsync(() -> written(spool, more));
                break;
            }
            spool.write(more);
        }
        assertThat(spool.bytes()).isLessThanOrEqualTo(1_048_576);
        int read = 0;
        while (read < written) {
            read += spool.next().size();
            spool.settled();
        }
        assertThat(write.get()).isTrue();
        spool.close();
    }

    @Test
    void oneProcessHasItAtATime() throws Exception {
        Path folder = parent.resolve("spool");
        Spool spool = open(folder);
        for (int attempt = 0; attempt < 2; attempt++) {
            assertThatThrownBy(() -> open(folder))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("is in use");
        }
        spool.close();
        open(folder).close();
    }

    @Test
    void aSecondClassLoaderNeitherGetsItNorReleasesItsLock() throws Exception {
        Path folder = parent.resolve("spool");
        Spool spool = open(folder);
        URL classes = SpoolFolder.class.getProtectionDomain().getCodeSource().getLocation();
        try (URLClassLoader loader = new URLClassLoader(new URL[] {classes}, ClassLoader.getPlatformClassLoader())) {
            Method open = loader.loadClass(SpoolFolder.class.getName()).getDeclaredMethod("open", Path.class);
            open.setAccessible(true);
            assertThatThrownBy(() -> open.invoke(null, folder)).rootCause().hasMessageContaining("is in use");
        }
        Path locks = Path.of("/proc/locks");
        if (Files.exists(locks)) {
            assertThat(Files.readString(locks))
                    .contains(":" + Files.getAttribute(folder.resolve("lock"), "unix:ino") + " ");
        }
        spool.close();
    }

    @Test
    void oneThatLostTheFolderNeitherAcknowledgesNorSends() throws Exception {
        Path folder = parent.resolve("spool");
        Spool spool = open(folder);
        spool.write(entries(2));
        assertThat(spool.next()).hasSize(2);
        Files.move(folder.resolve("owner-1"), folder.resolve("owner-2"));
        for (int attempt = 0; attempt < 2; attempt++) {
            assertThatThrownBy(() -> spool.write(entries(1))).hasMessageContaining("was taken by another process");
            assertThatThrownBy(spool::settled).hasMessageContaining("was taken by another process");
            assertThatThrownBy(spool::next).hasMessageContaining("was taken by another process");
        }
        assertThat(segments(folder)).hasSize(1);
        spool.close();
        assertThat(segments(folder)).hasSize(1);
    }

    @Test
    void nobodyElseMayReadItOrWriteToIt() throws Exception {
        Path folder = parent.resolve("spool");
        Spool spool = open(folder);
        spool.write(entries(1));
        spool.letGo();
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).allSatisfy(file -> assertThat(mode(file)).isEqualTo("rw-------"));
        }
        assertThat(mode(folder)).isEqualTo("rwx------");
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxrwx---"));
        assertThatThrownBy(() -> open(folder)).hasMessageContaining("Others may write");
    }

    @Test
    void aFileOfAnotherVersionIsRefused() throws Exception {
        Path folder = Files.createDirectory(parent.resolve("spool"));
        Files.writeString(folder.resolve(FIRST), "ANNALS2\nand whatever that has");
        assertThatThrownBy(() -> open(folder)).hasMessageContaining("not a spool's file of this version");
    }

    @Test
    void theChecksumIsTheOneThatIsDescribed() {
        ByteBuffer frame = ByteBuffer.allocate(14);
        Spool.frame(frame, "{}".getBytes(UTF_8));
        assertThat(frame.array())
                .isEqualTo(ByteBuffer.allocate(14)
                        .putInt(2)
                        .putInt(CHECKSUM)
                        .putInt(HEADER_CHECKSUM)
                        .put((byte) '{')
                        .put((byte) '}')
                        .array());
    }

    private static boolean written(Spool spool, List<Entry> entries) {
        try {
            return spool.write(entries);
        } catch (IOException e) {
            return false;
        }
    }

    private static String mode(Path file) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
    }

    private Spool open(Path folder) throws IOException {
        return new Spool(SpoolOptions.in(folder), BATCHES);
    }

    private static List<String> drain(Spool spool) throws IOException {
        spool.closeToWriting();
        List<String> read = new ArrayList<>();
        for (List<Entry> batch = spool.next(); batch != null; batch = spool.next()) {
            batch.forEach(entry -> read.add(text(entry)));
            spool.settled();
        }
        return read;
    }

    private static List<Path> segments(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".spool")).toList();
        }
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }

    private List<Entry> entries(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> {
                    Instant now = Instant.now();
                    var id = ids.next(now);
                    return new Entry(
                            id, AuditRecord.of("a" + i).build().json(id, now).getBytes(UTF_8));
                })
                .toList();
    }

    private static List<String> texts(List<Entry> entries) {
        return entries.stream().map(SpoolTest::text).toList();
    }

    private static String text(Entry entry) {
        return new String(entry.json, UTF_8);
    }
}
