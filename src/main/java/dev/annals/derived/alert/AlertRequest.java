package dev.annals.derived.alert;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.core.query.QueryParser;
import dev.annals.core.query.QueryParser.QueryException;
import dev.annals.kernel.http.ProblemException;
import dev.annals.kernel.http.RequestFields;
import java.util.Set;

/**
 * The definition of an alert in a request.
 *
 * @param q a query without {@code last:}
 */
record AlertRequest(String q, long threshold, int intervalSeconds, boolean enabled) {

    private static final String Q = "q";
    private static final String THRESHOLD = "threshold";
    private static final String INTERVAL_SECONDS = "interval_seconds";
    private static final String ENABLED = "enabled";
    private static final long MAX_THRESHOLD = 1_000_000_000;
    private static final int MIN_INTERVAL = 60;
    private static final int MAX_INTERVAL = 86_400;

    /** @throws ProblemException {@code malformed-json} or {@code invalid-body} */
    static AlertRequest read(byte[] body) {
        RequestFields fields = new RequestFields(body, Set.of(Q, THRESHOLD, INTERVAL_SECONDS, ENABLED));
        String q = fields.text(Q, QueryParser.MAX_LENGTH, true);
        if (q != null && !q.isEmpty()) {
            checkQuery(fields, q);
        }
        long threshold = number(fields, THRESHOLD, 0, MAX_THRESHOLD);
        long interval = number(fields, INTERVAL_SECONDS, MIN_INTERVAL, MAX_INTERVAL);
        JsonNode enabled = fields.get(ENABLED);
        if (fields.has(ENABLED) && (enabled == null || !enabled.isBoolean())) {
            fields.wrong(ENABLED, "It must be true or false.");
        }
        fields.requireValid();
        if (q == null) {
            throw new IllegalStateException("requireValid refuses a missing q");
        }
        return new AlertRequest(q, threshold, (int) interval, enabled == null || enabled.booleanValue());
    }

    private static void checkQuery(RequestFields fields, String q) {
        try {
            QueryParser.parse(q, null);
        } catch (QueryException e) {
            fields.wrong(Q, "At " + e.getMessage() + ".");
        }
    }

    private static long number(RequestFields fields, String name, long least, long most) {
        JsonNode value = fields.get(name);
        if (value == null) {
            fields.wrong(name, "It is missing.");
            return least;
        }
        if (!value.isIntegralNumber()
                || !value.canConvertToLong()
                || value.longValue() < least
                || value.longValue() > most) {
            fields.wrong(name, "It must be a whole number from " + least + " to " + most + ".");
            return least;
        }
        return value.longValue();
    }
}
