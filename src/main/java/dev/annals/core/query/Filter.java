package dev.annals.core.query;

import dev.annals.core.query.Query.Field;
import dev.annals.kernel.database.Binds;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.Timestamps;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A filter of records. Null accepts every record.
 *
 * @param start inclusive
 * @param end exclusive
 * @param actor the actor's id or name
 * @param subject the subject's id or name
 * @param ipAddress in the text form that records show
 * @param q all words of this text, in any order, any case and any fields
 * @param actorId to which a viewer link is limited
 * @param subjectId to which a viewer link is limited
 * @param query in addition to the others
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

    public static final Filter NONE = new Filter(null, null, null, null, null, null, null, null, null);

    /** Makes the filter of a reader who uses no viewer link. */
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

    /** Also requires the query. Words and times that every record must have become those of the filter, which is faster. */
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
            } else if (part instanceof Query.Words text && !QueryParser.Words.haveDense(text.words())) {
                List<String> whole =
                        text.prefix() ? text.words().subList(0, text.words().size() - 1) : text.words();
                words.addAll(whole);
                if (text.prefix() || whole.size() > 1) {
                    rest.add(text);
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
     * Sets the binds {@code start} to {@code terms}.
     *
     * @param statement includes {@code passes.sql} for a record {@code r}
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

    /** Sets the bind {@code terms} in a statement that has a place for a condition on {@code r}. */
    public static Binds of(Sql statement, Query query) {
        Condition condition = new Condition(query);
        return statement.narrowed(condition.sql()).bind("terms", condition.terms());
    }

    /**
     * A query as a condition on a record {@code r}, for {@code passes.sql}. Text of the query is in the bound terms alone.
     * Each part is true or false, never null, so that its exclusion is the opposite.
     */
    public static final class Condition {

        private final List<String> terms = new ArrayList<>();
        /**
         * For each text, tests whether it has the first word of a phrase anywhere. A text without any of them is not divided into
         * words.
         */
        private final Map<String, List<String>> firstWords = new LinkedHashMap<>();

        private final String sql;

        public Condition(Query query) {
            String condition = sql(query);
            int number = 0;
            for (Map.Entry<String, List<String>> text : firstWords.entrySet()) {
                condition = withWords(condition, "text_" + number++, text.getKey(), text.getValue());
            }
            sql = condition;
        }

        /** Divides a text into its words at most once, for any number of phrases. */
        private static String withWords(String condition, String name, String text, List<String> firstWords) {
            return "(select " + condition + " from (select annals.word_text(" + text + ") as text offset 0) as " + name
                    + " cross join lateral (select case when " + String.join(" or ", firstWords)
                    + " then ' ' || array_to_string(annals.split_words(" + name
                    + ".text), ' ') || ' ' end as text offset 0) as "
                    + name + "_words)";
        }

        /** Uses the bind {@code :terms}. */
        public String sql() {
            return sql;
        }

        public String[] terms() {
            return terms.toArray(String[]::new);
        }

        private String sql(Query query) {
            if (query instanceof Query.All all) {
                return joined(all.parts(), " and ");
            } else if (query instanceof Query.Any any) {
                return joined(any.parts(), " or ");
            } else if (query instanceof Query.Not not) {
                return "not " + sql(not.part());
            } else if (query instanceof Query.Words text) {
                return hasWords("annals.record_text(r)", text.words(), text.prefix());
            } else if (query instanceof Query.Message message) {
                return hasWords("r.message", message.words(), message.prefix());
            } else if (query instanceof Query.Name name) {
                return columns(name.field()).stream()
                        .map(column -> hasWords(column, name.words(), name.prefix()))
                        .collect(Collectors.joining(" or ", "(", ")"));
            } else if (query instanceof Query.Value value) {
                return value(value);
            } else if (query instanceof Query.Metadata metadata) {
                return metadata(metadata);
            } else if (query instanceof Query.Compared compared) {
                return compared(compared);
            } else if (query instanceof Query.Within within) {
                return within(within.of());
            } else if (query instanceof Query.Network network) {
                return "coalesce(host(r.ip_address)::inet <<= " + term(network.address() + "/" + network.bits())
                        + "::inet, false)";
            } else if (query instanceof Query.Time time) {
                return time(time);
            }
            throw new IllegalStateException("a new kind of query: " + query.getClass());
        }

        private String joined(List<Query> parts, String operator) {
            return parts.stream().map(this::sql).collect(Collectors.joining(operator, "(", ")"));
        }

        private String within(Query query) {
            if (query instanceof Query.Words) {
                return hasWithin("annals.record_text(r)", Query.Within.text(query));
            } else if (query instanceof Query.Message) {
                return hasWithin("r.message", Query.Within.text(query));
            } else if (query instanceof Query.Name name) {
                return columns(name.field()).stream()
                        .map(column -> hasWithin(column, Query.Within.text(query)))
                        .collect(Collectors.joining(" or ", "(", ")"));
            } else if (query instanceof Query.Metadata metadata) {
                return "exists (select from " + elements(metadata.path()) + " where coalesce(annals.has_within("
                        + "array_to_string(annals.words(annals.metadata_text(element.value)), ' '), "
                        + firstWord(metadata.value()) + "), false))";
            }
            Query.Value value = (Query.Value) query;
            String column = columns(value.field()).get(0);
            return value.field().isId()
                    ? hasWithin(column, value.value())
                    : "coalesce(strpos(annals.fold(" + column + "), annals.fold(" + term(value.value())
                            + ")) > 0, false)";
        }

        private String hasWithin(String text, String part) {
            return "coalesce(annals.has_within(" + tested(text, part) + "_words.text, " + firstWord(part) + "), false)";
        }

        private String firstWord(String words) {
            return "(select (annals.words(" + term(words) + "))[1])";
        }

        /** Divides a text into words if it has the first of some words; its name in the statement. */
        private String tested(String text, String first) {
            List<String> tests = firstWords.computeIfAbsent(text, none -> new ArrayList<>());
            String name = "text_" + List.copyOf(firstWords.keySet()).indexOf(text);
            tests.add("strpos(" + name + ".text, " + firstWord(first) + ") > 0");
            return name;
        }

        /** The subqueries do not depend on the record, and are computed once. */
        private String hasWords(String text, List<String> words, boolean prefix) {
            String name = tested(text, words.get(0));
            return "coalesce(strpos(" + name + "_words.text, (select annals.sought(" + term(String.join(" ", words))
                    + ", " + prefix + "))) > 0, false)";
        }

        private String value(Query.Value value) {
            String term = "annals.fold(" + term(value.value()) + ")";
            return columns(value.field()).stream()
                    .map(column -> compared("annals.fold(" + column + ")", term, value.prefix()))
                    .collect(Collectors.joining(" or ", "(", ")"));
        }

        private static String compared(String text, String term, boolean prefix) {
            return "coalesce(" + (prefix ? "starts_with(" + text + ", " + term + ")" : text + " = " + term)
                    + ", false)";
        }

        private static List<String> columns(Field field) {
            return switch (field) {
                case ID -> List.of("r.id::text");
                case ACTION -> List.of("r.action");
                case ACTOR -> List.of("r.actor_id", "r.actor_name");
                case ACTOR_ID -> List.of("r.actor_id");
                case ACTOR_NAME -> List.of("r.actor_name");
                case ACTOR_TYPE -> List.of("r.actor_type");
                case SUBJECT -> List.of("r.subject_id", "r.subject_name");
                case SUBJECT_ID -> List.of("r.subject_id");
                case SUBJECT_NAME -> List.of("r.subject_name");
                case SUBJECT_TYPE -> List.of("r.subject_type");
                case OUTCOME -> List.of("r.outcome");
                case IP -> List.of("host(r.ip_address)");
                case RECORDED_BY -> List.of("annals.recorder(r.recorded_by_token, r.recorded_by_role)");
            };
        }

        private String metadata(Query.Metadata metadata) {
            String text = compared(
                    "annals.fold(element.value #>> '{}')",
                    "annals.fold(" + term(metadata.value()) + ")",
                    metadata.prefix());
            // JSON numbers are equal by value.
            String number = metadata.isNumber() ? " or element.value = " + term(metadata.value()) + "::jsonb" : "";
            return "exists (select from " + elements(metadata.path()) + " where " + text + number + ")";
        }

        private String compared(Query.Compared compared) {
            return "exists (select from " + elements(compared.path()) + " where coalesce("
                    + (compared.isTime() ? "annals.time_of" : "annals.number_of") + "(element.value) "
                    + compared.operator() + " " + term(compared.value())
                    + (compared.isTime() ? "::timestamptz" : "::numeric") + ", false))";
        }

        /** The value at a path, or the elements of the list there; none without a value. JSON's null is no value. */
        private String elements(List<String> names) {
            String path = names.stream().map(this::term).collect(Collectors.joining(", ", "array[", "]"));
            return "(select r.metadata::jsonb #> " + path + " offset 0) as found (value) "
                    + "cross join lateral jsonb_array_elements(case when jsonb_typeof(found.value) = 'array' then found.value "
                    + "when found.value is not null then jsonb_build_array(found.value) end) as one (value) "
                    + "cross join lateral (select nullif(one.value, 'null') as value) as element";
        }

        private String time(Query.Time time) {
            String column = time.recorded() ? "r.recorded_at" : "r.\"timestamp\"";
            String start = time.start() == null
                    ? null
                    : column + " >= " + term(Timestamps.format(time.start())) + "::timestamptz";
            String end =
                    time.end() == null ? null : column + " < " + term(Timestamps.format(time.end())) + "::timestamptz";
            return start == null
                    ? "(" + end + ")"
                    : end == null ? "(" + start + ")" : "(" + start + " and " + end + ")";
        }

        private String term(String value) {
            terms.add(value);
            return "(:terms::text[])[" + terms.size() + "]";
        }
    }
}
