package dev.annals;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the README's commands as they stand, in a copy of the checkout: only the port is another. */
class ReadmeIT {

    private static final Pattern CODE = Pattern.compile("```sh\n(.*?)```", Pattern.DOTALL);
    private static final Pattern TOKEN = Pattern.compile("export ANNALS_TOKEN=(\\S+)");
    private static final int START_SECONDS = 300;

    @TempDir
    Path checkout;

    private Process service;

    @AfterEach
    void stopTheService() throws Exception {
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
    void theCommandRunsTheServiceAndTheTourWorksAsPasted() throws Exception {
        for (String tool : List.of("bash", "git", "mvn", "curl", "psql", "python3")) {
            need(commandExists(tool), tool + ", as the README's tour does");
        }
        copyCheckout();
        List<String> blocks = codeBlocks();
        assertThat(blocks.get(1).strip()).isEqualTo("mvn verify");

        int port = Ports.free();
        Path output = checkout.resolve("service.log");
        service = bash(blocks.get(0), port, "", output);
        String token = awaitToken(output);
        String tour = run(blocks.get(2), port, token);
        assertThat(tour).contains("\"sequence_id\":1,\"action\":\"volume_create\"");
        assertThat(tour.substring(tour.lastIndexOf("{\"next\"")))
                .contains("\"sequence_id\":2,\"action\":\"door_open\"")
                .doesNotContain("volume_create");
        run(block(blocks, "/export?"), port, token);
        assertThat(checkout.resolve("annals-default-1-2.csv")).content().contains("\"door_open\"");
        assertThat(run(block(blocks, "annals tail"), port, token)).contains("volume_create", "By hand");
        assertThat(checkout.resolve("records.csv")).content().contains("\"By plain SQL\"", "\"By hand\"");
        run("git init -q . && git add README.md && git -c user.name=a -c user.email=a@b commit -qm one", port, token);
        assertThat(run(blocks.get(3), port, token)).contains("read back 1 commit");
    }

    private void copyCheckout() throws IOException, InterruptedException {
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
        // The build that runs this test has compiled the tests; the program is built anew.
        Files.writeString(checkout.resolve(".mvn/maven.config"), "-Dmaven.test.skip=true\n");
    }

    private static List<String> codeBlocks() throws IOException {
        List<String> blocks = new ArrayList<>();
        Matcher matcher = CODE.matcher(Files.readString(Path.of("README.md")));
        while (matcher.find()) {
            blocks.add(matcher.group(1));
        }
        return blocks;
    }

    private static String block(List<String> blocks, String part) {
        return blocks.stream().filter(block -> block.contains(part)).findFirst().orElseThrow();
    }

    private Process bash(String command, int port, String token, Path output) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                        "bash", "-c", command.replace("localhost:8080", "localhost:" + port))
                .directory(checkout.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.environment().put("ANNALS_PORT", Integer.toString(port));
        builder.environment().put("ANNALS_MANAGEMENT_PORT", "0");
        builder.environment().put("ANNALS_TOKEN", token);
        builder.environment().remove("ANNALS_DATABASE_URL");
        builder.environment().remove("ANNALS_ADMIN_TOKEN");
        return builder.start();
    }

    private String run(String command, int port, String token) throws Exception {
        Path output = checkout.resolve("command.log");
        Process process = bash("set -e\n" + command, port, token, output);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).as(command).isTrue();
        String printed = Files.readString(output);
        assertThat(process.exitValue()).as(printed).isZero();
        return printed;
    }

    private String awaitToken(Path output) throws Exception {
        for (int i = 0; i < START_SECONDS * 10; i++) {
            String printed = Files.readString(output);
            Matcher token = TOKEN.matcher(printed);
            if (printed.contains("Listening on") && token.find()) {
                return token.group(1);
            }
            assertThat(service.isAlive()).as(printed).isTrue();
            Thread.sleep(100);
        }
        throw new AssertionError("The service did not start: " + Files.readString(output));
    }

    private static boolean commandExists(String command) throws IOException, InterruptedException {
        return new ProcessBuilder("sh", "-c", "command -v " + command).start().waitFor() == 0;
    }
}
