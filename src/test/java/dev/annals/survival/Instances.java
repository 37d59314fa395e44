package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.ServiceProcess;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Instances of the service on one database, behind what hands requests to one after the other. */
final class Instances implements AutoCloseable {

    static final String ADMIN = "a-token-for-administration";
    private static final Path MANIFEST = Path.of("docker/kubernetes/deployment.yaml");

    /** Of each instance. */
    private final List<Map<String, String>> settings;

    private final List<ServiceProcess> serving = new CopyOnWriteArrayList<>();
    private final AtomicInteger next = new AtomicInteger();

    private Instances(List<Map<String, String>> settings) {
        this.settings = settings;
    }

    /** Starts so many, each with these settings. */
    static Instances start(int count, Map<String, String> settings) throws Exception {
        return start(Collections.nCopies(count, settings));
    }

    /** Starts one with each of these settings. */
    static Instances start(List<Map<String, String>> settings) throws Exception {
        Instances instances = new Instances(settings);
        for (int i = 0; i < settings.size(); i++) {
            instances.serving.add(instances.startOne(i, Map.of()));
        }
        return instances;
    }

    private ServiceProcess startOne(int index, Map<String, String> more) throws IOException {
        Map<String, String> all = new HashMap<>(settings.get(index));
        all.put("ANNALS_ADMIN_TOKEN", ADMIN);
        all.putAll(more);
        return ServiceProcess.start(all).awaitListening();
    }

    /** An address of the next instance, in turns, as a proxy chooses it. */
    URI uri() {
        List<ServiceProcess> all = List.copyOf(serving);
        return all.get(Math.floorMod(next.getAndIncrement(), all.size())).uri("");
    }

    /** Clients of a new project, who are still to start. */
    Clients clients() throws Exception {
        Project project = serving.get(0).newProject(ADMIN, "read", "write");
        return new Clients(this::uri, project);
    }

    /** Ends one as kill -9 does, and starts another. Requests are handed to its place meanwhile, too. */
    void crash(int index) throws Exception {
        kill(index);
        restart(index);
    }

    /** Ends one as kill -9 does. */
    void kill(int index) {
        serving.get(index).close();
    }

    /** Starts another in its place. */
    void restart(int index) throws IOException {
        serving.set(index, startOne(index, Map.of()));
    }

    ServiceProcess get(int index) {
        return serving.get(index);
    }

    void freeze(int index) throws Exception {
        signal("STOP", index);
    }

    void thaw(int index) throws Exception {
        signal("CONT", index);
    }

    private void signal(String name, int index) throws Exception {
        String id = Long.toString(serving.get(index).process().pid());
        assertThat(new ProcessBuilder("kill", "-" + name, id).start().waitFor()).isZero();
    }

    /**
     * As docker/kubernetes/deployment.yaml has it done: the new one says that it has started and is ready, the old one is taken out
     * of the proxy while it still answers, is told to stop after the pause, and has to end within what is left of the time that it
     * is given.
     *
     * @param more settings of the new one
     */
    void replace(int index, Map<String, String> more) throws Exception {
        ServiceProcess started = startOne(index, more);
        awaitProbe(started, "startupProbe");
        awaitProbe(started, "readinessProbe");
        serving.add(started);
        ServiceProcess old = serving.remove(index);
        int pause = manifestNumber("preStop:.*?seconds");
        TimeUnit.SECONDS.sleep(pause);
        assertThat(probe(old, "livenessProbe")).isEqualTo(200);
        long told = System.nanoTime();
        old.process().destroy();
        assertThat(old.awaitEnd()).isIn(0, 143);
        assertThat(Duration.ofNanos(System.nanoTime() - told))
                .isLessThan(Duration.ofSeconds(manifestNumber("terminationGracePeriodSeconds") - pause));
    }

    private static void awaitProbe(ServiceProcess service, String name) throws Exception {
        Await.until(name, () -> probe(service, name) == 200);
    }

    /** The status, or 0 where there is no answer in time. */
    private static int probe(ServiceProcess service, String name) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(service.uri(inManifest(name + ":.*?path: (\\S+)")))
                .timeout(Duration.ofSeconds(5))
                .build();
        try {
            return HttpClient.newHttpClient()
                    .send(request, BodyHandlers.discarding())
                    .statusCode();
        } catch (HttpTimeoutException e) {
            return 0;
        }
    }

    private static int manifestNumber(String key) throws IOException {
        return Integer.parseInt(inManifest(key + ": (\\d+)"));
    }

    private static String inManifest(String pattern) throws IOException {
        Matcher found = Pattern.compile(pattern, Pattern.DOTALL).matcher(Files.readString(MANIFEST));
        assertThat(found.find()).as("%s in %s", pattern, MANIFEST).isTrue();
        return found.group(1);
    }

    @Override
    public void close() {
        serving.forEach(ServiceProcess::close);
    }
}
