package dev.annals.http;

import java.util.Set;
import java.util.TreeSet;
import org.jboss.resteasy.reactive.server.core.CurrentRequestManager;
import org.jboss.resteasy.reactive.server.core.ResteasyReactiveRequestContext;
import org.jboss.resteasy.reactive.server.mapping.RuntimeResource;
import org.jboss.resteasy.reactive.server.util.RuntimeResourceVisitor;
import org.jspecify.annotations.Nullable;

/**
 * Which methods an address takes. RFC 9110 requires them in the {@code Allow} of a 405, and the framework leaves them out.
 */
final class AllowedMethods {

    private AllowedMethods() {}

    /** The methods of all resources at {@code path}, joined for the header {@code Allow}. */
    static String at(String path) {
        Set<String> methods = new TreeSet<>();
        // An address with a name of its own, such as …/batch, does not belong to …/{id}.
        Set<String> named = new TreeSet<>();
        @Nullable ResteasyReactiveRequestContext request = CurrentRequestManager.get();
        if (request != null) {
            RuntimeResourceVisitor collector = new RuntimeResourceVisitor() {
                @Override
                public void visitRuntimeResource(String method, String template, RuntimeResource resource) {
                    if (matches(template, path)) {
                        (template.contains("{") ? methods : named).add(method);
                    }
                }
            };
            RuntimeResourceVisitor.visitRuntimeResources(
                    null, request.getDeployment().getClassMappers(), collector);
        }
        if (!named.isEmpty()) {
            methods.clear();
            methods.addAll(named);
        }
        methods.add("OPTIONS");
        if (methods.contains("GET")) {
            methods.add("HEAD");
        }
        return String.join(", ", methods);
    }

    private static boolean matches(String template, String path) {
        String[] expected = segments(template);
        String[] given = segments(path);
        if (expected.length != given.length) {
            return false;
        }
        for (int i = 0; i < expected.length; i++) {
            if (!expected[i].contains("{") && !expected[i].equals(given[i])) {
                return false;
            }
        }
        return true;
    }

    private static String[] segments(String path) {
        return path.replaceAll("^/+|/+$", "").split("/+", -1);
    }
}
