package dev.annals.tools.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import dev.annals.BesideTheService;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The printed constants compile, and have the names of the actions, whatever these are. */
@BesideTheService
class ActionConstantsTest {

    private static final ObjectMapper JSON = new ObjectMapper();

    /** Constants in upper case, and their actions. */
    private static final Map<String, String> EXPECTED = Map.of(
            "USER_LOGIN", "user.login",
            "USER_LOGIN_2", "userLogin",
            "ACTION_2FA_ENABLE", "2fa.enable",
            "U002A", "*/ \\u002a/",
            "A_B", "a\"; \n\r\u0000b",
            "PRU00FCFEN", "pr\u00fcfen",
            "ACTION_", "\uD83D\uDE00\u202E");

    @TempDir
    Path folder;

    private static JsonNode actions() {
        ArrayNode actions = JSON.createArrayNode();
        for (String constant :
                List.of("USER_LOGIN", "USER_LOGIN_2", "ACTION_2FA_ENABLE", "U002A", "A_B", "PRU00FCFEN", "ACTION_")) {
            actions.addObject()
                    .put("name", EXPECTED.get(constant))
                    .put("title", "*/ }; \\u002a/ \u202E\n\"\"\" evil()");
        }
        return actions;
    }

    private Path write(String name, ActionConstants.Language language) throws IOException {
        return Files.writeString(folder.resolve(name), ActionConstants.of(actions(), language, null));
    }

    @Test
    void javaCompiles() throws Exception {
        Path source = write("Actions.java", ActionConstants.Language.java);
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        int result = ToolProvider.getSystemJavaCompiler().run(null, errors, errors, source.toString());
        assertThat(result).as(errors.toString(StandardCharsets.UTF_8)).isZero();
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            Class<?> constants = loader.loadClass("Actions");
            for (String constant : List.of(
                    "USER_LOGIN", "USER_LOGIN_2", "ACTION_2FA_ENABLE", "U002A", "A_B", "PRU00FCFEN", "ACTION_")) {
                assertThat(constants.getField(constant).get(null)).isEqualTo(EXPECTED.get(constant));
            }
        }
    }

    @Test
    void pythonCompiles() throws Exception {
        write("actions.py", ActionConstants.Language.python);
        String printed =
                run("python3", "-c", "import actions, json; print(json.dumps([actions.USER_LOGIN, actions.A_B]))");
        assertThat(JSON.readTree(printed))
                .isEqualTo(JSON.createArrayNode().add("user.login").add(EXPECTED.get("A_B")));
    }

    @Test
    void typeScriptIsJavaScriptButForItsTypes() throws Exception {
        Path source = write("actions.ts", ActionConstants.Language.typescript);
        Files.writeString(
                folder.resolve("actions.mjs"),
                Files.readString(source).replace("} as const;", "};").replaceAll("export type .*", "")
                        + "console.log(JSON.stringify([Actions.USER_LOGIN, Actions.A_B]));");
        assertThat(JSON.readTree(run("node", "actions.mjs")))
                .isEqualTo(JSON.createArrayNode().add("user.login").add(EXPECTED.get("A_B")));
    }

    @Test
    void goIsWellFormed() throws Exception {
        write("actions.go", ActionConstants.Language.go);
        run("gofmt", "-e", "actions.go");
    }

    private String run(String... command) throws Exception {
        assumeTrue(
                new ProcessBuilder("sh", "-c", "command -v " + command[0])
                                .start()
                                .waitFor()
                        == 0,
                command[0] + " is missing");
        Process process = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .start();
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(process.exitValue()).as(printed).isZero();
        return printed;
    }
}
