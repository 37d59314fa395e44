package dev.annals.bench.service;

import dev.annals.bench.Progress;
import dev.annals.bench.Rates;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.util.List;
import java.util.function.Supplier;

/** Pages of a feed, and polls that find nothing new. */
final class Reads {

    private static final int PAGE = 200;
    private static final int BATCH = 1000;

    private final Target annals;
    private final Settings settings;

    Reads(Target annals, Settings settings) {
        this.annals = annals;
        this.settings = settings;
    }

    String run() throws Exception {
        // A project that no other load writes to.
        String token = annals.tokens().get(1);
        int records = settings.choose(5_000, 20_000);
        Target reader = new Target(annals.name(), annals.process(), List.of(token));
        long head = write(reader, records);
        Table table = new Table("reads, one project", "requests/s", "lowest – highest");
        LoadClient.closedLoop(annals, 16, Calls.pages(token, head, PAGE), settings.warmUp());
        for (int connections : List.of(1, 16)) {
            addRow(table, "pages of " + PAGE, connections, Calls.pages(token, head, PAGE));
        }
        LoadClient.closedLoop(annals, 16, Calls.emptyPolls(token, head), settings.warmUp());
        for (int connections : List.of(1, 16, 64)) {
            addRow(table, "empty polls", connections, Calls.emptyPolls(token, head));
        }
        return "\n" + table;
    }

    private static long write(Target target, int records) throws InterruptedException {
        Supplier<HttpCall> batches = Calls.batches(target, BATCH);
        long head = 0;
        for (int written = 0; written < records; written += BATCH) {
            head = LoadClient.lastSequenceId(target, batches.get());
        }
        return head;
    }

    private void addRow(Table table, String kind, int connections, Supplier<HttpCall> calls) throws Exception {
        String title = kind + ", " + connections + (connections == 1 ? " connection" : " connections");
        Progress.say(title);
        Rates rates = Rates.ofRounds(
                List.of(title),
                settings.rounds(),
                load -> LoadClient.closedLoop(annals, connections, calls, settings.measurement()));
        table.row(title, String.format("%,.0f", rates.median(title)), rates.range(title));
    }
}
