package dev.annals.project;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** What a token allows. */
public enum Scope {
    /** Reading a project's feed. */
    READ,
    /** Appending to a project's feed, and drawing values of its sequences. */
    WRITE,
    /** Defining a project's sequences, and deleting them for good. */
    SEQUENCE,
    /** Redacting fields of a project's records. */
    REDACT,
    /** Making projects and tokens. */
    ADMIN;

    /** The scope's name in JSON and in the database. */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    static Optional<Scope> of(String text) {
        return Arrays.stream(values())
                .filter(scope -> scope.text().equals(text))
                .findFirst();
    }
}
