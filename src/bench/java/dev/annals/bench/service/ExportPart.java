package dev.annals.bench.service;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Rates;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Whole feeds over HTTP, in every format. */
public final class ExportPart implements Part {

    private static final String GZIP = "ndjson, gzip";
    private static final List<String> VARIANTS = List.of("ndjson", GZIP, "csv", "cloudevents", "ocsf");

    @Override
    public String name() {
        return "export";
    }

    @Override
    public String title() {
        return "Export: whole feeds over HTTP";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        int records = settings.choose(50_000, 1_000_000);
        Table table = new Table("format", "records/s", "lowest – highest", "bytes per record");
        try (BenchDatabase database = server.createDatabase("annals_bench_export")) {
            database.migrate();
            try (Target annals = new Targets(database).startAnnals()) {
                String token = annals.tokens().get(0);
                new NdjsonUpload(annals, token).rate(records);
                for (String variant : VARIANTS) {
                    read(annals, token, variant, Math.max(0, records - 50_000));
                }
                Map<String, Long> bytes = new HashMap<>();
                Rates rates = Rates.ofRounds(VARIANTS, settings.rounds(), variant -> {
                    long begin = System.nanoTime();
                    bytes.put(variant, read(annals, token, variant, 0));
                    return records * 1e9 / (System.nanoTime() - begin);
                });
                for (String variant : VARIANTS) {
                    table.row(
                            variant,
                            String.format("%,.0f", rates.median(variant)),
                            rates.range(variant),
                            String.format("%,d", bytes.get(variant) / records));
                }
            }
        }
        return String.format("""
                One feed of %,d records, exported by the packaged service with its default settings to one client that drops
                what it reads.

                %s""", records, table);
    }

    /** Reads an export to its end, and returns how many bytes came over the network. */
    private static long read(Target annals, String token, String variant, int cursor) throws IOException {
        String format = variant.equals(GZIP) ? "ndjson" : variant;
        URI uri = URI.create("http://127.0.0.1:" + annals.port() + "/v1/project-logs/export?format=" + format
                + (cursor == 0 ? "" : "&cursor=" + cursor));
        HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
        connection.setConnectTimeout(10_000);
        connection.setReadTimeout(60_000);
        connection.setRequestProperty("Authorization", "Bearer " + token);
        connection.setRequestProperty("Accept-Encoding", variant.equals(GZIP) ? "gzip" : "identity");
        try (InputStream body = connection.getInputStream()) {
            byte[] part = new byte[1 << 16];
            long bytes = 0;
            for (int length = body.read(part); length >= 0; length = body.read(part)) {
                bytes += length;
            }
            return bytes;
        }
    }
}
