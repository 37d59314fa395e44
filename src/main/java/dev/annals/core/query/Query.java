package dev.annals.core.query;

import dev.annals.kernel.http.Timestamps;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A query for records. Texts match in any case. A record without a field does not match a part that names the field, and
 * matches its exclusion. {@link QueryParser} reads the query again from {@code toString}.
 */
public sealed interface Query {

    /** Two or more parts, none of which is an {@code All}. */
    record All(List<Query> parts) implements Query {

        public All {
            parts = List.copyOf(parts);
        }

        @Override
        public String toString() {
            return parts.stream()
                    .map(part -> part instanceof Any ? "(" + part + ")" : part.toString())
                    .collect(Collectors.joining(" "));
        }
    }

    /** Two or more parts, none of which is an {@code Any}. */
    record Any(List<Query> parts) implements Query {

        public Any {
            parts = List.copyOf(parts);
        }

        @Override
        public String toString() {
            return parts.stream()
                    .map(part -> part instanceof All ? "(" + part + ")" : part.toString())
                    .collect(Collectors.joining(" OR "));
        }
    }

    record Not(Query part) implements Query {

        @Override
        public String toString() {
            return part instanceof All || part instanceof Any || part instanceof Not ? "-(" + part + ")" : "-" + part;
        }
    }

    /**
     * A field, or a name or value of the metadata, has these words, next to each other.
     *
     * @param words one or more, as {@link QueryParser.Words} divides text
     * @param prefix whether the last one only has to begin a word
     */
    record Words(List<String> words, boolean prefix) implements Query {

        public Words {
            words = List.copyOf(words);
        }

        @Override
        public String toString() {
            return quoted(String.join(" ", words)) + (prefix ? "*" : "");
        }
    }

    /** The message has these words, like {@link Words}. */
    record Message(List<String> words, boolean prefix) implements Query {

        public Message {
            words = List.copyOf(words);
        }

        @Override
        public String toString() {
            return "message:" + quoted(String.join(" ", words)) + (prefix ? "*" : "");
        }
    }

    /** The id or name of an actor or subject has these words, like {@link Words}. */
    record Name(Field field, List<String> words, boolean prefix) implements Query {

        public Name {
            words = List.copyOf(words);
        }

        @Override
        public String toString() {
            return field.text() + ":" + String.join("-", words) + (prefix ? "*" : "");
        }
    }

    /**
     * A field has this value.
     *
     * @param prefix whether the field only has to begin with the value; an empty prefix matches any value
     */
    record Value(Field field, String value, boolean prefix) implements Query {

        @Override
        public String toString() {
            return field.text() + ":"
                    + (field.isName() && !value.isEmpty() ? quoted(value) + (prefix ? "*" : "") : text(value, prefix));
        }
    }

    /**
     * The metadata has this value at a path, or a list with this value. Numbers are compared by value, {@code true} and {@code false} as
     * they are written.
     *
     * @param path names of members, or numbers of elements, from the outermost
     * @param prefix as in {@link Value}
     */
    record Metadata(List<String> path, String value, boolean prefix) implements Query {

        public Metadata {
            path = List.copyOf(path);
        }

        /** Whether numbers may have this value: it is one as JSON writes them. */
        public boolean isNumber() {
            return !prefix && NUMBER.matcher(value).matches();
        }

        @Override
        public String toString() {
            return pathText(path) + text(value, prefix);
        }
    }

    /**
     * The metadata has a number or a time at a path, or in a list there, that compares so. A text may be either, by {@code
     * annals.number_of()} and {@code annals.time_of()} of the schema.
     *
     * @param path as in {@link Metadata}
     * @param operator {@code >}, {@code >=}, {@code <} or {@code <=}
     * @param value a number without an exponent, or a time as {@link Timestamps} writes it
     */
    record Compared(List<String> path, String operator, String value, boolean isTime) implements Query {

        public Compared {
            path = List.copyOf(path);
        }

        @Override
        public String toString() {
            return pathText(path) + operator + value;
        }
    }

    /**
     * A text within a word or a value. The action, the outcome and the types have it anywhere; of the other fields, a word that is no id by
     * {@code annals.is_id()} has it.
     *
     * @param of says where: {@link Words}, {@link Message} or {@link Name} of one word, {@link Value} or {@link Metadata}, no prefix
     */
    record Within(Query of) implements Query {

