package dev.annals.core.query;

import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What of a record a query can name, besides its message, its times and its metadata. */
public enum Field {
    /** The record's action. */
    ACTION("action"),
    /** The actor's id or name. */
    ACTOR("actor"),
    /** The actor's id alone. */
    ACTOR_ID("actor.id"),
    /** The actor's name alone. */
    ACTOR_NAME("actor.name"),
    /** The actor's type. */
    ACTOR_TYPE("actor.type"),
    /** The subject's id or name. */
    SUBJECT("subject"),
    /** The subject's id alone. */
    SUBJECT_ID("subject.id"),
    /** The subject's name alone. */
    SUBJECT_NAME("subject.name"),
    /** The subject's type. */
    SUBJECT_TYPE("subject.type"),
    /** The record's outcome. */
    OUTCOME("outcome"),
    /** The IP address, in the text form that records show. */
    IP("ip"),
    /** Who wrote the record, as records show it. */
    RECORDED_BY("recorded_by");

    private final String text;

    Field(String text) {
        this.text = text;
    }

    /** Its name in a query. */
    public String text() {
        return text;
    }

    /** The field of this name, in lower case; {@code ip_address}, as records have it, is the same as {@code ip}. */
    static Optional<Field> named(String name) {
        return name.equals("ip_address")
                ? Optional.of(IP)
                : Arrays.stream(values())
                        .filter(field -> field.text.equals(name))
                        .findFirst();
    }

    /** All names that may stand before a colon, for people. */
    static String names() {
        return Stream.concat(
                        Arrays.stream(values()).map(Field::text),
                        Stream.of("message", "occurred_at", "recorded_at", "last", "metadata.<path>"))
                .collect(Collectors.joining(", "));
    }
}
