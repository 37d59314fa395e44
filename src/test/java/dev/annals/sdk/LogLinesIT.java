package dev.annals.sdk;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.AuditLogFixture.Project;
import dev.annals.Ports;
import dev.annals.Slow;
import dev.annals.SqlFixture;
import dev.annals.TakesLong;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The records that Logback's appender and Python's handler make of log lines, against the packaged service. */
@Slow
@TakesLong
@Timeout(300)
class LogLinesIT extends ClientProcess {

    private static final int LINES = 300;
    /** More than the clients' buffers take in these tests. */
    private static final int MANY = 10_500;

    private static final int TOO_LARGE = 70_000;
    private static final URI NOBODY = URI.create("http://127.0.0.1:" + Ports.free());

    /** The program ends at once after {@code stop()}, and the lines are far more than one request. */
    @ParameterizedTest
    @ValueSource(strings = {"java", "python"})
    void markedLinesAreRecordsOnceTheLogIsStoppedAndOthersAreNone(String language) throws Exception {
        Project project = service.newProject();

        String printed = log(language, project, service.uri(), LINES, 3, Ending.IN_TIME, null);

        assertThat(printed).contains("stopped").doesNotContain("not taken", "not stored");
        assertThat(feed(
                        project,
                        "concat_ws('|', action, actor_type, actor_id, actor_name, subject_type, subject_id, outcome,"
                                + " ip_address, message, metadata)"))
                .isEqualTo(IntStream.range(0, LINES)
                        .mapToObj(number -> "volume_create|user|u-" + number + "|Jane|volume|v-" + number
                                + "|success|192.0.2.1|Volume " + number + " was \"created\"|"
                                + "{\"note\": \"nnn\", \"logger\": \"shop\", \"number\": " + number + "}")
                        .toList());
        assertThat(feed(project, "recorded_at - \"timestamp\" between '0 s' and '1 min'"))
                .containsOnly("t");
    }

    @ParameterizedTest
    @ValueSource(strings = {"java", "python"})
    void aLineWithMoreThanARecordHoldsIsCut(String language) throws Exception {
        Project project = service.newProject();

        String printed = log(language, project, service.uri(), 2, TOO_LARGE, Ending.IN_TIME, null);

        assertThat(printed).doesNotContain("not taken", "not stored");
        assertThat(feed(project, "(length(metadata ->> 'note') between 60000 and 65535)::text"))
                .containsExactly("true", "true");
    }

    @ParameterizedTest
    @ValueSource(strings = {"java", "python"})
    void eachLineThatIsNeitherTakenNorStoredIsReported(String language) throws Exception {
        String printed = log(language, service.newProject(), NOBODY, MANY, 1, Ending.AT_ONCE, null);

        long turnedAway = count("was not taken.*BufferFull", printed);
        assertThat(turnedAway).isPositive();
        assertThat(turnedAway + count("Record [0-9a-f-]{36} is not stored", printed))
                .isEqualTo(MANY);
    }

    @ParameterizedTest
    @ValueSource(strings = {"java", "python"})
    void whatIsNotSentAtTheEndIsSentByTheNextStart(String language) throws Exception {
        Project project = service.newProject();
        Path spool = folder.resolve("spool");

        String first = log(language, project, NOBODY, LINES, 1, Ending.AT_ONCE, spool);
        assertThat(first).contains("stopped").doesNotContain("was not taken", "is not stored");
        log(language, project, service.uri(), 1, 1, Ending.IN_TIME, spool);

        assertThat(feed(project, "metadata ->> 'number'"))
                .isEqualTo(Stream.concat(IntStream.range(0, LINES).boxed(), Stream.of(0))
                        .map(String::valueOf)
                        .toList());
    }

