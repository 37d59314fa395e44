package dev.annals.access.caller;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.kernel.http.RequestFields;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The scopes of tokens. Only tokens of the project {@code annals} have {@link #AUDIT} and {@link #ADMIN}, and they have no
 * others.
 */
public enum Scope {
    READ,
    /** Includes drawing values of sequences. */
    WRITE,
    /** Defining sequences, and deleting them for good. */
    SEQUENCE,
    REDACT,
    /** Creating viewer links. */
    LINK,
    /** Streams, alerts and saved views. */
    STREAM,
    /** A viewer link reads {@link Caller#view}. */
    VIEW,
    /** A viewer link reads a whole project. */
    BROWSE,
    /** A viewer link exports what it reads. */
    EXPORT,
    /** A viewer link manages streams, to public addresses. */
    DELIVER,
    /** Reading the administration's feed, projects and tokens. */
    AUDIT,
    /** Includes {@link #AUDIT}. */
    ADMIN;

    /** In JSON and in the database. */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    public boolean isOfAdministration() {
        return this == AUDIT || this == ADMIN;
    }

    /** Those of tokens and grants. */
    public static Stream<Scope> granted() {
        return Arrays.stream(values()).filter(scope -> !scope.isOfLink());
    }

    public boolean isOfLink() {
        return ofTokens() != this;
    }

    /** The scope with which other tokens do what a link does. */
    public Scope ofTokens() {
        return switch (this) {
            case VIEW, BROWSE, EXPORT -> READ;
            case DELIVER -> STREAM;
            default -> this;
        };
    }

    public static Optional<Scope> of(String text) {
        return Arrays.stream(values())
                .filter(scope -> scope.text().equals(text))
                .findFirst();
    }

    public static Set<Scope> read(RequestFields fields) {
        Set<Scope> scopes = EnumSet.noneOf(Scope.class);
        JsonNode value = fields.get("scopes");
        if (value == null || !value.isArray() || value.isEmpty() || value.size() > 6) {
            fields.wrong("scopes", "It must be an array of one or more of " + names() + ".");
            return scopes;
        }
        for (int i = 0; i < value.size(); i++) {
            Scope scope = value.get(i).isTextual()
                    ? Scope.of(value.get(i).textValue()).orElse(null)
                    : null;
            if (scope == null || scope.isOfLink() || !scopes.add(scope)) {
                fields.wrong("scopes/" + i, "It must be one of " + names() + ", each once.");
            }
        }
        if (scopes.stream().map(Scope::isOfAdministration).distinct().count() > 1) {
            fields.wrong("scopes", "\"audit\" and \"admin\" are for tokens of the project annals, the others are not.");
        }
        return scopes;
    }

    private static String names() {
        return granted()
                .map(scope -> '"' + scope.text() + '"')
                .collect(Collectors.joining(", "))
                .replaceFirst(", (?=[^,]*$)", " and ");
    }
}
