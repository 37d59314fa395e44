package dev.annals.kernel.config;

import io.quarkus.runtime.configuration.ConfigUtils;
import io.smallrye.config.SmallRyeConfig;

/** The settings before Quarkus has started. */
public final class StartSettings {

    private StartSettings() {}

    /**
     * Reads them from where Quarkus will read them: system properties, the environment, and the files, in this order. Until
     * Quarkus has started, {@code ConfigProvider} must not be asked: in a native executable it answers with what the settings
     * were when the executable was built.
     *
     * @throws IllegalArgumentException if the database's URL cannot be used
     */
    public static SmallRyeConfig read() {
        return ConfigUtils.configBuilder()
                .forClassLoader(Thread.currentThread().getContextClassLoader())
                .build();
    }
}
