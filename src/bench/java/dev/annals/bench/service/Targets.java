package dev.annals.bench.service;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.bench.BenchDatabase;
import dev.annals.derived.proof.MasterKey;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;

/** Starts what is compared: the packaged service, and the endpoint with the published trigger. */
public final class Targets {

    static final String ANNALS = "**Annals**";
    static final String ENDPOINT = "one transaction per request, published trigger";

    /** A hundred, and one more that floods the service. */
    private static final int PROJECTS = 101;

    /** The projects of the variants with many. */
    static final int MANY_PROJECTS = 1_000;

    static final Path SERVICE = Path.of("target", "quarkus-app", "quarkus-run.jar");
    private static final String LOG_KEY = MasterKey.draw().secretText();
    private static final String ADMIN_TOKEN = "annals_admin_token_of_the_benchmarks";

    private final BenchDatabase database;
    private final HttpClient client = HttpClient.newHttpClient();

    /** Services on this database. */
    public Targets(BenchDatabase database) {
        this.database = database;
    }

    /** The service, with projects and a token for each. */
    Target startAnnals(String... jvmOptions) throws IOException, InterruptedException {
        return withProjects(start(environment(), jvmOptions), PROJECTS);
    }

    /** The same with {@link #MANY_PROJECTS}. */
    Target startAnnalsOfMany() throws IOException, InterruptedException {
        return withProjects(start(environment()), MANY_PROJECTS);
    }

    /** The service with projects that are there, and a token for each. */
    public Target startAnnalsOf(List<String> tokens) throws IOException, InterruptedException {
        return new Target(ANNALS, start(environment()), tokens);
    }

    /** The seconds that a command of the program takes on the database, from start to success. */
    public double secondsOf(String command) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-jar",
                SERVICE.toString(),
                command);
        builder.environment().keySet().removeIf(variable -> variable.startsWith("ANNALS_"));
        builder.environment().put("ANNALS_DATABASE_URL", database.url().withPassword());
        Path log = Path.of("target", "bench-" + command + ".log");
        long begin = System.nanoTime();
        int code = builder.redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start()
                .waitFor();
        if (code != 0) {
            throw new IOException(command + " ended with " + code + ": " + Files.readString(log));
        }
        return (System.nanoTime() - begin) / 1e9;
    }

    /** The service with a setting of its own, and one project. */
    Target startAnnalsWith(String setting, String value) throws IOException, InterruptedException {
        Map<String, String> environment = new HashMap<>(environment());
        environment.put(setting, value);
        return withProjects(start(environment), 1);
    }

    /** The service with settings of its own, and two projects. */
    Target startAnnalsWith(Map<String, String> settings) throws IOException, InterruptedException {
        Map<String, String> environment = new HashMap<>(environment());
        environment.putAll(settings);
        return withProjects(start(environment), 2);
    }

    private static JavaProcess start(Map<String, String> environment, String... jvmOptions)
            throws IOException, InterruptedException {
        if (!Files.exists(SERVICE)) {
            throw new IOException(SERVICE + " is not there: mvn -DskipTests package makes it");
        }
        return JavaProcess.start(
                "annals",
                Stream.concat(Stream.of(jvmOptions), Stream.of("-jar", SERVICE.toString()))
                        .toList(),
                environment,
                "/q/health/ready");
    }

    /** The service, started by a command, with one project. */
    Target startAnnalsBy(List<String> command) throws IOException, InterruptedException {
        return withProjects(JavaProcess.startCommand("annals", command, environment(), "/q/health/ready"), 1);
    }

    private Map<String, String> environment() {
        return Map.of(
                "ANNALS_DATABASE_URL",
                database.url().withPassword(),
                "ANNALS_ADMIN_TOKEN",
                ADMIN_TOKEN,
                "ANNALS_PORT",
                JavaProcess.PORT,
                "ANNALS_MANAGEMENT_PORT",
                "0",
                "ANNALS_LOG_KEY",
                LOG_KEY,
                "JAVA_HOME",
                System.getProperty("java.home"));
    }

    private Target withProjects(JavaProcess process, int projects) throws IOException, InterruptedException {
        try {
            List<String> tokens = new ArrayList<>();
            for (int i = 0; i < projects; i++) {
                String project =
                        administer(process, "/v1/projects", "{\"name\": \"project " + UUID.randomUUID() + "\"}", "id");
                tokens.add(administer(
                        process,
                        "/v1/projects/" + project + "/tokens",
                        "{\"scopes\": [\"read\", \"write\", \"stream\"]}",
                        "token"));
            }
            return new Target(ANNALS, process, tokens);
        } catch (IOException | InterruptedException | RuntimeException e) {
            process.close();
            throw e;
        }
    }

    /** The endpoint; its projects need no more than a name. */
    Target startEndpoint() throws IOException, InterruptedException {
        JavaProcess process = JavaProcess.start(
                "endpoint",
                List.of("-classpath", System.getProperty("java.class.path"), PublishedTriggerEndpoint.class.getName()),
                Map.of(
                        PublishedTriggerEndpoint.URL,
                        database.url().withPassword(),
                        PublishedTriggerEndpoint.LISTEN,
                        JavaProcess.PORT),
                "/ready");
        return new Target(
                ENDPOINT,
                process,
                Stream.generate(() -> UUID.randomUUID().toString())
                        .limit(MANY_PROJECTS)
                        .toList());
    }

    /** Sets the limits of one of the projects, and waits until they count. */
    static void limit(Target target, int project, String limits) throws IOException, InterruptedException {
        String whoAmI = send(target, "GET", "/v1/whoami", target.tokens().get(project), "");
        String id = new ObjectMapper().readTree(whoAmI).at("/project/id").asText();
        send(target, "PUT", "/v1/projects/" + id + "/limits", ADMIN_TOKEN, limits);
    }

    private static String send(Target target, String method, String path, String token, String body)
            throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + target.port() + path))
                .header("Authorization", "Bearer " + token)
                .header("Content-Type", "application/json")
                .timeout(Duration.ofSeconds(30))
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) {
            throw new IOException(path + " answers " + answer.statusCode() + ": " + answer.body());
        }
        return answer.body();
    }

    private String administer(JavaProcess process, String path, String body, String field)
            throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + process.port() + path))
                .header("Authorization", "Bearer " + ADMIN_TOKEN)
                .header("Content-Type", "application/json")
                .timeout(Duration.ofSeconds(30))
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
        HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 201) {
            throw new IOException(path + " answers " + answer.statusCode() + ": " + answer.body());
        }
        return new ObjectMapper().readTree(answer.body()).get(field).asText();
    }
}
