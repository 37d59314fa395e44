package dev.annals.bench.service;

import dev.annals.bench.Rates;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.util.List;

/** Many records a request, into one project. */
final class Bulk {

    private static final int BATCH = 1000;
    private static final int WARM_UPS = 2;

    private final Target annals;
    private final Settings settings;

    Bulk(Target annals, Settings settings) {
        this.annals = annals;
        this.settings = settings;
    }

    String run() throws Exception {
        Table table = new Table("many records per request, one project", "records/s", "lowest – highest");
        LoadClient.closedLoop(annals, 4, Calls.batches(annals, BATCH), settings.warmUp());
        for (int connections : List.of(1, 4)) {
            String title =
                    "batches of " + BATCH + ", " + connections + (connections == 1 ? " connection" : " connections");
            Rates rates = Rates.ofRounds(
                    List.of(title),
                    settings.rounds(),
                    load -> BATCH
                            * LoadClient.closedLoop(
                                    annals, connections, Calls.batches(annals, BATCH), settings.measurement()));
            table.row(title, String.format("%,.0f", rates.median(title)), rates.range(title));
        }
        addNdjson(table);
        return "\n" + table;
    }

    private void addNdjson(Table table) throws Exception {
        NdjsonUpload upload =
                new NdjsonUpload(annals, annals.tokens().get(annals.tokens().size() - 1));
        long records = settings.choose(50_000L, 200_000L);
        for (int i = 0; i < WARM_UPS; i++) {
            upload.rate(records / 2);
        }
        String title = String.format("NDJSON, one request of %,d records", records);
        Rates rates = Rates.ofRounds(List.of(title), settings.rounds(), load -> upload.rate(records));
        table.row(title, String.format("%,.0f", rates.median(title)), rates.range(title));
    }
}
