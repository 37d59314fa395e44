package dev.annals.sdk;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.annals.AuditLogFixture.Project;
import dev.annals.Await;
import dev.annals.Load;
import dev.annals.Ports;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The writing clients with their spools, in processes that are killed, against the packaged service, which is killed, too. */
@Slow
@Order(2)
@Timeout(600)
class WritersIT extends ClientProcess {

    private static final int ROUNDS = Load.times(2, 6);
    private static final long ROUND = 1_000_000;
    /** The digits and line end of a round's number. */
    private static final long BYTES_OF_A_NUMBER = 8;
    /** The record of each round whose id is taken. */
    private static final long REFUSED = 7;

    private static final List<String> LANGUAGES = List.of("java", "python", "typescript", "go");
    private static final int SPOOLED = 500;
    private static final ObjectMapper JSON =
            new ObjectMapper().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final int HOSTILE = 300;

    @ParameterizedTest
    @ValueSource(strings = {"java", "python", "typescript", "go"})
    void whatTheSpoolAcknowledgedArrivesOnceAndInOrderWhoeverIsKilled(String language) throws Exception {
        SdkProgram program = program(language);
        Project project = service.newProject();
        Path spool = folder.resolve("spool");
        for (int round = 1; round <= ROUNDS; round++) {
            long before = acknowledgedBytes();
            process = start(program, project, service.uri(), spool, round * ROUND, ROUND);
            Await.until(
                    "records are acknowledged in round " + round,
                    () -> acknowledgedBytes() > before + 50 * BYTES_OF_A_NUMBER);
            if (round % 2 == 0) {
                service.kill();
                pause();
                service.restart();
            }
            pause();
            assertThat(process.isAlive()).as(output()).isTrue();
            process.destroyForcibly().waitFor();
        }
        drain(program, project, spool);

        List<Long> stored = numbers(project);
        List<Long> acknowledged = acknowledged();
        assertThat(stored).isSorted().doesNotHaveDuplicates();
        List<Long> refused = acknowledged.stream()
                .filter(number -> number % ROUND == REFUSED)
                .toList();
        assertThat(refused).hasSize(ROUNDS);
        // AssertJ would look through all that is stored for each that was acknowledged.
        Set<Long> lost = new HashSet<>(acknowledged);
        refused.forEach(lost::remove);
        stored.forEach(lost::remove);
        assertThat(lost).isEmpty();
        assertThat(stored).doesNotContainAnyElementsOf(refused);
        assertThat(Files.readString(spool.resolve("refused.ndjson")))
                .contains(refused.stream()
                        .map(number -> "\"number\":" + number + "}")
                        .toList());
        assertThat(log().checkFeed(project.id())).isEqualTo(stored.size());
    }

    @ParameterizedTest
    @CsvSource({"java, Hostile.java", "python, hostile.py", "typescript, hostile.ts", "go, hostile.go"})
    @TakesLong
    void theServiceTakesEveryRecordWhateverItsValuesAre(String language, String file) throws Exception {
        String source = Files.readString(Path.of("src", "test", "writer", file));
        Project project = service.newProject();
        Path spool = folder.resolve("spool");

        String name = file.substring(0, file.indexOf('.'));
        process = start(SdkProgram.writer(language, source, name), project, service.uri(), spool, HOSTILE, 0);

        assertThat(process.waitFor(240, TimeUnit.SECONDS)).as(output()).isTrue();
        assertThat(process.exitValue()).as(output()).isZero();
        assertThat(spool.resolve("refused.ndjson")).doesNotExist();
        assertThat(log().checkFeed(project.id())).isEqualTo(HOSTILE);
    }

    /** The cases of values.json: what each field and each kind of value is stored as. */
    @ParameterizedTest
    @CsvSource({"java, Values.java", "python, values.py", "typescript, values.ts", "go, values.go"})
    void eachValueIsStoredAsItsCaseSays(String language, String file) throws Exception {
        Path sources = Path.of("src", "test", "writer");
        String source = Files.readString(sources.resolve(file));
        String name = file.substring(0, file.indexOf('.'));
        JsonNode all = JSON.readTree(sources.resolve("values.json").toFile());
        List<JsonNode> cases = new ArrayList<>();
        all.get("fields").forEach(cases::add);
        if (language.equals("python") || language.equals("typescript")) {
            // Elsewhere a moment is of a type of its own.
            all.get("times").forEach(cases::add);
        }
        all.get(language).forEach(cases::add);
        Project project = service.newProject();
        Path spool = folder.resolve("spool");

        process = start(
                language.equals("java")
                        ? SdkProgram.writerInJava(source, name, SdkProgram.jackson())
                        : SdkProgram.writer(language, source, name),
                project,
                service.uri(),
                spool,
                0,
                0);

        assertThat(process.waitFor(120, TimeUnit.SECONDS)).as(output()).isTrue();
        assertThat(process.exitValue()).as(output()).isZero();
        assertThat(spool.resolve("refused.ndjson")).doesNotExist();
        List<JsonNode> stored = records(project);
        assertThat(stored).hasSize(cases.size());
        SoftAssertions held = new SoftAssertions();
        for (int i = 0; i < cases.size(); i++) {
            requireStored(held, cases.get(i), stored.get(i));
        }
        held.assertAll();
    }

