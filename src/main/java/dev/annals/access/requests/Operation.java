package dev.annals.access.requests;

import dev.annals.kernel.http.ResourceMethods;
import jakarta.ws.rs.Path;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What a request is for. There are as many as resource methods, whatever callers send.
 *
 * @param name the resource method's name, which is the operation's id in the contract; {@code other} for what is not part of
 *     the contract
 * @param route the template of its path, as in the contract
 */
record Operation(String name, String route) {

    /** A request that no resource method takes. */
    static final Operation OTHER = new Operation("other", "OTHER");

    private static final Map<Method, Operation> KNOWN = new ConcurrentHashMap<>();

    /** The operation of a resource method. */
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
        // A parameter may have a pattern, which the contract has elsewhere.
        return new Operation(resource.getName(), route.replaceAll("\\{(\\w+):[^}]*}", "{$1}"));
    }
}
