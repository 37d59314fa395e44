package dev.annals.requests;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.distribution.DistributionStatisticConfig;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.stream.Stream;

/**
 * Counts the times of requests in buckets, from which Prometheus estimates percentiles over all instances. Percentiles that
 * each instance computed could not be put together.
 */
final class RequestTimes {

    private static final String TIMER = "http.server.requests";

    /** Few, since there are as many series for each operation and status. */
    private static final double[] BUCKETS = Stream.of(2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000)
            .mapToDouble(millis -> Duration.ofMillis(millis).toNanos())
            .toArray();

    @Produces
    @Singleton
    MeterFilter buckets() {
        return new MeterFilter() {
            @Override
            public DistributionStatisticConfig configure(Meter.Id id, DistributionStatisticConfig config) {
                return id.getName().equals(TIMER)
                        ? DistributionStatisticConfig.builder()
                                .serviceLevelObjectives(BUCKETS)
                                .build()
                                .merge(config)
                        : config;
            }
        };
    }
}
