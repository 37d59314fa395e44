package dev.annals.core.query;

import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.Sql;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
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
 * @param query besides, what this asks for
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
        @Nullable String subjectId,
        @Nullable Query query) {

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
        this(start, end, action, actor, subject, outcome, ipAddress, q, recordedBy, null, null, null);
    }

    /**
     * The same filter, through which only those records pass that the query asks for, too. Words and times that all of them must
     * have become those of the filter, with which pages are cheapest.
     */
    public Filter and(Query asked) {
        List<Query> parts = asked instanceof Query.All all ? all.parts() : List.of(asked);
        OffsetDateTime from = start;
        OffsetDateTime to = end;
        List<String> words = new ArrayList<>(q == null ? List.of() : List.of(q));
        List<Query> rest = new ArrayList<>(query == null ? List.of() : List.of(query));
        for (Query part : parts) {
            if (part instanceof Query.Time time && !time.recorded()) {
                from = from == null || (time.start() != null && time.start().isAfter(from)) ? time.start() : from;
                to = to == null || (time.end() != null && time.end().isBefore(to)) ? time.end() : to;
            } else if (part instanceof Query.Message message) {
                List<String> whole = message.prefix()
                        ? message.words().subList(0, message.words().size() - 1)
                        : message.words();
                words.addAll(whole);
                if (message.prefix() || whole.size() > 1) {
                    rest.add(message);
                }
            } else {
                rest.add(part);
            }
        }
        return new Filter(
                from,
                to,
                action,
                actor,
                subject,
                outcome,
                ipAddress,
                words.isEmpty() ? null : String.join(" ", words),
                recordedBy,
                actorId,
                subjectId,
                rest.isEmpty() ? null : Query.all(rest));
    }

    /**
     * A statement on records for this filter, with its binds {@code start} to {@code terms} set.
     *
     * @param statement one with a place for a condition on {@code r}
     */
    public Binds of(Sql statement) {
        Condition condition = query == null ? null : new Condition(query);
        Sql narrowed = condition == null ? statement : statement.narrowed(condition.sql());
        return narrowed.bind("start", start)
                .bind("end", end)
                .bind("action", action)
                .bind("actor", actor)
                .bind("subject", subject)
                .bind("outcome", outcome)
                .bind("ip_address", ipAddress)
                .bind("q", q)
                .bind("recorded_by", recordedBy)
                .bind("actor_id", actorId)
                .bind("subject_id", subjectId)
                .bind("terms", condition == null ? null : condition.terms());
    }

    /**
     * A statement on records for a query alone, with its bind {@code terms} set.
     *
     * @param statement one with a place for a condition on {@code r}
     */
    public static Binds of(Sql statement, Query query) {
        Condition condition = new Condition(query);
        return statement.narrowed(condition.sql()).bind("terms", condition.terms());
    }
}
