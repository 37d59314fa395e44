package dev.annals.bench.service;

import dev.annals.bench.Progress;
import dev.annals.bench.Rates;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.util.List;

/** Requests of one record each, from connections that send the next one after an answer. */
final class Posts {

    private final Target annals;
    private final Target endpoint;
    private final Settings settings;

    Posts(Target annals, Target endpoint, Settings settings) {
        this.annals = annals;
        this.endpoint = endpoint;
        this.settings = settings;
    }

    String oneAndManyProjects() throws Exception {
        warmUp();
        Table table = table();
        for (int projects : List.of(1, 100)) {
            for (int connections : settings.choose(List.of(64), List.of(1, 16, 64, 256))) {
                addRow(table, connections, projects);
            }
        }
        return "\n" + table;
    }

    String oneProject() throws Exception {
        warmUp();
        Table table = table();
        for (int connections : settings.choose(List.of(64), List.of(16, 64, 256))) {
            addRow(table, connections, 1);
        }
        return "\n" + table;
    }

    private void warmUp() throws InterruptedException {
        for (Target target : List.of(annals, endpoint)) {
            LoadClient.closedLoop(target, 64, Calls.single(target, 1), settings.warmUp());
        }
    }

    private static Table table() {
        return new Table(
                "one record per request", Targets.ANNALS + ", requests/s", "published trigger, requests/s", "ratio");
    }

    private void addRow(Table table, int connections, int projects) throws Exception {
        String load = connections
                + (connections == 1 ? " connection, " : " connections, ")
                + projects
                + (projects == 1 ? " project" : " projects");
        Progress.say(load);
        Rates rates = Rates.ofRounds(
                List.of(annals, endpoint),
                settings.rounds(),
                target -> LoadClient.closedLoop(
                        target, connections, Calls.single(target, projects), settings.measurement()));
        table.row(
                load,
                String.format("%,.0f", rates.median(annals)),
                String.format("%,.0f", rates.median(endpoint)),
                String.format("%.2f", rates.ratio(annals, endpoint)));
    }
}
