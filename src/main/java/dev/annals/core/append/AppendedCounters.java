package dev.annals.core.append;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;

/** Counts what one of the ways in has stored. What was stored before does not count. */
final class AppendedCounters {

    private final Counter records;
    private final Counter bytes;

    /** @param via which way in: {@code one}, {@code batch}, {@code import}, {@code cloudevents} or {@code otlp} */
    AppendedCounters(String via, MeterRegistry metrics) {
        this.records = Counter.builder("annals.appended.records")
                .description("Records that were stored")
                .tag("via", via)
                .register(metrics);
        this.bytes = Counter.builder("annals.appended.bytes")
                .description("JSON of the records that were stored, unpacked")
                .tag("via", via)
                .register(metrics);
    }

    /** Counts records of a request: {@code added} of {@code all}, which came in so many bytes. */
    void stored(int added, int all, long size) {
        records.increment(added);
        bytes.increment((double) size * added / all);
    }
}
