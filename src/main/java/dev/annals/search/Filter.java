package dev.annals.search;

import dev.annals.database.Binds;
import java.time.OffsetDateTime;
import org.jspecify.annotations.Nullable;

/**
 * Which records pass; a null component lets all pass.
 *
 * @param start at this timestamp or later
 * @param end before this timestamp
 * @param action exactly this action
 * @param actor the actor's id or name
 * @param subject the subject's id or name
 * @param outcome exactly this outcome
 * @param ipAddress exactly this address, in the text form that records show
 * @param q all words of this text, in any order and in any case, in the message
 * @param recordedBy exactly this writer
 * @param actorId exactly the actor with this id: what a viewer link is limited to, whatever else is asked for
 * @param subjectId the same for the subject
 */
public record Filter(
        @Nullable OffsetDateTime start,
        @Nullable OffsetDateTime end,
        @Nullable String action,
        @Nullable String actor,
        @Nullable String subject,
        @Nullable String outcome,
        @Nullable String ipAddress,
        @Nullable String q,
        @Nullable String recordedBy,
        @Nullable String actorId,
        @Nullable String subjectId) {

    /** Lets every record pass. */
    public static final Filter NONE = new Filter(null, null, null, null, null, null, null, null, null);

    /** A filter that a reader asks for. */
    public Filter(
            @Nullable OffsetDateTime start,
            @Nullable OffsetDateTime end,
            @Nullable String action,
            @Nullable String actor,
            @Nullable String subject,
            @Nullable String outcome,
            @Nullable String ipAddress,
            @Nullable String q,
            @Nullable String recordedBy) {
        this(start, end, action, actor, subject, outcome, ipAddress, q, recordedBy, null, null);
    }

    /** Whether it looks at nothing but timestamps. */
    boolean isByTimeAlone() {
        return equals(new Filter(start, end, null, null, null, null, null, null, null));
    }

    /** Sets the binds that every statement with filters has: {@code start} to {@code subject_id}. */
    public Binds bind(Binds binds) {
        return bindTimes(binds)
                .bind("action", action)
                .bind("actor", actor)
                .bind("subject", subject)
                .bind("outcome", outcome)
                .bind("ip_address", ipAddress)
                .bind("q", q)
                .bind("recorded_by", recordedBy)
                .bind("actor_id", actorId)
                .bind("subject_id", subjectId);
    }

    /** Sets the binds {@code start} and {@code end}. */
    Binds bindTimes(Binds binds) {
        return binds.bind("start", start).bind("end", end);
    }
}
