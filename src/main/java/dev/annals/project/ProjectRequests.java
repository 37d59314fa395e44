package dev.annals.project;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.http.RequestFields;
import java.time.DateTimeException;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The bodies of the administration's requests. */
final class ProjectRequests {

    private static final int MAX_ADDRESSES = 16;
    private static final int DEFAULT_OVERLAP_SECONDS = 86_400;
    private static final int MAX_OVERLAP_SECONDS = 30 * 86_400;

    private ProjectRequests() {}

    /** {@code {"name": "…"}}. */
    record NewProject(String name) {

        static NewProject read(byte[] body) {
            RequestFields fields = new RequestFields(body, Set.of("name"));
            String name = fields.text("name", 255, true);
            fields.requireValid();
            return new NewProject(name == null ? "" : name);
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

    private static Set<Scope> readScopes(RequestFields fields) {
        Set<Scope> scopes = EnumSet.noneOf(Scope.class);
        JsonNode value = fields.get("scopes");
        if (value == null || !value.isArray() || value.isEmpty() || value.size() > 4) {
            fields.wrong("scopes", "It must be an array of one or more of " + names() + ".");
            return scopes;
        }
        for (int i = 0; i < value.size(); i++) {
            Scope scope = value.get(i).isTextual()
                    ? Scope.of(value.get(i).textValue()).orElse(null)
                    : null;
            if (scope == null || !scopes.add(scope)) {
                fields.wrong("scopes/" + i, "It must be one of " + names() + ", each once.");
            }
        }
        if (scopes.stream().map(Scope::isOfAdministration).distinct().count() > 1) {
            fields.wrong("scopes", "\"audit\" and \"admin\" are for tokens of the project annals, the others are not.");
        }
        return scopes;
    }

    private static String names() {
        return "\"read\", \"write\", \"sequence\", \"redact\", \"audit\" and \"admin\"";
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
            if (text.length() > 64 || AddressRange.parse(text).isEmpty()) {
                fields.wrong(
                        "allowed_addresses/" + i,
                        "It must be an address or a network, such as \"192.0.2.0/24\" or \"2001:db8::/32\", with no bit"
                                + " set behind its prefix.");
            }
            addresses.add(text);
        }
        return addresses;
    }
}
