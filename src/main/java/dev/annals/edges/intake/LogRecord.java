package dev.annals.edges.intake;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/**
 * A log record of OpenTelemetry's data model, with its values as JSON: bytes are base64, and NaN and infinities are texts.
 *
 * @param time of the event, in nanoseconds since 1970, unsigned; 0 if unknown
 * @param observedTime of the collection, likewise
 * @param severityNumber 0 if it has none
 * @param traceId 32 hexadecimal digits in lower case; null if it has none, or an invalid one
 * @param spanId 16 of them; likewise
 * @param droppedAttributes the number of attributes that the sender left out
 */
record LogRecord(
        long time,
        long observedTime,
        long severityNumber,
        @Nullable String severityText,
        @Nullable JsonNode body,
        ObjectNode attributes,
        @Nullable String traceId,
        @Nullable String spanId,
        @Nullable String eventName,
        long droppedAttributes) {

    /**
     * The resource and scope of some log records, as JSON.
     *
     * @param fault why either cannot be read, which refuses all these log records
     */
    record Shared(
            @Nullable String resource,
            @Nullable String scope,
            @Nullable Refusal fault) {

        static final Shared NOTHING = new Shared(null, null, null);

        Shared with(Reading read) {
            if (fault != null) {
                return this;
            }
            try {
                ObjectNode fields = read.get();
                return fields.isEmpty() ? this : new Shared(resource, LogMapping.text(fields), null);
            } catch (Refusal e) {
                return new Shared(null, null, e);
            }
        }

        static Shared of(Reading read) {
            try {
                ObjectNode attributes = read.get();
                return attributes.isEmpty() ? NOTHING : new Shared(LogMapping.text(attributes), null, null);
            } catch (Refusal e) {
                return new Shared(null, null, e);
            }
        }

        long length() {
            return (resource == null ? 0L : resource.length()) + (scope == null ? 0 : scope.length());
        }
    }

    @FunctionalInterface
    interface Reading {
        ObjectNode get() throws Refusal;
    }

    /** The bytes from {@code from} to before {@code to}. */
    record Slice(int from, int to, Shared shared) {

        /** Approximate, as JSON, with its resource and scope. */
        long length() {
            return to - from + shared.length();
        }
    }

    /** A log record is not stored, for this reason. */
    static final class Refusal extends Exception {
        private static final long serialVersionUID = 1;

        private final String reason;

        Refusal(String reason) {
            super(reason, null, false, false);
            this.reason = reason;
        }

        String reason() {
            return reason;
        }
    }
}
