package dev.annals.derived.statistics;

import dev.annals.derived.projection.Projection;
import dev.annals.kernel.config.Settings;
import java.util.Map;

/** The daily counts of the service, for a test without a service. */
public final class CountsFixture {

    private CountsFixture() {}

    public static Projection dailyCounts() {
        return dailyCounts(Map.of());
    }

    /**
     * Daily counts with other limits.
     *
     * @param settings that differ from the defaults, with the prefix annals.statistics
     */
    public static Projection dailyCounts(Map<String, String> settings) {
        return new DailyCounts(Settings.of(StatisticsConfig.class, settings));
    }
}
