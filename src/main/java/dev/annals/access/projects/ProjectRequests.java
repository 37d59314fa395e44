package dev.annals.access.projects;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.access.caller.AddressRange;
import dev.annals.access.caller.Caller;
import dev.annals.access.caller.Scope;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.ProblemType;
import dev.annals.kernel.http.RequestFields;
import dev.annals.kernel.http.Timestamps;
import java.nio.charset.StandardCharsets;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The bodies of the administration's requests. */
final class ProjectRequests {

    private static final String RETENTION_DAYS = "retention_days";
    private static final String ARCHIVE_REQUIRED = "archive_required";
    private static final String WHOLE_PROJECT = "whole_project";
    private static final String CAPABILITIES = "capabilities";
    private static final int MAX_RETENTION_DAYS = 36_500;
    private static final int MAX_ADDRESSES = 16;

    private static final int DEFAULT_OVERLAP_SECONDS = 86_400;
    private static final int MAX_OVERLAP_SECONDS = 30 * 86_400;

    private ProjectRequests() {}

    /**
     * {@code {"name": "…", "database": "…"}}.
     *
     * @param database null for the one with the fewest records
     */
    record NewProject(String name, @Nullable String database) {

        /** @param databases the known ones */
        static NewProject read(byte[] body, List<String> databases) {
            RequestFields fields = new RequestFields(body, Set.of("name", "database"));
            String name = fields.text("name", 255, true);
            String database = fields.text("database", 31, false);
            if (database != null && !databases.contains(database)) {
                fields.wrong("database", "It must be one of " + String.join(", ", databases) + ".");
            }
            fields.requireValid();
            return new NewProject(name == null ? "" : name, database);
        }
    }

    /**
     * Any members of {@code {"name": "…", "retention_days": 365, "archive_required": true}}.
     *
     * @param name null for no change
     * @param changesRetention if true, {@code retentionDays} is the new value, and null means never
     * @param archiveRequired null for no change
     */
    record ProjectChange(
            @Nullable String name,
            boolean changesRetention,
            @Nullable Integer retentionDays,
            @Nullable Boolean archiveRequired) {

        static ProjectChange read(byte[] body) {
            RequestFields fields = new RequestFields(body, Set.of("name", RETENTION_DAYS, ARCHIVE_REQUIRED));
            boolean changesRetention = fields.has(RETENTION_DAYS);
            String name =
                    fields.text("name", 255, fields.has("name") || !(changesRetention || fields.has(ARCHIVE_REQUIRED)));
            JsonNode archive = fields.get(ARCHIVE_REQUIRED);
            if (fields.has(ARCHIVE_REQUIRED) && (archive == null || !archive.isBoolean())) {
                fields.wrong(ARCHIVE_REQUIRED, "It must be true or false.");
            }
            JsonNode days = fields.get(RETENTION_DAYS);
            if (days != null && (!days.isInt() || days.intValue() < 1 || days.intValue() > MAX_RETENTION_DAYS)) {
                fields.wrong(
                        RETENTION_DAYS,
                        "It must be a whole number from 1 to " + MAX_RETENTION_DAYS + ", or null: for ever.");
            }
            fields.requireValid();
            return new ProjectChange(
                    name,
                    changesRetention,
                    days == null ? null : days.intValue(),
                    archive == null ? null : archive.booleanValue());
        }
    }

    /** {@code {"scopes": ["read", …], "description": "…", "expires_at": "…", "allowed_addresses": ["192.0.2.0/24", …]}}. */
    record NewToken(
            Set<Scope> scopes,
            @Nullable String description,
            @Nullable OffsetDateTime expiresAt,
            List<String> allowedAddresses) {

        static NewToken read(byte[] body) {
            RequestFields fields =
                    new RequestFields(body, Set.of("scopes", "description", "expires_at", "allowed_addresses"));
            Set<Scope> scopes = Scope.read(fields);
            String description = fields.text("description", 1024, false);
            OffsetDateTime expiresAt = readTime(fields);
            List<String> addresses = readAddresses(fields);
            fields.requireValid();
            return new NewToken(scopes, description, expiresAt, addresses);
        }
    }

    /** {@code {"overlap_seconds": 3600}}. */
    record Rotation(int overlapSeconds) {

        static Rotation read(byte[] body) {
            RequestFields fields = new RequestFields(body, Set.of("overlap_seconds"));
            JsonNode value = fields.get("overlap_seconds");
            int seconds = value == null ? DEFAULT_OVERLAP_SECONDS : value.isInt() ? value.intValue() : -1;
            if (seconds < 0 || seconds > MAX_OVERLAP_SECONDS) {
                fields.wrong("overlap_seconds", "It must be a whole number from 0 to " + MAX_OVERLAP_SECONDS + ".");
            }
            fields.requireValid();
            return new Rotation(seconds);
        }
    }

    /**
     * {@code {"subject_id": "…", "actor_id": "…", "capabilities": ["read"], "expires_in_seconds": 3600}}, or {@code "whole_project":
     * true} in place of the ids.
     *
     * @param filter the records that it shows, as JSON; null for a whole project
     */
    record NewLink(Set<Scope> scopes, @Nullable String filter, int seconds) {

