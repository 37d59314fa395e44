package dev.annals.edges.delivery;

import dev.annals.core.feed.Cursor;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import io.smallrye.mutiny.Uni;
import java.io.Serial;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The receiver of a stream, opened for one turn. Each {@link SinkType} has one class. After a new type is added there and below, the
 * compiler names each {@code switch} that lacks it.
 */
sealed interface Sink extends AutoCloseable permits WebhookSink, PostgresSink, KafkaSink, OtlpSink, SyslogSink, S3Sink {

    /**
     * Records in the order of their feed. A batch without records only moves the cursor.
     *
     * @param before the stream's cursor
     * @param after the stream's cursor after the delivery
     */
    record Batch(NamedStream stream, List<EncodedRecord> records, Cursor before, Cursor after) {}

    sealed interface Outcome {

        Outcome NOTHING = new Delivered("There was nothing to send.");

        /**
         * The sink has the whole batch.
         *
         * @param answer the sink's answer, for people
         */
        record Delivered(String answer) implements Outcome {

            static Delivered records(int count, String more) {
                return new Delivered("It took " + count + (count == 1 ? " record" : " records") + more + ".");
            }
        }

        /**
         * The delivery failed, or its result is unknown. It is tried again later.
         *
         * @param why for people; without a secret
         * @param after how long the sink asks to wait; null if it does not say
         */
        record Failed(String why, @Nullable Duration after) implements Outcome {}

        /**
         * The sink refuses the batch.
         *
         * @param gone whether the sink takes nothing any more
         */
        record Refused(String why, boolean gone) implements Outcome {}

        /** The sink has another cursor than the stream: another instance has delivered, or the stream was rewound. */
        record Moved() implements Outcome {}
    }

    /** The sink broke its protocol. The message is for people, and has no secret. */
    final class SinkException extends RuntimeException {

        @Serial
        private static final long serialVersionUID = 1;

        SinkException(String message) {
            super(message, null, false, false);
        }
    }

    /**
     * The cursor after which to go on. A sink that stores no cursor returns the known one.
     *
     * @return fails if the sink cannot be asked; {@link #explain} gives the reason
     */
    default Uni<Cursor> begin(Cursor known) {
        return Uni.createFrom().item(known);
    }

    /** For people; without a secret. */
    String explain(Throwable failure);

    /** Never fails, and ends within the time limit. */
    default Uni<Outcome> deliver(Batch batch) {
        return batch.records().isEmpty() ? Uni.createFrom().item(Outcome.NOTHING) : test(batch);
    }

    /** Sends a batch to show the sink's answer to people. Never fails. */
    Uni<Outcome> test(Batch batch);

    /** Closes the connections that only this sink uses. */
    @Override
    default void close() {}
}
