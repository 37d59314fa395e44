package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.Await;
import dev.annals.Ports;
import dev.annals.kernel.database.DatabaseUrl;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Two nodes of PostgreSQL under Patroni, etcd and HAProxy, as processes of this machine, with the configuration in {@code
 * docker/patroni}. {@code .ci/check-failover} installs the programs.
 */
final class PatroniCluster implements AutoCloseable {

    private static final Path CONFIGURATION = Path.of("docker", "patroni").toAbsolutePath();
    private static final String PASSWORD = "secret";
    private static final ObjectMapper JSON = new ObjectMapper();

    private final HttpClient http =
            HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(2)).build();
    private final Path tools;
    private final Path directory;
    private final Path configuration;
    private final int etcdPort = Ports.free();
    private final List<Node> nodes = List.of(new Node("node1"), new Node("node2"));
    private final List<Process> others = new ArrayList<>();
    private final int primaryPort = Ports.free();
    private final int standbysPort = Ports.free();

    /** A node: Patroni and its PostgreSQL. */
    final class Node {
        private final String name;
        private final int port = Ports.free();
        private final int healthPort = Ports.free();
        private Process patroni;

        private Node(String name) {
            this.name = name;
        }

        private Path data() {
            return directory.resolve(name);
        }

        void start() throws IOException {
            ProcessBuilder builder = new ProcessBuilder(
                    // As root PostgreSQL refuses to run.
                    "unshare", "--user", tools.resolve("patroni/bin/patroni").toString(), configuration.toString());
            builder.environment()
                    .putAll(Map.ofEntries(
                            Map.entry("PATRONI_NAME", name),
                            Map.entry("PATRONI_RESTAPI_LISTEN", "127.0.0.1:" + healthPort),
                            Map.entry("PATRONI_RESTAPI_CONNECT_ADDRESS", "127.0.0.1:" + healthPort),
                            Map.entry("PATRONI_RESTAPI_USERNAME", "patroni"),
                            Map.entry("PATRONI_RESTAPI_PASSWORD", PASSWORD),
                            Map.entry("PATRONI_POSTGRESQL_LISTEN", "127.0.0.1:" + port),
                            Map.entry("PATRONI_POSTGRESQL_CONNECT_ADDRESS", "127.0.0.1:" + port),
                            Map.entry("PATRONI_POSTGRESQL_DATA_DIR", data().toString()),
                            Map.entry("PATRONI_POSTGRESQL_BIN_DIR", System.getProperty("failover.postgres")),
                            Map.entry(
                                    "PATRONI_POSTGRESQL_PGPASS",
                                    directory.resolve(name + ".pgpass").toString()),
                            Map.entry("PATRONI_SUPERUSER_USERNAME", "annals"),
                            Map.entry("PATRONI_SUPERUSER_PASSWORD", PASSWORD),
                            Map.entry("PATRONI_REPLICATION_USERNAME", "standby"),
                            Map.entry("PATRONI_REPLICATION_PASSWORD", PASSWORD),
                            Map.entry("PATRONI_ETCD3_HOSTS", "127.0.0.1:" + etcdPort)));
            patroni = run(builder, name);
        }

        /** As if its machine had lost its power. */
        void kill() throws Exception {
            // Stopped first: nothing starts a process in between that would be left.
            freeze();
            List<ProcessHandle> all = processes();
            all.forEach(ProcessHandle::destroyForcibly);
            for (ProcessHandle process : all) {
                process.onExit().get(30, TimeUnit.SECONDS);
            }
        }

        void freeze() throws Exception {
            // A process that was started just before may not be listed yet.
            List<ProcessHandle> known = List.of();
            for (List<ProcessHandle> all = processes(); !all.equals(known); all = processes()) {
                signal("STOP", all);
                known = all;
            }
        }

        void thaw() throws Exception {
            signal("CONT", processes());
        }

        /** From now on this node, the primary, sends nothing of what is committed. */
        void stopSending() throws Exception {
            List<ProcessHandle> senders = new ArrayList<>();
            for (ProcessHandle process : processes()) {
                Path title = Path.of("/proc", Long.toString(process.pid()), "cmdline");
                if (Files.exists(title) && Files.readString(title).contains("walsender")) {
                    senders.add(process);
                }
            }
            assertThat(senders).as("what sends the log").isNotEmpty();
            signal("STOP", senders);
        }

        private void signal(String signal, List<ProcessHandle> processes) throws Exception {
            List<String> command = new ArrayList<>(List.of("kill", "-" + signal));
            processes.forEach(process -> command.add(Long.toString(process.pid())));
            // One of them may have ended in the meantime.
            new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(log("kill"))
                    .start()
                    .waitFor();
        }

        private List<ProcessHandle> processes() throws IOException {
            List<ProcessHandle> all = new ArrayList<>();
            Stream.concat(Stream.of(patroni.toHandle()), patroni.toHandle().descendants())
                    .forEach(all::add);
            Path postmaster = data().resolve("postmaster.pid");
            if (Files.exists(postmaster)) {
                long id = Long.parseLong(Files.readAllLines(postmaster).get(0).strip());
                ProcessHandle.of(id)
                        .filter(process -> process.info().command().orElse("").endsWith("postgres"))
                        .ifPresent(process -> Stream.concat(Stream.of(process), process.descendants())
                                .forEach(all::add));
            }
            return all;
        }

        DatabaseUrl.Server server() {
            return new DatabaseUrl.Server("127.0.0.1", port);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private PatroniCluster(Path tools, Path directory, Path configuration) {
        this.tools = tools;
        this.directory = directory;
        this.configuration = configuration;
    }

    /** Starts all of it, and waits until one node follows the other. */
    static PatroniCluster start(Path tools, Path directory, boolean synchronous) throws Exception {
        String text = Files.readString(CONFIGURATION.resolve("patroni.yml"));
        assertThat(text).contains("synchronous_mode: true");
        Path configuration = Files.writeString(
                directory.resolve("patroni.yml"),
                synchronous ? text : text.replace("synchronous_mode: true", "synchronous_mode: false"));
        PatroniCluster cluster = new PatroniCluster(tools, directory, configuration);
        try {
            cluster.startAll(synchronous);
        } catch (Exception | AssertionError e) {
            cluster.close();
            throw e;
        }
        return cluster;
    }

    private void startAll(boolean synchronous) throws Exception {
        String etcd = "http://127.0.0.1:" + etcdPort;
        String peers = "http://127.0.0.1:" + Ports.free();
        others.add(run(
                new ProcessBuilder(
                        tools.resolve("usr/bin/etcd").toString(),
                        "--data-dir=" + directory.resolve("etcd"),
                        "--listen-client-urls=" + etcd,
                        "--advertise-client-urls=" + etcd,
                        "--listen-peer-urls=" + peers,
                        "--initial-advertise-peer-urls=" + peers,
                        "--initial-cluster=default=" + peers),
                "etcd"));
        nodes.get(0).start();
        awaitLeader();
        nodes.get(1).start();
        ProcessBuilder haproxy = new ProcessBuilder(
                tools.resolve("usr/sbin/haproxy").toString(),
                "-db",
                "-f",
                CONFIGURATION.resolve("haproxy.cfg").toString());
        haproxy.environment()
                .put(
                        "LD_LIBRARY_PATH",
                        tools.resolve("usr/lib/x86_64-linux-gnu").toString());
        haproxy.environment().put("PRIMARY_LISTEN", "127.0.0.1:" + primaryPort);
        haproxy.environment().put("STANDBYS_LISTEN", "127.0.0.1:" + standbysPort);
        for (int i = 0; i < nodes.size(); i++) {
            haproxy.environment().put("NODE" + (i + 1), nodes.get(i).server().toString());
            haproxy.environment().put("NODE" + (i + 1) + "_HEALTH", Integer.toString(nodes.get(i).healthPort));
        }
        others.add(run(haproxy, "haproxy"));
        awaitWhole(synchronous);
    }

    private Process run(ProcessBuilder builder, String name) throws IOException {
        return builder.directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log(name))
                .start();
    }

    private ProcessBuilder.Redirect log(String name) {
        return ProcessBuilder.Redirect.appendTo(directory.resolve(name + ".log").toFile());
    }

    /** The nodes as one database that finds its primary by itself. */
    DatabaseUrl url() {
        return url(nodes.stream().map(Node::server).toList());
    }

    /** The primary as HAProxy shows it. */
    DatabaseUrl proxied() {
        return url(List.of(new DatabaseUrl.Server("127.0.0.1", primaryPort)));
    }

    private static DatabaseUrl url(List<DatabaseUrl.Server> servers) {
        return new DatabaseUrl("annals", PASSWORD, servers, "postgres", Map.of("sslmode", "disable"));
    }

    /** Waits until a node is the primary. */
    Node awaitLeader() throws Exception {
        List<Node> leaders = new ArrayList<>();
        Await.until("one of the nodes is the primary", () -> {
            leaders.clear();
            for (Node node : nodes) {
                if (node.patroni != null && status(node, "/primary") == 200) {
                    leaders.add(node);
                }
            }
            return leaders.size() == 1;
        });
        return leaders.get(0);
    }

    /** Waits until the other node follows the primary, and commits wait for it where they should. */
    void awaitWhole(boolean synchronous) throws Exception {
        Node leader = awaitLeader();
        String following = synchronous ? "sync_standby" : "replica";
        Await.until("the other node follows as " + following, () -> {
            HttpResponse<String> answer = http.send(
                    HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + leader.healthPort + "/cluster"))
                            .timeout(Duration.ofSeconds(2))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
            int found = 0;
            for (JsonNode member : JSON.readTree(answer.body()).path("members")) {
                found += member.path("role").asText().equals(following)
                                && member.path("state").asText().equals("streaming")
                        ? 1
                        : 0;
            }
            return found == nodes.size() - 1;
        });
    }

    /** Asks for the other node to become the primary. */
    void switchOver() throws Exception {
        Node leader = awaitLeader();
        String login = Base64.getEncoder().encodeToString(("patroni:" + PASSWORD).getBytes(StandardCharsets.UTF_8));
        HttpResponse<String> answer = http.send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + leader.healthPort + "/switchover"))
                        .timeout(Duration.ofSeconds(60))
                        .header("Authorization", "Basic " + login)
                        .POST(HttpRequest.BodyPublishers.ofString("{\"leader\": \"" + leader + "\"}"))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    }

    private int status(Node node, String path) throws InterruptedException {
        try {
            return http.send(
                            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + node.healthPort + path))
                                    .timeout(Duration.ofSeconds(2))
                                    .build(),
                            HttpResponse.BodyHandlers.discarding())
                    .statusCode();
        } catch (IOException e) {
            return 0;
        }
    }

    @Override
    public void close() {
        for (Node node : nodes) {
            if (node.patroni != null) {
                try {
                    node.kill();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            }
        }
        others.forEach(process -> process.destroyForcibly().onExit().join());
    }
}
