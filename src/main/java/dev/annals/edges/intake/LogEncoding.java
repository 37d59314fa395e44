package dev.annals.edges.intake;

import dev.annals.edges.intake.LogRecord.Place;
import dev.annals.edges.intake.LogRecord.Refusal;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import jakarta.ws.rs.core.MediaType;
import java.util.List;

/**
 * One of the two encodings of OTLP. A body is read in two steps: first it is found where its log records are, then each is read
 * when it is its turn. So a log record that cannot be read keeps no other from being stored, and few are in memory at a time.
 */
sealed interface LogEncoding permits LogProtobuf, LogJson {

    /** How long a log record, a resource or a scope may be. As JSON, which says the type of each value, it is longer than a record. */
    int MAX_BYTES = 524_280;
    /** How deeply values may be nested: more than metadata may. */
    int MAX_DEPTH = 40;
    /** How many values a log record, a resource or a scope may have: as many as metadata may. */
    int MAX_VALUES = 4_096;

    MediaType type();

    /**
     * Finds the log records of a body, in their order.
     *
     * @param most how many there may be
     * @throws ProblemException {@code malformed-json}, {@code malformed-encoding} or {@code too-many-records}
     */
    List<Place> places(byte[] body, int most);

    /**
     * Reads one of them.
     *
     * @throws Refusal if it cannot be read
     */
    LogRecord read(byte[] body, Place place) throws Refusal;

    /** What a request is answered with of which so many log records were refused. */
    byte[] answer(long refused, String message);

    /** Refuses one log record more than there may be. */
    static void requireRoom(int taken, int most) {
        if (taken >= most) {
            throw new ProblemException(
                    ProblemType.TOO_MANY_RECORDS,
                    "The request has more log records than one may have: send fewer at a time (in an OpenTelemetry Collector:"
                            + " sending_queue.batch.max_size)");
        }
    }

    /** Refuses what is too long to be read. */
    static void requireShort(int from, int to, String what) throws Refusal {
        if (to - from > MAX_BYTES) {
            throw new Refusal(what + " has more than " + MAX_BYTES + " bytes");
        }
    }
}
