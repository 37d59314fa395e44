package dev.annals.access.projects;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.access.caller.AddressRange;
import dev.annals.access.caller.Scope;
import dev.annals.access.limits.Limit;
import dev.annals.access.limits.Limits;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.http.RequestFields;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The bodies of the administration's requests. */
public final class ProjectRequests {

    private static final String RETENTION_DAYS = "retention_days";
    private static final String ARCHIVE_REQUIRED = "archive_required";
    private static final int MAX_RETENTION_DAYS = 36_500;
    private static final int MAX_FILE_NAME = 255;
    private static final int MAX_ADDRESSES = 16;
    private static final int MAX_REASON = 1_024;
    /** Of the ids of actors and subjects in records. */
    private static final int MAX_ID = 1_024;

    private static final int DEFAULT_OVERLAP_SECONDS = 86_400;
    private static final int MAX_OVERLAP_SECONDS = 30 * 86_400;

    private static final Set<String> LIMITS =
            Arrays.stream(Limit.values()).map(Limit::text).collect(Collectors.toSet());

    private ProjectRequests() {}

    /** {@code {"name": "…"}}. */
    record NewProject(String name) {

        public static NewProject read(byte[] body) {
            RequestFields fields = new RequestFields(body, Set.of("name"));
            String name = fields.text("name", 255, true);
            fields.requireValid();
            return new NewProject(name == null ? "" : name);
        }
    }

