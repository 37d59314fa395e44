package dev.annals.edges.contract;

import com.atlassian.oai.validator.OpenApiInteractionValidator;
import com.atlassian.oai.validator.interaction.ApiOperationResolver;
import com.atlassian.oai.validator.model.ApiOperation;
import com.atlassian.oai.validator.model.Request;
import com.atlassian.oai.validator.report.MessageResolver;
import com.atlassian.oai.validator.report.ValidationReport;
import com.atlassian.oai.validator.restassured.RestAssuredRequest;
import com.atlassian.oai.validator.restassured.RestAssuredResponse;
import com.atlassian.oai.validator.schema.SchemaValidator;
import io.restassured.filter.Filter;
import io.restassured.filter.FilterContext;
import io.restassured.mapper.ObjectMapperType;
import io.restassured.response.Response;
import io.restassured.specification.FilterableRequestSpecification;
import io.restassured.specification.FilterableResponseSpecification;
import io.swagger.v3.oas.models.OpenAPI;
import io.swagger.v3.parser.OpenAPIV3Parser;
import io.swagger.v3.parser.core.models.ParseOptions;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Holds what REST Assured sends and receives against {@code openapi.yaml}, and fails the test where they differ.
 *
 * <pre>{@code
 * given().filter(ContractFilter.ofAnswers()).get("/v1/project-logs")…
 * }</pre>
 *
 * <p>An answer must have a status, headers, a media type and a body that the contract gives for the operation; a field
 * that the contract does not know is a difference too. Every error must be a problem (RFC 9457), also where no
 * operation is meant: an unknown path, or a method that a path does not have. Paths outside of {@code /v1} are passed
 * on unchecked. Which operations were called is kept for {@link CalledOperations}.
 */
public final class ContractFilter implements Filter {
    private static final Pattern TILE = Pattern.compile("(/v1/project-logs/log/[^/]+/tile/[^/]+/)(.+)");
    private static final int SHOWN_BODY_CHARACTERS = 2_000;
    private static final OpenAPI CONTRACT = readContract();
    private static final OpenApiInteractionValidator VALIDATOR =
            OpenApiInteractionValidator.createFor(CONTRACT).build();
    // One for all answers: each converts the whole contract.
    private static final SchemaValidator SCHEMAS = new SchemaValidator(CONTRACT, new MessageResolver());
    private static final ApiOperationResolver OPERATIONS = new ApiOperationResolver(CONTRACT, null, false);

    private static volatile @Nullable Exchange lastExchange;

    private final boolean checksRequests;

    /** A request and its answer, formatted only when they are printed. */
    private record Exchange(FilterableRequestSpecification request, Response answer) {
        @Override
        public String toString() {
            String body = answer.asString();
            return "%s %s%nThe answer was %s%n%s%n%n%s"
                    .formatted(
                            request.getMethod(),
                            request.getURI(),
                            answer.statusLine(),
                            answer.headers(),
                            body.length() <= SHOWN_BODY_CHARACTERS
                                    ? body
                                    : body.substring(0, SHOWN_BODY_CHARACTERS) + " …");
        }
    }

    private ContractFilter(boolean checksRequests) {
        this.checksRequests = checksRequests;
    }

    /** Checks answers only: for tests that send bad input on purpose. */
    public static ContractFilter ofAnswers() {
        return new ContractFilter(false);
    }

    /** Checks answers and requests: for tests that use the service as a client should. */
    public static ContractFilter ofRequestsAndAnswers() {
        return new ContractFilter(true);
    }

    @Override
    public Response filter(
            FilterableRequestSpecification request,
            FilterableResponseSpecification expectations,
            FilterContext context) {
        Response answer = context.next(request, expectations);
        String path = asOneParameter(URI.create(request.getURI()).getPath());
        if (!path.startsWith("/v1/")) {
            return answer;
        }
        Optional<Request.Method> method = method(request.getMethod());
        Optional<ApiOperation> operation = method.flatMap(m -> operation(path, m));
        operation.map(o -> o.getOperation().getOperationId()).ifPresent(operationId -> {
            CalledOperations.add(operationId);
            AdministrativeCalls.add(operationId, path, answer);
        });

        List<String> differences = new ArrayList<>();
        if (operation.isPresent()) {
            var received = RestAssuredResponse.of(answer);
            var report = checksRequests
                    ? VALIDATOR.validate(RestAssuredRequest.of(request), received)
                    : VALIDATOR.validateResponse(path, method.orElseThrow(), received);
            collect(report.getMessages(), "- ", differences);
        } else if (checksRequests) {
            differences.add("- the contract has no such operation");
        }
        if (answer.statusCode() >= 400
                && method.filter(Request.Method.HEAD::equals).isEmpty()) {
            checkProblem(answer, differences);
        } else if (operation.isEmpty() && answer.statusCode() < 400 && isForClients(method)) {
            differences.add("- the contract has no such operation, yet the answer is no error");
        }
        if (!differences.isEmpty()) {
            throw new AssertionError(describe(new Exchange(request, answer), operation, differences));
        }
        lastExchange = new Exchange(request, answer);
        return answer;
    }

