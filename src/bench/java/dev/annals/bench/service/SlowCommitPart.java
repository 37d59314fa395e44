package dev.annals.bench.service;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.BenchServer;
import dev.annals.bench.Part;
import dev.annals.bench.Settings;
import dev.annals.bench.ordering.Variant;

/** Single records over HTTP where a commit takes as long as on a disk across a network. */
public final class SlowCommitPart implements Part {

    @Override
    public String name() {
        return "slow-commit";
    }

    @Override
    public String title() {
        return "Service: a commit of 1 ms";
    }

    @Override
    public String run(BenchServer server, Settings settings) throws Exception {
        try (BenchDatabase database = server.createDatabase("annals_bench_slow_commit")) {
            database.migrate();
            Variant.PUBLISHED.create(database);
            String name = database.url().database();
            database.execute("alter database " + name + " set commit_delay = 1000");
            database.execute("alter database " + name + " set commit_siblings = 0");
            Targets targets = new Targets(database);
            try (Target annals = targets.startAnnals();
                    Target endpoint = targets.startEndpoint()) {
                return """
                        One project, and the same service and endpoint as above; `commit_delay = 1000, commit_siblings = 0`.
                        """ + new Posts(annals, endpoint, settings).oneProject();
            }
        }
    }
}
