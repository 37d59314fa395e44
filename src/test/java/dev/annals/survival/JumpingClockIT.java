package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.Tools;
import dev.annals.tools.embedded.InstalledPostgres;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * The clock jumps an hour forward and back: the service's, the database's, and both. With Debian's libfaketime, or the one that
 * {@code -Dsurvival.faketime} names.
 */
@Slow
@EnabledIfSystemProperty(
        named = "survival.minutes",
        matches = "[1-9].*",
        disabledReason = "its processes take a minute to start")
class JumpingClockIT extends RepeatedFault {

    private static final Path FAKETIME =
            Path.of(System.getProperty("survival.faketime", "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"));
    private static final int RECORDS_AHEAD = 50;
    /** Longer than a process takes over to look at its clock's file again. */
    private static final int LEAST_SECONDS_AHEAD = 2;

    private Path clockOfService;
    private Path clockOfDatabase;
    private InstalledPostgres server;

    @Override
    void start() throws Exception {
        Tools.need(Files.exists(FAKETIME), "libfaketime");
        clockOfService = set(directory.resolve("clock-of-service"), "+0");
        clockOfDatabase = set(directory.resolve("clock-of-database"), "+0");
        server = closeLater(InstalledPostgres.start(directory, by(clockOfDatabase)));
        Map<String, String> settings = by(clockOfService);
        settings.put("ANNALS_DATABASE_URL", server.url("postgres").withPassword());
        startClients(2, settings);
    }

    /** The environment of a process whose clock this file says. */
    private static Map<String, String> by(Path clock) {
        return new HashMap<>(Map.of(
                "LD_PRELOAD",
                FAKETIME.toString(),
                "FAKETIME_TIMESTAMP_FILE",
                clock.toString(),
                "FAKETIME_CACHE_DURATION",
                "1",
                // Nor does it jump where the clock is set.
                "FAKETIME_DONT_FAKE_MONOTONIC",
                "1",
                // Else threads that wait for a while wake up at once, again and again, and take all the processor time.
                "FAKETIME_FORCE_MONOTONIC_FIX",
                "0"));
    }

    private Path set(Path clock, String ahead) throws Exception {
        Path written = Files.writeString(directory.resolve("clock"), ahead + "\n");
        return Files.move(written, clock, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }

    @Test
    void theFeedGoesOnInItsOrder() throws Exception {
        assertSoundWhen("clock an hour ahead, and back", 3, times -> {
            jump(times, "+3600");
            clients.awaitTold(RECORDS_AHEAD);
            TimeUnit.SECONDS.sleep(LEAST_SECONDS_AHEAD);
            if (times % 3 > 0) {
                assertThat(ahead()).as("the database's clock is ahead").isGreaterThan(3_000);
            }
            jump(times, "+0");
        });
    }

    private void jump(int times, String ahead) throws Exception {
        if (times % 3 != 1) {
            set(clockOfService, ahead);
        }
        if (times % 3 != 0) {
            set(clockOfDatabase, ahead);
        }
    }

    private long ahead() throws Exception {
        long database = Long.parseLong(SqlFixture.on(server.url("postgres"))
                .text("select extract(epoch from clock_timestamp())::bigint::text"));
        return database - System.currentTimeMillis() / 1_000;
    }
}
