package dev.annals.kernel.http;

import dev.annals.kernel.database.DatabaseFailure;
import dev.annals.kernel.database.DatabaseUnavailableException;
import dev.annals.kernel.database.ElsewhereException;
import dev.annals.kernel.database.ProjectBusyException;
import dev.annals.kernel.memory.NoMemoryException;
import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.NotFoundException;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.Response;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import org.jboss.logging.Logger;
import org.jboss.resteasy.reactive.server.ServerExceptionMapper;
import org.jboss.resteasy.reactive.server.ServerResponseFilter;
import org.jspecify.annotations.Nullable;

/** Turns exceptions into problems. An unexpected exception is logged under an id, and the answer contains only that id. */
public final class ProblemMapper {

    private static final Logger LOG = Logger.getLogger(ProblemMapper.class);
    /** For the method and address in the log. */
    private static final int MAX_SHOWN = 200;

    private static final MediaType PROBLEM_JSON = MediaType.valueOf(Problem.MEDIA_TYPE);

    private final AllowedMethods methods;

    ProblemMapper(AllowedMethods methods) {
        this.methods = methods;
    }

    @ServerExceptionMapper
    public Response ownProblem(ProblemException e, RoutingContext routing) {
        return response(routing, e.problem());
    }

    @ServerExceptionMapper
    public Response noMemory(NoMemoryException e, RoutingContext routing) {
        return response(routing, of(e));
    }

    @ServerExceptionMapper
    public Response projectBusy(ProjectBusyException e, RoutingContext routing) {
        return response(routing, of(e));
    }

    @ServerExceptionMapper
    public Response databaseUnavailable(DatabaseUnavailableException e, RoutingContext routing) {
        return response(routing, of(e));
    }

    @ServerExceptionMapper
    public Response elsewhere(ElsewhereException e, RoutingContext routing) {
        return response(routing, of(e));
    }

    /** The framework also throws this if an address below another resource's has other methods. */
    @ServerExceptionMapper
    public Response notFound(NotFoundException e, ContainerRequestContext request, RoutingContext routing) {
        boolean other =
                methods.areOthers(request.getMethod(), request.getUriInfo().getPath());
        return response(routing, ofStatus(other ? 405 : 404));
    }

    @ServerExceptionMapper
    public Response ofFramework(WebApplicationException e, RoutingContext routing) {
        Response given = e.getResponse();
        if (given.getStatus() < 400) {
            return given;
        }
        Problem problem = given.getStatus() == 500 ? unexpected("A request", e) : ofStatus(given.getStatus());
        return withHeadersOf(given, response(routing, problem));
    }

    @ServerExceptionMapper
    public Response unexpected(Throwable e, ContainerRequestContext request, RoutingContext routing) {
        return response(
                routing,
                unexpected(request.getMethod() + " " + request.getUriInfo().getPath(), e));
    }

    @ServerResponseFilter
    public void everyErrorIsAProblem(RoutingContext routing, ContainerResponseContext response) {
        if (response.getStatus() < 400) {
            return;
        }
        if (!PROBLEM_JSON.equals(response.getMediaType())) {
            Problem problem = ofStatus(response.getStatus());
            RequestProblem.note(routing, problem);
            MultivaluedMap<String, Object> headers = response.getHeaders();
            problem.headers().forEach((name, value) -> headers.putIfAbsent(name, List.of(value)));
            response.setEntity(problem.toJson(), null, PROBLEM_JSON);
        }
    }

