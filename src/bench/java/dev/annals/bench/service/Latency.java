package dev.annals.bench.service;

import dev.annals.bench.Progress;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.time.Duration;
import java.util.List;

/** The latency of requests that arrive at a fixed rate, whether or not earlier ones are answered. */
final class Latency {

    private static final int CONNECTIONS = 256;

    private final Target annals;
    private final Target endpoint;
    private final Settings settings;

    Latency(Target annals, Target endpoint, Settings settings) {
        this.annals = annals;
        this.endpoint = endpoint;
        this.settings = settings;
    }

    String run() throws InterruptedException {
        Table table = new Table(
                "one record per request, one project, at a fixed rate",
                "median, ms",
                "90 %",
                "99 %",
                "99.9 %",
                "longest",
                "failed");
        Duration duration = settings.measurement().multipliedBy(settings.rounds());
        for (int perSecond : settings.choose(List.of(200, 500), List.of(200, 500, 1000, 2000))) {
            for (Target target : List.of(annals, endpoint)) {
                String title = target + ", " + perSecond + " requests/s";
                Progress.say(title);
                Latencies latencies =
                        LoadClient.openLoop(target, CONNECTIONS, perSecond, Calls.single(target, 1), duration);
                table.row(
                        title,
                        milliseconds(latencies, 0.5),
                        milliseconds(latencies, 0.9),
                        milliseconds(latencies, 0.99),
                        milliseconds(latencies, 0.999),
                        milliseconds(latencies, 1),
                        String.format("%,d", latencies.unanswered()));
            }
        }
        return "\nLatency counts from when a request was due, not from when it could be sent; up to " + CONNECTIONS
                + " connections.\n\n" + table;
    }

    private static String milliseconds(Latencies latencies, double share) {
        double milliseconds = latencies.percentile(share);
        return Double.isInfinite(milliseconds) ? "never" : String.format("%,.1f", milliseconds);
    }
}