    private static void requireStored(SoftAssertions held, JsonNode one, JsonNode record) {
        JsonNode value = record.path("metadata").path("value");
        if (one.has("has")) {
            JsonNode has = one.get("has");
            has.properties()
                    .forEach(field -> held.assertThat(value.get(field.getKey()))
                            .as("%s of %s", field.getKey(), one.get("value"))
                            .isEqualTo(field.getValue()));
            for (int i = 0; i < has.size() && has.isArray(); i++) {
                held.assertThat(value.get(i == 0 ? 0 : value.size() - 1))
                        .as("%s", one.get("value"))
                        .isEqualTo(has.get(i));
            }
        } else if (one.has("value")) {
            held.assertThat(value).as("%s", one.get("value")).isEqualTo(one.get("stored"));
        } else {
            one.get("stored").properties().forEach(field -> {
                JsonNode found = record.path(field.getKey());
                JsonNode expected = one.has("repeat")
                        ? TextNode.valueOf(field.getValue()
                                .textValue()
                                .repeat(one.get("repeat").intValue()))
                        : field.getValue();
                held.assertThat(expected.isNull() ? found.isMissingNode() : found.equals(expected))
                        .as("%s: %s is %s", one.get("given"), field.getKey(), found)
                        .isTrue();
            });
        }
    }

    @ParameterizedTest
    @CsvSource({"java, java, Write", "python, python, write", "typescript, ts, write", "go, go, write"})
    @TakesLong
    void theDocumentedExampleWritesItsRecord(String language, String block, String name) throws Exception {
        Matcher source = Pattern.compile("(?s)```" + block + "\n(.*?)```")
                .matcher(Files.readString(Path.of("docs", "clients.md")));
        assertThat(source.find()).isTrue();
        Project project = service.newProject();

        process = process(SdkProgram.writer(language, source.group(1), name), project, service.uri(), folder, 0, 0)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("errors").toFile())
                .start();

