package dev.annals.http;

import dev.annals.http.ResourceMethods.ResourceMethod;
import jakarta.ws.rs.HttpMethod;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.core.HttpHeaders;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jboss.resteasy.reactive.server.ServerResponseFilter;

/**
 * Names the methods of an address in {@code Allow}, in answers to OPTIONS and in each 405, as RFC 9110 requires. The framework would name
 * the methods of all addresses in a resource class, and none in a 405.
 */
final class AllowedMethods {

    private static final Pattern PARAMETER = Pattern.compile("\\{\\w+(?:: *([^{}]+))?\\}");

    private final List<Operation> operations;

    /** @param named whether its address has no parameters */
    private record Operation(String httpMethod, Pattern address, boolean named) {}

    AllowedMethods(ResourceMethods resources) {
        operations = resources.all().stream().map(AllowedMethods::operation).toList();
    }

    @ServerResponseFilter
    void name(ContainerRequestContext request, ContainerResponseContext answer) {
        boolean options = answer.getStatus() == 200 && request.getMethod().equals(HttpMethod.OPTIONS);
        if (options || (answer.getStatus() == 405 && !answer.getHeaders().containsKey(HttpHeaders.ALLOW))) {
            answer.getHeaders()
                    .putSingle(HttpHeaders.ALLOW, at(request.getUriInfo().getPath()));
        }
    }

    /** The methods of all resources at {@code path}. */
    private String at(String path) {
        String address = "/" + path.replaceAll("^/+|/+$", "");
        List<Operation> matching = operations.stream()
                .filter(operation -> operation.address().matcher(address).matches())
                .toList();
        // An address with a name of its own, such as …/batch, does not belong to …/{id}.
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
        return String.join(", ", methods);
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
