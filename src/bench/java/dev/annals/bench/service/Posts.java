package dev.annals.bench.service;

import dev.annals.bench.Progress;
import dev.annals.bench.Rates;
import dev.annals.bench.Settings;
import dev.annals.bench.Table;
import java.util.List;
import java.util.stream.Stream;

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

    /** The rounds of all numbers of projects take turns, so that these can be compared, too. */
    String oneAndManyProjects() throws Exception {
        warmUp();
        Table table = new Table(
                "one record per request",
                Targets.ANNALS + ", requests/s",
                "to one project",
                "published trigger, requests/s",
                "to published");
        for (int connections : settings.choose(List.of(64), List.of(1, 16, 64, 256))) {
            Rates rates = measure(connections, List.of(1, 100, Targets.MANY_PROJECTS));
            Load one = new Load(annals, connections, 1);
            for (int projects : List.of(1, 100, Targets.MANY_PROJECTS)) {
                Load ours = new Load(annals, connections, projects);
                Load published = new Load(endpoint, connections, projects);
                table.row(
                        ours.text(),
                        String.format("%,.0f", rates.median(ours)),
                        String.format("%.2f", rates.ratio(ours, one)),
                        String.format("%,.0f", rates.median(published)),
                        String.format("%.2f", rates.ratio(ours, published)));
            }
        }
        return "\n" + table;
    }

    String oneProject() throws Exception {
        warmUp();
        Table table = new Table(
                "one record per request", Targets.ANNALS + ", requests/s", "published trigger, requests/s", "ratio");
        for (int connections : settings.choose(List.of(64), List.of(16, 64, 256))) {
            Rates rates = measure(connections, List.of(1));
            Load ours = new Load(annals, connections, 1);
            Load published = new Load(endpoint, connections, 1);
            table.row(
                    ours.text(),
                    String.format("%,.0f", rates.median(ours)),
                    String.format("%,.0f", rates.median(published)),
                    String.format("%.2f", rates.ratio(ours, published)));
        }
        return "\n" + table;
    }

    private record Load(Target target, int connections, int projects) {

        String text() {
            return connections
                    + (connections == 1 ? " connection, " : " connections, ")
                    + String.format("%,d", projects)
                    + (projects == 1 ? " project" : " projects");
        }

        @Override
        public String toString() {
            return target + ": " + text();
        }
    }

    private Rates measure(int connections, List<Integer> projects) throws Exception {
        Progress.say(connections + " connections");
        List<Load> loads = projects.stream()
                .flatMap(count ->
                        Stream.of(new Load(annals, connections, count), new Load(endpoint, connections, count)))
                .toList();
        return Rates.ofRounds(
                loads,
                settings.rounds(),
                load -> LoadClient.closedLoop(
                        load.target(),
                        load.connections(),
                        Calls.single(load.target(), load.projects()),
                        settings.measurement()));
    }

    private void warmUp() throws InterruptedException {
        for (Target target : List.of(annals, endpoint)) {
            LoadClient.closedLoop(target, 64, Calls.single(target, 1), settings.warmUp());
        }
    }
}
