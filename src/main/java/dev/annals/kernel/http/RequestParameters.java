package dev.annals.kernel.http;

import jakarta.ws.rs.core.MultivaluedMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** The parameters of a request, read strictly: a mistyped filter must not select everything. */
public final class RequestParameters {

    /** The schema accepts the same. */
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,128}");

    private RequestParameters() {}

    /** For sequences, streams and alerts. */
    public static boolean isName(String name) {
        return NAME.matcher(name).matches();
    }

    /**
     * Refuses an impossible name.
     *
     * @throws ProblemException {@code invalid-parameter}
     */
    public static void requireName(String name) {
        if (!isName(name)) {
            throw invalid("name", "It has 1 to 128 letters, digits, dots, hyphens and underscores.");
        }
    }

    /**
     * Refuses a parameter that is unknown or given twice.
     *
     * @param known in the order of the message
     * @throws ProblemException {@code invalid-parameter}
     */
    public static void requireKnown(MultivaluedMap<String, String> parameters, List<String> known) {
        for (Map.Entry<String, List<String>> parameter : parameters.entrySet()) {
            if (!known.contains(parameter.getKey())) {
                throw invalid(
                        parameter.getKey(),
                        known.isEmpty()
                                ? "This operation takes no parameters."
                                : "There is no such parameter. Known: " + String.join(", ", known) + ".");
            }
            if (parameter.getValue().size() > 1) {
                throw invalid(parameter.getKey(), "It is given more than once.");
            }
        }
    }

    public static ProblemException invalid(String name, String detail) {
        return new ProblemException(
                Problem.of(ProblemType.INVALID_PARAMETER, "The parameter \"" + name + "\" cannot be used: " + detail)
                        .with("parameter", name));
    }
}
