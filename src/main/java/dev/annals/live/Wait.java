package dev.annals.live;

import dev.annals.feed.FeedParameters;
import dev.annals.http.RequestParameters;
import dev.annals.search.Order;
import jakarta.ws.rs.core.MultivaluedMap;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How long a reader lets the service wait for a record.
 *
 * @param duration zero where it shall answer at once
 * @param preferred whether the header {@code Prefer} says so, which then is confirmed by {@code Preference-Applied}
 */
record Wait(Duration duration, boolean preferred) {

    static final int MAX_SECONDS = 60;

    private static final Wait NONE = new Wait(Duration.ZERO, false);
    private static final Pattern SECONDS = Pattern.compile("[0-9]{1,9}");
    /** A preference of RFC 7240: a name, a value where it has one, and parameters that are none of ours. */
    private static final Pattern PREFERENCE =
            Pattern.compile("[ \\t]*([^\\s=;,\"]+)[ \\t]*(?:=[ \\t]*(\"(?:[^\"\\\\]|\\\\.)*+\"|[^\\s=;,\"]*+))?"
                    + "(?:[^,\"]|\"(?:[^\"\\\\]|\\\\.)*+\")*+(?:,|$)");

    /**
     * Reads the parameter {@code wait}; without it, the preference of that name. A preference that cannot be used is
     * ignored, as RFC 7240 has it.
     *
     * @param prefer the values of the header {@code Prefer}
     * @throws dev.annals.http.ProblemException {@code invalid-parameter} where the parameter cannot be used
     */
    static Wait of(MultivaluedMap<String, String> parameters, List<String> prefer, Order order) {
        String text = parameters.getFirst(FeedParameters.WAIT);
        if (text == null) {
            int seconds = order == Order.ASCENDING ? seconds(preferred(prefer)) : 0;
            return seconds == 0 ? NONE : new Wait(Duration.ofSeconds(seconds), true);
        }
        if (order == Order.DESCENDING) {
            throw RequestParameters.invalid(
                    FeedParameters.WAIT,
                    "Nothing new can follow in the order desc. Leave it out here, and wait at the link poll_more.");
        }
        int seconds = seconds(text);
        if (seconds == 0) {
            throw RequestParameters.invalid(
                    FeedParameters.WAIT, "It is a number of seconds from 1 to " + MAX_SECONDS + ".");
        }
        return new Wait(Duration.ofSeconds(seconds), false);
    }

    /** @return 0 where the text is no usable wait */
    private static int seconds(String text) {
        int seconds = SECONDS.matcher(text).matches() ? Integer.parseInt(text) : 0;
        return seconds <= MAX_SECONDS ? seconds : 0;
    }

    /** The value of the first preference of that name, which alone counts; empty where there is none. */
    private static String preferred(List<String> prefer) {
        Matcher preference = PREFERENCE.matcher(String.join(",", prefer));
        while (preference.lookingAt()) {
            if (preference.group(1).equalsIgnoreCase(FeedParameters.WAIT)) {
                String value = preference.group(2) == null ? "" : preference.group(2);
                return value.startsWith("\"") ? value.substring(1, value.length() - 1) : value;
            }
            if (preference.hitEnd()) {
                break;
            }
            preference.region(preference.end(), preference.regionEnd());
        }
        return "";
    }

    boolean isNone() {
        return duration.isZero();
    }
}
