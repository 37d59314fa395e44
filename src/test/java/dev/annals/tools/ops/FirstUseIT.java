package dev.annals.tools.ops;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.ServiceProcess;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The first use of the unpacked program. */
@Timeout(120)
class FirstUseIT {

    private static final Path BASH = Path.of("/bin/bash");

    @TempDir
    Path directory;

    @Test
    void everyCommandSaysItsVersion() throws Exception {
        String version = run(0, Map.of(), "--version");

        assertThat(version).matches("annals \\d+\\.\\d+\\.\\d+, with PostgreSQL \\d+\\.\\d+\\.\\d+");
        assertThat(run(0, Map.of(), "migrate", "--version")).isEqualTo(version);
        assertThat(run(0, Map.of(), "log", "keygen", "-V")).isEqualTo(version);
    }

    @Test
    void everyCommandIsExplained() throws Exception {
        assertThat(run(0, Map.of(), "help", "migrate")).startsWith("Usage: annals migrate");
        assertThat(run(0, Map.of(), "help", "verify")).startsWith("Usage: annals verify");
        assertThat(run(0, Map.of(), "help")).contains("generate-completion");
    }

    @Test
    void theShellCompletesCommandsAndOptions() throws Exception {
        need(Files.exists(BASH), "bash");
        Path script =
                Files.writeString(directory.resolve("completion"), run(0, Map.of(), "generate-completion") + "\n");

        assertThat(completed(script, "annals mig")).isEqualTo("migrate");
        assertThat(completed(script, "annals migrate --serv")).isEqualTo("--service-user");
    }

    /** The completions of bash for the last word. */
    private static String completed(Path script, String line) throws Exception {
        Process bash = new ProcessBuilder(BASH.toString(), "-c", """
                source "$0"
                COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=($1) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                _complete_annals annals "${COMP_WORDS[COMP_CWORD]}" annals 2>/dev/null
                echo "${COMPREPLY[*]}"
                """, script.toString(), line)
                .redirectErrorStream(true)
                .start();
        return new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    }

    @Test
    void settingsThatAreWrongAreNamedBeforeADatabaseIsMade() throws Exception {
        Path data = directory.resolve("data");

        String printed = run(
                1,
                Map.of(
                        "ANNALS_DATA_DIR", data.toString(),
                        "ANNALS_DATABASE_POOL_SIZE", "0",
                        "ANNALS_LIVE_HEARTBEAT", "often"));

        assertThat(printed)
                .contains("ANNALS_DATABASE_POOL_SIZE in the environment) is 0: it must be from 1 to 1000")
                .contains("annals.live.heartbeat")
                .doesNotContain("\tat ");
        assertThat(data).doesNotExist();
    }

    @Test
    void variablesThatAreNoSettingsAreNamedWithTheClosestThatIs() throws Exception {
        String printed = run(
                1,
                Map.of(
                        "ANNALS_DATABASE_POOL_SIZ", "3",
                        "ANNALS_DATABASE_URI", "postgresql://annals:s3cret@127.0.0.1:1/annals",
                        "ANNALS_TOKEN", "annals_of_a_client",
                        // Ends the start.
                        "ANNALS_DATABASE_POOL_SIZE", "0"));

        assertThat(printed)
                .contains("ANNALS_DATABASE_POOL_SIZ is no setting", "the closest one is ANNALS_DATABASE_POOL_SIZE")
                .contains("ANNALS_DATABASE_URI is no setting", "the closest one is ANNALS_DATABASE_URL")
                .doesNotContain("ANNALS_TOKEN", "ANNALS_PORT ", "s3cret");
    }

    @Test
    void theFirstStartShowsWhatItCreatesAndWhere() throws Exception {
        Path data = directory.resolve("data");
        try (ServiceProcess service =
                ServiceProcess.start(Map.of("ANNALS_DATA_DIR", data.toString())).awaitListening()) {
            assertThat(service.output.get(0))
                    .contains("an embedded PostgreSQL", data.toString(), "ANNALS_DATABASE_URL", "annals help");
            service.process().destroy();
            service.awaitEnd();
        }
        try (ServiceProcess again =
                ServiceProcess.start(Map.of("ANNALS_DATA_DIR", data.toString())).awaitListening()) {
            assertThat(again.output).noneMatch(line -> line.contains("annals help"));
            again.process().destroy();
            again.awaitEnd();
        }
    }

    private static String run(int exitCode, Map<String, String> settings, String... command) throws Exception {
        try (ServiceProcess program = ServiceProcess.start(settings, command)) {
            program.process().getOutputStream().close();
            int ended = program.awaitEnd();
            String printed = String.join("\n", program.output);
            assertThat(ended).as(printed).isEqualTo(exitCode);
            return printed;
        }
    }
}
