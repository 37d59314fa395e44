package dev.annals.kernel.config;

import io.quarkus.runtime.configuration.ConfigUtils;
import io.smallrye.config.SmallRyeConfig;

/** The settings before Quarkus has started. */
public final class StartSettings {

    /** A system property that is no setting: no variable of the environment has its name. */
    private static final String OWN_DATABASE = "dev.annals.own-database";

    private StartSettings() {}

    /** Marks the database as the service's own, which the service has started. */
    public static void useOwnDatabase() {
        System.setProperty(OWN_DATABASE, "true");
    }

    /** Whether the database is the service's own. */
    public static boolean usesOwnDatabase() {
        return Boolean.getBoolean(OWN_DATABASE);
    }

    /**
     * Reads the settings from the sources of Quarkus: system properties, the environment, and files, in this order. {@code
     * ConfigProvider} cannot be used before Quarkus has started: in a native executable it returns the settings of the build.
     *
     * @throws IllegalArgumentException if the database's URL cannot be used
     */
    public static SmallRyeConfig read() {
        return ConfigUtils.configBuilder()
                .forClassLoader(Thread.currentThread().getContextClassLoader())
                .build();
    }
}