        public static String text(Query of) {
            return of instanceof Words text
                    ? text.words().get(0)
                    : of instanceof Message message
                            ? message.words().get(0)
                            : of instanceof Name name
                                    ? name.words().get(0)
                                    : of instanceof Metadata metadata ? metadata.value() : ((Value) of).value();
        }

        @Override
        public String toString() {
            String field = of instanceof Words
                    ? ""
                    : of instanceof Message
                            ? "message:"
                            : of instanceof Name name
                                    ? name.field().text() + ":"
                                    : of instanceof Metadata metadata
                                            ? pathText(metadata.path())
                                            : ((Value) of).field().text() + ":";
            return field + "*" + text(of) + "*";
        }
    }

    /**
     * The IP address is in this network.
     *
     * @param address any address in the network, in the text form that records show
     */
    record Network(String address, int bits) implements Query {

        @Override
        public String toString() {
            return "ip:" + address + "/" + bits;
        }
    }

    /**
     * One end may be open.
     *
     * @param recorded whether it is the time at which the service stored the record, and not the time of the action
     * @param start inclusive
     * @param end exclusive
     */
    record Time(
            boolean recorded,
            @Nullable OffsetDateTime start,
            @Nullable OffsetDateTime end) implements Query {

        @Override
        public String toString() {
            return (recorded ? "recorded_at:" : "occurred_at:") + text(start) + ".." + text(end);
        }

        private static String text(@Nullable OffsetDateTime time) {
            return time == null ? "" : Timestamps.format(time);
        }
    }

    /** A number of JSON, with an exponent that keeps it short. */
    Pattern NUMBER = Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]{1,3})?");

    /** Needs no quotes as a value, or as a name in a path. */
    Pattern PLAIN = Pattern.compile("[\\p{L}\\p{N}_@-]+");

    /** One part alone is itself. */
    static Query all(List<Query> parts) {
        List<Query> flat = new ArrayList<>();
        parts.forEach(part -> flat.addAll(part instanceof All all ? all.parts() : List.of(part)));
        return flat.size() == 1 ? flat.get(0) : new All(flat);
    }

    /** One part alone is itself. */
    static Query any(List<Query> parts) {
        List<Query> flat = new ArrayList<>();
        parts.forEach(part -> flat.addAll(part instanceof Any any ? any.parts() : List.of(part)));
        return flat.size() == 1 ? flat.get(0) : new Any(flat);
    }

    private static String pathText(List<String> path) {
        return path.stream()
                .map(name -> PLAIN.matcher(name).matches() ? name : quoted(name))
                .collect(Collectors.joining(".", "metadata.", ":"));
    }

    private static String text(String value, boolean prefix) {
        return (value.isEmpty() || PLAIN.matcher(value).matches() ? value : quoted(value)) + (prefix ? "*" : "");
    }

    private static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    /** Without the message, the times and the metadata. */
    enum Field {
        ID("id"),
        ACTION("action"),
        /** The actor's id or name. */
        ACTOR("actor"),
        ACTOR_ID("actor.id"),
        ACTOR_NAME("actor.name"),
        ACTOR_TYPE("actor.type"),
        /** The subject's id or name. */
        SUBJECT("subject"),
        SUBJECT_ID("subject.id"),
        SUBJECT_NAME("subject.name"),
        SUBJECT_TYPE("subject.type"),
        OUTCOME("outcome"),
        /** In the text form that records show. */
        IP("ip"),
        RECORDED_BY("recorded_by");

        private final String text;

        Field(String text) {
            this.text = text;
        }

        /** Whether a value without quotes is words of it. */
        boolean isName() {
            return this == ACTOR || this == ACTOR_NAME || this == SUBJECT || this == SUBJECT_NAME;
        }

        /** Whether the dictionary has its values, and a text is found anywhere in them. */
        boolean hasFewValues() {
            return this == ACTION || this == OUTCOME || this == ACTOR_TYPE || this == SUBJECT_TYPE;
        }

        boolean isId() {
            return this == ACTOR_ID || this == SUBJECT_ID;
        }

        public String text() {
            return text;
        }

        /** Accepts lower case, and {@code ip_address}, the name in records, besides {@code ip}. */
        static Optional<Field> named(String name) {
            return name.equals("ip_address")
                    ? Optional.of(IP)
                    : Arrays.stream(values())
                            .filter(field -> field.text.equals(name))
                            .findFirst();
        }

        static String names() {
            return Stream.concat(
                            Arrays.stream(values()).map(Field::text),
                            Stream.of("message", "occurred_at", "recorded_at", "last", "metadata.<path>"))
                    .collect(Collectors.joining(", "));
        }
    }
}
