package dev.annals.bench.service;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Progress;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/** Many projects with a record now and then, and one that floods the service. */
public final class FairnessPart implements Part {

    private static final int TRICKLING = 100;
    private static final int REQUESTS_PER_SECOND = 200;
    private static final int CONNECTIONS = 256;
    private static final int UPLOADS = 8;
    private static final long UPLOAD_RECORDS = 5_000;
    private static final int LIMIT = 2_000;
    /** Small enough for an upload to end with the measurement, however slow the limit makes it. */
    private static final long LIMITED_UPLOAD_RECORDS = 1_000;

    /** One measurement of the trickling projects. */
    private record Round(Latencies latencies, double floodedRecords) {}

    @Override
    public String name() {
        return "fairness";
    }

    @Override
    public String title() {
        return "Fairness: many projects beside one that floods the service";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        List<Round> alone = new ArrayList<>();
        List<Round> beside = new ArrayList<>();
        List<Round> limited = new ArrayList<>();
        try (BenchDatabase database = server.createDatabase("annals_bench_fairness")) {
            database.migrate();
            try (Target annals = new Targets(database).startAnnals()) {
                LoadClient.closedLoop(annals, 64, Calls.single(annals, TRICKLING), settings.warmUp());
                flooded(annals, settings, UPLOAD_RECORDS);
                for (int round = 0; round < settings.rounds(); round++) {
                    alone.add(new Round(trickle(annals, settings), 0));
                    beside.add(flooded(annals, settings, UPLOAD_RECORDS));
                    Targets.limit(annals, TRICKLING, "{\"records_per_second\": " + LIMIT + "}");
                    limited.add(flooded(annals, settings, LIMITED_UPLOAD_RECORDS));
                    Targets.limit(annals, TRICKLING, "{}");
                    Progress.say(String.format(
                            "  round %d  99 %%: %.1f ms alone, %.1f ms beside %,.0f records/s, %.1f ms beside %,.0f",
                            round + 1,
                            alone.get(round).latencies.percentile(0.99),
                            beside.get(round).latencies.percentile(0.99),
                            beside.get(round).floodedRecords,
                            limited.get(round).latencies.percentile(0.99),
                            limited.get(round).floodedRecords));
                }
            }
        }
        return describe(alone, beside, limited);
    }

    private static Latencies trickle(Target annals, Settings settings) throws InterruptedException {
        return LoadClient.openLoop(
                annals,
                CONNECTIONS,
                REQUESTS_PER_SECOND,
                Calls.single(annals, TRICKLING),
                settings.measurement().multipliedBy(2));
    }

    /** The trickling projects while another one sends NDJSON over several connections as fast as it is taken. */
    private static Round flooded(Target annals, Settings settings, long uploadRecords) throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        AtomicLong records = new AtomicLong();
        ExecutorService threads = Executors.newFixedThreadPool(UPLOADS);
        try {
            List<Future<?>> uploads = new ArrayList<>();
            for (int i = 0; i < UPLOADS; i++) {
                NdjsonUpload upload = new NdjsonUpload(annals, annals.tokens().get(TRICKLING));
                uploads.add(threads.submit(() -> {
                    while (!over.get()) {
                        upload.rate(uploadRecords);
                        records.addAndGet(uploadRecords);
                    }
                    return null;
                }));
            }
            long begin = System.nanoTime();
            Latencies latencies = trickle(annals, settings);
            double rate = records.get() * 1e9 / (System.nanoTime() - begin);
            over.set(true);
            for (Future<?> upload : uploads) {
                upload.get();
            }
            return new Round(latencies, rate);
        } finally {
            over.set(true);
            threads.shutdownNow();
        }
    }

    private static String describe(List<Round> alone, List<Round> beside, List<Round> limited) {
        Table table = new Table(
                TRICKLING + " projects, together " + REQUESTS_PER_SECOND + " records/s",
                "alone, ms",
                "beside the flood, ms",
                "ratio",
                "with a limit, ms",
                "ratio to alone");
        for (double share : List.of(0.5, 0.9, 0.99)) {
            table.row(
                    String.format("%.0f %% of the requests within", share * 100),
                    String.format("%,.1f", median(alone, share)),
                    String.format("%,.1f", median(beside, share)),
                    String.format("%.2f", ratio(alone, beside, share)),
                    String.format("%,.1f", median(limited, share)),
                    String.format("%.2f", ratio(alone, limited, share)));
        }
        double flood = middle(beside.stream().mapToDouble(Round::floodedRecords).toArray());
        double left = middle(limited.stream().mapToDouble(Round::floodedRecords).toArray());
        int failed =
                beside.stream().mapToInt(round -> round.latencies.unanswered()).sum();
        return String.format("""
                The packaged service with its default settings. %d projects get single records at a fixed rate; the flood is one
                more project to which %d connections send NDJSON, %,.0f records/s; with a limit of %,d records per second for that
                project, %,.0f. Latency counts from when a request was due.
                Requests that failed beside the flood: %d.

                %s""", TRICKLING, UPLOADS, flood, LIMIT, left, failed, table);
    }

    private static double ratio(List<Round> alone, List<Round> other, double share) {
        double[] ratios = new double[alone.size()];
        for (int round = 0; round < ratios.length; round++) {
            ratios[round] = other.get(round).latencies.percentile(share)
                    / alone.get(round).latencies.percentile(share);
        }
        return middle(ratios);
    }

    private static double median(List<Round> rounds, double share) {
        return middle(rounds.stream()
                .mapToDouble(round -> round.latencies.percentile(share))
                .toArray());
    }

    private static double middle(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
