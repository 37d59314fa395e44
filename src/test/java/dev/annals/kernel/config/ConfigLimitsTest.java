package dev.annals.kernel.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import io.quarkus.runtime.annotations.RegisterForReflection;
import io.smallrye.config.ConfigValidationException;
import io.smallrye.config.SmallRyeConfig;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

@BesideTheService
class ConfigLimitsTest {

    private static final List<Class<?>> ALL = Settings.all();

    static List<Class<?>> all() {
        return ALL;
    }

    private static SmallRyeConfig read(Map<String, String> settings) {
        return Settings.read(ALL, settings);
    }

    @Test
    void defaultsAreWithinTheirLimits() {
        assertThat(read(Map.of()).getConfigMapping(AnnalsConfig.class).port()).isEqualTo(8080);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "annals.port|65536|ANNALS_PORT|from 0 to 65535",
                "annals.port|-1|ANNALS_PORT|from 0 to 65535",
                "annals.management.port|65536|ANNALS_MANAGEMENT_PORT|from 0 to 65535",
                "annals.management.host|a b|ANNALS_MANAGEMENT_HOST|must match",
                "annals.database.pool-size|0|ANNALS_DATABASE_POOL_SIZE|from 1 to 1000",
                "annals.database.lock-timeout|0ms|ANNALS_DATABASE_LOCK_TIMEOUT|from 1ms to 10M",
                "annals.database.lock-timeout|601s|ANNALS_DATABASE_LOCK_TIMEOUT|from 1ms to 10M",
                "annals.admin-token|short-secret|ANNALS_ADMIN_TOKEN|must match",
                "annals.admin-token|a long secret with spaces|ANNALS_ADMIN_TOKEN|must match",
                "annals.public-url|audit.example.org|ANNALS_PUBLIC_URL|must match",
                "annals.trusted-proxies|127.0.0.1,proxy.example.org|ANNALS_TRUSTED_PROXIES|must match",
                "annals.trusted-proxies|300.1.1.1|ANNALS_TRUSTED_PROXIES|must match",
                "annals.trusted-proxies|10.0.0|ANNALS_TRUSTED_PROXIES|must match",
                "annals.trusted-proxies|01.2.3.4|ANNALS_TRUSTED_PROXIES|must match",
                "annals.trusted-proxies|1.2.3.4.|ANNALS_TRUSTED_PROXIES|must match",
                "annals.trusted-proxies|10.0.0.0/33|ANNALS_TRUSTED_PROXIES|must match",
                "annals.append.retries|101|ANNALS_APPEND_RETRIES|from 0 to 100",
            })
    void aSettingOutOfItsLimitsIsNamedAndNoSecretIsShown(String name, String value, String variable, String limits) {
        assertThatThrownBy(() -> read(Map.of(name, value)))
                .isInstanceOf(ConfigValidationException.class)
                .hasMessageContaining(name)
                .hasMessageContaining(variable)
                .hasMessageContaining(limits)
                .satisfies(failure -> assertThat(failure.getMessage()).doesNotContain("secret"));
    }

    @Test
    void allErrorsAreNamedAtOnce() {
        assertThatThrownBy(() -> read(Map.of("annals.port", "65536", "annals.database.pool-size", "0")))
                .hasMessageContaining("annals.port")
                .hasMessageContaining("annals.database.pool-size");
    }

    @ParameterizedTest
    @CsvSource({
        "annals.port, 0",
        "annals.port, 65535",
        "annals.database.lock-timeout, 1ms",
        "annals.database.lock-timeout, 10M"
    })
    void bothEndsAreIncluded(String name, String value) {
        assertThat(read(Map.of(name, value)).getOptionalValue(name, String.class))
                .hasValue(value);
    }

    @Test
    void allMappingsAreKnown() throws IOException {
        try (Stream<Path> sources = Files.walk(Path.of("src", "main", "java"))) {
            assertThat(ALL.stream().map(type -> type.getSimpleName() + ".java"))
                    .containsExactlyInAnyOrderElementsOf(
                            sources.map(source -> source.getFileName().toString())
                                    .filter(name -> name.endsWith("Config.java"))
                                    .toList());
        }
    }

    // Without this registration, a native executable would accept every value.
    @ParameterizedTest
    @MethodSource("all")
    void everyMappingCanBeAskedForItsLimits(Class<?> mapping) {
        assertThat(Settings.groups(mapping))
                .allSatisfy(group -> assertThat(group).hasAnnotation(RegisterForReflection.class));
    }

    @ParameterizedTest
    @MethodSource("all")
    void everyNumberAndDurationHasLimits(Class<?> mapping) {
        List<Method> settings = Settings.groups(mapping).stream()
                .flatMap(group -> Arrays.stream(group.getDeclaredMethods()))
                .toList();

        assertThat(settings).isNotEmpty().allSatisfy(setting -> {
            Class<?> type = setting.getReturnType();
            if (type == int.class || type == long.class) {
                assertThat(setting.getAnnotation(ConfigLimits.Min.class)).isNotNull();
                assertThat(setting.getAnnotation(ConfigLimits.Max.class)).isNotNull();
            } else if (type == Duration.class) {
                assertThat(setting.getAnnotation(ConfigLimits.Durations.class)).isNotNull();
            }
        });
    }
}
