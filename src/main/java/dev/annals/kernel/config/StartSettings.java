package dev.annals.kernel.config;

import io.quarkus.runtime.configuration.ConfigUtils;
import io.smallrye.config.SmallRyeConfig;

/** The settings before Quarkus has started. */
public final class StartSettings {

    /** A system property that is no setting: no variable of the environment has its name. */
    private static final String OWN_DATABASE = "dev.annals.own-database";

    private StartSettings() {}

    /** Says that the database is the service's own, which has started it. */
    public static void useOwnDatabase() {
        System.setProperty(OWN_DATABASE, "true");
    }

    /** Whether the database is the service's own. */
    public static boolean usesOwnDatabase() {
        return Boolean.getBoolean(OWN_DATABASE);
    }

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