    @ParameterizedTest
    @ValueSource(strings = {"java", "python"})
    void theDocumentedLineIsARecord(String language) throws Exception {
        Project project = service.newProject();
        boolean isJava = language.equals("java");
        String source = block(language, isJava ? "LOG.atInfo()" : "AuditHandler");
        List<String> command;
        if (isJava) {
            Files.writeString(folder.resolve("logback.xml"), block("xml", "AuditAppender"));
            command = java(source);
        } else {
            command = SdkProgram.writer(language, source, "documented").command();
        }

        run(command, project, service.uri());

        assertThat(feed(project, "concat_ws('|', action, actor_id, message)"))
                .containsExactly("volume_create|u-19283|Volume cache was created");
    }

    private enum Ending {
        IN_TIME(30_000),
        AT_ONCE(100);

        final int millis;

        Ending(int millis) {
            this.millis = millis;
        }
    }

    /** Logs that many lines, each with a note of that length, and gives what was printed. */
    private String log(String language, Project project, URI uri, int lines, int note, Ending ending, Path spool)
            throws Exception {
        List<String> command;
        if (language.equals("java")) {
            Files.writeString(folder.resolve("logback.xml"), """
                    <configuration>
                      <appender name="AUDIT" class="dev.annals.writer.logback.AuditAppender">
                        <url>${ANNALS_URL}</url>
                        <token>${ANNALS_TOKEN}</token>
                        %s
                        <appendTimeoutMillis>0</appendTimeoutMillis>
                        <closeTimeoutMillis>%d</closeTimeoutMillis>
                      </appender>
                      <root level="info">
                        <appender-ref ref="AUDIT"/>
                      </root>
                    </configuration>
                    """.formatted(
                            spool == null ? "" : "<spool>" + spool + "</spool>", ending.millis));
            command = java(Files.readString(Path.of("src", "test", "writer", "Lines.java")));
        } else {
            String source = Files.readString(Path.of("src", "test", "writer", "lines.py"));
            command = SdkProgram.writer(language, source, "lines").command();
        }
        List<String> all = new ArrayList<>(command);
        all.addAll(List.of(
                Integer.toString(lines),
                Integer.toString(note),
                "{\"append_timeout\": 0" + (spool == null ? "" : ", \"spool\": \"" + spool + "\"") + "}",
                Double.toString(ending.millis / 1_000.0)));
        return run(all, project, uri);
    }

    private List<String> java(String source) throws Exception {
        List<Path> libraries = SdkProgram.libraries(SdkProgram.WRITER);
        List<String> command = new ArrayList<>(
                SdkProgram.writerInJava(source, "Lines", libraries).command());
        command.add(1, "-Dlogback.configurationFile=" + folder.resolve("logback.xml"));
        return command;
    }

    private String run(List<String> command, Project project, URI uri) throws Exception {
        Path output = folder.resolve("output");
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.environment().put("ANNALS_URL", uri.toString());
        builder.environment().put("ANNALS_TOKEN", project.token());
        builder.environment()
                .put("PYTHONPATH", Path.of("clients", "python").toAbsolutePath().toString());
        process = builder.start();
        boolean hasEnded = process.waitFor(120, TimeUnit.SECONDS);
        String printed = Files.readString(output);
        assertThat(hasEnded).as(printed).isTrue();
        assertThat(process.exitValue()).as(printed).isZero();
        return printed;
    }

    /** The block of the page that is in this language and has this text. */
    private static String block(String language, String text) throws IOException {
        return Pattern.compile("(?ms)^```" + language + "\n(.*?)^```$")
                .matcher(Files.readString(Path.of("docs", "clients.md")))
                .results()
                .map(block -> block.group(1))
                .filter(block -> block.contains(text))
                .findFirst()
                .orElseThrow();
    }

    private static long count(String regex, String text) {
        Matcher matcher = Pattern.compile(regex).matcher(text);
        return matcher.results().count();
    }

    private List<String> feed(Project project, String expression) throws Exception {
        return SqlFixture.on(service.database())
                .texts("select " + expression + " from annals.feed where project_id = '" + project.id()
                        + "' order by sequence_id");
    }
}
