package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.annals.Await;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import dev.annals.tools.embedded.InstalledPostgres;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The volume with the database's tables is full, and has room again: a volume of its own, which only root can mount. */
@Slow
@TakesLong
class FullDiskIT extends RepeatedFault {

    private static final int FULL_SECONDS = 3;
    private static final long ROOM_KILOBYTES = 4_000_000;

    private Path volume;

    @Override
    void start() throws Exception {
        volume = Files.createDirectory(directory.resolve("volume"));
        boolean mounted =
                succeeds("mount", "-t", "tmpfs", "-o", "size=" + ROOM_KILOBYTES + "k", "tmpfs", volume.toString());
        assumeTrue(mounted, "this needs the right to mount a volume");
        closeLater(() -> assertThat(succeeds("umount", volume.toString())).isTrue());
        InstalledPostgres server = startServer();
        SqlFixture.on(server.url("postgres"))
                .runEach(
                        "create tablespace small location '" + Files.createDirectory(volume.resolve("tables")) + "'",
                        "create database annals tablespace small");
        startClients(server.url("annals"));
    }

    @Test
    void writesAreRefusedUntilThereIsRoom() throws Exception {
        assertSoundWhen("disk of the database's tables full, for 3 s and more", 1, times -> {
            Await.until("it is full", () -> resize(used()));
            awaitStandstill();
            TimeUnit.SECONDS.sleep(FULL_SECONDS);
            clients.measureRecovery();
            assertThat(resize(ROOM_KILOBYTES)).isTrue();
        });

        assertThat(clients.answers().keySet()).as("%s", clients).isSubsetOf("503", "507");
    }

    /** The tables may still have room for a minute's records. */
    private void awaitStandstill() throws Exception {
        int before;
        do {
            before = clients.told();
            TimeUnit.SECONDS.sleep(1);
        } while (clients.told() > before);
    }

    private long used() throws IOException {
        FileStore store = Files.getFileStore(volume);
        return (store.getTotalSpace() - store.getUnallocatedSpace()) / 1024;
    }

    private boolean resize(long kilobytes) throws Exception {
        return succeeds("mount", "-o", "remount,size=" + kilobytes + "k", volume.toString());
    }

    private static boolean succeeds(String... command) throws Exception {
        return new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start()
                        .waitFor()
                == 0;
    }
}
