package dev.annals.statistics;

import dev.annals.config.Settings;
import dev.annals.projection.Projection;
import dev.annals.projection.ProjectionConfig;
import java.util.Map;

/** The service's daily counts, for a test that starts no service. */
public final class CountsFixture {

    private CountsFixture() {}

    public static Projection dailyCounts() {
        return new DailyCounts(
                Settings.of(StatisticsConfig.class, Map.of()), Settings.of(ProjectionConfig.class, Map.of()));
    }
}
