package dev.annals.kernel.config;

import io.quarkus.runtime.configuration.ConfigUtils;
import io.smallrye.config.SmallRyeConfig;

/** The settings before Quarkus has started. */
public final class StartSettings {

    /** A system property, which no variable of the environment can set. */
    private static final String OWN_DATABASE = "dev.annals.own-database";

    private StartSettings() {}

    /** Marks the database as started by the service. */
    public static void useOwnDatabase() {
        System.setProperty(OWN_DATABASE, "true");
    }

    public static boolean usesOwnDatabase() {
        return Boolean.getBoolean(OWN_DATABASE);
    }

    /**
     * Unlike this, {@code ConfigProvider} returns the settings of the build in a native executable until Quarkus has started.
     *
     * @throws IllegalArgumentException if the database's URL cannot be used
     */
    public static SmallRyeConfig read() {
        return ConfigUtils.configBuilder()
                .forClassLoader(Thread.currentThread().getContextClassLoader())
                .build();
    }
}
