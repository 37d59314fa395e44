package dev.annals.kernel.http;

import dev.annals.kernel.http.ResourceMethods.ResourceMethod;
import jakarta.ws.rs.HttpMethod;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.Response;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jboss.resteasy.reactive.server.ServerRequestFilter;
import org.jboss.resteasy.reactive.server.ServerResponseFilter;
import org.jspecify.annotations.Nullable;

/**
 * Names the methods of an address in {@code Allow}, for OPTIONS and in each 405 (RFC 9110). The framework names the methods of
 * a whole resource class, and none in a 405.
 */
final class AllowedMethods {

    private static final Pattern PARAMETER = Pattern.compile("\\{\\w+(?:: *([^{}]+))?\\}");

    private final List<Operation> operations;
    /** By addresses without parameters. */
    private final Map<String, Set<String>> named;

    private record Operation(String httpMethod, Pattern address, boolean named) {}

    AllowedMethods(ResourceMethods resources) {
        operations = resources.all().stream().map(AllowedMethods::operation).toList();
        named = resources.all().stream()
                .map(ResourceMethod::path)
                .filter(path -> !path.contains("{"))
                .distinct()
                .collect(Collectors.toMap(path -> path, this::at));
    }

    @ServerResponseFilter
    void name(ContainerRequestContext request, ContainerResponseContext answer) {
        boolean options = answer.getStatus() == 200 && request.getMethod().equals(HttpMethod.OPTIONS);
        if (options || (answer.getStatus() == 405 && !answer.getHeaders().containsKey(HttpHeaders.ALLOW))) {
            answer.getHeaders()
                    .putSingle(
                            HttpHeaders.ALLOW,
                            String.join(", ", at(request.getUriInfo().getPath())));
        }
    }

    /** The framework would match …/batch with …/{id}, too, and give it the methods of both. */
    @ServerRequestFilter(preMatching = true)
    @Nullable
    Response refuse(ContainerRequestContext request) {
        Set<String> methods = named.get(request.getUriInfo().getPath());
        return methods == null || methods.contains(request.getMethod())
                ? null
                : Response.status(405).build();
    }

    boolean areOthers(String method, String path) {
        Set<String> methods = at(path);
        return methods.size() > 1 && !methods.contains(method);
    }

    private Set<String> at(String path) {
        String address = "/" + path.replaceAll("^/+|/+$", "");
        List<Operation> matching = operations.stream()
                .filter(operation -> operation.address().matcher(address).matches())
                .toList();
        boolean named = matching.stream().anyMatch(Operation::named);
        Set<String> methods = new TreeSet<>(Set.of(HttpMethod.OPTIONS));
        for (Operation operation : matching) {
            if (operation.named() || !named) {
                methods.add(operation.httpMethod());
            }
        }
        if (methods.contains(HttpMethod.GET)) {
            methods.add(HttpMethod.HEAD);
        }
        return methods;
    }

    private static Operation operation(ResourceMethod resource) {
        String path = resource.path();
        StringBuilder address = new StringBuilder();
        int end = 0;
        Matcher parameter = PARAMETER.matcher(path);
        while (parameter.find()) {
            address.append(Pattern.quote(path.substring(end, parameter.start())))
                    .append(parameter.group(1) == null ? "[^/]+" : parameter.group(1));
            end = parameter.end();
        }
        address.append(Pattern.quote(path.substring(end)));
        return new Operation(resource.httpMethod(), Pattern.compile(address.toString()), end == 0);
    }
}