        assertThat(process.waitFor(60, TimeUnit.SECONDS)).as(output()).isTrue();
        assertThat(process.exitValue()).as(output()).isZero();
        assertThat(log().checkFeed(project.id())).isEqualTo(1);
    }

    @Test
    @TakesLong
    void eachLanguageReplaysTheSpoolOfTheOthers() throws Exception {
        Path spool = folder.resolve("spool");
        URI nobody = URI.create("http://127.0.0.1:" + Ports.free());
        Project unused = service.newProject();
        for (int i = 0; i < LANGUAGES.size(); i++) {
            int expected = (i + 1) * SPOOLED;
            process = start(program(LANGUAGES.get(i)), unused, nobody, spool, 10 + (long) i * SPOOLED, SPOOLED);
            Await.until(LANGUAGES.get(i) + " has spooled", () -> acknowledged().size() == expected);
            process.destroyForcibly().waitFor();
        }
        for (String language : LANGUAGES) {
            Path copy = folder.resolve(language);
            copy(spool, copy);
            Project project = service.newProject();
            drain(program(language), project, copy);
            assertThat(numbers(project)).as(language).isEqualTo(acknowledged()).hasSize(LANGUAGES.size() * SPOOLED);
            assertThat(copy).isDirectoryNotContaining(file -> file.toString().endsWith(".spool"));
        }
    }

    @Test
    @TakesLong
    void noLanguageTakesASpoolThatAnotherHas() throws Exception {
        Path spool = folder.resolve("spool");
        URI nobody = URI.create("http://127.0.0.1:" + Ports.free());
        for (String holder : LANGUAGES) {
            int before = acknowledged().size();
            // Nothing accepts its records, so it waits.
            process = start(program(holder), service.newProject(), nobody, spool, 10, SPOOLED);
            Await.until(holder + " has it", () -> acknowledged().size() > before);
            for (String language : LANGUAGES) {
                Path output = Files.createDirectories(folder.resolve(holder + "-" + language));
                Process second = process(program(language), service.newProject(), service.uri(), spool, 0, 0)
                        .redirectErrorStream(true)
                        .redirectOutput(output.resolve("output").toFile())
                        .start();
                assertThat(second.waitFor(60, TimeUnit.SECONDS)).isTrue();
                assertThat(Files.readString(output.resolve("output"))).contains("is in use");
            }
            process.destroyForcibly().waitFor();
        }
    }

    @Test
    void theServiceDoesNotContainTheClientNorTheClientTheService() throws Exception {
        Path service = Path.of("target", "quarkus-app", "app");
        try (Stream<Path> jars = Files.list(service)) {
            for (Path jar : jars.toList()) {
                try (JarFile file = new JarFile(jar.toFile())) {
                    assertThat(file.stream()).noneMatch(entry -> entry.getName().startsWith("dev/annals/writer/"));
                }
            }
        }
        try (JarFile file = new JarFile(SdkProgram.writerJar().toFile())) {
            assertThat(file.stream().filter(entry -> entry.getName().endsWith(".class")))
                    .isNotEmpty()
                    .allMatch(entry -> entry.getName().startsWith("dev/annals/writer/"));
        }
    }

    private void drain(SdkProgram program, Project project, Path spool) throws Exception {
        process = start(program, project, service.uri(), spool, 0, 0);
        assertThat(process.waitFor(240, TimeUnit.SECONDS)).as(output()).isTrue();
        assertThat(process.exitValue()).as(output()).isZero();
    }

    private static void pause() throws InterruptedException {
        // Hits it as it appends, writes, sends, or waits.
        Thread.sleep(ThreadLocalRandom.current().nextLong(400));
    }

    private static SdkProgram program(String language) throws Exception {
        return SdkProgram.writer(language);
    }

    private Process start(SdkProgram program, Project project, URI uri, Path spool, long first, long count)
            throws IOException {
        return process(program, project, uri, spool, first, count)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(
                        folder.resolve("acknowledged").toFile()))
                .redirectError(ProcessBuilder.Redirect.appendTo(
                        folder.resolve("errors").toFile()))
                .start();
    }

    private static ProcessBuilder process(
            SdkProgram program, Project project, URI uri, Path spool, long first, long count) {
        List<String> command = new ArrayList<>(program.command());
        command.addAll(List.of(spool.toString(), Long.toString(first), Long.toString(count)));
        ProcessBuilder process = new ProcessBuilder(command);
        process.environment().put("ANNALS_URL", uri.toString());
        process.environment().put("ANNALS_TOKEN", project.token());
        process.environment().put("PYTHONPATH", program.importsFrom().toString());
        return process;
    }

    private long acknowledgedBytes() throws IOException {
        Path file = folder.resolve("acknowledged");
        return Files.exists(file) ? Files.size(file) : 0;
    }

    /** The numbers that the programs printed, without a line that was cut off. */
    private List<Long> acknowledged() throws IOException {
        Path file = folder.resolve("acknowledged");
        String printed = Files.exists(file) ? Files.readString(file) : "";
        return printed.substring(0, printed.lastIndexOf('\n') + 1)
                .lines()
                .filter(line -> !line.equals("done"))
                .map(Long::valueOf)
                .toList();
    }

    private String output() throws IOException {
        Path errors = folder.resolve("errors");
        return Files.exists(errors) ? Files.readString(errors) : "";
    }

    private List<Long> numbers(Project project) throws Exception {
        return log().numbers("select metadata ->> 'number' from annals.feed where project_id = '" + project.id()
                + "' order by sequence_id");
    }

    private List<JsonNode> records(Project project) throws Exception {
        List<JsonNode> records = new ArrayList<>();
        URI page = service.uri().resolve("/v1/project-logs?limit=1000");
        while (page != null) {
            HttpRequest request = HttpRequest.newBuilder(page)
                    .header("Authorization", "Bearer " + project.token())
                    .build();
            JsonNode answer = JSON.readTree(
                    HTTP.send(request, HttpResponse.BodyHandlers.ofString()).body());
            answer.get("results").forEach(records::add);
            page = answer.get("next").isNull()
                    ? null
                    : URI.create(answer.get("next").textValue());
        }
        return records;
    }

    private SqlFixture log() throws IOException {
        return SqlFixture.on(service.database());
    }

    private static void copy(Path from, Path to) throws IOException {
        Files.createDirectory(to);
        try (Stream<Path> files = Files.list(from)) {
            for (Path file : files.toList()) {
                Files.copy(file, to.resolve(file.getFileName()));
            }
        }
    }
}
