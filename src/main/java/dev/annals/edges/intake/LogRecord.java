package dev.annals.edges.intake;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/**
 * A log record of OpenTelemetry's data model, with its values as JSON: bytes are base64, and what is no finite number is a text.
 *
 * @param time when it happened, in nanoseconds since 1970, unsigned; 0 if that is not known
 * @param observedTime when it was collected, likewise
 * @param severityNumber 0 if it has none
 * @param body null if it has none
 * @param traceId 32 hexadecimal digits in lower case; null if it has none, or an invalid one
 * @param spanId 16 of them; likewise
 * @param droppedAttributes how many attributes the sender had, and did not send
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
     * What some log records have in common, as JSON.
     *
     * @param resource the attributes of their resource; null if it has none
     * @param scope what is known of their scope; null if that is nothing
     * @param fault why either cannot be read, so that none of the log records can be mapped
     */
    record Shared(
            @Nullable String resource,
            @Nullable String scope,
            @Nullable Refusal fault) {

        static final Shared NOTHING = new Shared(null, null, null);

        /** The same for log records that have this scope, too. */
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

        /** The log records of a resource. */
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

    /** Reads a resource or a scope. */
    @FunctionalInterface
    interface Reading {
        ObjectNode get() throws Refusal;
    }

    /** Where a log record is in a body. */
    record Place(int from, int to, Shared shared) {

        /** About how long the record is as JSON that the log record is, with what it shares. */
        long length() {
            return to - from + shared.length();
        }
    }

    /** Why a log record is not stored. */
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