    /** The problem for a bare HTTP status. */
    static Problem ofStatus(int status) {
        return switch (status) {
            case 401 ->
                Problem.of(ProblemType.UNAUTHORIZED, "Send a valid token in the header Authorization: Bearer <token>");
            case 403 ->
                Problem.of(ProblemType.FORBIDDEN, "This token does not allow that: use one with the right scope");
            case 404 ->
                Problem.of(
                        ProblemType.NOT_FOUND,
                        "There is nothing at this address: compare it with the service's openapi.yaml");
            case 405 ->
                Problem.of(
                        ProblemType.METHOD_NOT_ALLOWED,
                        "This address does not take that method: use one that the header Allow names");
            case 406 ->
                Problem.of(
                        ProblemType.NOT_ACCEPTABLE,
                        "The service has none of the media types in Accept: accept application/json");
            case 413 ->
                Problem.of(
                        ProblemType.BODY_TOO_LARGE, "The body has more bytes than one request may have: send several");
            case 415 ->
                Problem.of(
                        ProblemType.UNSUPPORTED_MEDIA_TYPE,
                        "The body's Content-Type or Content-Encoding is not accepted here: send application/json");
            case 500 ->
                Problem.of(
                        ProblemType.INTERNAL_ERROR,
                        "The service failed: try again, and look at its log if that persists");
            case 503 ->
                Problem.of(
                        ProblemType.UNAVAILABLE,
                        "The service cannot answer at the moment: try again after Retry-After seconds");
            default -> {
                Response.@Nullable Status known = Response.Status.fromStatusCode(status);
                String title = known == null ? ProblemType.OTHER.title() : known.getReasonPhrase();
                yield new Problem(
                        ProblemType.OTHER,
                        status,
                        title,
                        "The request was refused with HTTP status " + status
                                + ": compare it with the service's openapi.yaml",
                        List.of(),
                        Map.of());
            }
        };
    }

    private static Problem of(NoMemoryException e) {
        return Problem.of(ProblemType.OVERLOADED, Objects.requireNonNull(e.getMessage()));
    }

    private static Problem of(ProjectBusyException e) {
        return Problem.of(ProblemType.OVERLOADED, Objects.requireNonNull(e.getMessage()));
    }

    private static Problem of(DatabaseUnavailableException e) {
        return Problem.of(ProblemType.UNAVAILABLE, Objects.requireNonNull(e.getMessage()));
    }

    private static Problem of(ElsewhereException e) {
        Problem problem = e.isMoving()
                ? Problem.of(ProblemType.PROJECT_MOVING, e.cause())
                : Problem.of(
                        ProblemType.PROJECT_ELSEWHERE,
                        "The project " + e.projectId() + " is in another database, which this instance does not use:"
                                + " send the request to an instance that does.");
        return e.database() == null ? problem : problem.with("database", e.database());
    }

    /** Logs an unexpected failure with {@code request} as its name. */
    public static Problem of(String request, Throwable failure) {
        if (failure instanceof ProblemException e) {
            return e.problem();
        }
        if (failure instanceof NoMemoryException e) {
            return of(e);
        }
        if (failure instanceof ProjectBusyException e) {
            return of(e);
        }
        return failure instanceof DatabaseUnavailableException e ? of(e) : unexpected(request, failure);
    }

    private static Problem unexpected(String request, Throwable e) {
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            Optional<ElsewhereException> elsewhere = ElsewhereException.of(cause);
            if (elsewhere.isPresent()) {
                return of(elsewhere.get());
            }
            // A plain IOException may have any source.
            if (cause.getClass() != IOException.class && DatabaseFailure.isTransient(cause)) {
                LOG.warnf("%s failed: %s", shown(request), cause);
                return Problem.of(ProblemType.UNAVAILABLE, DatabaseFailure.advice(cause));
            }
        }
        String instance = "urn:uuid:" + UUID.randomUUID();
        LOG.errorf(e, "%s failed: %s", shown(request), instance);
        return Problem.of(
                        ProblemType.INTERNAL_ERROR,
                        "The service failed: try again, and if it persists look for the instance in its log")
                .with("instance", instance);
    }

    /** Caller input, escaped and shortened for the log. */
    private static String shown(String request) {
        StringBuilder shown = new StringBuilder();
        request.codePoints().limit(MAX_SHOWN).forEach(c -> {
            if (c >= ' ' && c <= '~') {
                shown.append((char) c);
            } else {
                shown.append(String.format("\\u%04x", c));
            }
        });
        return shown.toString();
    }

    private static Response withHeadersOf(Response given, Response problem) {
        Response.ResponseBuilder builder = Response.fromResponse(problem);
        for (String header : List.of("Allow", "Retry-After", "WWW-Authenticate")) {
            if (given.getHeaderString(header) != null) {
                builder.header(header, null).header(header, given.getHeaderString(header));
            }
        }
        return builder.build();
    }

    private static Response response(RoutingContext routing, Problem problem) {
        RequestProblem.note(routing, problem);
        Response.ResponseBuilder builder = Response.status(problem.status()).entity(problem.toJson());
        problem.headers().forEach(builder::header);
        return builder.build();
    }
}
