package dev.annals.kernel.config;

import dev.annals.OwnClasses;
import io.quarkus.runtime.configuration.DurationConverter;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.SmallRyeConfig;
import io.smallrye.config.SmallRyeConfigBuilder;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The interfaces that declare the service's settings. */
public final class Settings {

    private Settings() {}

    public static List<Class<?>> all() {
        return OwnClasses.all().stream()
                .filter(type -> type.isAnnotatedWith(ConfigMapping.class))
                .<Class<?>>map(type -> type.reflect())
                .toList();
    }

    /** One of them, with these settings and otherwise the defaults. */
    public static <T> T of(Class<T> mapping, Map<String, String> settings) {
        return read(List.of(mapping), settings).getConfigMapping(mapping);
    }

    static SmallRyeConfig read(List<Class<?>> mappings, Map<String, String> settings) {
        SmallRyeConfigBuilder builder = new SmallRyeConfigBuilder()
                .withConverter(Duration.class, 200, new DurationConverter())
                .withDefaultValues(settings);
        new ConfigLimits().configBuilder(builder);
        mappings.forEach(builder::withMapping);
        return builder.build();
    }

    /** One of them, with the groups of settings that it declares. */
    public static List<Class<?>> groups(Class<?> mapping) {
        return Stream.concat(Stream.of(mapping), Arrays.stream(mapping.getDeclaredClasses()))
                .toList();
    }
}
