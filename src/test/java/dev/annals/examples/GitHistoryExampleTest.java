package dev.annals.examples;

import static dev.annals.Tools.need;
import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.annals.AuditLogFixture;
import dev.annals.Load;
import dev.annals.Ports;
import dev.annals.edges.contract.ContractFilter;
import io.quarkus.test.common.http.TestHTTPResource;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.path.json.JsonPath;
import jakarta.inject.Inject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code examples/git-history} against the running service. */
@QuarkusTest
class GitHistoryExampleTest {
    private static final Path EXAMPLE = Path.of("examples", "git-history").toAbsolutePath();
    private static final Path THIS_REPOSITORY = Path.of("").toAbsolutePath();
    private static final long TIMEOUT_SECONDS = 300;

    @Inject
    AuditLogFixture log;

    @TestHTTPResource("/")
    URI service;

    @TempDir
    Path folder;

    private record Outcome(int status, String output) {
        List<String> lines() {
            return output.lines().toList();
        }
    }

    @BeforeEach
    void needPythonAndGit() {
        need(isInstalled("python3"), "python3");
        need(isInstalled("git"), "git");
    }

    @Test
    void thisRepositorysOwnHistoryComesBackExactlyOnceAndInOrder() throws Exception {
        assumeTrue(git(THIS_REPOSITORY, "rev-parse", "HEAD").status == 0, "this is no git repository");
        Path repository = Load.isLong() ? THIS_REPOSITORY : ofThisRepository();
        List<String> commits = commits(repository);
        var project = log.newProject();

        Outcome sent = gitHistory(project.token(), "--read-back", repository.toString());

        assertThat(sent.status).as(sent.output).isZero();
        assertThat(sent.output).contains("each exactly once and in order");
        List<Map<String, Object>> records = followFeed(project.token());
        assertThat(records).extracting(GitHistoryExampleTest::commitOf).containsExactlyElementsOf(commits);
        assertThat(log.checkFeed(project.id())).isEqualTo(commits.size());
    }

    /** Its newest commits, with all that were merged into them. */
    private Path ofThisRepository() throws Exception {
        Path part = folder.resolve("part");
        Outcome cloned = git(
                folder,
                "clone",
                "--quiet",
                "--bare",
                "--depth=150",
                THIS_REPOSITORY.toUri().toString(),
                part.toString());
        assertThat(cloned.status).as(cloned.output).isZero();
        return part;
    }

    @Test
    void sendingTheSameHistoryAgainAddsNothing() throws Exception {
        importCommits("first", "second");
        var project = log.newProject();
        assertThat(gitHistory(project.token(), folder.toString()).status).isZero();

        Outcome again = gitHistory(project.token(), "--read-back", folder.toString());

        assertThat(again.status).as(again.output).isZero();
        assertThat(again.output).contains("sent 2 commits, all there already").contains("0 of them new");
        assertThat(log.checkFeed(project.id())).isEqualTo(2);

        importCommits("first", "second", "third");
        assertThat(gitHistory(project.token(), "--read-back", folder.toString()).output)
                .contains("sent 3 commits, the last one at sequence id 3")
                .contains("1 of them new");
    }

    @Test
    void hostileCommitMessagesAreTakenOver() throws Exception {
        importCommits(
                "plain",
                "",
                "control \u0001\u001b[31m\u007f characters",
                "behind NUL \0 there is nothing",
                "quotes \" ' \\ and </script>",
                "no UTF-8 \u00ff\u00fe\u00c3(",
                "h".repeat(300_000));
        var project = log.newProject();

        Outcome sent = gitHistory(project.token(), "--read-back", folder.toString());

        assertThat(sent.status).as(sent.output).isZero();
        List<Map<String, Object>> records = followFeed(project.token());
        assertThat(records).extracting(GitHistoryExampleTest::commitOf).containsExactlyElementsOf(commits(folder));
        assertThat(records)
                .extracting(record -> String.valueOf(record.get("message")))
                .startsWith(
                        "plain",
                        "null",
                        "control \u0001\u001b[31m\u007f characters",
                        "behind NUL",
                        "quotes \" ' \\ and </script>",
                        "no UTF-8 \ufffd\ufffd\ufffd(");
        assertThat((String) records.get(6).get("message"))
                .hasSizeLessThan(8_200)
                .endsWith("hhh … (cut)");
    }

