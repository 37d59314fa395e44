package dev.annals.writer;

import java.time.Duration;
import java.util.Map;

/** The outcome of a batch that was sent. */
final class Answer {

    enum Kind {
        /** All of the batch is stored. */
        STORED,
        /** Nothing is stored, because of some of the records. */
        REFUSED,
        /** Nothing is stored, because of the size or of a record that the answer does not name. */
        SPLIT,
        /** The batch may be stored. Send it again. */
        LATER
    }

    final Kind kind;
    final String reason;
    /** Reasons by the record's place in the batch. */
    final Map<Integer, String> refused;
    /** The Retry-After of the service, or null. */
    final Duration pause;

    private Answer(Kind kind, String reason, Map<Integer, String> refused, Duration pause) {
        this.kind = kind;
        this.reason = reason;
        this.refused = refused;
        this.pause = pause;
    }

    static Answer stored() {
        return new Answer(Kind.STORED, "", Map.of(), null);
    }

    static Answer refused(Map<Integer, String> refused) {
        return new Answer(Kind.REFUSED, "", refused, null);
    }

    static Answer split(String reason) {
        return new Answer(Kind.SPLIT, reason, Map.of(), null);
    }

    static Answer later(String reason, Duration pause) {
        return new Answer(Kind.LATER, reason, Map.of(), pause);
    }
}
