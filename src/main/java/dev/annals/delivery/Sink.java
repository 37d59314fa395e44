package dev.annals.delivery;

import dev.annals.feed.Cursor;
import dev.annals.record.RecordEncoder;
import io.smallrye.mutiny.Uni;
import java.time.Duration;
import java.util.List;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Where a stream delivers, for one turn of it. Each kind of sink is one class: it is added below, to {@link SinkType} and to {@link
 * Sinks#open}, and nowhere else.
 */
sealed interface Sink extends AutoCloseable permits WebhookSink, PostgresSink, KafkaSink, OtlpSink {

    /** What came of a delivery. */
    sealed interface Outcome {

        /**
         * The sink has all of it.
         *
         * @param told what it answered, for people
         */
        record Taken(String told) implements Outcome {}

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
     * Where to go on.
     *
     * @param known where the stream stands as the service knows it
     * @return fails where the sink cannot be asked
     */
    Uni<Cursor> begin(Cursor known);

    /** Delivers a batch. Never fails, and ends within the time limit. */
    Uni<Outcome> deliver(Batch batch);

    /** Delivers a record for people to see what the sink answers. Never fails. */
    Uni<Outcome> test(Batch batch);

    @Override
    void close();

    /**
     * Looks at what somebody says of a sink.
     *
     * @param wrong is told the field, and what is wrong with it
     */
    static void check(SinkType type, String url, @Nullable String secret, BiConsumer<String, String> wrong) {
        switch (type) {
            case WEBHOOK -> WebhookSink.check(url, secret, wrong);
            case POSTGRESQL -> PostgresSink.check(url, secret, wrong);
            case KAFKA -> KafkaUrl.check(url, secret, wrong);
            case OTLP -> OtlpSink.check(url, secret, wrong);
        }
    }

    /** Where the sink of such a URL is: one host, or several. */
    static List<String> hosts(SinkType type, String url) {
        return switch (type) {
            case WEBHOOK, OTLP -> List.of(HttpPost.host(url));
            case POSTGRESQL -> List.of(PostgresSink.host(url));
            case KAFKA -> KafkaUrl.parse(url).hosts();
        };
    }

    /**
     * Whether a sink needs a secret that is not known yet.
     *
     * @param hadOne whether there was one, for another URL
     */
    static boolean needsSecret(SinkType type, String url, boolean hadOne) {
        return switch (type) {
            case WEBHOOK -> true;
            case POSTGRESQL, OTLP -> hadOne;
            case KAFKA -> KafkaUrl.parse(url).mechanism() != null;
        };
    }

    /** How each record is written for a stream's sink. */
    static RecordEncoder.Format format(NamedStream stream) {
        return stream.sinkType() == SinkType.OTLP
                ? OtlpRecord::write
                : stream.format().of(stream.projectId());
    }

    /** What may be shown of a failure of {@link #begin}. */
    static String told(Throwable failure) {
        return failure instanceof UnavailableException
                ? String.valueOf(failure.getMessage())
                : PostgresSink.told(failure);
    }

    /** The sink cannot be asked where it stands; the message is for people, and has no secret. */
    final class UnavailableException extends RuntimeException {

        private static final long serialVersionUID = 1;

        UnavailableException(String why) {
            super(why, null, false, false);
        }
    }
}
