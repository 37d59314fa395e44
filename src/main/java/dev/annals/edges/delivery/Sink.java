package dev.annals.edges.delivery;

import dev.annals.core.feed.Cursor;
import io.smallrye.mutiny.Uni;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Where a stream delivers, for one turn of it. Each kind of sink is one class. It is added to {@link SinkType} and below; then the
 * compiler names each {@code switch} that lacks it.
 */
sealed interface Sink extends AutoCloseable permits WebhookSink, PostgresSink, KafkaSink, OtlpSink, SyslogSink, S3Sink {

    /** What came of a delivery. */
    sealed interface Outcome {

        /** There was nothing to deliver. */
        Outcome NOTHING = new Taken("There was nothing to send.");

        /**
         * The sink has all of it.
         *
         * @param told what it answered, for people
         */
        record Taken(String told) implements Outcome {

            static Taken records(int count, String more) {
                return new Taken("It took " + count + (count == 1 ? " record" : " records") + more + ".");
            }
        }

        /**
         * It was not delivered, or nobody knows: try again later.
         *
         * @param why for people; without a secret
         * @param after how long the sink wants to be left alone; null if it has not said
         */
        record Failed(String why, @Nullable Duration after) implements Outcome {}

        /**
         * The sink says that it does not take this.
         *
         * @param gone whether it takes nothing any more
         */
        record Refused(String why, boolean gone) implements Outcome {}

        /** The sink stands somewhere else: somebody else has delivered. */
        record Elsewhere() implements Outcome {}
    }

    /**
     * Where to go on. A sink that keeps no place of its own goes on where the service knows.
     *
     * @param known where the stream stands as the service knows it
     * @return fails where the sink cannot be asked; {@link #told} says why
     */
    default Uni<Cursor> begin(Cursor known) {
        return Uni.createFrom().item(known);
    }

    /** What may be shown of a failure, without a secret. */
    String told(Throwable failure);

    /** Delivers a batch. Never fails, and ends within the time limit. */
    default Uni<Outcome> deliver(Batch batch) {
        return batch.records().isEmpty() ? Uni.createFrom().item(Outcome.NOTHING) : test(batch);
    }

    /** Delivers a record for people to see what the sink answers. Never fails. */
    Uni<Outcome> test(Batch batch);

    /** Ends the connections that are this sink's alone. */
    @Override
    default void close() {}

    /**
     * Looks at what somebody says of a sink.
     *
     * @param wrong is told the field, and what is wrong with it
     */
    static void check(
            SinkType type, StreamFormat format, String url, @Nullable String secret, BiConsumer<String, String> wrong) {
        switch (type) {
            case WEBHOOK -> WebhookSink.check(format, url, secret, wrong);
            case POSTGRESQL -> PostgresSink.check(url, secret, wrong);
            case KAFKA -> KafkaUrl.check(url, secret, wrong);
            case OTLP -> OtlpSink.check(url, secret, wrong);
            case SYSLOG -> SyslogSink.check(url, secret, wrong);
            case S3 -> S3Sink.check(url, secret, wrong);
        }
    }

    /** Where the sink of such a URL is: names or addresses, the latter without brackets. */
    static List<String> hosts(SinkType type, String url) {
        return switch (type) {
            case WEBHOOK, OTLP -> List.of(HttpExchange.host(URI.create(url)));
            case POSTGRESQL -> List.of(PostgresSink.host(url));
            case KAFKA -> KafkaUrl.parse(url).hosts();
            case SYSLOG -> List.of(SyslogSink.host(url));
            case S3 -> List.of(S3Sink.host(url));
        };
    }

    /**
     * Whether a sink needs a secret that is not known yet.
     *
     * @param hadOne whether there was one, for another URL
     */
    static boolean needsSecret(SinkType type, String url, boolean hadOne) {
        return switch (type) {
            case WEBHOOK, S3 -> true;
            case POSTGRESQL, OTLP, SYSLOG -> hadOne;
            case KAFKA -> KafkaUrl.parse(url).mechanism() != null;
        };
    }
}
