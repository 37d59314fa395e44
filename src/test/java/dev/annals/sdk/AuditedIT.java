package dev.annals.sdk;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Ports;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The examples of {@code examples/audited} in applications of Quarkus and Spring, against the packaged service. */
@Slow
@TakesLong
@Timeout(600)
class AuditedIT extends ClientProcess {

    private static final Path EXAMPLES = Path.of("examples", "audited");
    private static final Path APPLICATIONS = Path.of("src", "test", "writer", "audited");

    @Test
    void eachCallInQuarkusIsARecord() throws Exception {
        Project project = service.newProject();
        copy("quarkus");
        unpack(SdkProgram.writerJar(), folder.resolve("client"));
        String quarkus = quarkusVersion();
        need(new ProcessBuilder("sh", "-c", "command -v mvn").start().waitFor() == 0, "mvn");
        run(
                List.of(
                        "mvn",
                        "--batch-mode",
                        "--quiet",
                        "-Dquarkus.version=" + quarkus,
                        "resources:resources",
                        "compiler:compile",
                        "io.quarkus:quarkus-maven-plugin:" + quarkus + ":build"),
                project,
                Map.of());

        int port = Ports.free();
        start(
                List.of(
                        SdkProgram.javaCommand(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-jar",
                        "target/quarkus-app/quarkus-run.jar"),
                project,
                Map.of("QUARKUS_HTTP_PORT", Integer.toString(port), "QUARKUS_HTTP_HOST", "127.0.0.1"));
        Await.until("the application listens", () -> output().contains("Listening on"));
        URI volumes = URI.create("http://127.0.0.1:" + port + "/volumes/");
        assertThat(put(volumes.resolve("cache"), "u-cache")).isEqualTo(200);
        assertThat(put(volumes.resolve("bad"), "u-bad")).isEqualTo(400);
        assertThat(put(volumes.resolve("late"), "u-late")).isEqualTo(500);
        process.destroy();
        awaitEnd();

        assertRecorded(project);
    }

    @Test
    void eachCallInSpringIsARecord() throws Exception {
        Project project = service.newProject();
        List<Path> sources = copy("spring");
        List<Path> libraries = new ArrayList<>(List.of(folder, SdkProgram.writerJar()));
        libraries.addAll(SdkProgram.libraries(folder));
        String classPath = String.join(
                File.pathSeparator, libraries.stream().map(Path::toString).toList());
        List<String> compile = new ArrayList<>(List.of(
                "--release", "17", "-parameters", "-proc:none", "-Xlint:all,-classfile", "-Werror", "-cp", classPath));
        compile.addAll(List.of("-d", folder.toString()));
        sources.forEach(source -> compile.add(source.toString()));
        assertThat(ToolProvider.getSystemJavaCompiler()
                        .run(null, System.out, System.err, compile.toArray(String[]::new)))
                .isZero();

        assertThat(run(List.of(SdkProgram.javaCommand(), "-cp", classPath, "shop.Shop"), project, Map.of()))
                .contains("bad", "It cannot be committed");

        assertRecorded(project);
    }

    private void assertRecorded(Project project) throws Exception {
        assertThat(SqlFixture.on(service.database())
                        .texts("select concat_ws('|', action, actor_type, actor_id, outcome) from annals.feed"
                                + " where project_id = '" + project.id() + "' order by sequence_id"))
                .containsExactly(
                        "volume_create|user|u-cache|success",
                        "volume_create|user|u-bad|failure",
                        "volume_create|user|u-late|failure");
    }

    /** Puts the example for this framework beside an application that uses it; the sources. */
    private List<Path> copy(String framework) throws IOException {
        Path shop = Files.createDirectories(folder.resolve("src/shop"));
        List<Path> sources = new ArrayList<>();
        for (Path from : List.of(EXAMPLES, APPLICATIONS)) {
            for (File file : from.resolve(framework).toFile().listFiles()) {
                if (file.getName().equals("pom.xml")) {
                    Files.copy(file.toPath(), folder.resolve("pom.xml"));
                } else {
                    sources.add(Files.copy(file.toPath(), shop.resolve(file.getName())));
                }
            }
        }
        return sources;
    }

    private static void unpack(Path jar, Path to) throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            for (Enumeration<JarEntry> entries = file.entries(); entries.hasMoreElements(); ) {
                JarEntry entry = entries.nextElement();
                if (entry.getName().endsWith(".class")) {
                    Path target = to.resolve(entry.getName());
                    Files.createDirectories(target.getParent());
                    Files.copy(file.getInputStream(entry), target);
                }
            }
        }
    }

    /** The service's, for the application that uses Quarkus. */
    private static String quarkusVersion() throws IOException {
        Matcher value = Pattern.compile("<quarkus\\.version>([^<]+)<").matcher(Files.readString(Path.of("pom.xml")));
        assertThat(value.find()).isTrue();
        return value.group(1);
    }

    private static int put(URI uri, String user) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(uri)
                .header("User", user)
                .PUT(HttpRequest.BodyPublishers.noBody())
                .build();
        return HttpClient.newHttpClient()
                .send(request, HttpResponse.BodyHandlers.discarding())
                .statusCode();
    }

    private String run(List<String> command, Project project, Map<String, String> environment) throws Exception {
        start(command, project, environment);
        awaitEnd();
        assertThat(process.exitValue()).as(output()).isZero();
        return output();
    }

    private void start(List<String> command, Project project, Map<String, String> environment) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("output").toFile());
        // Maven lives for seconds.
        builder.environment().put("MAVEN_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
        builder.environment().put("ANNALS_URL", service.uri().toString());
        builder.environment().put("ANNALS_TOKEN", project.token());
        builder.environment().putAll(environment);
        process = builder.start();
    }

    private void awaitEnd() throws Exception {
        assertThat(process.waitFor(300, TimeUnit.SECONDS)).as(output()).isTrue();
    }

    private String output() throws IOException {
        return Files.readString(folder.resolve("output"));
    }
}