    /** The number of a tile has slashes, and to OpenAPI a parameter has none. */
    private static String asOneParameter(String path) {
        Matcher tile = TILE.matcher(path);
        return tile.matches() ? tile.group(1) + tile.group(2).replace("/", "%2F") : path;
    }

    /** The last request of any thread, and its answer, unless that differed from the contract. */
    static Optional<String> lastExchange() {
        return Optional.ofNullable(lastExchange).map(Exchange::toString);
    }

    static void forgetLastExchange() {
        lastExchange = null;
    }

    /** The operationIds that the contract has, in its order. */
    static List<String> operationIds() {
        return CONTRACT.getPaths().values().stream()
                .flatMap(path -> path.readOperations().stream())
                .map(operation -> Objects.requireNonNull(operation.getOperationId()))
                .toList();
    }

    private static OpenAPI readContract() {
        var options = new ParseOptions();
        options.setResolve(true);
        options.setResolveFully(true);
        options.setResolveCombinators(false);
        var result = new OpenAPIV3Parser().readLocation("openapi.yaml", null, options);
        if (result.getOpenAPI() == null || !result.getMessages().isEmpty()) {
            throw new IllegalStateException("openapi.yaml cannot be read: " + result.getMessages());
        }
        return result.getOpenAPI();
    }

    private static Optional<Request.Method> method(String name) {
        return Arrays.stream(Request.Method.values())
                .filter(method -> method.name().equals(name))
                .findFirst();
    }

    private static Optional<ApiOperation> operation(String path, Request.Method method) {
        var match = OPERATIONS.findApiOperation(path, method);
        Optional<ApiOperation> operation = match.isPathFound() && match.isOperationAllowed()
                ? Optional.of(match.getApiOperation())
                : Optional.empty();
        // A path without parameters comes before those with, whatever its methods.
        return operation.filter(o -> !CONTRACT.getPaths().containsKey(path)
                || o.getApiPath().original().equals(path));
    }

    /** HEAD and OPTIONS come with HTTP, whatever a contract says. */
    private static boolean isForClients(Optional<Request.Method> method) {
        return method.filter(m -> m == Request.Method.HEAD || m == Request.Method.OPTIONS)
                .isEmpty();
    }

    private static void checkProblem(Response answer, List<String> differences) {
        if (!answer.contentType().startsWith("application/problem+json")) {
            differences.add("- an error must be application/problem+json, not " + answer.contentType());
            return;
        }
        var schema = CONTRACT.getComponents().getSchemas().get("Problem");
        collect(SCHEMAS.validate(answer.asString(), schema, "response.body").getMessages(), "- problem: ", differences);
        if (differences.isEmpty()) {
            Object status = answer.as(Map.class, ObjectMapperType.JACKSON_2).get("status");
            if (!Integer.valueOf(answer.statusCode()).equals(status)) {
                differences.add("- the problem's status is " + status);
            }
        }
    }

    private static void collect(List<ValidationReport.Message> messages, String bullet, List<String> differences) {
        for (var message : messages) {
            if (message.getLevel() == ValidationReport.Level.ERROR) {
                differences.add(bullet + message.getMessage());
                if (message.getNestedMessages().isEmpty()) {
                    message.getAdditionalInfo().forEach(info -> differences.add("    " + info));
                }
                collect(message.getNestedMessages(), "    " + bullet, differences);
            }
        }
    }

    private static String describe(Exchange exchange, Optional<ApiOperation> operation, List<String> differences) {
        return "This differs from openapi.yaml (%s):%n%s%n%s"
                .formatted(
                        operation.map(o -> o.getOperation().getOperationId()).orElse("no operation of the contract"),
                        String.join(
                                System.lineSeparator(),
                                differences.stream().distinct().toList()),
                        exchange);
    }
}
