package dev.annals.bench.service;

import dev.annals.bench.Progress;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** The memory of the service while a long body streams in. */
final class Memory {

    private static final long SAMPLE_MILLIS = 50;

    private final Targets targets;
    private final Settings settings;

    Memory(Targets targets, Settings settings) {
        this.targets = targets;
        this.settings = settings;
    }

    String run() throws IOException, InterruptedException {
        long bytes = settings.choose(50_000_000L, 1_000_000_000L);
        Table table = new Table(
                String.format("one NDJSON body of %,d MB", bytes / 1_000_000),
                "resident before, MB",
                "highest during, MB",
                "records/s");
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        for (List<String> command : List.of(
                List.of(java, "-jar", Targets.SERVICE.toString()),
                List.of(java, "-Xmx256m", "-jar", Targets.SERVICE.toString()),
                List.of(StartupPart.RUN))) {
            String title =
                    "`" + String.join(" ", command).replace(java, "java").replace(Targets.SERVICE.getParent() + "/", "")
                            + "`";
            Progress.say(title);
            try (Target annals = targets.startAnnalsBy(command)) {
                NdjsonUpload upload = new NdjsonUpload(annals, annals.tokens().get(0));
                long before = annals.process().residentBytes();
                AtomicLong highest = new AtomicLong(before);
                double rate = uploadWatched(annals, upload, upload.recordsOf(bytes), highest);
                table.row(title, megabytes(before), megabytes(highest.get()), String.format("%,.0f", rate));
            }
        }
        return "\n" + table;
    }

    private static double uploadWatched(Target annals, NdjsonUpload upload, long records, AtomicLong highest)
            throws IOException {
        ScheduledExecutorService watch = Executors.newSingleThreadScheduledExecutor();
        try {
            var unused = watch.scheduleAtFixedRate(
                    () -> highest.accumulateAndGet(resident(annals), Math::max),
                    0,
                    SAMPLE_MILLIS,
                    TimeUnit.MILLISECONDS);
            return upload.rate(records);
        } finally {
            watch.shutdownNow();
        }
    }

    private static long resident(Target annals) {
        try {
            return annals.process().residentBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String megabytes(long bytes) {
        return String.format("%,.0f", bytes / 1e6);
    }
}
