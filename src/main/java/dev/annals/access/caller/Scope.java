package dev.annals.access.caller;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** What a token allows. Those of {@link #AUDIT} and {@link #ADMIN} belong to the project {@code annals}, all others do not. */
public enum Scope {
    /** Reading a project's feed. */
    READ,
    /** Appending to a project's feed, and drawing values of its sequences. */
    WRITE,
    /** Defining a project's sequences, and deleting them for good. */
    SEQUENCE,
    /** Redacting fields of a project's records. */
    REDACT,
    /** Making viewer links to a project's records. */
    LINK,
    /** Sending a project's records elsewhere, by streams, and having them counted by alerts. */
    STREAM,
    /** Reading what a viewer link shows. Only the tokens of links have it, and nothing besides. */
    VIEW,
    /** Reading the administration's feed, and which projects and tokens there are. */
    AUDIT,
    /** Administering projects and tokens, and all that auditors may. */
    ADMIN;

    /** The scope's name in JSON and in the database. */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Whether only tokens of the project {@code annals} have it. */
    public boolean isOfAdministration() {
        return this == AUDIT || this == ADMIN;
    }

    public static Optional<Scope> of(String text) {
        return Arrays.stream(values())
                .filter(scope -> scope.text().equals(text))
                .findFirst();
    }
}
