package dev.annals.core.feed;

import dev.annals.core.query.Order;
import dev.annals.kernel.http.RequestParameters;
import jakarta.ws.rs.core.MultivaluedMap;
import java.time.Duration;
import java.util.regex.Pattern;

/** How long a reader lets the service wait for a record. */
final class Wait {

    static final int MAX_SECONDS = 60;

    private static final Pattern SECONDS = Pattern.compile("[0-9]{1,9}");

    private Wait() {}

    /**
     * Reads the parameter {@code wait}.
     *
     * @return zero if there is none: the answer comes at once
     * @throws dev.annals.kernel.http.ProblemException {@code invalid-parameter} if it cannot be used
     */
    static Duration of(MultivaluedMap<String, String> parameters, Order order) {
        String text = parameters.getFirst(FeedParameters.WAIT);
        if (text == null) {
            return Duration.ZERO;
        }
        if (order == Order.DESCENDING) {
            throw RequestParameters.invalid(
                    FeedParameters.WAIT,
                    "Nothing new can follow in the order desc. Leave it out here, and wait at the link poll_more.");
        }
        int seconds = SECONDS.matcher(text).matches() ? Integer.parseInt(text) : 0;
        if (seconds < 1 || seconds > MAX_SECONDS) {
            throw RequestParameters.invalid(
                    FeedParameters.WAIT, "It is a number of seconds from 1 to " + MAX_SECONDS + ".");
        }
        return Duration.ofSeconds(seconds);
    }
}
