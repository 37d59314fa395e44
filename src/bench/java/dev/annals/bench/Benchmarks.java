package dev.annals.bench;

import dev.annals.bench.micro.MicroPart;
import dev.annals.bench.ordering.OrderingPart;
import dev.annals.bench.ordering.TransactionPart;
import dev.annals.bench.pages.PagesPart;
import dev.annals.bench.scale.ScalePart;
import dev.annals.bench.search.SearchPart;
import dev.annals.bench.service.ClientStartPart;
import dev.annals.bench.service.ExportPart;
import dev.annals.bench.service.FairnessPart;
import dev.annals.bench.service.LivePart;
import dev.annals.bench.service.ProofPart;
import dev.annals.bench.service.RetentionPart;
import dev.annals.bench.service.ServicePart;
import dev.annals.bench.service.SlowCommitPart;
import dev.annals.bench.service.StartupPart;
import dev.annals.bench.service.StreamsPart;
import dev.annals.bench.service.TailPart;
import dev.annals.bench.storage.StoragePart;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** Runs the parts that the command line names, each on a fresh database, and writes the report. */
public final class Benchmarks {

    private static final List<Part> PARTS = List.of(
            new OrderingPart(),
            new TransactionPart(),
            new PagesPart(),
            new SearchPart(),
            new ServicePart(),
            new SlowCommitPart(),
            new FairnessPart(),
            new TailPart(),
            new LivePart(),
            new ExportPart(),
            new ProofPart(),
            new StreamsPart(),
            new RetentionPart(),
            new ScalePart(),
            new MicroPart(),
            new StoragePart(),
            new StartupPart(),
            new ClientStartPart());

    private static final Path REPORT = Path.of("target", "benchmarks.md");
    private static final Duration LIMIT = Duration.ofHours(5);

    private Benchmarks() {}

    /** Exit code 0: the report is written. */
    public static void main(String... arguments) throws Exception {
        Locale.setDefault(Locale.ROOT);
        endAfter(LIMIT);
        Settings settings = Settings.fromSystemProperties();
        List<Part> chosen = settings.parts().stream().map(Benchmarks::part).toList();
        Report report = new Report(REPORT, PARTS.stream().map(Part::name).toList());
        try (BenchServer server = BenchServer.start()) {
            for (Part part : chosen) {
                Progress.say("== " + part.name());
                String body = part.run(server, settings);
                report.replace(part, Machine.describe(server, settings) + "\n\n" + body);
                Progress.say(body);
            }
        }
        // Mutiny's threads, which what is limited in time needs, do not end by themselves.
        System.exit(0);
    }

    private static Part part(String name) {
        return PARTS.stream()
                .filter(part -> part.name().equals(name.strip()))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("There is no part " + name + "; there are "
                        + PARTS.stream().map(Part::name).toList()));
    }

    private static void endAfter(Duration limit) {
        Thread watch = new Thread(() -> {
            try {
                TimeUnit.MILLISECONDS.sleep(limit.toMillis());
                Progress.say("The benchmarks take longer than " + limit.toMinutes() + " minutes; they are ended.");
                System.exit(2);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        watch.setDaemon(true);
        watch.start();
    }
}