    /**
     * {@code {"name": "…", "retention_days": 365, "archive_required": true}}: any of them.
     *
     * @param name null if it stays
     * @param changesRetention whether {@code retentionDays} is new; null then means for ever
     * @param archiveRequired null if it stays
     */
    record ProjectChange(
            @Nullable String name,
            boolean changesRetention,
            @Nullable Integer retentionDays,
            @Nullable Boolean archiveRequired) {

        public static ProjectChange read(byte[] body) {
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

        public static NewToken read(byte[] body) {
            RequestFields fields =
                    new RequestFields(body, Set.of("scopes", "description", "expires_at", "allowed_addresses"));
            Set<Scope> scopes = readScopes(fields);
            String description = fields.text("description", 1024, false);
            OffsetDateTime expiresAt = readTime(fields);
            List<String> addresses = readAddresses(fields);
            fields.requireValid();
            return new NewToken(scopes, description, expiresAt, addresses);
        }
    }

    /** {@code {"overlap_seconds": 3600}}. */
    record Rotation(int overlapSeconds) {

        public static Rotation read(byte[] body) {
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

    /** {@code {"actor_id": "…", "reason": "…"}}, or with {@code subject_id}, or with neither for the whole project. */
    public record NewHold(
            @Nullable String actorId, @Nullable String subjectId, String reason) {

        public static NewHold read(byte[] body) {
            RequestFields fields = new RequestFields(body, Set.of("actor_id", "subject_id", "reason"));
            String actorId = held(fields, "actor_id");
            String subjectId = held(fields, "subject_id");
            if (actorId != null && subjectId != null) {
                fields.wrong("subject_id", "A hold covers an actor or a subject. Set two.");
            }
            String reason = fields.text("reason", MAX_REASON, true);
            fields.requireValid();
            return new NewHold(actorId, subjectId, reason == null ? "" : reason);
        }

        private static @Nullable String held(RequestFields fields, String name) {
            String id = fields.text(name, MAX_ID, false);
            JsonNode value = fields.get(name);
            if (value != null && value.isTextual() && value.textValue().isEmpty()) {
                fields.wrong(name, "It must not be empty.");
            }
            return id;
        }
    }

    /**
     * {@code {"first_sequence_id": 1, "last_sequence_id": 256, "file_name": "…", "bytes": 4711, "sha256": "…"}}.
     *
     * @param sha256 of the file, in hexadecimal
     */
    public record NewArchive(long first, long last, String fileName, long bytes, String sha256) {

        public static NewArchive read(byte[] body) {
            RequestFields fields = new RequestFields(
                    body, Set.of("first_sequence_id", "last_sequence_id", "file_name", "bytes", "sha256"));
            long first = positive(fields, "first_sequence_id");
            long last = positive(fields, "last_sequence_id");
            if (last < first) {
                fields.wrong("last_sequence_id", "It must not be less than first_sequence_id.");
            }
            String fileName = fields.text("file_name", MAX_FILE_NAME, true);
            long bytes = positive(fields, "bytes");
            String sha256 = fields.text("sha256", 64, true);
            if (sha256 != null && !sha256.matches("[0-9a-f]{64}")) {
                fields.wrong("sha256", "It must be 64 digits in hexadecimal, with small letters.");
            }
            fields.requireValid();
            return new NewArchive(first, last, fileName == null ? "" : fileName, bytes, sha256 == null ? "" : sha256);
        }

        private static long positive(RequestFields fields, String name) {
            JsonNode value = fields.get(name);
            if (value == null || !value.isIntegralNumber() || !value.canConvertToLong() || value.longValue() < 1) {
                fields.wrong(name, "It must be a whole number of 1 or more.");
                return 1;
            }
            return value.longValue();
        }
    }

    /** {@code {"reason": "…"}}. */
    public record Lifting(String reason) {

        public static Lifting read(byte[] body) {
            RequestFields fields = new RequestFields(body, Set.of("reason"));
            String reason = fields.text("reason", MAX_REASON, true);
            fields.requireValid();
            return new Lifting(reason == null ? "" : reason);
        }
    }

    /**
     * {@code {"subject_id": "…", "actor_id": "…", "expires_in_seconds": 3600}}.
     *
     * @param filter the records that it shows, as a JSON object
     */
    record NewLink(String filter, int seconds) {

        private static final int DEFAULT_SECONDS = 3_600;
        private static final int LEAST_SECONDS = 60;
        private static final int MOST_SECONDS = 86_400;
        private static final int MAX_ID = 1_024;

        public static NewLink read(byte[] body) {
            RequestFields fields = new RequestFields(body, Set.of("subject_id", "actor_id", "expires_in_seconds"));
            String subject = id(fields, "subject_id");
            String actor = id(fields, "actor_id");
            if (subject == null && actor == null) {
                fields.wrong(
                        "subject_id",
                        "It is missing, and so is actor_id: a link shows the records of one or the other.");
            }
            JsonNode value = fields.get("expires_in_seconds");
            int seconds = value == null ? DEFAULT_SECONDS : value.isInt() ? value.intValue() : -1;
            if (seconds < LEAST_SECONDS || seconds > MOST_SECONDS) {
                fields.wrong(
                        "expires_in_seconds",
                        "It must be a whole number from " + LEAST_SECONDS + " to " + MOST_SECONDS + ".");
            }
            fields.requireValid();
            return new NewLink(filter(subject, actor), seconds);
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

    /**
     * {@code {"claim": "groups", "value": "auditors", "scopes": ["read"], …}}.
     *
     * @param issuer null: that of the settings
     */
    public record NewGrant(
            @Nullable String issuer,
            String claim,
            String value,
            Set<Scope> scopes,
            @Nullable String description,
            Limits limits) {

        public static NewGrant read(byte[] body) {
            RequestFields fields =
                    new RequestFields(body, Set.of("issuer", "claim", "value", "scopes", "description", "limits"));
            String issuer = fields.text("issuer", MAX_ID, fields.has("issuer"));
            String claim = fields.text("claim", 255, true);
            String value = fields.text("value", MAX_ID, true);
            Set<Scope> scopes = readScopes(fields);
            if (scopes.contains(Scope.LINK)) {
                fields.wrong("scopes", "\"link\" is for the tokens of applications: links end with their token.");
            }
            String description = fields.text("description", 1024, false);
            Limits limits = fields.get("limits") == null ? Limits.NONE : readLimits(fields.object("limits", LIMITS));
            fields.requireValid();
            return new NewGrant(
                    issuer, claim == null ? "" : claim, value == null ? "" : value, scopes, description, limits);
        }
    }

    /** {@code {"records_per_second": 100, …}}; what is left out, or null, has no limit. */
    static Limits readLimits(byte[] body) {
        RequestFields fields = new RequestFields(body, LIMITS);
        Limits limits = readLimits(fields);
        fields.requireValid();
        return limits;
    }

    private static Limits readLimits(RequestFields fields) {
        Map<Limit, Long> values = new EnumMap<>(Limit.class);
        for (Limit limit : Limit.values()) {
            JsonNode value = fields.get(limit.text());
            if (value != null) {
                if (value.canConvertToLong()
                        && value.isIntegralNumber()
                        && value.longValue() >= limit.least()
                        && value.longValue() <= limit.most()) {
                    values.put(limit, value.longValue());
                } else {
                    fields.wrong(
                            limit.text(),
                            "It must be a whole number from " + limit.least() + " to " + limit.most()
                                    + ", or be left out for no limit.");
                }
            }
        }
        return new Limits(values);
    }

    private static Set<Scope> readScopes(RequestFields fields) {
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
            if (scope == null || scope == Scope.VIEW || !scopes.add(scope)) {
                fields.wrong("scopes/" + i, "It must be one of " + names() + ", each once.");
            }
        }
        if (scopes.stream().map(Scope::isOfAdministration).distinct().count() > 1) {
            fields.wrong("scopes", "\"audit\" and \"admin\" are for tokens of the project annals, the others are not.");
        }
        return scopes;
    }

    private static String names() {
        return "\"read\", \"write\", \"sequence\", \"redact\", \"link\", \"stream\", \"audit\" and \"admin\"";
    }

    private static @Nullable OffsetDateTime readTime(RequestFields fields) {
        String text = fields.text("expires_at", 64, false);
        if (text == null) {
            return null;
        }
        try {
            OffsetDateTime time = OffsetDateTime.parse(text);
            if (time.getYear() <= 9998 && time.isAfter(OffsetDateTime.now(ZoneOffset.UTC))) {
                return time;
            }
        } catch (DateTimeException e) {
            // said below
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
