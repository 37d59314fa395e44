package dev.annals.kernel.config;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import dev.annals.OwnClasses;
import io.quarkus.runtime.configuration.QuarkusConfigFactory;
import io.smallrye.config.SmallRyeConfigBuilder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.eclipse.microprofile.config.ConfigProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@BesideTheService
class StartSettingsTest {

    private static final String NAME = "annals.data-dir";

    @TempDir
    Path directory;

    @Test
    void theEnvironmentIsReadWhateverConfigurationTheProgramWasBuiltWith() throws Exception {
        assertThat(read(Map.of("ANNALS_DATA_DIR", "environment"))).isEqualTo("environment");
    }

    @Test
    void aSystemPropertyComesBeforeTheEnvironmentAndThatBeforeTheFile() throws Exception {
        Files.createDirectory(directory.resolve("config"));
        Files.writeString(directory.resolve("config/application.properties"), NAME + "=file\n");
        Map<String, String> environment = Map.of("ANNALS_DATA_DIR", "environment");

        assertThat(read(Map.of())).isEqualTo("file");
        assertThat(read(environment)).isEqualTo("environment");
        assertThat(read(environment, "-D" + NAME + "=property")).isEqualTo("property");
    }

    @Test
    void beforeQuarkusHasStartedTheConfigurationIsReadInOnePlace() {
        noClasses()
                // Quarkus makes the transport of its connections.
                .that()
                .resideOutsideOfPackage("dev.annals.kernel.connection")
                .should()
                .dependOnClassesThat()
                .areAssignableTo(ConfigProvider.class)
                .check(OwnClasses.all());
    }

    /** The setting in a process with this environment. */
    private String read(Map<String, String> environment, String... javaOptions) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        command.addAll(List.of(javaOptions));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Program.class.getName()));
        ProcessBuilder program = new ProcessBuilder(command).directory(directory.toFile());
        program.environment().keySet().removeIf(name -> name.startsWith("ANNALS_"));
        program.environment().putAll(environment);
        program.redirectError(ProcessBuilder.Redirect.INHERIT);
        Process process = program.start();
        String read = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).isZero();
        return read;
    }

    /** Prints the setting. As in a native executable, a configuration exists from the time of the build. */
    static final class Program {
        private Program() {}

        @SuppressWarnings("SystemOut") // for the test, which reads it
        public static void main(String... arguments) {
            QuarkusConfigFactory.setConfig(
                    new SmallRyeConfigBuilder().withDefaultValue(NAME, "build").build());
            System.out.print(StartSettings.read().getValue(NAME, String.class));
        }
    }
}
