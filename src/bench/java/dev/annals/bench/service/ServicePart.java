package dev.annals.bench.service;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Settings;
import dev.annals.bench.ordering.Variant;

/** The packaged service as a process, beside an endpoint that runs one transaction a request. */
public final class ServicePart implements Part {

    @Override
    public String name() {
        return "service";
    }

    @Override
    public String title() {
        return "Service: records over HTTP";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        StringBuilder text = new StringBuilder("""
                The packaged service with its default settings, durable, loaded over HTTP/1.1 from one thread of the benchmark.
                Beside it, on the same database, an endpoint made for the benchmark, with the same HTTP server and PostgreSQL
                client. It runs one transaction per request with the published trigger, checks no token, and does not return the
                number of the record.
                """);
        try (BenchDatabase database = server.createDatabase("annals_bench_service")) {
            database.migrate();
            Variant.PUBLISHED.create(database);
            Targets targets = new Targets(database);
            try (Target annals = targets.startAnnalsOfMany();
                    Target endpoint = targets.startEndpoint()) {
                text.append(new Posts(annals, endpoint, settings).oneAndManyProjects());
                text.append(new Latency(annals, endpoint, settings).run());
                text.append(new Bulk(annals, settings).run());
                text.append(new Reads(annals, settings).run());
            }
            text.append(new Memory(targets, settings).run());
        }
        return text.toString();
    }
}
