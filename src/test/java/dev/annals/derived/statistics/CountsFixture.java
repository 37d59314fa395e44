package dev.annals.derived.statistics;

import dev.annals.derived.projection.Projection;
import dev.annals.kernel.config.Settings;
import java.util.Map;

/** The service's daily counts, for a test that starts no service. */
public final class CountsFixture {

    private CountsFixture() {}

    public static Projection dailyCounts() {
        return dailyCounts(Map.of());
    }

    /**
     * The same with other limits.
     *
     * @param settings where they are not as by default; they have the prefix annals.statistics
     */
    public static Projection dailyCounts(Map<String, String> settings) {
        return new DailyCounts(Settings.of(StatisticsConfig.class, settings));
    }
}
