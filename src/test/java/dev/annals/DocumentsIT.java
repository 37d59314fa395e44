package dev.annals;

import static dev.annals.Tools.need;
import static java.util.stream.Collectors.toCollection;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs the commands of the README and of the pages in {@code docs} as they stand, in a copy of the checkout and against one
 * service: only the ports and the heartbeat of streams are others. A block marked {@code sh} is run, one marked
 * {@code sh no-run} needs what a test does not have.
 */
@Slow
@Order(2)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class DocumentsIT {

    private static final Path README = Path.of("README.md");
    private static final Pattern CODE = Pattern.compile("(?m)^```sh\n(.*?)^```$", Pattern.DOTALL);
    private static final Pattern TOKEN = Pattern.compile("export ANNALS_TOKEN=(\\S+)");
    private static final Pattern ADMIN_TOKEN = Pattern.compile("export ANNALS_ADMIN_TOKEN=(\\S+)");
    private static final int START_SECONDS = 900;
    private static final int PAGE_SECONDS = 240;
    private static final Pattern END_OF_BLOCK = Pattern.compile("--- end of block ---");

    /**
     * Pages whose commands are tried elsewhere: the clients are built and run by {@code SdkIT}, the outbox
     * by {@code OutboxIT}.
     */
    private static final Set<String> TRIED_ELSEWHERE = Set.of("outbox.md", "sdks.md");

    private static final Set<String> TRIED_HERE = Set.of(
            "administration.md",
            "adopt.md",
            "alerting.md",
            "cloudevents.md",
            "command-line.md",
            "exporting.md",
            "live.md",
            "opentelemetry.md",
            "operating.md",
            "privacy.md",
            "proof.md",
            "reading.md",
            "redacting.md",
            "retention.md",
            "searching.md",
            "streaming.md",
            "sequences.md",
            "writing.md");

    @TempDir
    static Path checkout;

    private static Process service;
    private static int port;
    private static int managementPort;
    private static String path = "";
    private static String goCache = "";
    private static String token = "";
    private static String adminToken = "";

    /** The README's first command, in a copy of the checkout. */
    @BeforeAll
    static void startTheService() throws Exception {
        for (String tool : List.of("bash", "git", "mvn", "curl", "psql", "python3")) {
            need(commandExists(tool), tool + ", as the documents do");
        }
        copyCheckout();
        // All is compiled already, here; by their times, the classes are newer than their sources.
        copyTree(Path.of("target", "classes"), checkout.resolve("target").resolve("classes"));
        Files.writeString(
                checkout.resolve(".mvn/maven.config"),
                "-Dmaven.test.skip=true\n-Dmaven.compiler.useIncrementalCompilation=false\n");
        Files.writeString(checkout.resolve("psqlrc"), "\\set ON_ERROR_STOP on\n");
        goCache = goCache();
        port = Ports.free();
        managementPort = Ports.free();
        Path output = checkout.resolve("service.log");
        service = bash(blocks(README).get(0), output);
        String tokens = awaitStart(output);
        token = first(TOKEN, tokens);
        adminToken = first(ADMIN_TOKEN, tokens);
        startCommandsFaster();
    }

    /** The build cache of Go, which has the standard library compiled; empty without Go. */
    private static String goCache() throws IOException {
        Process ask = new ProcessBuilder("sh", "-c", "command -v go >/dev/null && go env GOCACHE").start();
        return new String(ask.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    }

    /**
     * The same program, with what a JVM that lives for a moment wastes no time on: there are a hundred of them. Once each command
     * is started as the page says; those that ask the service then start by way of the launcher, as some pages do themselves.
     */
    private static void startCommandsFaster() throws Exception {
        Path archive = checkout.resolve("commands.jsa");
        String program = " -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable ";
        String jar = " -jar target/quarkus-app/quarkus-run.jar ";
        bash(
                        "java" + program + "-XX:ArchiveClassesAtExit=" + archive + jar
                                + "tail --url=http://localhost:8080",
                        checkout.resolve("archive.log"))
                .waitFor();
        Path home = Path.of(System.getProperty("java.home"));
        Path java = Files.createDirectories(checkout.resolve("faster")).resolve("java");
        Files.writeString(
                java, """
                #!/bin/sh
                if [ "$1 $2" = "-jar target/quarkus-app/quarkus-run.jar" ]; then
                  case ${3-} in
                    append | tail | search | export | check | redact | erase | project | token | grant | hold | action | stream | alert)
                      if ! mkdir "%4$s/$3" 2>/dev/null; then
                        shift 2
                        JAVA_HOME=%1$s exec docker/annals "$@"
                      fi
                      ;;
                  esac
                fi
                exec %1$s/bin/java%2$s-XX:SharedArchiveFile=%3$s -Xshare:auto "$@"
                """.formatted(home, program, archive, Files.createDirectories(checkout.resolve("started"))));
        assertThat(java.toFile().setExecutable(true)).isTrue();
        path = java.getParent() + ":";
    }

    @AfterAll
    static void stopTheService() throws Exception {
        if (service == null) {
            return;
        }
        // Maven does not pass a signal on to the service that it started.
        List<ProcessHandle> started = service.descendants().toList();
        started.stream()
                .filter(process -> process.info().commandLine().orElse("").contains("quarkus-run.jar"))
                .forEach(ProcessHandle::destroy);
        if (!service.waitFor(60, TimeUnit.SECONDS)) {
            started.forEach(ProcessHandle::destroyForcibly);
            service.destroyForcibly();
        }
    }

    @Test
    @Order(1)
    void theReadmesTourWorksAsPasted() throws Exception {
        List<String> blocks = blocks(README);
        assertThat(blocks.get(1).strip()).isEqualTo("mvn verify");
        String tour = run(blocks.subList(2, 3)).get(0);
        assertThat(tour).contains("\"sequence_id\":1,\"action\":\"volume_create\"");
        assertThat(tour.substring(tour.lastIndexOf("{\"next\"")))
                .contains("\"sequence_id\":2,\"action\":\"door_open\"")
                .doesNotContain("volume_create");
    }

    @Test
    void everyPageWithCommandsIsTried() throws Exception {
        try (Stream<Path> pages = Files.list(Path.of("docs"))) {
            Set<String> withCommands = new TreeSet<>();
            for (Path page :
                    pages.filter(file -> file.toString().endsWith(".md")).toList()) {
                if (!blocks(page).isEmpty()) {
                    withCommands.add(page.getFileName().toString());
                }
            }
            assertThat(withCommands)
                    .isEqualTo(Stream.concat(TRIED_HERE.stream(), TRIED_ELSEWHERE.stream())
                            .collect(toCollection(TreeSet::new)));
        }
    }

    @Test
    @TakesLong
    void retention() throws Exception {
        List<String> printed = runPage("retention.md");
        assertThat(printed.get(0))
                .contains("\tdefault\topen\tkeeps 365 days\n", "\"retention_days\":365,\"oldest_sequence_id\":1");
        assertThat(printed.get(1))
                .contains(
                        "archives/annals-ledger-1-2.ndjson.gz\t1-2\t",
                        "Verified: records 1 to 2, of the log",
                        "\tledger\topen\tkeeps 365 days\tarchives first\tarchived up to 2");
        assertThat(printed.get(2)).contains("The records 1 to 2 of project", "Sound: ");
    }

    @Test
    void redacting() throws Exception {
        List<String> printed = runPage("redacting.md");
        assertThat(printed.get(0)).contains("\"redacted\":{\"actor.name\":").doesNotContain("Jane Doe");
        assertThat(printed.get(1)).contains("2 redactions are in effect");
    }

    @Test
    void alerting() throws Exception {
        List<String> printed = runPage("alerting.md");
        assertThat(printed.get(0)).contains("denied\tactive\tlag 0\traised 0\tmore than 2 in 86400 s");
        assertThat(printed.get(1)).contains("\"count\": 3").contains("raised 1");
    }

    @Test
    @TakesLong
    void privacy() throws Exception {
        List<String> printed = runPage("privacy.md");
        assertThat(printed.get(0)).contains("records\t1", "1 record was redacted", "\"action\":\"annals.redact\"");
        assertThat(printed.get(0).substring(printed.get(0).lastIndexOf("redacted.\n")))
                .contains("\"actor\":{\"id\":\"u-1\"}")
                .doesNotContain("u-4711", "Jane");
        assertThat(printed.get(1)).contains("Called Jane Doe back", "Redacted: message");
        assertThat(printed.get(2)).contains("Legal hold: ", "exit code 5", "1 record was redacted");
        assertThat(printed.get(3)).contains("VACUUM");
    }

    @Test
    void writing() throws Exception {
        run(List.of("git init -q . && git add README.md && git -c user.name=a -c user.email=a@b commit -qm one"));
        List<String> printed = runPage("writing.md");
        assertThat(printed.get(0)).contains("\"sequence_id\":", "\"action\":\"volume_create\"");
        assertThat(printed.get(1)).contains("\"sequence_id\":");
        assertThat(printed.get(2)).contains("\"stored\":2,\"stored_before\":0");
        assertThat(printed.get(3)).contains("\"stored\":0,\"stored_before\":2");
        assertThat(printed.get(4)).contains("read back 1 commit");
    }

    @Test
    void reading() throws Exception {
        List<String> printed = runPage("reading.md");
        assertThat(printed.get(0)).contains("\"next\":", "\"poll_more\":", "\"sequence_id\":1,");
        assertThat(printed.get(1)).contains("{\"next\":null,", "\"results\":[]");
        assertThat(printed.get(2)).contains("\"poll_more\":").doesNotContain("\"sequence_id\":1,");
        assertThat(printed.get(3)).startsWith("{\"id\":").contains("\"sequence_id\":1,");
    }

    @Test
    void live() throws Exception {
        List<String> printed = runPage("live.md");
        assertThat(printed.get(0)).contains("\"message\":\"Worth waiting for\"");
        assertThat(printed.get(1)).contains("event: record", "data: {\"id\":");
    }

    @Test
    void searching() throws Exception {
        List<String> printed = runPage("searching.md");
        assertThat(printed.get(0)).contains("\"action\":\"volume_create\"").doesNotContain("door_open");
        assertThat(printed.get(1)).contains("\"action\":\"volume_create\"").doesNotContain("door_open");
        assertThat(printed.get(2)).contains("\"complete\":true", "\"value\":\"jane@example.org\"");
        assertThat(printed.get(3)).contains("\"through\":", "\"others\":0");
        assertThat(printed.get(4)).contains("202");
    }

    @Test
    void exporting() throws Exception {
        runPage("exporting.md");
        assertThat(exports()).anySatisfy(file -> assertThat(file).content().contains("\"door_open\""));
        assertThat(checkout.resolve("records.ndjson")).content().contains("\"action\":\"volume_create\"");
    }

    private static List<Path> exports() throws IOException {
        try (Stream<Path> files = Files.list(checkout)) {
            return files.filter(file -> file.getFileName().toString().startsWith("annals-default-1-"))
                    .toList();
        }
    }

    @Test
    void commandLine() throws Exception {
        List<String> printed = runPage("command-line.md");
        assertThat(printed.get(0)).contains("volume_create", "By hand");
        assertThat(checkout.resolve("records.csv")).content().contains("\"By plain SQL\"", "\"By hand\"");
    }

    @Test
    void sequences() throws Exception {
        List<String> printed = runPage("sequences.md");
        assertThat(printed.get(0)).contains("{\"values\":[1,2,3]}");
        assertThat(printed.get(1)).contains("\"value\":4");
        assertThat(printed.get(2)).contains("(2 rows)");
        assertThat(printed.get(3)).contains("ASYNC_BATCH");
    }

    @Test
    @TakesLong
    void operating() throws Exception {
        List<String> printed = runPage("operating.md");
        assertThat(printed.get(0)).contains("\"name\":\"orders over HTTP\"", "\"token\":\"annals_");
        assertThat(printed.get(1)).contains("UP", "annals_projection_lag_records");
        assertThat(printed.get(2)).contains("Sound: ");
    }

    @Test
    @TakesLong
    void administration() throws Exception {
        List<String> printed = runPage("administration.md");
        assertThat(printed.get(0)).contains("\torders\topen", "read,write\tvalid\t", "scopes   read, write");
        assertThat(printed.get(1)).contains("is revoked", "shop\tclosed ");
        assertThat(printed.get(2)).contains("records_per_second=500", "requests_per_second=50", "no limits");
        assertThat(printed.get(3)).contains("#token=annals_", "\"subject_id\":\"customer-77\"");
        assertThat(printed.get(4))
                .contains("\tgroups=auditors\tread\tin force\thttps://login.example.org", "is revoked");
        assertThat(printed.get(5)).contains("\tactor u-4711\tin force since ", "\tlifted ");
        assertThat(printed.get(6))
                .contains(
                        "annals.project.create",
                        "annals.token.link",
                        "annals.grant.make",
                        "annals.grant.revoke",
                        "annals.hold.set",
                        "annals.hold.lift");
        assertThat(printed.get(7)).contains("create_project");
    }

    @Test
    @TakesLong
    void proof() throws Exception {
        List<String> printed = runPage("proof.md");
        assertThat(checkout.resolve("log.vkey")).content().matches("localhost/v1/projects/[0-9a-f-]+/log/1\\+.*\n");
        assertThat(printed.get(1)).contains("Verified: records 1 to ");
        assertThat(printed.get(2)).contains("Verified: record ");
        assertThat(printed.get(3)).contains("Verified: records 1 to ");
        assertThat(printed.get(4)).contains("door_open");
        assertThat(printed.get(5)).contains("Sound: ", "as the log has signed them.");
    }

    @Test
    @TakesLong
    void streaming() throws Exception {
        List<String> printed = runPage("streaming.md");
        assertThat(printed.get(1)).contains("It answered with HTTP status 204.", "receiver");
        assertThat(printed.get(2)).contains("1 volume_create");
    }

    @Test
    @TakesLong
    void adopt() throws Exception {
        for (String tool : List.of("node", "go")) {
            need(commandExists(tool), tool + ", as the page does");
        }
        List<String> printed = runPage("adopt.md");
        List<String> records = printed.get(0).lines().toList();
        assertThat(records).hasSize(4).allMatch(record -> record.contains("\"sequence_id\":"));
        assertThat(printed.get(0)).contains("u-java", "u-node", "u-python", "u-go");
        assertThat(printed.get(1)).contains("volume_create | u-sql    | role:");
    }

    @Test
    @TakesLong
    void openTelemetry() throws Exception {
        List<String> printed = runPage("opentelemetry.md");
        assertThat(printed.get(0))
                .startsWith("{}")
                .contains(
                        "\"action\":\"volume_create\"",
                        "\"message\":\"Volume 'cache' has been created\"",
                        "\"resource\": {\"service.name\": \"shop\"}");
    }

    @Test
    void cloudEvents() throws Exception {
        List<String> printed = runPage("cloudevents.md");
        assertThat(printed.get(0)).startsWith("{\"id\":").contains("\"action\":\"volume_create\"", "{\"results\":[");
        assertThat(printed.get(1))
                .contains("\"action\":\"org.example.order.shipped\"", "\"subject\":{\"id\":\"order-17\"}");
    }

    private static void copyTree(Path from, Path to) throws IOException {
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Path copy = to.resolve(from.relativize(file).toString());
                Files.createDirectories(copy.getParent());
                Files.copy(file, copy, StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
    }

    private static void copyCheckout() throws IOException, InterruptedException {
        Path here = Path.of("").toAbsolutePath();
        Process list = new ProcessBuilder("git", "ls-files", "--cached", "--others", "--exclude-standard")
                .directory(here.toFile())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        List<String> files = new String(list.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                .lines()
                .toList();
        assumeTrue(list.waitFor() == 0 && !files.isEmpty(), "needs a git checkout");
        for (String file : files) {
            if (Files.isRegularFile(here.resolve(file))) {
                Path copy = checkout.resolve(file);
                Files.createDirectories(copy.getParent());
                Files.copy(here.resolve(file), copy, StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
    }

    private static List<String> blocks(Path page) throws IOException {
        return CODE.matcher(Files.readString(page))
                .results()
                .map(block -> block.group(1))
                .toList();
    }

    private static List<String> runPage(String page) throws Exception {
        assertThat(TRIED_HERE).contains(page);
        return run(blocks(Path.of("docs", page)));
    }

    /** Runs the blocks in one shell, so that each has the variables of those before it, and gives what each printed. */
    private static List<String> run(List<String> blocks) throws Exception {
        // Also where a command fails, what the page has started in the background ends.
        StringBuilder script = new StringBuilder("set -e\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n");
        for (String block : blocks) {
            script.append(block)
                    .append("\necho '")
                    .append(END_OF_BLOCK.pattern())
                    .append("'\n");
        }
        Path output = checkout.resolve("commands.log");
        Process process = bash(script.toString(), output);
        assertThat(process.waitFor(PAGE_SECONDS, TimeUnit.SECONDS))
                .as(Files.readString(output))
                .isTrue();
        String printed = Files.readString(output);
        assertThat(process.exitValue()).as(printed).isZero();
        return END_OF_BLOCK.splitAsStream(printed).map(String::strip).toList();
    }

    private static Process bash(String commands, Path output) throws IOException {
        String here = commands.replace("localhost:8080", "localhost:" + port)
                .replace("localhost:9000", "localhost:" + managementPort);
        ProcessBuilder builder = new ProcessBuilder("bash", "-c", here)
                .directory(checkout.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("ANNALS_"));
        builder.environment().merge("PATH", path, (old, faster) -> faster + old);
        builder.environment().put("PSQLRC", checkout.resolve("psqlrc").toString());
        builder.environment().put("XDG_CACHE_HOME", checkout.resolve("cache").toString());
        if (!goCache.isEmpty()) {
            builder.environment().put("GOCACHE", goCache);
        }
        builder.environment().put("ANNALS_PORT", Integer.toString(port));
        builder.environment().put("ANNALS_MANAGEMENT_PORT", Integer.toString(managementPort));
        // A stream that is read by head ends with the next thing that is written to it.
        builder.environment().put("ANNALS_LIVE_HEARTBEAT", "1s");
        builder.environment().put("ANNALS_STREAMS_ALLOWED_HOSTS", "127.0.0.1");
        if (token.isEmpty()) {
            // Maven and the service that it starts live for minutes.
            builder.environment().put("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
        } else {
            builder.environment().put("ANNALS_TOKEN", token);
            builder.environment().put("ANNALS_ADMIN_TOKEN", adminToken);
        }
        return builder.start();
    }

    private static String awaitStart(Path output) throws Exception {
        for (int i = 0; i < START_SECONDS * 10; i++) {
            String printed = Files.readString(output);
            Path tokens = checkout.resolve("data/first-tokens");
            if (printed.contains("Listening on") && Files.exists(tokens)) {
                return Files.readString(tokens);
            }
            assertThat(service.isAlive()).as(printed).isTrue();
            Thread.sleep(100);
        }
        throw new AssertionError("The service did not start: " + Files.readString(output));
    }

    private static String first(Pattern pattern, String text) {
        Matcher matcher = pattern.matcher(text);
        return matcher.results()
                .map((MatchResult found) -> found.group(1))
                .findFirst()
                .orElseThrow(() -> new AssertionError(pattern + " in " + text));
    }

    private static boolean commandExists(String command) throws IOException, InterruptedException {
        return new ProcessBuilder("sh", "-c", "command -v " + command).start().waitFor() == 0;
    }
}
