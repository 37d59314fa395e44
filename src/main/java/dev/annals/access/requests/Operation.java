package dev.annals.access.requests;

import dev.annals.kernel.http.ResourceMethods;
import jakarta.ws.rs.Path;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The operation of a request: one per resource method, whatever callers send.
 *
 * @param name its id in the contract; {@code other} outside of it
 * @param route the template of its path, as in the contract
 */
record Operation(String name, String route) {

    /** Without a resource method. */
    static final Operation OTHER = new Operation("other", "OTHER");

    private static final Map<Method, Operation> KNOWN = new ConcurrentHashMap<>();

    static Operation of(Method resource) {
        return KNOWN.computeIfAbsent(resource, Operation::read);
    }

    private static Operation read(Method resource) {
        String route = ResourceMethods.path(resource);
        if (!route.startsWith("/v1/")) {
            return new Operation(
                    OTHER.name,
                    resource.getDeclaringClass().getAnnotation(Path.class).value());
        }
        // The contract has patterns of parameters elsewhere.
        return new Operation(resource.getName(), route.replaceAll("\\{(\\w+):[^}]*}", "{$1}"));
    }
}
