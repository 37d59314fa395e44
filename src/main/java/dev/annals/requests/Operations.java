package dev.annals.requests;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Which operation of the contract a request is for. Its names are the only ones, whatever callers send. */
final class Operations {

    /** What is at no address of the contract. */
    static final String OTHER = "other";

    private static final Pattern LINE = Pattern.compile(
            "(?m)^(?:  (?<path>/v1/\\S*):|    (?<method>get|put|post|delete|patch):|      operationId: (?<id>\\w+))$");
    /** The only parameter that has slashes: tiles have names such as x001/234. */
    private static final String REST = "{tile}";

    private final List<Operation> operations;

    private record Operation(String method, List<String> segments, String id) {

        boolean takes(String method, String[] given) {
            if (!method.equals(this.method) || given.length < segments.size()) {
                return false;
            }
            boolean takesRest = segments.get(segments.size() - 1).equals(REST);
            if (given.length > segments.size() && !takesRest) {
                return false;
            }
            for (int i = 0; i < segments.size(); i++) {
                String segment = segments.get(i);
                if (!segment.startsWith("{") && !segment.equals(given[i])) {
                    return false;
                }
            }
            return true;
        }

        long parameters() {
            return segments.stream().filter(segment -> segment.startsWith("{")).count();
        }
    }

    private Operations(List<Operation> operations) {
        this.operations = operations;
    }

    /** Those of the contract that the service serves. */
    static Operations ofContract() {
        try (InputStream contract = Operations.class.getResourceAsStream("/META-INF/openapi.yaml")) {
            byte[] text = Objects.requireNonNull(contract, "every build has the contract")
                    .readAllBytes();
            return of(new String(text, StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    // By its lines, since nothing else in the service reads YAML; a test compares them with what a parser finds.
    private static Operations of(String contract) {
        List<Operation> found = new ArrayList<>();
        String path = "";
        String method = "";
        Matcher line = LINE.matcher(contract);
        while (line.find()) {
            if (line.group("path") != null) {
                path = line.group("path");
            } else if (line.group("method") != null) {
                method = line.group("method").toUpperCase(Locale.ROOT);
            } else if (!path.isEmpty() && !method.isEmpty()) {
                found.add(new Operation(method, List.of(path.split("/", -1)), line.group("id")));
                method = "";
            }
        }
        // An address with a name of its own, such as …/batch, does not belong to …/{id}.
        found.sort(Comparator.comparingLong(Operation::parameters));
        return new Operations(found);
    }

    /** The name of the operation at a path, or {@link #OTHER}. HEAD is answered as GET is. */
    String at(String method, String path) {
        String asked = method.equals("HEAD") ? "GET" : method;
        if (!path.startsWith("/v1/")) {
            return OTHER;
        }
        // What is longer than any address of the contract need not be taken apart.
        String[] segments = path.split("/", 16);
        for (Operation operation : operations) {
            if (operation.takes(asked, segments)) {
                return operation.id();
            }
        }
        return OTHER;
    }

    /** All names. */
    List<String> names() {
        return operations.stream().map(Operation::id).toList();
    }
}
