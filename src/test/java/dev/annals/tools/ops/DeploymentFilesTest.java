package dev.annals.tools.ops;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import dev.annals.derived.proof.MasterKey;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.config.SettingsCheck;
import dev.annals.kernel.database.DatabaseUrl;
import dev.annals.kernel.database.NamedDatabase;
import io.smallrye.config.EnvConfigSource;
import io.smallrye.config.SmallRyeConfigBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Compose file, the Kubernetes manifests and make-secrets set the same keys, as files. */
class DeploymentFilesTest {

    private static final Path DOCKER = Path.of("docker");
    private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());
    private static final List<String> INSTANCES = List.of("annals", "annals-2", "annals-3");

    /** Without one of them, records are not signed, a stream cannot have a secret, or a restored database is not noticed. */
    private static final Set<String> KEPT = Set.of(
            "ANNALS_DATABASE_PASSWORD_FILE",
            "ANNALS_LOG_HOST",
            "ANNALS_LOG_KEY_FILE",
            "ANNALS_LOG_SEEN_DIR",
            "ANNALS_STREAMS_KEY_FILE");

    @TempDir
    static Path made;

    private static Path secrets;

    @BeforeAll
    static void makeSecrets() throws Exception {
        Path script = Files.copy(DOCKER.resolve("make-secrets"), made.resolve("make-secrets"));
        assertThat(run(script, "audit.example.org")).isZero();
        secrets = made.resolve("secrets");
    }

    private static int run(Path script, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of("bash", script.toString()));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command).inheritIO().start().waitFor();
    }

    private static String made(String name) throws IOException {
        return Files.readString(secrets.resolve(name));
    }

    private static JsonNode read(String file) throws IOException {
        return YAML.readTree(DOCKER.resolve(file).toFile());
    }

    private static Stream<JsonNode> each(JsonNode list) {
        return StreamSupport.stream(list.spliterator(), false);
    }

    @Test
    void theKeysAreMadeOnceAndFit() throws Exception {
        MasterKey.parse(made("log-key"));
        assertThat(made("streams-key")).matches("[0-9a-f]{64}");
        assertThat(made("admin-token")).matches("[!-~]{16,256}");
        assertThat(made("log-host.env")).isEqualTo("ANNALS_LOG_HOST=audit.example.org");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(secrets)))
                .isEqualTo("rwx------");

        Path before =
                Files.copy(secrets.resolve("log-key"), made.resolve("before"), StandardCopyOption.REPLACE_EXISTING);
        assertThat(run(made.resolve("make-secrets"), "other.example.org")).isZero();
        assertThat(made("log-key")).isEqualTo(Files.readString(before));
        assertThat(made("log-host.env")).endsWith("=audit.example.org");
        assertThat(run(made.resolve("make-secrets"), "https://audit.example.org"))
                .isEqualTo(2);
    }

    // The parser does not merge anchors.
    private static JsonNode composeService(JsonNode compose, String name, String field) {
        JsonNode own = compose.path("services").path(name).path(field);
        return own.isMissingNode() ? compose.path("x-instance").path(field) : own;
    }

    @Test
    void everyInstanceOfTheComposeFileHasEveryKeyAsAFile() throws Exception {
        JsonNode compose = read("compose.yaml");
        for (String name : INSTANCES) {
            Map<String, String> variables = new HashMap<>();
            composeService(compose, name, "environment")
                    .properties()
                    .forEach(
                            each -> variables.put(each.getKey(), each.getValue().asText()));
            for (JsonNode file : composeService(compose, name, "env_file")) {
                for (String line : Files.readAllLines(made.resolve(file.asText()))) {
                    variables.put(line.split("=")[0], line.split("=")[1]);
                }
            }
            assertThat(variables.keySet()).as(name).containsAll(KEPT);

            List<String> given = each(composeService(compose, name, "secrets"))
                    .map(JsonNode::asText)
                    .toList();
            for (String variable : KEPT) {
                if (variable.endsWith("_FILE")) {
                    String secret = variables.get(variable).replace("/run/secrets/", "");
                    assertThat(given).as(name).contains(secret);
                    assertThat(made(compose.path("secrets")
                                    .path(secret)
                                    .path("file")
                                    .asText()
                                    .replace("./secrets/", "")))
                            .isNotEmpty();
                }
            }
            assertThat(variables.get("ANNALS_LOG_SEEN_DIR")).startsWith("/data/");
            assertThat(variables.get("ANNALS_FIRST_TOKENS_FILE")).startsWith("/data/");
            assertThat(each(composeService(compose, name, "volumes")).map(JsonNode::asText))
                    .contains("annals:/data");
        }
    }

    @Test
    void theManifestsSetEveryKeyAsAFileAndNothingSecretInTheEnvironment() throws Exception {
        JsonNode pod = read("kubernetes/deployment.yaml").at("/spec/template/spec");
        JsonNode container = pod.at("/containers/0");
        Map<String, JsonNode> variables = new HashMap<>();
        container.path("env").forEach(each -> variables.put(each.path("name").asText(), each));
        assertThat(variables.keySet()).containsAll(KEPT).contains("ANNALS_ADMIN_TOKEN_FILE");

        Set<String> mounted = new TreeSet<>();
        for (String file : List.of("kubernetes/deployment.yaml", "kubernetes/migrate-job.yaml")) {
            JsonNode spec = read(file).at("/spec/template/spec");
            Set<String> here = new TreeSet<>();
            each(spec.path("volumes"))
                    .flatMap(each -> each(each.at("/secret/items")))
                    .forEach(item -> here.add(item.path("path").asText()));
            for (JsonNode variable : spec.at("/containers/0/env")) {
                String name = variable.path("name").asText();
                assertThat(variable.at("/valueFrom/secretKeyRef").isMissingNode())
                        .as(name)
                        .isTrue();
                if (name.endsWith("_FILE")) {
                    assertThat(here).contains(variable.path("value").asText().replace("/run/secrets/annals/", ""));
                }
            }
            mounted.addAll(here);
        }
        String guide = Files.readString(DOCKER.resolve("kubernetes/kustomization.yaml"));
        for (String secret : mounted) {
            assertThat(guide).contains("--from-file=" + secret);
            assertThat(made(secret)).isNotEmpty();
        }
        assertThat(each(container.path("volumeMounts"))
                        .map(each -> each.path("mountPath").asText()))
                .contains("/data", "/run/secrets/annals");
    }

    /** The databases as a start reads them, and the names of the files with their passwords. */
    private static List<NamedDatabase> databases(Map<String, String> environment, Path passwords) throws IOException {
        Map<String, String> readable = new HashMap<>();
        for (Map.Entry<String, String> variable : environment.entrySet()) {
            String value = variable.getValue();
            readable.put(
                    variable.getKey(),
                    value.startsWith("/run/secrets/")
                            ? passwords.resolve(value.replaceFirst(".*/", "")).toString()
                            : value);
        }
        List<NamedDatabase> all = NamedDatabase.all(new SmallRyeConfigBuilder()
                .withSources(new EnvConfigSource(readable, 300))
                .addDefaultInterceptors()
                .build());
        NamedDatabase.requireUrls(all);
        assertThat(new SettingsCheck(List.of(AnnalsConfig.class)).unknown(environment.keySet()))
                .isEmpty();
        return all;
    }

    @Test
    void theComposeFileOfMembersGivesEachContainerBothDatabases() throws Exception {
        JsonNode compose = read("compose.yaml");
        JsonNode members = read("compose.members.yaml");
        JsonNode shared = members.path("x-members");
        for (String name :
                Stream.concat(INSTANCES.stream(), Stream.of("migrate")).toList()) {
            Map<String, String> variables = new HashMap<>();
            for (JsonNode part : List.of(
                    composeService(compose, name, "environment"),
                    shared,
                    members.path("services").path(name).path("environment"))) {
                part.properties().stream()
                        .filter(each -> each.getKey().startsWith("ANNALS_DATABASE"))
                        .forEach(each ->
                                variables.put(each.getKey(), each.getValue().asText()));
            }
            assertThat(members.path("services").has(name)).isTrue();
            List<NamedDatabase> all = databases(variables, secrets);
            assertThat(all).extracting(NamedDatabase::name).containsExactly("main", "east");
            assertThat(all.get(1).url()).map(DatabaseUrl::host).contains("database-east");
            assertThat(all.get(1).url().map(DatabaseUrl::user))
                    .isEqualTo(all.get(0).url().map(DatabaseUrl::user));
        }
        assertThat(members.at("/services/database-east/extends/service").asText())
                .isEqualTo("database");
    }

    @Test
    void theManifestsOfMembersGiveEachPodBothDatabases() throws Exception {
        String guide = Files.readString(DOCKER.resolve("kubernetes-members/kustomization.yaml"));
        for (JsonNode patch : read("kubernetes-members/kustomization.yaml").path("patches")) {
            boolean job = patch.at("/target/kind").asText().equals("Job");
            JsonNode pod = read("kubernetes/" + (job ? "migrate-job" : "deployment") + ".yaml");
            assertThat(pod.at("/metadata/name")).isEqualTo(patch.at("/target/name"));
            Map<String, String> variables = new HashMap<>();
            variables.put("ANNALS_DATABASE_URL", "postgresql://annals:secret@main/annals");
            for (JsonNode change : YAML.readTree(patch.path("patch").asText())) {
                String path = change.path("path").asText();
                assertThat(path).endsWith("/-");
                assertThat(pod.at(path.substring(0, path.length() - 2)).isArray())
                        .as(path)
                        .isTrue();
                JsonNode value = change.path("value");
                if (value.has("path")) {
                    assertThat(guide)
                            .contains("--from-file=" + value.path("key").asText());
                    Files.writeString(made.resolve(value.path("path").asText()), "secret");
                } else if (value.has("value")) {
                    variables.put(
                            value.path("name").asText(), value.path("value").asText());
                } else {
                    assertThat(guide)
                            .contains("--from-literal="
                                    + value.at("/valueFrom/configMapKeyRef/key").asText());
                    variables.put(value.path("name").asText(), "postgresql://annals@east/annals");
                }
            }
            // Its password is of a file that the patch adds to the volume.
            assertThat(databases(variables, made))
                    .extracting(NamedDatabase::name)
                    .containsExactly("main", "east");
        }
    }
}
