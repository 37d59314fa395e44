package dev.annals.edges.intake;

import dev.annals.edges.intake.LogRecord.Refusal;
import dev.annals.edges.intake.LogRecord.Slice;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import jakarta.ws.rs.core.MediaType;
import java.util.List;

/**
 * One of the two encodings of OTLP. The first step finds the log records of a body, the second reads one of them. A log record that cannot
 * be read therefore does not prevent the others from being stored, and few are in memory at a time.
 */
sealed interface LogEncoding permits LogProtobuf, LogJson {

    /** The most bytes of a log record, resource or scope. OTLP's JSON names the type of each value, so it is longer than a record. */
    int MAX_BYTES = 524_280;
    /** More than metadata may have. */
    int MAX_DEPTH = 40;
    /** Each log record, resource or scope may have as many as metadata. */
    int MAX_VALUES = 4_096;

    MediaType type();

    /**
     * In their order.
     *
     * @throws ProblemException {@code malformed-json}, {@code malformed-encoding} or {@code too-many-records}
     */
    List<Slice> find(byte[] body, int most);

    /**
     * Reads one log record.
     *
     * @throws Refusal if it cannot be read
     */
    LogRecord read(byte[] body, Slice slice) throws Refusal;

    /** The answer to a request of which some log records were refused. */
    byte[] answer(long refused, String message);

    static void requireRoom(int taken, int most) {
        if (taken >= most) {
            throw new ProblemException(
                    ProblemType.TOO_MANY_RECORDS,
                    "The request has more log records than one may have: send fewer at a time (in an OpenTelemetry Collector:"
                            + " sending_queue.batch.max_size)");
        }
    }

    static void requireShort(int from, int to, String what) throws Refusal {
        if (to - from > MAX_BYTES) {
            throw new Refusal(what + " has more than " + MAX_BYTES + " bytes");
        }
    }
}
