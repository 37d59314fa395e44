package dev.annals.bench.search;

import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Function;

/**
 * One thing that is looked for, as {@code q}, as a condition on the columns, and as a query of Lucene's classic syntax in meaning: a
 * list of clauses of which all must match.
 *
 * @param query for Annals
 * @param condition for PostgreSQL alone, on {@code r}
 * @param clauses for the search engine
 */
record Question(String query, String condition, List<Clause> clauses) {

    private static final OffsetDateTime FIRST = OffsetDateTime.parse("2026-01-01T00:00:00Z");

    /** A clause of the search engine's query. */
    record Clause(Type type, String field, List<String> values) {}

    /** The comparison of a clause. */
    enum Type {
        /** One of them is the field's. */
        TERM,
        NOT_TERM,
        PREFIX,
        /** In this order, one directly after the other. */
        PHRASE,
        NETWORK,
        /** From the first to before the second, in seconds. */
        TIME
    }

    /** Values that a record of the feed has, drawn at random. */
    record Sample(String requestId, String subject, String address) {}

    /**
     * Questions of one kind.
     *
     * @param draw makes one of it
     * @param facets whether facets are asked for in place of pages
     */
    record Kind(String title, boolean facets, Function<Draw, Question> draw) {}

    /** The source of random questions. */
    record Draw(Random random, int records, List<Sample> samples) {

        Sample sample() {
            return samples.get(random.nextInt(samples.size()));
        }

        String quietActor() {
            return "u-" + random.nextInt(50_000, 100_000);
        }

        OffsetDateTime day() {
            return FIRST.plusDays(random.nextInt(Math.max(1, records / 86_400)));
        }
    }

    static final List<Kind> KINDS = List.of(
            page("an action of 1 record in a million", draw -> value("action", "action", "project_transfer")),
            page("an action of 1 in 10,000", draw -> value("action", "action", "key_rotate")),
            page("an action of 30 %", draw -> value("action", "action", "login")),
            page("an action that is not there", draw -> value("action", "action", "absent")),
            page("a quiet actor, of 100,000", draw -> value("actor.id", "actor_id", draw.quietActor())),
            page(
                    "a busy actor",
                    draw -> value("actor.id", "actor_id", "u-" + draw.random().nextInt(20))),
            page(
                    "a subject",
                    draw -> value("subject.id", "subject_id", draw.sample().subject())),
            page("an address", draw -> value("ip", "ip_address", draw.sample().address())),
            page("a word of 1 in 10,000", draw -> words("protest")),
            page("two common words", draw -> words(pick(draw, "login eu", "login accepted", "accepted us"))),
            page(
                    "three words, 1 in 25,000 has them",
                    draw -> words("login " + draw.random().nextInt(1_000) + " ap")),
            page("a rare phrase", draw -> phrase("under protest")),
            page(
                    "a phrase of 1 in 1,000",
                    draw -> phrase("on cache " + draw.random().nextInt(1_000))),
            page(
                    "a prefix of 1 in 10,000",
                    draw -> new Question(
                            "action:key_*", "r.action like 'key\\_%'", List.of(clause(Type.PREFIX, "action", "key_")))),
            page("one of 8 quiet actors", Question::oneOfActors),
            page(
                    "a common action, not its common outcome",
                    draw -> new Question(
                            "action:login -outcome:success",
                            "r.action = 'login' and r.outcome <> 'success'",
                            List.of(
                                    clause(Type.TERM, "action", "login"),
                                    clause(Type.NOT_TERM, "outcome", "success")))),
            page("a network of 256 addresses", draw -> {
                String network = draw.sample().address().replaceAll("[0-9]+$", "0/24");
                return new Question(
                        "ip:" + network,
                        "r.ip_address <<= '" + network + "'",
                        List.of(clause(Type.NETWORK, "ip_address", network)));
            }),
            page(
                    "a value in metadata, of 1 record",
                    draw -> metadata("request_id", draw.sample().requestId())),
            page("a value in metadata, of 25 %", draw -> metadata("region", "ap-1")),
            page("a day", draw -> day(draw.day())),
            page("a minute", draw -> time(draw.day().plusMinutes(draw.random().nextInt(1_440)), 60)),
            page(
                    "a busy actor on a day",
                    draw -> value("actor.id", "actor_id", "u-" + draw.random().nextInt(20))
                            .and(day(draw.day()))),
            facets("of a day", draw -> day(draw.day())),
            facets("of an hour", draw -> time(draw.day().plusHours(draw.random().nextInt(24)), 3_600)),
            facets("of a quiet actor", draw -> value("actor.id", "actor_id", draw.quietActor())),
            facets("of an action of 1 in 10,000", draw -> value("action", "action", "key_rotate")),
            facets(
                    "of an action of 1 in 10, on a day",
                    draw -> value("action", "action", "volume_create").and(day(draw.day()))));

    private static Kind page(String title, Function<Draw, Question> draw) {
        return new Kind(title, false, draw);
    }

    private static Kind facets(String title, Function<Draw, Question> draw) {
        return new Kind(title, true, draw);
    }

    private Question and(Question other) {
        List<Clause> both = new ArrayList<>(clauses);
        both.addAll(other.clauses);
        return new Question((query + " " + other.query).strip(), condition + " and " + other.condition, both);
    }

    private static Clause clause(Type type, String field, String... values) {
        return new Clause(type, field, List.of(values));
    }

    private static Question value(String field, String column, String value) {
        return new Question(
                field + ":\"" + value + "\"",
                "r." + column + " = '" + value + "'",
                List.of(clause(Type.TERM, column, value)));
    }

    private static Question oneOfActors(Draw draw) {
        List<String> actors = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            actors.add(draw.quietActor());
        }
        return new Question(
                "actor.id:(" + String.join(" OR ", actors) + ")",
                "r.actor_id in ('" + String.join("', '", actors) + "')",
                List.of(new Clause(Type.TERM, "actor_id", actors)));
    }

    private static Question words(String words) {
        List<Clause> clauses = new ArrayList<>();
        for (String word : words.split(" ", -1)) {
            clauses.add(clause(Type.TERM, "message", word));
        }
        return new Question(words, text("plainto_tsquery", words), clauses);
    }

    private static Question phrase(String words) {
        return new Question(
                "\"" + words + "\"",
                text("phraseto_tsquery", words),
                List.of(clause(Type.PHRASE, "message", words.split(" ", -1))));
    }

    private static String text(String function, String words) {
        // PostgreSQL takes the number in cache-7 for a negative one.
        return ColumnSearch.TEXT + " @@ " + function + "('simple', '" + words.replaceAll("\\b([0-9])", "-$1") + "')";
    }

    private static Question metadata(String name, String value) {
        return new Question(
                "metadata." + name + ":" + value,
                "r.metadata @> '{\"" + name + "\": \"" + value + "\"}'",
                List.of(clause(Type.TERM, name, value)));
    }

    private static Question day(OffsetDateTime day) {
        return time(day, 86_400);
    }

    private static Question time(OffsetDateTime start, int seconds) {
        OffsetDateTime end = start.plusSeconds(seconds);
        return new Question(
                "occurred_at:" + start + ".." + end,
                "r.\"timestamp\" >= '" + start + "' and r.\"timestamp\" < '" + end + "'",
                List.of(clause(Type.TIME, "timestamp", start.toEpochSecond() + "", end.toEpochSecond() + "")));
    }

    private static String pick(Draw draw, String... texts) {
        return texts[draw.random().nextInt(texts.length)];
    }
}
