package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.smallrye.config.SmallRyeConfigBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.eclipse.microprofile.config.Config;
import org.junit.jupiter.api.Test;

/** The start checks every setting. */
@BesideTheService
class EverySettingIsCheckedTest {

    private static final Pattern DOCUMENTED = Pattern.compile("(?m)^\\| `(ANNALS_[A-Z_]+)`");

    @Test
    void everyInterfaceThatDeclaresSettingsIsChecked() {
        assertThat(Settings.ALL).containsExactlyInAnyOrderElementsOf(dev.annals.kernel.config.Settings.all());
    }

    @Test
    void everyDocumentedSettingIsKnown() throws IOException {
        List<String> documented = DOCUMENTED
                .matcher(Files.readString(Path.of("docs", "settings.md")))
                .results()
                .map(found -> found.group(1))
                .toList();

        assertThat(documented).hasSizeGreaterThan(50);
        assertThat(Settings.check().unknown(documented)).isEmpty();
    }

    @Test
    void theClosestNameIsTheOneWithTheFewestTypingErrors() {
        assertThat(Settings.check().unknown(List.of("PATH", "ANNALS_PROT", "ANNALS_LOGHOST", "ANNALS_DATABSE_URL")))
                .satisfiesExactly(
                        sentence -> assertThat(sentence).contains("ANNALS_DATABSE_URL", "one is ANNALS_DATABASE_URL."),
                        sentence -> assertThat(sentence).contains("ANNALS_LOGHOST", "one is ANNALS_LOG_HOST."),
                        sentence -> assertThat(sentence).contains("ANNALS_PROT", "one is ANNALS_PORT."));
    }

    @Test
    void anEnvironmentFullOfOtherVariablesFillsNoLog() {
        List<String> many =
                IntStream.range(0, 1_000).mapToObj(i -> "ANNALS_OTHER_" + i).toList();

        assertThat(Settings.check().unknown(many)).hasSize(21).last().asString().startsWith("980 more");
        assertThat(new TreeSet<>(Settings.check().unknown(many))).hasSize(21);
    }

    @Test
    void unsetSettingsAreValidAndAllWrongOnesAreNamedAtOnce() {
        assertThatCode(() -> Settings.check().requireValid(config(Map.of()))).doesNotThrowAnyException();
        assertThatThrownBy(() -> Settings.check()
                        .requireValid(config(Map.of("annals.port", "65536", "annals.log.interval", "soon"))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("ANNALS_PORT", "annals.log.interval");
    }

    @Test
    void aWrongBooleanIsRefusedAndNotTakenForFalse() {
        for (String wrong : List.of("ture", "1", "yes", "on", "")) {
            assertThatThrownBy(
                            () -> Settings.check().requireValid(config(Map.of("annals.verification.enabled", wrong))))
                    .as(wrong)
                    .hasMessageContaining("annals.verification.enabled");
        }
        assertThatCode(() -> Settings.check().requireValid(config(Map.of("annals.verification.enabled", "FALSE"))))
                .doesNotThrowAnyException();
    }

    private static Config config(Map<String, String> settings) {
        return new SmallRyeConfigBuilder().withDefaultValues(settings).build();
    }
}