    @Test
    void aMissingTokenAWrongTokenAndAMissingServiceAreToldApart() throws Exception {
        importCommits("only");
        assertThat(gitHistory("", folder.toString())).satisfies(outcome -> {
            assertThat(outcome.status).isEqualTo(2);
            assertThat(outcome.output).contains("ANNALS_TOKEN is not set");
        });
        assertThat(gitHistory("annals_nobody", folder.toString())).satisfies(outcome -> {
            assertThat(outcome.status).isEqualTo(1);
            assertThat(outcome.output).contains("401").contains("ANNALS_TOKEN").doesNotContain("Traceback");
        });
        assertThat(gitHistory(log.newProject("read").token(), folder.toString()))
                .satisfies(outcome -> {
                    assertThat(outcome.status).isEqualTo(1);
                    assertThat(outcome.output).contains("403").contains("write").doesNotContain("Traceback");
                });
        URI nobody = URI.create("http://localhost:" + Ports.free());
        assertThat(gitHistory(nobody, "annals_any", folder.toString())).satisfies(outcome -> {
            assertThat(outcome.status).isEqualTo(1);
            assertThat(outcome.output)
                    .contains(nobody.toString())
                    .contains("ANNALS_URL")
                    .doesNotContain("Traceback");
        });
    }

    /** Reads the feed as a client should: next while there is one, then poll_more until it brings nothing. */
    private List<Map<String, Object>> followFeed(String token) {
        List<Map<String, Object>> records = new ArrayList<>();
        String url = service.resolve("/v1/project-logs?limit=7").toString();
        while (true) {
            JsonPath page = given().filter(ContractFilter.ofRequestsAndAnswers())
                    .urlEncodingEnabled(false)
                    .auth()
                    .preemptive()
                    .oauth2(token)
                    .get(url)
                    .then()
                    .statusCode(200)
                    .extract()
                    .jsonPath();
            records.addAll(page.getList("results"));
            String next = page.getString("next");
            if (next == null && page.getList("results").isEmpty()) {
                return records;
            }
            url = next == null ? page.getString("poll_more") : next;
        }
    }

    private static String commitOf(Map<String, Object> record) {
        return (String) ((Map<?, ?>) record.get("subject")).get("id");
    }

    private static List<String> commits(Path repository) throws Exception {
        return git(repository, "log", "--reverse", "--topo-order", "--format=%H")
                .lines();
    }

    /** Makes a history of one commit a message; every message is written in ISO 8859-1, so any byte can be had. */
    private void importCommits(String... messages) throws Exception {
        if (!Files.exists(folder.resolve(".git"))) {
            assertThat(git(folder, "init", "--quiet").status).isZero();
        }
        var stream = new ByteArrayOutputStream();
        for (int i = 0; i < messages.length; i++) {
            byte[] message = messages[i].getBytes(StandardCharsets.ISO_8859_1);
            stream.writeBytes("commit HEAD\nmark :%d\ncommitter C <c@example.org> %d +0000\ndata %d\n"
                    .formatted(i + 1, 1_700_000_000 + i, message.length)
                    .getBytes(StandardCharsets.US_ASCII));
            stream.writeBytes(message);
            String from = i == 0 ? "" : "from :" + i + "\n";
            stream.writeBytes(("\n" + from + "M 100644 inline file\ndata 2\n" + i % 10 + "\n\n")
                    .getBytes(StandardCharsets.US_ASCII));
        }
        Path input = Files.write(folder.resolve("history"), stream.toByteArray());
        var builder = new ProcessBuilder("git", "-C", folder.toString(), "fast-import", "--quiet", "--force");
        builder.redirectInput(input.toFile());
        Outcome imported = run(builder);
        assertThat(imported.status).as(imported.output).isZero();
    }

    private Outcome gitHistory(String token, String... arguments) throws Exception {
        return gitHistory(service, token, arguments);
    }

    private static Outcome gitHistory(URI url, String token, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of("python3", EXAMPLE.toString()));
        command.addAll(Arrays.asList(arguments));
        var builder = new ProcessBuilder(command);
        builder.environment().put("ANNALS_URL", url.toString());
        builder.environment().put("ANNALS_TOKEN", token);
        builder.environment().put("PYTHONUTF8", "1");
        return run(builder);
    }

    private static Outcome git(Path repository, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of("git", "-C", repository.toString()));
        command.addAll(Arrays.asList(arguments));
        return run(new ProcessBuilder(command));
    }

    private static Outcome run(ProcessBuilder builder) throws Exception {
        // A git hook that runs the tests sets these, and they would lead every git command to its repository.
        builder.environment().keySet().removeIf(name -> name.startsWith("GIT_"));
        Path output = Files.createTempFile("annals-example-", ".txt");
        try {
            Process process = builder.redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new AssertionError(builder.command() + " does not end: " + Files.readString(output));
            }
            return new Outcome(process.exitValue(), Files.readString(output));
        } finally {
            Files.delete(output);
        }
    }

    private static boolean isInstalled(String program) {
        try {
            return run(new ProcessBuilder(program, "--version")).status == 0;
        } catch (IOException e) {
            return false;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