        private static final int DEFAULT_SECONDS = 3_600;
        private static final int LEAST_SECONDS = 60;
        private static final int MOST_SECONDS = 86_400;
        private static final int MAX_ID = 1_024;

        static NewLink read(byte[] body) {
            RequestFields fields = new RequestFields(
                    body, Set.of("subject_id", "actor_id", WHOLE_PROJECT, CAPABILITIES, "expires_in_seconds"));
            String subject = id(fields, "subject_id");
            String actor = id(fields, "actor_id");
            JsonNode whole = fields.get(WHOLE_PROJECT);
            boolean isWhole = whole != null && whole.booleanValue();
            if (whole != null && !whole.isBoolean()) {
                fields.wrong(WHOLE_PROJECT, "It must be true or false.");
            } else if (isWhole == (subject != null || actor != null)) {
                fields.wrong(
                        isWhole ? WHOLE_PROJECT : "subject_id",
                        "A link shows the records of subject_id, of actor_id or of both, or with whole_project all records.");
            }
            Set<Scope> scopes = capabilities(fields, isWhole);
            JsonNode value = fields.get("expires_in_seconds");
            int seconds = value == null ? DEFAULT_SECONDS : value.isInt() ? value.intValue() : -1;
            if (seconds < LEAST_SECONDS || seconds > MOST_SECONDS) {
                fields.wrong(
                        "expires_in_seconds",
                        "It must be a whole number from " + LEAST_SECONDS + " to " + MOST_SECONDS + ".");
            }
            fields.requireValid();
            return new NewLink(scopes, isWhole ? null : filter(subject, actor), seconds);
        }

        /** A link to some records exports them unless it is asked for less. */
        private static Set<Scope> capabilities(RequestFields fields, boolean isWhole) {
            Set<Scope> scopes = EnumSet.of(isWhole ? Scope.BROWSE : Scope.VIEW);
            JsonNode value = fields.get(CAPABILITIES);
            if (value == null) {
                if (!isWhole) {
                    scopes.add(Scope.EXPORT);
                }
                return scopes;
            }
            List<String> known = isWhole ? List.of("read", "export", "streams") : List.of("read", "export");
            Set<String> named = new HashSet<>();
            value.forEach(one -> named.add(one.asText()));
            if (!value.isArray()
                    || named.size() != value.size()
                    || !named.contains("read")
                    || !known.containsAll(named)) {
                fields.wrong(CAPABILITIES, "It must be an array of \"read\" and any of " + known + ", each once.");
            }
            if (named.contains("export")) {
                scopes.add(Scope.EXPORT);
            }
            if (named.contains("streams")) {
                scopes.add(Scope.DELIVER);
            }
            return scopes;
        }

        /**
         * A link for a whole project does no more than the token that makes it.
         *
         * @throws ProblemException {@code forbidden}
         */
        void requireMaker(Caller caller) {
            for (Scope scope : scopes) {
                if ((scope == Scope.BROWSE || scope == Scope.DELIVER) && !caller.may(scope.ofTokens())) {
                    throw new ProblemException(
                            ProblemType.FORBIDDEN,
                            "This link needs a token with the scopes \"link\" and \""
                                    + scope.ofTokens().text() + "\".");
                }
            }
        }

        private static @Nullable String id(RequestFields fields, String name) {
            return fields.text(name, MAX_ID, fields.get(name) != null);
        }

        private static String filter(@Nullable String subject, @Nullable String actor) {
            byte[] json = JsonBody.toBytes(256, out -> {
                out.writeStartObject();
                if (subject != null) {
                    out.writeStringField("subject_id", subject);
                }
                if (actor != null) {
                    out.writeStringField("actor_id", actor);
                }
                out.writeEndObject();
            });
            return new String(json, StandardCharsets.UTF_8);
        }
    }

    private static @Nullable OffsetDateTime readTime(RequestFields fields) {
        String text = fields.text("expires_at", 64, false);
        if (text == null) {
            return null;
        }
        OffsetDateTime time = Timestamps.parseInput(text);
        if (time != null && time.getYear() <= 9998 && time.isAfter(OffsetDateTime.now(ZoneOffset.UTC))) {
            return time;
        }
        fields.wrong("expires_at", "It must be a time in the future, such as \"2030-01-01T00:00:00Z\".");
        return null;
    }

    private static List<String> readAddresses(RequestFields fields) {
        List<String> addresses = new ArrayList<>();
        JsonNode value = fields.get("allowed_addresses");
        if (value == null) {
            return addresses;
        }
        if (!value.isArray() || value.size() > MAX_ADDRESSES) {
            fields.wrong("allowed_addresses", "It must be an array of at most " + MAX_ADDRESSES + " networks.");
            return addresses;
        }
        for (int i = 0; i < value.size(); i++) {
            String text = value.get(i).isTextual() ? value.get(i).textValue() : "";
            Optional<AddressRange> network = text.length() > 64 ? Optional.empty() : AddressRange.parse(text);
            if (network.isEmpty()) {
                fields.wrong(
                        "allowed_addresses/" + i,
                        "It must be an address or a network, such as \"192.0.2.0/24\" or \"2001:db8::/32\", with no bit"
                                + " set behind its prefix.");
            }
            network.map(AddressRange::text).ifPresent(addresses::add);
        }
        return addresses;
    }
}
